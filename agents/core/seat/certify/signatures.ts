import { CERTIFICATE, PRECOMMIT, decodeCertificate, decodeVote } from "./messages.ts";
import type { CertifyContext, CertifyState, Signed } from "./state.ts";
import { recoverSigner } from "../../encoding/digest.ts";
import { decisionDigest } from "../../encoding/typed-data.ts";
import type { Attempt, Decision, Digest, Message } from "../../types.ts";

/** The decision of a replayed root in a ballot; null if this seat has not replayed the root. */
export function decisionOf(state: CertifyState, attempt: Attempt, root: Digest, ballot: number): Decision | null {
  const proposed = state.roots.get(root);
  return proposed?.kind === "good"
    ? { ...proposed.conclusion.outcome, attempt: attempt.attempt, round: ballot, transcript: root }
    : null;
}

/**
 * Verifies the decision signatures in a PRECOMMIT or CERTIFICATE whose root has been replayed, up to the first bad one: an
 * honest certificate has no bad ones. With `only`, signatures on other roots are left for later.
 */
export function verifySignatures(
  state: CertifyState,
  context: CertifyContext,
  message: Message,
  only: Digest | null = null,
): CertifyState {
  const verified = new Map(state.signatures);
  for (const signed of signaturesIn(message)) {
    const key = signatureKey(signed);
    if (verified.has(key)) continue;
    const decision =
      only !== null && signed.root !== only ? null : decisionOf(state, context.attempt, signed.root, signed.ballot);
    const signer = decision && recoverSigner(decisionDigest(context.attempt, decision), signed.signature);
    if (decision === null || signer === null || signer !== context.attempt.committee[signed.seat]?.signer) break;
    verified.set(key, { ...signed, decision });
  }
  return verified.size === state.signatures.size ? state : { ...state, signatures: verified };
}

function signaturesIn({ header, payload }: Message): readonly Signed[] {
  const { phase, round: ballot, seat } = header;
  if (phase === PRECOMMIT) {
    const vote = decodeVote(PRECOMMIT, payload);
    return vote === null || vote.root === null || vote.signature === null
      ? []
      : [{ root: vote.root, ballot, seat, signature: vote.signature }];
  }
  const certificate = phase === CERTIFICATE ? decodeCertificate(payload) : null;
  if (certificate === null) return [];
  return certificate.signatures.map((one) => ({ root: certificate.root, ballot, ...one }));
}

function signatureKey({ root, ballot, seat }: Omit<Signed, "signature">): string {
  return `${root}.${ballot}.${seat}`;
}
