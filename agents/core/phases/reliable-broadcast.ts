import { hexToBytes } from "../encoding/bytes.ts";
import { isMapOf } from "../encoding/codec.ts";
import { asDigest } from "../encoding/payload.ts";
import { holdsHonest, isSupermajority } from "../quorum.ts";
import {
  allCounted,
  heldOf,
  said,
  type Form,
  type RoundBook,
  type Said,
  type Seen,
  type Closure,
} from "./round-book.ts";
import { seatsOf } from "../seat/order.ts";
import type { Attempt, Digest, SeatIndex, Value } from "../types.ts";

/**
 * Byzantine reliable broadcast of what seats say in one phase (Bracha 1987; docs/spec/leaderless.md LL5). All broadcasts of the
 * phase run side by side: one ECHO and one READY message of each seat cover all of them. The rules below are pure functions of
 * those messages; seats that hold the same set deliver the same.
 */

/** Per broadcaster, a payload digest that a seat holds (ECHO), vouches for (READY) or delivers. */
export type Heard = Seen;

export interface Vouching {
  readonly heard: Heard;
}

/** The forms of one broadcast: of what is broadcast, echoed and vouched for. */
export interface Broadcast<Body> {
  readonly sent: Form<Body>;
  readonly echo: Form<Vouching>;
  readonly ready: Form<Vouching>;
}

/** The form of an ECHO or READY message. Make each form once, as a constant. */
export function vouchForm(name: string, phase: number): Form<Vouching> {
  return {
    name,
    phase,
    encode: ({ heard }) => ({ heard: heard.map((digest) => (digest === null ? null : hexToBytes(digest))) }),
    decode: (attempt, value) => {
      const heard = isMapOf(value, ["heard"]) ? decodeHeard(attempt, value["heard"]) : null;
      return heard === null ? null : { heard };
    },
  };
}

function decodeHeard(attempt: Attempt, value: Value): Heard | null {
  if (!Array.isArray(value) || value.length !== attempt.committee.length) return null;
  const entries = value as readonly Value[];
  const heard = entries.map((entry) => asDigest(entry ?? undefined));
  return heard.every((digest, seat) => digest !== null || entries[seat] === null) ? heard : null;
}

/**
 * What a seat vouches for: digests that more than 2/3 of the seats echoed, or that more than 1/3 already vouch for. Two digests of one
 * broadcaster cannot both reach more than 2/3.
 */
export function vouchedFor(seats: number, echoes: readonly Heard[], readies: readonly Heard[]): Heard {
  return perBroadcaster(seats, (seat) => {
    const echoed = digestWith(echoes, seat, (count) => isSupermajority(count, seats));
    return echoed ?? digestWith(readies, seat, (count) => holdsHonest(count, seats));
  });
}

/** What is delivered: digests that more than 2/3 of the seats vouch for. */
export function deliveredBy(seats: number, readies: readonly Heard[]): Heard {
  return perBroadcaster(seats, (seat) => digestWith(readies, seat, (count) => isSupermajority(count, seats)));
}

function perBroadcaster(seats: number, decide: (seat: number) => Digest | null): Heard {
  return Array.from({ length: seats }, (_, seat) => decide(seat));
}

function digestWith(lists: readonly Heard[], seat: number, suffices: (count: number) => boolean): Digest | null {
  const counts = new Map<Digest, number>();
  for (const heard of lists) {
    const digest = heard[seat] ?? null;
    if (digest !== null) counts.set(digest, (counts.get(digest) ?? 0) + 1);
  }
  for (const [digest, count] of counts) if (suffices(count)) return digest;
  return null;
}

export function sayEcho<Body>(book: RoundBook, { sent }: Broadcast<Body>): Vouching {
  return { heard: heldOf(book, sent) };
}

/** The READY of a seat. READYs of others that came early amplify. */
export function sayReady<Body>(book: RoundBook, { echo, ready }: Broadcast<Body>): Vouching {
  const seats = book.attempt.committee.length;
  return { heard: vouchedFor(seats, listsOf(book, echo, "open"), listsOf(book, ready, "open")) };
}

/** The delivered messages, in seat order. A fork is dropped even if it was vouched for: its slot is void (PH2). */
export function deliveries<Body>(book: RoundBook, of: Broadcast<Body>, closure: Closure): readonly Said<Body>[] {
  const delivered = deliveredBy(book.attempt.committee.length, listsOf(book, of.ready, closure));
  return seatsOf(book.attempt).flatMap((seat: SeatIndex) => {
    const message = said(book, of.sent, seat);
    return message !== null && message.digest === delivered[seat] ? [message] : [];
  });
}

function listsOf(book: RoundBook, form: Form<Vouching>, closure: Closure): readonly Heard[] {
  return allCounted(book, form, closure).map(({ body }) => body.heard);
}
