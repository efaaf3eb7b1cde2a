// The EIP-712 types and packed words of the contracts, computed with ethers. Only the table of layouts and the curve are shared with
// the agents' core, so that tests and vectors compare three implementations.
import {
  AbiCoder,
  Signature,
  SigningKey,
  computeAddress,
  concat,
  dataLength,
  getBytes,
  hexlify,
  id,
  keccak256,
  toBeHex,
} from "ethers";
import type { BytesLike, TypedDataField } from "ethers";
import { LAYOUTS, placeOf, type Layout, type Field } from "../../../agents/core/encoding/layouts.ts";
import { secp256k1 } from "../../../agents/core/encoding/secp256k1.ts";

type Types = Record<string, TypedDataField[]>;

/** First byte of a public key of 65 bytes. */
const UNCOMPRESSED = 4;

export const messageTypes: Types = {
  Message: [
    { name: "requestHash", type: "bytes32" },
    { name: "committeeHash", type: "bytes32" },
    { name: "attempt", type: "uint32" },
    { name: "protocol", type: "uint32" },
    { name: "phase", type: "uint32" },
    { name: "round", type: "uint32" },
    { name: "seat", type: "uint32" },
    { name: "payloadDigest", type: "bytes32" },
  ],
};

export const decisionTypes: Types = {
  Decision: [
    { name: "requestHash", type: "bytes32" },
    { name: "attempt", type: "uint32" },
    { name: "committeeHash", type: "bytes32" },
    { name: "round", type: "uint32" },
    { name: "status", type: "uint8" },
    { name: "outcome", type: "bytes32" },
    { name: "answer", type: "bytes" },
    { name: "confidence", type: "uint32" },
    { name: "answered", type: "uint64" },
    { name: "agreed", type: "uint64" },
    { name: "transcript", type: "bytes32" },
    { name: "reputationChanges", type: "bytes" },
    { name: "shares", type: "bytes" },
  ],
};

export const possessionTypes: Types = {
  Possession: [
    { name: "operator", type: "address" },
    { name: "publicKey", type: "bytes" },
  ],
};

export const permitTypes: Types = {
  Permit: [
    { name: "owner", type: "address" },
    { name: "spender", type: "address" },
    { name: "value", type: "uint256" },
    { name: "nonce", type: "uint256" },
    { name: "deadline", type: "uint256" },
  ],
};

/** `Status` of contracts/types/Types.sol. */
export const Status = {
  None: 0,
  Requested: 1,
  Decided: 2,
  Hung: 3,
  Unanswerable: 4,
  TooEarly: 5,
  Refunded: 6,
} as const;

/** `Currency` of contracts/types/Types.sol. */
export const Currency = { Token: 0, Native: 1 } as const;

/** `Terms` of contracts/types/Types.sol; the fee as a decimal string or bigint. */
export type Terms = { readonly [Name in Exclude<Field<typeof LAYOUTS.requestTerms>, "fee">]: number } & {
  readonly fee: bigint | string;
};

/** Terms that are all 0, the code of the first kind, assurance and currency. */
export const zeroTerms = Object.fromEntries(LAYOUTS.requestTerms.map(([name]) => [name, 0])) as unknown as Terms;

/** The value in 32 bytes, big endian. */
export const word = (value: bigint): string => toBeHex(value, 32);

/** Joins the fields of a word, each of which must fit its bits. */
export const packWord = <const L extends Layout>(
  layout: L,
  fields: Readonly<Record<Field<L>, bigint | number | string>>,
): bigint => layout.reduce((packed, [name, bits]) => (packed << BigInt(bits)) | BigInt(fields[name as Field<L>]), 0n);

/** One field of a packed word. */
export const fieldOf = <const L extends Layout>(layout: L, packed: string | bigint, name: Field<L>): bigint => {
  const { shift, bits } = placeOf(layout, name);
  return BigInt.asUintN(bits, BigInt(packed) >> BigInt(shift));
};

/** The agent of a drawn seat. */
export const agentOf = (seat: string | bigint): bigint => fieldOf(LAYOUTS.seat, seat, "agentId");

export const packTerms = (terms: Terms): string => word(packWord(LAYOUTS.requestTerms, terms));

/** `RequestId` of contracts/types/Types.sol. */
export const packRequestId = (priceVersion: bigint, subscription: bigint, count: bigint): bigint =>
  packWord(LAYOUTS.requestId, { priceVersion, subscription, count });

/** `Round` of contracts/types/Types.sol. */
export interface RoundFields {
  readonly link: bigint;
  readonly appeals: number;
  readonly deadline: number;
}

export const packRound = (fields: RoundFields): string => word(packWord(LAYOUTS.round, fields));

export const unpackRound = (packed: string): RoundFields => ({
  link: fieldOf(LAYOUTS.round, packed, "link"),
  appeals: Number(fieldOf(LAYOUTS.round, packed, "appeals")),
  deadline: Number(fieldOf(LAYOUTS.round, packed, "deadline")),
});

/** `skill`: 2 is that of an agent about which nothing was learned. */
export const packSeat = (agentId: number, reputation: number, signer: string, skill = 2): string =>
  word(packWord(LAYOUTS.seat, { skill, agentId, reputation, signer }));

export const hashCommittee = (words: readonly string[]): string => keccak256(concat(words));

/** Decision that a committee signs, with each field by itself. */
export interface SignedDecision {
  readonly attempt: number;
  readonly round: number;
  readonly status: number;
  readonly outcome: string;
  readonly answer: string;
  readonly confidence: number;
  /** The seats that the decision teaches about, and those of them that agree, as bits. */
  readonly answered: bigint | string;
  readonly agreed: bigint | string;
  readonly transcript: string;
  readonly reputationChanges: string;
  readonly shares: string;
}

/** `Decision` of contracts/types/Types.sol: the same in calldata. */
export const packDecision = (decision: SignedDecision) => ({
  head: packHead(decision),
  outcome: decision.outcome,
  transcript: decision.transcript,
  answer: decision.answer,
  merits: concat([decision.shares, decision.reputationChanges]),
});

const packHead = ({ shares, ...head }: SignedDecision): string =>
  word(packWord(LAYOUTS.decisionHead, { ...head, seats: dataLength(shares) }));

/** `Relay` of contracts/types/Types.sol. */
export const packRelay = (signers: bigint, gasPriceWei: bigint, relayer: string): string => {
  const units = gasPriceWei / 1_000_000n;
  const price = units < 1n << 32n ? units : (1n << 32n) - 1n;
  return word(packWord(LAYOUTS.relay, { signers, gasPrice: price, relayer }));
};

/** `Request` of contracts/types/Types.sol. */
export interface RequestWitness {
  readonly id: bigint;
  readonly consumer: string;
  readonly terms: string;
  readonly questionHash: string;
}

const coder = AbiCoder.defaultAbiCoder();

export const hashRequest = (request: RequestWitness): string =>
  keccak256(
    coder.encode(
      ["uint256", "address", "uint256", "bytes32"],
      [request.id, request.consumer, request.terms, request.questionHash],
    ),
  );

/** Fields of a round that the link of the next round hashes. */
export interface PastFields {
  readonly round: string;
  readonly committeeHash: string;
  readonly structHash: string;
  readonly relay: string;
  readonly appellant: string;
}

/** Number of the lowest bits of a hash that a link leaves out. */
const LINK_CUT = 256n - BigInt(placeOf(LAYOUTS.round, "link").bits);

/** The link of the round after this one: the upper 208 bits of a hash. */
export const linkAfter = ({ round, committeeHash, structHash, relay, appellant }: PastFields): bigint => {
  const types = ["uint256", "bytes32", "bytes32", "uint256", "address"];
  return BigInt(keccak256(coder.encode(types, [round, committeeHash, structHash, relay, appellant]))) >> LINK_CUT;
};

/** Commitment stored for a decided request. */
export const settledCommitment = (structHash: string, relay: string, round: string): string =>
  keccak256(coder.encode(["bytes32", "uint256", "uint256"], [structHash, relay, round]));

/** Commitment stored for a request that waits for a decision. */
export const requestedCommitment = (requestHash: string, round: string, seedBlock: bigint): string =>
  keccak256(coder.encode(["bytes32", "uint256", "uint64"], [requestHash, round, seedBlock]));

/** A key of ethers that signs with the fastest curve of the machine: that of ethers takes a millisecond for each signature. */
class FastKey extends SigningKey {
  readonly #secret = getBytes(this.privateKey);
  readonly #publicKey = hexlify(Uint8Array.of(UNCOMPRESSED, ...secp256k1.publicKey(this.#secret)));

  override get publicKey(): string {
    return this.#publicKey;
  }

  override sign(digest: BytesLike): Signature {
    return Signature.from(hexlify(secp256k1.sign(getBytes(digest), this.#secret)));
  }
}

/** A key for tests, reproducible from its label. */
export const testKey = (label: string): SigningKey => new FastKey(id(label));

/** Public key of 64 bytes: uncompressed, without the 0x04. */
export const publicKeyOf = (key: SigningKey): string => `0x${key.publicKey.slice(4)}`;

export const addressOf = (key: SigningKey): string => computeAddress(key.publicKey);

export const bitmapOf = (seats: readonly number[]): bigint =>
  seats.reduce((bits, seat) => bits | (1n << BigInt(seat)), 0n);

/** A certificate of the given seats as contracts/libraries/CertificateLib.sol packs it. */
export const certify = (digest: string, signers: readonly number[], keyOf: (seat: number) => SigningKey): string =>
  concat([
    toBeHex(bitmapOf(signers), 8),
    ...signers.toSorted((a, b) => a - b).map((seat) => keyOf(seat).sign(digest).compactSerialized),
  ]);
