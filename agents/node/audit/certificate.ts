import { recoverSigner } from "../../core/encoding/digest.ts";
import { decisionDigest } from "../../core/encoding/typed-data.ts";
import { isSupermajority } from "../../core/quorum.ts";
import type { CommittedDecision } from "../../core/request/events.ts";
import type { Attempt, Certificate, Digest, Hex, SeatIndex } from "../../core/types.ts";
import { Failed, type Audit } from "./report.ts";

export async function checkCertificate(audit: Audit, attempt: Attempt, committed: CommittedDecision): Promise<void> {
  const { chain, signal, onProgress } = audit.options;
  const signatures = await chain.certificate(committed.transactionHash, committed.requestId, signal);
  if (signatures === null) {
    audit.certificateSignatures = null;
    return;
  }
  const digest = decisionDigest(attempt, committed.decision);
  const seats = new Set<SeatIndex>();
  for (const { seat, signature } of signatures) {
    requireSeatSigned(attempt, digest, seat, signature);
    seats.add(seat);
    audit.certificateSignatures = seats.size;
    onProgress?.("certificate", seats.size, signatures.length);
  }
  if (bitsOf(signatures) !== committed.relay.signers)
    throw new Failed("certificate", "the event names other signers than the certificate");
  if (!isSupermajority(seats.size, attempt.committee.length)) {
    throw new Failed(
      "certificate",
      `${seats.size} of ${attempt.committee.length} seats signed, which is not more than 2/3`,
    );
  }
}

function requireSeatSigned(attempt: Attempt, digest: Digest, seat: SeatIndex, signature: Hex): void {
  const signer = attempt.committee[seat]?.signer;
  if (signer !== undefined && recoverSigner(digest, signature) === signer) return;
  throw new Failed("certificate", `the signature of seat ${seat} on the decision is not that of its agent`);
}

function bitsOf(signatures: Certificate["signatures"]): bigint {
  return signatures.reduce((bits, { seat }) => bits | (1n << BigInt(seat)), 0n);
}
