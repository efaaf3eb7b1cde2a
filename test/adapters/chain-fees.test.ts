// What a transaction may cost, against a node that asks for much.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { parseTransaction, toHex } from "viem";
import { createChainWriter } from "../../agents/adapters/chain/writer.ts";
import { ConclaveError } from "../../agents/core/errors.ts";
import { createNodeHarness, type NodeHarness } from "./chain-node.ts";
import { drawn } from "./chain-questions.ts";
import { rejects } from "./chain.suite.ts";

describe("the most that an account pays for gas", () => {
  let harness: NodeHarness;
  before(async () => {
    harness = await createNodeHarness();
  });
  after(() => harness.stop());

  it("sends nothing while the node asks for more gas than the account pays, and says so", async () => {
    const { request, awaited, certificate } = await drawn(harness);
    const account = harness.accounts[8];
    assert.ok(account !== undefined);
    const writer = await createChainWriter({ ...harness.options, account, receiptPollMs: 20 });
    const sent: unknown[] = [];
    let tip = 501n * 10n ** 9n;
    harness.proxy.intercept = ({ method, params }) => {
      if (method === "eth_sendRawTransaction") sent.push(params);
      return method === "eth_maxPriorityFeePerGas" ? ({ result: toHex(tip) } as never) : null;
    };
    const { message } = await rejects(writer.commit(request, awaited, certificate), "GAS_TOO_DEAR");
    assert.match(
      message,
      /^Commit the decision on request \d+: the node asks for up to 5\d\d(\.\d+)? gwei per gas, and at most 500 are paid; /,
    );
    const dear = { request, awaited, certificate };
    const [first] = await writer.commitAll([dear, dear]);
    assert.ok(first instanceof ConclaveError && first.code === "GAS_TOO_DEAR");
    assert.deepEqual(sent, []);
    tip = 10n ** 9n;
    assert.notEqual(await writer.commit(request, awaited, certificate), "already");
  });

  it("pays the tip that its options bound, whatever the node names", async () => {
    const account = harness.accounts[7];
    assert.ok(account !== undefined);
    const tips: unknown[] = [];
    harness.proxy.intercept = ({ method, params }) => {
      if (method === "eth_sendRawTransaction")
        tips.push(parseTransaction(params[0] as `0x02${string}`).maxPriorityFeePerGas);
      return method === "eth_maxPriorityFeePerGas" ? ({ result: toHex(400n * 10n ** 9n) } as never) : null;
    };
    for (const maxPriorityFeePerGas of [undefined, 3n * 10n ** 9n]) {
      const { request, awaited, certificate } = await drawn(harness);
      const bound = maxPriorityFeePerGas === undefined ? {} : { maxPriorityFeePerGas };
      const writer = await createChainWriter({ ...harness.options, account, receiptPollMs: 20, ...bound });
      assert.notEqual(await writer.commit(request, awaited, certificate), "already");
    }
    assert.deepEqual(tips, [10n ** 9n, 3n * 10n ** 9n]);
  });

  it("SE28: tells a refusal whose gas is paid from one before anything was sent", async () => {
    const { request, awaited, certificate } = await drawn(harness);
    const { decision, signatures } = certificate;
    const bad = { decision, signatures: signatures.slice(1) };
    const account = harness.accounts[9];
    assert.ok(account !== undefined);
    const writer = await createChainWriter({ ...harness.options, account, receiptPollMs: 20 });
    harness.proxy.intercept = () => null;
    const unpaid = await rejects(writer.commit(request, awaited, bad), "CHAIN_REVERTED", "QuorumNotReached");
    assert.equal(unpaid.data["paidIn"], undefined);
    harness.proxy.intercept = ({ method }) =>
      method === "eth_estimateGas" ? ({ result: toHex(1_000_000) } as never) : null;
    const { data } = await rejects(writer.commit(request, awaited, bad), "CHAIN_REVERTED", "QuorumNotReached");
    assert.match(String(data["paidIn"]), /^0x[0-9a-f]{64}$/);
    assert.equal(await harness.client.getTransactionCount({ address: account.address }), 1);
  });
});
