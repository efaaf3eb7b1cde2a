import { encodeAbiParameters, encodeFunctionData, zeroAddress, type Hex } from "viem";
import { bytesToHex, utf8 } from "../../core/encoding/bytes.ts";
import { committeeHash, decisionStructHash, hashedRequest } from "../../core/encoding/typed-data.ts";
import { packSeat, packTerms } from "../../core/encoding/words.ts";
import { questionBytes } from "../../core/request/question.ts";
import type { Certificate, Currency, Decision, Request, Round, SeatInfo, Terms } from "../../core/types.ts";
import type { DecidedRound, Witness } from "../../core/request/events.ts";
import type { AwaitedRound } from "../../ports/chain.ts";
import { decisionOracleAbi, settlementAbi } from "conclave/abi";
import { packCertificate, packHead, packMerits, packRelay } from "./settlement.ts";

const abi = decisionOracleAbi;

/** Encodes the oracle's functions, from the core's packed words. */
export function encodeAsk(subscriptionId: number, terms: Terms, question: string): Hex {
  const args = [subscriptionId, packTerms(terms), bytesToHex(questionBytes(question))] as const;
  return encodeFunctionData({ abi, functionName: "request", args });
}

/** Encodes a draw; `header` is the seed block's header in RLP. */
export function encodeDraw(request: Request, { round, seedBlock, past }: AwaitedRound, header: Hex): Hex {
  const args = [hashedRequest(request), round, seedBlock, header, past.map((one) => pastOf(request, one))] as const;
  return encodeFunctionData({ abi, functionName: "draw", args });
}

export function encodeCommit(
  request: Request,
  round: Round,
  committee: readonly SeatInfo[],
  certificate: Certificate,
): Hex {
  const packed = bytesToHex(packCertificate(committee, certificate.signatures));
  const args = [hashedRequest(request), round, packed, decisionArguments(certificate.decision)] as const;
  return encodeFunctionData({ abi, functionName: "commit", args });
}

/** Encodes the functions that take the standing decision. */
export function encodeAboutLast(
  functionName: "appeal" | "finalize" | "retryCallback",
  request: Request,
  { round, committee, decision, relay }: DecidedRound,
): Hex {
  const args = [
    hashedRequest(request),
    round,
    committeeHash(committee),
    decisionArguments(decision),
    packRelay(relay),
  ] as const;
  return encodeFunctionData({ abi, functionName, args });
}

/** Encodes the functions that take an attempt that nobody answered. */
export function encodeUnanswered(
  functionName: "replace" | "refund",
  request: Request,
  round: Round,
  witness: Witness,
): Hex {
  return encodeFunctionData({ abi, functionName, args: [hashedRequest(request), round, witnessOf(witness)] });
}

export function encodeFallBack(request: Request, round: Round, witness: Witness, last: DecidedRound): Hex {
  const args = [hashedRequest(request), round, witnessOf(witness), decidedOf(last)] as const;
  return encodeFunctionData({ abi, functionName: "fallBack", args });
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

function decidedOf({ round, committee, decision, relay, appellant }: DecidedRound) {
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

function witnessOf(witness: Witness): Hex {
  switch (witness.kind) {
    case "requested":
      return encodeAbiParameters([{ type: "uint64" }], [witness.seedBlock]);
    case "drawn":
      return encodeAbiParameters([{ type: "uint32" }, { type: "bytes32" }], [witness.attempt, witness.committeeHash]);
  }
}
