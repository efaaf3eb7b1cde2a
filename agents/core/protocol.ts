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

/** Result of a model call. A failure is a typed abstention; it can never look like agreement. */
export type Observation =
  | {
      readonly kind: "answered";
      readonly fields: Readonly<Record<string, string>>;
      readonly confidence: Ppm | null;
      /** PH12: what made the answer; absent if unknown. */
      readonly origin?: Origin;
    }
  | { readonly kind: "failed"; readonly reason: string };

/** Everything that can happen to a seat. The runtime journals each input before it acts on it. */
export type Input =
  | { readonly kind: "message"; readonly message: Message }
  /** `tokens`: the cost of the call, for the budget of a session that goes on after a restart (P8). No rule reads it. */
  | {
      readonly kind: "observed";
      readonly ask: string;
      readonly observation: Observation;
      readonly tokens?: number;
    }
  | { readonly kind: "elapsed"; readonly timer: string }
  /** The blocks asked for by `load`, in that order; null for a block that is unavailable. */
  | { readonly kind: "loaded"; readonly root: Digest; readonly blocks: readonly (MessageBlock | null)[] }
  /** What was read by `read`, in that order, as blocks of readings; null for a source that was not read in time. */
  | { readonly kind: "read"; readonly blocks: readonly (Uint8Array | null)[] };

/** A block that should hold a message. The host decodes it once; `message` is null if it holds none. */
export interface MessageBlock {
  readonly digest: Digest;
  readonly bytes: Uint8Array;
  readonly message: Message | null;
}

/** What a seat wants done. Each states the duties of the host. */
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
  /** Hand others' signed messages on to every seat. */
  | { readonly kind: "forward"; readonly messages: readonly Message[] }
  /** Answer with `elapsed` after the time. */
  | { readonly kind: "wait"; readonly timer: string; readonly afterMs: number }
  /** Fetch blocks by content; answer with `loaded`. */
  | { readonly kind: "load"; readonly root: Digest; readonly blocks: readonly Digest[] }
  /** Read the sources that the question names, in half of a phase; answer with `read`. Asked once an attempt. */
  | { readonly kind: "read"; readonly sources: readonly string[] }
  /** Store and pin the transcript, then relay the certificate to the chain. The seat is done. */
  | { readonly kind: "certified"; readonly certificate: Certificate; readonly blocks: readonly Uint8Array[] }
  /** Keep the proof of equivocation. */
  | { readonly kind: "evidence"; readonly evidence: Evidence }
  /** Keep the proof of equivocation: two signed decisions. */
  | { readonly kind: "conflict"; readonly conflict: DecisionConflict }
  /** Count and log; peer input never throws. */
  | { readonly kind: "drop"; readonly reason: string; readonly seat: SeatIndex | null }
  /** The bound on ballots is exhausted; the chain refunds after the deadline. */
  | { readonly kind: "stalled" };

/** AV6: all blocks of the transcript that a signed decision rests on, and the payload to send if the host cannot hold them. */
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
  /** Certify time-outs: base plus `certifyDeltaMs` per ballot. */
  readonly certifyMs: number;
  readonly certifyDeltaMs: number;
}

/** The attempt as one seat sees it. */
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

/** A place in a deliberation. Places are ordered by round, then phase. */
export interface Position {
  readonly round: number;
  readonly phase: number;
}

/** A place and the seat that speaks there. */
export interface Slot extends Position {
  readonly seat: SeatIndex;
}

export interface Held {
  readonly seat: SeatIndex;
  readonly digest: Digest;
}

/** What a message says, as its protocol shows it to people. */
export interface Rendering {
  /** Name of the phase, e.g. "reveal", or of the record that an event carries. */
  readonly name: string;
  /** The decoded payload. Text is a stranger's; 32 bytes may be the payload digest of another message. */
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
 * What a certificate of the protocol says about the answer. `byzantine`: with at most f faulty seats, honest seats support it.
 * `chair`: the transcript is authentic and the answer is the chair's.
 */
export type Assured = "byzantine" | "chair";

/**
 * What a deliberation protocol implements; `withRefusals` completes it. `conclude` is the protocol: a pure function of the message
 * set, whatever the order of arrival. `start` and `step` only decide what this seat says next.
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
  /** SG5: whether the seats read the sources that a question names. A protocol that does not refuses such a question. */
  readonly readsSources: boolean;
  /** True if it matters which two messages stand in a void slot: seats with different pairs may conclude differently (CE16). */
  readonly readsVoidSlots?: true;
  /** True if no model is shown another seat's answer before it gives its own, in any round. */
  readonly showsNoAnswers?: true;
  /** Why this attempt cannot run under the protocol, or null. A refused attempt is Hung at once (CE19). */
  refuseRequest(attempt: Attempt): string | null;
  /** The longest time that a deliberation takes once messages arrive, in units of `phaseMs`. */
  phasesAtMost(attempt: Attempt): number;
  /** Why the payload may not stand in the slot, or null. A rejected message is dropped, and makes a transcript invalid. */
  rejectPayload(attempt: Attempt, slot: Slot, payload: Value): Rejection | null;
  /** The message for people who read a transcript; null if `rejectPayload` rejects it. */
  render(attempt: Attempt, slot: Slot, payload: Value): Rendering | null;
  start(context: SeatContext): Step<State>;
  /** The last place this seat has closed; all earlier places are closed, too. Null before the first. */
  closed(state: State): Position | null;
  /** `tally` already holds the message of a `message` input. */
  step(state: State, context: SeatContext, tally: Tally, input: Input): Step<State>;
  conclude(attempt: Attempt, tally: Tally): Conclusion;
  /**
   * In words, for people, what the last complete round of a message set lacks for a decision; empty if no round is complete. It follows
   * from the messages, and nothing follows from it.
   */
  explain?(attempt: Attempt, tally: Tally): readonly string[];
}
