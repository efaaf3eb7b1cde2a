// `npm run chaos`: its manifests, how it ends, and that what it finds is there.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text as textOf } from "node:stream/consumers";
import { describe, it } from "node:test";
import { createFileJournals } from "../../agents/adapters/journal/file-journal.ts";
import { ABSENT, type Message } from "../../agents/core/types.ts";
import { encodeInput } from "../../agents/node/seat/records.ts";
import { CONTROLS } from "../../chaos/controls.ts";
import { newFolder } from "../../chaos/folder.ts";
import { generateManifest } from "../../chaos/generate.ts";
import { readSlots } from "../../chaos/journals.ts";
import { AGENTS, APPEAL_AGENTS, healMs, parseManifest, PERTURBATIONS, printManifest } from "../../chaos/manifest.ts";
import { earnedBy } from "../../chaos/money.ts";
import { attemptOf, signMessage } from "../support/core/committee.ts";
import { assertBelow, assertIncludes } from "../support/assertions.ts";

describe("a manifest of chaos", () => {
  it("is the same for the same seed, stands in YAML as it is, and every perturbation is drawn", () => {
    const drawn = new Set<string>();
    for (let seed = 1; seed <= 200; seed++) {
      const manifest = generateManifest(seed);
      assert.deepEqual(generateManifest(seed), manifest);
      assert.deepEqual(parseManifest(printManifest(manifest), "x.yaml"), manifest);
      assertBelow(healMs(manifest), 30_000);
      for (const { kind } of manifest.perturbations) drawn.add(kind);
    }
    assert.deepEqual([...drawn].toSorted(), [...PERTURBATIONS].toSorted());
    const drawnOf = (appeals: boolean): number => {
      const all = Array.from({ length: 50 }, (_, seed) => generateManifest(seed, { appeals })).flatMap(
        ({ perturbations }) => perturbations,
      );
      return Math.max(...all.map((one) => ("agent" in one ? one.agent : 0)));
    };
    assert.deepEqual([drawnOf(false), drawnOf(true)], [AGENTS - 1, APPEAL_AGENTS - 1]);
    for (const { kind } of generateManifest(7, { only: ["pause"] }).perturbations) assert.equal(kind, "pause");
  });

  it("is kept for what was found and for each control, and can be read", () => {
    const folder = join(import.meta.dirname, "../../chaos/manifests");
    const files = readdirSync(folder);
    for (const file of files) parseManifest(readFileSync(join(folder, file), "utf8"), file);
    for (const control of Object.keys(CONTROLS)) assertIncludes(files, `control-${control}.yaml`);
  });

  it("is refused with the field that is wrong", () => {
    for (const [text, named] of [
      ["requests: [", /no YAML/],
      ["name: x\nrequests: []\nperturbations: []\n", /requests: /],
      ["name: x\nrequests: [{ protocol: nope, afterMs: 0 }]\nperturbations: []\n", /requests\.0\.protocol/],
      [
        "name: x\nrequests: [{ protocol: mbft, afterMs: 0 }]\nperturbations: [{ kind: kill, agent: 9, afterMs: 0, forMs: 1 }]\n",
        /perturbations\.0\.agent: expected agents from 0 to 4/,
      ],
      [
        "name: x\nrequests: [{ protocol: mbft, afterMs: 0 }]\nperturbations: [{ kind: partition, side: [0, 5], afterMs: 0, forMs: 1 }]\n",
        /perturbations\.0\.side: expected agents from 0 to 4/,
      ],
      [
        "name: x\nrequests: [{ protocol: mbft, afterMs: 0 }]\nperturbations: [{ kind: partition, side: [0, 1, 2, 3, 4], afterMs: 0, forMs: 1 }]\n",
        /perturbations\.0\.side: expected at most 4 agents/,
      ],
      [
        "name: x\nrequests: [{ protocol: mbft, afterMs: 0 }]\nperturbations: [{ kind: oneWay, from: 1, to: 1, afterMs: 0, forMs: 1 }]\n",
        /perturbations\.0\.to: expected another agent than "from"/,
      ],
      [
        "name: x\nappeals: true\nrequests: [{ protocol: mbft, afterMs: 0 }]\nperturbations: [{ kind: kill, agent: 13, afterMs: 0, forMs: 1 }]\n",
        /perturbations\.0\.agent/,
      ],
      [
        "name: x\nrequests: [{ protocol: council, afterMs: 0, source: true }]\nperturbations: []\n",
        /requests\.0\.source: expected a protocol that takes sources: mbft/,
      ],
      [
        "name: x\nrequests: [{ protocol: mbft, afterMs: 0 }]\nperturbations: []\nslashed: [2]\n",
        /slashed: expected agents that equivocate/,
      ],
      ["name: ../x\nrequests: [{ protocol: mbft, afterMs: 0 }]\nperturbations: []\n", /name/],
    ] as const)
      assert.throws(() => parseManifest(text, "m.yaml"), { code: "USAGE", message: named });
  });
});

describe("npm run chaos", () => {
  it("makes a new folder for each run, beside what is there", async () => {
    const out = await mkdtemp(join(tmpdir(), "conclave-chaos-test-"));
    try {
      await mkdir(join(out, "src"));
      await writeFile(join(out, "file"), "x");
      assert.deepEqual(await Promise.all([newFolder(out, "a"), newFolder(out, "a")]), [
        join(out, "a"),
        join(out, "a-2"),
      ]);
      assert.equal(await newFolder(out, "src"), join(out, "src-2"));
      await assert.rejects(newFolder(join(out, "file"), "a"), { code: "CONFIG_INVALID", message: /--out/ });
    } finally {
      await rm(out, { recursive: true, force: true });
    }
  });

  it("ends on SIGTERM while it deploys, says what it played until then, and leaves nothing behind", async () => {
    const folder = await mkdtemp(join(tmpdir(), "conclave-chaos-test-"));
    try {
      const main = join(import.meta.dirname, "../../chaos/main.ts");
      const child = spawn(process.execPath, [main, "--json", "--out", join(folder, "out")], {
        env: { ...process.env, TMPDIR: folder },
        stdio: ["ignore", "pipe", "pipe"],
      });
      const exited = once(child, "exit");
      const printed = textOf(child.stdout);
      const told: string[] = [];
      for await (const line of createInterface({ input: child.stderr })) {
        told.push(line);
        if (line.includes("deploys the contracts")) child.kill("SIGTERM");
      }
      assert.equal(told.at(-1), "stopped by SIGTERM");
      assert.deepEqual((await exited).slice(0, 1), [2]);
      assert.equal(await printed, '{"manifests":0,"decisions":0,"findings":[]}\n');
      assert.deepEqual(readdirSync(folder, { recursive: true }), ["out"]);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});

describe("what chaos finds", () => {
  it("a seat that signed two payloads for one slot, in the journals of different agents and lives", async () => {
    const folder = await mkdtemp(join(tmpdir(), "conclave-chaos-test-"));
    const attempt = attemptOf(4);
    const commit = (seat: number, fill: number): Message =>
      signMessage(attempt, seat, 1, 0, { commitment: new Uint8Array(32).fill(fill) });
    const write = async (place: string, messages: readonly Message[]): Promise<void> => {
      await mkdir(join(folder, place), { recursive: true });
      const journal = await createFileJournals(join(folder, place)).open(
        `request-${attempt.request.id}-${attempt.attempt}`,
      );
      await journal.append(Buffer.from("opening"));
      for (const message of messages)
        for (const record of encodeInput({ kind: "message", message })) await journal.append(record);
      await journal.close();
    };
    try {
      await write("agent-0/life-1", [commit(0, 1), commit(1, 1)]);
      await write("agent-2/life-1", [commit(1, 1)]);
      assert.deepEqual(await readSlots(folder, [attempt]), { messages: 3, doubles: [], broken: [] });
      const forged = { ...commit(3, 1), signature: commit(3, 2).signature };
      await write("agent-2/life-2", [commit(1, 2), forged]);
      assert.deepEqual(await readSlots(folder, [attempt]), {
        messages: 4,
        doubles: [
          {
            requestId: attempt.request.id,
            seat: 1,
            agentId: attempt.committee[1]?.agentId,
            slot: "phase 1, round 0",
          },
        ],
        broken: [],
      });
      const path = join(folder, "agent-0/life-1", `request-${attempt.request.id}-${attempt.attempt}.journal`);
      const bytes = readFileSync(path);
      bytes[bytes.length >> 1]! ^= 1;
      await writeFile(path, bytes);
      const { broken } = await readSlots(folder, [attempt]);
      assert.equal(broken.length, 1);
      assert.match(broken[0] ?? "", /checksum/);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});

describe("the money of an examination", () => {
  it("divides pay as the contract does: rounded down by seat, and nothing for an absent one", () => {
    assert.equal(earnedBy([30, 30, 30], 100n), 99n);
    assert.equal(earnedBy([30, ABSENT, 30, 30], 100n), 99n);
    assert.equal(earnedBy([0, ABSENT, 0], 100n), 0n);
  });
});
