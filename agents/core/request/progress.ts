import { committeeHash } from "../encoding/typed-data.ts";
import type { Decision, Request, Round, SeatInfo } from "../types.ts";
import type { ChainEvent, DecidedRound, Relay, Witness } from "./events.ts";
import { hasRetry, unpackRound } from "./rounds.ts";

/** The progress of a request, derived from its events alone. */
export interface Progress {
  readonly request: Request;
  /** The attempt whose committee is awaited or at work, or that decided. */
  readonly attempt: number;
  /** The rounds before this one, from the first. Attempts that nobody answered leave no round. */
  readonly past: readonly DecidedRound[];
  /** The round of the running attempt, or of the decision. */
  readonly round: Round;
  readonly stage: RequestStage;
}

export type RequestStage =
  | { readonly kind: "requested"; readonly seedBlock: bigint }
  | { readonly kind: "drawn"; readonly committee: readonly SeatInfo[] }
  | DecidedStage
  | { readonly kind: "refunded" };

interface DecidedStage {
  readonly kind: "decided";
  readonly committee: readonly SeatInfo[];
  readonly decision: Decision;
  readonly relay: Relay;
  /** `open` only until the next event of the same transaction says what follows. */
  readonly standing: "open" | "provisional" | "final";
}

/** Head of the chain: the newest block. */
export interface Head {
  readonly number: bigint;
  /** Unix seconds. */
  readonly timestamp: number;
}

/** A step that anybody may take for a request now. */
export type Due = "draw" | "replace" | "refund" | "fallBack" | "finalize" | "settle";

/** The progress after the events of one request, in chain order; null before it was asked. */
export function progressOf(events: readonly ChainEvent[]): Progress | null {
  return events.reduce<Progress | null>(applyEvent, null);
}

/** The progress after one more event. An event that does not fit, e.g. because a part of the chain was not read, changes nothing. */
export function applyEvent(progress: Progress | null, event: ChainEvent): Progress | null {
  if (event.kind === "requested") {
    const { request, round, seedBlock } = event;
    return { request, attempt: 0, past: [], round, stage: { kind: "requested", seedBlock } };
  }
  if (progress === null) return null;
  switch (event.kind) {
    case "seedRescheduled":
      return { ...progress, stage: { kind: "requested", seedBlock: event.seedBlock } };
    case "committeeDrawn":
      return { ...progress, stage: { kind: "drawn", committee: event.committee } };
    case "decisionCommitted":
      return committed(progress, event.decision, event.relay);
    case "decisionProvisional":
      return { ...standing(progress, "provisional"), round: event.round };
    case "requestReopened":
      return reopened(progress, event);
    case "decisionFinalized":
      return finalized(progress);
    case "requestRefunded":
      return { ...progress, stage: { kind: "refunded" } };
    case "agentsChanged":
      return progress;
  }
}

/** True if nothing that is decided or paid back can change any more. */
export function isFinal({ stage }: Progress): boolean {
  return stage.kind === "refunded" || (stage.kind === "decided" && stage.standing === "final");
}

/** The round of the decision that stands, final or provisional; null while a committee is awaited or at work. */
export function lastRound({ stage, round }: Progress): DecidedRound | null {
  if (stage.kind !== "decided") return null;
  const { committee, decision, relay } = stage;
  return { round, committee, decision, relay, appellant: null };
}

/** All rounds up to the decision that stands, as a settlement takes them; null without a decision. */
export function roundsOf(progress: Progress): readonly DecidedRound[] | null {
  const last = lastRound(progress);
  return last === null ? null : [...progress.past, last];
}

/** The part of the oracle's stored word that covers neither request nor round; null once there is a decision. */
export function witnessOf(progress: Progress): Witness | null {
  const { stage, attempt } = progress;
  if (stage.kind === "requested") return { kind: "requested", seedBlock: stage.seedBlock };
  if (stage.kind !== "drawn") return null;
  return { kind: "drawn", attempt, committeeHash: committeeHash(stage.committee) };
}

/** SE3, SE6, SE8, SE9: the step that is due at this block. Only the request's state tells if a final request is already settled. */
export function dueOf(progress: Progress, head: Head): Due | null {
  const { request, attempt, round, stage, past } = progress;
  const isOver = head.timestamp > unpackRound(round).deadline;
  switch (stage.kind) {
    case "requested":
    case "drawn":
      if (isOver && hasRetry(round, request.terms, attempt)) return "replace";
      if (isOver) return past.length === 0 ? "refund" : "fallBack";
      return stage.kind === "requested" && head.number > stage.seedBlock ? "draw" : null;
    case "decided":
      if (stage.standing === "final") return "settle";
      return stage.standing === "provisional" && isOver ? "finalize" : null;
    case "refunded":
      return null;
  }
}

/** The progress after a decision (SE4). */
function committed(progress: Progress, decision: Decision, relay: Relay): Progress {
  const {
    stage,
    round,
    request: { terms },
  } = progress;
  if (stage.kind !== "drawn") return progress;
  const isRetried = decision.status === "hung" && hasRetry(round, terms, decision.attempt);
  const isLast = !isRetried && unpackRound(round).appeals === terms.appeals;
  const { committee } = stage;
  return {
    ...progress,
    stage: { kind: "decided", committee, decision, relay, standing: isLast ? "final" : "open" },
  };
}

function standing(progress: Progress, value: DecidedStage["standing"]): Progress {
  return progress.stage.kind === "decided" ? { ...progress, stage: { ...progress.stage, standing: value } } : progress;
}

/** The progress when another committee is called: after a decision (SE4, SE5), or for a committee that stayed silent and leaves no round (SE8). */
function reopened(progress: Progress, event: Extract<ChainEvent, { kind: "requestReopened" }>): Progress {
  if (progress.stage.kind === "refunded") return progress;
  const { attempt, round, seedBlock, appellant } = event;
  const last = lastRound(progress);
  const past = last === null ? progress.past : [...progress.past, { ...last, appellant }];
  return { ...progress, attempt, past, round, stage: { kind: "requested", seedBlock } };
}

/** The progress once the standing decision is final, or the one before an attempt that nobody answered. */
function finalized(progress: Progress): Progress {
  const before = progress.past.at(-1);
  if (progress.stage.kind === "decided" || before === undefined) return standing(progress, "final");
  const { round, committee, decision, relay } = before;
  return {
    ...progress,
    attempt: decision.attempt,
    past: progress.past.slice(0, -1),
    round,
    stage: { kind: "decided", committee, decision, relay, standing: "final" },
  };
}
