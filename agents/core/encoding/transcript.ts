import type { BlockLink, BlockValue } from "./block-value.ts";
import { cidString } from "./cid.ts";
import {
  decodeBeginning,
  decodeBlock,
  decodeBlockInParts,
  decodeInParts,
  encode,
  encodeBlock,
  isLink,
  isMapOf,
} from "./codec.ts";
import {
  bytesToHex,
  compareBytes,
  compareHex,
  decodeRequestId,
  encodeRequestId,
  hexToBytes,
  sha256,
  utf8,
  word,
} from "./bytes.ts";
import { recoverSigner } from "./digest.ts";
import { messageDigest } from "./typed-data.ts";
import { packSeat, packTerms } from "./words.ts";
import { PROPOSE } from "../seat/certify/messages.ts";
import { limits } from "../limits.ts";
import { isText, questionBytes } from "../request/question.ts";
import {
  comparePositions,
  type FinalConclusion,
  type MessageBlock,
  type Position,
  type Protocol,
} from "../protocol.ts";
import { addMessage, emptyTally, messagesOf, type Tally } from "../seat/tally.ts";
import type { Address, Attempt, Digest, Header, Hex, Message, RequestId, SeatIndex, Value } from "../types.ts";

/** TR2: of the form of both kinds of blocks. */
const FORMAT_VERSION = 2;

/** docs/spec/transcript.md. A message block holds one signed message; the root block links them all. */
export interface Transcript {
  readonly root: Digest;
  readonly rootBlock: Uint8Array;
  /** Message blocks in the order of the root's links. */
  readonly blocks: readonly Uint8Array[];
}

/** Blocks that were made. A message never changes, and goes to journal, peers and transcript as one block. */
const madeBlocks = new WeakMap<Message, Block>();

interface Block {
  readonly digest: Digest;
  readonly bytes: Uint8Array;
}

/** The block that holds a message. TR1: the payload's digest is not stored: it is computed, so it cannot differ. */
export function blockOf(message: Message): Block {
  const made = madeBlocks.get(message);
  if (made !== undefined) return made;
  const { requestId, attempt, protocol, phase, round, seat } = message.header;
  const bytes = encode({
    header: { requestId: encodeRequestId(requestId), attempt, protocol, phase, round, seat },
    payload: message.payload,
    signature: hexToBytes(message.signature),
  });
  const block = { digest: sha256(bytes), bytes };
  madeBlocks.set(message, block);
  return block;
}

/** The bytes of a message's block. */
export function encodeMessage(message: Message): Uint8Array {
  return blockOf(message).bytes;
}

/** How long a message of the phase may be, encoded. */
export function messageBytesIn(phase: number): number {
  return phase < PROPOSE ? limits.messageBytes : limits.certifyMessageBytes;
}

/** Structure only; the signature is not checked. Null when malformed. */
export function decodeMessage(bytes: Uint8Array): Message | null {
  const decoded = decodeInParts(bytes, limits.certifyMessageBytes);
  const encodedPayload = decoded?.parts.get("payload");
  if (!isMapOf(decoded?.value, ["header", "payload", "signature"]) || encodedPayload === undefined) return null;
  const { header, payload, signature } = decoded.value;
  const slot = slotIn(header, bytes.length);
  if (slot === null || !(signature instanceof Uint8Array) || signature.length !== SIGNATURE_BYTES) return null;
  return { header: { ...slot, payloadDigest: sha256(encodedPayload) }, payload, signature: bytesToHex(signature) };
}

/** A message that nobody has read beyond its slot. */
export interface Envelope {
  readonly slot: Slot;
  /** The bytes in the place of the payload, well-formed or not. They alias the input. */
  readonly payload: Uint8Array;
  readonly signature: Hex;
}

export type Slot = Omit<Header, "payloadDigest">;

const SIGNATURE_BYTES = 65;
/** What canonical dag-cbor has before the header, the payload and the signature: a map of three entries, and its keys. */
const BEFORE_HEADER = Uint8Array.of(0xa3, 0x66, ...utf8("header"));
const BEFORE_PAYLOAD = Uint8Array.of(0x67, ...utf8("payload"));
const BEFORE_SIGNATURE = Uint8Array.of(0x69, ...utf8("signature"), 0x58, SIGNATURE_BYTES);
/** Longer than any header is, so that a hostile one costs nothing. */
const HEADER_BYTES = 128;

/**
 * Reads all of a message but its payload, which can take a thousand times as long. Null when that part is malformed;
 * whatever `decodeMessage` reads has an envelope.
 */
export function decodeEnvelope(bytes: Uint8Array): Envelope | null {
  const signatureAt = bytes.length - SIGNATURE_BYTES;
  const payloadEnd = signatureAt - BEFORE_SIGNATURE.length;
  const headerAt = BEFORE_HEADER.length;
  if (payloadEnd < headerAt || !stands(BEFORE_HEADER, bytes, 0)) return null;
  const header = decodeBeginning(bytes.subarray(headerAt, Math.min(headerAt + HEADER_BYTES, payloadEnd)));
  if (header === null) return null;
  const slot = slotIn(header.value, bytes.length);
  const headerEnd = headerAt + header.end;
  const payloadAt = headerEnd + BEFORE_PAYLOAD.length;
  if (slot === null || payloadAt >= payloadEnd || !stands(BEFORE_PAYLOAD, bytes, headerEnd)) return null;
  if (!stands(BEFORE_SIGNATURE, bytes, payloadEnd)) return null;
  return {
    slot,
    payload: bytes.subarray(payloadAt, payloadEnd),
    signature: bytesToHex(bytes.subarray(signatureAt)),
  };
}

function stands(expected: Uint8Array, bytes: Uint8Array, at: number): boolean {
  return expected.every((byte, index) => bytes[at + index] === byte);
}

/** @param length of the whole message */
function slotIn(header: Value, length: number): Slot | null {
  const keys = ["attempt", "phase", "protocol", "requestId", "round", "seat"] as const;
  if (!isMapOf(header, keys)) return null;
  const { attempt, phase, protocol, round, seat } = header;
  const requestId = decodeRequestId(header.requestId);
  if (requestId === null || !isUint32(attempt) || !isUint32(phase) || !isUint32(protocol)) return null;
  if (!isUint32(round) || !isUint32(seat) || length > messageBytesIn(phase)) return null;
  return { requestId, attempt, protocol, phase, round, seat: seat as SeatIndex };
}

/** Reads a block that should hold a message. */
export function messageBlock(bytes: Uint8Array): MessageBlock {
  return { digest: sha256(bytes), bytes, message: decodeMessage(bytes) };
}

function isUint32(value: Value): value is number {
  return typeof value === "number" && value >= 0 && value <= 0xffff_ffff;
}

/** A message without its payload, which the signature covers by its digest. */
type Signed = Pick<Message, "header" | "signature">;

/** Messages that are known to be good, by attempt. Neither ever changes. */
const genuine = new WeakMap<Attempt, WeakSet<Signed>>();

/**
 * Why a decoded message is not one of this attempt's, or null when its signature and place are good. The signature of a
 * good one is checked once: where a message comes in and where it is replayed, this is asked of the same object.
 */
export function forgeryIn(attempt: Attempt, message: Signed): string | null {
  const known = genuine.get(attempt);
  if (known?.has(message) === true) return null;
  const refused = findForgery(attempt, message);
  if (refused !== null) return refused;
  if (known === undefined) genuine.set(attempt, new WeakSet([message]));
  else known.add(message);
  return null;
}

/** Decodes the message of which this part is known to be good. Null when its payload is malformed. */
export function decodeGenuine(attempt: Attempt, signed: Signed, bytes: Uint8Array): Message | null {
  const message = decodeMessage(bytes);
  const known = genuine.get(attempt);
  if (message !== null && known?.has(signed) === true) known.add(message);
  return message;
}

function findForgery(attempt: Attempt, message: Signed): string | null {
  const { header } = message;
  if (header.requestId !== attempt.request.id || header.attempt !== attempt.attempt) return "other-attempt";
  if (header.protocol !== attempt.request.terms.protocol) return "other-protocol";
  const seat = attempt.committee[header.seat];
  if (seat === undefined) return "no-such-seat";
  return recoverSigner(messageDigest(attempt, header), message.signature) === seat.signer ? null : "bad-signature";
}

/** Everything that the chain fixes for the attempt, as it stands in the root. */
function describeAttempt(attempt: Attempt): BlockValue {
  const { domain, request } = attempt;
  return {
    chainId: domain.chainId,
    oracle: hexToBytes(domain.oracle),
    requestId: encodeRequestId(request.id),
    consumer: hexToBytes(request.consumer),
    terms: word(packTerms(request.terms)),
    question: isText(request.question) ? request.question : questionBytes(request.question),
    attempt: attempt.attempt,
    committee: attempt.committee.map((seat) => word(packSeat(seat))),
  };
}

function rootOf(attempt: Attempt, protocol: Protocol, messages: readonly BlockLink[]) {
  return {
    version: FORMAT_VERSION,
    protocol: protocol.code,
    protocolVersion: protocol.version,
    attempt: describeAttempt(attempt),
    messages,
  };
}

/** TR2: the messages up to a position, ordered by round, phase, seat, payload digest, block digest. */
export function buildTranscript(attempt: Attempt, protocol: Protocol, tally: Tally, through: Position): Transcript {
  const messages = [...messagesOf(tally)].filter(({ header }) => comparePositions(header, through) <= 0);
  const blocks = messages.toSorted(compareMessages).map(blockOf);
  const links = blocks.map(({ digest }) => ({ link: digest }));
  const rootBlock = encodeBlock(rootOf(attempt, protocol, links));
  return { root: sha256(rootBlock), rootBlock, blocks: blocks.map(({ bytes }) => bytes) };
}

/** Message blocks as a root links them. */
export function encodeInOrder(messages: readonly Message[]): readonly Uint8Array[] {
  return messages.toSorted(compareMessages).map(encodeMessage);
}

function compareMessages(a: Message, b: Message): number {
  return (
    comparePositions(a.header, b.header) ||
    a.header.seat - b.header.seat ||
    compareHex(a.header.payloadDigest, b.header.payloadDigest)
  );
}

/** What the root of a transcript says of itself; nothing of it is checked. */
export interface Described {
  readonly chainId: number;
  readonly oracle: Address;
  readonly requestId: RequestId;
  readonly attempt: number;
}

/** Null when it is the root of no transcript of this form. */
export function describedBy(rootBlock: Uint8Array): Described | null {
  const root = decodeBlock(rootBlock, limits.rootBytes);
  if (!isBlockMap(root) || root["version"] !== FORMAT_VERSION || !Array.isArray(root["messages"])) return null;
  const described = root["attempt"];
  if (described === undefined || !isBlockMap(described)) return null;
  const { chainId, oracle, attempt } = described;
  const requestId = decodeRequestId(described["requestId"]);
  if (typeof chainId !== "number" || typeof attempt !== "number" || requestId === null) return null;
  if (!(oracle instanceof Uint8Array) || oracle.length !== 20) return null;
  return { chainId, oracle: bytesToHex(oracle) as Address, requestId, attempt };
}

/** The message digests a root links, or why the root is not one of this attempt's. */
export function readRoot(
  attempt: Attempt,
  protocol: Protocol,
  rootBlock: Uint8Array,
): { readonly messages: readonly Digest[] } | { readonly refused: string } {
  const decoded = decodeBlockInParts(rootBlock, limits.rootBytes);
  const root = decoded?.value ?? null;
  if (!isBlockMap(root) || !Array.isArray(root["messages"])) return { refused: "malformed root block" };
  // The block is canonical: equal values have equal bytes.
  const expected = Object.entries(rootOf(attempt, protocol, [])).filter(([name]) => name !== "messages");
  const isSame = ([name, value]: readonly [string, BlockValue]): boolean => {
    const found = decoded?.parts.get(name);
    return found !== undefined && compareBytes(found, encodeBlock(value)) === 0;
  };
  if (Object.keys(root).length !== expected.length + 1 || !expected.every(isSame))
    return { refused: "root of another attempt, protocol version or chain" };
  const messages: Digest[] = [];
  for (const entry of root["messages"] as readonly BlockValue[]) {
    // Beside another key it is plain data: nobody who pins the root would keep the message.
    if (!isBlockMap(entry) || !isLink(entry)) return { refused: "message entry without a link" };
    messages.push(entry.link);
  }
  if (messages.length > limits.messagesPerTranscript) return { refused: "too many messages" };
  if (new Set(messages).size !== messages.length) return { refused: "a message is linked twice" };
  return { messages };
}

export type Replay =
  | { readonly kind: "replayed"; readonly tally: Tally; readonly conclusion: FinalConclusion }
  /** `block` is the first block that fails. */
  | { readonly kind: "failed"; readonly block: Digest; readonly reason: string };

/** TR3: what an auditor and a voting seat do alike: every message verified, then the protocol's pure conclusion. */
export function replay(
  attempt: Attempt,
  protocol: Protocol,
  root: Digest,
  messages: readonly { readonly digest: Digest; readonly message: Message | null }[],
): Replay {
  let tally = emptyTally;
  let previous: Message | null = null;
  for (const { digest, message } of messages) {
    if (message === null)
      return { kind: "failed", block: digest, reason: `malformed message block ${cidString(digest)}` };
    const refused = forgeryIn(attempt, message);
    if (refused !== null)
      return { kind: "failed", block: digest, reason: `message block ${cidString(digest)}: ${refused}` };
    const misplaced = protocol.rejectPayload(attempt, message.header, message.payload);
    if (misplaced !== null)
      return { kind: "failed", block: digest, reason: `message block ${cidString(digest)}: ${misplaced}` };
    if (previous !== null && compareMessages(previous, message) >= 0)
      return { kind: "failed", block: digest, reason: `message block ${cidString(digest)}: out of order or repeated` };
    const added = addMessage(tally, message);
    if (added.kind !== "added" && added.kind !== "equivocation")
      return { kind: "failed", block: digest, reason: `message block ${cidString(digest)}: ${added.kind}` };
    tally = added.tally;
    previous = message;
  }
  const conclusion = protocol.conclude(attempt, tally);
  if (conclusion.kind === "open")
    return { kind: "failed", block: root, reason: "the messages do not conclude the deliberation" };
  return { kind: "replayed", tally, conclusion };
}

function isBlockMap(value: BlockValue): value is { readonly [key: string]: BlockValue } {
  return value !== null && typeof value === "object" && !Array.isArray(value) && !(value instanceof Uint8Array);
}
