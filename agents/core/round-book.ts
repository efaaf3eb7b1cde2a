import { isMapOf } from "./codec.ts";
import { hexToBytes } from "./digest.ts";
import { seatsOf } from "./order.ts";
import { asDigest, isPayloadMap } from "./payload.ts";
import type { PayloadMap } from "./protocol.ts";
import { isMajority } from "./quorum.ts";
import { spokenIn, variantsIn, type RoundSlots } from "./tally.ts";
import type { Attempt, Digest, Message, SeatIndex, Value } from "./types.ts";

/** What a phase's message looks like, without `seen`. `decode` is strict: null for anything that `encode` does not make. */
export interface Form<Body> {
  /** 1..200; ascending within a round. */
  readonly phase: number;
  encode(body: Body): PayloadMap;
  decode(attempt: Attempt, value: Value): Body | null;
}

// A form's body is contravariant in `encode`; lists of forms of different bodies need this.
// eslint-disable-next-line typescript/no-explicit-any
export type AnyForm = Form<any>;

/** The empty message that closes a round: it only says what its sender held (PH4). */
export const CLOSE = 200;

export const closeForm: Form<object> = {
  phase: CLOSE,
  encode: () => ({}),
  decode: (_, value) => (isMapOf(value, []) ? {} : null),
};

/** Per seat the payload digest of its message of the phase before that the sender held; null = none, or two (PH3). */
export type Seen = readonly (Digest | null)[];

export interface Said<Body> {
  readonly seat: SeatIndex;
  /** Payload digest of the message. */
  readonly digest: Digest;
  readonly body: Body;
}

/** One round of a message set. Reading is lazy and remembered per message, so a new book costs nothing. */
export interface RoundBook {
  readonly attempt: Attempt;
  readonly round: number;
  /** In order. */
  readonly forms: readonly AnyForm[];
  readonly slots: RoundSlots;
}

/** `open`: nobody can have witnessed the phase yet, so whatever is held counts. `closed`: only what was witnessed. */
export type Stage = "open" | "closed";

const read = new WeakMap<Message, Said<unknown> | null>();

function readMessage<Body>(book: RoundBook, form: Form<Body>, message: Message): Said<Body> | null {
  const known = read.get(message);
  if (known !== undefined) return known as Said<Body> | null;
  const body = form.decode(book.attempt, bodyOf(book, form, message.payload));
  const result = body === null ? null : { seat: message.header.seat, digest: message.header.payloadDigest, body };
  read.set(message, result);
  return result;
}

/** What a seat said in a phase; null when it said nothing, or two things. */
export function said<Body>(book: RoundBook, form: Form<Body>, seat: SeatIndex): Said<Body> | null {
  const message = spokenIn(book.slots, form.phase, seat);
  return message === null || message === "void" ? null : readMessage(book, form, message);
}

/** What a seat said in a phase, if it counts: at stage `closed` only when it was witnessed (PH4). */
export function counted<Body>(book: RoundBook, form: Form<Body>, seat: SeatIndex, stage: Stage): Said<Body> | null {
  const one = said(book, form, seat);
  return one === null || (stage === "closed" && !isWitnessed(book, form, one)) ? null : one;
}

/** What counts in a phase, in seat order. */
export function allCounted<Body>(book: RoundBook, form: Form<Body>, stage: Stage): readonly Said<Body>[] {
  return seatsOf(book.attempt).flatMap((seat) => counted(book, form, seat, stage) ?? []);
}

/** Everything a seat signed for a phase, both halves of an equivocation included. */
export function allVariants<Body>(book: RoundBook, form: Form<Body>, seat: SeatIndex): readonly Said<Body>[] {
  return variantsIn(book.slots, form.phase, seat).flatMap((message) => readMessage(book, form, message) ?? []);
}

/** Seats that said two things in one slot of the round, ascending. */
export function equivocatorsIn(book: RoundBook): readonly SeatIndex[] {
  return seatsOf(book.attempt).filter((seat) =>
    book.forms.some((form) => spokenIn(book.slots, form.phase, seat) === "void"),
  );
}

/** PH4: more than half of the seats held the message when they closed its phase. What was withheld then does not count later. */
export function isWitnessed(book: RoundBook, form: AnyForm, one: Said<unknown>): boolean {
  return isMajority(witnessesOf(book, form, one), book.attempt.committee.length);
}

/** How many seats state in the phase after it that they held the message. */
export function witnessesOf(book: RoundBook, form: AnyForm, one: Said<unknown>): number {
  const next = book.forms[book.forms.indexOf(form) + 1];
  if (next === undefined) throw new Error(`the last phase ${form.phase} has no witnesses`);
  return seatsOf(book.attempt).filter((seat) => {
    const message = spokenIn(book.slots, next.phase, seat);
    return message !== null && message !== "void" && seenIn(book.attempt, message)?.[one.seat] === one.digest;
  }).length;
}

/** What a seat now holds of a phase, for its next message. */
export function heldOf(book: RoundBook, form: AnyForm): Seen {
  return seatsOf(book.attempt).map((seat) => {
    const message = spokenIn(book.slots, form.phase, seat);
    return message === null || message === "void" ? null : message.header.payloadDigest;
  });
}

const seenLists = new WeakMap<Message, Seen | null>();

function seenIn(attempt: Attempt, message: Message): Seen | null {
  const known = seenLists.get(message);
  if (known !== undefined) return known;
  const seen = decodeSeen(attempt, (message.payload as PayloadMap)["seen"]);
  seenLists.set(message, seen);
  return seen;
}

/** PH3: every message but those of a round's first phase carries `seen`. */
export function withSeen(body: PayloadMap, seen: Seen): PayloadMap {
  return { ...body, seen: seen.map((digest) => (digest === null ? null : hexToBytes(digest))) };
}

/** Whether a payload is well formed for the place. */
export function acceptsForm(attempt: Attempt, forms: readonly AnyForm[], phase: number, payload: Value): boolean {
  const form = forms.find((one) => one.phase === phase);
  if (form === undefined || !isPayloadMap(payload)) return false;
  if (form !== forms[0] && decodeSeen(attempt, payload["seen"]) === null) return false;
  return form.decode(attempt, bodyOf({ forms }, form, payload)) !== null;
}

function bodyOf({ forms }: Pick<RoundBook, "forms">, form: AnyForm, payload: Value): Value {
  if (form === forms[0] || !isPayloadMap(payload)) return payload;
  const { seen: _, ...body } = payload;
  return body;
}

function decodeSeen(attempt: Attempt, value: Value | undefined): Seen | null {
  if (!Array.isArray(value) || value.length !== attempt.committee.length) return null;
  const seen = (value as readonly Value[]).map((entry) => (entry === null ? null : asDigest(entry)));
  return seen.every((digest, seat) => digest !== null || value[seat] === null) ? seen : null;
}
