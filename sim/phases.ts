import { limits } from "../agents/core/limits.ts";
import { CLOSE } from "../agents/core/phases/round-book.ts";
import type { Protocol, Rejection } from "../agents/core/protocol.ts";
import type { Attempt, SeatIndex } from "../agents/core/types.ts";

const NO_PHASE: readonly (Rejection | null)[] = ["unknown-phase", "no-such-round"];

/** Returns the phases that the protocol's first rounds have, ascending. It asks the protocol, so a new protocol's phases are known here. */
export function phasesOf(protocol: Protocol, attempt: Attempt): readonly number[] {
  const rounds = Array.from({ length: limits.deliberationRounds }, (_, round) => round);
  const seat = 0 as SeatIndex;
  return Array.from({ length: CLOSE }, (_, index) => index + 1).filter((phase) =>
    rounds.some((round) => !NO_PHASE.includes(protocol.rejectPayload(attempt, { round, phase, seat }, null))),
  );
}
