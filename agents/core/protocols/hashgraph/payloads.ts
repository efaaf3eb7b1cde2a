import { isMapOf } from "../../encoding/codec.ts";
import { hexToBytes } from "../../encoding/bytes.ts";
import { matchForm } from "../../phases/equivalence.ts";
import { decodeOrigins, withOrigins, withoutOrigins } from "../../phases/origin.ts";
import { asDigest, isPayloadMap, listOf } from "../../encoding/payload.ts";
import type { Origin } from "../../prompts/prompt.ts";
import { gatherForm, type Gathering } from "../../phases/readings.ts";
import { commitForm, decodeProposal, encodeProposal, revealForm, type Proposal } from "../../phases/proposals.ts";
import type { PayloadMap, Rendering, Slot } from "../../protocol.ts";
import type { Attempt, Digest, Message, SeatIndex, Value } from "../../types.ts";
import { MAX_TIME, WANTS_PER_EVENT, eventsPerSeat, stagesOf } from "./config.ts";

/** HG2: an event as its creator signs it. The header holds creator, sequence number and digest. */
export interface EventBody {
  readonly selfParent: Digest | null;
  readonly otherParent: EventRef | null;
  /** The logical time that the creator claims, in milliseconds. */
  readonly time: number;
  /** Number of stages that its creator has closed. */
  readonly closed: number;
  /** `order`: the creator waits for the consensus order; `last`: it has the order, and makes events only for others (HG16); `stuck`: it cannot go on (HG20). */
  readonly mode: Mode;
  /** HG14: parents that its creator misses, of events that it holds. */
  readonly wants: readonly EventRef[];
  readonly record: StageRecord | null;
}

export type Mode = "gossip" | "order" | "last" | "stuck";

export interface EventRef {
  readonly seat: SeatIndex;
  readonly sequence: number;
  readonly digest: Digest;
}

type Matches = NonNullable<ReturnType<typeof matchForm.decode>>;

/** HG3: a record of a stage. A null body states that the model failed or was too late: a typed abstention. */
export type StageRecord = StageBody & {
  /** PH12: what made the record; absent if unknown. */
  readonly origins?: readonly Origin[];
};

type StageBody =
  | (Gathering & { readonly kind: "gather"; readonly stage: number })
  | { readonly kind: "commit"; readonly stage: number; readonly commitment: Digest | null }
  | {
      readonly kind: "output";
      readonly stage: number;
      readonly proposal: Proposal | null;
      /** The salt in round 0, which opens a commitment; null in later rounds. */
      readonly salt: Uint8Array | null;
    }
  | { readonly kind: "match"; readonly stage: number; readonly matches: Matches["matches"] }
  | { readonly kind: "ballot"; readonly stage: number; readonly choice: Digest | null };

const MODES: readonly Mode[] = ["gossip", "order", "last", "stuck"];
const KEYS = ["closed", "mode", "otherParent", "record", "selfParent", "time", "wants"] as const;

export function encodeEvent({ selfParent, otherParent, time, closed, mode, wants, record }: EventBody): PayloadMap {
  return {
    selfParent: selfParent === null ? null : hexToBytes(selfParent),
    otherParent: otherParent === null ? null : encodeRef(otherParent),
    time,
    closed,
    mode,
    wants: wants.map(encodeRef),
    record:
      record === null ? null : withOrigins({ stage: record.stage, body: encodeRecord(record) }, record.origins ?? []),
  };
}

function encodeRef({ seat, sequence, digest }: EventRef): Value {
  return { seat, sequence, digest: hexToBytes(digest) };
}

function encodeRecord(record: StageRecord): Value {
  switch (record.kind) {
    case "gather":
      return gatherForm.encode(record);
    case "commit":
      return commitForm.encode(record);
    case "output": {
      const { proposal, salt } = record;
      if (salt === null) return { proposal: proposal === null ? null : encodeProposal(proposal) };
      return revealForm.encode({ proposal: proposal === null ? null : { ...proposal, salt } });
    }
    case "match":
      return matchForm.encode(record);
    case "ballot":
      return { choice: record.choice === null ? null : hexToBytes(record.choice) };
  }
}

const read = new WeakMap<Message, EventBody | null>();

/** The event in a message of a tally. Each message is read once. */
export function eventIn(attempt: Attempt, message: Message): EventBody | null {
  const known = read.get(message);
  if (known !== undefined) return known;
  const { seat, phase, round } = message.header;
  const body = decodeEvent(attempt, { seat, phase, round }, message.payload);
  read.set(message, body);
  return body;
}

/** Decodes strictly: null for anything that `encodeEvent` does not make for the slot. */
export function decodeEvent(attempt: Attempt, slot: Slot, value: Value): EventBody | null {
  if (!isMapOf(value, KEYS)) return null;
  const { time, closed } = value;
  const mode = MODES.find((one) => one === value["mode"]);
  const selfParent = asDigest(value["selfParent"]);
  // A first event has no self-parent; every other event has one.
  if ((selfParent === null) !== (slot.round === 0) || (selfParent === null && value["selfParent"] !== null))
    return null;
  if (mode === undefined || !isWithin(time, MAX_TIME) || !isWithin(closed, stagesOf(attempt).length)) return null;
  const otherParent = value["otherParent"] === null ? null : decodeRef(attempt, value["otherParent"]);
  const wants = listOf(value["wants"], WANTS_PER_EVENT, (entry) => decodeRef(attempt, entry));
  const record = value["record"] === null ? null : decodeRecord(attempt, value["record"]);
  if ((otherParent === null) !== (value["otherParent"] === null) || (record === null) !== (value["record"] === null))
    return null;
  if (otherParent?.seat === slot.seat || wants === null) return null;
  // HG26: it is long, so there is one a line; and it rests on no other event, which could be withheld from the others.
  if (record?.kind === "gather" && (slot.round > 0 || otherParent !== null)) return null;
  return { selfParent, otherParent, time, closed, mode, wants, record };
}

/** HG2: an event as readers see it: the events it builds on are its parents, all else is its body. */
export function renderingOf(seat: SeatIndex, event: EventBody | null): Rendering | null {
  if (event === null) return null;
  const { selfParent, otherParent, record } = event;
  const own = selfParent === null ? [] : [{ seat, digest: selfParent }];
  const parents = otherParent === null ? own : [...own, otherParent];
  const { selfParent: _, otherParent: __, ...body } = encodeEvent(event);
  return { name: record?.kind ?? event.mode, body, parents };
}

function decodeRef(attempt: Attempt, value: Value): EventRef | null {
  if (!isMapOf(value, ["digest", "seat", "sequence"])) return null;
  const { seat, sequence } = value;
  const digest = asDigest(value["digest"]);
  if (digest === null || !isWithin(seat, attempt.committee.length - 1)) return null;
  if (!isWithin(sequence, eventsPerSeat(attempt) - 1)) return null;
  return { seat: seat as SeatIndex, sequence, digest };
}

function decodeRecord(attempt: Attempt, value: Value | undefined): StageRecord | null {
  if (!isPayloadMap(value)) return null;
  const origins = decodeOrigins(value["made"]);
  const record = origins === null ? null : decodeBody(attempt, withoutOrigins(value));
  return record === null || origins === null || origins.length === 0 ? record : { ...record, origins };
}

function decodeBody(attempt: Attempt, value: Value): StageBody | null {
  if (!isMapOf(value, ["body", "stage"])) return null;
  const { stage, body } = value;
  const place = typeof stage === "number" ? stagesOf(attempt)[stage] : undefined;
  if (place === undefined || typeof stage !== "number") return null;
  switch (place.kind) {
    case "gather": {
      const gathering = gatherForm.decode(attempt, body);
      return gathering && { kind: "gather", stage, ...gathering };
    }
    case "commit": {
      const commit = commitForm.decode(attempt, body);
      return commit && { kind: "commit", stage, ...commit };
    }
    case "output":
      return place.round === 0 ? decodeReveal(attempt, stage, body) : decodeOutput(stage, body);
    case "match": {
      const match = matchForm.decode(attempt, body);
      return match && { kind: "match", stage, ...match };
    }
    case "ballot": {
      if (!isMapOf(body, ["choice"])) return null;
      const choice = asDigest(body["choice"]);
      return choice === null && body["choice"] !== null ? null : { kind: "ballot", stage, choice };
    }
  }
}

function decodeReveal(attempt: Attempt, stage: number, body: Value): StageBody | null {
  const reveal = revealForm.decode(attempt, body);
  if (reveal === null) return null;
  if (reveal.proposal === null) return { kind: "output", stage, proposal: null, salt: null };
  const { salt, ...proposal } = reveal.proposal;
  return { kind: "output", stage, proposal, salt };
}

function decodeOutput(stage: number, body: Value): StageBody | null {
  if (!isMapOf(body, ["proposal"])) return null;
  const proposal = decodeProposal(body["proposal"]);
  return proposal === null && body["proposal"] !== null ? null : { kind: "output", stage, proposal, salt: null };
}

function isWithin(value: Value | undefined, most: number): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 && value <= most;
}
