import { faultTolerance, isSupermajority } from "../quorum.ts";
import { limits } from "../limits.ts";
import type { AssessedRound, PhasedRules } from "./phased-rules.ts";
import type { Conclusion, Position } from "../protocol.ts";
import { commitForm } from "./proposals.ts";
import { explainClasses, explainSeats, hasReveals } from "./reasons.ts";
import type { AnyForm, RoundBook, RoundPlan } from "./round-book.ts";
import { seatsOf } from "../seat/order.ts";
import { filledIn, roundSlots, type RoundSlots, type Tally } from "../seat/tally.ts";
import type { Attempt, SeatIndex } from "../types.ts";

/** The complete rounds of a message set, assessed. */
export interface Evaluated<Carry> extends AssessedRound<Carry> {
  /** The round after the complete ones. */
  readonly next: number;
}

/**
 * What a message set means under a protocol's rules: the plan of its rounds, which of them are complete, and what they conclude.
 * Global: the same for every seat that holds the same messages. It keeps nothing but remembered pure results.
 */
export class Assessor<Carry> {
  private readonly rules: PhasedRules<Carry>;
  private readonly plans = new WeakMap<Attempt, Map<number, RoundPlan>>();
  private readonly books = new WeakMap<RoundSlots, RoundBook>();
  private readonly assessed = new WeakMap<
    RoundBook,
    { readonly before: Carry; readonly result: AssessedRound<Carry> }
  >();
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
   * PH7: assesses the complete rounds; the last of them decides. An earlier round does not decide, even if it could: more
   * than 2/3 of the seats went on from it, so messages that complete it only now came too late.
   */
  evaluate(attempt: Attempt, tally: Tally): Evaluated<Carry> {
    let evaluated: Evaluated<Carry> = { next: 0, carry: this.start(attempt), outcome: null };
    const rounds = this.rules.rounds(attempt);
    for (let round = 0; round < rounds && this.isComplete(attempt, tally, round); round++)
      evaluated = { next: round + 1, ...this.assessRound(this.book(attempt, tally, round), evaluated.carry) };
    if (evaluated.next === rounds && evaluated.outcome === null)
      throw new Error(`${this.rules.id} assessed its last round without an outcome`);
    return evaluated;
  }

  /** PH14: in words, what the last complete round has and lacks. */
  explain(attempt: Attempt, tally: Tally): readonly string[] {
    const round = this.evaluate(attempt, tally).next - 1;
    if (round < 0) return [];
    const book = this.book(attempt, tally, round);
    const answers = this.answersUpTo(attempt, tally, round) ?? book;
    const asked = this.speakers(attempt, answers.round, commitForm.phase) ?? seatsOf(attempt);
    const carry = this.carryInto(attempt, tally, round);
    const held = this.rules.within?.(answers, carry) ?? answers;
    const classes = this.rules.explain?.(book, carry, answers) ?? explainClasses(held);
    return [...explainSeats(held, asked), ...classes];
  }

  /** The last round up to this one in which seats revealed answers; null without one. */
  private answersUpTo(attempt: Attempt, tally: Tally, round: number): RoundBook | null {
    for (let at = round; at >= 0; at--) {
      const book = this.book(attempt, tally, at);
      if (hasReveals(book)) return book;
    }
    return null;
  }

  /** What the rounds before a round leave behind, as far as they are complete in this message set. */
  carryInto(attempt: Attempt, tally: Tally, round: number): Carry {
    let carry = this.start(attempt);
    for (let before = 0; before < round && this.isComplete(attempt, tally, before); before++)
      carry = this.assessRound(this.book(attempt, tally, before), carry).carry;
    return carry;
  }

  /** PH6: more than 2/3 of the seats have filled the last phase. */
  private isComplete(attempt: Attempt, tally: Tally, round: number): boolean {
    const seats = attempt.committee.length;
    return isSupermajority(filledIn(roundSlots(tally, round), this.lastPhase(attempt, round), seats), seats);
  }

  private assessRound(book: RoundBook, before: Carry): AssessedRound<Carry> {
    const known = this.assessed.get(book);
    if (known?.before === before) return known.result;
    const result = this.rules.assessRound(book, before);
    this.assessed.set(book, { before, result });
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
