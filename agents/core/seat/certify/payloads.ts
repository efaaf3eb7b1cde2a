import { isMapOf } from "../../encoding/codec.ts";
import { bytesToHex, hexToBytes, sha256 } from "../../encoding/bytes.ts";
import { limits } from "../../limits.ts";
import type { PayloadMap } from "../../protocol.ts";
import type { Digest, Hex, SeatIndex, Value } from "../../types.ts";

/** Phases of a certify round. Every deliberation phase lies below the first. */
export const PROPOSE = 201;
export const PREVOTE = 202;
export const PRECOMMIT = 203;
/** A finished certificate, handed on by a seat that falls silent. */
export const CERTIFICATE = 204;

export interface ProposePayload {
  readonly rootBlock: Uint8Array;
  readonly root: Digest;
  /** The round in which the root had more than 2/3 prevotes; null for a fresh root. */
  readonly validRound: number | null;
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

/** Whether a payload is well formed for a certify phase. */
export function isCertifyPayload(phase: number, round: number, payload: Value): boolean {
  switch (phase) {
    case PROPOSE:
      return decodePropose(payload, round) !== null;
    case PREVOTE:
    case PRECOMMIT:
      return decodeVote(phase, payload) !== null;
    case CERTIFICATE:
      return decodeCertificate(payload) !== null;
    default:
      return false;
  }
}

export function decodePropose(value: Value, round: number): ProposePayload | null {
  if (!isMapOf(value, ["root", "validRound"])) return null;
  const { root, validRound } = value;
  if (!(root instanceof Uint8Array) || root.length > limits.rootBytes) return null;
  if (validRound !== null && (typeof validRound !== "number" || validRound < 0 || validRound >= round)) return null;
  return { rootBlock: root, root: sha256(root), validRound };
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
