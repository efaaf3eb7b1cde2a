import { encodeFunctionData, parseEventLogs, type Hex, type TransactionReceipt } from "viem";
import { ConclaveError } from "../../core/errors.ts";
import type { CertifiedDecision, CommitOutcome, Receipt } from "../../ports/chain.ts";
import { isCommitted } from "../../core/request/state.ts";
import { decisionOracleAbi } from "@conclave/contracts/abi";
import type { Connection } from "./connection.ts";
import { encodeCommit } from "./encode.ts";
import { revertError, revertName } from "./errors.ts";
import { readHeader } from "./header.ts";
import { readRequestState } from "./reader.ts";
import { CREDIT_GAS, callMessage, padded, toReceipt, type Sender, type TransactionCall } from "./transactions.ts";

export interface BatchTools {
  readonly connection: Connection;
  readonly sender: Sender;
  /** Sends one commit in its own transaction. */
  readonly commitOne: (commit: CertifiedDecision, signal: AbortSignal | undefined) => Promise<Receipt | "already">;
}

/** A commit that would succeed, its seed block's header, and the gas that it needs alone. */
interface Item {
  readonly commit: CertifiedDecision;
  readonly header: Hex;
  readonly gas: bigint;
}

/** Most gas of one transaction (EIP-7825). */
const MAX_TRANSACTION_GAS = 1n << 24n;
/** A batch takes at most half of a block's gas: a larger transaction waits for a block with enough room. */
const BLOCK_SHARE = 2n;
/** Most calls of one `tryMulticall`. */
const MAX_CALLS = 128;

/** Implements `ChainWriter.commitAll`. */
export async function commitAll(
  tools: BatchTools,
  commits: readonly CertifiedDecision[],
  signal: AbortSignal | undefined,
): Promise<readonly CommitOutcome[]> {
  const headers = new Map<bigint, Promise<Hex>>();
  const headerOf = (seedBlock: bigint): Promise<Hex> => {
    const header = headers.get(seedBlock) ?? readHeader(tools.connection, seedBlock, signal);
    headers.set(seedBlock, header);
    return header;
  };
  const outcomes = await Promise.all(commits.map((commit) => weigh(tools, commit, headerOf, signal)));
  const items = outcomes.filter((one) => isItem(one));
  const { gasLimit } = await tools.connection.call("Read the newest block", signal, (client) => client.getBlock());
  const done = new Map<CertifiedDecision, CommitOutcome>();
  for (const batch of batchesOf(items, smaller(gasLimit / BLOCK_SHARE, MAX_TRANSACTION_GAS)))
    for (const [index, outcome] of (await send(tools, batch, signal)).entries())
      done.set((batch[index] as Item).commit, outcome);
  return outcomes.map((one) => (isItem(one) ? (done.get(one.commit) as CommitOutcome) : one));
}

/**
 * Estimates the gas of each commit alone, since a node that estimates a whole batch finds the least gas with which all
 * of its calls may fail. A commit that would fail alone is left out, with the reason.
 */
async function weigh(
  tools: BatchTools,
  commit: CertifiedDecision,
  headerOf: (seedBlock: bigint) => Promise<Hex>,
  signal: AbortSignal | undefined,
): Promise<Item | CommitOutcome> {
  if (await isDone(tools, commit, signal)) return "already";
  const { connection, sender } = tools;
  const header = await headerOf(commit.awaited.seedBlock);
  const call = { to: connection.domain.oracle, data: encodeItem(commit, header), doing: doingOf([commit]) };
  try {
    const gas = await connection.call(call.doing, signal, (client) =>
      client.estimateGas({ account: sender.account.address, ...callMessage(call) }),
    );
    return { commit, header, gas: padded(gas) + CREDIT_GAS };
  } catch (error) {
    if (!(error instanceof ConclaveError) || revertName(error) === null) throw error;
    return (await isDone(tools, commit, signal)) ? "already" : error;
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
): Promise<readonly CommitOutcome[]> {
  const oneByOne = async (): Promise<readonly CommitOutcome[]> => {
    const outcomes: CommitOutcome[] = [];
    for (const item of batch) outcomes.push(await alone(tools, item, signal));
    return outcomes;
  };
  if (batch.length === 1) return oneByOne();
  let receipt: TransactionReceipt;
  try {
    receipt = await tools.sender.send(callOf(tools, batch), signal);
  } catch (error) {
    if (!(error instanceof ConclaveError)) throw error;
    if (!mayStillLand(error)) return oneByOne();
    return Promise.all(batch.map(async ({ commit }) => ((await isDone(tools, commit, signal)) ? "already" : error)));
  }
  const reasons = reasonsIn(receipt);
  return Promise.all(
    batch.map(async (item, index) => {
      const reason = reasons.get(index);
      return reason === undefined ? toReceipt(receipt) : failed(tools, item, isFirst(batch, index), reason, signal);
    }),
  );
}

/** Encodes the commits. The first one of a seed block proves it for those after it. */
function callOf({ connection }: BatchTools, batch: readonly Item[]): TransactionCall {
  const calls = batch.map(({ commit, header }, index) => encodeItem(commit, isFirst(batch, index) ? header : "0x"));
  const args = [calls] as const;
  return {
    to: connection.domain.oracle,
    data: encodeFunctionData({ abi: decisionOracleAbi, functionName: "tryMulticall", args }),
    gas: batch.reduce((sum, { gas }) => sum + gas, 0n),
    doing: doingOf(batch.map(({ commit }) => commit)),
  };
}

function encodeItem({ request, awaited, certificate }: CertifiedDecision, header: Hex): Hex {
  return encodeCommit(request, awaited, header, certificate);
}

/** True if no earlier commit of the batch has the same seed block. */
function isFirst(batch: readonly Item[], index: number): boolean {
  const seedOf = ({ commit }: Item): bigint => commit.awaited.seedBlock;
  return batch.findIndex((item) => seedOf(item) === seedOf(batch[index] as Item)) === index;
}

/**
 * Finds why a commit failed: somebody else was faster, it had too little gas, the commit that should have proven its
 * seed block failed, or the oracle refuses it.
 */
async function failed(
  tools: BatchTools,
  item: Item,
  hadHeader: boolean,
  reason: Hex,
  signal: AbortSignal | undefined,
): Promise<CommitOutcome> {
  if (await isDone(tools, item.commit, signal)) return "already";
  const error = revertError(reason, doingOf([item.commit]));
  const mayPassAlone = !hadHeader || reason === "0x" || revertName(error) === "InsufficientCallbackGas";
  return mayPassAlone ? alone(tools, item, signal) : error;
}

async function alone(
  { commitOne }: BatchTools,
  { commit }: Item,
  signal: AbortSignal | undefined,
): Promise<CommitOutcome> {
  return commitOne(commit, signal).catch((error: unknown) => {
    if (error instanceof ConclaveError) return error;
    throw error;
  });
}

/** True if the transaction may still land, so that sending it again could cost twice. */
function mayStillLand({ code, data }: ConclaveError): boolean {
  return code === "CHAIN_TIMEOUT" || (code === "CHAIN_UNREACHABLE" && data["kind"] !== "refused");
}

async function isDone(
  { connection }: BatchTools,
  { request, certificate }: CertifiedDecision,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  return isCommitted(await readRequestState(connection, request.id, signal), certificate.decision.attempt);
}

/** Returns the reasons of failed calls, by their place in the batch. */
function reasonsIn({ logs }: TransactionReceipt): ReadonlyMap<number, Hex> {
  const events = parseEventLogs({ abi: decisionOracleAbi, eventName: "CallFailed", logs });
  return new Map(events.map(({ args }) => [Number(args.index), args.reason]));
}

function doingOf(commits: readonly CertifiedDecision[]): string {
  const ids = commits.map(({ request }) => request.id).join(", ");
  return commits.length === 1 ? `Commit the decision on request ${ids}` : `Commit the decisions on requests ${ids}`;
}

function isItem(one: Item | CommitOutcome): one is Item {
  return typeof one === "object" && "commit" in one;
}

function smaller(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
