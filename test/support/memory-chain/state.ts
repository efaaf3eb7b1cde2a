import { createHash } from "node:crypto";
import type {
  Address,
  AgentId,
  Certificate,
  Currency,
  Decision,
  Digest,
  Domain,
  Hex,
  Request,
  RequestId,
} from "../../../agents/core/types.ts";
import type { ChainEvent, RequestState } from "../../../agents/core/request/events.ts";
import type { AgentRecord, Receipt } from "../../../agents/ports/chain.ts";

export interface LedgerOptions {
  readonly domain: Domain;
  /** Unix seconds of block 0. */
  readonly genesisTimestamp: number;
  readonly blockSeconds: number;
  /** The consumer's reaction; false or a throw leaves the callback pending. */
  readonly onDecision: (request: Request, decision: Decision) => boolean;
}

export interface Block {
  readonly number: bigint;
  readonly hash: Hex;
  readonly prevRandao: Hex;
  readonly timestamp: number;
  readonly events: readonly ChainEvent[];
  /** The agents after the block before. */
  readonly agents: readonly AgentRecord[];
}

export interface RequestEntry extends RequestState {
  /** Hash of request, round and seed block, or of the decision, which the caller must give. */
  readonly commitment: Digest;
}

/** RE4: slashes of an agent in one week. */
export interface Fall {
  readonly week: number;
  readonly slashes: number;
}

export interface State {
  readonly options: LedgerOptions;
  readonly blocks: Block[];
  /** Time that passed beside that of the blocks. */
  passedSeconds: number;
  /** Changed by `setAgent` alone. */
  readonly agents: Map<AgentId, AgentRecord>;
  /** The agents as the next block has them; null after a change. */
  snapshot: readonly AgentRecord[] | null;
  /** Services of each agent, counted up to `PROVEN_SERVICES`. */
  readonly services: Map<AgentId, number>;
  /** Deepest fall of each agent whose reputation fell, in the last week with a fall. */
  readonly falls: Map<AgentId, Fall>;
  /** Seats in a row that each agent missed. */
  readonly misses: Map<AgentId, number>;
  readonly requests: Map<RequestId, RequestEntry>;
  /** Credits by account and currency. */
  readonly credits: Map<string, bigint>;
  readonly owed: Map<Address, bigint>;
  readonly consumed: Set<string>;
  /** Signatures by transaction and request (`certificateKey`). */
  readonly certificates: Map<string, Certificate["signatures"]>;
}

export type Body = ChainEvent extends infer Event
  ? Event extends ChainEvent
    ? Omit<Event, keyof Position>
    : never
  : never;
type Position = Pick<ChainEvent, "blockNumber" | "blockHash" | "logIndex" | "transactionHash">;

/** Mines a block with one transaction that emits these events. */
export function append(state: State, bodies: readonly Body[]): Receipt {
  const { chainId } = state.options.domain;
  const number = BigInt(state.blocks.length);
  const hash = digest(`${chainId} block ${number}`);
  const prevRandao = digest(`${chainId} prevrandao ${number}`);
  const transactionHash = digest(`${chainId} transaction ${number}`);
  const timestamp = nextTimestamp(state);
  const events = bodies.map((body, logIndex) => ({
    ...body,
    blockNumber: number,
    blockHash: hash,
    logIndex,
    transactionHash,
  }));
  state.snapshot ??= [...state.agents.values()];
  state.blocks.push({ number, hash, prevRandao, timestamp, events, agents: state.snapshot });
  return { transactionHash, blockNumber: number, blockHash: hash, gasUsed: 0n };
}

export function setAgent(state: State, agent: AgentRecord): void {
  state.agents.set(agent.agentId, agent);
  state.snapshot = null;
}

/** Replaces the blocks from this one on by others with the same transactions. Their seeds and so the committees differ. */
export function reorganize({ blocks, options }: State, from: bigint): void {
  const { chainId } = options.domain;
  for (const block of blocks.slice(Number(from))) {
    const [hash, prevRandao] = [digest(`${chainId} ${block.hash}`), digest(block.prevRandao)];
    const events = block.events.map((event) => ({ ...event, blockHash: hash }));
    blocks[Number(block.number)] = { ...block, hash, prevRandao, events };
  }
}

export function nextTimestamp({ options, blocks, passedSeconds }: State): number {
  return options.genesisTimestamp + blocks.length * options.blockSeconds + passedSeconds;
}

/** Any hash will do here; Node's own takes a tenth of the time of keccak256 in JavaScript. */
function digest(text: string): Digest {
  return `0x${createHash("sha256").update(text).digest("hex")}` as Digest;
}

export function certificateKey(transactionHash: Hex, requestId: RequestId): string {
  return `${transactionHash} ${requestId}`;
}

export function creditOf({ credits }: State, account: Address, currency: Currency): bigint {
  return credits.get(`${account} ${currency}`) ?? 0n;
}

export function credit(state: State, account: Address, currency: Currency, amount: bigint): void {
  state.credits.set(`${account} ${currency}`, creditOf(state, account, currency) + amount);
}
