import { BaseError, HttpRequestError, TimeoutError, WebSocketRequestError } from "viem";
import { toChainError } from "../../agents/adapters/chain/errors.ts";
import { refusals } from "../../agents/adapters/chain/refusals.ts";
import { ConclaveError as CoreError, messageOf, type ErrorCode } from "../../agents/core/errors.ts";

/** What to do about each error that the SDK throws, unless the contract refused for a reason that has a way out of its own. */
const hints = {
  WALLET_MISSING: "give createConclave a walletClient, or ask the user to connect a wallet",
  WALLET_WRONG_CHAIN: "ask the wallet to switch to the chain of the deployment, then repeat the call",
  WALLET_REJECTED: "what the user refused was not sent; ask again when the user wants it",
  WALLET_UNAUTHORIZED:
    "ask the user to allow the account for this page in the wallet, then connect it again; nothing was sent",
  WALLET_FAILED: "see in the wallet what went wrong, and whether it has sent the transaction; then repeat the call",
  CHAIN_UNREACHABLE: "check the node's URL and the network between; nothing was lost, and the call can be repeated",
  CHAIN_WRONG_ID: "give createConclave a publicClient of the deployment's chain",
  CHAIN_NO_CONTRACT: "correct the addresses of the deployment",
  CHAIN_REVERTED: "look at what the message says; nothing was changed",
  CHAIN_TIMEOUT: "the transaction may still be mined: look for it before you repeat it",
  CHAIN_REORGED: "start again from an earlier block",
  CHAIN_HEADER_UNKNOWN: "use another node, or a newer version of @conclave/sdk",
  STAKE_MISSING: "send the account more of the stake token, or name another amount",
  BALANCE_TOO_LOW: "send the account, or the subscription that pays, more of what the message names",
  AGENT_NOT_REGISTERED: "check the number of the agent",
  PROTOCOL_UNKNOWN: "choose one of the protocols that the message lists",
  QUESTION_TOO_LONG: "shorten the question",
  TERMS_INVALID: "correct the term that `field` names",
  REQUEST_UNKNOWN: "check the request's id and the address of the oracle",
  SUBSCRIPTION_UNKNOWN: "check the number of the subscription, or create one",
  CANCEL_IMPOSSIBLE: "see its state: only who asked can cancel, some blocks before the committee is known",
  APPEAL_IMPOSSIBLE: "only a provisional decision can be appealed against, before its deadline",
  BLOCK_MISSING: "name a source that holds the block",
  BLOCK_INVALID: "fetch the block from another source",
  CAR_INVALID: "export the CAR again",
  SUBGRAPH_UNREACHABLE: "check the subgraph's URL; without one the history comes from the chain",
  SUBGRAPH_FAILED: "read the reason in the message, or name another subgraph",
  SUBGRAPH_INVALID: "check that the URL is a subgraph of Conclave",
  SUBGRAPH_WRONG_CHAIN: "name the subgraph of this deployment",
  NETWORK_FAILED: "check the gateway's URL and the network between",
  WORKER_FAILED: "check that the worker was made from @conclave/sdk/verify-worker",
  WORLD_FAILED: "read the reason in the message; `conclave dev` shows the same",
  USAGE: "correct the argument that the message names",
} as const satisfies Partial<Record<ErrorCode, string>> &
  Record<`WALLET_${string}` | "WORKER_FAILED" | "WORLD_FAILED", string>;

/** What to do where a wallet says what it lacks, by the code of EIP-1193 or EIP-1474. */
const walletHints: Readonly<Record<number, string>> = {
  [-32_002]: "open the wallet: a request waits there; answer it, then repeat the call",
  4900: "the wallet is not connected to a chain: check its network and the node that it uses, then repeat the call",
  4901: "the wallet is not connected to this chain: check the node that it uses for it, then repeat the call",
};
/** Where the wallet was not asked to send. */
const UNSENT_HINT = "see in the wallet what went wrong; nothing was sent";

export type ConclaveErrorCode = keyof typeof hints;

/** An error as data: branch on `code`, show `message`, offer `hint`. */
export class ConclaveError extends Error {
  readonly code: ConclaveErrorCode;
  /** The argument or term at fault; null if no single one is. */
  readonly field: string | null;
  /** What to do about it. */
  readonly hint: string;
  /** What the message names, for programs. */
  readonly data: Readonly<Record<string, string | number | boolean>>;

  constructor(code: ConclaveErrorCode, message: string, data: ConclaveError["data"] = {}, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "ConclaveError";
    this.code = code;
    this.field = typeof data["field"] === "string" ? data["field"] : null;
    this.hint =
      refusals[String(data["error"])] ??
      walletHints[Number(data["walletCode"])] ??
      (data["isUnsent"] === true ? UNSENT_HINT : hints[code]);
    this.data = data;
  }
}

/** Turns whatever was thrown into what the SDK throws. An abort and our own bugs stay what they are. */
export function toSdkError(error: unknown): unknown {
  if (error instanceof CoreError) {
    const { code, message, data, cause } = error;
    return isKnown(code) ? new ConclaveError(code, message, data, cause) : error;
  }
  // viem refuses arguments before it sends anything.
  if (error instanceof BaseError)
    return new ConclaveError("USAGE", `Encode the call: ${error.shortMessage}`, {}, error);
  return error;
}

/** Runs an action whose errors are those of the SDK. */
export async function guarded<T>(action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    throw toSdkError(error);
  }
}

/** JSON-RPC and EIP-1193: there is no such method. */
const UNSUPPORTED = [-32_601, 4200];

/** True if the wallet does not know the method, whatever the user would say. */
export function isUnsupported(error: unknown): boolean {
  return UNSUPPORTED.some((code) => hasCode(error, code));
}

/** EIP-1193: the user said no, and the wallet does not give the account to this page. */
const REJECTED = 4001;
const UNAUTHORIZED = 4100;

/**
 * What a wallet, or a node that a client uses as one, could not do. The node of the chain is to blame only where it has not answered.
 * @param isUnsent true if the wallet was not asked to send
 */
export function walletFailed(doing: string, error: unknown, isUnsent = false): Error {
  if (hasCode(error, REJECTED))
    return new ConclaveError("WALLET_REJECTED", `${doing}: the wallet's user refused`, {}, error);
  if (hasCode(error, UNAUTHORIZED))
    return new ConclaveError(
      "WALLET_UNAUTHORIZED",
      `${doing}: the wallet refuses, as it does not give this account to the page any more`,
      { field: "walletClient.account" },
      error,
    );
  const known = toChainError(asError(error), doing, null);
  if (known.code !== "CHAIN_UNREACHABLE" || isUnanswered(error)) return known;
  const walletCode = Object.keys(walletHints).find((code) => hasCode(error, Number(code)));
  return new ConclaveError(
    "WALLET_FAILED",
    `${doing}: the wallet did not do it (${messageOf(known.cause)})`,
    walletCode === undefined ? { isUnsent } : { isUnsent, walletCode: Number(walletCode) },
    error,
  );
}

/** Some wallets throw what is no Error. */
function asError(error: unknown): Error {
  if (error instanceof Error) return error;
  const { message = error } = Object(error) as { readonly message?: unknown };
  return new Error(typeof message === "string" ? message : "it gives no reason");
}

/** True if viem itself asked a node, and got no answer. */
function isUnanswered(error: unknown): boolean {
  const kinds = [HttpRequestError, TimeoutError, WebSocketRequestError];
  return error instanceof BaseError && error.walk((cause) => kinds.some((kind) => cause instanceof kind)) !== null;
}

function hasCode(error: unknown, code: number): boolean {
  const has = (one: unknown): boolean => typeof one === "object" && one !== null && "code" in one && one.code === code;
  return error instanceof BaseError ? error.walk(has) !== null : has(error);
}

function isKnown(code: string): code is ConclaveErrorCode {
  return Object.hasOwn(hints, code);
}
