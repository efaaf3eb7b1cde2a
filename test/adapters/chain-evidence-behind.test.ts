import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { slasherAbi } from "@conclave/contracts/abi";
import { encodeErrorResult, parseTransaction, toFunctionSelector, type Hex } from "viem";
import { hashedRequest } from "../../agents/core/encoding/typed-data.ts";
import { recordOf } from "../../agents/core/request/progress.ts";
import { createNodeHarness, type NodeHarness } from "./chain-node.ts";
import { drawn, proofBy, seated } from "./chain-questions.ts";

const selectorOf = (name: string): Hex => {
  const item = slasherAbi.find((one) => one.type === "function" && one.name === name);
  assert.ok(item?.type === "function");
  return toFunctionSelector(item);
};

describe("chain: evidence through a node that is behind", () => {
  let harness: NodeHarness;
  before(async () => {
    harness = await createNodeHarness();
  });
  after(() => harness.stop());

  it("pays for one commitment, and waits until the node shows it", async () => {
    const [reader, writer] = [await harness.reader(), await harness.writer(0)];
    const one = await drawn(harness);
    await writer.commit(one.request, one.awaited, one.certificate);
    const { key, agentId, place } = seated(harness, one, 0);
    const proof = proofBy(key, agentId, reader.domain, hashedRequest(one.request), place);
    const notCommitted = encodeErrorResult({
      abi: slasherAbi,
      errorName: "EvidenceNotCommitted",
      args: [proof.slot.requestHash],
    });
    const [commit, submit] = ["commitEvidence", "submitMessages"].map(selectorOf) as [Hex, Hex];
    let [asks, commitments] = [0, 0];
    harness.proxy.intercept = ({ method, params }) => {
      if (method === "eth_sendRawTransaction") {
        const { data = "0x" } = parseTransaction(params[0] as Hex);
        if (data.startsWith(commit)) commitments += 1;
      }
      const { data, input = data ?? "0x" } = (params?.[0] ?? {}) as { readonly data?: Hex; readonly input?: Hex };
      if (method !== "eth_estimateGas" || !input.startsWith(submit) || ++asks > 3) return null;
      const error = { code: 3, message: "execution reverted", data: notCommitted };
      return { error };
    };
    const receipt = await writer.submitEvidence(proof, async () =>
      recordOf(await reader.requestEvents(one.request.id)),
    );
    assert.notEqual(receipt, "already");
    assert.deepEqual([asks > 3, commitments], [true, 1]);
  });
});
