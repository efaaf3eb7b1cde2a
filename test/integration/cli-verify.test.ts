import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { appendFile, mkdir, open, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { after, before, describe, it } from "node:test";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { cidOf } from "../../agents/adapters/ipfs/block.ts";
import { startGateway } from "../../agents/adapters/ipfs/gateway.ts";
import { LocalBlocks } from "../../agents/adapters/ipfs/local-blocks.ts";
import { createAuditPool } from "../../agents/cli/verify/audit-pool.ts";
import { createAuditReader } from "../../agents/cli/shared/audit-reader.ts";
import { openAuditState } from "../../agents/cli/verify/audit-state.ts";
import type { Subject } from "../../agents/node/audit/audit.ts";
import type { VerifyReport } from "../../agents/node/audit/report.ts";
import { cidString } from "../../agents/core/encoding/cid.ts";
import { sha256 } from "../../agents/core/encoding/bytes.ts";
import type { Digest, RequestId } from "../../agents/core/types.ts";
import type { ChainEvent } from "../../agents/core/request/events.ts";
import { startDecidedChain, type DecidedChain } from "../../devnet/decided-chain.ts";
import { listenOnLoopback } from "../../scripts/shared/loopback.ts";
import { createCli, type Cli } from "./cli-world.ts";

const COUNT = 5;
const root = join(import.meta.dirname, "../..");
let world: DecidedChain;
let cli: Cli;
let ids: readonly string[];

const source = ["--deployment", "deployment.json", "--store", ".", "--jobs", "1"];

before(async () => {
  world = await startDecidedChain(COUNT);
  cli = createCli(world.folder);
  ids = world.decisions.map(({ attempt }) => String(attempt.request.id));
});

after(() => world.close());

/** Replaces one message block of a decision, or puts it back. */
async function spoil(index: number, spoilt: boolean): Promise<string> {
  const bytes = world.decisions[index]!.blocks[3]!;
  const store = new LocalBlocks(join(world.folder, "blocks"));
  await store.open();
  await store.put(cidOf(sha256(bytes)), spoilt ? bytes.with(9, bytes[9]! ^ 4) : bytes);
  return cidString(sha256(bytes));
}

function subjectOf(requestId: RequestId, events: readonly ChainEvent[]): Subject {
  const committed = events.find((event) => event.kind === "decisionCommitted");
  assert.ok(committed);
  return { requestId, events, committed };
}

describe("conclave verify of many requests", () => {
  it("TR6: proves all requests since a block or in a range of ids, and reports what it read", async () => {
    const { code, value } = await cli.json("verify", "--since", "0", ...source);
    assert.equal(code, 0, JSON.stringify(value));
    const { ok, requests, proven, refuted, undecided, partial, messages, signatures, failures } = value;
    assert.deepEqual([ok, requests, proven, refuted, undecided, partial], [true, COUNT, COUNT, 0, 0, 0]);
    assert.deepEqual([messages, failures], [COUNT * 16, []]);
    assert.equal(
      signatures,
      COUNT * 16 + world.decisions.reduce((sum, one) => sum + one.certificate.signatures.length, 0),
    );

    const range = await cli.json("verify", "--from", ids[1]!, "--to", ids[2]!, ...source);
    assert.deepEqual([range.code, range.value["requests"], range.value["proven"]], [0, 2, 2]);
    const { lastBlock } = value as { readonly lastBlock: string };
    const late = await cli.run(["verify", "--since", lastBlock, ...source]);
    assert.equal(late.code, 0, late.stderr);
    assert.match(late.stdout, /\nnothing +no request was asked in these blocks, so that nothing is proven/);
    const beyond = await cli.failure("verify", "--since", String(Number(lastBlock) + 1), ...source);
    assert.deepEqual([beyond.code, beyond.data["option"]], ["USAGE", "--since"]);
    assert.match(beyond.message, new RegExp(`the newest block of the chain is ${lastBlock}$`));
    assert.equal((await cli.failure("verify", "--from", "1", "--to", "3", ...source)).code, "REQUEST_UNKNOWN");
  });

  it("TR6: finds and names one spoilt transcript, ends with 1, and tries it again later", async () => {
    const cid = await spoil(2, true);
    const state = ["--state", "spoilt.jsonl"];
    const { code, value } = await cli.json("verify", "--since", "0", ...source, ...state);
    assert.equal(code, 1);
    const [failure] = value["failures"] as readonly Record<string, unknown>[];
    assert.deepEqual([value["proven"], value["refuted"], value["broken"]], [COUNT - 1, 0, 1]);
    assert.deepEqual([failure?.["requestId"], failure?.["step"], failure?.["cid"]], [ids[2], "messages", cid]);
    const shown = await cli.run(["verify", "--since", "0", ...source]);
    assert.equal(shown.code, 1);
    assert.match(
      shown.stdout,
      new RegExp(`\nrequest ${ids[2]} BROKEN at messages: block ${cid}: hash mismatch: its bytes `),
    );
    assert.match(shown.stdout, /\nbroken +1: name another source of the blocks, and verify again/);
    await spoil(2, false);
    const again = await cli.json("verify", "--since", "0", ...source, ...state);
    assert.deepEqual([again.code, again.value["proven"], again.value["provenBefore"]], [0, 1, COUNT - 1]);
  });

  const openChain = (signal: AbortSignal): ReturnType<typeof createAuditReader> => {
    const { rpcUrl } = world.chain;
    const place = { ...world.deployment, rpcUrl, finalityDepth: 0, pollIntervalMs: 100, deploymentBlock: 0n };
    return createAuditReader(place, signal);
  };

  it("TR6: verifies transcripts one after the other if they are too large to be in memory together", async () => {
    const { signal } = new AbortController();
    const chain = await openChain(signal);
    const owners = new Map(
      world.decisions.flatMap(({ blocks }, index) => blocks.map((bytes) => [sha256(bytes), { bytes, index }] as const)),
    );
    const underWay = new Set<number>();
    let most = 0;
    const blocks = {
      async get(digest: Digest): Promise<Uint8Array> {
        const { bytes, index } = owners.get(digest) ?? assert.fail(digest);
        if (bytes !== world.decisions[index]?.blocks[0]) {
          most = Math.max(most, underWay.add(index).size);
          await sleep(20);
        }
        return bytes.slice();
      },
      close: async () => undefined,
    };
    const pool = await createAuditPool(2, { chain, openTranscript: () => blocks, signal }, 1);
    try {
      const reports = await Promise.all(
        world.decisions.map(async ({ attempt: { request } }, index) => {
          const events = await chain.requestEvents(request.id, signal);
          const report = await pool.verify(subjectOf(request.id, events));
          underWay.delete(index);
          return report;
        }),
      );
      assert.deepEqual([...new Set(reports.map(({ ok }) => ok))], [true]);
    } finally {
      await pool.close();
    }
    assert.equal(most, 1);
  });

  for (const jobs of [1, 2])
    it(`closing a pool of ${jobs} ends what is under way, so that nothing fetches afterwards`, async () => {
      const { signal } = new AbortController();
      const chain = await openChain(signal);
      const asked = Promise.withResolvers<void>();
      const ended = Promise.withResolvers<void>();
      const blocks = {
        get: (_: Digest, fetching?: AbortSignal): Promise<Uint8Array> =>
          new Promise((_resolve, reject) => {
            fetching?.addEventListener("abort", () => {
              reject(fetching.reason as Error);
              ended.resolve();
            });
            asked.resolve();
          }),
        close: async () => undefined,
      };
      const pool = await createAuditPool(jobs, { chain, openTranscript: () => blocks, signal });
      const [decision] = world.decisions;
      assert.ok(decision);
      const { id } = decision.attempt.request;
      const events = await chain.requestEvents(id, signal);
      const report = Promise.allSettled([pool.verify(subjectOf(id, events))]);
      await asked.promise;
      await pool.close();
      await ended.promise;
      await report;
    });

  it("TR6: counts and names a transcript that no source has as unavailable, not refuted; ends with 1, and tries it again later", async () => {
    await mkdir(join(world.folder, "partly"));
    const sparse = ["--deployment", "deployment.json", "--store", "partly", "--state", "sparse.jsonl"];
    const blocks = new LocalBlocks(join(world.folder, "partly"));
    await blocks.open();
    for (const bytes of world.decisions.slice(1).flatMap((one) => one.blocks))
      await blocks.put(cidOf(sha256(bytes)), bytes);
    const { code, value } = await cli.json("verify", "--since", "0", "--jobs", "1", ...sparse);
    const { ok, proven, refuted, unavailable, failures } = value;
    assert.deepEqual([code, ok, proven, refuted, unavailable], [1, false, COUNT - 1, 0, 1]);
    const [failure] = failures as readonly Record<string, unknown>[];
    assert.deepEqual([failure?.["requestId"], failure?.["kind"]], [ids[0], "unavailable"]);
    assert.equal(failure?.["reason"], "missing block: the source does not hold it");
    const alone = await cli.run(["verify", ids[0]!, ...sparse.slice(0, 4)]);
    assert.equal(alone.code, 1);
    assert.match(alone.stdout, /\nverdict +UNAVAILABLE at root\nblock +bafy\w+\nreason +missing block: /);
    assert.match(alone.stdout, /\nway out +nothing is refuted: name a source that holds the block/);
    const { stdout } = await cli.run(["verify", "--since", "0", "--jobs", "1", ...sparse]);
    assert.match(stdout, /\nunavailable +1: name a source that holds the blocks, and verify again/);
    assert.match(stdout, new RegExp(`\nrequest ${ids[0]} UNAVAILABLE at root: block bafy`));
    for (const bytes of world.decisions[0]!.blocks) await blocks.put(cidOf(sha256(bytes)), bytes);
    const again = await cli.json("verify", "--since", "0", "--jobs", "1", ...sparse);
    assert.deepEqual([again.code, again.value["proven"], again.value["provenBefore"]], [0, 1, COUNT - 1]);
  });

  it("asks a gateway once for each transcript, as `transcript` and `pin` do", async () => {
    const blocks = new LocalBlocks(join(world.folder, "blocks"));
    await blocks.open();
    const held = async (digest: Digest): Promise<Uint8Array> =>
      (await blocks.read(digest)) ?? assert.fail(`no block ${digest}`);
    const gateway = await startGateway({
      store: { get: held, has: async (digest) => (await blocks.read(digest)) !== null },
      host: "127.0.0.1",
      port: 0,
    });
    const asked: (string | undefined)[] = [];
    const front = await listenOnLoopback(
      createServer(({ url }, response) => {
        asked.push(url?.replace(/^.*format=/, ""));
        void fetch(`${gateway.url}${url}`).then(async ({ status, body }) =>
          pipeline(Readable.from(body ?? []), response.writeHead(status)),
        );
      }),
    );
    try {
      const from = ["--deployment", "deployment.json", "--gateway", front.url];
      const car = "car&dag-scope=all";
      for (const args of [
        ["verify", ids[0]!],
        ["transcript", ids[0]!, "--car", "kept.car"],
        ["pin", ids[0]!, "--into", "kept"],
      ]) {
        const { code, stderr } = await cli.run([...args, ...from]);
        assert.equal(code, 0, stderr);
        assert.deepEqual(asked.splice(0), [car], args[0]);
      }
      for (const jobs of ["1", "2"]) {
        const { code, value } = await cli.json("verify", "--since", "0", "--jobs", jobs, ...from);
        assert.deepEqual([code, value["proven"]], [0, COUNT]);
        assert.deepEqual(asked.splice(0), Array<string>(COUNT).fill(car));
      }
    } finally {
      await front.close();
      await gateway.close();
    }
  });

  it("TR7: refuses a second process on one state file, and the first loses nothing", async () => {
    const path = join(world.folder, "shared.jsonl");
    const domain = { chainId: world.deployment.chainId, oracle: world.deployment.oracle };
    const first = await openAuditState(path, domain);
    try {
      const args = [join(root, "agents/cli/main.ts"), "verify", "--since", "0", ...source, "--state", path, "--json"];
      const child = spawn(process.execPath, args, { cwd: world.folder, stdio: ["ignore", "pipe", "ignore"] });
      const [printed, [exit]] = await Promise.all([text(child.stdout), once(child, "exit")]);
      const { error } = JSON.parse(printed) as { readonly error: { readonly code: string; readonly message: string } };
      assert.deepEqual([exit, error.code], [1, "STATE_LOCKED"]);
      assert.match(error.message, /another process writes to it; wait for it, or name another file with --state/);
    } finally {
      await first.close();
    }
    assert.equal((await readFile(path, "utf8")).split("\n").length, 2);
    const { code, value } = await cli.json("verify", "--since", "0", ...source, "--state", path);
    assert.deepEqual([code, value["proven"]], [0, COUNT]);
  });

  it("TR7: continues where it was killed; a torn line counts for nothing", async () => {
    const path = join(world.folder, "killed.jsonl");
    const args = [join(root, "agents/cli/main.ts"), "verify", "--since", "0", ...source, "--state", path];
    const child = spawn(process.execPath, args, { cwd: world.folder, stdio: "ignore" });
    const ended = once(child, "exit");
    while (((await readFile(path, "utf8").catch(() => "")).match(/\n/g)?.length ?? 0) < 2 && child.exitCode === null)
      await sleep(20);
    child.kill("SIGKILL");
    await ended;
    const done = (await readFile(path, "utf8")).split("\n").length - 2;
    assert.ok(done >= 1);
    await appendFile(path, '{"key":"torn');
    const { code, value } = await cli.json("verify", "--since", "0", ...source, "--state", path);
    assert.equal(code, 0);
    assert.deepEqual([value["provenBefore"], value["proven"]], [done, COUNT - done]);
    assert.doesNotMatch(await readFile(path, "utf8"), /torn/);
    assert.equal((await readFile(path, "utf8")).split("\n").length, COUNT + 2);
  });

  it("TR7: refuses a file that is no state of this oracle, and leaves it as it is", async () => {
    for (const other of ["a letter", '{"format":"conclave verify 1","chainId":1}\n']) {
      await writeFile(join(world.folder, "other"), other);
      const { code, data } = await cli.failure("verify", "--since", "0", ...source, "--state", "other");
      assert.deepEqual([code, data["option"]], ["CONFIG_INVALID", "--state"]);
      assert.equal(await readFile(join(world.folder, "other"), "utf8"), other);
    }
  });

  it("TR7: takes foreign lines in the state file for no proof, no matter how long, and ends when it cannot write", async () => {
    const path = join(world.folder, "hostile.jsonl");
    const domain = { chainId: world.deployment.chainId, oracle: world.deployment.oracle };
    await (await openAuditState(path, domain)).close();
    const key = "7".repeat(1 << 20);
    const lines = ["[", "null", `{"key":"${key}","report":{"ok":true}}`, '{"key":"a","report":{"ok":1}}', ""];
    await appendFile(path, lines.join("\n"));
    // These lines are as long as a text may be in memory, and longer.
    const file = await open(path, "a");
    await file.truncate((await file.stat()).size + 600_000_000);
    await file.appendFile("\n");
    await file.close();
    const { code, value } = await cli.json("verify", "--since", "0", ...source, "--state", path);
    assert.deepEqual([code, value["proven"], value["provenBefore"]], [0, COUNT, 0]);
    const again = await cli.json("verify", "--since", "0", ...source, "--state", path);
    assert.deepEqual([again.value["proven"], again.value["provenBefore"]], [0, COUNT]);

    const state = await openAuditState(path, domain);
    await state.close();
    const subject = { requestId: 1n, committed: { blockHash: "0x", decision: { attempt: 0 } } } as unknown as Subject;
    await assert.rejects(state.add(subject, { ok: true, root: null } as VerifyReport), {
      code: "CONFIG_INVALID",
      message: /^Write to .*hostile\.jsonl failed: .*; make room or correct --state, then repeat the command/,
    });
    await mkdir(join(world.folder, "full/state.lock"), { recursive: true });
    for (const [place, words] of [
      ["nowhere/x", /ENOENT/],
      [".", /EISDIR/],
      ["/dev/null", /it is no regular file/],
      ["full/state", /unable to open database file/],
    ] as const) {
      const failed = await cli.failure("verify", "--since", "0", ...source, "--state", place);
      assert.deepEqual([failed.code, failed.data["option"]], ["CONFIG_INVALID", "--state"]);
      assert.match(failed.message, words);
    }
  });

  it("asks for exactly one selection of requests", async () => {
    for (const args of [
      [],
      ["1", "--since", "0"],
      ["--since", "0", "--from", "1"],
      ["--from", "1"],
      ["--from", "5", "--to", "4"],
      ["--since", "-1"],
      ["--since", "0", "--jobs", "0"],
      ["1", "--jobs", "3"],
      ["1", "--state", "unused.jsonl"],
    ])
      assert.equal((await cli.failure("verify", ...args, ...source.slice(0, 4))).code, "USAGE", args.join(" "));
    assert.equal(existsSync(join(world.folder, "unused.jsonl")), false);
  });
});
