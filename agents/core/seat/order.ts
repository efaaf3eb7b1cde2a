import { compareHex, concat, sha256, word, word32 } from "../encoding/bytes.ts";
import type { Attempt, Digest, SeatIndex } from "../types.ts";

/** Every seat, 0..n-1. */
export function seatsOf(attempt: Attempt): readonly SeatIndex[] {
  return attempt.committee.map((_, seat) => seat as SeatIndex);
}

interface Ordered {
  readonly order: readonly SeatIndex[];
  readonly ranks: readonly number[];
}

/** Canonical order of seats (PH13): lowest sha256(requestId || attempt || agentId) first, never the order of the list. */
export function canonicalOrder(attempt: Attempt): readonly SeatIndex[] {
  return ordered(attempt).order;
}

/** Position of each seat in the canonical order. */
export function canonicalRanks(attempt: Attempt): readonly number[] {
  return ordered(attempt).ranks;
}

/** Computed once per attempt, which never changes. */
const known = new WeakMap<Attempt, Ordered>();

function ordered(attempt: Attempt): Ordered {
  const found = known.get(attempt) ?? inOrder(attempt);
  known.set(attempt, found);
  return found;
}

function inOrder(attempt: Attempt): Ordered {
  const keys = attempt.committee.map((info) => tieBreak(attempt, info.agentId));
  const order = seatsOf(attempt).toSorted((a, b) => compareHex(keys[a] as Digest, keys[b] as Digest) || a - b);
  const ranks: number[] = [];
  order.forEach((seat, rank) => (ranks[seat] = rank));
  return { order, ranks };
}

function tieBreak(attempt: Attempt, agentId: number): Digest {
  return sha256(concat(word(attempt.request.id), word32(attempt.attempt), word32(agentId)));
}
