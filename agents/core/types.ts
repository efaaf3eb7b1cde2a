/** The vocabulary of the core. Everything here is an immutable value; parse at the boundary, trust inside. */

declare const brand: unique symbol;
type Brand<T, Name extends string> = T & { readonly [brand]: Name };

/** 0x-prefixed lower-case hex. */
export type Hex = `0x${string}`;
/** 32 bytes. */
export type Digest = Brand<Hex, "Digest">;
/** 20 bytes, lower case. */
export type Address = Brand<Hex, "Address">;
/**
 * Version of the price list << 96 | subscription << 48 | number of the request within that subscription, from 1. Subscription 0 is shared
 * by all who pay directly: under the first price list their ids are 1, 2, 3 ...
 */
export type RequestId = Brand<bigint, "RequestId">;
/** The packed round of a request (agents/core/request/rounds.ts). Every call of the oracle takes it again. */
export type Round = Brand<bigint, "Round">;
/** Consecutive from 1 within one registry. */
export type AgentId = Brand<number, "AgentId">;
/** Index 0..n-1 in the committee. */
export type SeatIndex = Brand<number, "SeatIndex">;
/** Parts per million, an integer in 0..1_000_000. */
export type Ppm = Brand<number, "Ppm">;

/** Full weight, certainty, untouched reputation. */
export const ONE_PPM = 1_000_000 as Ppm;

/** In the order of the on-chain codes, as the lists below. See request/kinds.ts for what each kind is. */
export const ANSWER_KINDS = ["boolean", "choice", "number", "text", "policies"] as const;
export type AnswerKind = (typeof ANSWER_KINDS)[number];
export const ASSURANCES = ["normal", "high"] as const;
export type Assurance = (typeof ASSURANCES)[number];
/** Whether a decision may say that the question has no answer (docs/spec/answers.md). */
export const NON_ANSWER_TERMS = ["accepted", "refused"] as const;
/** Whether the seats' stake stands behind the answer (docs/spec/security.md). */
export const SECURITIES = ["none", "secured"] as const;
/** The oracle's fee token, or the chain's coin. */
export const CURRENCIES = ["token", "native"] as const;
export type Currency = (typeof CURRENCIES)[number];
/** The terms whose values have names. */
export const NAMED_TERMS = {
  kind: ANSWER_KINDS,
  assurance: ASSURANCES,
  nonAnswers: NON_ANSWER_TERMS,
  security: SECURITIES,
  currency: CURRENCIES,
} as const;
export type NamedTerm = keyof typeof NAMED_TERMS;

/** The unpacked `RequestTerms` of contracts/types/Types.sol; same fields, same units. */
export interface Terms {
  /** Covers every committee that may be called, in the smallest unit of the currency. */
  readonly fee: bigint;
  /** Seconds before the first committee is called; 0 = at once. The wait takes one of the retries (SE25). */
  readonly delay: number;
  /**
   * 0: a decision waits for an appeal, if the terms allow any. Else it never waits: it is final if its confidence is at least this many
   * percent, otherwise the oracle calls the larger committee that an appeal would call (SE24).
   */
  readonly finality: number;
  /** Seconds that each committee has to decide, and that a decision then waits for an appeal. */
  readonly duration: number;
  /** The most appeals. */
  readonly appeals: number;
  /** The most hung or silent committees that are replaced. */
  readonly retries: number;
  /** Numbers only: answers agree if they differ by at most this much, in units of 10^-decimals. */
  readonly tolerance: bigint;
  /** Gas for the consumer's callback; 0: no callback. */
  readonly callbackGasLimit: number;
  /** Seats of the first committee. */
  readonly committeeSize: number;
  /** How many seats must accept the answer. */
  readonly assurance: Assurance;
  /** Whether a decision may be that there is no answer; if refused, a committee that finds so hangs. */
  readonly nonAnswers: (typeof NON_ANSWER_TERMS)[number];
  /** Whether stake stands behind the answer. */
  readonly security: (typeof SECURITIES)[number];
  readonly currency: Currency;
  /** Numbers only: how many decimals count. */
  readonly decimals: number;
  /** How many options the question lists, if its kind has options. */
  readonly options: number;
  readonly kind: AnswerKind;
  /** On-chain code of the protocol. */
  readonly protocol: number;
}

export interface Request {
  readonly id: RequestId;
  readonly consumer: Address;
  readonly terms: Terms;
  /** UTF-8 text; its keccak256 is the on-chain questionHash. */
  readonly question: string;
  /** SG10: given where a seat may answer that there is no answer. It follows from the question and the terms (`grounded`). */
  readonly admitsNonAnswers?: true;
  /** SG7: given where the question named sources. It follows from the question (`grounded`). */
  readonly isSourced?: true;
  /** SG11: given where the answer is the number at the only source. It follows from the question and the terms (`grounded`). */
  readonly isDataQuestion?: true;
}

/** `Request` of contracts/types/Types.sol: a request as the contracts take it. */
export interface HashedRequest {
  readonly id: RequestId;
  readonly consumer: Address;
  /** The terms, packed into a word. */
  readonly terms: bigint;
  readonly questionHash: Digest;
}

/** How much a member counts where skill counts. */
export type Skill = 1 | 2 | 3;

/** One member of the committee as drawn: fixed for the attempt, whatever the registry says later. */
export interface SeatInfo {
  readonly agentId: AgentId;
  readonly signer: Address;
  /** The reputation at the draw, in (0, 1_000_000]. */
  readonly reputation: Ppm;
  /** The skill at the draw. */
  readonly skill: Skill;
}

/** EIP-712 domain of the oracle. */
export interface Domain {
  readonly chainId: number;
  readonly oracle: Address;
}

/** Everything the chain fixes for one try at a request. Together with a message set it determines the decision. */
export interface Attempt {
  readonly domain: Domain;
  readonly request: Request;
  /** From 0. */
  readonly attempt: number;
  readonly committee: readonly SeatInfo[];
}

/** Header of a message. All fields but payloadDigest are its slot. A seat may fill a slot once; two digests in one slot are equivocation. */
export interface Header {
  readonly requestId: RequestId;
  readonly attempt: number;
  readonly protocol: number;
  readonly phase: number;
  readonly round: number;
  readonly seat: SeatIndex;
  /** sha2-256 of the dag-cbor encoding of the payload. */
  readonly payloadDigest: Digest;
}

/** The place of a message, as its signature binds it: the request's hash and `MessageSlot` of contracts/interfaces/ISlasher.sol. */
export interface MessageSlot {
  readonly requestHash: Digest;
  readonly committeeHash: Digest;
  readonly attempt: number;
  readonly protocol: number;
  readonly phase: number;
  readonly round: number;
  readonly seat: SeatIndex;
}

/** The place of a seat's signature on a decision: the request's hash and `DecisionSlot` of contracts/interfaces/ISlasher.sol. */
export interface DecisionSlot {
  readonly requestHash: Digest;
  readonly committeeHash: Digest;
  readonly attempt: number;
  /** The ballot of certify. */
  readonly round: number;
}

/** A dag-cbor value: null, boolean, safe integer, string, bytes, array, map. No floats. */
export type Value =
  null | boolean | number | string | Uint8Array | readonly Value[] | { readonly [key: string]: Value };

/** A signed message. Its signature has been verified against the committee. */
export interface Message {
  readonly header: Header;
  readonly payload: Value;
  /** 65 bytes r, s, v over the EIP-712 digest of the header. */
  readonly signature: Hex;
}

/** What stands in place of the share of a seat that said nothing (PY9). */
export const ABSENT = 255;

/** The seat's share of the pay. */
export function shareOf(shares: readonly number[], seat: number): number {
  const share = shares[seat] ?? 0;
  return share === ABSENT ? 0 : share;
}

/** In the order of the on-chain codes: an answer, no consensus, and the two non-answers. */
export const DECISION_STATUSES = ["decided", "hung", "unanswerable", "tooEarly"] as const;
export type DecisionStatus = (typeof DECISION_STATUSES)[number];
/** A decision that the question has no answer: the sources do not tell, or what it asks about is still to come. */
export type NonAnswer = Exclude<DecisionStatus, "decided" | "hung">;

/** The result of a protocol on a message set, before the transcript root and the ballot are known. */
export interface Outcome {
  readonly status: DecisionStatus;
  /** Canonical 32-byte value; zero when hung, and a constant of request/non-answers.ts for a non-answer. */
  readonly outcome: Digest;
  /** Canonical answer text; empty unless decided. */
  readonly answer: string;
  readonly confidence: Ppm;
  /** Sparse, seats ascending: negative = that many slashes, +1 = one recovery step. */
  readonly reputationChanges: readonly { readonly seat: SeatIndex; readonly steps: number }[];
  /** One integer 0..255 per seat; `ABSENT` is no share. */
  readonly shares: readonly number[];
  /** SK2: the seats about which the decision teaches, ascending. */
  readonly answered: readonly SeatIndex[];
  /** Those of them whose blind answers agree. */
  readonly agreed: readonly SeatIndex[];
}

/** The `Decision` of contracts/types/Types.sol. */
export interface Decision extends Outcome {
  readonly attempt: number;
  /** The ballot in which it was precommitted; the wire format calls it the round. */
  readonly round: number;
  /** sha2-256 digest of the transcript's root block. */
  readonly transcript: Digest;
}

/** A decision with the signatures of more than 2/3 of the seats, in ascending seat order. */
export interface Certificate {
  readonly decision: Decision;
  readonly signatures: readonly { readonly seat: SeatIndex; readonly signature: Hex }[];
}

export interface SignedDecision {
  readonly decision: Decision;
  /** 65 bytes r, s, v over the EIP-712 digest of the decision. */
  readonly signature: Hex;
}

/** `DecisionBody` of contracts/interfaces/ISlasher.sol: a decision without its place, its bytes as their keccak256. */
export interface HashedDecision {
  readonly status: number;
  readonly outcome: Digest;
  readonly answerHash: Digest;
  readonly confidence: Ppm;
  /** Bit i is seat i. */
  readonly answered: bigint;
  readonly agreed: bigint;
  readonly transcript: Digest;
  readonly reputationChangesHash: Digest;
  readonly sharesHash: Digest;
}

/** Two messages of one seat in one slot with different payloads: proof of equivocation. */
export interface Evidence {
  readonly first: Message;
  readonly second: Message;
}

/** Two decisions that one seat signed in one ballot of an attempt: proof of equivocation, too. */
export interface DecisionConflict {
  readonly seat: SeatIndex;
  readonly first: SignedDecision;
  readonly second: SignedDecision;
}
