/**
 * Reading sources before the first answer (docs/spec/sources.md): a round in which every seat says what it read, and what follows for the
 * answers of the rounds after it. Protocols know nothing of it: they see the rounds, the question and the answers that are theirs.
 */
import { citing, withSources } from "../prompts/source-prompt.ts";
import { seatsOf } from "../seat/order.ts";
import { grounded, namesSources, refuseSources, sourcesOf } from "../sources/named.ts";
import type { Attempt, Outcome, SeatIndex } from "../types.ts";
import { answeredByData, readAsData } from "./data.ts";
import { MATCH } from "./equivalence.ts";
import { outcomeFrom } from "./outcome.ts";
import { NOBODY_BLIND } from "./pay.ts";
import type { Call, AssessedRound, PhasedRules, SeatView } from "./phased-rules.ts";
import { candidatesOf, commitForm } from "./proposals.ts";
import { explainReadings, gatheringOf, showing, winnerWithout } from "./reading-steps.ts";
import { GATHER, gatherForm, heardIn, Readings } from "./readings.ts";
import { explainClasses } from "./reasons.ts";
import { closeForm, equivocatorsIn, type Gathered, type RoundBook } from "./round-book.ts";

/** @internal Raised with every change of these rules; the protocols that read sources rise with it. */
export const SOURCES_VERSION = 10;

/** What rounds leave behind where sources are read: `inner` is the protocol's own. */
interface GatheredCarry<Inner> {
  readonly gathered: Gathered | null;
  readonly inner: Inner;
}

/** SG5: the rules of a protocol with a round before its own in which the seats read the sources that the question names. */
export function gathering<Inner>(rules: PhasedRules<Inner>): PhasedRules<GatheredCarry<Inner>> {
  const books = new WeakMap<RoundBook, RoundBook>();
  const offsetOf = (attempt: Attempt): 0 | 1 => (namesSources(attempt) ? 1 : 0);
  const isGathering = (attempt: Attempt, round: number): boolean => round < offsetOf(attempt);
  const innerBook = (book: RoundBook, { gathered }: GatheredCarry<Inner>): RoundBook => {
    if (gathered === null) return book;
    const known = books.get(book);
    if (known?.gathered === gathered) return known;
    const made = { ...book, attempt: grounded(book.attempt), round: book.round - 1, gathered };
    books.set(book, made);
    return made;
  };
  const innerView = (view: SeatView<GatheredCarry<Inner>>): SeatView<Inner> => {
    const { attempt, carry } = view;
    const offset = offsetOf(attempt);
    return {
      ...view,
      attempt: grounded(attempt),
      read: readAsData(grounded(attempt), view.read),
      round: view.round - offset,
      book: innerBook(view.book, carry),
      earlier: view.earlier.slice(offset).map((book) => innerBook(book, carry)),
      carry: carry.inner,
    };
  };
  return {
    ...rules,
    refuseRequest: (attempt) =>
      refuseSources(attempt.request.question) ?? rules.refuseRequest?.(grounded(attempt)) ?? null,
    rounds: (attempt) => offsetOf(attempt) + rules.rounds(grounded(attempt)),
    forms: (attempt, round) =>
      isGathering(attempt, round) ? [gatherForm, closeForm] : rules.forms(grounded(attempt), round - offsetOf(attempt)),
    speakers: (attempt, round, phase) =>
      isGathering(attempt, round)
        ? null
        : (rules.speakers?.(grounded(attempt), round - offsetOf(attempt), phase) ?? null),
    initial: (attempt) => ({ gathered: null, inner: rules.initial(grounded(attempt)) }),
    assessRound: (book, carry) =>
      isGathering(book.attempt, book.round)
        ? assessGathering(book, carry)
        : assessInner(rules.assessRound(innerBook(book, carry), carry.inner), carry),
    within: innerBook,
    explain: (book, carry, answers) => {
      if (isGathering(book.attempt, book.round)) return explainReadings(book.attempt, heardIn(book));
      const held = innerBook(answers, carry);
      return rules.explain?.(innerBook(book, carry), carry.inner, held) ?? explainClasses(held);
    },
    sources: (attempt, round) => (isGathering(attempt, round) ? sourcesOf(attempt.request.question) : []),
    calls: (view, phase) => {
      if (isGathering(view.attempt, view.round)) return [];
      const inner = innerView(view);
      if (inner.attempt.request.isDataQuestion === true) return [];
      return view.carry.gathered === null ? rules.calls(inner, phase) : callsWithSources(rules, inner, phase);
    },
    say: (view, phase) => {
      if (isGathering(view.attempt, view.round)) return phase === GATHER ? gatheringOf(view.attempt, view.read) : {};
      const inner = innerView(view);
      return rules.say(inner.attempt.request.isDataQuestion === true ? answeredByData(rules, inner) : inner, phase);
    },
  };
}

function assessGathering<Inner>(book: RoundBook, carry: GatheredCarry<Inner>): AssessedRound<GatheredCarry<Inner>> {
  const gathered = new GatheredRound(book);
  return {
    carry: { ...carry, gathered },
    outcome: gathered.holdsAny() ? null : outcomeWithout(book.attempt, gathered),
  };
}

/** SG8: what cannot be cited cannot be answered from. Nobody is asked anything, and all who said what they read earn alike (PY6). */
function outcomeWithout(attempt: Attempt, gathered: GatheredRound): Outcome {
  const slashes = seatsOf(attempt).map((seat) => (gathered.equivocators.includes(seat) ? 1 : 0));
  const winner = winnerWithout(attempt, gathered);
  return outcomeFrom(attempt, { winner, blind: NOBODY_BLIND, slashes, completed: gathered.speakers });
}

/** What the seats read in the round before the protocol's own. */
class GatheredRound extends Readings implements Gathered {
  readonly equivocators: readonly SeatIndex[];

  constructor(book: RoundBook) {
    super(book.attempt, heardIn(book));
    this.equivocators = equivocatorsIn(book);
  }
}

function assessInner<Inner>(
  { carry: inner, outcome }: AssessedRound<Inner>,
  { gathered }: GatheredCarry<Inner>,
): AssessedRound<GatheredCarry<Inner>> {
  return { carry: { gathered, inner }, outcome };
}

/** SG7, SG4: a seat's model sees what the seat itself read, and cites where it answers. */
function callsWithSources<Inner>(rules: PhasedRules<Inner>, view: SeatView<Inner>, phase: number): readonly Call[] {
  const calls = rules.calls(view, phase);
  if (phase === MATCH) return calls;
  return showing(view.attempt, view.read, calls, ({ about, prompt }, texts) => {
    if (phase === commitForm.phase) return citing(view.attempt, prompt, texts);
    const judged = candidatesOf(view.book, "open").filter(({ target }) => about.includes(target));
    const [only] = judged.length === 1 ? judged : [];
    return withSources(prompt, texts, only?.citations ?? []);
  });
}

/** SG5: the rules of a protocol that reads no sources, and so refuses a question that names some. */
export function withoutSources<Carry>(rules: PhasedRules<Carry>): PhasedRules<Carry> {
  return {
    ...rules,
    refuseRequest: (attempt) => refuseNamed(rules.id, attempt) ?? rules.refuseRequest?.(attempt) ?? null,
  };
}

/** Why a protocol that reads no sources refuses a question; null if the question names none. */
function refuseNamed(protocol: string, { request }: Attempt): string | null {
  return sourcesOf(request.question).length > 0
    ? `${protocol} reads no sources; ask without them, or choose a protocol whose assurance is byzantine`
    : refuseSources(request.question);
}
