import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { keysFromPrivateKey } from "../../agents/adapters/keystore/keys.ts";
import { hexToBytes, keccak256, utf8 } from "../../agents/core/encoding/bytes.ts";
import { hashedRequest } from "../../agents/core/encoding/typed-data.ts";
import type { ChainReader } from "../../agents/ports/chain.ts";
import { asked, decisionProofBy, drawn, proofBy, type ChainHarness, type Drawn } from "./chain-questions.ts";
import { rejects } from "./chain.suite.ts";

/** A request whose only attempt is over. */
async function decided(harness: ChainHarness): Promise<Drawn> {
  const one = await drawn(harness);
  await (await harness.writer(0)).commit(one.request, one.awaited, one.certificate);
  return one;
}

/** Checks what an agent is slashed for, and what not. */
export function chainEvidenceSuite(name: string, createHarness: () => Promise<ChainHarness>): void {
  describe(`chain, evidence: ${name}`, () => {
    let harness: ChainHarness;
    let reader: ChainReader;
    before(async () => {
      harness = await createHarness();
      reader = await harness.reader();
    });
    after(() => harness.stop());

    it("slashes an equivocator once per attempt, whoever submits the proof", async () => {
      const [key, other] = harness.keys;
      assert.ok(key !== undefined && other !== undefined);
      const agent = await reader.agentBySigner(key.address);
      assert.ok(agent !== null);
      const early = await asked(harness, { retries: 1 });
      const waiting = proofBy(key, agent.agentId, reader.domain, hashedRequest(early.request));
      const { request } = await decided(harness);
      const about = hashedRequest(request);
      const proof = proofBy(key, agent.agentId, reader.domain, about);
      const writers = await Promise.all([harness.writer(0), harness.writer(1)]);
      const forged = proofBy(other, agent.agentId, reader.domain, about);
      await rejects(
        writers[0].submitEvidence({ ...proof, second: forged.second }),
        "CHAIN_REVERTED",
        "InvalidEvidence",
      );
      await rejects(writers[0].submitEvidence({ ...proof, second: proof.first }), "CHAIN_REVERTED", "NoConflict");
      const nobody = keysFromPrivateKey(hexToBytes(keccak256(utf8("nobody"))));
      const stranger = proofBy(nobody, agent.agentId, reader.domain, about);
      await rejects(writers[0].submitEvidence(stranger), "CHAIN_REVERTED", "UnknownSigner");
      for (const running of [waiting, proofBy(key, agent.agentId, reader.domain, about, 1)])
        await rejects(writers[0].submitEvidence(running), "CHAIN_REVERTED", "AttemptNotOver");
      const disguised = { ...waiting, request: about };
      await rejects(writers[0].submitEvidence(disguised), "CHAIN_REVERTED", "InvalidEvidence");

      const results = await Promise.all(writers.map((writer) => writer.submitEvidence(proof)));
      assert.equal(results.filter((result) => result === "already").length, 1);
      const slashed = await reader.agentBySigner(key.address);
      assert.equal(slashed?.stake, agent.stake - (agent.stake + 9n) / 10n);
      assert.equal(await writers[0].submitEvidence({ ...proof, second: proof.first }), "already");
    });

    it("slashes once for two decisions signed in one ballot, and not again for messages of the same attempt", async () => {
      const [, , key, other] = harness.keys;
      assert.ok(key !== undefined && other !== undefined);
      const agent = await reader.agentBySigner(key.address);
      assert.ok(agent !== null);
      const { request } = await decided(harness);
      const about = hashedRequest(request);
      const proof = decisionProofBy(key, agent.agentId, reader.domain, about);
      const writer = await harness.writer(0);
      const forged = decisionProofBy(other, agent.agentId, reader.domain, about);
      await rejects(writer.submitEvidence({ ...proof, second: forged.second }), "CHAIN_REVERTED", "InvalidEvidence");
      await rejects(writer.submitEvidence({ ...proof, second: proof.first }), "CHAIN_REVERTED", "NoConflict");
      const later = decisionProofBy(key, agent.agentId, reader.domain, about, 1);
      await rejects(writer.submitEvidence(later), "CHAIN_REVERTED", "AttemptNotOver");
      const inAnotherRound = { ...proof, slot: { ...proof.slot, round: 3 } };
      await rejects(writer.submitEvidence(inAnotherRound), "CHAIN_REVERTED");

      assert.notEqual(await writer.submitEvidence(proof), "already");
      const slashed = await reader.agentBySigner(key.address);
      assert.equal(slashed?.stake, agent.stake - (agent.stake + 9n) / 10n);
      assert.equal(await writer.submitEvidence(proofBy(key, agent.agentId, reader.domain, about)), "already");
    });
  });
}
