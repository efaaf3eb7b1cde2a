import type { Protocol } from "../../../agents/core/protocol.ts";
import { faultTolerance } from "../../../agents/core/quorum.ts";
import { encodeMessage } from "../../../agents/core/transcript.ts";
import type { Message, Ppm } from "../../../agents/core/types.ts";
import { attemptFor } from "../attacks/message-set.ts";
import { signedBy, stepDecision } from "../step-decision.ts";

/**
 * `agree`: all seats hold the same answer. `liars`: f seats hold another one, with the greatest confidence, so that they lead wherever confidence
 * leads. `silent leaders`: all agree, and the first f seats that should lead say nothing when they do.
 */
export type Situation = "agree" | "liars" | "silent leaders";

export interface Cost {
  /** Signed messages of the deliberation, each once. */
  readonly messages: number;
  /** Their encoded bytes; each goes to n - 1 seats. */
  readonly bytes: number;
  /** Signed messages of the certification, each once. */
  readonly certify: number;
  readonly modelCalls: number;
  readonly criticalPathCalls: number;
  /** Canonical answer, or "hung". */
  readonly decision: string;
}

/** Phases above are those of certification. */
const LAST_DELIBERATION_PHASE = 200;

/**
 * What one decision of a boolean question costs when no message is late.
 * @param leading the phase in which a leader speaks; null when the protocol has none
 */
export function costOf(protocol: Protocol, seats: number, situation: Situation, leading: number | null): Cost {
  const attempt = signedBy(attemptFor(protocol.code, seats, "normal"));
  const faults = faultTolerance(seats);
  const liars = situation === "liars" ? faults : 0;
  const minds = attempt.committee.map((_, seat) => {
    const answer = seat < liars ? "no" : "yes";
    const confidence = (seat < liars ? 900_000 : 700_000) as Ppm;
    return { answer, approves: (other: string) => other === answer, confidence };
  });
  const silenced = new Set<number>();
  const isMute = ({ header }: Message): boolean => {
    if (situation !== "silent leaders" || header.phase !== leading) return false;
    if (silenced.size < faults) silenced.add(header.seat);
    return silenced.has(header.seat);
  };
  const stepped = stepDecision({ protocol, attempt, minds, goal: "certified", verify: false, isMute });
  const deliberation = stepped.messages.filter(({ header }) => header.phase <= LAST_DELIBERATION_PHASE);
  const [decision] = stepped.decisions;
  return {
    messages: deliberation.length,
    bytes: deliberation.reduce((sum, message) => sum + encodeMessage(message).length, 0),
    certify: stepped.messages.length - deliberation.length,
    modelCalls: stepped.modelCalls,
    criticalPathCalls: stepped.criticalPathCalls,
    decision: decision?.status === "decided" ? decision.answer : "hung",
  };
}
