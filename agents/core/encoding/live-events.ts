import { cidString, digestFromCid } from "./cid.ts";
import { bytesToHex, hexToBytes, isHex } from "./bytes.ts";
import { decodeMessage, encodeMessage } from "./transcript.ts";
import {
  CERTIFICATE,
  decodeCertificate,
  decodePropose,
  decodeVote,
  PRECOMMIT,
  PREVOTE,
  PROPOSE,
} from "../seat/certify/messages.ts";
import { limits } from "../limits.ts";
import {
  DECISION_STATUSES,
  ONE_PPM,
  type Certificate,
  type DecisionStatus,
  type Digest,
  type Evidence,
  type Message,
  type Ppm,
  type SeatIndex,
} from "../types.ts";

/** Steps of a ballot, by the phase of their messages. */
const STEPS = { propose: PROPOSE, prevote: PREVOTE, precommit: PRECOMMIT, certificate: CERTIFICATE } as const;
export type BallotStep = keyof typeof STEPS;

/** LV1: what a live stream tells of an attempt. */
export type LiveEvent =
  /** A message of the deliberation, whole: whoever reads it checks the seat's signature. */
  | { readonly kind: "message"; readonly message: Message }
  /** LV3: what a seat says in a ballot, without its signatures. */
  | {
      readonly kind: "ballot";
      readonly seat: SeatIndex;
      readonly ballot: number;
      readonly step: BallotStep;
      /** The transcript root; null is nil. */
      readonly root: Digest | null;
    }
  /** A seat signed two different messages for one place. */
  | { readonly kind: "equivocation"; readonly seat: SeatIndex; readonly phase: number; readonly round: number }
  /** The seats have signed this decision; the chain has yet to take it. */
  | {
      readonly kind: "certified";
      readonly status: DecisionStatus;
      readonly answer: string;
      readonly confidence: Ppm;
      readonly root: Digest;
    };

/** LV1, LV3: what a stream tells of a message; null if its payload does not fit its phase. */
export function toldOfMessage(message: Message): LiveEvent | null {
  const { phase, round: ballot, seat } = message.header;
  if (phase < PROPOSE) return { kind: "message", message };
  const step = (Object.keys(STEPS) as BallotStep[]).find((one) => STEPS[one] === phase);
  const named = rootNamed(message);
  return step === undefined || named === null ? null : { kind: "ballot", seat, ballot, step, root: named.root };
}

/** LV3: what a stream tells of a certificate. */
export function toldOfCertificate({ decision }: Certificate): LiveEvent {
  const { status, answer, confidence, transcript } = decision;
  return { kind: "certified", status, answer, confidence, root: transcript };
}

export function toldOfEvidence({ first: { header } }: Evidence): LiveEvent {
  const { seat, phase, round } = header;
  return { kind: "equivocation", seat, phase, round };
}

function rootNamed({ header: { phase, round }, payload }: Message): { readonly root: Digest | null } | null {
  if (phase === PROPOSE) return decodePropose(payload, round);
  if (phase === CERTIFICATE) return decodeCertificate(payload);
  return decodeVote(phase, payload);
}

/** The longest event, encoded: the longest message in hexadecimal, and the names around it. */
export const MAX_EVENT_CHARACTERS = 2 * limits.messageBytes + 1_024;

/** An event as one line of JSON. */
export function encodeLiveEvent(event: LiveEvent): string {
  switch (event.kind) {
    case "message":
      return JSON.stringify({ kind: event.kind, block: bytesToHex(encodeMessage(event.message)) });
    case "ballot":
      return JSON.stringify({ ...event, root: event.root === null ? null : cidString(event.root) });
    case "certified":
      return JSON.stringify({ ...event, root: cidString(event.root) });
    case "equivocation":
      return JSON.stringify(event);
  }
}

/** LV7: reads an event of a stranger; structure only, no signature is checked. Null for anything else. Never throws. */
export function decodeLiveEvent(text: string): LiveEvent | null {
  if (text.length > MAX_EVENT_CHARACTERS) return null;
  const value = objectIn(text);
  switch (value?.["kind"]) {
    case "message":
      return messageIn(value);
    case "ballot":
      return ballotIn(value);
    case "equivocation":
      return equivocationIn(value);
    case "certified":
      return certifiedIn(value);
    default:
      return null;
  }
}

type Fields = Readonly<Record<string, unknown>>;

function objectIn(text: string): Fields | null {
  try {
    const value: unknown = JSON.parse(text);
    return value !== null && typeof value === "object" ? (value as Fields) : null;
  } catch {
    return null;
  }
}

function messageIn({ block }: Fields): LiveEvent | null {
  if (typeof block !== "string" || block.length % 2 !== 0 || !isHex(block, block.length / 2 - 1)) return null;
  const message = decodeMessage(hexToBytes(block));
  return message === null || message.header.phase >= PROPOSE ? null : { kind: "message", message };
}

function ballotIn({ seat, ballot, step, root }: Fields): LiveEvent | null {
  if (!isBelow(seat, limits.maxCommittee) || !isBelow(ballot, limits.certifyBallots)) return null;
  if (typeof step !== "string" || !Object.hasOwn(STEPS, step)) return null;
  const digest = typeof root === "string" ? digestFromCid(root) : null;
  if (digest === null && root !== null) return null;
  return { kind: "ballot", seat: seat as SeatIndex, ballot, step: step as BallotStep, root: digest };
}

function equivocationIn({ seat, phase, round }: Fields): LiveEvent | null {
  if (!isBelow(seat, limits.maxCommittee) || !isBelow(phase, CERTIFICATE + 1) || !isBelow(round, 2 ** 32)) return null;
  return { kind: "equivocation", seat: seat as SeatIndex, phase, round };
}

function certifiedIn({ status, answer, confidence, root }: Fields): LiveEvent | null {
  const known = DECISION_STATUSES.find((one) => one === status);
  const digest = typeof root === "string" ? digestFromCid(root) : null;
  if (known === undefined || digest === null || !isBelow(confidence, ONE_PPM + 1)) return null;
  if (typeof answer !== "string" || answer.length > limits.answerBytes) return null;
  return { kind: "certified", status: known, answer, confidence: confidence as Ppm, root: digest };
}

function isBelow(value: unknown, bound: number): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value < bound;
}
