import { isMapOf } from "./codec.ts";
import { bytesToHex, sha256 } from "./digest.ts";
import { limits } from "./limits.ts";
import type { Digest, Hex, Value } from "./types.ts";

/** Phases of a certify round. Every deliberation phase lies below the first. */
export const PROPOSE = 201;
export const PREVOTE = 202;
export const PRECOMMIT = 203;

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

/** Whether a payload is well formed for a certify phase. */
export function acceptsCertify(phase: number, round: number, payload: Value): boolean {
  if (round >= limits.certifyRounds) return false;
  switch (phase) {
    case PROPOSE:
      return decodePropose(payload, round) !== null;
    case PREVOTE:
    case PRECOMMIT:
      return decodeVote(phase, payload) !== null;
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
