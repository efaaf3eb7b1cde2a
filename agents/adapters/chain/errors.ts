import { BaseError, HttpRequestError, RpcRequestError, decodeErrorResult, type Abi, type Hex } from "viem";
import { hexToBytes } from "../../core/encoding/bytes.ts";
import { ConclaveError, type ErrorCode } from "../../core/errors.ts";
import { agentRegistryAbi, decisionOracleAbi, settlementAbi, slasherAbi, tokenAbi } from "@conclave/contracts/abi";
import { refusals } from "./refusals.ts";

/** Custom errors that have their own code; every other one is CHAIN_REVERTED. */
const codeOfError: Readonly<Record<string, ErrorCode>> = {
  UnknownProtocol: "PROTOCOL_UNKNOWN",
  QuestionTooLong: "QUESTION_TOO_LONG",
  QuestionIsEmpty: "TERMS_INVALID",
  InvalidTerms: "TERMS_INVALID",
  FeeTooLow: "TERMS_INVALID",
  UnknownSubscription: "SUBSCRIPTION_UNKNOWN",
  InsufficientFunds: "BALANCE_TOO_LOW",
  InsufficientCredit: "BALANCE_TOO_LOW",
  ERC20InsufficientBalance: "BALANCE_TOO_LOW",
  ERC20InsufficientAllowance: "BALANCE_TOO_LOW",
  StakeBelowMinimum: "STAKE_MISSING",
  InsufficientShares: "STAKE_MISSING",
  NothingToWithdraw: "STAKE_MISSING",
  StillUnbonding: "STAKE_MISSING",
  UnknownAgent: "AGENT_NOT_REGISTERED",
};

const allErrors: Abi = [...decisionOracleAbi, ...settlementAbi, ...agentRegistryAbi, ...slasherAbi, ...tokenAbi].filter(
  ({ type }) => type === "error",
);

/** URLs in an error's text. */
const URLS = /\bhttps?:\/\/[^\s"'()]+/gi;
/** Deepest nesting of causes that is searched. */
const MAX_CAUSES = 16;

/**
 * Turns a failed RPC call into an error: a decoded revert, too little ether for the gas, or an unreachable node.
 * @param doing begins with a verb
 * @param rpcUrl null if only the caller's client knows it
 */
export function toChainError(error: unknown, doing: string, rpcUrl: string | null): ConclaveError {
  if (error instanceof ConclaveError) return error;
  const data = revertData(error);
  if (data !== null) return revertError(data, doing);
  const details = detailsOf(error, rpcUrl);
  if (/insufficient funds|exceeds transaction sender account balance|doesn't have enough funds/i.test(details)) {
    return new ConclaveError(
      "BALANCE_TOO_LOW",
      `${doing}: the account has too little of the chain's coin for the gas and what is paid in coins; send it some`,
      { details },
    );
  }
  if (/execution reverted|revert|out of gas|gas required exceeds/i.test(details)) {
    return new ConclaveError("CHAIN_REVERTED", `${doing}: the contract reverted without a reason`, {
      error: "none",
      details,
    });
  }
  const origin = rpcUrl === null ? null : originOf(rpcUrl);
  const node = origin === null ? "the RPC node" : `the RPC node at ${origin}`;
  return new ConclaveError(
    "CHAIN_UNREACHABLE",
    `${doing}: ${node} does not answer properly (${details}); check the URL and the node`,
    { ...(origin === null ? {} : { rpcOrigin: origin }), kind: failureKind(error) },
    new Error(details),
  );
}

/** Decodes the bytes that a call reverted with. */
export function revertError(data: Hex, doing: string): ConclaveError {
  const { name, values } = decodeRevert(data);
  const listed = Object.entries(values).map(([key, value]) => `${key} ${value}`);
  const reason = listed.length === 0 ? name : `${name} (${listed.join(", ")})`;
  const wayOut = refusals[name];
  const sentence = wayOut === undefined ? "" : `: ${wayOut}`;
  return new ConclaveError(
    codeOfError[name] ?? "CHAIN_REVERTED",
    `${doing}: the contract refused with ${reason}${sentence}`,
    { ...values, error: name },
  );
}

/** Tells of a refusal that stands in a block: its gas is paid (`isPaidRefusal`). */
export function paidRefusal({ code, message, data, cause }: ConclaveError, paidIn: Hex): ConclaveError {
  return new ConclaveError(code, message, { ...data, paidIn }, cause);
}

/** Returns the name of the custom error behind an error of this module; null if it is no revert. */
export function revertName(error: unknown): string | null {
  return error instanceof ConclaveError && typeof error.data["error"] === "string" ? error.data["error"] : null;
}

function decodeRevert(data: Hex): { readonly name: string; readonly values: Readonly<Record<string, string>> } {
  try {
    const { abiItem, args, errorName } = decodeErrorResult({ abi: allErrors, data });
    const inputs = "inputs" in abiItem ? (abiItem.inputs ?? []) : [];
    const values = (args ?? []).map((value, index) => {
      const input = inputs[index];
      return [
        input?.name || `argument${index}`,
        input?.type === "bytes32" ? shortString(value as Hex) : String(value),
      ] as const;
    });
    return { name: errorName, values: Object.fromEntries(values) };
  } catch {
    // An error of an unknown contract, or not even a selector.
    return { name: data.length >= 10 ? data.slice(0, 10) : "none", values: {} };
  }
}

/** Returns the text of a left-aligned bytes32 such as "deadline"; the hex itself if it is no printable ASCII. */
function shortString(word: Hex): string {
  const text = String.fromCharCode(...hexToBytes(word)).replace(/\0+$/, "");
  return /^[\x20-\x7e]+$/.test(text) ? text : word;
}

/** Finds the revert data; nodes put it into error.data, error.data.data, or one of the causes. */
function revertData(error: unknown): Hex | null {
  let current: unknown = error;
  for (let depth = 0; depth < MAX_CAUSES && typeof current === "object" && current !== null; depth += 1) {
    const data = "data" in current ? current.data : undefined;
    if (isRevertData(data)) return data;
    if (typeof data === "object" && data !== null && "data" in data && isRevertData(data.data)) return data.data;
    current = "cause" in current ? current.cause : undefined;
  }
  return null;
}

/** Classifies a failure: no answer, an unusable one (slow, too large, HTTP error), or a JSON-RPC error. */
function failureKind(error: unknown): "unreachable" | "overloaded" | "refused" {
  if (!(error instanceof BaseError)) return "unreachable";
  if (error.walk((cause) => cause instanceof RpcRequestError) !== null) return "refused";
  const http = error.walk((cause) => cause instanceof HttpRequestError);
  return http instanceof HttpRequestError && http.status === undefined ? "unreachable" : "overloaded";
}

function isRevertData(value: unknown): value is Hex {
  return typeof value === "string" && /^0x([0-9a-f]{2}){4,}$/i.test(value);
}

/** Returns the error's details in one line, without the URL, which often holds an API key. */
function detailsOf(error: unknown, rpcUrl: string | null): string {
  const parts: string[] = [];
  let current: unknown = error;
  for (let depth = 0; depth < MAX_CAUSES && current instanceof Error; depth += 1) {
    const short =
      "shortMessage" in current && typeof current.shortMessage === "string" ? current.shortMessage : current.message;
    const details = "details" in current && typeof current.details === "string" ? current.details : "";
    for (const part of [short, details]) if (part !== "" && !parts.includes(part)) parts.push(part);
    current = current.cause;
  }
  const said = parts.join("; ");
  const shown =
    rpcUrl === null ? said.replace(URLS, (url) => originOf(url)) : said.replaceAll(rpcUrl, originOf(rpcUrl));
  return shown.replace(/\s+/g, " ").slice(0, 500);
}

/** Returns scheme, host and port of a URL. */
export function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : "an invalid URL";
}
