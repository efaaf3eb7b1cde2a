import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createSystemClock } from "../../agents/adapters/clock/system-clock.ts";
import { createMemoryContentHub, createMemoryContentStore } from "../support/memory/content-store.ts";
import { cidString } from "../../agents/core/encoding/cid.ts";
import { digestOf, encode } from "../../agents/core/encoding/codec.ts";
import { sha256 } from "../../agents/core/encoding/bytes.ts";
import { escalating } from "../../agents/core/protocols/escalating/index.ts";
import { createMemoryModel } from "../../agents/adapters/memory/model.ts";
import type { Input, Observation } from "../../agents/core/protocol.ts";
import { verifyPrompt } from "../../agents/core/prompts/task-prompt.ts";
import { GATHER, gatherForm } from "../../agents/core/phases/readings.ts";
import { documentBlock, grounded } from "../../agents/core/sources/named.ts";
import { passagesOf } from "../../agents/core/sources/passages.ts";
import type { Attempt, Digest } from "../../agents/core/types.ts";
import { ask } from "../../agents/node/seat/asking.ts";
import type { EffectHost } from "../../agents/node/seat/host.ts";
import { createRequestBudget } from "../../agents/node/seat/token-budget.ts";
import { createInputReader, encodeInput } from "../../agents/node/seat/records.ts";
import type { ContentStore } from "../../agents/ports/content-store.ts";
import { maxRecordBytes } from "../../agents/ports/journal.ts";
import { attemptOf } from "../support/core/committee.ts";
import { openSeatOf, type Seat } from "./seat.ts";
import { fastTiming, silentLog } from "./world.ts";
import { until } from "../support/until.ts";
import { assertAtMost } from "../support/assertions.ts";

const clock = createSystemClock();
const RULES = "Exports above 500 need a licence.";
const rules = documentBlock(RULES) as Uint8Array;
const READ = { passages: passagesOf(RULES).map(digestOf) };

function asking(...digests: readonly Digest[]): Attempt {
  const attempt = attemptOf(4, { protocol: 10 });
  const question = ["Licence?", ...digests.map((digest) => `source: ${cidString(digest)}`)].join("\n");
  return { ...attempt, request: { ...attempt.request, question } };
}

/** An empty store that is connected to a peer's store, which has the blocks. */
async function beside(...blocks: readonly Uint8Array[]): Promise<ContentStore> {
  const hub = createMemoryContentHub();
  const theirs = createMemoryContentStore({ clock, hub });
  for (const block of blocks) await theirs.put(block);
  return createMemoryContentStore({ clock, hub });
}

/** What a seat observes whose model derives an answer of its own to the question that it judges an answer to. */
async function judging(attempt: Attempt, judged: string, derived: string): Promise<Observation> {
  const { promise, resolve } = Promise.withResolvers<Observation>();
  const prompt = verifyPrompt(grounded(attempt), judged, "It says so.");
  const model = createMemoryModel(async () => ({ check: "It says nothing.", derived }), { prompts: "general" });
  const host = {
    context: { attempt, self: 0, secret: new Uint8Array(32), timing: fastTiming },
    ports: { model, clock, log: silentLog, budget: createRequestBudget(Infinity) },
    events: { onUnread: () => {} },
    signal: new AbortController().signal,
    enqueue: (input: Input) => input.kind === "observed" && resolve(input.observation),
  };
  await ask(host as unknown as EffectHost, { kind: "ask", ask: "0.verify", prompt });
  return promise;
}

async function gathered(seat: Seat): Promise<unknown> {
  await until(() => seat.sent.some(({ header }) => header.phase === GATHER));
  return seat.sent.find(({ header }) => header.phase === GATHER)?.payload;
}

async function kindsIn(seat: Seat): Promise<readonly (string | undefined)[]> {
  const read = createInputReader();
  return (await seat.journal()).slice(1).map((record) => read(record)?.kind);
}

describe("documents of a question, in a session", () => {
  it("SG5: are fetched from the peers' stores, and each seat says what it read", async () => {
    const attempt = asking(sha256(rules));
    const seat = await openSeatOf(attempt, 0, { protocol: escalating, ports: { store: await beside(rules) } });
    assert.deepEqual(await gathered(seat), gatherForm.encode({ sources: [READ] }));
    assert.deepEqual((await kindsIn(seat)).slice(0, 3), [undefined, "read", "message"]);
    await seat.session.close();
  });

  it("are taken from the journal after a restart, or fetched again if they are not in it", async () => {
    const attempt = asking(sha256(rules));
    const first = await openSeatOf(attempt, 0, { protocol: escalating, ports: { store: await beside(rules) } });
    await gathered(first);
    await first.session.close();
    const records = await first.journal();
    // The journal holds opening, block, `read` and the own message; it is cut after each.
    for (const [kept, store] of [
      [1, await beside(rules)],
      [2, await beside(rules)],
      [3, await beside()],
      [4, await beside()],
    ] as const) {
      const again = await openSeatOf(attempt, 0, {
        protocol: escalating,
        records: records.slice(0, kept),
        ports: { store },
      });
      assert.deepEqual(await gathered(again), gatherForm.encode({ sources: [READ] }), `${kept} records`);
      await again.session.close();
    }
  });

  it("SG5: a block that is missing or no document is a failure with its reason", async () => {
    const table = encode({ rows: 3 });
    const absent = sha256(new Uint8Array(1));
    const attempt = asking(sha256(table), sha256(rules), absent);
    const seat = await openSeatOf(attempt, 0, {
      protocol: escalating,
      ports: { store: await beside(table, rules) },
    });
    assert.deepEqual(
      await gathered(seat),
      gatherForm.encode({ sources: [{ failed: "not-found" }, READ, { failed: "timeout" }] }),
    );
    assert.equal(seat.session.silent(), null);
    await seat.session.close();
  });

  it("SG10, P10: a model that derives a non-answer accepts one, where the terms admit it", async () => {
    const under = (nonAnswers: "accepted" | "refused"): Attempt => {
      const { request, ...attempt } = asking(sha256(rules));
      return { ...attempt, request: { ...request, terms: { ...request.terms, kind: "number", nonAnswers } } };
    };
    const [attempt, refused] = [under("accepted"), under("refused")];
    for (const [asked, judged, derived, verdict] of [
      [attempt, "unanswerable", "unanswerable", "accept"],
      [attempt, "5", "unanswerable", "reject"],
      [attempt, "too early", "unanswerable", "reject"],
      [refused, "5", "unanswerable", "abstain"],
    ] as const) {
      const observation = await judging(asked, judged, derived);
      assert.equal(observation.kind === "answered" && observation.fields["verdict"], verdict, `${judged}, ${derived}`);
    }
  });

  it("are journalled in parts as `read`, and read back unchanged", () => {
    const blocks = ["a", "b"].map((one) => documentBlock(one.repeat(15_000)) as Uint8Array);
    const input: Input = { kind: "read", blocks: [blocks[0]!, null, blocks[1]!] };
    const records = encodeInput(input);
    for (const record of records) assertAtMost(record.length, maxRecordBytes);
    const read = createInputReader();
    assert.deepEqual(records.map(read), [null, null, input]);
    assert.throws(() => createInputReader()(records.at(-1)!), { code: "JOURNAL_CORRUPT" });
  });
});
