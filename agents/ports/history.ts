import type { Address, AgentId, AnswerKind, Currency, DecisionStatus, Hex, Ppm, RequestId } from "../core/types.ts";
import type { RequestStatus } from "../core/request/events.ts";

// What happened on chain, for people: from a subgraph, or from the events that were read.

export type PastStatus = Exclude<RequestStatus, "none">;

/** All fields have to match; null matches anything. */
export interface HistoryFilter {
  /** An agent that sat on a committee of the request that brought a decision. */
  readonly agentId: AgentId | null;
  readonly consumer: Address | null;
  /** On-chain code. */
  readonly protocol: number | null;
  readonly statuses: readonly PastStatus[] | null;
  /** Unix seconds: asked at this time or later. */
  readonly since: number | null;
  /** Unix seconds: asked at this time or before. */
  readonly until: number | null;
}

export interface PageWanted {
  readonly limit: number;
  /** `next` of the page before; null for the newest. */
  readonly cursor: string | null;
}

export interface RequestPage {
  /** The newest first. */
  readonly requests: readonly PastRequest[];
  /** Where the next page begins; null on the last page. */
  readonly next: string | null;
}

export interface PastRequest {
  readonly requestId: RequestId;
  /** Unix seconds at which it was asked. */
  readonly time: number;
  readonly transaction: Hex;
  readonly consumer: Address;
  /** On-chain code. */
  readonly protocol: number;
  readonly kind: AnswerKind;
  readonly currency: Currency;
  readonly fee: bigint;
  readonly question: string;
  readonly status: PastStatus;
  readonly provisional: boolean;
  readonly settled: boolean;
  /** The latest attempt. */
  readonly attempt: number;
  /** The final decision, or the latest one. */
  readonly decision: PastDecision | null;
}

export interface PastDecision {
  readonly attempt: number;
  readonly status: DecisionStatus;
  /** Empty unless decided. */
  readonly answer: string;
  readonly confidence: Ppm;
  /** CID of the transcript's root. */
  readonly transcript: string;
  /** Agents whose signatures were submitted, by seat. */
  readonly signers: readonly { readonly seat: number; readonly agentId: AgentId }[];
}

/** In the smallest units. */
export type Amounts = Readonly<Record<Currency, bigint>>;

/** An agent's record. Each list has the newest entries, the newest first. */
export interface AgentHistory {
  readonly agentId: AgentId;
  readonly operator: Address;
  readonly signer: Address;
  readonly model: string;
  /** Comma separated multiaddrs. */
  readonly endpoint: string;
  readonly reputation: Ppm;
  readonly active: boolean;
  readonly exited: boolean;
  /** Settled requests that the agent was paid for, up to 16. */
  readonly services: number;
  /** SK4: contested decisions that count for its skill, and in how many of them its blind answer agreed. */
  readonly contested: number;
  readonly agreed: number;
  readonly bonded: bigint;
  readonly unbonding: bigint;
  readonly commission: Ppm;
  /** All stake behind the agent that was ever slashed. */
  readonly slashed: bigint;
  /** Seats in committees that brought a decision. */
  readonly seatCount: number;
  /** Decisions that were submitted with its signature. */
  readonly signatureCount: number;
  readonly earned: Amounts;
  /** Unix seconds. */
  readonly registeredAt: number;
  readonly reputationChanges: readonly PastReputationChange[];
  readonly seats: readonly PastSeat[];
  readonly pay: readonly PastPay[];
  readonly slashes: readonly PastSlash[];
  /** How its first answers compare with the decisions that stood, by the decisions' confidence, the lowest first. */
  readonly reliability: readonly ReliabilityPoint[];
}

export interface ReliabilityPoint {
  /** Confidence of the decisions in whole tenths, 0 to 9; 9 includes full confidence. */
  readonly tenth: number;
  /** Its answers at the top tier, and those below it: how many agreed, and how many were outvoted. */
  readonly sure: { readonly agreed: number; readonly outvoted: number };
  readonly unsure: { readonly agreed: number; readonly outvoted: number };
}

export interface PastReputationChange {
  /** The request whose settlement applied the change. */
  readonly requestId: RequestId;
  /** Negative: number of slashes, a fifth each. Positive: recovery. */
  readonly steps: number;
  readonly before: Ppm;
  readonly after: Ppm;
  readonly time: number;
  readonly transaction: Hex;
}

export interface PastSeat {
  readonly requestId: RequestId;
  readonly attempt: number;
  readonly seat: number;
  readonly protocol: number;
  /** Unix seconds of the decision. */
  readonly time: number;
  /** Decision of its committee: the chain names no committee without one. */
  readonly decision: {
    readonly status: DecisionStatus;
    readonly signed: boolean;
    readonly steps: number;
    readonly share: number;
  };
}

export interface PastPay {
  readonly requestId: RequestId;
  readonly attempt: number;
  readonly seat: number;
  readonly currency: Currency;
  readonly amount: bigint;
  readonly time: number;
  readonly transaction: Hex;
}

/** Faults that an agent was slashed for. All fields have to match; null matches anything. */
export interface FaultFilter {
  readonly agentId: AgentId | null;
  readonly requestId: RequestId | null;
}

/** A fault of an agent, whose proof the slasher took. */
export interface PastFault {
  readonly agentId: AgentId;
  readonly requestId: RequestId;
  readonly attempt: number;
  /** Two messages or two decisions that the agent signed for one place, or an overturned decision that it certified. */
  readonly fault: "messages" | "decisions" | "overturned";
  /** Stake that the agent lost, bonded and unbonding, in the smallest unit; 0 if there was nothing to take. */
  readonly cost: bigint;
  /** The reporter's part of the cost. 0 for an overturned decision, whose appellants are paid once for all its seats. */
  readonly reward: bigint;
  /** Who submitted the proof; for an overturned decision who appealed against it. */
  readonly reporter: Address;
  /** Unix seconds. */
  readonly time: number;
  /** The transaction that carries the proof. */
  readonly transaction: Hex;
}

export interface PastSlash {
  /** Null if the subgraph knows no evidence for the slash. */
  readonly requestId: RequestId | null;
  readonly attempt: number | null;
  readonly fault: PastFault["fault"] | null;
  readonly bonded: bigint;
  readonly unbonding: bigint;
  readonly reporter: Address;
  readonly time: number;
  readonly transaction: Hex;
}

/** The money of a request, all in one currency and its smallest unit. What a later committee decides may still add to it until it is settled. */
export interface RequestMoney {
  readonly requestId: RequestId;
  readonly currency: Currency;
  /** What its asker paid. */
  readonly fee: bigint;
  /** What went back to the asker: at the end, and with the pay of callers. */
  readonly refund: bigint;
  readonly settled: boolean;
  readonly seats: readonly {
    readonly attempt: number;
    readonly seat: number;
    readonly agentId: AgentId;
    readonly amount: bigint;
  }[];
  /** By rounds: what the treasury got, and who submitted the certificate. */
  readonly rounds: readonly {
    readonly attempt: number;
    readonly treasury: bigint;
    readonly relayer: Address;
    readonly relayerPay: bigint;
  }[];
  /** Who replaced, finalized, ended or settled it, for the gas. */
  readonly callers: readonly { readonly caller: Address; readonly amount: bigint }[];
}

/** Sums of events, each counted when it happened. */
export interface Sums {
  readonly requests: number;
  /** Committees that were called, also those that did not answer. */
  readonly committees: number;
  readonly decided: number;
  readonly hung: number;
  readonly unanswerable: number;
  readonly tooEarly: number;
  readonly refunded: number;
  readonly settled: number;
  readonly appeals: number;
  readonly appealsUpheld: number;
  readonly callbacksFailed: number;
  readonly evidence: number;
  readonly fees: Amounts;
  readonly refunds: Amounts;
  readonly pay: Amounts;
  readonly treasury: Amounts;
  readonly relayers: Amounts;
}

export interface Statistics {
  readonly agents: number;
  readonly activeAgents: number;
  /** Null before the first request. */
  readonly all: Sums | null;
  readonly protocols: readonly (Sums & { readonly protocol: number })[];
  /** The newest first; days since 1970, UTC. */
  readonly days: readonly (Sums & { readonly day: number })[];
}
