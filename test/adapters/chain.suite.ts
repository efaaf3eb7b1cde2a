import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { keccak256, utf8 } from "../../agents/core/encoding/bytes.ts";
import { ConclaveError, type ErrorCode } from "../../agents/core/errors.ts";
import { canonicalAnswer } from "../../agents/core/request/answer.ts";
import { KIND_RULES } from "../../agents/core/request/kinds.ts";
import { defaultTerms } from "../../agents/core/request/terms.ts";
import { ANSWER_KINDS, type AnswerKind, type RequestId, type Terms } from "../../agents/core/types.ts";
import type { ChainEvent } from "../../agents/core/request/events.ts";
import type { ChainReader, BatchResult, Cursor, Receipt } from "../../agents/ports/chain.ts";
import { dueOf } from "../../agents/core/request/progress.ts";
import { until } from "../support/until.ts";
import { asked, progressNow, drawNext, drawn, lastOf, wordOf, type ChainHarness } from "./chain-questions.ts";

const WAIT_MS = 60_000;
/** No request has this id. */
const unknown = 999_999n as RequestId;

export const askedState = {
  status: "requested",
  attempt: 0,
  provisional: false,
  callbackPending: false,
  settled: false,
};

export function chainSuite(name: string, createHarness: () => Promise<ChainHarness>): void {
  describe(`chain: ${name}`, () => {
    let harness: ChainHarness;
    let reader: ChainReader;
    before(async () => {
      harness = await createHarness();
      reader = await harness.reader();
    });
    after(async () => {
      await stopFollowers();
      await harness.stop();
    });

    it("lists the agents and finds them by signer", async () => {
      const agents = await reader.agents();
      assert.deepEqual(
        agents.map(({ signer }) => signer),
        harness.keys.map(({ address }) => address),
      );
      const [first] = harness.keys;
      assert.ok(first !== undefined);
      const agent = await reader.agentBySigner(first.address);
      assert.deepEqual(agent?.publicKey, first.publicKey);
      assert.deepEqual([agent?.active, agent?.reputation, agent?.model], [true, 1_000_000, "test"]);
      assert.deepEqual(agent?.endpoint, ["/ip4/127.0.0.1/tcp/4001", "/ip4/127.0.0.1/tcp/4002"]);
      assert.equal(await reader.agentBySigner(reader.domain.oracle), null);
    });

    it("takes a question through committee, commit, callback and pay", async () => {
      const writer = await harness.writer(0);
      const { request, awaited, committee, certificate } = await drawn(harness, { callbackGasLimit: 500_000 });
      assert.equal(new Set(committee.map(({ agentId }) => agentId)).size, 4);
      assert.deepEqual(await reader.requestState(request.id), askedState);

      const receipt = await writer.commit(request, awaited, certificate);
      assert.ok(receipt !== "already");
      assert.deepEqual(await reader.requestState(request.id), { ...askedState, status: "decided", settled: true });
      assert.equal(await writer.settle(request, [await lastOf(reader, request.id)]), "already");
      assert.equal(dueOf(await progressNow(reader, request.id), await reader.head()), null);

      const events = await reader.requestEvents(request.id);
      assert.deepEqual(
        events.map(({ kind }) => kind),
        ["requested", "decisionCommitted"],
      );
      const blocks = events.map(({ blockNumber }) => blockNumber);
      assert.deepEqual(await reader.eventsIn(request.id, [...blocks, ...blocks]), events);
      assert.deepEqual(await reader.eventsIn(request.id, blocks.slice(0, 1)), events.slice(0, 1));
      assert.deepEqual(await reader.eventsIn(unknown, blocks), []);
      const committed = events.at(-1);
      assert.ok(committed?.kind === "decisionCommitted");
      assert.deepEqual([committed.committee, committed.decision], [committee, certificate.decision]);
      assert.equal(committed.relay.signers, 0b0111n);
      assert.equal(committed.relay.relayer, writer.account);
      assert.equal(committed.transactionHash, receipt.transactionHash);
      const changed = await reader.agentBySigner(committee[3]?.signer ?? reader.domain.oracle);
      assert.equal(changed?.reputation, 800_000);
    });

    it("lands one commit when two writers submit at once", async () => {
      const { request, awaited, certificate } = await drawn(harness);
      const writers = await Promise.all([harness.writer(0), harness.writer(1)]);
      const results = await Promise.all(writers.map((writer) => writer.commit(request, awaited, certificate)));
      assert.equal(results.filter((result) => result === "already").length, 1);
      const committed = (await reader.requestEvents(request.id)).filter(({ kind }) => kind === "decisionCommitted");
      assert.equal(committed.length, 1);
    });

    it("commits several decisions in one transaction; one that fails says why and does not stop the others", async () => {
      const writer = await harness.writer(0);
      const [first, unsigned, taken, second] = [
        await drawn(harness),
        await drawn(harness),
        await drawn(harness),
        await drawn(harness, { callbackGasLimit: 500_000 }),
      ];
      const [signature] = unsigned.certificate.signatures;
      assert.ok(signature !== undefined);
      const commits = [first, { ...unsigned, certificate: { ...unsigned.certificate, signatures: [signature] } }];
      await writer.commit(taken.request, taken.awaited, taken.certificate);
      const results = await writer.commitAll([...commits, taken, second]);
      const [one, refused, already, other] = results;
      assert.ok(isReceipt(one) && isReceipt(other) && refused instanceof ConclaveError);
      assert.equal(results.length, 4);
      assert.equal(one.transactionHash, other.transactionHash);
      assert.equal(already, "already");
      assert.deepEqual([refused.code, refused.data["error"]], ["CHAIN_REVERTED", "QuorumNotReached"]);
      const statuses = await Promise.all(
        [first, unsigned, second].map(async ({ request }) => (await reader.requestState(request.id)).status),
      );
      assert.deepEqual(statuses, ["decided", "requested", "decided"]);
      assert.deepEqual(await writer.commitAll([first, second]), ["already", "already"]);
      const [alone] = await writer.commitAll([unsigned]);
      assert.ok(isReceipt(alone));
      assert.deepEqual(await writer.commitAll([]), []);
    });

    it("SE3: everybody finds the same committee, as often as they ask, until the decision", async () => {
      const { request, awaited, committee, certificate } = await drawn(harness);
      await harness.mine(3);
      assert.deepEqual(await (await harness.reader()).committee(request, awaited), committee);
      const another = { ...awaited, seedBlock: awaited.seedBlock + 1n };
      await rejects(reader.committee(request, another), "CHAIN_REVERTED", "WitnessMismatch");
      await (await harness.writer(0)).commit(request, awaited, certificate);
      await rejects(reader.committee(request, awaited), "CHAIN_REVERTED", "WrongStatus");
    });

    it("SE3: a reorganization that replaces the seed block changes the committee", async () => {
      const committees = new Set<string>();
      const { request, awaited } = await drawn(harness);
      for (let fork = 0; fork < 4; fork++) {
        committees.add(JSON.stringify(await reader.committee(request, awaited)));
        // The seed block, the one after it, and some before: anvil takes a block's randomness from its parent.
        await harness.reorganize(4);
      }
      assert.ok(committees.size > 1, "four seed blocks named one committee of 4 out of 13 agents");
      const { certificate } = await drawNext(harness, request.id);
      assert.notEqual(await (await harness.writer(0)).commit(request, awaited, certificate), "already");
    });

    it("SE8: an attempt ends when its seed can no longer be proven, before its deadline", async () => {
      const writer = await harness.writer(0);
      const { request, awaited, certificate } = await drawn(harness, { retries: 1, duration: 604_800 });
      const progress = await progressNow(reader, request.id);
      assert.equal(dueOf(progress, await reader.head()), null);
      await rejects(writer.replace(request, awaited), "CHAIN_REVERTED", "DeadlineNotPassed");
      while ((await reader.head()).oldestSeed <= awaited.seedBlock) await harness.mine(16);
      await rejects(reader.committee(request, awaited), "CHAIN_REVERTED", "SeedExpired");
      await rejects(writer.commit(request, awaited, certificate), "CHAIN_REVERTED", "SeedExpired");
      assert.equal(dueOf(progress, await reader.head()), "replace");
      assert.notEqual(await writer.replace(request, awaited), "already");
      const next = await drawNext(harness, request.id);
      assert.notEqual(await writer.commit(request, next.awaited, next.certificate), "already");
    });

    it("keeps a failed callback pending and retries it", async () => {
      const writer = await harness.writer(0);
      const { request, awaited, certificate } = await drawn(harness, { callbackGasLimit: 500_000 });
      await harness.setConsumer(false);
      await writer.commit(request, awaited, certificate);
      const pending = { ...askedState, status: "decided", callbackPending: true, settled: true };
      assert.deepEqual(await reader.requestState(request.id), pending);
      const last = await lastOf(reader, request.id);
      const retry = (): Promise<unknown> => writer.retryCallback(request, last);
      await rejects(retry(), "CHAIN_REVERTED", "CallbackStillFails");
      await harness.setConsumer(true);
      assert.notEqual(await retry(), "already");
      assert.equal(await retry(), "already");
    });

    it("refunds after the deadline and not before", async () => {
      const writer = await harness.writer(0);
      const { request, awaited } = await drawn(harness);
      await rejects(writer.refund(request, awaited), "CHAIN_REVERTED", "DeadlineNotPassed");
      await harness.passTime(3_700);
      const late = await asked(harness);
      assert.equal(dueOf(await progressNow(reader, late.request.id), await reader.head()), null);
      assert.notEqual(await writer.refund(request, awaited), "already");
      assert.equal(await writer.refund(request, awaited), "already");
      assert.deepEqual(await reader.requestState(request.id), { ...askedState, status: "refunded", settled: true });
    });

    it("says why the contract refuses", async () => {
      const writer = await harness.writer(0);
      const early = await asked(harness);
      await rejects(reader.committee(early.request, early), "CHAIN_REVERTED", "SeedNotReady");
      const { request, awaited, certificate } = await drawn(harness);
      const [first, second, third] = certificate.signatures;
      assert.ok(first !== undefined && second !== undefined && third !== undefined);
      const forged = { ...certificate, signatures: [first, second, { ...third, signature: second.signature }] };
      await rejects(writer.commit(request, awaited, forged), "CHAIN_REVERTED", "InvalidSignature");
      const nobody = { seat: third.seat, signature: `0x${"00".repeat(64)}1b` as const };
      const unsigned = { ...certificate, signatures: [first, second, nobody] };
      const error = await rejects(writer.commit(request, awaited, unsigned), "CHAIN_REVERTED", "InvalidSignature");
      assert.equal(String(error.data["seat"]), "2");
      await rejects(
        writer.commit(request, awaited, { ...certificate, signatures: [first, second] }),
        "CHAIN_REVERTED",
        "QuorumNotReached",
      );
      assert.equal((await reader.requestState(request.id)).status, "requested");
    });

    it("accepts an outcome only if it fits the answer kind", async () => {
      const writer = await harness.writer(0);
      const cases: readonly (readonly [Partial<Terms>, string, readonly bigint[], bigint])[] = [
        [{}, "yes", [2n, 2n ** 256n - 1n], 1n],
        [{ kind: "choice", options: 3 }, "C", [3n, 2n ** 255n], 2n],
        [{ kind: "number" }, "-1", [], 2n ** 256n - 1n],
        [{ kind: "text" }, "true", [0n, 1n], BigInt(keccak256(utf8("true")))],
        [{ kind: "policies", options: 4 }, "A,C", [0n, 0b1_0000n, 0b1_0101n, 2n ** 255n + 1n], 0b0101n],
        [{ kind: "policies", options: 26 }, "Z", [2n ** 26n], 2n ** 25n],
        ...ANSWER_KINDS.map(sampleOf),
      ];
      for (const [terms, answer, unfit, outcome] of cases) {
        const { request, awaited, certifying } = await drawn(harness, terms);
        for (const value of unfit) {
          const wrong = certifying({ outcome: wordOf(value), answer });
          const error = await rejects(writer.commit(request, awaited, wrong), "CHAIN_REVERTED", "InvalidDecision");
          assert.deepEqual([error.data["field"], String(error.data["value"])], ["outcome", String(value)]);
        }
        const certificate = certifying({ outcome: wordOf(outcome), answer });
        assert.notEqual(await writer.commit(request, awaited, certificate), "already");
        const committed = (await reader.requestEvents(request.id)).at(-1);
        assert.ok(committed?.kind === "decisionCommitted");
        assert.deepEqual(committed.decision, certificate.decision);
      }
    });

    it("reports a request that was never made as unknown", async () => {
      await rejects(reader.requestEvents(unknown), "REQUEST_UNKNOWN");
      assert.equal((await reader.requestState(unknown)).status, "none");
    });

    it("follows final events exactly once and in order", async () => {
      const shy = await harness.reader({ finalityDepth: 3 });
      const follower = startFollowing(shy, null);
      const { request } = await asked(harness);
      const head = (await reader.head()).number;
      await sleep(300);
      assert.equal(follower.of(request.id).length, 0, "delivered before it was final");
      assert.ok(follower.cursor === null || follower.cursor.blockNumber <= head - 3n);
      await harness.mine(3);
      await until(() => follower.of(request.id).length === 1);
      await drawn(harness);
      await harness.mine(4);
      await until(() => (follower.cursor?.blockNumber ?? 0n) > head + 4n);
      await follower.stop();
      assertOrdered(follower.events);
      assert.deepEqual(follower.troubles, []);
    });

    it("resumes after the cursor with nothing lost and nothing twice", async () => {
      const first = startFollowing(reader, null);
      const early = await asked(harness);
      await until(() => first.of(early.request.id).length === 1);
      await first.stop();
      const between = await asked(harness);
      const second = startFollowing(reader, first.cursor);
      const later = await asked(harness);
      await until(() => second.of(later.request.id).length === 1);
      await second.stop();
      assert.deepEqual([second.of(early.request.id).length, second.of(between.request.id).length], [0, 1]);
      assertOrdered([...first.events, ...second.events]);
    });

    it("survives an outage: one report, nothing lost, nothing twice", async () => {
      const writer = await harness.writer(0);
      const follower = startFollowing(reader, null);
      const early = await asked(harness);
      await until(() => follower.of(early.request.id).length === 1);
      await harness.setReachable(false);
      await until(() => follower.troubles.length === 1);
      await rejects(reader.head(), "CHAIN_UNREACHABLE");
      await rejects(writer.refund(early.request, early), "CHAIN_UNREACHABLE");
      await rejects(reader.committee(early.request, early), "CHAIN_UNREACHABLE");
      await harness.setReachable(true);
      const later = await asked(harness);
      await until(() => follower.of(later.request.id).length === 1);
      assert.deepEqual(codesOf(follower.troubles), ["CHAIN_UNREACHABLE"]);
      await harness.setReachable(false);
      await until(() => follower.troubles.length === 2);
      await harness.setReachable(true);
      await follower.stop();
      assertOrdered(follower.events);
    });

    it("refuses a cursor of another chain", async () => {
      const cursor: Cursor = { blockNumber: 1n, blockHash: `0x${"ab".repeat(32)}` };
      await rejects(
        reader.follow(cursor, async () => {}, AbortSignal.timeout(WAIT_MS)),
        "CHAIN_REORGED",
      );
    });

    it("passes on an error of the caller's storage", async () => {
      const failing = reader.follow(
        null,
        async () => {
          throw new Error("disk full");
        },
        AbortSignal.timeout(WAIT_MS),
      );
      await assert.rejects(failing, /disk full/);
    });

    it("does nothing once the signal has aborted", async () => {
      const { request, ...awaited } = await asked(harness);
      await assert.rejects(reader.head(AbortSignal.abort(new Error("stop"))), /stop/);
      await assert.rejects(
        (await harness.writer(0)).refund(request, awaited, AbortSignal.abort(new Error("stop"))),
        /stop/,
      );
      assert.equal((await reader.requestState(request.id)).status, "requested");
    });

    // This test runs last, because the slashed agent is below the minimum afterwards.
  });
}

function isReceipt(result: BatchResult | undefined): result is Receipt {
  return typeof result === "object" && "transactionHash" in result;
}

interface Follower {
  readonly events: readonly ChainEvent[];
  readonly troubles: readonly Error[];
  readonly cursor: Cursor | null;
  of(id: RequestId): readonly ChainEvent[];
  stop(): Promise<void>;
}

/** Stops of the running followers: one that a failed test left behind would keep the process alive. */
const running = new Set<() => Promise<void>>();

export async function stopFollowers(): Promise<void> {
  await Promise.allSettled([...running].map((stop) => stop()));
}

export function startFollowing(reader: ChainReader, from: Cursor | null): Follower {
  const events: ChainEvent[] = [];
  const troubles: Error[] = [];
  const controller = new AbortController();
  let cursor = from;
  const following = reader.follow(
    from,
    async (batch) => {
      events.push(...batch.events);
      ({ cursor } = batch);
    },
    controller.signal,
    (error) => void troubles.push(error),
  );
  const stop = async (): Promise<void> => {
    running.delete(stop);
    controller.abort();
    await following;
  };
  running.add(stop);
  return {
    events,
    troubles,
    get cursor() {
      return cursor;
    },
    of: (id) =>
      events.filter(
        (event) =>
          (event.kind === "requested" ? event.request.id : "requestId" in event ? event.requestId : null) === id,
      ),
    stop,
  };
}

/** A question of the kind: its terms, an answer, the highest outcome if it fits no answer of the kind, and that of the answer. */
function sampleOf(kind: AnswerKind): [Partial<Terms>, string, readonly bigint[], bigint] {
  const { samples, fits } = KIND_RULES[kind];
  const terms = defaultTerms({ protocol: 1, kind, ...samples.terms });
  const [answer = ""] = samples.valid(() => 7);
  const highest = 2n ** 256n - 1n;
  const outcome = canonicalAnswer({ terms, question: "" }, answer)?.outcome ?? assert.fail(answer);
  return [{ kind, ...samples.terms }, answer, fits(highest, terms, answer) ? [] : [highest], BigInt(outcome)];
}

export async function rejects(promise: Promise<unknown>, code: ErrorCode, revert?: string): Promise<ConclaveError> {
  const error = await promise.then(
    () => assert.fail(`resolved instead of ${code}`),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof ConclaveError, String(error));
  assert.equal(error.code, code, error.message);
  if (revert !== undefined) assert.equal(error.data["error"], revert, error.message);
  return error;
}

export function codesOf(errors: readonly Error[]): readonly string[] {
  return errors.map((error) => (error instanceof ConclaveError ? error.code : error.name));
}

export function assertOrdered(events: readonly ChainEvent[]): void {
  const places = events.map(({ blockNumber, logIndex }) => Number(blockNumber) * 10_000 + logIndex);
  for (const [index, place] of places.entries())
    if (index > 0) assert.ok(place > (places[index - 1] ?? 0), `event ${index} is out of order or twice`);
}
