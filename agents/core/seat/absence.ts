import { ABSENT, type Attempt, type SeatIndex } from "../types.ts";
import { comparePositions, type Conclusion, type Position } from "../protocol.ts";
import { seatsOf } from "./order.ts";
import { messagesOf, type Tally } from "./tally.ts";

/**
 * PY9: a conclusion in which the seats that said nothing have `ABSENT` as their share, and fall one step. Every round has a phase in
 * which all seats speak, so a seat that was there has said something. A function of the messages that the conclusion rests on, so all
 * who replay the transcript attest the same, and no relayer has a say in it.
 */
export function attestAbsence(attempt: Attempt, tally: Tally, conclusion: Conclusion): Conclusion {
  if (conclusion.kind === "open") return conclusion;
  const { outcome, through } = conclusion;
  const silent = silentSeats(attempt, tally, through);
  if (silent.length === 0) return conclusion;
  const shares = outcome.shares.map((share, seat) => (silent.includes(seat as SeatIndex) ? ABSENT : share));
  const changes = [
    ...outcome.reputationChanges.filter(({ seat }) => !silent.includes(seat)),
    ...silent.map((seat) => ({ seat, steps: -1 })),
  ];
  const reputationChanges = changes.toSorted((one, other) => one.seat - other.seat);
  return { ...conclusion, outcome: { ...outcome, shares, reputationChanges } };
}

function silentSeats(attempt: Attempt, tally: Tally, through: Position): readonly SeatIndex[] {
  const heard = new Set<SeatIndex>();
  for (const { header } of messagesOf(tally)) {
    if (comparePositions(header, through) <= 0) heard.add(header.seat);
    if (heard.size === attempt.committee.length) return [];
  }
  return seatsOf(attempt).filter((seat) => !heard.has(seat));
}
