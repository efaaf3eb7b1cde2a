import type {
  Attempt,
  Certificate,
  Decision,
  Digest,
  DecisionConflict,
  Evidence,
  Message,
  Outcome,
  Ppm,
  SeatIndex,
  Value,
} from "./types.ts";
import type { Origin, Prompt } from "./prompts/prompt.ts";
import type { Tally } from "./seat/tally.ts";

/** What a model call came to. A failure is a typed abstention; it can never look like agreement. */
export type Observation =
  | {
      readonly kind: "answered";
      readonly fields: Readonly<Record<string, string>>;
      readonly confidence: Ppm | null;
      /** PH12; absent where there is nothing to tell. */
      readonly origin?: Origin;
    }
  | { readonly kind: "failed"; readonly reason: string };

/** Everything that can happen to a seat. The runtime journals each input before it acts on it. */
export type Input =
  | { readonly kind: "message"; readonly message: Message }
  /** `tokens`: what the call cost, for the budget of a session that goes on after a restart (P8). No rule looks at it. */
  | {
      readonly kind: "observed";
      readonly ask: string;
      readonly observation: Observation;
      readonly tokens?: number;
    }
  | { readonly kind: "elapsed"; readonly timer: string }
  /** The blocks asked for by `load`, in that order; null where one could not be had. */
  | { readonly kind: "loaded"; readonly root: Digest; readonly blocks: readonly (Uint8Array | null)[] }
  /** The documents asked for by `fetch`, in that order; null where one could not be had. */
  | { readonly kind: "fetched"; readonly fetch: string; readonly blocks: readonly (Uint8Array | null)[] };

/** What a seat wants done. Duties of the host are stated at each. */
export type Effect =
  /** Ask the model once; answer with `observed`. */
  | { readonly kind: "ask"; readonly ask: string; readonly prompt: Prompt }
  /**
   * Sign, journal, send to every seat, and give back as `message`. With `decision`: sign its digest too and put the
   * 65 bytes into the payload as `signature`, but only once what the signature rests on is held (AV6).
   */
  | {
      readonly kind: "send";
      readonly phase: number;
      readonly round: number;
      readonly payload: PayloadMap;
      readonly decision?: Decision;
      readonly holds?: Holds;
    }
  /** Relay others' signed messages to every seat. */
  | { readonly kind: "forward"; readonly messages: readonly Message[] }
  /** Answer with `elapsed` after the delay. */
  | { readonly kind: "wait"; readonly timer: string; readonly delayMs: number }
  /** Fetch blocks by content; answer with `loaded`. */
  | { readonly kind: "load"; readonly root: Digest; readonly blocks: readonly Digest[] }
  /** Fetch documents that the question names, of at most `limits.sourceBytes` each, in half of a phase; answer with `fetched`. */
  | { readonly kind: "fetch"; readonly fetch: string; readonly blocks: readonly Digest[] }
  /** Store and pin the transcript, then relay the certificate to the chain. The seat is done. */
  | { readonly kind: "certified"; readonly certificate: Certificate; readonly blocks: readonly Uint8Array[] }
  /** Keep the proof of equivocation. */
  | { readonly kind: "evidence"; readonly evidence: Evidence }
  /** The same, of two signed decisions. */
  | { readonly kind: "conflict"; readonly conflict: DecisionConflict }
  /** Count and log; peer input never throws. */
  | { readonly kind: "drop"; readonly reason: string; readonly seat: SeatIndex | null }
  /** The bound on certify rounds is exhausted; the chain refunds after the deadline. */
  | { readonly kind: "stalled" };

/** AV6: all blocks of the transcript that a signed decision rests on, and what to say where they cannot be held. */
export interface Holds {
  readonly blocks: readonly Uint8Array[];
  readonly otherwise: PayloadMap;
}

export type PayloadMap = { readonly [key: string]: Value };

export interface Step<State> {
  readonly state: State;
  readonly effects: readonly Effect[];
}

/** Local patience; never part of a decision. */
export interface Timing {
  /** Longest wait for a phase that contains model calls. */
  readonly phaseMs: number;
  /** Wait for stragglers once more than 2/3 of the seats have spoken. */
  readonly graceMs: number;
  /** Certify time-outs: base plus `certifyDeltaMs` per round. */
  readonly certifyMs: number;
  readonly certifyDeltaMs: number;
}

/** One seat's view of its attempt. */
export interface SeatContext {
  readonly attempt: Attempt;
  readonly self: SeatIndex;
  /** 32 secret bytes of this seat and attempt; salts are derived from it. */
  readonly secret: Uint8Array;
  readonly timing: Timing;
}

/** The decision a message set yields, or `open` if the set is not conclusive. */
export type Conclusion = { readonly kind: "open" } | FinalConclusion;

export interface FinalConclusion {
  readonly kind: "final";
  readonly outcome: Outcome;
  /** The last place that the outcome rests on. */
  readonly through: Position;
}

/** A place in the course of a deliberation, ordered by round, then phase. */
export interface Position {
  readonly round: number;
  readonly phase: number;
}

/** A place and who speaks there. */
export interface Slot extends Position {
  readonly seat: SeatIndex;
}

export interface Held {
  readonly seat: SeatIndex;
  readonly digest: Digest;
}

/** What a message says, as its protocol reads it. */
export interface Reading {
  /** Of the phase, e.g. "reveal", or of what an event brings. */
  readonly name: string;
  /** Decoded strictly: text is a stranger's, 32 bytes may be the payload digest of another message. */
  readonly body: PayloadMap;
  /** The messages that its sender says it held, by seat and payload digest. */
  readonly parents: readonly Held[];
}

/** Why a payload may not stand in its slot. */
export type Rejection = "no-such-round" | "unknown-phase" | "not-a-speaker" | "malformed-payload" | "question-refused";

export function comparePositions(a: Position, b: Position): number {
  return a.round - b.round || a.phase - b.phase;
}

/**
 * What a certificate of the protocol says of the answer. `byzantine`: with at most f faulty seats it is one that honest seats
 * support. `chair`: the transcript is authentic and the answer is the chair's.
 */
export type Assured = "byzantine" | "chair";

/**
 * What a deliberation protocol implements, made whole by `withRefusals`. `conclude` is the protocol: a pure function of the message set, whatever the
 * order of arrival. `start` and `step` only decide what this seat says next.
 */
export interface Protocol<State = unknown> {
  /** Kebab case, e.g. "mbft". */
  readonly id: string;
  /** On-chain code, 1..255. */
  readonly code: number;
  /** Raised when rules or prompts change; recorded in the transcript. */
  readonly version: number;
  readonly title: string;
  readonly assurance: Assured;
  /** Whether it matters which two messages stand in a void slot, so that seats with different pairs may conclude differently (CE16). */
  readonly readsVoidSlots?: true;
  /** Why this attempt cannot run under the protocol, or null; it is Hung at once (CE19). */
  refuseRequest(attempt: Attempt): string | null;
  /** A deliberation lasts at most so many `phaseMs` once messages arrive. */
  phasesAtMost(attempt: Attempt): number;
  /** Why nothing of the kind may stand in the slot, or null. What is refused is dropped, and makes a transcript invalid. */
  rejectPayload(attempt: Attempt, slot: Slot, payload: Value): Rejection | null;
  /** For people who read a transcript; null for what `refuses` refuses. */
  read(attempt: Attempt, slot: Slot, payload: Value): Reading | null;
  start(context: SeatContext): Step<State>;
  /** The last place this seat has closed: all earlier ones are closed too. Null before the first. */
  closed(state: State): Position | null;
  /** `tally` already holds the message of a `message` input. */
  step(state: State, context: SeatContext, tally: Tally, input: Input): Step<State>;
  conclude(attempt: Attempt, tally: Tally): Conclusion;
}
