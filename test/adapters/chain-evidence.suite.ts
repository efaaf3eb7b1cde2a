import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";

import { hashedRequest } from "../../agents/core/encoding/typed-data.ts";
import { recordOf, type RequestRecord } from "../../agents/core/request/progress.ts";
import type { RequestId, Terms } from "../../agents/core/types.ts";
import type { ChainReader, EquivocationProof } from "../../agents/ports/chain.ts";
import { decisionProofBy, drawn, drawNext, lastOf, proofBy, seated, wordOf } from "./chain-questions.ts";
import type { ChainHarness, Drawn } from "./chain-questions.ts";
import { rejects } from "./chain.suite.ts";

/** A request whose first attempt has its decision. */
async function decided(harness: ChainHarness, terms: Partial<Terms> = {}): Promise<Drawn> {
  return commit(harness, await drawn(harness, terms));
}

async function commit(harness: ChainHarness, one: Drawn): Promise<Drawn> {
  await (await harness.writer(0)).commit(one.request, one.awaited, one.certificate);
  return one;
}

const lessATenth = (stake: bigint): bigint => stake - (stake + 9n) / 10n;

/** Checks what an agent is slashed for, and what not. */
export function chainEvidenceSuite(name: string, createHarness: () => Promise<ChainHarness>): void {
  describe(`chain, evidence: ${name}`, () => {
    let harness: ChainHarness;
    let reader: ChainReader;
    const reading = (requestId: RequestId) => async (): Promise<RequestRecord> =>
      recordOf(await reader.requestEvents(requestId));
    const proofIn = (one: Drawn, seat: number) => {
      const { key, agentId, place } = seated(harness, one, seat);
      return proofBy(key, agentId, reader.domain, hashedRequest(one.request), place);
    };
    const stakeOf = async (agentId: number): Promise<bigint> => {
      const agent = (await reader.agents()).find((one) => one.agentId === agentId);
      assert.ok(agent !== undefined);
      return agent.stake;
    };
    /** Submits the proof and checks that its agent loses a tenth of its stake, rounded up. */
    const slashes = async (proof: EquivocationProof, read: () => Promise<RequestRecord>): Promise<void> => {
      const stake = await stakeOf(proof.agentId);
      const writer = await harness.writer(0);
      assert.notEqual(await writer.submitEvidence(proof, read), "already");
      assert.equal(await stakeOf(proof.agentId), lessATenth(stake));
    };
    before(async () => {
      harness = await createHarness();
      reader = await harness.reader();
    });
    // An agent is slashed once in seven days, and the draws of two tests may name the same one.
    beforeEach(() => harness.passTime(604_800));
    after(() => harness.stop());

    it("ST10: an appeal puts no evidence off: the record is proven while the larger committee is at work, and after it", async () => {
      const one = await decided(harness, { appeals: 1 });
      const { request } = one;
      const read = reading(request.id);
      await harness.appeal(request, await lastOf(reader, request.id));
      assert.notEqual((await read()).running, null);
      await slashes(proofIn(one, 0), read);

      const larger = await commit(harness, await drawNext(harness, request.id));
      assert.equal((await read()).running, null);
      await slashes(proofIn(one, 1), read);
      // A reviewer may have sat in the first committee.
      const other = larger.committee.findIndex(({ agentId }) =>
        one.committee.slice(0, 2).every((seat) => seat.agentId !== agentId),
      );
      await slashes(proofIn(larger, other), read);
    });

    it("ST10: nor does a retry: what a committee that hung has signed is proven while another one is awaited, and when nobody answers", async () => {
      const one = await drawn(harness, { retries: 1 });
      const { request, awaited } = one;
      const read = reading(request.id);
      const writer = await harness.writer(0);
      await writer.commit(request, awaited, one.certifying({ status: "hung", outcome: wordOf(0n), answer: "" }));
      const { running, rounds } = await read();
      assert.ok(running !== null);
      assert.equal(rounds.length, 1);
      await slashes(proofIn(one, 0), read);

      await harness.passTime(request.terms.duration + 1);
      await writer.fallBack(request, running);
      const ended = await read();
      assert.deepEqual([ended.running, ended.rounds], [null, rounds]);
      await slashes(proofIn(one, 1), read);
    });

    it("ST10: slashes an equivocator once per attempt, whoever submits the proof", async () => {
      const one = await drawn(harness, { retries: 1 });
      const { id } = one.request;
      const proof = proofIn(one, 0);
      const writers = await Promise.all([harness.writer(0), harness.writer(1)]);
      await rejects(writers[0].submitEvidence(proof, reading(id)), "EVIDENCE_UNPROVABLE");
      const early = await reading(id)();
      await commit(harness, one);
      const record = await reading(id)();
      const rounds = record.rounds.map(({ relay, ...round }) => ({
        ...round,
        relay: { ...relay, signers: ~relay.signers & 15n },
      }));
      const wrong = { ...record, rounds };
      await rejects(
        writers[0].submitEvidence(proof, async () => wrong),
        "CHAIN_REVERTED",
        "WitnessMismatch",
      );
      await rejects(
        writers[0].submitEvidence(proof, async () => early),
        "EVIDENCE_UNPROVABLE",
      );

      const other = proofIn(one, 1);
      await rejects(
        writers[0].submitEvidence({ ...proof, second: other.second }, reading(id)),
        "CHAIN_REVERTED",
        "InvalidEvidence",
      );
      await rejects(
        writers[0].submitEvidence({ ...proof, second: proof.first }, reading(id)),
        "CHAIN_REVERTED",
        "NoConflict",
      );
      // Another key signed for the seat.
      const { place, agentId } = seated(harness, one, 0);
      const absent = harness.keys.find(({ address }) => one.committee.every(({ signer }) => signer !== address));
      assert.ok(absent !== undefined);
      const stranger = proofBy(absent, agentId, reader.domain, hashedRequest(one.request), place);
      await rejects(writers[0].submitEvidence(stranger, reading(id)), "CHAIN_REVERTED", "SeatNotHeld");
      // Its own agent did not sit.
      const outsider = await reader.agentBySigner(absent.address);
      assert.ok(outsider !== null);
      for (const unseated of [
        { ...stranger, agentId: outsider.agentId },
        { ...proof, slot: { ...proof.slot, attempt: 1 } },
      ])
        await rejects(writers[0].submitEvidence(unseated, reading(id)), "EVIDENCE_UNPROVABLE");

      const stake = await stakeOf(proof.agentId);
      const results = await Promise.all(writers.map((writer) => writer.submitEvidence(proof, reading(id))));
      assert.equal(results.filter((result) => result === "already").length, 1);
      assert.equal(await stakeOf(proof.agentId), lessATenth(stake));
      assert.equal(await writers[0].submitEvidence({ ...proof, second: proof.first }, reading(id)), "already");
    });

    it("slashes once for two decisions signed in one ballot, and not again for messages of the same attempt", async () => {
      const one = await decided(harness);
      const read = reading(one.request.id);
      const about = hashedRequest(one.request);
      const { key, agentId, place } = seated(harness, one, 0);
      const other = seated(harness, one, 1);
      const proof = decisionProofBy(key, agentId, reader.domain, about, place);
      const writer = await harness.writer(0);
      const forged = decisionProofBy(other.key, agentId, reader.domain, about, place);
      await rejects(
        writer.submitEvidence({ ...proof, second: forged.second }, read),
        "CHAIN_REVERTED",
        "InvalidEvidence",
      );
      await rejects(writer.submitEvidence({ ...proof, second: proof.first }, read), "CHAIN_REVERTED", "NoConflict");
      const inAnotherBallot = { ...proof, slot: { ...proof.slot, round: 3 } };
      await rejects(writer.submitEvidence(inAnotherBallot, read), "CHAIN_REVERTED");

      await slashes(proof, read);
      assert.equal(await writer.submitEvidence(proofIn(one, 0), read), "already");
    });
  });
}
