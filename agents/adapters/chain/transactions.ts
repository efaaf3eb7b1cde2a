import PQueue from "p-queue";
import { formatGwei, keccak256, type Hex, type LocalAccount, type TransactionReceipt } from "viem";
import { nullIfNotFound, requireStatus } from "./receipt.ts";
import { ConclaveError } from "../../core/errors.ts";
import type { Address } from "../../core/types.ts";
import { MAX_FEE_PER_GAS_GWEI, MAX_PRIORITY_FEE_PER_GAS_GWEI, type Receipt } from "../../ports/chain.ts";
import type { Connection } from "./connection.ts";
import { paidRefusal, revertError } from "./errors.ts";
import { isAtLeast, nextFees, raised, type Fees } from "./fees.ts";
import { sleep } from "./backoff.ts";

export interface TransactionOptions {
  /** Time to wait for a receipt before CHAIN_TIMEOUT. */
  readonly receiptTimeoutMs?: number;
  /** Time between two looks for a receipt. Where blocks come faster, what is sent meanwhile waits at most this long and goes in one batch. */
  readonly receiptPollMs?: number;
  /** Blocks without a receipt after which the fees are raised. */
  readonly stuckAfterBlocks?: number;
  /** Most wei per gas that this account pays. While the node asks for more, `send` throws GAS_TOO_DEAR. */
  readonly maxFeePerGas?: bigint;
  /** Most wei per gas of that as a tip, whatever the node names; only a transaction that is stuck is replaced by one with more. */
  readonly maxPriorityFeePerGas?: bigint;
}

export interface TransactionCall {
  readonly to: Address;
  readonly data: Hex;
  /** Coins to send along, in wei; 0 if absent. */
  readonly value?: bigint;
  /** Gas limit; estimated, with a margin, if absent. */
  readonly gas?: bigint;
  /** Gas on top of the estimate and its margin, which the estimate may miss. */
  readonly allowance?: bigint;
  /** What the call does, beginning with a verb, for messages. */
  readonly doing: string;
}

/** An account that signs typed data: one whose key is here, or one in a wallet. */
export interface SigningAccount extends Pick<LocalAccount, "address"> {
  /** Null if the account cannot sign typed data, as some wallets cannot. */
  signTypedData(...typed: Parameters<LocalAccount["signTypedData"]>): Promise<Hex | null>;
}

/** Sends the transactions of one account, one after the other. */
export interface Sender {
  readonly account: SigningAccount;
  /**
   * Resolves with the receipt of a successful transaction. Throws the decoded revert, BALANCE_TOO_LOW, GAS_TOO_DEAR (nothing was
   * sent), CHAIN_UNREACHABLE, or CHAIN_TIMEOUT: then it may still be mined, so read the state before doing it again.
   */
  send(call: TransactionCall, signal?: AbortSignal): Promise<TransactionReceipt>;
}

/** Signed transactions with one nonce, at most one of which can be mined. */
interface Flight {
  readonly nonce: number;
  readonly gas: bigint;
  fees: Fees;
  readonly hashes: Hex[];
  /** The latest signed transaction, until a node has accepted it. */
  unsent: Hex | null;
  /** Block after which the transaction counts as stuck. */
  patience: bigint;
  replacements: number;
}

interface Context {
  readonly connection: Connection;
  readonly account: LocalAccount;
  readonly options: Required<TransactionOptions>;
  /** A transaction given up without a receipt: it blocks the account until its nonce is used. */
  abandoned: { readonly nonce: number; readonly fees: Fees } | null;
}

type Submission = "accepted" | "nonce-used" | "underpriced";

/**
 * Gas that an estimate may miss: whoever calls the oracle is credited by its gas price (SE13), and a node may estimate at
 * a price of 0.
 */
export const CREDIT_GAS = 25_000n;
const MAX_REPLACEMENTS = 8;
const MAX_NONCE_TRIES = 5;
const GAS_MARGIN_PERCENT = 20n;
const defaults: Required<TransactionOptions> = {
  receiptTimeoutMs: 180_000,
  receiptPollMs: 1_000,
  stuckAfterBlocks: 5,
  maxFeePerGas: BigInt(MAX_FEE_PER_GAS_GWEI) * 10n ** 9n,
  maxPriorityFeePerGas: BigInt(MAX_PRIORITY_FEE_PER_GAS_GWEI) * 10n ** 9n,
};

export function createSender(connection: Connection, account: LocalAccount, options: TransactionOptions = {}): Sender {
  const context: Context = { connection, account, options: { ...defaults, ...options }, abandoned: null };
  const queue = new PQueue({ concurrency: 1 });
  return {
    account,
    send: (call, signal) => queue.add(() => sendOne(context, call, signal), signal === undefined ? {} : { signal }),
  };
}

async function sendOne(context: Context, call: TransactionCall, signal?: AbortSignal): Promise<TransactionReceipt> {
  const giveUpAtMs = Date.now() + context.options.receiptTimeoutMs;
  for (let tries = 0; tries < MAX_NONCE_TRIES; tries += 1) {
    const flight = await takeOff(context, call, signal);
    if (flight === null) {
      await sleep(context.options.receiptPollMs, signal);
      continue;
    }
    try {
      const receipt = await land(context, call, flight, giveUpAtMs, signal);
      if (receipt === null) continue;
      if (receipt.status === "success") return receipt;
      const refusal = await revertOf(context.connection, context.account.address, call, receipt, signal);
      throw paidRefusal(refusal, receipt.transactionHash);
    } catch (error) {
      const mined =
        error instanceof ConclaveError && error.code !== "CHAIN_TIMEOUT" && error.code !== "CHAIN_UNREACHABLE";
      if (!mined) context.abandoned = { nonce: flight.nonce, fees: flight.fees };
      throw error;
    }
  }
  throw new ConclaveError(
    "CHAIN_TIMEOUT",
    `${call.doing}: other transactions of ${context.account.address} keep taking its nonce; use the account in one place only`,
  );
}

/** Estimates, signs and sends; null if somebody else used the nonce meanwhile. */
async function takeOff(context: Context, call: TransactionCall, signal?: AbortSignal): Promise<Flight | null> {
  const { connection, account, options } = context;
  const { address } = account;
  const [gas, pending, mined, market, head] = await connection.call(call.doing, signal, (client) =>
    Promise.all([
      call.gas ??
        client
          .estimateGas({ account: address, ...callMessage(call) })
          .then((estimate) => padded(estimate) + (call.allowance ?? 0n)),
      client.getTransactionCount({ address, blockTag: "pending" }),
      client.getTransactionCount({ address, blockTag: "latest" }),
      client.estimateFeesPerGas(),
      client.getBlockNumber(),
    ]),
  );
  if (market.maxFeePerGas > options.maxFeePerGas) throw tooDear(call, market, options);
  const blocked = context.abandoned !== null && context.abandoned.nonce >= mined ? context.abandoned : null;
  const flight: Flight = {
    nonce: blocked?.nonce ?? pending,
    gas,
    fees: nextFees(blocked?.fees ?? null, market, options),
    hashes: [],
    unsent: null,
    patience: head + BigInt(options.stuckAfterBlocks),
    replacements: 0,
  };
  await sign(context, call, flight);
  const submission = await submit(context, call, flight, signal);
  context.abandoned = null;
  return submission === "nonce-used" ? null : flight;
}

async function sign(context: Context, call: TransactionCall, flight: Flight): Promise<void> {
  const { account, connection } = context;
  const transaction = await account.signTransaction({
    type: "eip1559",
    chainId: connection.chain.id,
    ...callMessage(call),
    nonce: flight.nonce,
    gas: flight.gas,
    ...flight.fees,
  });
  flight.unsent = transaction;
  flight.hashes.push(keccak256(transaction));
}

/**
 * Returns the estimate with a margin. An estimate is the least gas that succeeds, so it covers the gas that the oracle
 * keeps for the callback.
 */
export function padded(estimate: bigint): bigint {
  return estimate + (estimate * GAS_MARGIN_PERCENT) / 100n;
}

/** Returns the part of a call that the contract receives. */
export function callMessage({ to, data, value = 0n }: TransactionCall): {
  readonly to: Address;
  readonly data: Hex;
  readonly value: bigint;
} {
  return { to, data, value };
}

/** Sends the latest signed transaction to the node. A lost answer is no failure, since the receipt shows the result. */
async function submit(
  context: Context,
  call: TransactionCall,
  flight: Flight,
  signal?: AbortSignal,
): Promise<Submission> {
  const serializedTransaction = flight.unsent;
  if (serializedTransaction === null) return "accepted";
  try {
    await context.connection.call(
      call.doing,
      signal,
      (client) => client.sendRawTransaction({ serializedTransaction }),
      0,
    );
  } catch (error) {
    if (!(error instanceof ConclaveError) || error.code !== "CHAIN_UNREACHABLE") throw error;
    if (/already known|already imported|known transaction/i.test(error.message)) {
      flight.unsent = null;
      return "accepted";
    }
    if (/nonce too low|nonce is too low|nonce has already been used/i.test(error.message)) {
      flight.unsent = null;
      return "nonce-used";
    }
    if (/underpriced|fee too low/i.test(error.message)) return "underpriced";
    if (error.data["kind"] === "refused" && flight.hashes.length === 1) throw error;
    return "accepted";
  }
  flight.unsent = null;
  return "accepted";
}

export function toReceipt({ transactionHash, blockNumber, blockHash, gasUsed }: TransactionReceipt): Receipt {
  return { transactionHash, blockNumber, blockHash, gasUsed };
}

/** Waits for a receipt of any of the flight's transactions; null if a foreign transaction used the nonce. */
async function land(
  context: Context,
  call: TransactionCall,
  flight: Flight,
  giveUpAtMs: number,
  signal?: AbortSignal,
): Promise<TransactionReceipt | null> {
  let displaced = false;
  for (;;) {
    const seen = await observe(context, call, flight, signal);
    if (seen?.receipt !== undefined) return seen.receipt;
    // The count and the receipt come from two calls: check once more before the nonce counts as lost.
    if (seen !== null && seen.mined > flight.nonce && displaced) return null;
    displaced = seen !== null && seen.mined > flight.nonce;
    if (Date.now() >= giveUpAtMs) throw timedOut(context, call, flight);
    if (seen !== null && !displaced) await keepFlying(context, call, flight, seen.head, signal);
    await sleep(context.options.receiptPollMs, signal);
  }
}

interface FlightStatus {
  readonly receipt: TransactionReceipt | undefined;
  readonly mined: number;
  readonly head: bigint;
}

/** Returns null while the node does not answer, or with a receipt that tells nothing; the caller bounds the wait. */
async function observe(
  context: Context,
  call: TransactionCall,
  flight: Flight,
  signal?: AbortSignal,
): Promise<FlightStatus | null> {
  const { connection, account } = context;
  try {
    const seen = await connection.call(call.doing, signal, async (client) => {
      const receipts = await Promise.all(
        flight.hashes.map((hash) =>
          client.getTransactionReceipt({ hash }).catch((error: unknown) => nullIfNotFound(error)),
        ),
      );
      const mined = await client.getTransactionCount({ address: account.address, blockTag: "latest" });
      return { receipt: receipts.find((receipt) => receipt !== null), mined, head: await client.getBlockNumber() };
    });
    if (seen.receipt !== undefined) requireStatus(call.doing, seen.receipt);
    return seen;
  } catch (error) {
    if (error instanceof ConclaveError) return null;
    throw error;
  }
}

/** Sends again a transaction that no node has accepted, and replaces a stuck one by the same call with higher fees. */
async function keepFlying(
  context: Context,
  call: TransactionCall,
  flight: Flight,
  head: bigint,
  signal?: AbortSignal,
): Promise<void> {
  if (flight.unsent !== null) {
    if ((await submit(context, call, flight, signal)) !== "underpriced") return;
  } else if (head < flight.patience) {
    return;
  }
  if (flight.replacements >= MAX_REPLACEMENTS) return;
  const market = await context.connection
    .call(call.doing, signal, (client) => client.estimateFeesPerGas())
    .catch(() => null);
  signal?.throwIfAborted();
  if (market === null) return;
  const fees = nextFees(flight.fees, market, context.options);
  if (!isAtLeast(fees, raised(flight.fees))) return;
  flight.fees = fees;
  flight.replacements += 1;
  flight.patience = head + BigInt(context.options.stuckAfterBlocks);
  await sign(context, call, flight);
  await submit(context, call, flight, signal);
}

/** Runs the call again on the block in which it failed, to learn the reason. */
export async function revertOf(
  connection: Connection,
  from: Hex,
  call: TransactionCall,
  receipt: TransactionReceipt,
  signal?: AbortSignal,
): Promise<ConclaveError> {
  try {
    await connection.call(call.doing, signal, (client) =>
      client.call({ account: from, ...callMessage(call), blockNumber: receipt.blockNumber }),
    );
  } catch (error) {
    if (error instanceof ConclaveError && error.code !== "CHAIN_UNREACHABLE") return error;
  }
  return revertError("0x", `${call.doing} (transaction ${receipt.transactionHash})`);
}

function tooDear(
  { doing }: TransactionCall,
  market: Fees,
  { maxFeePerGas }: Required<TransactionOptions>,
): ConclaveError {
  const [asked, most] = [formatGwei(market.maxFeePerGas), formatGwei(maxFeePerGas)];
  return new ConclaveError(
    "GAS_TOO_DEAR",
    `${doing}: the node asks for up to ${asked} gwei per gas, and at most ${most} are paid; wait, or raise that (chain.maxFeePerGasGwei of an agent, --max-fee-per-gas of a command)`,
    { asked, most },
  );
}

function timedOut(context: Context, call: TransactionCall, flight: Flight): ConclaveError {
  const seconds = Math.round(context.options.receiptTimeoutMs / 1000);
  return new ConclaveError(
    "CHAIN_TIMEOUT",
    `${call.doing}: no receipt within ${seconds} s; the transaction may still be mined, so look before you repeat it`,
    { transactionHash: flight.hashes.at(-1) ?? "", nonce: flight.nonce, replacements: flight.replacements },
  );
}
