// Batches on a real node: how much fits into one transaction, and what happens to those that fail in it.
import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { decodeFunctionData, parseTransaction } from "viem";
import { decisionOracleAbi } from "@conclave/contracts/abi";
import { commitAll, type BatchTools } from "../../agents/adapters/chain/batch.ts";
import { connect } from "../../agents/adapters/chain/connection.ts";
import { createSender, type Sender } from "../../agents/adapters/chain/transactions.ts";
import { ConclaveError } from "../../agents/core/errors.ts";
import type { ChainReader, ChainWriter, CommitOutcome } from "../../agents/ports/chain.ts";
import { createNodeHarness, type NodeHarness } from "./chain-node.ts";
import { drawn, type Drawn } from "./chain-questions.ts";
import { rejects } from "./chain.suite.ts";

/** Gas that suffices for one of two commits with a callback of 500,000 gas each. */
const ENOUGH_FOR_ONE = 800_000n;

describe("batches of commits on a node", () => {
  let harness: NodeHarness;
  let reader: ChainReader;
  let writer: ChainWriter;
  before(async () => {
    harness = await createNodeHarness();
    reader = await harness.reader();
    writer = await harness.writer(0);
  });
  afterEach(() => {
    harness.proxy.intercept = () => null;
  });
  after(() => harness.stop());

  const several = async (count: number): Promise<readonly Drawn[]> => {
    const all: Drawn[] = [];
    for (let index = 0; index < count; index += 1) all.push(await drawn(harness, { callbackGasLimit: 500_000 }));
    return all;
  };
  const statusesOf = (all: readonly Drawn[]): Promise<readonly string[]> =>
    Promise.all(all.map(async ({ request }) => (await reader.requestState(request.id)).status));

  /** Number of calls in each transaction that is sent to the oracle from now on. */
  const watch = (): number[] => {
    const calls: number[] = [];
    harness.proxy.intercept = ({ method, params }) => {
      if (method !== "eth_sendRawTransaction") return null;
      const { data = "0x" } = parseTransaction(params[0] as `0x02${string}`);
      const { functionName, args } = decodeFunctionData({ abi: decisionOracleAbi, data });
      calls.push(functionName === "tryMulticall" ? args[0].length : 1);
      return null;
    };
    return calls;
  };

  /** Tools of a batch whose sender `bend` replaces. */
  const bent = async (bend: (send: Sender["send"]) => Sender["send"]): Promise<BatchTools> => {
    const connection = await connect(harness.options);
    const account = harness.accounts[4];
    assert.ok(account !== undefined);
    const sender = createSender(connection, account, { receiptPollMs: 20 });
    const commitOne: BatchTools["commitOne"] = ({ request, awaited, certificate }, signal) =>
      writer.commit(request, awaited, certificate, signal);
    return { connection, sender: { ...sender, send: bend(sender.send) }, commitOne };
  };

  it("sends as many transactions as it takes to stay below half a block", async () => {
    const all = await several(3);
    const { gasLimit } = await harness.client.getBlock();
    // Two commits of some 0.8 million gas each fit into half a block.
    await harness.client.setBlockGasLimit({ gasLimit: 4_000_000n });
    await harness.mine(1);
    const calls = watch();
    try {
      const hashes = hashesOf(await writer.commitAll(all));
      assert.deepEqual([hashes[0] === hashes[1], hashes[1] === hashes[2]], [true, false]);
    } finally {
      await harness.client.setBlockGasLimit({ gasLimit });
    }
    assert.deepEqual(calls, [2, 1]);
    assert.deepEqual(await statusesOf(all), ["decided", "decided", "decided"]);
  });

  it("sends a refused batch one by one", async () => {
    const all = await several(2);
    const refusing = await bent(() => () => {
      throw new ConclaveError("CHAIN_UNREACHABLE", "Commit: transaction gas limit too high", { kind: "refused" });
    });
    const hashes = hashesOf(await commitAll(refusing, all, undefined));
    assert.notEqual(hashes[0], hashes[1]);
    assert.deepEqual(await statusesOf(all), ["decided", "decided"]);
  });

  it("does not send a commit again that may still be mined", async () => {
    const [all, others] = [await several(2), await several(2)];
    const calls = watch();
    const lost = await bent((send) => async (call, signal) => {
      await send(call, signal);
      throw new ConclaveError("CHAIN_TIMEOUT", "Commit: no receipt within 1 s");
    });
    assert.deepEqual(await commitAll(lost, all, undefined), ["already", "already"]);
    const waiting = await bent(() => async () => {
      throw new ConclaveError("CHAIN_TIMEOUT", "Commit: no receipt within 1 s");
    });
    const outcomes = await commitAll(waiting, others, undefined);
    assert.deepEqual(
      outcomes.map((outcome) => (outcome instanceof ConclaveError ? outcome.code : outcome)),
      ["CHAIN_TIMEOUT", "CHAIN_TIMEOUT"],
    );
    assert.deepEqual(calls, [2]);
  });

  it("counts a commit of somebody else as done, and retries alone a commit that got too little gas", async () => {
    const [mine, theirs] = await several(2);
    assert.ok(mine !== undefined && theirs !== undefined);
    const slow = await bent((send) => async (call, signal) => {
      const other = await harness.writer(1);
      await other.commit(theirs.request, theirs.awaited, theirs.certificate);
      return send(call, signal);
    });
    const [done, already] = await commitAll(slow, [mine, theirs], undefined);
    assert.equal(hashesOf([done as CommitOutcome]).length, 1);
    assert.equal(already, "already");

    const all = await several(2);
    const calls = watch();
    const mean = await bent((send) => (call, signal) => send({ ...call, gas: ENOUGH_FOR_ONE }, signal));
    const hashes = hashesOf(await commitAll(mean, all, undefined));
    assert.notEqual(hashes[0], hashes[1]);
    assert.deepEqual(calls, [2, 1]);
    assert.deepEqual(await statusesOf(all), ["decided", "decided"]);
  });

  it("says why a commit fails that was valid at its estimate", async () => {
    const late = await several(2);
    const slow = await bent((send) => async (call, signal) => {
      await harness.passTime(3_700);
      return send(call, signal);
    });
    const outcomes = await commitAll(slow, late, undefined);
    for (const outcome of outcomes) {
      assert.ok(outcome instanceof ConclaveError);
      assert.equal(outcome.data["error"], "DeadlinePassed", outcome.message);
    }
  });

  it("throws failures that concern all commits", async () => {
    const all = await several(2);
    await harness.setReachable(false);
    await rejects(writer.commitAll(all), "CHAIN_UNREACHABLE");
    await harness.setReachable(true);
    assert.equal(new Set(hashesOf(await writer.commitAll(all))).size, 1);
  });
});

function hashesOf(outcomes: readonly CommitOutcome[]): readonly string[] {
  return outcomes.map((outcome) => {
    assert.ok(typeof outcome === "object" && "transactionHash" in outcome, "it is no receipt");
    return outcome.transactionHash;
  });
}
