import { isMapOf } from "../../encoding/codec.ts";
import { bytesToHex, hexToBytes, sha256 } from "../../encoding/bytes.ts";
import { limits } from "../../limits.ts";
import type { PayloadMap } from "../../protocol.ts";
import type { Digest, Hex, SeatIndex, Value } from "../../types.ts";

/** Phases of a ballot. Every deliberation phase has a lower number. The field `round` of their headers is the ballot's number. */
export const PROPOSE = 201;
export const PREVOTE = 202;
export const PRECOMMIT = 203;
/** A finished certificate, which a seat hands on before it falls silent. */
export const CERTIFICATE = 204;

export interface ProposePayload {
  readonly rootBlock: Uint8Array;
  readonly root: Digest;
  /** The ballot in which the root had more than 2/3 of the prevotes; null for a fresh root. Called `validRound` on the wire. */
  readonly validBallot: number | null;
}

export interface VotePayload {
  /** null = nil. */
  readonly root: Digest | null;
  /** Precommits for a root carry the signature of the decision. */
  readonly signature: Hex | null;
}

export interface CertificatePayload {
  readonly rootBlock: Uint8Array;
  readonly root: Digest;
  readonly signatures: readonly { readonly seat: SeatIndex; readonly signature: Hex }[];
}

/** True if the payload is well formed for the certify phase. */
export function isCertifyPayload(phase: number, ballot: number, payload: Value): boolean {
  switch (phase) {
    case PROPOSE:
      return decodePropose(payload, ballot) !== null;
    case PREVOTE:
    case PRECOMMIT:
      return decodeVote(phase, payload) !== null;
    case CERTIFICATE:
      return decodeCertificate(payload) !== null;
    default:
      return false;
  }
}

export function encodePropose(rootBlock: Uint8Array, validBallot: number | null): PayloadMap {
  return { root: rootBlock, validRound: validBallot };
}

export function decodePropose(value: Value, ballot: number): ProposePayload | null {
  if (!isMapOf(value, ["root", "validRound"])) return null;
  const { root, validRound: validBallot } = value;
  if (!(root instanceof Uint8Array) || root.length > limits.rootBytes) return null;
  if (validBallot !== null && (typeof validBallot !== "number" || validBallot < 0 || validBallot >= ballot))
    return null;
  return { rootBlock: root, root: sha256(root), validBallot };
}

export function encodeCertificate(rootBlock: Uint8Array, signatures: CertificatePayload["signatures"]): PayloadMap {
  return { root: rootBlock, signatures: signatures.map(({ seat, signature }) => [seat, hexToBytes(signature)]) };
}

export function decodeCertificate(value: Value): CertificatePayload | null {
  if (!isMapOf(value, ["root", "signatures"])) return null;
  const { root, signatures } = value;
  if (!(root instanceof Uint8Array) || root.length > limits.rootBytes) return null;
  if (!Array.isArray(signatures) || signatures.length > limits.maxCommittee) return null;
  const decoded: { readonly seat: SeatIndex; readonly signature: Hex }[] = [];
  for (const entry of signatures as readonly Value[]) {
    if (!Array.isArray(entry) || entry.length !== 2) return null;
    const [seat, signature] = entry as readonly Value[];
    if (typeof seat !== "number" || seat < 0 || seat >= limits.maxCommittee) return null;
    if (!(signature instanceof Uint8Array) || signature.length !== 65) return null;
    decoded.push({ seat: seat as SeatIndex, signature: bytesToHex(signature) });
  }
  return { rootBlock: root, root: sha256(root), signatures: decoded };
}

export function decodeVote(phase: number, value: Value): VotePayload | null {
  const precommit = phase === PRECOMMIT;
  if (!isMapOf(value, precommit ? ["root", "signature"] : ["root"])) return null;
  const root = value["root"] ?? null;
  const signature = value["signature"] ?? null;
  if (root !== null && !(root instanceof Uint8Array && root.length === 32)) return null;
  if (signature !== null && !(signature instanceof Uint8Array && signature.length === 65)) return null;
  if (precommit && (root === null) !== (signature === null)) return null;
  return {
    root: root === null ? null : (bytesToHex(root) as Digest),
    signature: signature === null ? null : bytesToHex(signature),
  };
}
