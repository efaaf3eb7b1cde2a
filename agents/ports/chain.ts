import type { ConclaveError } from "../core/errors.ts";
import type { ChainEvent, DecidedRound, RequestState, Witness } from "../core/request/events.ts";
import type { Head } from "../core/request/progress.ts";
import type {
  Address,
  AgentId,
  Certificate,
  Currency,
  DecisionSlot,
  Digest,
  Domain,
  HashedDecision,
  HashedRequest,
  Hex,
  MessageSlot,
  Ppm,
  Request,
  RequestId,
  Round,
  SeatInfo,
  Terms,
} from "../core/types.ts";

export interface AgentRecord {
  readonly agentId: AgentId;
  readonly operator: Address;
  readonly signer: Address;
  readonly publicKey: Uint8Array;
  /** Multiaddrs. */
  readonly endpoint: readonly string[];
  readonly model: string;
  readonly reputation: Ppm;
  /** Bonded, the operator's and the delegators'. */
  readonly stake: bigint;
  /** On its way out, everybody's. */
  readonly unbonding: bigint;
  readonly active: boolean;
  /** Out of the draw for good. */
  readonly exited: boolean;
  /** Has served `PROVEN_SERVICES` times: its stake weighs in full in the draw, before that by half (ADR 10). */
  readonly proven: boolean;
  /** What the operator gets of the agent's pay before it is divided by shares. */
  readonly commission: Ppm;
  /** A higher commission that the operator may let take effect; null when none is announced. */
  readonly raise: CommissionRaise | null;
}

export interface CommissionRaise {
  readonly commission: Ppm;
  /** Unix seconds from which on it may take effect. */
  readonly time: number;
}

/** Settled requests for which an agent was paid or recovered, and not slashed. */
export const PROVEN_SERVICES = 16;

/** What one account holds of an agent's stake; amounts as of now, a slash lowers them. */
export interface StakePosition {
  readonly shares: bigint;
  readonly bonded: bigint;
  readonly unbonding: bigint;
  /** Unix seconds from which on it may be withdrawn; 0 when nothing is unbonding. */
  readonly unbondingEnd: number;
}

export interface Receipt {
  readonly transactionHash: Hex;
  readonly blockNumber: bigint;
  /** Of the whole transaction. */
  readonly gasUsed: bigint;
}

/** What agents, the relayer and auditors read. */
export interface ChainReader {
  readonly domain: Domain;
  head(signal?: AbortSignal): Promise<Head>;
  /**
   * Follows oracle and registry events from a block on, only blocks at finality depth, each exactly once and in order
   * across RPC failures (retries with back-off, reports through `onTrouble`). `commit(cursor)` of the caller's storage
   * makes it resumable: each batch carries the cursor to resume after it.
   */
  follow(
    from: Cursor | null,
    onBatch: (batch: { readonly events: readonly ChainEvent[]; readonly cursor: Cursor }) => Promise<void>,
    signal: AbortSignal,
    onTrouble?: (error: Error) => void,
  ): Promise<void>;
  /** All events of one request, e.g. for verify and decision. Throws REQUEST_UNKNOWN. */
  requestEvents(requestId: RequestId, signal?: AbortSignal): Promise<readonly ChainEvent[]>;
  requestState(requestId: RequestId, signal?: AbortSignal): Promise<RequestState>;
  agents(signal?: AbortSignal): Promise<readonly AgentRecord[]>;
  agentBySigner(signer: Address, signal?: AbortSignal): Promise<AgentRecord | null>;
}

/** What an auditor reads of the transactions behind the events. */
export interface TransactionReader {
  receipt(transactionHash: Hex, signal?: AbortSignal): Promise<Receipt>;
  /**
   * Signatures of 65 bytes from the calldata of a `commit`, alone or in a batch; null when the transaction does not show
   * them: it reached the oracle through another contract, or tried to commit the request more than once.
   */
  certificate(
    transactionHash: Hex,
    requestId: RequestId,
    signal?: AbortSignal,
  ): Promise<Certificate["signatures"] | null>;
}

/** Resume point of the event stream; hash-checked so that a reorg below it is noticed. */
export interface Cursor {
  readonly blockNumber: bigint;
  readonly blockHash: Hex;
}

/** What the relayer and the keeper submit; each call is idempotent from the caller's view (already done is success). */
export interface ChainWriter {
  /** Account that pays gas. */
  readonly account: Address;
  draw(request: Request, awaited: AwaitedRound, signal?: AbortSignal): Promise<Receipt | "already">;
  commit(
    request: Request,
    round: Round,
    committee: readonly SeatInfo[],
    certificate: Certificate,
    signal?: AbortSignal,
  ): Promise<Receipt | "already">;
  /**
   * The same for several at once, in as few transactions as fit: one outcome per commit, in their order, and one that fails
   * holds back no other. Throws only what is true of all, e.g. CHAIN_UNREACHABLE.
   */
  commitAll(commits: readonly CertifiedDecision[], signal?: AbortSignal): Promise<readonly CommitOutcome[]>;
  finalize(request: Request, last: DecidedRound, signal?: AbortSignal): Promise<Receipt | "already">;
  retryCallback(request: Request, last: DecidedRound, signal?: AbortSignal): Promise<Receipt | "already">;
  /** `rounds`: all of a final request, from the first to the one whose decision is final. */
  settle(request: Request, rounds: readonly DecidedRound[], signal?: AbortSignal): Promise<Receipt | "already">;
  /** Calls another committee for one that did not answer in time. */
  replace(
    request: Request,
    round: Round,
    attempt: number,
    witness: Witness,
    signal?: AbortSignal,
  ): Promise<Receipt | "already">;
  refund(request: Request, round: Round, witness: Witness, signal?: AbortSignal): Promise<Receipt | "already">;
  /** `last`: the last round with a decision. */
  fallBack(
    request: Request,
    round: Round,
    witness: Witness,
    last: DecidedRound,
    signal?: AbortSignal,
  ): Promise<Receipt | "already">;
  /** Once per agent, request and attempt. This account is owed the reward. */
  submitEvidence(proof: EquivocationProof, signal?: AbortSignal): Promise<Receipt | "already">;
}

export interface CertifiedDecision {
  readonly request: Request;
  readonly round: Round;
  readonly committee: readonly SeatInfo[];
  readonly certificate: Certificate;
}

/** Of a commit among others: the receipt is that of their transaction, and an error says why this one failed. */
export type CommitOutcome = Receipt | "already" | ConclaveError;

/** Two things that one seat signed for one place, as the Slasher takes them. */
export type EquivocationProof = MessageProof | DecisionProof;

export interface MessageProof extends Accusation {
  readonly kind: "messages";
  readonly slot: MessageSlot;
  readonly first: SignedPayload;
  readonly second: SignedPayload;
}

export interface DecisionProof extends Accusation {
  readonly kind: "decisions";
  readonly slot: DecisionSlot;
  readonly first: SignedDecisionHash;
  readonly second: SignedDecisionHash;
}

interface Accusation {
  readonly request: HashedRequest;
  readonly agentId: AgentId;
}

export interface SignedDecisionHash {
  readonly decision: HashedDecision;
  /** 65 bytes r, s, v. */
  readonly signature: Hex;
}

export interface SignedPayload {
  readonly payloadDigest: Digest;
  /** 65 bytes r, s, v. */
  readonly signature: Hex;
}

/** A round whose committee is to be drawn. */
export interface AwaitedRound {
  readonly round: Round;
  readonly attempt: number;
  readonly seedBlock: bigint;
  /** The rounds before, from the first; attempts that nobody answered have left none. */
  readonly past: readonly DecidedRound[];
}

/** What operators and askers submit from the CLI. */
export interface OperatorActions extends OracleActions, RewardActions {
  readonly account: Address;
  register(registration: {
    readonly publicKey: Uint8Array;
    readonly possession: Hex;
    readonly model: string;
    readonly endpoint: readonly string[];
    readonly stake: bigint;
    readonly commission: Ppm;
  }): Promise<{ readonly agentId: AgentId; readonly receipt: Receipt }>;
  /** The operator's own stake, or a delegation. */
  bond(agentId: AgentId, amount: bigint): Promise<Receipt>;
  startUnbonding(agentId: AgentId, shares: bigint): Promise<Receipt>;
  withdrawStake(agentId: AgentId, to: Address): Promise<Receipt>;
  rotateSigner(agentId: AgentId, publicKey: Uint8Array, possession: Hex): Promise<Receipt>;
  setEndpoint(agentId: AgentId, endpoint: readonly string[]): Promise<Receipt>;
}

/** What the registry owes for service and for evidence. */
export interface RewardActions {
  /** What this account has earned with an agent: by its shares, and as its operator the commission. */
  claimRewards(agentId: AgentId, currency: Currency, to: Address): Promise<Receipt>;
  /** Lowers the commission at once, or announces a higher one. */
  setCommission(agentId: AgentId, commission: Ppm): Promise<Receipt>;
  /** Lets the announced commission take effect. */
  raiseCommission(agentId: AgentId): Promise<Receipt>;
  /** What the registry owes this account for evidence. */
  claimReward(to: Address): Promise<Receipt>;
}

/** What anybody does at the oracle with money of one's own. */
export interface OracleActions {
  /** Pays the fee now, in tokens that it approves before or in coins; from a subscription if one is named. */
  request(terms: Terms, question: string, subscriptionId?: number): Promise<Asked>;
  /** Calls a larger committee, with the bond in the request's currency. */
  appeal(request: Request, last: DecidedRound): Promise<Receipt>;
  /** What this account has been credited, e.g. pay and returned bonds. */
  withdraw(currency: Currency, amount: bigint, to: Address): Promise<Receipt>;
  createSubscription(): Promise<{ readonly subscriptionId: number; readonly receipt: Receipt }>;
  /** Lets a consumer spend from a subscription of this account, or no longer. */
  setConsumer(subscriptionId: number, consumer: Address, allowed: boolean): Promise<Receipt>;
  /** Offers a subscription of this account to somebody else; null takes the offer back. */
  transferSubscription(subscriptionId: number, to: Address | null): Promise<Receipt>;
  /** Takes over a subscription that was offered to this account. */
  acceptSubscription(subscriptionId: number): Promise<Receipt>;
  fund(subscriptionId: number, currency: Currency, amount: bigint): Promise<Receipt>;
  withdrawFunds(subscriptionId: number, currency: Currency, amount: bigint, to: Address): Promise<Receipt>;
}

export interface Asked {
  readonly requestId: RequestId;
  readonly receipt: Receipt;
}
