// Batches on a real node: how much fits into one transaction, and what happens to those that fail in it.
import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { decodeFunctionData, parseTransaction } from "viem";
import { decisionOracleAbi } from "@conclave/contracts/abi";
import { sendAll, type BatchTools } from "../../agents/adapters/chain/batch.ts";
import { createCommitJobs, settleJob } from "../../agents/adapters/chain/batch-jobs.ts";
import { connect } from "../../agents/adapters/chain/connection.ts";
import { CREDIT_GAS, createSender, toReceipt, type Sender } from "../../agents/adapters/chain/transactions.ts";
import { readSettlement } from "../../agents/adapters/chain/prices.ts";
import { ConclaveError } from "../../agents/core/errors.ts";
import type { Address } from "../../agents/core/types.ts";
import type {
  BatchResult,
  CertifiedDecision,
  ChainReader,
  ChainWriter,
  FinalRequest,
} from "../../agents/ports/chain.ts";
import { createNodeHarness, type NodeHarness } from "./chain-node.ts";
import { drawn, unsettled, type Drawn } from "./chain-questions.ts";
import { rejects } from "./chain.suite.ts";

/**
 * What the first of two commits takes more in a batch than alone, mostly the second one's calldata, is less than 60,000 gas. The second needs some
 * 140,000 to 250,000 more than the first alone, since it may use what the first leaves of its callback's 500,000.
 */
const ENOUGH_FOR_ONE_MORE = 80_000n;

type Bend = (send: Sender["send"]) => Sender["send"];

/** Tools of a batch to this contract whose sender `bend` replaces. */
async function bentTools({ options, accounts }: NodeHarness, contract: Address, bend: Bend): Promise<BatchTools> {
  const connection = await connect(options);
  const account = accounts[4];
  assert.ok(account !== undefined);
  const sender = createSender(connection, account, { receiptPollMs: 20 });
  const sendAlone: BatchTools["sendAlone"] = async ({ data, doing }) =>
    toReceipt(await sender.send({ to: contract, data, doing, allowance: CREDIT_GAS }));
  return { connection, sender: { ...sender, send: bend(sender.send) }, sendAlone, contract };
}

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

  const bent = (bend: Bend): Promise<BatchTools> => bentTools(harness, harness.options.oracle, bend);
  const commitAll = async (tools: BatchTools, commits: readonly CertifiedDecision[]) =>
    sendAll(tools, await Promise.all(commits.map(createCommitJobs(tools.connection, undefined))), undefined);

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
    const hashes = hashesOf(await commitAll(refusing, all));
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
    assert.deepEqual(await commitAll(lost, all), ["already", "already"]);
    const waiting = await bent(() => async () => {
      throw new ConclaveError("CHAIN_TIMEOUT", "Commit: no receipt within 1 s");
    });
    const results = await commitAll(waiting, others);
    assert.deepEqual(
      results.map((result) => (result instanceof ConclaveError ? result.code : result)),
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
    const [done, already] = await commitAll(slow, [mine, theirs]);
    assert.equal(hashesOf([done as BatchResult]).length, 1);
    assert.equal(already, "already");

    const all = await several(2);
    const calls = watch();
    const { connection, contract, sender } = await bent((send) => send);
    const [job] = await Promise.all(all.map(createCommitJobs(connection, undefined)));
    const { address } = sender.account;
    const needed = await connection.call("Estimate", undefined, (client) =>
      client.estimateGas({ account: address, to: contract, data: job?.data }),
    );
    const mean = await bent((send) => (call, signal) => send({ ...call, gas: needed + ENOUGH_FOR_ONE_MORE }, signal));
    const hashes = hashesOf(await commitAll(mean, all));
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
    const results = await commitAll(slow, late);
    for (const result of results) {
      assert.ok(result instanceof ConclaveError);
      assert.equal(result.data["error"], "DeadlinePassed", result.message);
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

describe("batches of settlements on a node", () => {
  let harness: NodeHarness;
  let reader: ChainReader;
  before(async () => {
    harness = await createNodeHarness();
    reader = await harness.reader();
  });
  after(() => harness.stop());

  const settledOf = async (all: readonly FinalRequest[]): Promise<readonly boolean[]> =>
    Promise.all(all.map(async ({ request }) => (await reader.requestState(request.id)).settled));

  it("settles together what is due together; a request that is refused, or settled before, holds back no other", async () => {
    const writer = await harness.writer(0);
    const all: FinalRequest[] = [];
    for (let index = 0; index < 4; index += 1) all.push(await unsettled(harness));
    const [first, second, third, fourth] = all as [FinalRequest, FinalRequest, FinalRequest, FinalRequest];
    await writer.settle(second.request, second.rounds);
    const wrong = { ...third, rounds: third.rounds.slice(1) };
    const results = await writer.settleAll([first, second, wrong, fourth]);
    assert.equal(results[1], "already");
    assert.ok(results[2] instanceof ConclaveError);
    assert.equal(results[2].data["error"], "WitnessMismatch");
    const [one, other] = hashesOf([results[0] as BatchResult, results[3] as BatchResult]);
    assert.equal(one, other);
    assert.deepEqual(await settledOf(all), [true, true, false, true]);
  });

  it("counts as done what somebody else settles before the transaction lands, and settles the rest in it", async () => {
    const [mine, theirs, last] = [await unsettled(harness), await unsettled(harness), await unsettled(harness)];
    const other = await harness.writer(1);
    const contract = await readSettlement(await connect(harness.options));
    const slow = await bentTools(harness, contract, (send) => async (call, signal) => {
      await other.settle(theirs.request, theirs.rounds);
      return send(call, signal);
    });
    const jobs = [mine, theirs, last].map((one) => settleJob(slow.connection, one));
    const [first, second, third] = await sendAll(slow, jobs, undefined);
    assert.equal(second, "already");
    const [one, another] = hashesOf([first as BatchResult, third as BatchResult]);
    assert.equal(one, another);
    assert.deepEqual(await settledOf([mine, theirs, last]), [true, true, true]);
  });
});

function hashesOf(results: readonly BatchResult[]): readonly string[] {
  return results.map((result) => {
    assert.ok(typeof result === "object" && "transactionHash" in result, "it is no receipt");
    return result.transactionHash;
  });
}
