import type { Protocol } from "../../agents/core/protocol.ts";
import { faultTolerance } from "../../agents/core/quorum.ts";
import { encodeMessage } from "../../agents/core/encoding/transcript.ts";
import type { Attempt, Message, Ppm, SeatIndex } from "../../agents/core/types.ts";
import { attemptFor } from "../../test/support/message-set.ts";
import { signedBy, stepDecision } from "../../sim/step-decision.ts";

/**
 * `agree`: all seats hold the same answer, and no seat is bad. `liars`: the f seats that lead first hold another
 * answer with the greatest confidence. `silent leaders`: all agree, and the f seats that lead first say nothing when
 * they should lead.
 */
export type Situation = "agree" | "liars" | "silent leaders";

/** The leading seats and phases: the bad seats are placed there. */
export interface Leading {
  /** Phase in which a leader, chair or worker speaks; null if the protocol has none. */
  readonly phase: number | null;
  /** The seats whose turn comes first, at least f of them. */
  readonly order: (attempt: Attempt) => readonly SeatIndex[];
}

export interface Cost {
  /** Signed messages of the deliberation, each counted once. */
  readonly messages: number;
  /** Their encoded bytes; each message goes to n - 1 seats. */
  readonly bytes: number;
  /** Signed messages of the certification, each counted once. */
  readonly certify: number;
  readonly modelCalls: number;
  readonly criticalPathCalls: number;
  /** Canonical answer, or "hung". */
  readonly decision: string;
}

/** Phases above this one are those of certification. */
const LAST_DELIBERATION_PHASE = 200;

/** Measures what one decision of a boolean question costs if no message is late. */
export function costOf(protocol: Protocol, seats: number, situation: Situation, leading: Leading): Cost {
  const attempt = signedBy(attemptFor(protocol.code, seats, "normal"));
  const bad = situation === "agree" ? [] : leading.order(attempt).slice(0, faultTolerance(seats));
  const minds = attempt.committee.map((_, index) => {
    const lies = situation === "liars" && bad.includes(index as SeatIndex);
    const answer = lies ? "no" : "yes";
    const confidence = (lies ? 900_000 : 700_000) as Ppm;
    return { answer, approves: (other: string) => other === answer, confidence };
  });
  const isMute = ({ header }: Message): boolean =>
    situation === "silent leaders" && header.phase === leading.phase && bad.includes(header.seat);
  const stepped = stepDecision({ protocol, attempt, minds, goal: "certified", verify: false, isMute });
  const deliberation = stepped.messages.filter(({ header }) => header.phase <= LAST_DELIBERATION_PHASE);
  const decision = stepped.certified[0]?.certificate.decision;
  return {
    messages: deliberation.length,
    bytes: deliberation.reduce((sum, message) => sum + encodeMessage(message).length, 0),
    certify: stepped.messages.length - deliberation.length,
    modelCalls: stepped.modelCalls,
    criticalPathCalls: stepped.criticalPathCalls,
    decision: decision?.status === "decided" ? decision.answer : "hung",
  };
}
