import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { errorFailure } from "../../agents/cli/shared/failure.ts";
import { wayOut } from "../../agents/cli/shared/reasons.ts";
import { ConclaveError } from "../../agents/core/errors.ts";
import { journalWayOut } from "../../agents/ports/journal.ts";

const root = join(import.meta.dirname, "../..");

describe("docs/reasons.md", () => {
  it("explains every error code, and no other", async () => {
    const source = await readFile(join(root, "agents/core/errors.ts"), "utf8");
    const union = [...source.matchAll(/^ {2}\| "([A-Z_]+)"/gm)].map(([, code]) => code);
    const text = await readFile(join(root, "docs/reasons.md"), "utf8");
    const sections = text.split(/^### /m).slice(1);
    const documented = sections.map((section) => section.split("\n")[0]);
    assert.ok(union.length > 25);
    assert.deepEqual(
      documented.toSorted((a = "", b = "") => (a < b ? -1 : 1)),
      union.toSorted((a = "", b = "") => (a < b ? -1 : 1)),
    );
    for (const section of sections) assert.ok(section.split("\n").slice(1).join(" ").trim().length > 60, section);
  });

  it("the command line knows a way out of each", async () => {
    const source = await readFile(join(root, "agents/core/errors.ts"), "utf8");
    const union = [...source.matchAll(/^ {2}\| "([A-Z_]+)"/gm)].map(([, code]) => code);
    assert.deepEqual(
      Object.keys(wayOut).toSorted((a = "", b = "") => (a < b ? -1 : 1)),
      union.toSorted((a = "", b = "") => (a < b ? -1 : 1)),
    );
  });

  it("what was not given leads to the help, which lists how it is given, and not back to the message", () => {
    const missing = new ConclaveError("CONFIG_MISSING", "Find the chain: give --deployment FILE", { field: "chain" });
    assert.equal(errorFailure(missing, "conclave history --help").way, "see `conclave history --help`");
    const wrong = new ConclaveError("CONFIG_INVALID", "Read conclave.json: chain.rpcUrl: expected a URL", {});
    assert.match(String(errorFailure(wrong, "conclave agent run --help").way), /`conclave agent schema`/);
  });

  it("sends only whoever lacks tokens to the faucet", () => {
    const wayFor = (data: ConclaveError["data"]): string =>
      String(errorFailure(new ConclaveError("STAKE_MISSING", "Stake: it fails", data), "conclave --help").way);
    assert.match(wayFor({ account: "0x", balance: "1", required: "2" }), /conclave account fund ACCOUNT/);
    assert.match(wayFor({ amount: "5", balance: "3", room: "9" }), /conclave account fund ACCOUNT/);
    for (const [data, way] of [
      [{ stake: "1", minStake: "2", maxStake: "3" }, /bounds with --stake$/],
      [{ agentId: 1, unbonding: "0" }, /^begin with `conclave agent unstake/],
      [{ agentId: 1, unbondingEnd: 5 }, /^wait until then/],
      [{ agentId: 1, stake: "0", minStake: "1" }, /`conclave delegate`/],
      [{ stake: "1", amount: "2" }, /--amount all/],
      [{ error: "StakeBelowMinimum", stake: "1", minimum: "2" }, /^do what the message says/],
    ] as const) {
      assert.match(wayFor(data), way);
      assert.doesNotMatch(wayFor(data), /account fund/);
    }
  });

  it("a damaged journal: the page says what the error says", async () => {
    const text = await readFile(join(root, "docs/reasons.md"), "utf8");
    const entry = /^### JOURNAL_CORRUPT$([^]*?)^### /m.exec(text)?.[1]?.toLowerCase().replaceAll(/\s+/g, " ") ?? "";
    const steps = journalWayOut.split(/[,;] (?:then )?/);
    assert.deepEqual([steps.length, steps.filter((step) => !entry.includes(step))], [4, []]);
  });

  it("lists every reason for which a seat refuses a message or a root, and no other", async () => {
    const text = await readFile(join(root, "docs/reasons.md"), "utf8");
    const section = /^## What a seat refuses$([^]*?)^## /m.exec(text)?.[1] ?? "";
    const listed = [...section.matchAll(/^\| `([^`]+)` \| ([A-Z0-9, ]+) \| .+ \|$/gm)].map(
      ([, reason]) => reason as string,
    );
    assert.deepEqual(listed.toSorted(), [...(await reasonsOfSeats())].toSorted());
  });
});

/** Where the code of a seat names reasons, and the form in which it does. */
const SOURCES: readonly (readonly [file: string, form: RegExp])[] = [
  ["agents/core/protocol.ts", /^export type Rejection =(.+);$/gm],
  ["agents/core/encoding/transcript.ts", /^function findForgery([^]+?)^}/gm],
  ["agents/core/encoding/transcript.ts", /\brefused: ("[^"]+")/g],
  ["agents/core/encoding/transcript.ts", /\breason: ("[^"]+")/g],
  ["agents/core/encoding/transcript.ts", /\breason: (`.+`)/g],
  ["agents/core/seat/certify/certify.ts", /\breason: ("[^"]+")/g],
  ["agents/core/seat/certify/proposals.ts", /\breason: ("[^"]+")/g],
  ["agents/core/seat/seat.ts", /\bdropped\(state, ("[^"]+")/g],
  ["agents/node/seat/ingress.ts", /\b(?:blame|forgo)\(from, (?:key, )?("[^"]+")/g],
  ["agents/node/seat/ingress.ts", /^function refuseCheaply([^]+?)^}/gm],
  ["agents/node/seat/early-frames.ts", /^export type GivenUp =(.+);$/gm],
];

async function reasonsOfSeats(): Promise<ReadonlySet<string>> {
  // A message that `addMessage` does not add has one of these.
  const found = new Set<string>(["duplicate", "full"]);
  for (const [file, form] of SOURCES) {
    const source = await readFile(join(root, file), "utf8");
    const parts = [...source.matchAll(form)].map(([, part]) => part as string);
    assert.ok(parts.length > 0, `${file}: nothing has the form ${form}`);
    for (const part of parts)
      for (const [, text, template] of part.matchAll(/"([^"]+)"|`([^`]+)`/g)) {
        const reason = (text ?? template ?? "")
          .replace(/^proposal: /, "")
          .replace(/^message block \$\{[^}]+\}: /, "")
          .replace(/ ?\$\{.+\}$/, "");
        if (reason !== "") found.add(reason);
      }
  }
  return found;
}
