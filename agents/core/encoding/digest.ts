import { sha256 as nobleSha256 } from "@noble/hashes/sha2.js";
import { keccak_256 } from "@noble/hashes/sha3.js";
import { bytesToHex as toHex, concatBytes, hexToBytes as fromHex, utf8ToBytes } from "@noble/hashes/utils.js";
import { ConclaveError } from "../errors.ts";
import { questionBytes } from "../request/question.ts";
import { secp256k1 } from "./secp256k1.ts";
import { CURRENCIES } from "../types.ts";
import type {
  Address,
  AgentId,
  AnswerKind,
  Assurance,
  Attempt,
  Decision,
  DecisionSlot,
  DecisionStatus,
  Digest,
  Domain,
  HashedDecision,
  HashedRequest,
  Header,
  Hex,
  MessageSlot,
  Outcome,
  Ppm,
  Request,
  RequestId,
  SeatIndex,
  SeatInfo,
  Terms,
} from "../types.ts";

type ReputationChanges = Outcome["reputationChanges"];

const ANSWER_KINDS: readonly AnswerKind[] = ["boolean", "choice", "number", "text", "policies"];
const ASSURANCES: readonly Assurance[] = ["normal", "high"];

/** `RequestTerms` of contracts/types/Types.sol, from the highest bit to the lowest. */
const TERMS_LAYOUT = [
  ["fee", 96n],
  ["duration", 32n],
  ["appeals", 4n],
  ["retries", 4n],
  ["tolerance", 40n],
  ["callbackGasLimit", 32n],
  ["committeeSize", 8n],
  ["assurance", 4n],
  ["currency", 4n],
  ["decimals", 8n],
  ["options", 8n],
  ["kind", 8n],
  ["protocol", 8n],
] as const;

const DOMAIN_TYPE = "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)";
const DECISION_TYPE =
  "Decision(bytes32 requestHash,uint32 attempt,bytes32 committeeHash,uint32 round,uint8 status,bytes32 outcome,bytes answer,uint32 confidence,bytes32 transcript,bytes reputationChanges,bytes shares)";
const MESSAGE_TYPE =
  "Message(bytes32 requestHash,bytes32 committeeHash,uint32 attempt,uint32 protocol,uint32 phase,uint32 round,uint32 seat,bytes32 payloadDigest)";

export function bytesToHex(bytes: Uint8Array): Hex {
  return `0x${toHex(bytes)}`;
}

/** Throws on malformed hex; check untrusted text with `isHex` first. */
export function hexToBytes(hex: Hex): Uint8Array {
  if (!hex.startsWith("0x")) throw new RangeError(`hexToBytes: ${hex} does not start with 0x`);
  return fromHex(hex.slice(2));
}

/** True for 0x-prefixed lower-case hex of exactly `length` bytes. */
export function isHex(text: string, length: number): text is Hex {
  return text.length === 2 + 2 * length && /^0x[0-9a-f]*$/.test(text);
}

/** Throws on a lone surrogate, which has no UTF-8: model and file text is made well-formed where it enters. */
export function utf8(text: string): Uint8Array {
  if (!text.isWellFormed()) throw new RangeError("utf8: the text has a lone surrogate");
  return utf8ToBytes(text);
}

export function concat(...parts: readonly Uint8Array[]): Uint8Array {
  return concatBytes(...parts);
}

/** Bytewise, a prefix before its extensions. */
export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const shared = Math.min(a.length, b.length);
  for (let index = 0; index < shared; index += 1) {
    const difference = (a[index] as number) - (b[index] as number);
    if (difference !== 0) return difference < 0 ? -1 : 1;
  }
  return a.length === b.length ? 0 : a.length < b.length ? -1 : 1;
}

/** The order of the bytes; lower-case ASCII hex sorts by code unit exactly as its bytes do. */
export function compareHex(a: Hex, b: Hex): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

export function keccak256(bytes: Uint8Array): Digest {
  return bytesToHex(keccak_256(bytes)) as Digest;
}

export function sha256(bytes: Uint8Array): Digest {
  return bytesToHex(nobleSha256(bytes)) as Digest;
}

/** Throws TERMS_INVALID, naming the field, when a value does not fit its bits. */
export function packTerms(terms: Terms): bigint {
  const fields = {
    ...terms,
    assurance: ASSURANCES.indexOf(terms.assurance),
    currency: CURRENCIES.indexOf(terms.currency),
    kind: ANSWER_KINDS.indexOf(terms.kind),
  };
  return TERMS_LAYOUT.reduce((packed, [name, bits]) => {
    const value = fields[name];
    const fits = typeof value === "bigint" || Number.isSafeInteger(value);
    if (!fits || BigInt(value) < 0n || BigInt(value) >= 1n << bits) {
      throw new ConclaveError(
        "TERMS_INVALID",
        `Pack request terms: ${name} = ${value} is not an unsigned integer of ${bits} bits`,
        {
          field: name,
          value: String(value),
        },
      );
    }
    return (packed << bits) | BigInt(value);
  }, 0n);
}

/** Null when the word is no uint256 or holds an unknown kind, assurance or currency. */
export function unpackTerms(packed: bigint): Terms | null {
  if (packed < 0n || packed >= 1n << 256n) return null;
  const fields: Record<string, bigint> = {};
  let rest = packed;
  for (const [name, bits] of TERMS_LAYOUT.toReversed()) {
    fields[name] = rest & ((1n << bits) - 1n);
    rest >>= bits;
  }
  const field = (name: (typeof TERMS_LAYOUT)[number][0]): bigint => fields[name] as bigint;
  const kind = ANSWER_KINDS[Number(field("kind"))];
  const assurance = ASSURANCES[Number(field("assurance"))];
  const currency = CURRENCIES[Number(field("currency"))];
  if (kind === undefined || assurance === undefined || currency === undefined) return null;
  return {
    fee: field("fee"),
    duration: Number(field("duration")),
    appeals: Number(field("appeals")),
    retries: Number(field("retries")),
    tolerance: field("tolerance"),
    callbackGasLimit: Number(field("callbackGasLimit")),
    committeeSize: Number(field("committeeSize")),
    assurance,
    currency,
    decimals: Number(field("decimals")),
    options: Number(field("options")),
    kind,
    protocol: Number(field("protocol")),
  };
}

/** agentId uint32 << 192 | reputation uint32 << 160 | signer. */
export function packSeat(seat: SeatInfo): bigint {
  return (uint(BigInt(seat.agentId), 32n) << 192n) | (uint(BigInt(seat.reputation), 32n) << 160n) | BigInt(seat.signer);
}

/** Null unless agent id and signer are not zero, the reputation is in (0, 1_000_000] and the upper bits are clear. */
export function unpackSeat(packed: bigint): SeatInfo | null {
  if (packed < 0n) return null;
  const agentId = packed >> 192n;
  const reputation = (packed >> 160n) & 0xffff_ffffn;
  const signer = packed & ((1n << 160n) - 1n);
  if (agentId === 0n || agentId > 0xffff_ffffn || reputation === 0n || reputation > 1_000_000n || signer === 0n)
    return null;
  return {
    agentId: Number(agentId) as AgentId,
    signer: `0x${signer.toString(16).padStart(40, "0")}` as Address,
    reputation: Number(reputation) as Ppm,
  };
}

export function hashedRequest({ id, consumer, terms, question }: Request): HashedRequest {
  return { id, consumer, terms: packTerms(terms), questionHash: keccak256(questionBytes(question)) };
}

export function requestHash(request: Request): Digest {
  return requestHashOf(hashedRequest(request));
}

/** keccak256(abi.encode(Request)). */
export function requestHashOf({ id, consumer, terms, questionHash }: HashedRequest): Digest {
  return keccak256(concat(word(id), word(BigInt(consumer)), word(terms), hexToBytes(questionHash)));
}

/** keccak256 of the seats' words, one after the other. */
export function committeeHash(committee: readonly SeatInfo[]): Digest {
  return keccak256(concat(...committee.map((seat) => word(packSeat(seat)))));
}

/** The number of `Status` in contracts/types/Types.sol. */
export function statusCode(status: DecisionStatus): number {
  switch (status) {
    case "decided":
      return 3;
    case "hung":
      return 4;
  }
}

/** EIP-712 digest that a seat signs to certify a decision. */
export function decisionDigest(attempt: Attempt, decision: Decision): Digest {
  return typedDataDigest(attempt.domain, decisionStructHash(attempt, decision));
}

/** The EIP-712 struct hash of a decision, which its round's link covers. */
export function decisionStructHash(attempt: Hashed, decision: Decision): Digest {
  const { request, committee } = hashesOf(attempt);
  return decisionInSlot(request, committee, decision, hashedDecision(decision));
}

export function hashedDecision(decision: Decision): HashedDecision {
  const { status, outcome, answer, confidence, transcript, reputationChanges, shares } = decision;
  return {
    status: statusCode(status),
    outcome,
    answerHash: keccak256(utf8(answer)),
    confidence,
    transcript,
    reputationChangesHash: keccak256(encodeReputationChanges(reputationChanges)),
    sharesHash: keccak256(encodeShares(shares)),
  };
}

/** The digest of a decision from hashes alone, as proofs of equivocation give them. */
export function decisionSlotDigest(domain: Domain, slot: DecisionSlot, decision: HashedDecision): Digest {
  const [request, committee] = [hexToBytes(slot.requestHash), hexToBytes(slot.committeeHash)];
  return typedDataDigest(domain, decisionInSlot(request, committee, slot, decision));
}

function decisionInSlot(
  request: Uint8Array,
  committee: Uint8Array,
  { attempt, round }: Pick<DecisionSlot, "attempt" | "round">,
  decision: HashedDecision,
): Digest {
  return structHash(DECISION_TYPE, [
    request,
    word(uint(BigInt(attempt), 32n)),
    committee,
    word(uint(BigInt(round), 32n)),
    word(uint(BigInt(decision.status), 8n)),
    hexToBytes(decision.outcome),
    hexToBytes(decision.answerHash),
    word(uint(BigInt(decision.confidence), 32n)),
    hexToBytes(decision.transcript),
    hexToBytes(decision.reputationChangesHash),
    hexToBytes(decision.sharesHash),
  ]);
}

/**
 * EIP-712 digest that a seat signs to send a message about the attempt. It covers the question and the committee: after a
 * reorganization of the chain the same ids can stand for others, and nobody must then have signed two messages for one place.
 */
export function messageDigest(attempt: Attempt, header: Header): Digest {
  const { request, committee } = hashesOf(attempt);
  return digestInSlot(attempt.domain, request, committee, header, header.payloadDigest);
}

/** The same from the hashes alone, as proofs of equivocation give them. */
export function slotDigest(domain: Domain, slot: MessageSlot, payloadDigest: Digest): Digest {
  return digestInSlot(domain, hexToBytes(slot.requestHash), hexToBytes(slot.committeeHash), slot, payloadDigest);
}

function digestInSlot(
  domain: Domain,
  request: Uint8Array,
  committee: Uint8Array,
  { attempt, protocol, phase, round, seat }: Omit<MessageSlot, "requestHash" | "committeeHash">,
  payloadDigest: Digest,
): Digest {
  const numbers = [attempt, protocol, phase, round, seat].map((one) => word(uint(BigInt(one), 32n)));
  return typedDataDigest(domain, structHash(MESSAGE_TYPE, [request, committee, ...numbers, hexToBytes(payloadDigest)]));
}

/** Pairs of bytes (seat, int8 steps). Throws unless seats ascend strictly and every step is in -128..-1 or +1. */
export function encodeReputationChanges(changes: ReputationChanges): Uint8Array {
  const bytes = Uint8Array.from(changes.flatMap(({ seat, steps }) => [seat, steps & 0xff]));
  const decoded = decodeReputationChanges(bytes);
  const same = decoded?.every(
    (change, index) => change.seat === changes[index]?.seat && change.steps === changes[index].steps,
  );
  if (same !== true) throw new RangeError("encodeReputationChanges: a seat or a step is out of range or out of order");
  return bytes;
}

/** Null when the bytes are not what `encodeReputationChanges` yields. */
export function decodeReputationChanges(bytes: Uint8Array): ReputationChanges | null {
  if (bytes.length % 2 !== 0) return null;
  const changes: ReputationChanges[number][] = [];
  for (let index = 0; index < bytes.length; index += 2) {
    const seat = bytes[index] as number;
    const unsigned = bytes[index + 1] as number;
    const steps = unsigned > 127 ? unsigned - 256 : unsigned;
    const previous = changes.at(-1)?.seat ?? -1;
    if (seat <= previous || steps === 0 || steps > 1) return null;
    changes.push({ seat: seat as SeatIndex, steps });
  }
  return changes;
}

/** One byte per seat. Throws when a share is not in 0..255. */
export function encodeShares(shares: readonly number[]): Uint8Array {
  if (!shares.every((share) => Number.isInteger(share) && share >= 0 && share <= 255)) {
    throw new RangeError("encodeShares: a share is not an integer in 0..255");
  }
  return Uint8Array.from(shares);
}

export function decodeShares(bytes: Uint8Array): readonly number[] {
  return [...bytes];
}

/** @param publicKey uncompressed without prefix, 64 bytes */
export function publicKeyToAddress(publicKey: Uint8Array): Address {
  if (publicKey.length !== 64) throw new RangeError(`publicKeyToAddress: ${publicKey.length} bytes are not 64`);
  return bytesToHex(keccak_256(publicKey).subarray(12)) as Address;
}

/** Who signed; null for a malformed signature, a high s, or a v other than 27 and 28 (as the contract's verifier). */
export function recoverSigner(digest: Digest, signature: Hex): Address | null {
  if (!isHex(signature, 65)) return null;
  const publicKey = secp256k1.recover(hexToBytes(digest), hexToBytes(signature));
  return publicKey === null ? null : publicKeyToAddress(publicKey);
}

/** What `recoverSigner` takes. Throws a RangeError when the key is not 32 bytes in [1, n). */
export function signDigest(digest: Digest, secret: Uint8Array): Hex {
  return bytesToHex(secp256k1.sign(hexToBytes(digest), secret));
}

interface AttemptHashes {
  readonly request: Uint8Array;
  readonly committee: Uint8Array;
}

type Hashed = Pick<Attempt, "request" | "committee">;

const hashesOfAttempts = new WeakMap<Hashed, AttemptHashes>();

/** Computed once per attempt, which never changes. */
function hashesOf(attempt: Hashed): AttemptHashes {
  let hashes = hashesOfAttempts.get(attempt);
  if (hashes === undefined) {
    const request = hexToBytes(requestHash(attempt.request));
    hashesOfAttempts.set(attempt, (hashes = { request, committee: hexToBytes(committeeHash(attempt.committee)) }));
  }
  return hashes;
}

const typeHashes = new Map<string, Uint8Array>();
const separators = new WeakMap<Domain, Uint8Array>();

/** Hashes of the few fixed types and of a domain are computed once. */
function structHash(type: string, words: readonly Uint8Array[]): Digest {
  return keccak256(concat(typeHash(type), ...words));
}

function typedDataDigest(domain: Domain, struct: Digest): Digest {
  return keccak256(concat(Uint8Array.of(0x19, 0x01), separatorOf(domain), hexToBytes(struct)));
}

function typeHash(type: string): Uint8Array {
  let hash = typeHashes.get(type);
  if (hash === undefined) typeHashes.set(type, (hash = keccak_256(utf8(type))));
  return hash;
}

function separatorOf(domain: Domain): Uint8Array {
  let separator = separators.get(domain);
  if (separator === undefined) {
    const fixed = [typeHash(DOMAIN_TYPE), typeHash("Conclave"), typeHash("1")];
    separator = keccak_256(concat(...fixed, word(BigInt(domain.chainId)), word(BigInt(domain.oracle))));
    separators.set(domain, separator);
  }
  return separator;
}

/** An unsigned number as 32 bytes, big-endian. */
export function word(value: bigint): Uint8Array {
  return fromHex(uint(value, 256n).toString(16).padStart(64, "0"));
}

/** TR5: a request id as 16 bytes, big-endian. Throws when it is negative or above 2^128 - 1. */
export function encodeRequestId(id: RequestId): Uint8Array {
  return fromHex(uint(id, 128n).toString(16).padStart(32, "0"));
}

/** The inverse of `encodeRequestId`; null for anything but 16 bytes. */
export function decodeRequestId(value: unknown): RequestId | null {
  return value instanceof Uint8Array && value.length === 16 ? (BigInt(bytesToHex(value)) as RequestId) : null;
}

function uint(value: bigint, bits: bigint): bigint {
  if (value < 0n || value >= 1n << bits) throw new RangeError(`${value} is not an unsigned integer of ${bits} bits`);
  return value;
}
