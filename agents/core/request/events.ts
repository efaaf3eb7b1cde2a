import type { Address, AgentId, Decision, Digest, Hex, Request, RequestId, Round, SeatInfo } from "../types.ts";

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
        /** Null if the last committee hung or did not answer in time, and another one is tried. */
        readonly appellant: Address | null;
        readonly bond: bigint;
      }
    | { readonly kind: "seedRescheduled"; readonly requestId: RequestId; readonly seedBlock: bigint }
    | {
        readonly kind: "committeeDrawn";
        readonly requestId: RequestId;
        readonly attempt: number;
        readonly committee: readonly SeatInfo[];
      }
    | {
        readonly kind: "decisionCommitted";
        readonly requestId: RequestId;
        readonly decision: Decision;
        readonly relay: Relay;
      }
    | { readonly kind: "decisionProvisional"; readonly requestId: RequestId; readonly round: Round }
    | { readonly kind: "decisionFinalized"; readonly requestId: RequestId; readonly attempt: number }
    | { readonly kind: "requestRefunded"; readonly requestId: RequestId }
    | { readonly kind: "agentsChanged"; readonly agentId: AgentId }
  );

export type RequestStatus = "none" | "requested" | "drawn" | "decided" | "hung" | "refunded";

export interface RequestState {
  readonly status: RequestStatus;
  /** The latest attempt. If a decision became final because nobody answered a later attempt, this is the later one. */
  readonly attempt: number;
  /** The decision can be appealed against, or finalized after the deadline of its round. */
  readonly provisional: boolean;
  readonly callbackPending: boolean;
  /** The escrow has been distributed. */
  readonly settled: boolean;
}

/** The chain event that brings a decision. */
export type CommittedDecision = Extract<ChainEvent, { kind: "decisionCommitted" }>;

/** The part of the oracle's stored word that covers neither request nor round, while nobody has decided. */
export type Witness =
  | { readonly kind: "requested"; readonly seedBlock: bigint }
  | { readonly kind: "drawn"; readonly attempt: number; readonly committeeHash: Digest };
