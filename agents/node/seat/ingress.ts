import { limits } from "../../core/limits.ts";
import { sha256 } from "../../core/encoding/bytes.ts";
import { decodeEnvelope, decodeGenuine, forgeryIn, type Envelope, type Slot } from "../../core/encoding/transcript.ts";
import type { Address, Attempt, Header, Message } from "../../core/types.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import { createEarlyFrames } from "./early-frames.ts";

/** Receiver of the verified messages of a running attempt. */
export interface Sink {
  readonly attempt: Attempt;
  /** True if the seat still needs a message at this place. */
  wants(header: Header): boolean;
  /** Returns why the message may not stand in its slot, or null. */
  refuses(message: Message): string | null;
  deliver(message: Message): void;
}

export interface Ingress {
  /** Takes a frame from an authenticated peer; never throws. */
  receive(from: Address, frame: Uint8Array): void;
  /** Opens an attempt, and hands over the frames that came before it was known. */
  opened(sink: Sink): void;
  closed(sink: Sink): void;
}

/** A peer with this many bad frames within the window is ignored for a while; a long one counts as several. */
const BAD_FRAMES = 50;
const BYTES_OF_ONE = 8_192;
const BAD_WINDOW_MS = 10_000;
const IGNORED_MS = 60_000;
/** Ended attempts that are remembered, so that their late frames are recognised. */
const REMEMBERED_ATTEMPTS = 256;

/** Peers whose bad frames are counted; the one heard least recently is forgotten first. */
const REMEMBERED_PEERS = 1_024;

interface Conduct {
  bad: number;
  since: number;
  ignoredUntil: number;
}

/**
 * Decodes, bounds and verifies: the only way a peer's bytes become an input. Cheap checks come first, because a peer
 * may send thousands of frames and megabytes a second: then the signature, and last the payload, which in a hostile
 * frame costs the most. So a payload is read only of what a seat has signed and this seat wants.
 */
export function createIngress(log: Log, clock: Clock): Ingress {
  const sinks = new Map<string, Sink>();
  const ended = new Set<string>();
  // Nobody is blamed: honest seats hand on what this seat no longer needs, and know attempts that it does not know yet.
  const forgo = (from: Address, attempt: string, reason: string): void =>
    log.debug({ from, reason, attempt }, "message dropped");
  const early = createEarlyFrames(clock, forgo);
  const records = new Map<Address, Conduct>();

  const isIgnored = (from: Address): boolean => clock.now() < (records.get(from)?.ignoredUntil ?? 0);

  const blame = (from: Address, reason: string, bytes: number, data: object = {}): void => {
    const now = clock.now();
    log.warn({ from, reason, bytes, ...data }, "message dropped");
    let record = records.get(from);
    if (record === undefined || now - record.since > BAD_WINDOW_MS) record = { bad: 0, since: now, ignoredUntil: 0 };
    records.delete(from);
    records.set(from, record);
    forgetOldest(records, REMEMBERED_PEERS);
    record.bad += 1 + Math.floor(bytes / BYTES_OF_ONE);
    if (record.bad < BAD_FRAMES) return;
    record.ignoredUntil = now + IGNORED_MS;
    log.warn({ from, milliseconds: IGNORED_MS }, "too many bad frames: peer ignored for a while");
  };

  const admit = (sink: Sink, envelope: Envelope, from: Address, frame: Uint8Array): void => {
    const { slot, payload, signature } = envelope;
    const { seat } = slot;
    const refused = refuseCheaply(sink.attempt, slot, from);
    if (refused !== null) return blame(from, refused, frame.length, { seat });
    const signed = { header: { ...slot, payloadDigest: sha256(payload) }, signature };
    if (!sink.wants(signed.header)) return;
    const forged = forgeryIn(sink.attempt, signed);
    if (forged !== null) return blame(from, forged, frame.length, { seat });
    const message = decodeGenuine(sink.attempt, signed, frame);
    if (message === null) return blame(from, "malformed", frame.length, { seat });
    const misplaced = sink.refuses(message);
    if (misplaced !== null) return blame(from, misplaced, frame.length, { seat });
    sink.deliver(message);
  };

  return {
    receive(from, frame) {
      if (isIgnored(from)) return;
      const envelope = frame.length > limits.certifyMessageBytes ? null : decodeEnvelope(frame);
      if (envelope === null) return blame(from, "malformed", frame.length);
      const key = keyOf(envelope.slot.requestId, envelope.slot.attempt);
      const sink = sinks.get(key);
      if (sink !== undefined) admit(sink, envelope, from, frame);
      else if (ended.has(key)) forgo(from, key, "other-attempt");
      // The chain may be slower than a peer.
      else early.add(from, key, frame);
    },

    opened(sink) {
      const key = keyOf(sink.attempt.request.id, sink.attempt.attempt);
      sinks.set(key, sink);
      ended.delete(key);
      for (const { from, frame } of early.take(key)) {
        const envelope = isIgnored(from) ? null : decodeEnvelope(frame);
        if (envelope !== null) admit(sink, envelope, from, frame);
      }
    },

    closed(sink) {
      const key = keyOf(sink.attempt.request.id, sink.attempt.attempt);
      sinks.delete(key);
      ended.add(key);
      forgetOldest(ended, REMEMBERED_ATTEMPTS);
    },
  };
}

/** Returns why a message is refused before its signature is checked, or null. Only seats may hand messages on. */
function refuseCheaply(attempt: Attempt, slot: Slot, from: Address): string | null {
  if (!attempt.committee.some((seat) => seat.signer === from)) return "no-seat";
  if (slot.protocol !== attempt.request.terms.protocol) return "other-protocol";
  return attempt.committee[slot.seat] === undefined ? "no-such-seat" : null;
}

/** Removes the oldest entries: maps and sets keep the order of insertion. */
function forgetOldest<T>(entries: Map<T, unknown> | Set<T>, bound: number): void {
  for (const oldest of entries.keys()) {
    if (entries.size <= bound) return;
    entries.delete(oldest);
  }
}

function keyOf(requestId: bigint, attempt: number): string {
  return `${requestId}.${attempt}`;
}
