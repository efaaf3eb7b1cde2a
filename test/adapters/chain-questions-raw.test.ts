import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { decisionOracleAbi } from "@conclave/contracts/abi";
import { packTerms } from "../../agents/core/encoding/words.ts";
import { questionBytes } from "../../agents/core/request/question.ts";
import { booleanTerms } from "../support/core/committee.ts";
import { createNodeHarness, requestedIn, type NodeHarness } from "./chain-node.ts";
import { mineTo } from "./chain-questions.ts";

describe("chain: questions that are not text", () => {
  let harness: NodeHarness;
  before(async () => {
    harness = await createNodeHarness();
  });
  after(() => harness.stop());

  it("CE19: bytes that are not UTF-8 arrive as they were asked, and have the contract's hash", async () => {
    const args = [0, packTerms({ ...booleanTerms, fee: 0n }), "0xc328"];
    const hash = await harness.execute(harness.options.oracle, decisionOracleAbi, "request", args);
    const [event] = await (await harness.reader()).requestEvents(await requestedIn(harness.client, hash));
    assert.ok(event?.kind === "requested");
    assert.deepEqual(questionBytes(event.request.question), Uint8Array.of(0xc3, 0x28));
    await mineTo(harness, event.seedBlock + 1n);
    const awaited = { round: event.round, attempt: 0, seedBlock: event.seedBlock, past: [] };
    assert.equal((await (await harness.reader()).committee(event.request, awaited)).length, 4);
  });
});
