import { compareHex, concat, sha256, word } from "../encoding/bytes.ts";
import type { Attempt, Digest, SeatIndex } from "../types.ts";

/** Every seat, 0..n-1. */
export function seatsOf(attempt: Attempt): readonly SeatIndex[] {
  return attempt.committee.map((_, seat) => seat as SeatIndex);
}

/** Canonical order of seats (PH13): lowest sha256(requestId || attempt || agentId) first, never the order of the list. */
export function canonicalOrder(attempt: Attempt): readonly SeatIndex[] {
  const keys = attempt.committee.map((info) => tieBreak(attempt, info.agentId));
  return seatsOf(attempt).toSorted((a, b) => compareHex(keys[a] as Digest, keys[b] as Digest) || a - b);
}

const ranksOfAttempt = new WeakMap<Attempt, readonly number[]>();

/** Position of each seat in the canonical order. Computed once per attempt. */
export function canonicalRanks(attempt: Attempt): readonly number[] {
  const known = ranksOfAttempt.get(attempt);
  if (known !== undefined) return known;
  const ranks: number[] = [];
  canonicalOrder(attempt).forEach((seat, rank) => (ranks[seat] = rank));
  ranksOfAttempt.set(attempt, ranks);
  return ranks;
}

function tieBreak(attempt: Attempt, agentId: number): Digest {
  return sha256(concat(word(attempt.request.id), word(BigInt(attempt.attempt)), word(BigInt(agentId))));
}
