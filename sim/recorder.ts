import type { DecisionConflict, Digest, Evidence, Hex, Message, SeatIndex } from "../agents/core/types.ts";
import type { Certificate } from "../agents/core/types.ts";
import { decodeMessage } from "../agents/core/encoding/transcript.ts";
import { slotOf, type Certified, type ReadAt } from "./trace.ts";

/** Watches a world from outside; nothing in the world depends on it. */
export interface Recorder {
  sent(from: SeatIndex, to: SeatIndex, frame: Uint8Array): void;
  delivered(seat: SeatIndex, message: Message): void;
  asked(seat: SeatIndex): void;
  answered(seat: SeatIndex, answer: string): void;
  approved(seat: SeatIndex, answer: string): void;
  /** A seat read a text at a source. */
  read(seat: SeatIndex, text: ReadAt): void;
  /** A seat's model was shown a text as what its seat read at a source. */
  shown(seat: SeatIndex, text: ReadAt): void;
  certified(seat: SeatIndex, certificate: Certificate): void;
  evidence(seat: SeatIndex, evidence: Evidence): void;
  conflict(seat: SeatIndex, conflict: DecisionConflict): void;
  count(what: string): void;
  counts(): Readonly<Record<string, number>>;
  /** Slots with two payloads anywhere. */
  contested(): ReadonlySet<string>;
  readonly seats: readonly RecordedSeat[];
  readonly messages: ReadonlyMap<string, readonly Message[]>;
  readonly frames: number;
  readonly bytes: number;
  hash(): string;
}

export interface RecordedSeat {
  readonly certificates: Certified[];
  readonly evidence: Evidence[];
  readonly conflicts: DecisionConflict[];
  readonly answers: string[];
  readonly approved: string[];
  readonly read: ReadAt[];
  readonly shown: ReadAt[];
  modelCalls: number;
  /** Time at which it last took a message in, by the message's signature. */
  readonly takenAt: Map<Hex, number>;
}

/** Lines about one world for a human reader; `describe` runs only if somebody listens. */
export type Tell = (describe: () => string) => void;

export function createRecorder(seats: number, now: () => number, tell: Tell): Recorder {
  const recorded = Array.from({ length: seats }, emptySeat);
  const messages = new Map<string, Message[]>();
  const contested = new Set<string>();
  const counts = new Map<string, number>();
  const hash = createHash();
  let frames = 0;
  let bytes = 0;
  const at = (seat: SeatIndex): RecordedSeat => recorded[seat] as RecordedSeat;

  return {
    seats: recorded,
    messages,
    get frames() {
      return frames;
    },
    get bytes() {
      return bytes;
    },
    sent(from, to, frame) {
      tell(() => `${from} sends ${describeFrame(frame)} to ${to}`);
      frames++;
      bytes += frame.length;
      hash.number(now());
      hash.number((from << 16) | to);
      hash.tail(frame);
    },
    delivered(seat, message) {
      tell(() => `${seat} takes in ${describeMessage(message)}`);
      const slot = slotOf(message);
      const known = messages.get(slot);
      if (known === undefined) messages.set(slot, [message]);
      else if (!known.some((one) => one.header.payloadDigest === message.header.payloadDigest)) {
        known.push(message);
        contested.add(slot);
      }
      at(seat).takenAt.set(message.signature, now());
      hash.number(now());
      hash.number(seat);
      hash.text(message.signature);
    },
    asked(seat) {
      at(seat).modelCalls++;
    },
    answered(seat, answer) {
      tell(() => `${seat} thinks ${JSON.stringify(answer)}`);
      const { answers } = at(seat);
      if (!answers.includes(answer)) answers.push(answer);
    },
    approved(seat, answer) {
      const { approved } = at(seat);
      if (!approved.includes(answer)) approved.push(answer);
    },
    read: (seat, text) => void at(seat).read.push(text),
    shown: (seat, text) => noteOnce(at(seat).shown, text),
    certified(seat, certificate) {
      tell(() => `${seat} is certified: ${describeDecision(certificate)}`);
      hash.number(now());
      hash.text(certificate.decision.transcript);
      at(seat).certificates.push({ at: now(), certificate });
    },
    evidence(seat, evidence) {
      tell(
        () => `${seat} has evidence: ${describeMessage(evidence.first)} against ${describeMessage(evidence.second)}`,
      );
      hash.text(evidence.second.header.payloadDigest);
      at(seat).evidence.push(evidence);
    },
    conflict(seat, conflict) {
      tell(() => `${seat} has two decisions of ${conflict.seat} for ballot ${conflict.first.decision.round}`);
      at(seat).conflicts.push(conflict);
    },
    count(what) {
      tell(() => `  ${what}`);
      counts.set(what, (counts.get(what) ?? 0) + 1);
    },
    counts: () => Object.fromEntries([...counts].toSorted(([a], [b]) => (a < b ? -1 : 1))),
    contested: () => contested,
    hash: hash.digest,
  };
}

function noteOnce(noted: ReadAt[], { source, text }: ReadAt): void {
  if (!noted.some((one) => one.source === source && one.text === text)) noted.push({ source, text });
}

function emptySeat(): RecordedSeat {
  return {
    certificates: [],
    evidence: [],
    conflicts: [],
    answers: [],
    approved: [],
    read: [],
    shown: [],
    modelCalls: 0,
    takenAt: new Map(),
  };
}

function describeFrame(frame: Uint8Array): string {
  const message = decodeMessage(frame);
  return message === null ? `${frame.length} bytes of no message` : describeMessage(message);
}

function describeDecision({ decision: { status, answer, round, transcript } }: Certificate): string {
  return `${status} ${JSON.stringify(answer)} in ballot ${round}, ${transcript.slice(0, 10)}`;
}

/** Phase.round.seat and the payload's digest. */
function describeMessage(message: Message): string {
  return `${slotOf(message)} ${message.header.payloadDigest.slice(2, 8)}`;
}

/** Two FNV-like lanes: cheap, and compared only with another run of the same code. */
function createHash(): {
  readonly number: (value: number) => void;
  readonly text: (value: Digest | Hex) => void;
  readonly tail: (bytes: Uint8Array) => void;
  readonly digest: () => string;
} {
  let low = 0x811c9dc5;
  let high = 0xcbf29ce4;
  const add = (value: number): void => {
    low = Math.imul(low ^ value, 0x01000193);
    high = Math.imul(high ^ value ^ (low >>> 15), 0x85ebca6b);
  };
  return {
    number: add,
    text(value) {
      for (let index = value.length - 16; index < value.length; index++) add(value.charCodeAt(index));
    },
    tail(bytes) {
      add(bytes.length);
      for (let index = Math.max(0, bytes.length - 16); index < bytes.length; index++) add(bytes[index] as number);
    },
    digest: () => [high, low].map((lane) => (lane >>> 0).toString(16).padStart(8, "0")).join(""),
  };
}
