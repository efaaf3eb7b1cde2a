import type { Origin, Prompt } from "../prompts/prompt.ts";
import type { Assured } from "../protocol.ts";
import type { AnyForm, RoundBook } from "./round-book.ts";
import type { Read } from "../sources/reading.ts";
import type { Attempt, Outcome, Ppm, SeatIndex } from "../types.ts";

/**
 * The rules of a protocol whose seats speak in rounds of lock-stepped phases (docs/spec/phases.md). A protocol states what is asked,
 * said and concluded. assess.ts concludes from message sets, drive.ts moves one seat through the phases.
 */
export interface PhasedRules<Carry> {
  readonly id: string;
  readonly code: number;
  readonly version: number;
  readonly title: string;
  readonly assurance: Assured;
  readonly showsNoAnswers?: true;
  /** The largest committee, if it is smaller than `limits.maxCommittee`; `refuseRequest` says why. */
  readonly mostSeats?: number;
  /** Why an attempt of a permitted committee size cannot run under the protocol, or null. If not given, every attempt can. */
  refuseRequest?(attempt: Attempt): string | null;
  /** R: the largest number of rounds. */
  rounds(attempt: Attempt): number;
  /** The forms of a round's phases, ascending. Every seat speaks in the last phase and in REVEAL. */
  forms(attempt: Attempt, round: number): readonly AnyForm[];
  /** The seats that speak in a phase; all seats if null or not given. Messages of other seats are rejected. */
  speakers?(attempt: Attempt, round: number, phase: number): readonly SeatIndex[] | null;
  /** The carry into the first round: what rounds leave behind for later ones. */
  initial(attempt: Attempt): Carry;
  /**
   * Assesses a complete round: the outcome, or null for another round; never null in round R - 1. A pure function of the book and the
   * carry: results are remembered per (book, carry).
   */
  assessRound(book: RoundBook, carry: Carry): AssessedRound<Carry>;
  /**
   * In words, for people, what each answer of a complete round has and what it needs; if not given, its seats are counted. `answers` is the
   * last round in which seats revealed answers, which may be an earlier one.
   */
  explain?(book: RoundBook, carry: Carry, answers: RoundBook): readonly string[];
  /** SG9: the round with what its answers are held against; if not given, the round itself. */
  within?(book: RoundBook, carry: Carry): RoundBook;
  /** The calls a speaker makes to its model on entering a phase, all at once. Without calls and sources it speaks at once. */
  calls(view: SeatView<Carry>, phase: number): readonly Call[];
  /** PH11: sources that a speaker reads before it speaks in the first phase of a round; none if not given. Such a phase has no calls. */
  sources?(attempt: Attempt, round: number): readonly string[];
  /** The body a speaker says, made from the answers in `view.answered(phase)`. Failed and late calls have no answer there. */
  say(view: SeatView<Carry>, phase: number): unknown;
}

export interface AssessedRound<Carry> {
  readonly carry: Carry;
  readonly outcome: Outcome | null;
}

export interface Call {
  /** The task and its subject, e.g. ["verify", target]; unique within its phase. */
  readonly about: readonly string[];
  readonly prompt: Prompt;
}

export interface Answered {
  readonly about: readonly string[];
  readonly fields: Readonly<Record<string, string>>;
  readonly confidence: Ppm | null;
  readonly origin?: Origin;
}

/** What one seat sees when it asks its model and speaks. */
export interface SeatView<Carry> {
  readonly attempt: Attempt;
  readonly self: SeatIndex;
  readonly secret: Uint8Array;
  readonly round: number;
  /** This round, as this seat holds it now. */
  readonly book: RoundBook;
  /** The earlier rounds, as this seat holds them now. */
  readonly earlier: readonly RoundBook[];
  readonly carry: Carry;
  /** The own model's answers in a phase of this round, in order of arrival. */
  answered(phase: number): readonly Answered[];
  /** Why calls of a phase of this round failed, in order of arrival. */
  failed(phase: number): readonly string[];
  /** SG5: what this seat read, one entry a source; null if it read nothing yet. */
  readonly read: readonly (Read | null)[] | null;
}
