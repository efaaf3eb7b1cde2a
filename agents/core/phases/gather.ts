/**
 * Reading sources before the first answer (docs/spec/sources.md): a round in which every seat says what it read, and what follows for the
 * answers of the rounds after it. Protocols know nothing of it: they see the rounds, the question and the answers that are theirs.
 */
import { digestOf, isMapOf } from "../encoding/codec.ts";
import { hexToBytes } from "../encoding/bytes.ts";
import { asDigest, listOf } from "../encoding/payload.ts";
import { limits } from "../limits.ts";
import type { Prompt } from "../prompts/prompt.ts";
import { admitting, citing, withSources } from "../prompts/source-prompt.ts";
import { holdsHonest, isSupermajority } from "../quorum.ts";
import { isSameAnswer } from "../request/answer.ts";
import { nonAnswerIn, saidNonAnswer } from "../request/non-answers.ts";
import type { CanonicalAnswer } from "../request/kinds.ts";
import { seatsOf } from "../seat/order.ts";
import type { Citation } from "../sources/citations.ts";
import { dataNumber } from "../sources/data.ts";
import { excerptOf } from "../sources/excerpt.ts";
import { grounded, refuseSources, sourcesOf } from "../sources/named.ts";
import { LASTING_FAILURES, PENDING_FAILURES, READING_FAILURES, type ReadingFailure } from "../sources/snapshot.ts";
import {
  ONE_PPM,
  type Attempt,
  type Digest,
  type NonAnswer,
  type Outcome,
  type Ppm,
  type Request,
  type SeatIndex,
  type Value,
} from "../types.ts";
import { MATCH } from "./equivalence.ts";
import { outcomeFrom } from "./outcome.ts";
import { NOBODY_BLIND } from "./pay.ts";
import type { Call, AssessedRound, PhasedRules, SeatView } from "./phased-rules.ts";
import { candidatesOf, commitForm } from "./proposals.ts";
import { answeredByData, readAsData } from "./data.ts";
import { explainClasses, shownAnswer } from "./reasons.ts";
import {
  closeForm,
  equivocatorsIn,
  holdersOf,
  said,
  type Form,
  type Gathered,
  type RoundBook,
  type Said,
} from "./round-book.ts";

/** @internal Raised with every change of these rules; the protocols that read sources rise with it. */
export const SOURCES_VERSION = 4;

/** SG5: the phase of the round in which seats say what they read. */
export const GATHER = 10;

/** SG5: what a seat says of one source: the digests of its passages in order, or why it has none. SG12: or the number that it read. */
type Heard =
  | { readonly passages: readonly Digest[] }
  /** SG12: of a data question: what stands there. */
  | { readonly value: string }
  | { readonly failed: ReadingFailure };

interface Gathering {
  readonly sources: readonly Heard[];
}

export const gatherForm: Form<Gathering> = {
  name: "gather",
  phase: GATHER,
  encode: ({ sources }) => ({
    sources: sources.map((heard) => ("passages" in heard ? { passages: heard.passages.map(hexToBytes) } : { ...heard })),
  }),
  decode: (attempt, value) => {
    const { request } = grounded(attempt);
    const decodeOne = (one: Value): Heard | null => decodeHeard(request, one);
    const sources = isMapOf(value, ["sources"]) ? listOf(value["sources"], limits.sources, decodeOne) : null;
    return sources?.length === sourcesOf(attempt.request.question).length ? { sources } : null;
  },
};

function decodeHeard(asked: Request, value: Value): Heard | null {
  if (isMapOf(value, ["failed"])) {
    const failed = READING_FAILURES.find((one) => one === value["failed"]);
    return failed === undefined ? null : { failed };
  }
  if (asked.isData === true) {
    const text = isMapOf(value, ["value"]) ? value["value"] : null;
    return typeof text === "string" && dataNumber(asked, text) !== null ? { value: text } : null;
  }
  const passages = isMapOf(value, ["passages"]) ? listOf(value["passages"], limits.passagesPerSource, asDigest) : null;
  return passages === null ? null : { passages };
}

/** SG5: the messages of GATHER that count: an honest seat held each when it closed the phase, whatever f liars deny. */
function heardIn(book: RoundBook): readonly Said<Gathering>[] {
  return seatsOf(book.attempt).flatMap((seat) => {
    const one = said(book, gatherForm, seat);
    return one !== null && holdsHonest(holdersOf(book, gatherForm, one), book.attempt.committee.length) ? one : [];
  });
}

/** What the seats read, counted: per source and passage, the seats that named it; of a data question the numbers. */
class Readings implements Gathered {
  readonly equivocators: readonly SeatIndex[];
  private readonly attempt: Attempt;
  private readonly heard: readonly Gathering[];
  /** Per source: how many seats named a passage. */
  private readonly named: readonly ReadonlyMap<Digest, number>[];
  /** SG12: what stands at the source of a data question, as seats say. */
  private readonly values: ReadonlyMap<SeatIndex, string>;

  constructor(book: RoundBook) {
    this.attempt = book.attempt;
    this.equivocators = equivocatorsIn(book);
    const heard = heardIn(book);
    this.heard = heard.map(({ body }) => body);
    this.values = new Map(
      heard.flatMap(({ seat, body: { sources } }) =>
        sources.flatMap((one) => ("value" in one ? [[seat, one.value] as const] : [])),
      ),
    );
    this.named = sourcesOf(book.attempt.request.question).map((_, index) => {
      const seats = new Map<Digest, number>();
      for (const { sources } of this.heard) {
        const source = sources[index] as Heard;
        const passages = "passages" in source ? new Set(source.passages) : [];
        for (const passage of passages) seats.set(passage, (seats.get(passage) ?? 0) + 1);
      }
      return seats;
    });
  }

  private readersOf({ source, passage }: Citation): number {
    return this.named[source]?.get(digestOf(passage)) ?? 0;
  }

  bears(seat: SeatIndex, answer: CanonicalAnswer, citations: readonly Citation[]): boolean {
    // SG10: it says that no passage tells.
    if (nonAnswerIn(answer) !== null) return citations.length === 0;
    if (grounded(this.attempt).request.isData === true) return this.bearsData(seat, answer, citations);
    return citations.length > 0 && citations.every((citation) => this.isHonest(this.readersOf(citation)));
  }

  /** SG12: the answer is the number that the seat itself said it read, and more than 1/3 of the seats read one that agrees. */
  private bearsData(seat: SeatIndex, answer: CanonicalAnswer, citations: readonly Citation[]): boolean {
    const value = this.values.get(seat);
    const [cited] = citations;
    if (value === undefined || citations.length !== 1 || cited?.passage !== value) return false;
    return this.numberOf(value).outcome === answer.outcome && this.isHonest(this.agreeingWith(answer));
  }

  private agreeingWith(answer: CanonicalAnswer): number {
    const { terms } = this.attempt.request;
    return [...this.values.values()].filter((value) => isSameAnswer(terms, this.numberOf(value), answer)).length;
  }

  private numberOf(value: string): CanonicalAnswer {
    return dataNumber(grounded(this.attempt).request, value) as CanonicalAnswer;
  }

  /** SG8: true if something can be cited. */
  holdsAny(): boolean {
    return (
      this.named.some((seats) => [...seats.values()].some((count) => this.isHonest(count))) ||
      [...this.values.values()].some((value) => this.isHonest(this.agreeingWith(this.numberOf(value))))
    );
  }

  /**
   * SG8: what follows if no passage can be cited, with the seats that bear it out; null: too few seats looked at the sources to tell.
   * More than 2/3 of the seats, less f liars, are more than f honest ones: had they all read the same passage, it could be cited.
   */
  verdict(): { readonly nonAnswer: NonAnswer; readonly seats: number } | null {
    const counts = this.named.map((_, index) => this.seatsThat(({ sources }) => isPending(sources[index] as Heard)));
    const pending = Math.max(...counts);
    if (this.areMost(pending)) return { nonAnswer: "tooEarly", seats: pending };
    const looked = this.seatsThat(({ sources }) => sources.every(isLookedAt));
    return this.areMost(looked) ? { nonAnswer: "unanswerable", seats: looked } : null;
  }

  private seatsThat(says: (gathering: Gathering) => boolean): number {
    return this.heard.filter(says).length;
  }

  private areMost(seats: number): boolean {
    return isSupermajority(seats, this.attempt.committee.length);
  }

  private isHonest(seats: number): boolean {
    return holdsHonest(seats, this.attempt.committee.length);
  }
}

/** SG8: true if the seat read the source, or met a failure that lies with the source. */
function isLookedAt(heard: Heard): boolean {
  return !("failed" in heard) || LASTING_FAILURES.includes(heard.failed);
}

/** SG8: true if the source will be there later. */
function isPending(heard: Heard): boolean {
  return "failed" in heard && PENDING_FAILURES.includes(heard.failed);
}

/** What rounds leave behind where sources are read: `inner` is the protocol's own. */
interface GatheredCarry<Inner> {
  readonly gathered: Gathered | null;
  readonly inner: Inner;
}

/** SG5: the rules of a protocol with a round before its own in which the seats read the sources that the question names. */
export function gathering<Inner>(rules: PhasedRules<Inner>): PhasedRules<GatheredCarry<Inner>> {
  const books = new WeakMap<RoundBook, RoundBook>();
  const offsetOf = (attempt: Attempt): 0 | 1 => (grounded(attempt) === attempt ? 0 : 1);
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
      if (isGathering(book.attempt, book.round)) return explainGathering(book);
      const held = innerBook(answers, carry);
      return rules.explain?.(innerBook(book, carry), carry.inner, held) ?? explainClasses(held);
    },
    sources: (attempt, round) => (isGathering(attempt, round) ? sourcesOf(attempt.request.question) : []),
    calls: (view, phase) => {
      if (isGathering(view.attempt, view.round)) return [];
      const inner = innerView(view);
      if (inner.attempt.request.isData === true) return [];
      return view.carry.gathered === null ? rules.calls(inner, phase) : callsWithSources(rules, inner, phase);
    },
    say: (view, phase) => {
      if (isGathering(view.attempt, view.round)) return phase === GATHER ? sayGathering(view) : {};
      const inner = innerView(view);
      return rules.say(inner.attempt.request.isData === true ? answeredByData(rules, inner) : inner, phase);
    },
  };
}

function assessGathering<Inner>(book: RoundBook, carry: GatheredCarry<Inner>): AssessedRound<GatheredCarry<Inner>> {
  const gathered = new Readings(book);
  return {
    carry: { ...carry, gathered },
    outcome: gathered.holdsAny() ? null : outcomeWithout(book.attempt, gathered),
  };
}

/** SG8: what cannot be cited cannot be answered from. Nobody is asked anything, and nobody earns. */
function outcomeWithout(attempt: Attempt, gathered: Readings): Outcome {
  const verdict = grounded(attempt).request.admitsNonAnswers === true ? gathered.verdict() : null;
  const { length } = attempt.committee;
  const winner = verdict && {
    answer: saidNonAnswer(verdict.nonAnswer),
    confidence: Math.floor((verdict.seats * ONE_PPM) / length) as Ppm,
    alike: [],
  };
  const slashes = seatsOf(attempt).map((seat) => (gathered.equivocators.includes(seat) ? 1 : 0));
  return outcomeFrom(attempt, { winner, blind: NOBODY_BLIND, slashes, completed: [] });
}

function assessInner<Inner>(
  { carry: inner, outcome }: AssessedRound<Inner>,
  { gathered }: GatheredCarry<Inner>,
): AssessedRound<GatheredCarry<Inner>> {
  return { carry: { gathered, inner }, outcome };
}

function sayGathering(view: SeatView<unknown>): Gathering {
  const attempt = grounded(view.attempt);
  const read = readAsData(attempt, view.read);
  const sources = sourcesOf(view.attempt.request.question).map((_, index): Heard => {
    const reading = read?.[index] ?? NOT_IN_TIME;
    if (reading.kind === "failed") return { failed: reading.reason };
    return attempt.request.isData === true
      ? { value: reading.text }
      : { passages: reading.passages.map(digestOf) };
  });
  return { sources };
}

const NOT_IN_TIME = { kind: "failed", reason: "timeout" } as const;

/** SG7, SG4: a seat's model sees what the seat itself read, and cites where it answers. Who read nothing neither answers nor judges. */
function callsWithSources<Inner>(rules: PhasedRules<Inner>, view: SeatView<Inner>, phase: number): readonly Call[] {
  const calls = rules.calls(view, phase);
  // To make excerpts of long texts takes time.
  if (phase === MATCH || calls.length === 0) return calls;
  const { question } = view.attempt.request;
  const read = view.read ?? [];
  const room = Math.floor(limits.shownSourceBytes / read.length);
  const texts = read.map((reading) => (reading?.kind === "read" ? excerptOf(reading, question, room) : null));
  if (texts.every((text) => text === null)) return [];
  const shown = ({ about, prompt }: Call): Prompt => {
    if (phase === commitForm.phase) return citing(view.attempt, prompt, texts);
    const judged = candidatesOf(view.book, "open").filter(({ target }) => about.includes(target));
    const [only] = judged.length === 1 ? judged : [];
    return withSources(prompt, texts, only?.citations ?? []);
  };
  const admits = view.attempt.request.admitsNonAnswers === true;
  return calls.map((call) => ({ ...call, prompt: admits ? admitting(shown(call)) : shown(call) }));
}

function explainGathering(book: RoundBook): readonly string[] {
  const heard = heardIn(book);
  const { length } = book.attempt.committee;
  return sourcesOf(book.attempt.request.question).map((source, index) => {
    const failures = heard.flatMap(({ body }) => {
      const one = body.sources[index] as Heard;
      return "failed" in one ? one.failed : [];
    });
    const why = failures.length === 0 ? "" : ` (${[...new Set(failures)].slice(0, SHOWN_FAILURES).join("; ")})`;
    const values = heard.flatMap(({ seat, body }) => {
      const one = body.sources[index] as Heard;
      return "value" in one ? `seat ${seat} read ${shownAnswer(one.value)}` : [];
    });
    return [`${source}: read by ${heard.length - failures.length} of ${length} seats${why}`, ...values].join("; ");
  });
}

/** Different failures that an explanation of a source names. */
const SHOWN_FAILURES = 3;

/** SG5: the rules of a protocol that reads no sources, and so refuses a question that names some. */
export function withoutSources<Carry>(rules: PhasedRules<Carry>): PhasedRules<Carry> {
  return {
    ...rules,
    refuseRequest: (attempt) => refuseNamed(rules.id, attempt) ?? rules.refuseRequest?.(attempt) ?? null,
  };
}

/** Why a protocol that reads no sources refuses a question; null if the question names none. */
export function refuseNamed(protocol: string, { request }: Attempt): string | null {
  return sourcesOf(request.question).length > 0
    ? `${protocol} reads no sources; ask without them, or choose a protocol whose assurance is byzantine`
    : refuseSources(request.question);
}
