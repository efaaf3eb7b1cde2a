import type { Origin, Prompt } from "../prompts/prompt.ts";
import type { Assured } from "../protocol.ts";
import type { AnyForm, RoundBook } from "./round-book.ts";
import type { Attempt, Digest, Outcome, Ppm, SeatIndex } from "../types.ts";

/**
 * Protocols whose seats speak in rounds of lock-stepped phases (docs/spec/phases.md). A protocol states what is asked, said
 * and concluded; this engine runs one seat through the phases: patience, witnessing, rounds, completeness.
 */
export interface PhasedRules<Carry> {
  readonly id: string;
  readonly code: number;
  readonly version: number;
  readonly title: string;
  readonly assurance: Assured;
  /** The largest committee, where it is smaller than any protocol's; `check` says why. */
  readonly mostSeats?: number;
  /** Why an attempt of a permitted committee size cannot run under the protocol; every one can if not given. */
  refuseRequest?(attempt: Attempt): string | null;
  /** R: at most so many rounds. */
  rounds(attempt: Attempt): number;
  /** The forms of a round's phases, ascending. In the last one every seat speaks, and in REVEAL. */
  forms(attempt: Attempt, round: number): readonly AnyForm[];
  /** Who has something to say in a phase; all seats when null or not given. Others' messages are refused. */
  speakers?(attempt: Attempt, round: number, phase: number): readonly SeatIndex[] | null;
  /** What the rounds before leave behind, before the first one. */
  initial(attempt: Attempt): Carry;
  /**
   * A complete round, judged: the outcome, or null for another round; never null in round R - 1. A pure function of the book
   * and the carry; each is judged once.
   */
  judgeRound(book: RoundBook, carry: Carry): JudgedRound<Carry>;
  /** What a speaker asks its model on entering a phase, all at once; with none, and no documents, it speaks at once. */
  calls(view: SeatView<Carry>, phase: number): readonly Call[];
  /** PH11: documents that a speaker needs before it speaks in a phase; none if not given. Not in a phase with calls. */
  documents?(attempt: Attempt, round: number, phase: number): readonly Digest[];
  /** The body a speaker says, from what `view.answered(phase)` holds; a call that failed or came late is not in it. */
  say(view: SeatView<Carry>, phase: number): unknown;
}

export interface JudgedRound<Carry> {
  readonly carry: Carry;
  readonly outcome: Outcome | null;
}

export interface Call {
  /** What is asked of whom, e.g. ["verify", target]; unique within its phase. */
  readonly about: readonly string[];
  readonly prompt: Prompt;
}

export interface Answered {
  readonly about: readonly string[];
  readonly fields: Readonly<Record<string, string>>;
  readonly confidence: Ppm | null;
  readonly origin?: Origin;
}

/** What a seat can see when it asks and speaks. */
export interface SeatView<Carry> {
  readonly attempt: Attempt;
  readonly self: SeatIndex;
  readonly secret: Uint8Array;
  readonly round: number;
  /** This round, as this seat holds it now. */
  readonly book: RoundBook;
  /** The rounds before, as this seat holds them now. */
  readonly earlier: readonly RoundBook[];
  readonly carry: Carry;
  /** The own model's answers of a phase of this round, in the order in which they came. */
  answered(phase: number): readonly Answered[];
  /** The blocks of the documents of this phase, in order; null where one could not be had, or not in time. */
  readonly fetched: readonly (Uint8Array | null)[];
}
