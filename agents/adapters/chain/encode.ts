import { encodeAbiParameters, encodeFunctionData, type Hex } from "viem";
import { bytesToHex, committeeHash, hashedRequest, packSeat, packTerms, utf8 } from "../../core/digest.ts";
import type { Certificate, Decision, Request, SeatInfo, Terms } from "../../core/types.ts";
import type { RefundWitness, Relay } from "../../ports/chain.ts";
import { decisionOracleAbi } from "conclave/abi";
import { packCertificate, packHead, packMerits, packRelay } from "./settlement.ts";

const abi = decisionOracleAbi;

/** Calldata of the oracle's functions, from the words of the core. */
export function encodeAsk(terms: Terms, question: string): Hex {
  return encodeFunctionData({ abi, functionName: "request", args: [packTerms(terms), bytesToHex(utf8(question))] });
}

/** `header` is the seed block's, in RLP. */
export function encodeDraw(request: Request, seedBlock: bigint, header: Hex): Hex {
  return encodeFunctionData({ abi, functionName: "draw", args: [hashedRequest(request), seedBlock, header] });
}

export function encodeCommit(request: Request, committee: readonly SeatInfo[], certificate: Certificate): Hex {
  const packed = bytesToHex(packCertificate(committee, certificate.signatures));
  const args = [hashedRequest(request), decisionOf(certificate.decision), packed] as const;
  return encodeFunctionData({ abi, functionName: "commit", args });
}

export function encodeRetryCallback(
  request: Request,
  committee: readonly SeatInfo[],
  decision: Decision,
  relay: Relay,
): Hex {
  const args = [hashedRequest(request), committeeHash(committee), decisionOf(decision), packRelay(relay)] as const;
  return encodeFunctionData({ abi, functionName: "retryCallback", args });
}

export function encodeCreditPay(
  request: Request,
  committee: readonly SeatInfo[],
  decision: Decision,
  relay: Relay,
): Hex {
  const args = [hashedRequest(request), committee.map(packSeat), decisionOf(decision), packRelay(relay)] as const;
  return encodeFunctionData({ abi, functionName: "creditPay", args });
}

export function encodeRefund(request: Request, witness: RefundWitness): Hex {
  return encodeFunctionData({ abi, functionName: "refund", args: [hashedRequest(request), witnessOf(witness)] });
}

function decisionOf(decision: Decision) {
  return {
    head: packHead({ ...decision, seats: decision.shares.length }),
    outcome: decision.outcome,
    transcript: decision.transcript,
    answer: bytesToHex(utf8(decision.answer)),
    merits: bytesToHex(packMerits(decision)),
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
