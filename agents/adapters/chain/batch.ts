import { encodeFunctionData, parseEventLogs, type Hex, type TransactionReceipt } from "viem";
import { ConclaveError } from "../../core/errors.ts";
import type { Address } from "../../core/types.ts";
import type { BatchResult, Receipt } from "../../ports/chain.ts";
import { decisionOracleAbi } from "@conclave/contracts/abi";
import type { Connection } from "./connection.ts";
import { paidRefusal, revertError, revertName } from "./errors.ts";
import { CREDIT_GAS, callMessage, padded, toReceipt, type Sender, type TransactionCall } from "./transactions.ts";

/** One call of a batch. */
export interface BatchJob {
  /** The call as a transaction of its own. */
  readonly data: Hex;
  /** The call after others of the same transaction, where it may leave out what an earlier one has proven; `data` if absent. */
  readonly dataAfter?: (earlier: readonly BatchJob[]) => Hex;
  /** What the call does, beginning with a verb, for messages. */
  readonly doing: string;
  /** Reads from the chain whether somebody has done it. */
  readonly isDone: (signal: AbortSignal | undefined) => Promise<boolean>;
}

export interface BatchTools {
  readonly connection: Connection;
  readonly sender: Sender;
  /** Sends one call in its own transaction. */
  readonly sendAlone: (job: BatchJob, signal: AbortSignal | undefined) => Promise<Receipt | "already">;
  /** A contract with `tryMulticall`: the oracle, or its settlement. */
  readonly contract: Address;
}

/** A call that would succeed, and the gas that it needs alone. */
interface Item {
  readonly job: BatchJob;
  readonly gas: bigint;
}

/** Most gas of one transaction (EIP-7825). */
const MAX_TRANSACTION_GAS = 1n << 24n;
/** A batch takes at most half of a block's gas: a larger transaction waits for a block with enough room. */
const BLOCK_SHARE = 2n;
/** Most calls of one `tryMulticall`. */
const MAX_CALLS = 128;
/** Calls that are weighed at once, each by two requests to the node. */
const WEIGHED_AT_ONCE = 32;

/**
 * Makes several calls in as few transactions as possible. Returns one result per job, in their order; a failed one holds
 * back no other. Throws only failures that concern all, e.g. CHAIN_UNREACHABLE.
 */
export async function sendAll(
  tools: BatchTools,
  jobs: readonly BatchJob[],
  signal: AbortSignal | undefined,
): Promise<readonly BatchResult[]> {
  const results: (Item | BatchResult)[] = [];
  for (let at = 0; at < jobs.length; at += WEIGHED_AT_ONCE) {
    const group = jobs.slice(at, at + WEIGHED_AT_ONCE);
    results.push(...(await Promise.all(group.map((job) => weigh(tools, job, signal)))));
  }
  const items = results.filter((one) => isItem(one));
  const { gasLimit } = await tools.connection.call("Read the newest block", signal, (client) => client.getBlock());
  const done = new Map<BatchJob, BatchResult>();
  for (const batch of batchesOf(items, smaller(gasLimit / BLOCK_SHARE, MAX_TRANSACTION_GAS)))
    for (const [index, result] of (await send(tools, batch, signal)).entries())
      done.set((batch[index] as Item).job, result);
  return results.map((one) => (isItem(one) ? (done.get(one.job) as BatchResult) : one));
}

/**
 * Estimates the gas of each call alone, since a node that estimates a whole batch finds the least gas with which all
 * of its calls may fail. A call that would fail alone is left out, with the reason.
 */
async function weigh(
  { connection, sender, contract }: BatchTools,
  job: BatchJob,
  signal: AbortSignal | undefined,
): Promise<Item | BatchResult> {
  if (await job.isDone(signal)) return "already";
  const call = { to: contract, data: job.data, doing: job.doing };
  try {
    const gas = await connection.call(call.doing, signal, (client) =>
      client.estimateGas({ account: sender.account.address, ...callMessage(call) }),
    );
    return { job, gas: padded(gas) + CREDIT_GAS };
  } catch (error) {
    if (!(error instanceof ConclaveError) || revertName(error) === null) throw error;
    return (await job.isDone(signal)) ? "already" : error;
  }
}

/** Splits the items into batches that fit, in their order; an item that is too large is alone. */
function batchesOf(items: readonly Item[], most: bigint): readonly (readonly Item[])[] {
  const batches: Item[][] = [];
  let sum = 0n;
  for (const item of items) {
    const last = batches.at(-1);
    if (last === undefined || last.length === MAX_CALLS || sum + item.gas > most) {
      batches.push([item]);
      sum = item.gas;
    } else {
      last.push(item);
      sum += item.gas;
    }
  }
  return batches;
}

async function send(
  tools: BatchTools,
  batch: readonly Item[],
  signal: AbortSignal | undefined,
): Promise<readonly BatchResult[]> {
  const oneByOne = async (): Promise<readonly BatchResult[]> => {
    const results: BatchResult[] = [];
    for (const { job } of batch) results.push(await alone(tools, job, signal));
    return results;
  };
  if (batch.length === 1) return oneByOne();
  const calls = callsOf(batch);
  let receipt: TransactionReceipt;
  try {
    receipt = await tools.sender.send(transactionOf(tools, batch, calls), signal);
  } catch (error) {
    if (!(error instanceof ConclaveError)) throw error;
    if (error.code === "GAS_TOO_DEAR") return batch.map(() => error);
    if (!mayStillLand(error)) return oneByOne();
    return Promise.all(batch.map(async ({ job }) => ((await job.isDone(signal)) ? "already" : error)));
  }
  const reasons = reasonsIn(receipt);
  return Promise.all(
    batch.map(async ({ job }, index) => {
      const reason = reasons.get(index);
      return reason === undefined
        ? toReceipt(receipt)
        : failed(tools, job, { wasWhole: calls[index] === job.data, reason, paidIn: receipt.transactionHash }, signal);
    }),
  );
}

/** Returns the calls as they are within one transaction. */
function callsOf(batch: readonly Item[]): readonly Hex[] {
  const jobs = batch.map(({ job }) => job);
  return jobs.map((job, index) => job.dataAfter?.(jobs.slice(0, index)) ?? job.data);
}

/** The oracle and its settlement have the same `tryMulticall`. */
function transactionOf({ contract }: BatchTools, batch: readonly Item[], calls: readonly Hex[]): TransactionCall {
  return {
    to: contract,
    data: encodeFunctionData({ abi: decisionOracleAbi, functionName: "tryMulticall", args: [calls] }),
    gas: batch.reduce((sum, { gas }) => sum + gas, 0n),
    doing: batch.map(({ job }) => job.doing).join("; "),
  };
}

/**
 * Finds why a call failed: somebody else was faster, it had too little gas, the call that should have proven something
 * for it failed, or the contract refuses it.
 */
async function failed(
  tools: BatchTools,
  job: BatchJob,
  { wasWhole, reason, paidIn }: { readonly wasWhole: boolean; readonly reason: Hex; readonly paidIn: Hex },
  signal: AbortSignal | undefined,
): Promise<BatchResult> {
  if (await job.isDone(signal)) return "already";
  const error = paidRefusal(revertError(reason, job.doing), paidIn);
  const mayPassAlone = !wasWhole || reason === "0x" || revertName(error) === "InsufficientCallbackGas";
  return mayPassAlone ? alone(tools, job, signal) : error;
}

async function alone({ sendAlone }: BatchTools, job: BatchJob, signal: AbortSignal | undefined): Promise<BatchResult> {
  return sendAlone(job, signal).catch((error: unknown) => {
    if (error instanceof ConclaveError) return error;
    throw error;
  });
}

/** True if the transaction may still land, so that sending it again could cost twice. */
function mayStillLand({ code, data }: ConclaveError): boolean {
  return code === "CHAIN_TIMEOUT" || (code === "CHAIN_UNREACHABLE" && data["kind"] !== "refused");
}

/** Returns the reasons of failed calls, by their place in the batch. */
function reasonsIn({ logs }: TransactionReceipt): ReadonlyMap<number, Hex> {
  const events = parseEventLogs({ abi: decisionOracleAbi, eventName: "CallFailed", logs });
  return new Map(events.map(({ args }) => [Number(args.index), args.reason]));
}

function isItem(one: Item | BatchResult): one is Item {
  return typeof one === "object" && "job" in one;
}

function smaller(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
