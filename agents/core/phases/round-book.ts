import { isMapOf } from "../encoding/codec.ts";
import { hexToBytes } from "../encoding/bytes.ts";
import { seatsOf } from "../seat/order.ts";
import { decodeOrigins, withoutOrigins } from "./origin.ts";
import { asDigest, isPayloadMap, listOf } from "../encoding/payload.ts";
import type { PayloadMap, Reading } from "../protocol.ts";
import { isMajority } from "../quorum.ts";
import { spokenIn, variantsIn, type RoundSlots } from "../seat/tally.ts";
import type { Attempt, Digest, Message, SeatIndex, Value } from "../types.ts";

/** Form of a phase's messages, without `seen`. `decode` is strict: null for anything that `encode` does not make. */
export interface Form<Body> {
  /** Name for readers, e.g. "reveal". */
  readonly name: string;
  /** Number of the phase, 1..200; ascending within a round. */
  readonly phase: number;
  encode(body: Body): PayloadMap;
  decode(attempt: Attempt, value: Value): Body | null;
}

// A form's body is contravariant in `encode`; lists of forms of different bodies need this.
// eslint-disable-next-line typescript/no-explicit-any
export type AnyForm = Form<any>;

/** The phase of the empty message that closes a round: it only says what its sender held (PH4). */
export const CLOSE = 200;

export const closeForm: Form<object> = {
  name: "close",
  phase: CLOSE,
  encode: () => ({}),
  decode: (_, value) => (isMapOf(value, []) ? {} : null),
};

/** Per seat, the payload digest of its message of a phase that the sender held; null if it held none, or two (PH3). */
export type Seen = readonly (Digest | null)[];

export interface Said<Body> {
  readonly seat: SeatIndex;
  /** Payload digest of the message. */
  readonly digest: Digest;
  readonly body: Body;
}

/** One round of a message set. Messages are read on demand and remembered, so a new book costs nothing. */
export interface RoundBook {
  readonly attempt: Attempt;
  readonly round: number;
  readonly plan: RoundPlan;
  readonly slots: RoundSlots;
}

/** The phases of a round. */
export interface RoundPlan {
  /** The forms in order of their phases. */
  readonly forms: readonly AnyForm[];
  /** Phases in which only some seats speak. The others are called full. */
  readonly partial: ReadonlySet<number>;
}

/**
 * PH3: the phases of which a message says what its sender held. A message of a full phase says it of the previous full
 * phase and of the partial phases since. A message of a partial phase or of a round's first phase says it of none.
 */
function phasesSeenIn({ forms, partial }: RoundPlan, form: AnyForm): readonly AnyForm[] {
  if (partial.has(form.phase)) return [];
  const at = forms.indexOf(form);
  const before = forms.slice(0, at).findLastIndex(({ phase }) => !partial.has(phase));
  return forms.slice(Math.max(before, 0), at);
}

/** The next full phase after a phase: its messages tell which messages of the phase count (PH4). */
function witnessing({ forms, partial }: RoundPlan, form: AnyForm): AnyForm {
  const witness = forms.slice(forms.indexOf(form) + 1).find(({ phase }) => !partial.has(phase));
  if (witness === undefined) throw new Error(`phase ${form.phase} has no witnesses`);
  return witness;
}

/** The largest number of phases of one round. */
const MAX_LISTS = 16;

/** Which messages of a phase count. `open`: all that are held. `closed`: only those that were witnessed (PH4). */
export type Closure = "open" | "closed";

const read = new WeakMap<Message, Said<unknown> | null>();

function readMessage<Body>(book: RoundBook, form: Form<Body>, message: Message): Said<Body> | null {
  const known = read.get(message);
  if (known !== undefined) return known as Said<Body> | null;
  const body = form.decode(book.attempt, bodyOf(book.plan, form, message.payload));
  const result = body === null ? null : { seat: message.header.seat, digest: message.header.payloadDigest, body };
  read.set(message, result);
  return result;
}

/** What a seat said in a phase; null if it said nothing, or two things. */
export function said<Body>(book: RoundBook, form: Form<Body>, seat: SeatIndex): Said<Body> | null {
  const message = spokenIn(book.slots, form.phase, seat);
  return message === null || message === "void" ? null : readMessage(book, form, message);
}

/** What a seat said in a phase, if it counts: in a closed phase only if it was witnessed (PH4). */
export function counted<Body>(book: RoundBook, form: Form<Body>, seat: SeatIndex, closure: Closure): Said<Body> | null {
  const one = said(book, form, seat);
  return one === null || (closure === "closed" && !isWitnessed(book, form, one)) ? null : one;
}

/** All that counts in a phase, in seat order. */
export function allCounted<Body>(book: RoundBook, form: Form<Body>, closure: Closure): readonly Said<Body>[] {
  return seatsOf(book.attempt).flatMap((seat) => counted(book, form, seat, closure) ?? []);
}

/** Everything a seat signed for a phase, including both halves of an equivocation. */
export function allVariants<Body>(book: RoundBook, form: Form<Body>, seat: SeatIndex): readonly Said<Body>[] {
  return variantsIn(book.slots, form.phase, seat).flatMap((message) => readMessage(book, form, message) ?? []);
}

/** Seats that said two things in one slot of the round, ascending. */
export function equivocatorsIn(book: RoundBook): readonly SeatIndex[] {
  return seatsOf(book.attempt).filter((seat) =>
    book.plan.forms.some((form) => spokenIn(book.slots, form.phase, seat) === "void"),
  );
}

/** PH4: true if more than half of the seats held the message when they closed its phase. A message withheld then does not count later. */
export function isWitnessed(book: RoundBook, form: AnyForm, { seat, digest }: Said<unknown>): boolean {
  return isMajority(witnessesOf(book, form)[seat]?.get(digest) ?? 0, book.attempt.committee.length);
}

type Witnesses = readonly ReadonlyMap<Digest, number>[];

const witnesses = new WeakMap<RoundBook, Map<number, Witnesses>>();

/** Per seat: the number of seats that state in the next full phase that they held its message, by payload digest. Counted once per book. */
function witnessesOf(book: RoundBook, form: AnyForm): Witnesses {
  const byPhase = witnesses.get(book) ?? new Map<number, Witnesses>();
  witnesses.set(book, byPhase);
  const known = byPhase.get(form.phase) ?? countWitnesses(book, form);
  byPhase.set(form.phase, known);
  return known;
}

function countWitnesses({ attempt, plan, slots }: RoundBook, form: AnyForm): Witnesses {
  const witness = witnessing(plan, form);
  const at = phasesSeenIn(plan, witness).indexOf(form);
  const counts = seatsOf(attempt).map(() => new Map<Digest, number>());
  for (const seat of seatsOf(attempt)) {
    const message = spokenIn(slots, witness.phase, seat);
    const list = message === null || message === "void" ? null : seenIn(attempt, message)?.[at];
    list?.forEach((digest, of) => {
      const count = counts[of];
      if (digest !== null) count?.set(digest, (count.get(digest) ?? 0) + 1);
    });
  }
  return counts;
}

/** What this seat now holds of a phase, for its next message. */
export function heldOf(book: RoundBook, form: AnyForm): Seen {
  return seatsOf(book.attempt).map((seat) => {
    const message = spokenIn(book.slots, form.phase, seat);
    return message === null || message === "void" ? null : message.header.payloadDigest;
  });
}

const seenLists = new WeakMap<Message, readonly Seen[] | null>();

function seenIn(attempt: Attempt, message: Message): readonly Seen[] | null {
  const known = seenLists.get(message);
  if (known !== undefined) return known;
  const seen = decodeSeen(attempt, (message.payload as PayloadMap)["seen"]);
  seenLists.set(message, seen);
  return seen;
}

/** The payload of a message: its body and what its sender held, one list per phase (PH3). */
export function withSeen(body: PayloadMap, ...seen: readonly Seen[]): PayloadMap {
  if (seen.length === 0) return body;
  return { ...body, seen: seen.map((list) => list.map((digest) => (digest === null ? null : hexToBytes(digest)))) };
}

/** True if a payload has the form of its phase. */
export function hasForm(attempt: Attempt, plan: RoundPlan, form: AnyForm, payload: Value): boolean {
  if (!isPayloadMap(payload) || decodeOrigins(payload["made"]) === null) return false;
  if (form.phase === CLOSE && "made" in payload) return false;
  const lists = phasesSeenIn(plan, form).length;
  if (lists > 0 && decodeSeen(attempt, payload["seen"])?.length !== lists) return false;
  return form.decode(attempt, bodyOf(plan, form, payload)) !== null;
}

/** A payload as readers see it: its body, what made it, and what its sender held as parents; null if it lacks the form of the phase. */
export function readingOf(attempt: Attempt, plan: RoundPlan, phase: number, payload: Value): Reading | null {
  const form = plan.forms.find((one) => one.phase === phase);
  if (form === undefined || !isPayloadMap(payload) || !hasForm(attempt, plan, form, payload)) return null;
  const seen = phasesSeenIn(plan, form).length === 0 ? [] : (decodeSeen(attempt, payload["seen"]) ?? []);
  const parents = seen.flatMap((list) =>
    list.flatMap((digest, seat) => (digest === null ? [] : [{ seat: seat as SeatIndex, digest }])),
  );
  const made = payload["made"] === undefined ? {} : { made: payload["made"] };
  return { name: form.name, body: { ...(bodyOf(plan, form, payload) as PayloadMap), ...made }, parents };
}

function bodyOf(plan: RoundPlan, form: AnyForm, payload: Value): Value {
  const plain = withoutOrigins(payload);
  if (phasesSeenIn(plan, form).length === 0 || !isPayloadMap(plain)) return plain;
  const { seen: _, ...body } = plain;
  return body;
}

function decodeSeen(attempt: Attempt, value: Value | undefined): readonly Seen[] | null {
  return listOf(value, MAX_LISTS, (list) => decodeList(attempt, list));
}

function decodeList(attempt: Attempt, value: Value): Seen | null {
  if (!Array.isArray(value) || value.length !== attempt.committee.length) return null;
  const seen = (value as readonly Value[]).map((entry) => (entry === null ? null : asDigest(entry)));
  return seen.every((digest, seat) => digest !== null || value[seat] === null) ? seen : null;
}
