import { isMapOf } from "../encoding/codec.ts";
import { hexToBytes } from "../encoding/bytes.ts";
import { seatsOf } from "../seat/order.ts";
import { decodeOrigins, withoutOrigins } from "./origin.ts";
import { asDigest, isPayloadMap, listOf } from "../encoding/payload.ts";
import type { PayloadMap, Rendering } from "../protocol.ts";
import { isMajority } from "../quorum.ts";
import { spokenIn, variantsIn, type RoundSlots } from "../seat/tally.ts";
import type { CanonicalAnswer } from "../request/kinds.ts";
import type { Citation } from "../sources/citations.ts";
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

/** SG9: what the seats read, as answers are held against it. */
export interface Gathered {
  /** PH8: seats that said two things in one slot of the round in which sources are read. */
  readonly equivocators: readonly SeatIndex[];
  /** True if an honest seat read the passage of each citation, and there are some; SG10: of a non-answer, if there are none; SG12: of data. */
  bears(seat: SeatIndex, answer: CanonicalAnswer, citations: readonly Citation[]): boolean;
}

/** One round of a message set. Messages are read on demand and remembered, so a new book costs nothing. */
export interface RoundBook {
  readonly attempt: Attempt;
  readonly round: number;
  readonly plan: RoundPlan;
  readonly slots: RoundSlots;
  /** What the seats read before (SG5); not given where the question names no source. */
  readonly gathered?: Gathered;
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

function readMessage<Body>(book: RoundBook, form: Form<Body>, message: Message): Said<Body> | null {
  const spoken = decodePayload(book.attempt, book.plan, form, message.payload);
  return spoken === null
    ? null
    : { seat: message.header.seat, digest: message.header.payloadDigest, body: spoken.body };
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

/** PH8: seats that said two things in one slot of the round, ascending; in the first round also in the one before it (SG5). */
export function equivocatorsIn({ attempt, round, plan, slots, gathered }: RoundBook): readonly SeatIndex[] {
  const before = round === 0 ? (gathered?.equivocators ?? []) : [];
  return seatsOf(attempt).filter(
    (seat) => before.includes(seat) || plan.forms.some((form) => spokenIn(slots, form.phase, seat) === "void"),
  );
}

/** PH4: true if more than half of the seats held the message when they closed its phase. A message withheld then does not count later. */
export function isWitnessed(book: RoundBook, form: AnyForm, one: Said<unknown>): boolean {
  return isMajority(holdersOf(book, form, one), book.attempt.committee.length);
}

/** PH3: how many seats state in the next full phase that they held the message. */
export function holdersOf(book: RoundBook, form: AnyForm, { seat, digest }: Said<unknown>): number {
  return witnessesOf(book, form)[seat]?.get(digest) ?? 0;
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
    const spoken =
      message === null || message === "void" ? null : decodePayload(attempt, plan, witness, message.payload);
    spoken?.seen[at]?.forEach((digest, of) => {
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

/** The payload of a message: its body and what its sender held, one list per phase (PH3). */
export function withSeen(body: PayloadMap, ...seen: readonly Seen[]): PayloadMap {
  if (seen.length === 0) return body;
  return { ...body, seen: seen.map((list) => list.map((digest) => (digest === null ? null : hexToBytes(digest)))) };
}

/** What a payload of the form of its phase says. */
interface Spoken<Body> {
  readonly body: Body;
  /** What its sender held, one list per phase (PH3). */
  readonly seen: readonly Seen[];
}

interface Decoded {
  readonly plan: RoundPlan;
  readonly form: AnyForm;
  readonly spoken: Spoken<unknown> | null;
}

/** A payload never changes: it is decoded once, where it comes in, and again only if another phase has the same one. */
const decoded = new WeakMap<PayloadMap, Decoded>();

/** Decodes strictly: null for a payload without the form of the phase. */
function decodePayload<Body>(attempt: Attempt, plan: RoundPlan, form: Form<Body>, payload: Value): Spoken<Body> | null {
  if (!isPayloadMap(payload)) return null;
  const known = decoded.get(payload);
  if (known?.plan === plan && known.form === form) return known.spoken as Spoken<Body> | null;
  const spoken = decodeAnew(attempt, plan, form, payload);
  decoded.set(payload, { plan, form, spoken });
  return spoken;
}

function decodeAnew<Body>(
  attempt: Attempt,
  plan: RoundPlan,
  form: Form<Body>,
  payload: PayloadMap,
): Spoken<Body> | null {
  if (decodeOrigins(payload["made"]) === null || (form.phase === CLOSE && "made" in payload)) return null;
  const lists = phasesSeenIn(plan, form).length;
  const seen = lists === 0 ? [] : decodeSeen(attempt, payload["seen"]);
  if (seen?.length !== lists) return null;
  const body = form.decode(attempt, bodyOf(plan, form, payload));
  return body === null ? null : { body, seen };
}

/** True if a payload has the form of its phase. */
export function hasForm(attempt: Attempt, plan: RoundPlan, form: AnyForm, payload: Value): boolean {
  return decodePayload(attempt, plan, form, payload) !== null;
}

/** A payload as readers see it: its body, what made it, and what its sender held as parents; null if it lacks the form of the phase. */
export function renderingOf(attempt: Attempt, plan: RoundPlan, phase: number, payload: Value): Rendering | null {
  const form = plan.forms.find((one) => one.phase === phase);
  const spoken = form === undefined ? null : decodePayload(attempt, plan, form, payload);
  if (form === undefined || spoken === null) return null;
  const parents = spoken.seen.flatMap((list) =>
    list.flatMap((digest, seat) => (digest === null ? [] : [{ seat: seat as SeatIndex, digest }])),
  );
  const { made } = payload as PayloadMap;
  const body = bodyOf(plan, form, payload as PayloadMap);
  return { name: form.name, body: { ...body, ...(made === undefined ? {} : { made }) }, parents };
}

function bodyOf(plan: RoundPlan, form: AnyForm, payload: PayloadMap): PayloadMap {
  if (phasesSeenIn(plan, form).length === 0) return withoutOrigins(payload);
  const { made: _, seen: __, ...body } = payload;
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
