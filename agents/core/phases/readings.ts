/** What seats say that they read (docs/spec/sources.md SG5, SG12), which of it counts, and what it bears. */
import { hexToBytes } from "../encoding/bytes.ts";
import { digestOf, isMapOf } from "../encoding/codec.ts";
import { asDigest, listOf } from "../encoding/payload.ts";
import { holdsHonest, isSupermajority } from "../quorum.ts";
import { isSameAnswer } from "../request/answer.ts";
import type { CanonicalAnswer } from "../request/kinds.ts";
import { nonAnswerIn } from "../request/non-answers.ts";
import { seatsOf } from "../seat/order.ts";
import type { Citation } from "../sources/citations.ts";
import { dataNumber } from "../sources/data.ts";
import { grounded, sourcesOf } from "../sources/named.ts";
import { passagesOfEach } from "../sources/passages.ts";
import { LASTING_FAILURES, PENDING_FAILURES, READING_FAILURES, type ReadingFailure } from "../sources/snapshot.ts";
import type { Attempt, Digest, NonAnswer, Request, SeatIndex, Value } from "../types.ts";
import { holdersOf, said, type Form, type RoundBook, type Said } from "./round-book.ts";

/** SG5: the phase of the round in which seats say what they read. */
export const GATHER = 10;

/** SG5: what a seat says of one source: the digests of its passages in order, or why it has none. SG12: or the number that it read. */
export type Heard =
  | { readonly passages: readonly Digest[] }
  /** SG12: of a data question: what stands there. */
  | { readonly value: string }
  | { readonly failed: ReadingFailure };

export interface Gathering {
  readonly sources: readonly Heard[];
}

export const gatherForm: Form<Gathering> = {
  name: "gather",
  phase: GATHER,
  encode: ({ sources }) => ({
    sources: sources.map((heard) =>
      "passages" in heard ? { passages: heard.passages.map(hexToBytes) } : { ...heard },
    ),
  }),
  decode: (attempt, value) => {
    const { request } = grounded(attempt);
    const count = sourcesOf(attempt.request.question).length;
    const decodeOne = (one: Value): Heard | null => decodeHeard(request, one, passagesOfEach(count));
    const sources = isMapOf(value, ["sources"]) ? listOf(value["sources"], count, decodeOne) : null;
    return sources?.length === count ? { sources } : null;
  },
};

function decodeHeard(asked: Request, value: Value, most: number): Heard | null {
  if (isMapOf(value, ["failed"])) {
    const failed = READING_FAILURES.find((one) => one === value["failed"]);
    return failed === undefined ? null : { failed };
  }
  if (asked.isDataQuestion === true) {
    const text = isMapOf(value, ["value"]) ? value["value"] : null;
    return typeof text === "string" && dataNumber(asked, text) !== null ? { value: text } : null;
  }
  const passages = isMapOf(value, ["passages"]) ? listOf(value["passages"], most, asDigest) : null;
  return passages === null ? null : { passages };
}

/** SG5: the messages of GATHER that count: an honest seat held each when it closed the phase, whatever f liars deny. */
export function heardIn(book: RoundBook): readonly Said<Gathering>[] {
  return seatsOf(book.attempt).flatMap((seat) => {
    const one = said(book, gatherForm, seat);
    return one !== null && holdsHonest(holdersOf(book, gatherForm, one), book.attempt.committee.length) ? one : [];
  });
}

/** SG12: what a seat says that it read, and the number in it. */
interface ReadValue {
  readonly text: string;
  readonly number: CanonicalAnswer;
}

/** What a seat said that it read. */
export interface SeatReading {
  readonly seat: SeatIndex;
  readonly body: Gathering;
}

/** What the seats read, counted: per source and passage, the seats that named it; of a data question the numbers. */
export class Readings {
  /** What the seats said, as far as it counts. */
  readonly told: readonly SeatReading[];
  private readonly attempt: Attempt;
  /** Per source: how many seats named a passage. */
  private readonly named: readonly ReadonlyMap<Digest, number>[];
  /** SG12: what stands at the source of a data question, as seats say. */
  private readonly values: ReadonlyMap<SeatIndex, ReadValue>;
  /** SG8: counted when it is first asked for. */
  private isCitable: boolean | null = null;

  constructor(attempt: Attempt, told: readonly SeatReading[]) {
    this.attempt = attempt;
    this.told = told;
    this.values = new Map(
      told.flatMap(({ seat, body: { sources } }) =>
        sources.flatMap((one) => ("value" in one ? [[seat, this.valueOf(one.value)] as const] : [])),
      ),
    );
    this.named = sourcesOf(attempt.request.question).map((_, index) => {
      const seats = new Map<Digest, number>();
      for (const { body } of told) {
        const source = body.sources[index] as Heard;
        const passages = "passages" in source ? new Set(source.passages) : [];
        for (const passage of passages) seats.set(passage, (seats.get(passage) ?? 0) + 1);
      }
      return seats;
    });
  }

  /** The seats whose word of what they read counts. */
  get speakers(): readonly SeatIndex[] {
    return this.told.map(({ seat }) => seat);
  }

  private readersOf({ source, passage }: Citation): number {
    return this.named[source]?.get(digestOf(passage)) ?? 0;
  }

  bears(seat: SeatIndex, answer: CanonicalAnswer, citations: readonly Citation[]): boolean {
    // SG10: it says that no passage tells.
    if (nonAnswerIn(answer) !== null) return citations.length === 0;
    if (grounded(this.attempt).request.isDataQuestion === true) return this.bearsData(seat, answer, citations);
    return citations.length > 0 && citations.every((citation) => this.isHonest(this.readersOf(citation)));
  }

  /** SG12: the answer is the number that the seat itself said it read, and more than 1/3 of the seats read one that agrees. */
  private bearsData(seat: SeatIndex, answer: CanonicalAnswer, citations: readonly Citation[]): boolean {
    const value = this.values.get(seat);
    const isCited = citations.length === 1 && citations[0]?.passage === value?.text;
    const isOwn = isCited && value?.number.outcome === answer.outcome;
    return isOwn && this.isHonest(this.agreeingWith(answer));
  }

  private agreeingWith(answer: CanonicalAnswer): number {
    const { terms } = this.attempt.request;
    return [...this.values.values()].filter(({ number }) => isSameAnswer(terms, number, answer)).length;
  }

  /** Reads the number once: each is compared with all others. */
  private valueOf(text: string): ReadValue {
    return { text, number: dataNumber(grounded(this.attempt).request, text) as CanonicalAnswer };
  }

  /** SG8: true if something can be cited. */
  holdsAny(): boolean {
    return (this.isCitable ??=
      this.named.some((seats) => [...seats.values()].some((count) => this.isHonest(count))) ||
      [...this.values.values()].some((value) => this.isHonest(this.agreeingWith(value.number))));
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
    return this.told.filter(({ body }) => says(body)).length;
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
