import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { unpackRound } from "../../agents/core/request/rounds.ts";
import type { AgentId, Ppm, SeatInfo } from "../../agents/core/types.ts";
import type { ChainReader } from "../../agents/ports/chain.ts";
import { awaitedOf, dueOf, isFinal, isPaid, roundsOf, type Progress } from "../../agents/core/request/progress.ts";
import {
  asked,
  progressNow,
  drawNext,
  drawn,
  lastOf,
  mineTo,
  wordOf,
  type ChainHarness,
  type Drawn,
} from "./chain-questions.ts";
import { askedState, rejects } from "./chain.suite.ts";

async function reputations(reader: ChainReader): Promise<Map<AgentId, number>> {
  return new Map((await reader.agents()).map(({ agentId, reputation }) => [agentId, reputation]));
}

/** Reputations after a decision of `certifying`: seat 0 recovers by one step, the last seat is slashed. */
function changedBy(earlier: ReadonlyMap<AgentId, number>, { committee }: Drawn): Map<AgentId, number> {
  const later = new Map(earlier);
  const change = (seat: SeatInfo | undefined, changed: (reputation: number) => number) => {
    const reputation = seat && earlier.get(seat.agentId);
    assert.ok(seat !== undefined && reputation !== undefined);
    later.set(seat.agentId, changed(reputation));
  };
  change(committee[0], (reputation) => Math.min(reputation + 10_000, 1_000_000));
  change(committee.at(-1), (reputation) => reputation * 0.8);
  return later;
}

/** Checks requests with more than one committee: retries, appeals, silent committees. */
export function chainRoundsSuite(name: string, createHarness: () => Promise<ChainHarness>): void {
  describe(`chain, rounds: ${name}`, () => {
    let harness: ChainHarness;
    let reader: ChainReader;
    before(async () => {
      harness = await createHarness();
      reader = await harness.reader();
    });
    after(() => harness.stop());

    it("SE4, SE6, SE7: a decision that can be appealed against is provisional, then final by anybody's call, once", async () => {
      const [writer, other] = await Promise.all([harness.writer(0), harness.writer(1)]);
      const { request, awaited, certificate } = await drawn(harness, {
        appeals: 1,
        callbackGasLimit: 500_000,
      });
      await harness.setConsumer(false);
      assert.notEqual(await writer.commit(request, awaited, certificate), "already");
      const provisional = { ...askedState, status: "decided", provisional: true };
      assert.deepEqual(await reader.requestState(request.id), provisional, "called back before it was final");
      const last = await lastOf(reader, request.id);
      await rejects(writer.finalize(request, last), "CHAIN_REVERTED", "DeadlineNotPassed");
      await rejects(writer.settle(request, [last]), "CHAIN_REVERTED", "DecisionIsProvisional");
      await harness.passTime(3_700);
      await rejects(harness.appeal(request, last), "CHAIN_REVERTED", "DeadlinePassed");
      const results = await Promise.all([writer, other].map((one) => one.finalize(request, last)));
      assert.equal(results.filter((result) => result === "already").length, 1);
      assert.deepEqual(await reader.requestState(request.id), {
        ...provisional,
        provisional: false,
        callbackPending: true,
      });
      await harness.setConsumer(true);
      assert.notEqual(await writer.retryCallback(request, last), "already");
      assert.deepEqual(
        (await reader.requestEvents(request.id)).slice(1).map(({ kind }) => kind),
        ["decisionCommitted", "decisionProvisional", "decisionFinalized"],
      );
      assert.ok(isFinal(await progressNow(reader, request.id)));
    });

    it("SE3, SE5, SE12: an appeal calls 2n + 1 seats, whose decision is settled with all rounds", async () => {
      const writer = await harness.writer(0);
      const first = await drawn(harness, { appeals: 1 });
      const { request } = first;
      await writer.commit(request, first.awaited, first.certificate);
      const appealed = await lastOf(reader, request.id);
      assert.ok((await harness.appeal(request, appealed)).blockNumber > 0n);
      const reopened = (await reader.requestEvents(request.id)).at(-1);
      assert.ok(reopened?.kind === "requestReopened");
      assert.ok(reopened.appellant !== null && reopened.attempt === 1);
      // The fee is for 26 units: two for each of 4 and of 9 seats.
      assert.equal(reopened.bond, 18n * (request.terms.fee / 26n));
      assert.equal(unpackRound(reopened.round).appeals, 1);

      await mineTo(harness, reopened.seedBlock + 1n);
      const another = { round: reopened.round, attempt: 1, seedBlock: reopened.seedBlock, past: [appealed] };
      await rejects(reader.committee(request, another), "CHAIN_REVERTED", "WitnessMismatch");
      const second = await drawNext(harness, request.id);
      assert.equal(second.committee.length, 9);
      const agents = [...first.committee, ...second.committee].map(({ agentId }) => agentId);
      // Of 13 equal agents one may be left out, an eighth (DR4): at most three of the first four sit again.
      assert.ok(new Set(agents).size >= 10);
      const overturning = second.certifying({ outcome: wordOf(0n), answer: "false" });
      assert.notEqual(await writer.commit(request, second.awaited, overturning), "already");
      assert.equal(await writer.commit(request, first.awaited, first.certificate), "already");
      assert.deepEqual(await reader.requestState(request.id), { ...askedState, status: "decided", attempt: 1 });
      const rounds = roundsOf(await progressNow(reader, request.id));
      assert.equal(rounds?.length, 2);
      await rejects(writer.settle(request, rounds.slice(1)), "CHAIN_REVERTED", "WitnessMismatch");
      const expected = changedBy(await reputations(reader), second);
      assert.notEqual(await writer.settle(request, rounds), "already");
      assert.deepEqual(await reputations(reader), expected, "the overturned decision changes nobody");
    });

    it("SE24: a larger committee follows an unsure decision, one that is sure is final at its commit, and both are settled", async () => {
      // In one week only an agent's deepest fall counts: the seat slashed here may have fallen in the test before.
      await harness.passTime(604_800);
      const writer = await harness.writer(0);
      const first = await drawn(harness, { appeals: 1, finality: 90 });
      const { request } = first;
      await writer.commit(request, first.awaited, first.certifying({ confidence: 899_999 as Ppm }));
      const reopened = (await reader.requestEvents(request.id)).at(-1);
      assert.ok(reopened?.kind === "requestReopened");
      assert.deepEqual([reopened.appellant, reopened.bond, reopened.attempt], [null, 0n, 1]);
      assert.deepEqual(await reader.requestState(request.id), { ...askedState, attempt: 1 });
      const second = await drawNext(harness, request.id);
      assert.equal(second.committee.length, 9);
      const overturning = second.certifying({ outcome: wordOf(0n), answer: "false", confidence: 900_000 as Ppm });
      await writer.commit(request, second.awaited, overturning);
      assert.deepEqual(await reader.requestState(request.id), { ...askedState, status: "decided", attempt: 1 });
      const progress = await progressNow(reader, request.id);
      assert.ok(isFinal(progress) && !isPaid(progress));
      assert.equal(dueOf(progress, await reader.head()), "settle");
      const expected = changedBy(await reputations(reader), second);
      assert.notEqual(await writer.settle(request, roundsOf(progress) ?? []), "already");
      assert.deepEqual(await reputations(reader), expected, "the unsure decision, which is overturned, changes nobody");

      const sure = await drawn(harness, { appeals: 1, finality: 90 });
      await writer.commit(sure.request, sure.awaited, sure.certifying({ confidence: 900_000 as Ppm }));
      const paid = await progressNow(reader, sure.request.id);
      assert.ok(isFinal(paid) && isPaid(paid));
      assert.equal(dueOf(paid, await reader.head()), null);
      assert.equal((await reader.requestState(sure.request.id)).settled, true);
    });

    it("SE8: another committee replaces one that did not answer in time, while retries are left; then the fee is returned", async () => {
      const writer = await harness.writer(0);
      for (const isSampled of [false, true]) {
        const { id } = isSampled
          ? (await drawn(harness, { retries: 1 })).request
          : (await asked(harness, { retries: 1 })).request;
        const first = await progressNow(reader, id);
        const act = (action: "replace" | "refund", progress: Progress) => {
          const awaited = awaitedOf(progress);
          assert.ok(awaited !== null);
          return writer[action](progress.request, awaited);
        };
        await rejects(act("replace", first), "CHAIN_REVERTED", "DeadlineNotPassed");
        await harness.passTime(3_700);
        assert.equal(dueOf(first, await reader.head()), "replace");
        await rejects(act("refund", first), "CHAIN_REVERTED", "RetriesLeft");
        assert.notEqual(await act("replace", first), "already");
        assert.equal(await act("replace", first), "already");
        const second = await progressNow(reader, id);
        assert.deepEqual([second.attempt, second.past, second.stage.kind], [1, [], "requested"]);
        assert.equal((await drawNext(harness, id)).committee.length, 4);
        await harness.passTime(3_700);
        const silent = await progressNow(reader, id);
        await rejects(act("replace", silent), "CHAIN_REVERTED", "NoRetriesLeft");
        assert.equal(dueOf(silent, await reader.head()), "refund");
        assert.notEqual(await act("refund", silent), "already");
      }
    });

    it("SE8: a committee that replaces a silent one after an appeal decides about the same rounds", async () => {
      const writer = await harness.writer(0);
      const first = await drawn(harness, { appeals: 1, retries: 1 });
      const { request } = first;
      await writer.commit(request, first.awaited, first.certificate);
      await harness.appeal(request, await lastOf(reader, request.id));
      await drawNext(harness, request.id);
      const silent = await progressNow(reader, request.id);
      const awaited = awaitedOf(silent);
      assert.ok(awaited !== null);
      await harness.passTime(3_700);
      await rejects(writer.fallBack(request, awaited), "CHAIN_REVERTED", "RetriesLeft");
      assert.notEqual(await writer.replace(request, awaited), "already");
      const second = await drawNext(harness, request.id);
      assert.equal(second.committee.length, 9);
      await writer.commit(request, second.awaited, second.certificate);
      assert.deepEqual(await reader.requestState(request.id), { ...askedState, status: "decided", attempt: 2 });
      const final = await progressNow(reader, request.id);
      assert.equal(final.attempt, 2);
      const rounds = roundsOf(final) ?? [];
      assert.deepEqual(
        rounds.map(({ decision }) => decision.attempt),
        [0, 2],
      );
      assert.notEqual(await writer.settle(request, rounds), "already");
    });

    it("SE8: a request whose appeal no committee answers ends as hung, whether its seed block came or not", async () => {
      const writer = await harness.writer(0);
      for (const isSampled of [false, true]) {
        const first = await drawn(harness, { appeals: 1 });
        const { request } = first;
        await writer.commit(request, first.awaited, first.certificate);
        await harness.appeal(request, await lastOf(reader, request.id));
        if (isSampled) await drawNext(harness, request.id);
        const progress = await progressNow(reader, request.id);
        const awaited = awaitedOf(progress);
        assert.ok(awaited !== null);
        const fallBack = () => writer.fallBack(request, awaited);
        await rejects(fallBack(), "CHAIN_REVERTED", "DeadlineNotPassed");
        await harness.passTime(3_700);
        await rejects(writer.refund(request, awaited), "CHAIN_REVERTED", "HasEarlierDecision");
        assert.notEqual(await fallBack(), "already");
        assert.equal(await fallBack(), "already");
        assert.deepEqual(await reader.requestState(request.id), { ...askedState, status: "hung", attempt: 1 });
        const final = await progressNow(reader, request.id);
        assert.equal(final.stage.kind, "unanswered");
        assert.notEqual(await writer.settle(request, roundsOf(final) ?? []), "already");
      }
    });

    it("SE4: another committee of the same size replaces one that hung, while retries are left", async () => {
      const writer = await harness.writer(0);
      const hung = { status: "hung", outcome: wordOf(0n), answer: "" } as const;
      const first = await drawn(harness, { retries: 1 });
      const { request } = first;
      await writer.commit(request, first.awaited, first.certifying(hung));
      const reopened = (await reader.requestEvents(request.id)).findLast(({ kind }) => kind === "requestReopened");
      assert.ok(reopened?.kind === "requestReopened");
      assert.deepEqual([reopened.appellant, reopened.bond, reopened.attempt], [null, 0n, 1]);
      const second = await drawNext(harness, request.id);
      assert.equal(second.committee.length, 4);
      await writer.commit(request, second.awaited, second.certifying(hung));
      assert.deepEqual(await reader.requestState(request.id), { ...askedState, status: "hung", attempt: 1 });
      const rounds = roundsOf(await progressNow(reader, request.id));
      assert.notEqual(await writer.settle(request, rounds ?? []), "already");
    });
  });
}
