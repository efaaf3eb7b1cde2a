import type { Decision, Request, Round, SeatInfo } from "../types.ts";
import type { AwaitedRound, ChainEvent, CommittedDecision, DecidedRound, Relay } from "./events.ts";
import { NO_SEED_BLOCK, hasRetry, nextAfter, unpackRound } from "./rounds.ts";

/** The progress of a request, derived from its events; `drawn` is the one stage that no event brings (`withCommittee`). */
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
  /** The seed block has named the committee. */
  | { readonly kind: "drawn"; readonly seedBlock: bigint; readonly committee: readonly SeatInfo[] }
  | DecidedStage
  /** Nobody answered the last attempt, and an earlier round has a decision: the request ended as hung. */
  | { readonly kind: "unanswered" }
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
  /** The oldest seed block whose committee can still be proven: the registry shows two epochs, and the chain serves so many hashes. */
  readonly oldestSeed: bigint;
}

/** A step that anybody may take for a request now. */
export type Due = "replace" | "refund" | "fallBack" | "finalize" | "settle";

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
    case "decisionCommitted":
      return committed(progress, event);
    case "decisionProvisional":
      return { ...standing(progress, "provisional"), round: event.round };
    case "requestReopened":
      return reopened(progress, event);
    case "decisionFinalized":
      return standing(progress, "final");
    case "attemptUnanswered":
      return { ...progress, stage: { kind: "unanswered" } };
    case "requestRefunded":
      return { ...progress, stage: { kind: "refunded" } };
    case "agentsChanged":
      return progress;
  }
}

/** The progress once the chain shows the committee of the running attempt. */
export function withCommittee(progress: Progress, committee: readonly SeatInfo[]): Progress {
  const { stage } = progress;
  if (stage.kind !== "requested") return progress;
  return { ...progress, stage: { kind: "drawn", seedBlock: stage.seedBlock, committee } };
}

/** The progress after the chain has replaced its blocks from this one on: another seed block may name another committee. */
export function afterReorganization(progress: Progress, from: bigint): Progress {
  const { stage } = progress;
  if (stage.kind !== "drawn" || stage.seedBlock < from) return progress;
  return { ...progress, stage: { kind: "requested", seedBlock: stage.seedBlock } };
}

/** True if nothing that is decided or paid back can change any more. */
export function isFinal({ stage }: Progress): boolean {
  if (stage.kind === "refunded" || stage.kind === "unanswered") return true;
  return stage.kind === "decided" && stage.standing === "final";
}

/** True if the events alone say that nobody is owed anything: the commit of a decision that is final in the first round pays it (SE10). */
export function isPaid(progress: Progress): boolean {
  const { request, past, round, stage } = progress;
  if (stage.kind === "refunded") return true;
  return stage.kind === "decided" && past.length === 0 && nextAfter(request.terms, round, stage.decision) === "final";
}

/** The round of the decision that stands, final or provisional; null while a committee is awaited or at work, and if no decision stands. */
export function lastRound({ stage, round }: Progress): DecidedRound | null {
  if (stage.kind !== "decided") return null;
  const { committee, decision, relay } = stage;
  return { round, committee, decision, relay, appellant: null };
}

/** All rounds with a decision, as a settlement takes them; null while the request is undecided. */
export function roundsOf(progress: Progress): readonly DecidedRound[] | null {
  if (progress.stage.kind === "unanswered") return progress.past;
  const last = lastRound(progress);
  return last === null ? null : [...progress.past, last];
}

/** What proves who sat in the rounds of a request that decided or hung so far. */
export interface RequestRecord {
  /** From the first. The last one has an appellant if an appeal called the running attempt. */
  readonly rounds: readonly DecidedRound[];
  /** The attempt that waits for its decision; null without one. */
  readonly running: AwaitedRound | null;
}

/** The record after the events of one request, in chain order. */
export function recordOf(events: readonly ChainEvent[]): RequestRecord {
  const progress = progressOf(events);
  if (progress === null) return { rounds: [], running: null };
  return { rounds: roundsOf(progress) ?? progress.past, running: awaitedOf(progress) };
}

/** The running attempt; null if a decision stands or the request has ended. */
export function awaitedOf({ stage, round, attempt, past }: Progress): AwaitedRound | null {
  if (stage.kind !== "requested" && stage.kind !== "drawn") return null;
  return { round, attempt, seedBlock: stage.seedBlock, past };
}

/** SE25: true if the attempt waits and has no committee until somebody calls one after its deadline. */
export function isWaiting({ seedBlock }: Pick<AwaitedRound, "seedBlock">): boolean {
  return seedBlock === NO_SEED_BLOCK;
}

/** SE3, SE8: true if no decision of this attempt can be committed any more. */
export function isTimeUp({ round, seedBlock }: Pick<AwaitedRound, "round" | "seedBlock">, head: Head): boolean {
  return head.timestamp > unpackRound(round).deadline || seedBlock < head.oldestSeed;
}

/** SE6, SE8, SE9: the step that is due at this block. Only the request's state tells if a final request is already settled. */
export function dueOf(progress: Progress, head: Head): Due | null {
  const { request, attempt, round, stage, past } = progress;
  const awaited = awaitedOf(progress);
  if (awaited !== null) {
    if (!isTimeUp(awaited, head)) return null;
    if (hasRetry(round, request.terms, attempt)) return "replace";
    return past.length === 0 ? "refund" : "fallBack";
  }
  if (isFinal(progress)) return isPaid(progress) ? null : "settle";
  const isProvisional = stage.kind === "decided" && stage.standing === "provisional";
  return isProvisional && head.timestamp > unpackRound(round).deadline ? "finalize" : null;
}

/** The progress after a decision (SE4). */
function committed(progress: Progress, { committee, decision, relay }: CommittedDecision): Progress {
  const {
    round,
    request: { terms },
  } = progress;
  if (awaitedOf(progress) === null) return progress;
  const isLast = nextAfter(terms, round, decision) === "final";
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
  if (progress.stage.kind === "refunded" || progress.stage.kind === "unanswered") return progress;
  const { attempt, round, seedBlock, appellant } = event;
  const last = lastRound(progress);
  const past = last === null ? progress.past : [...progress.past, { ...last, appellant }];
  return { ...progress, attempt, past, round, stage: { kind: "requested", seedBlock } };
}
