import { faultTolerance, isSupermajority } from "../quorum.ts";
import { limits } from "../limits.ts";
import type { JudgedRound, PhasedRules } from "./phased-rules.ts";
import type { Conclusion, Position } from "../protocol.ts";
import { explainRound } from "./reasons.ts";
import type { AnyForm, RoundBook, RoundPlan } from "./round-book.ts";
import { filledIn, roundSlots, type RoundSlots, type Tally } from "../seat/tally.ts";
import type { Attempt, SeatIndex } from "../types.ts";

/** The complete rounds of a message set, judged. */
export interface Evaluated<Carry> extends JudgedRound<Carry> {
  /** The round after the complete ones. */
  readonly next: number;
}

/**
 * What a message set means under a protocol's rules: the plan of its rounds, which of them are complete, and what they conclude.
 * Global: the same for every seat that holds the same messages. It keeps nothing but remembered pure results.
 */
export class Judge<Carry> {
  private readonly rules: PhasedRules<Carry>;
  private readonly plans = new WeakMap<Attempt, Map<number, RoundPlan>>();
  private readonly books = new WeakMap<RoundSlots, RoundBook>();
  private readonly judged = new WeakMap<RoundBook, { readonly before: Carry; readonly result: JudgedRound<Carry> }>();
  private readonly initial = new WeakMap<Attempt, Carry>();

  constructor(rules: PhasedRules<Carry>) {
    this.rules = rules;
  }

  conclude(attempt: Attempt, tally: Tally): Conclusion {
    const { next, outcome } = this.evaluate(attempt, tally);
    if (outcome === null) return { kind: "open" };
    return { kind: "final", outcome, through: this.lastPlace(attempt, next - 1) };
  }

  /**
   * PH7: judges the complete rounds; the last of them decides. An earlier round does not decide, even if it could: more
   * than 2/3 of the seats went on from it, so messages that complete it only now came too late.
   */
  evaluate(attempt: Attempt, tally: Tally): Evaluated<Carry> {
    let evaluated: Evaluated<Carry> = { next: 0, carry: this.start(attempt), outcome: null };
    const rounds = this.rules.rounds(attempt);
    for (let round = 0; round < rounds && this.isComplete(attempt, tally, round); round++)
      evaluated = { next: round + 1, ...this.judgeRound(this.book(attempt, tally, round), evaluated.carry) };
    if (evaluated.next === rounds && evaluated.outcome === null)
      throw new Error(`${this.rules.id} judged its last round without an outcome`);
    return evaluated;
  }

  /** PH14: in words, what the last complete round has and lacks. */
  explain(attempt: Attempt, tally: Tally): readonly string[] {
    const round = this.evaluate(attempt, tally).next - 1;
    if (round < 0) return [];
    const book = this.book(attempt, tally, round);
    return this.rules.explain?.(book, this.carryInto(attempt, tally, round)) ?? explainRound(book);
  }

  /** What the rounds before a round leave behind, as far as they are complete in this message set. */
  carryInto(attempt: Attempt, tally: Tally, round: number): Carry {
    let carry = this.start(attempt);
    for (let before = 0; before < round && this.isComplete(attempt, tally, before); before++)
      carry = this.judgeRound(this.book(attempt, tally, before), carry).carry;
    return carry;
  }

  /** PH6: more than 2/3 of the seats have filled the last phase. */
  private isComplete(attempt: Attempt, tally: Tally, round: number): boolean {
    const seats = attempt.committee.length;
    return isSupermajority(filledIn(roundSlots(tally, round), this.lastPhase(attempt, round), seats), seats);
  }

  private judgeRound(book: RoundBook, before: Carry): JudgedRound<Carry> {
    const known = this.judged.get(book);
    if (known?.before === before) return known.result;
    const result = this.rules.judgeRound(book, before);
    this.judged.set(book, { before, result });
    return result;
  }

  private start(attempt: Attempt): Carry {
    const known = this.initial.get(attempt);
    if (known !== undefined) return known;
    const carry = this.rules.initial(attempt);
    this.initial.set(attempt, carry);
    return carry;
  }

  rounds(attempt: Attempt): number {
    return this.rules.rounds(attempt);
  }

  plan(attempt: Attempt, round: number): RoundPlan {
    const plans = this.plans.get(attempt) ?? new Map<number, RoundPlan>();
    this.plans.set(attempt, plans);
    const plan = plans.get(round) ?? this.planRound(attempt, round);
    plans.set(round, plan);
    return plan;
  }

  private planRound(attempt: Attempt, round: number): RoundPlan {
    const forms = this.rules.forms(attempt, round);
    const isPartial = ({ phase }: AnyForm): boolean => this.speakers(attempt, round, phase) !== null;
    return { forms, partial: new Set(forms.filter(isPartial).map(({ phase }) => phase)) };
  }

  /** The seats that speak in a phase; null if all of them do. */
  speakers(attempt: Attempt, round: number, phase: number): readonly SeatIndex[] | null {
    return this.rules.speakers?.(attempt, round, phase) ?? null;
  }

  lastPlace(attempt: Attempt, round: number): Position {
    return { round, phase: this.lastPhase(attempt, round) };
  }

  private lastPhase(attempt: Attempt, round: number): number {
    return (this.plan(attempt, round).forms.at(-1) as AnyForm).phase;
  }

  book(attempt: Attempt, tally: Tally, round: number): RoundBook {
    const slots = roundSlots(tally, round);
    const known = this.books.get(slots);
    if (known?.attempt === attempt && known.round === round) return known;
    const book: RoundBook = { attempt, round, plan: this.plan(attempt, round), slots };
    this.books.set(slots, book);
    return book;
  }

  phasesAtMost(attempt: Attempt): number {
    let phases = 0;
    for (let round = 0; round < this.rules.rounds(attempt); round++) phases += this.plan(attempt, round).forms.length;
    return phases;
  }

  /**
   * Why a transcript cannot hold the deliberation, or null. The longest one has a message of every seat in every phase, and two of f
   * seats.
   */
  refuseLength(attempt: Attempt): string | null {
    const seats = attempt.committee.length;
    const messages = (seats + faultTolerance(seats)) * this.phasesAtMost(attempt);
    return messages > limits.messagesPerTranscript
      ? `${seats} seats may say ${messages} messages, more than the ${limits.messagesPerTranscript} of a transcript`
      : null;
  }
}
