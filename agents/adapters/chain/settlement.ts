import { bytesToHex, concat, hexToBytes, word } from "../../core/encoding/bytes.ts";
import { LAYOUTS, greatestOf, placeOf } from "../../core/encoding/layouts.ts";
import {
  bitsOf,
  decisionStatusOf,
  decodeReputationChanges,
  decodeShares,
  encodeReputationChanges,
  encodeShares,
  packWord,
  seatsOfBits,
  statusCode,
  unpackWord,
} from "../../core/encoding/words.ts";
import { limits } from "../../core/limits.ts";
import {
  ONE_PPM,
  type Address,
  type Certificate,
  type Decision,
  type Hex,
  type Outcome,
  type Ppm,
} from "../../core/types.ts";
import type { Relay } from "../../core/request/events.ts";

/** The packed words and bytes of a settlement, as contracts/libraries/{DecisionHeadLib,RelayLib,CertificateLib}.sol read them. */
export type DecisionHead = Pick<Decision, "status" | "attempt" | "round" | "confidence" | "answered" | "agreed"> & {
  /** Size of the committee. */
  readonly seats: number;
};

type Merits = Pick<Outcome, "shares" | "reputationChanges">;

const GAS_PRICE_UNIT = 1_000_000n;
const STATUS_SHIFT = BigInt(placeOf(LAYOUTS.decisionHead, "status").shift);
/** The highest gas price that fits a relay, in units of 10^6 wei. */
const MAX_GAS_PRICE = greatestOf(LAYOUTS.relay, "gasPrice");
/** Bytes of the signers. */
const CERTIFICATE_HEAD_BYTES = 8;
const COMPACT_BYTES = 64;

/** Packs the head of a decision. Throws if a member does not fit its bits, which no protocol yields. */
export function packHead(head: DecisionHead): bigint {
  return packWord(LAYOUTS.decisionHead, {
    ...head,
    status: statusCode(head.status),
    answered: bitsOf(head.answered),
    agreed: bitsOf(head.agreed),
  });
}

/** Unpacks the head of a decision; a string says why the word is not one. */
export function unpackHead(packed: bigint): DecisionHead | string {
  // The highest member keeps the bits above it, so that they make it an unknown status.
  const code = Number(packed >> STATUS_SHIFT);
  const status = decisionStatusOf(code);
  if (status === null) return `the status ${code} is that of no decision`;
  const { attempt, seats, round, confidence, answered, agreed } = unpackWord(LAYOUTS.decisionHead, packed);
  if (confidence > ONE_PPM) return `the confidence ${confidence} exceeds one million`;
  return {
    status,
    attempt: Number(attempt),
    seats: Number(seats),
    round: Number(round),
    confidence: Number(confidence) as Ppm,
    answered: seatsOfBits(answered),
    agreed: seatsOfBits(agreed),
  };
}

/** Packs one share per seat, then the reputation changes. */
export function packMerits({ shares, reputationChanges }: Merits): Uint8Array {
  return concat(encodeShares(shares), encodeReputationChanges(reputationChanges));
}

/** Unpacks shares and changes; null if there are fewer bytes than seats or the changes are malformed. */
export function unpackMerits(bytes: Uint8Array, seats: number): Merits | null {
  if (bytes.length < seats) return null;
  const reputationChanges = decodeReputationChanges(bytes.subarray(seats));
  return reputationChanges === null ? null : { shares: decodeShares(bytes.subarray(0, seats)), reputationChanges };
}

/** Packs a relay. The gas price is rounded down to 10^6 wei and saturates, as in the contract. */
export function packRelay({ signers, gasPrice, relayer }: Relay): bigint {
  const units = gasPrice / GAS_PRICE_UNIT;
  const price = units < MAX_GAS_PRICE ? units : MAX_GAS_PRICE;
  return packWord(LAYOUTS.relay, { signers, gasPrice: price, relayer: BigInt(relayer) });
}

export function unpackRelay(packed: bigint): Relay {
  const { signers, gasPrice } = unpackWord(LAYOUTS.relay, packed);
  const relayer = bytesToHex(word(packed).subarray(12)) as Address;
  return { signers, gasPrice: gasPrice * GAS_PRICE_UNIT, relayer };
}

/**
 * Packs the signers and their signatures in seat order; 65-byte signatures become compact ones (EIP-2098). Throws a
 * RangeError unless each has 65 bytes, a low s and v 27 or 28.
 */
export function packCertificate(signatures: Certificate["signatures"]): Uint8Array {
  const inOrder = signatures.toSorted((one, other) => one.seat - other.seat);
  const signers = word(bitsOf(signatures.map(({ seat }) => seat))).subarray(32 - CERTIFICATE_HEAD_BYTES);
  return concat(signers, ...inOrder.map(({ signature }) => toCompact(signature)));
}

/** Returns the signatures with 65 bytes each; null if the bytes are no certificate of a committee of this size. */
export function unpackCertificate(bytes: Uint8Array, seats: number): Certificate["signatures"] | null {
  if (bytes.length < CERTIFICATE_HEAD_BYTES || seats > limits.maxCommittee) return null;
  const signers = BigInt(bytesToHex(bytes.subarray(0, CERTIFICATE_HEAD_BYTES)));
  if (signers >> BigInt(seats) !== 0n) return null;
  const signed = seatsOfBits(signers);
  if (bytes.length !== CERTIFICATE_HEAD_BYTES + signed.length * COMPACT_BYTES) return null;
  return signed.map((seat, index) => {
    const start = CERTIFICATE_HEAD_BYTES + index * COMPACT_BYTES;
    return { seat, signature: fromCompact(bytes.subarray(start, start + COMPACT_BYTES)) };
  });
}

function toCompact(signature: Hex): Uint8Array {
  const bytes = hexToBytes(signature);
  const [v, highest] = [bytes[64], bytes[32]];
  if (bytes.length !== 65 || (v !== 27 && v !== 28) || highest === undefined || highest > 127)
    throw new RangeError(`toCompact: ${signature} is not 65 bytes of r, a low s and v`);
  const compact = bytes.slice(0, COMPACT_BYTES);
  compact[32] = highest | ((v - 27) << 7);
  return compact;
}

function fromCompact(compact: Uint8Array): Hex {
  const highest = compact[32] as number;
  const bytes = concat(compact, Uint8Array.of(27 + (highest >> 7)));
  bytes[32] = highest & 127;
  return bytesToHex(bytes);
}
