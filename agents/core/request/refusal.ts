import { limits } from "../limits.ts";
import { seatsOf } from "../seat/order.ts";
import type { Position, Protocol } from "../protocol.ts";
import { isText } from "./question.ts";
import { committeeSizeAfter } from "./rounds.ts";
import {
  ONE_PPM,
  type Address,
  type AgentId,
  type Attempt,
  type Digest,
  type Outcome,
  type SeatInfo,
} from "../types.ts";

/** Where a conclusion rests that needs no message. */
const BEFORE_ALL: Position = { round: -1, phase: 0 };

/**
 * CE19: the protocol, for which a request that it refuses is concluded: Hung, with nothing said. What is refused follows from the request, so
 * all honest seats conclude the same, and so does every replay.
 */
export function refusing<State>(protocol: Protocol<State>): Protocol<State> {
  const known = new WeakMap<Attempt, string | null>();
  const check = (attempt: Attempt): string | null => {
    const before = known.get(attempt);
    if (before !== undefined) return before;
    const reason = reasonOf(protocol, attempt);
    known.set(attempt, reason);
    return reason;
  };
  return {
    ...protocol,
    check,
    refuses: (attempt, slot, payload) =>
      check(attempt) === null ? protocol.refuses(attempt, slot, payload) : "question-refused",
    conclude: (attempt, tally) =>
      check(attempt) === null
        ? protocol.conclude(attempt, tally)
        : { kind: "final", outcome: refusedOutcome(attempt), through: BEFORE_ALL },
  };
}

/** Of all committees that appeals may call: else an appeal could make an answered request hang for certain. */
function reasonOf({ check }: Pick<Protocol, "check">, attempt: Attempt): string | null {
  const { question, terms } = attempt.request;
  if (!isText(question)) return "the question is not UTF-8";
  for (let appeals = 0; appeals <= terms.appeals; appeals++) {
    const reason = check(
      appeals === 0 ? attempt : { ...attempt, committee: anybody(committeeSizeAfter(terms.committeeSize, appeals)) },
    );
    if (reason !== null) return reason;
  }
  return null;
}

/** Why no committee of this size can run; `mostSeats` is what the reason names. */
export function refuseSize(attempt: Attempt, mostSeats: number): string | null {
  const seats = attempt.committee.length;
  return seats < limits.minCommittee || seats > limits.maxCommittee
    ? `committee size ${seats} is outside ${limits.minCommittee}..${mostSeats}`
    : null;
}

/** Protocols refuse by size, terms and question, never by who sits. */
export function anybody(seats: number): readonly SeatInfo[] {
  return Array.from({ length: seats }, (_, seat) => ({
    agentId: (seat + 1) as AgentId,
    signer: `0x${"00".repeat(20)}` as Address,
    reputation: ONE_PPM,
  }));
}

/** Every seat has done what was asked of it, and none of it is worth a step of reputation. */
function refusedOutcome(attempt: Attempt): Outcome {
  return {
    status: "hung",
    outcome: `0x${"00".repeat(32)}` as Digest,
    answer: "",
    confidence: 0 as Outcome["confidence"],
    reputationChanges: [],
    shares: seatsOf(attempt).map(() => 1),
  };
}
