import type { ConclaveError } from "../core/errors.ts";
import type { AwaitedRound, ChainEvent, DecidedRound, RequestState } from "../core/request/events.ts";
import type { Overturn } from "../core/request/overturn.ts";
import type { Head, RequestRecord } from "../core/request/progress.ts";
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
  /** Bonded stake of the operator and the delegators. */
  readonly stake: bigint;
  /** Unbonding stake of the operator and the delegators. */
  readonly unbonding: bigint;
  readonly active: boolean;
  /** True if the agent has left the draw for good. */
  readonly exited: boolean;
  /** True if the agent missed too many seats in a row and was not woken since: it is not drawn (SE20). */
  readonly asleep: boolean;
  /** True after `PROVEN_SERVICES` services: then the stake weighs in full in the draw, before that by half (ADR 10). */
  readonly proven: boolean;
  /** The part of the agent's pay that goes to the operator before the rest is divided by shares. */
  readonly commission: Ppm;
  /** The higher commission that the operator announced; null without one. */
  readonly raise: CommissionRaise | null;
}

export interface CommissionRaise {
  readonly commission: Ppm;
  /** Unix seconds from which it may take effect. */
  readonly time: number;
}

/** Most gwei per gas that a transaction pays, unless its sender says otherwise. */
export const MAX_FEE_PER_GAS_GWEI = 500;
/** Most gwei per gas of that as a tip: what the oracle pays back above the base fee (`MAX_TIP` in contracts/types/Limits.sol). */
export const MAX_PRIORITY_FEE_PER_GAS_GWEI = 1;

/** An allowance of a consumer that its requests do not lower: as contracts/interfaces/IAccounts.sol says. */
export const UNBOUNDED = 2n ** 104n - 1n;

/** Settled requests for which an agent was paid or recovered, and not slashed. */
export const PROVEN_SERVICES = 16;

/** Seats in a row that an agent may miss: then it sleeps until it is woken (SE20). */
export const MAX_MISSES = 3;

/** What one account holds of an agent's stake now; a slash lowers it. */
export interface StakePosition {
  readonly shares: bigint;
  readonly bonded: bigint;
  /** Shares that do not earn yet (RW6). */
  readonly joining: bigint;
  /** Unix seconds from which the first of them may begin to earn; 0 if there are none. */
  readonly joiningEnd: number;
  readonly unbonding: bigint;
  /** Unix seconds from which the unbonding stake may be withdrawn; 0 if nothing is unbonding. */
  readonly unbondingEnd: number;
}

export interface Receipt {
  readonly transactionHash: Hex;
  readonly blockNumber: bigint;
  readonly blockHash: Hex;
  /** Gas of the whole transaction. */
  readonly gasUsed: bigint;
}

/** What agents and auditors read from the chain. */
export interface ChainReader {
  readonly domain: Domain;
  head(signal?: AbortSignal): Promise<Head>;
  /**
   * Follows oracle and registry events from a block on: only blocks at finality depth, each event exactly once and in
   * order, across RPC failures (it retries with back-off and reports through `onTrouble`). Each batch carries the
   * cursor from which the caller can resume after it.
   */
  follow(
    from: Cursor | null,
    onBatch: (batch: EventBatch) => Promise<void>,
    signal: AbortSignal,
    onTrouble?: (error: Error) => void,
  ): Promise<void>;
  /** Returns all events of one request. Throws REQUEST_UNKNOWN. */
  requestEvents(requestId: RequestId, signal?: AbortSignal): Promise<readonly ChainEvent[]>;
  /** Returns the events of one request in these blocks, in chain order; reads each block once. */
  eventsIn(requestId: RequestId, blocks: readonly bigint[], signal?: AbortSignal): Promise<readonly ChainEvent[]>;
  requestState(requestId: RequestId, signal?: AbortSignal): Promise<RequestState>;
  /**
   * Returns the committee of a running attempt, once the chain has a block after its seed block. Throws CHAIN_REVERTED
   * while it has none, and when the attempt does not run any more.
   */
  committee(request: Request, awaited: AwaitedRound, signal?: AbortSignal): Promise<readonly SeatInfo[]>;
  agents(signal?: AbortSignal): Promise<readonly AgentRecord[]>;
  agentBySigner(signer: Address, signal?: AbortSignal): Promise<AgentRecord | null>;
}

/** What an auditor reads from the transactions behind the events. */
export interface TransactionReader {
  receipt(transactionHash: Hex, signal?: AbortSignal): Promise<Receipt>;
  /**
   * Returns the 65-byte signatures in the calldata of a `commit`, alone or in a batch. Null if the transaction does not
   * show them: it reached the oracle through another contract, or tried to commit the request more than once.
   */
  certificate(
    transactionHash: Hex,
    requestId: RequestId,
    signal?: AbortSignal,
  ): Promise<Certificate["signatures"] | null>;
}

/** Events of consecutive final blocks. */
export interface EventBatch {
  readonly events: readonly ChainEvent[];
  /** First block of the batch. It is not above the cursor before if a reorganisation has replaced blocks from here on. */
  readonly from: bigint;
  readonly cursor: Cursor;
}

/** Where following goes on. The hash is checked, so that a reorganisation below it is noticed. */
export interface Cursor {
  readonly blockNumber: bigint;
  readonly blockHash: Hex;
}

/** What the relayer and the keeper submit. Each call is idempotent: what is done already is a success. */
export interface ChainWriter {
  /** Account that pays gas. */
  readonly account: Address;
  commit(
    request: Request,
    awaited: AwaitedRound,
    certificate: Certificate,
    signal?: AbortSignal,
  ): Promise<Receipt | "already">;
  /**
   * Commits several decisions in as few transactions as possible. Returns one result per commit, in their order; a
   * failed commit holds back no other. Throws only failures that concern all, e.g. CHAIN_UNREACHABLE.
   */
  commitAll(commits: readonly CertifiedDecision[], signal?: AbortSignal): Promise<readonly BatchResult[]>;
  finalize(request: Request, last: DecidedRound, signal?: AbortSignal): Promise<Receipt | "already">;
  retryCallback(request: Request, last: DecidedRound, signal?: AbortSignal): Promise<Receipt | "already">;
  /** `rounds`: all rounds of a final request, from the first to the one whose decision is final. */
  settle(request: Request, rounds: readonly DecidedRound[], signal?: AbortSignal): Promise<Receipt | "already">;
  /** Settles several requests in as few transactions as possible, as `commitAll` commits. */
  settleAll(requests: readonly FinalRequest[], signal?: AbortSignal): Promise<readonly BatchResult[]>;
  /** Replaces a committee that did not answer in time. */
  replace(request: Request, awaited: AwaitedRound, signal?: AbortSignal): Promise<Receipt | "already">;
  /** Returns the fee of a request that no committee decided in time. */
  refund(request: Request, awaited: AwaitedRound, signal?: AbortSignal): Promise<Receipt | "already">;
  /** Ends a request as hung whose last attempt, after an earlier decision, nobody answered in time. */
  fallBack(request: Request, awaited: AwaitedRound, signal?: AbortSignal): Promise<Receipt | "already">;
  /** Wakes an agent of this account, so that it can be drawn again. */
  wake(agentId: AgentId, signal?: AbortSignal): Promise<Receipt | "already">;
  /**
   * Works once per agent, request and attempt; the registry then owes this account the reward. Throws EVIDENCE_UNPROVABLE
   * while the attempt has no decision on chain.
   * @param readRecord reads the record of the request; called for every transaction, since the record may have changed
   */
  submitEvidence(
    proof: EquivocationProof,
    readRecord: () => Promise<RequestRecord>,
    signal?: AbortSignal,
  ): Promise<Receipt | "already">;
}

export interface CertifiedDecision {
  readonly request: Request;
  readonly awaited: AwaitedRound;
  readonly certificate: Certificate;
}

/** A final request with all its rounds, from the first to the one whose decision is final. */
export interface FinalRequest {
  readonly request: Request;
  readonly rounds: readonly DecidedRound[];
}

/** Result of one call in a batch: the receipt of their transaction, or the error of this call. */
export type BatchResult = Receipt | "already" | ConclaveError;

/** Two messages or two decisions that one seat signed for one place, as the Slasher takes them. */
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
  /** Bonds stake: the operator's own, or a delegation. */
  bond(agentId: AgentId, amount: bigint): Promise<Receipt>;
  startUnbonding(agentId: AgentId, shares: bigint): Promise<Receipt>;
  withdrawStake(agentId: AgentId, to: Address): Promise<Receipt>;
  rotateSigner(agentId: AgentId, publicKey: Uint8Array, possession: Hex): Promise<Receipt>;
  /** Offers an agent of this account to somebody else; null takes the offer back. */
  transferOperator(agentId: AgentId, to: Address | null): Promise<Receipt>;
  /** Takes over an agent that was offered to this account, which has bonded at least minStake to it. */
  acceptOperator(agentId: AgentId): Promise<Receipt>;
  setEndpoint(agentId: AgentId, endpoint: readonly string[]): Promise<Receipt>;
  setModel(agentId: AgentId, model: string): Promise<Receipt>;
  /**
   * Slashes the seats that signed an overturned decision (SC2 to SC6); those that were slashed so in the last seven days are left out.
   * @param rounds all rounds of the settled request
   */
  slashOverturned(
    request: Request,
    rounds: readonly DecidedRound[],
    overturn: Overturn,
  ): Promise<{ readonly losses: readonly SeatLoss[]; readonly receipt: Receipt }>;
}

/** What an agent lost by a slash, bonded and unbonding. */
export interface SeatLoss {
  readonly agentId: AgentId;
  readonly amount: bigint;
}

/** Claims of what the registry owes for service and evidence. */
export interface RewardActions {
  /** Lets the shares of this account earn that have joined for long enough (RW6). */
  startEarning(agentId: AgentId): Promise<Receipt>;
  /** Claims what this account has earned with an agent: by its shares and, if it is the operator, the commission. */
  claimRewards(agentId: AgentId, currency: Currency, to: Address): Promise<Receipt>;
  /** Lowers the commission at once, or announces a higher one. */
  setCommission(agentId: AgentId, commission: Ppm): Promise<Receipt>;
  /** Lets the announced commission take effect. */
  raiseCommission(agentId: AgentId): Promise<Receipt>;
  /** Claims what the registry owes this account for evidence. */
  claimReward(to: Address): Promise<Receipt>;
}

/** What any account does at the oracle with its own money. */
export interface OracleActions {
  /** Asks, and pays the fee now: in tokens, which it approves first, or in coins, or from the named subscription. */
  request(terms: Terms, question: string, subscriptionId?: number): Promise<Asked>;
  /** Calls a larger committee, and pays the bond in the request's currency. */
  appeal(request: Request, last: DecidedRound): Promise<Receipt>;
  /** Stores the outcome of a final request, so that contracts read it by the request's id (SE22). */
  storeOutcome(request: Request, last: DecidedRound): Promise<Receipt>;
  /** Takes a request of this account back while nobody can know its committee (SE23). */
  cancel(request: Request, awaited: AwaitedRound): Promise<Receipt>;
  /** Withdraws what the oracle has credited this account, e.g. pay and returned bonds. */
  withdraw(currency: Currency, amount: bigint, to: Address): Promise<Receipt>;
  createSubscription(): Promise<{ readonly subscriptionId: number; readonly receipt: Receipt }>;
  /** Sets how much a consumer may spend from a subscription of this account from now on; 0 = nothing, or `UNBOUNDED`. */
  setConsumer(
    subscriptionId: number,
    consumer: Address,
    allowance: Readonly<Record<Currency, bigint>>,
  ): Promise<Receipt>;
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
