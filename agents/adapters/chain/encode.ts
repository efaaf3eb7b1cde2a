import { encodeAbiParameters, encodeFunctionData, type Hex } from "viem";
import {
  bytesToHex,
  concat,
  encodeReputationChanges,
  encodeShares,
  hexToBytes,
  keccak256,
  packSeat,
  packTerms,
  statusCode,
  utf8,
} from "../../core/digest.ts";
import type { Certificate, Decision, Request, SeatInfo, Terms } from "../../core/types.ts";
import type { RefundWitness } from "../../ports/chain.ts";
import { decisionOracleAbi } from "./abi.ts";

const abi = decisionOracleAbi;

/** Calldata of the oracle's functions, from the words of the core. */
export function encodeAsk(terms: Terms, question: string): Hex {
  return encodeFunctionData({ abi, functionName: "request", args: [packTerms(terms), bytesToHex(utf8(question))] });
}

export function encodeDraw(request: Request, seedBlock: bigint): Hex {
  return encodeFunctionData({ abi, functionName: "draw", args: [requestOf(request), seedBlock] });
}

export function encodeCommit(request: Request, committee: readonly SeatInfo[], certificate: Certificate): Hex {
  const decision = decisionOf(certificate.decision);
  const args = [requestOf(request), committee.map(packSeat), decision, certificateOf(certificate)] as const;
  return encodeFunctionData({ abi, functionName: "commit", args });
}

export function encodeRetryCallback(request: Request, committee: readonly SeatInfo[], decision: Decision): Hex {
  return encodeFunctionData({
    abi,
    functionName: "retryCallback",
    args: [requestOf(request), committee.map(packSeat), decisionOf(decision)],
  });
}

export function encodeCreditPay(request: Request, committee: readonly SeatInfo[], decision: Decision): Hex {
  return encodeFunctionData({
    abi,
    functionName: "creditPay",
    args: [requestOf(request), committee.map(packSeat), decisionOf(decision)],
  });
}

export function encodeRefund(request: Request, witness: RefundWitness): Hex {
  return encodeFunctionData({ abi, functionName: "refund", args: [requestOf(request), witnessOf(witness)] });
}

function requestOf({ id, consumer, terms, question }: Request) {
  return { id, consumer, terms: packTerms(terms), questionHash: keccak256(utf8(question)) };
}

function decisionOf(decision: Decision) {
  return {
    attempt: decision.attempt,
    round: decision.round,
    status: statusCode(decision.status),
    outcome: decision.outcome,
    answer: bytesToHex(utf8(decision.answer)),
    confidence: decision.confidence,
    transcript: decision.transcript,
    reputationChanges: bytesToHex(encodeReputationChanges(decision.reputationChanges)),
    shares: bytesToHex(encodeShares(decision.shares)),
  };
}

/** The bits and the signatures are in the same order, that of the seats. */
function certificateOf({ signatures }: Certificate) {
  const ordered = signatures.toSorted((left, right) => left.seat - right.seat);
  return {
    signers: ordered.reduce((bits, { seat }) => bits | (1n << BigInt(seat)), 0n),
    signatures: bytesToHex(concat(...ordered.map(({ signature }) => hexToBytes(signature)))),
  };
}

function witnessOf(witness: RefundWitness): Hex {
  switch (witness.kind) {
    case "requested":
      return encodeAbiParameters([{ type: "uint64" }], [witness.seedBlock]);
    case "drawn":
      return encodeAbiParameters([{ type: "uint32" }, { type: "bytes32" }], [witness.attempt, witness.committeeHash]);
  }
}
