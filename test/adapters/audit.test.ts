import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { createRoom } from "../../agents/cli/verify/audit-room.ts";
import { packRound } from "../support/memory-chain/rounds.ts";
import type { Decision, Digest, Request, RequestId } from "../../agents/core/types.ts";
import { audit, type AuditOptions, type Subject } from "../../agents/node/audit/audit.ts";
import type { VerifyReport } from "../../agents/node/audit/report.ts";
import type { ChainEvent } from "../../agents/core/request/events.ts";
import type { Cursor } from "../../agents/ports/chain.ts";
import { attemptOf, withId } from "../support/core/committee.ts";

const { request, committee } = attemptOf(4);
const round = packRound({ link: 0n, appeals: 0, deadline: 1_900_000_000 });
const hash = `0x${"00".repeat(32)}` as const;

function at(block: number) {
  return { blockNumber: BigInt(block), blockHash: hash, logIndex: 0, transactionHash: hash };
}

function asked(id: number, block: number): ChainEvent {
  const own: Request = withId(attemptOf(4), BigInt(id) as RequestId).request;
  return { ...at(block), kind: "requested", request: own, round, seedBlock: 3n };
}

/** The decision is final at once: no appeals. */
function decided(id: number, block: number): readonly ChainEvent[] {
  const requestId = BigInt(id) as RequestId;
  const decision: Decision = {
    status: "decided",
    attempt: 0,
    round: 0,
    confidence: 1 as Decision["confidence"],
    outcome: hash as Digest,
    transcript: hash as Digest,
    answer: "yes",
    reputationChanges: [],
    shares: [1, 1, 1, 1],
    answered: [],
    agreed: [],
  };
  const relay = { signers: 7n, gasPrice: 0n, relayer: request.consumer };
  return [{ ...at(block), kind: "decisionCommitted", requestId, committee, decision, relay }];
}

const proven = ({ requestId }: Subject): VerifyReport => ({
  requestId: String(requestId),
  ok: true,
  root: null,
  messages: 0,
  rounds: 0,
  checked: { certificateSignatures: 0, blocks: 0, messageSignatures: 0 },
  decision: null,
  refused: null,
});

/** A stream that brings these events block by block, and then waits as a chain does. */
function chainOf(events: readonly ChainEvent[], last: number): AuditOptions["chain"] {
  return {
    async follow(_, onBatch, signal) {
      for (let block = 0; block <= last; block++) {
        if (signal.aborted) return;
        const cursor: Cursor = { blockNumber: BigInt(block), blockHash: hash };
        const inBlock = events.filter(({ blockNumber }) => blockNumber === cursor.blockNumber);
        await onBatch({ events: inBlock, from: cursor.blockNumber, cursor });
      }
      await new Promise<void>((resolve) => {
        if (signal.aborted) resolve();
        else signal.addEventListener("abort", () => resolve(), { once: true });
      });
    },
  };
}

function run(events: readonly ChainEvent[], overrides: Partial<AuditOptions> = {}) {
  const verified: string[] = [];
  const counts = audit({
    chain: chainOf(events, 20),
    last: 20n,
    includes: () => true,
    isKnown: () => false,
    verify: async (subject) => proven(subject),
    onReport: async ({ requestId }) => void verified.push(String(requestId)),
    concurrency: 2,
    signal: new AbortController().signal,
    ...overrides,
  });
  return { counts, verified };
}

describe("TR6: the room for transcripts under way", () => {
  const { signal } = new AbortController();
  const isOver = (work: Promise<void>): Promise<boolean> => Promise.race([work.then(() => true), turn(false)]);

  it("takes any number of small transcripts, and large ones one at a time, in turn", async () => {
    const room = createRoom(10);
    const [first, second, third, small] = [room.enter(), room.enter(), room.enter(), room.enter()];
    for (const one of [first, second, third, small]) assert.ok(await isOver(one.take(10, signal)));
    assert.ok(await isOver(first.take(1, signal)));
    const [ahead, behind, last] = [second.take(1, signal), second.take(9, signal), third.take(1, signal)];
    assert.ok(await isOver(first.take(1_000, signal)));
    assert.deepEqual([await isOver(ahead), await isOver(behind), await isOver(last)], [false, false, false]);
    small.leave();
    assert.equal(await isOver(ahead), false);
    first.leave();
    assert.deepEqual([await isOver(ahead), await isOver(behind), await isOver(last)], [true, true, false]);
    assert.ok(await isOver(second.take(1_000, signal)));
    second.leave();
    assert.ok(await isOver(last));
  });

  it("gives the turn to the next when a waiter gives up", async () => {
    const room = createRoom(10);
    const [first, second, third] = [room.enter(), room.enter(), room.enter()];
    await first.take(11, signal);
    const stop = new AbortController();
    const given = second.take(11, stop.signal);
    const last = third.take(11, signal);
    stop.abort(new Error("enough"));
    await assert.rejects(given, /enough/);
    second.leave();
    first.leave();
    assert.ok(await isOver(last));
    third.leave();
    assert.ok(await isOver(room.enter().take(11, signal)));
  });
});

describe("TR6: an audit of many requests", () => {
  const three = [asked(1, 1), asked(2, 2), ...decided(1, 3), asked(3, 4), ...decided(2, 5), ...decided(3, 6)];

  it("verifies each decision that stands once, and counts requests without one", async () => {
    const { counts, verified } = run([...three, asked(4, 7)]);
    assert.deepEqual(await counts, { requests: 4, known: 0, undecided: 1, partial: 0 });
    assert.deepEqual(verified, ["1", "2", "3"]);
  });

  it("skips requests that are not included, known, or asked before", async () => {
    const { counts, verified } = run([...three, ...decided(9, 8)], {
      includes: (requestId) => requestId !== 2n,
      isKnown: ({ requestId }) => requestId === 1n,
    });
    assert.deepEqual(await counts, { requests: 2, known: 1, undecided: 0, partial: 1 });
    assert.deepEqual(verified, ["3"]);
  });

  it("reads no event of a block after the last", async () => {
    const { counts, verified } = run(three, { last: 4n });
    assert.deepEqual(await counts, { requests: 3, known: 0, undecided: 2, partial: 0 });
    assert.deepEqual(verified, ["1"]);
  });

  it("says how far it has read while it waits for what it verifies", async () => {
    const blocks: bigint[] = [];
    const started: string[] = [];
    const go = Promise.withResolvers<void>();
    const { counts } = run([asked(1, 1), ...decided(1, 3), asked(2, 4), ...decided(2, 6)], {
      concurrency: 1,
      onBlock: (block) => void blocks.push(block),
      chain: {
        follow: async (_, onBatch, signal) => {
          const events = [asked(1, 1), ...decided(1, 3), asked(2, 4), ...decided(2, 6)];
          await onBatch({ events, from: 0n, cursor: { blockNumber: 20n, blockHash: hash } });
          assert.ok(signal.aborted);
        },
      },
      verify: async (subject) => {
        started.push(String(subject.requestId));
        await go.promise;
        return proven(subject);
      },
    });
    for (let turns = 0; turns < 10; turns++) await turn();
    assert.deepEqual([started, blocks.at(-1)], [["1"], 6n]);
    go.resolve();
    await counts;
    assert.equal(blocks.at(-1), 20n);
  });

  it("reads on only while fewer than the bound are being verified", async () => {
    const many = Array.from({ length: 12 }, (_, index) => [asked(index + 1, index), ...decided(index + 1, index)]);
    const pending: (() => void)[] = [];
    let most = 0;
    const { counts } = run(many.flat(), {
      concurrency: 3,
      verify: async (subject) => {
        await new Promise<void>((resolve) => {
          pending.push(resolve);
          most = Math.max(most, pending.length);
        });
        return proven(subject);
      },
    });
    for (let verified = 0; verified < many.length;) {
      await turn();
      const next = pending.shift();
      if (next === undefined) continue;
      next();
      verified += 1;
    }
    assert.equal((await counts).requests, 12);
    assert.equal(most, 3);
  });

  it("ends with an error that is not a verdict, and stops the other verifications", async () => {
    const stopped: string[] = [];
    const { counts } = run(three, {
      verify: async ({ requestId }, signal) => {
        if (requestId === 2n) throw new Error("the network is gone");
        return new Promise((_, reject) => {
          signal.addEventListener("abort", () => {
            stopped.push(String(requestId));
            reject(signal.reason as Error);
          });
        });
      },
    });
    await assert.rejects(counts, /the network is gone/);
    assert.deepEqual(stopped, ["1"]);
  });

  it("ends when its signal aborts", async () => {
    const leaving = new AbortController();
    const { counts } = run(three, { signal: leaving.signal, last: 30n });
    leaving.abort(new Error("enough"));
    await assert.rejects(counts, /enough/);
  });
});
