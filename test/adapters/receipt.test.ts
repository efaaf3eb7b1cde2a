import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createPublicClient, custom } from "viem";
import { receiptOf } from "../../agents/adapters/chain/receipt.ts";

const HASH = `0x${"11".repeat(32)}` as const;
const receipt = { transactionHash: HASH, blockNumber: "0x2", status: "0x1", logs: [], type: "0x2" };

/** A client of a chain that answers the questions for the receipt one by one. */
function clientThatAnswers(...answers: readonly unknown[]) {
  const left = [...answers];
  const request = (): Promise<unknown> => {
    const answer = left.shift();
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
  };
  return { client: createPublicClient({ transport: custom({ request }, { retryCount: 0 }) }), left };
}

describe("the receipt of a transaction", () => {
  it("comes although no later block does", async () => {
    const { client, left } = clientThatAnswers(null, null, receipt);
    const { status, blockNumber } = await receiptOf(client, HASH, 1);
    assert.deepEqual([status, blockNumber, left.length], ["success", 2n, 0]);
  });

  it("is not waited for where the node answers with an error", async () => {
    const { client, left } = clientThatAnswers(null, new Error("the node is gone"), receipt);
    await assert.rejects(receiptOf(client, HASH, 1), /the node is gone/);
    assert.equal(left.length, 1);
  });
});
