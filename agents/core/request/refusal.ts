import { limits } from "../limits.ts";
import { attestAbsence } from "../seat/absence.ts";
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
  type RequestId,
  type SeatInfo,
  type Terms,
} from "../types.ts";

/** The place that a conclusion without messages rests on. */
const BEFORE_ALL: Position = { round: -1, phase: 0 };

/**
 * CE19: the protocol, made to conclude every request that it refuses: Hung, and no message may be said. A refusal follows from the
 * request, so all honest seats and every replay conclude the same. PY9: its other conclusions say who was absent.
 */
export function withRefusals<State>(protocol: Protocol<State>): Protocol<State> {
  const known = new WeakMap<Attempt, string | null>();
  const refuseRequest = (attempt: Attempt): string | null => {
    const before = known.get(attempt);
    if (before !== undefined) return before;
    const reason = reasonOf(protocol, attempt);
    known.set(attempt, reason);
    return reason;
  };
  return {
    ...protocol,
    refuseRequest,
    rejectPayload: (attempt, slot, payload) =>
      refuseRequest(attempt) === null ? protocol.rejectPayload(attempt, slot, payload) : "question-refused",
    conclude: (attempt, tally) =>
      refuseRequest(attempt) === null
        ? attestAbsence(attempt, tally, protocol.conclude(attempt, tally))
        : { kind: "final", outcome: refusedOutcome(attempt), through: BEFORE_ALL },
  };
}

/**
 * Why the protocol refuses the request, or null. It asks for every committee that appeals may call: else an appeal could make an
 * answered request hang for certain.
 */
function reasonOf({ refuseRequest }: Pick<Protocol, "refuseRequest">, attempt: Attempt): string | null {
  const { question, terms } = attempt.request;
  if (!isText(question)) return "the question is not UTF-8";
  for (let appeals = 0; appeals <= terms.appeals; appeals++) {
    const reason = refuseRequest(
      appeals === 0 ? attempt : { ...attempt, committee: anybody(committeeSizeAfter(terms.committeeSize, appeals)) },
    );
    if (reason !== null) return reason;
  }
  return null;
}

/** Why no committee of this size can run, or null. The reason names `mostSeats` as the largest size. */
export function refuseSize(attempt: Attempt, mostSeats: number): string | null {
  const seats = attempt.committee.length;
  return seats < limits.minCommittee || seats > limits.maxCommittee
    ? `committee size ${seats} is outside ${limits.minCommittee}..${mostSeats}`
    : null;
}

/** A committee of nobody in particular: protocols refuse by size, terms and question, never by who sits. */
export function anybody(seats: number): readonly SeatInfo[] {
  return Array.from({ length: seats }, (_, seat) => ({
    agentId: (seat + 1) as AgentId,
    signer: `0x${"00".repeat(20)}` as Address,
    reputation: ONE_PPM,
    skill: 2,
  }));
}

/** The question as some committee would get it. */
export function sampleAttempt(terms: Terms, question: string): Attempt {
  const nobody = `0x${"00".repeat(20)}` as Address;
  return {
    domain: { chainId: 0, oracle: nobody },
    request: { id: 1n as RequestId, consumer: nobody, terms, question },
    attempt: 0,
    committee: anybody(terms.committeeSize),
  };
}

/** PY6: nothing was asked of any seat, and all earn alike. */
function refusedOutcome(attempt: Attempt): Outcome {
  return {
    status: "hung",
    outcome: `0x${"00".repeat(32)}` as Digest,
    answer: "",
    confidence: 0 as Outcome["confidence"],
    reputationChanges: [],
    shares: seatsOf(attempt).map(() => 1),
    answered: [],
    agreed: [],
  };
}
