import { encodeFunctionData, zeroAddress, type Hex } from "viem";
import { bytesToHex, utf8 } from "../../core/encoding/bytes.ts";
import { committeeHash, decisionStructHash, hashedRequest } from "../../core/encoding/typed-data.ts";
import { packSeat, packTerms } from "../../core/encoding/words.ts";
import { questionBytes } from "../../core/request/question.ts";
import type { Certificate, Currency, Decision, Request, Terms } from "../../core/types.ts";
import type { AwaitedRound, DecidedRound } from "../../core/request/events.ts";
import { decisionOracleAbi, settlementAbi } from "@conclave/contracts/abi";
import { packCertificate, packHead, packMerits, packRelay } from "./settlement.ts";

const abi = decisionOracleAbi;

/** Encodes the oracle's functions, from the core's packed words. */
export function encodeAsk(subscriptionId: number, terms: Terms, question: string): Hex {
  const args = [subscriptionId, packTerms(terms), bytesToHex(questionBytes(question))] as const;
  return encodeFunctionData({ abi, functionName: "request", args });
}

/** Encodes a commit; `header` as for `committeeArguments`. */
export function encodeCommit(request: Request, awaited: AwaitedRound, header: Hex, certificate: Certificate): Hex {
  const packed = bytesToHex(packCertificate(certificate.signatures));
  const args = [
    ...committeeArguments(request, awaited, header),
    packed,
    decisionArguments(certificate.decision),
  ] as const;
  return encodeFunctionData({ abi, functionName: "commit", args });
}

/**
 * Returns the arguments that prove a committee.
 * @param header the seed block's header in RLP; "0x" if an earlier call of the same transaction has proven the block
 */
export function committeeArguments(request: Request, { round, seedBlock, past }: AwaitedRound, header: Hex) {
  const seed = { seedBlock, header, past: past.map((one) => pastOf(request, one)) };
  return [hashedRequest(request), round, seed] as const;
}

/** Encodes the functions of the oracle that take the standing decision. */
export function encodeAboutLast(
  functionName: "appeal" | "finalize" | "retryCallback",
  request: Request,
  last: DecidedRound,
): Hex {
  return encodeFunctionData({ abi, functionName, args: aboutLastArguments(request, last) });
}

/** Returns the arguments of the functions that take the standing decision. */
export function aboutLastArguments(request: Request, { round, committee, decision, relay }: DecidedRound) {
  return [
    hashedRequest(request),
    round,
    committeeHash(committee),
    decisionArguments(decision),
    packRelay(relay),
  ] as const;
}

/** Encodes the functions that take an attempt that nobody answered, or not yet. */
export function encodeUnanswered(
  functionName: "replace" | "refund" | "cancel",
  request: Request,
  { round, seedBlock }: AwaitedRound,
): Hex {
  return encodeFunctionData({ abi, functionName, args: [hashedRequest(request), round, seedBlock] });
}

/** Throws a RangeError without an earlier decision, to which nobody can fall back. */
export function encodeFallBack(request: Request, { round, seedBlock, past }: AwaitedRound): Hex {
  const last = past.at(-1);
  if (last === undefined) throw new RangeError(`encodeFallBack: request ${request.id} has no earlier decision`);
  const { structHash, relay, appellant } = pastOf(request, last);
  const hashed = { round: last.round, committeeHash: committeeHash(last.committee), structHash, relay, appellant };
  return encodeFunctionData({
    abi,
    functionName: "fallBack",
    args: [hashedRequest(request), round, seedBlock, hashed],
  });
}

/** Encodes a call of the settlement contract. */
export function encodeSettle(request: Request, rounds: readonly DecidedRound[]): Hex {
  const args = [hashedRequest(request), rounds.map(decidedOf)] as const;
  return encodeFunctionData({ abi: settlementAbi, functionName: "settle", args });
}

/** Returns the number of `Currency` in contracts/types/Types.sol. */
export function currencyCode(currency: Currency): 0 | 1 {
  return currency === "token" ? 0 : 1;
}

/** Returns a round as the settlement and the slasher take it. */
export function decidedOf({ round, committee, decision, relay, appellant }: DecidedRound) {
  return {
    round,
    committee: committee.map(packSeat),
    decision: decisionArguments(decision),
    relay: packRelay(relay),
    appellant: appellant ?? zeroAddress,
  };
}

function pastOf(request: Request, one: DecidedRound) {
  const { round, committee, relay, appellant } = decidedOf(one);
  const structHash = decisionStructHash({ request, committee: one.committee }, one.decision);
  return { round, committee, structHash, relay, appellant };
}

function decisionArguments(decision: Decision) {
  return {
    head: packHead({ ...decision, seats: decision.shares.length }),
    outcome: decision.outcome,
    transcript: decision.transcript,
    answer: bytesToHex(utf8(decision.answer)),
    merits: bytesToHex(packMerits(decision)),
  };
}
