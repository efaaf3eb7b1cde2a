import { limits } from "../../agents/core/limits.ts";
import { honestSeats, type Trace } from "../trace.ts";

/** Most instants of a world, far above what any run within the bounds of the core takes. */
const MOST_INSTANTS = 400_000;
/** Most frames and timers waiting at once, per ordered pair of seats. */
const PENDING_PER_PAIR = 1_200;
/**
 * Most slots that a seat may fill: generous phases times rounds of deliberation, and the certify phases of all
 * rounds.
 */
const SLOTS_PER_SEAT = 12 * 12 + 4 * limits.certifyBallots;
/** Bytes of a journal record beyond its message: kind, timers, observations. */
const RECORD_BYTES = 2_048;

/** SI7: what an honest seat keeps stays below stated limits, whatever its peers send. */
export function checkBoundedMemory(trace: Trace): readonly string[] {
  const seats = trace.attempt.committee.length;
  const found: string[] = [];
  if (trace.instants > MOST_INSTANTS) found.push(`${trace.instants} instants, at most ${MOST_INSTANTS} are expected`);
  if (trace.pending > PENDING_PER_PAIR * seats * seats) found.push(`${trace.pending} frames and timers waited at once`);
  for (const { seat, journalBytes, backlog } of honestSeats(trace)) {
    const mostBytes = journalLimit(trace, seats);
    if (journalBytes > mostBytes)
      found.push(`the journal of seat ${seat} has ${journalBytes} bytes, limit ${mostBytes}`);
    if (backlog > SLOTS_PER_SEAT + limits.bufferedFramesPerPeer)
      found.push(`seat ${seat} would resend ${backlog} messages`);
  }
  return found;
}

/**
 * Returns the most bytes of a journal: every message that the world saw, as often as a slot may be filled, and the
 * same again for what was loaded.
 */
function journalLimit(trace: Trace, seats: number): number {
  const average = Math.ceil(trace.sent.bytes / Math.max(1, trace.sent.frames));
  const slots = [...trace.messages.keys()].length;
  return (average + RECORD_BYTES) * (slots + seats * 8) * limits.payloadsPerSlot * 4 + limits.rootBytes;
}
