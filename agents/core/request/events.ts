import { DECISION_STATUSES } from "../types.ts";
import type { Address, AgentId, Decision, Hex, Request, RequestId, Round, SeatInfo } from "../types.ts";

interface LogPosition {
  readonly blockNumber: bigint;
  readonly blockHash: Hex;
  readonly logIndex: number;
  readonly transactionHash: Hex;
}

/** The seats that signed a decision, and its gas price. Later calls about the decision need them again, as its event states them. */
export interface Relay {
  /** Bit i = seat i. */
  readonly signers: bigint;
  /** Wei per gas, rounded down to 10^6; at most about 4,295 gwei. */
  readonly gasPrice: bigint;
  readonly relayer: Address;
}

/** A round of a request with its decision, as later calls take it. */
export interface DecidedRound {
  /** The round when the decision was made. For a provisional decision it states the end of the appeal period. */
  readonly round: Round;
  readonly committee: readonly SeatInfo[];
  readonly decision: Decision;
  readonly relay: Relay;
  /** The account that appealed against the decision; null if nobody did, or if the decision hung and was retried. */
  readonly appellant: Address | null;
}

/** A round whose decision is awaited. It names its committee, which is a function of what the chain holds. */
export interface AwaitedRound {
  readonly round: Round;
  readonly attempt: number;
  /** The block whose randomness picks the committee. */
  readonly seedBlock: bigint;
  /** The rounds before this one, from the first; an attempt that nobody answered leaves no round. */
  readonly past: readonly DecidedRound[];
}

/** Events an agent acts on, in chain order. */
export type ChainEvent = LogPosition &
  (
    | { readonly kind: "requested"; readonly request: Request; readonly round: Round; readonly seedBlock: bigint }
    | {
        readonly kind: "requestReopened";
        readonly requestId: RequestId;
        readonly attempt: number;
        readonly round: Round;
        readonly seedBlock: bigint;
        /** Null if another committee is tried, because the last one hung or was late. */
        readonly appellant: Address | null;
        readonly bond: bigint;
      }
    | {
        readonly kind: "decisionCommitted";
        readonly requestId: RequestId;
        readonly committee: readonly SeatInfo[];
        readonly decision: Decision;
        readonly relay: Relay;
      }
    | { readonly kind: "decisionProvisional"; readonly requestId: RequestId; readonly round: Round }
    | { readonly kind: "decisionFinalized"; readonly requestId: RequestId; readonly attempt: number }
    | {
        /** The request ended as hung: an earlier round has a decision, and nobody answered the attempt after it. */
        readonly kind: "attemptUnanswered";
        readonly requestId: RequestId;
        readonly attempt: number;
        /** The account whose appeal had called the committee; null for a retry. */
        readonly appellant: Address | null;
        /** What the appellant got back. */
        readonly bond: bigint;
      }
    | { readonly kind: "requestRefunded"; readonly requestId: RequestId }
    | { readonly kind: "agentsChanged"; readonly agentId: AgentId }
  );

/** In the order of the on-chain codes. */
export const REQUEST_STATUSES = ["none", "requested", ...DECISION_STATUSES, "refunded"] as const;
export type RequestStatus = (typeof REQUEST_STATUSES)[number];

export interface RequestState {
  readonly status: RequestStatus;
  /** The latest attempt. Later than the one of the last decision if nobody answered it. */
  readonly attempt: number;
  /** The decision can be appealed against, or finalized after the deadline of its round. */
  readonly provisional: boolean;
  readonly callbackPending: boolean;
  /** The escrow has been distributed. */
  readonly settled: boolean;
}

/** The chain event that brings a decision. */
export type CommittedDecision = Extract<ChainEvent, { kind: "decisionCommitted" }>;
