import { committeeHash, decisionDigest, keccak256, requestHash, utf8 } from "../../core/digest.ts";
import { ONE_PPM } from "../../core/types.ts";
import type {
  Address,
  AgentId,
  Certificate,
  Decision,
  Digest,
  Domain,
  Hex,
  Request,
  RequestId,
  SeatInfo,
  Terms,
} from "../../core/types.ts";
import type {
  AgentRecord,
  ChainEvent,
  EquivocationProof,
  Receipt,
  RefundWitness,
  Relay,
  RequestStatus,
} from "../../ports/chain.ts";
import { faultOf } from "../../ports/evidence.ts";
import {
  drawSeats,
  equivocator,
  refused,
  requireOutcome,
  slashOf,
  verifyCertificate,
  withReputation,
} from "./rules.ts";

/** The contracts' rules without a chain: what settles when, for whom. Sizes of terms are not checked again here. */
export interface Ledger {
  readonly domain: Domain;
  readonly blocks: readonly Block[];
  readonly agents: ReadonlyMap<AgentId, AgentRecord>;
  readonly requests: ReadonlyMap<RequestId, RequestEntry>;
  balanceOf(account: Address): bigint;
  /** Appends empty blocks. */
  mine(count?: number): void;
  addAgent(agent: NewAgent): AgentRecord;
  ask(consumer: Address, terms: Terms, question: string): { readonly request: Request; readonly seedBlock: bigint };
  draw(request: Request, seedBlock: bigint): Receipt;
  commit(request: Request, committee: readonly SeatInfo[], certificate: Certificate, relayer: Address): Receipt;
  retryCallback(request: Request, committee: readonly SeatInfo[], decision: Decision, relay: Relay): Receipt;
  creditPay(request: Request, committee: readonly SeatInfo[], decision: Decision, relay: Relay): Receipt;
  refund(request: Request, witness: RefundWitness): Receipt;
  isConsumed(proof: EquivocationProof): boolean;
  submitEvidence(proof: EquivocationProof, reporter: Address): Receipt;
  /** In stake tokens, for reports. */
  owedTo(account: Address): bigint;
}

export interface LedgerOptions {
  readonly domain: Domain;
  /** Unix seconds of block 0. */
  readonly genesisTimestamp: number;
  readonly blockSeconds: number;
  /** The consumer's reaction; false or a throw leaves the callback pending. */
  readonly onDecision: (request: Request, decision: Decision) => boolean;
}

export type NewAgent = Pick<AgentRecord, "operator" | "signer" | "publicKey" | "endpoint" | "model" | "stake">;

export interface Block {
  readonly number: bigint;
  readonly hash: Hex;
  readonly prevRandao: Hex;
  readonly timestamp: number;
  readonly events: readonly ChainEvent[];
}

export interface RequestEntry {
  readonly status: RequestStatus;
  /** What the caller must bring along: the hash of request and seed block, committee or decision. */
  readonly commitment: Digest;
  readonly callbackPending: boolean;
  readonly payCredited: boolean;
}

type Body = ChainEvent extends infer Event ? (Event extends ChainEvent ? Omit<Event, keyof Position> : never) : never;
type Position = Pick<ChainEvent, "blockNumber" | "blockHash" | "logIndex" | "transactionHash">;

/** A seed block comes so many blocks after the request, with as many of its epoch before it, and lives as long as the epoch. */
const SEED_DELAY = 8n;
const EPOCH_BLOCKS = 256n;
/** So many blocks of the epoch come after it at least. */
const DRAW_BLOCKS = 16n;

/** All that a settled request commits to. */
interface Settlement {
  readonly request: Request;
  readonly committee: readonly SeatInfo[];
  readonly decision: Decision;
  readonly relay: Relay;
}

interface State {
  readonly options: LedgerOptions;
  readonly blocks: Block[];
  readonly agents: Map<AgentId, AgentRecord>;
  readonly requests: Map<RequestId, RequestEntry>;
  readonly balances: Map<Address, bigint>;
  readonly owed: Map<Address, bigint>;
  readonly consumed: Set<string>;
}

export function createLedger(options: LedgerOptions): Ledger {
  const state: State = {
    options,
    blocks: [],
    agents: new Map(),
    requests: new Map(),
    balances: new Map(),
    owed: new Map(),
    consumed: new Set(),
  };
  append(state, []);
  return {
    domain: options.domain,
    blocks: state.blocks,
    agents: state.agents,
    requests: state.requests,
    balanceOf: (account) => state.balances.get(account) ?? 0n,
    mine: (count = 1) => {
      for (let index = 0; index < count; index += 1) append(state, []);
    },
    addAgent: (agent) => addAgent(state, agent),
    ask: (consumer, terms, question) => ask(state, consumer, terms, question),
    draw: (request, seedBlock) => draw(state, request, seedBlock),
    commit: (request, committee, certificate, relayer) => commit(state, request, committee, certificate, relayer),
    retryCallback: (request, committee, decision, relay) =>
      retryCallback(state, { request, committee, decision, relay }),
    creditPay: (request, committee, decision, relay) => creditPay(state, { request, committee, decision, relay }),
    refund: (request, witness) => refund(state, request, witness),
    isConsumed: (proof) => state.consumed.has(faultOf(proof)),
    submitEvidence: (proof, reporter) => submitEvidence(state, proof, reporter),
    owedTo: (account) => state.owed.get(account) ?? 0n,
  };
}

/** Mines a block with one transaction that emits these events. */
function append(state: State, bodies: readonly Body[]): Receipt {
  const { chainId } = state.options.domain;
  const number = BigInt(state.blocks.length);
  const hash = keccak256(utf8(`${chainId} block ${number}`));
  const prevRandao = keccak256(utf8(`${chainId} prevrandao ${number}`));
  const transactionHash = keccak256(utf8(`${chainId} transaction ${number}`));
  const timestamp = nextTimestamp(state);
  const events = bodies.map((body, logIndex) => ({
    ...body,
    blockNumber: number,
    blockHash: hash,
    logIndex,
    transactionHash,
  }));
  state.blocks.push({ number, hash, prevRandao, timestamp, events });
  return { transactionHash, blockNumber: number, gasUsed: 0n };
}

function nextTimestamp({ options, blocks }: State): number {
  return options.genesisTimestamp + blocks.length * options.blockSeconds;
}

function addAgent(state: State, agent: NewAgent): AgentRecord {
  const agentId = (state.agents.size + 1) as AgentId;
  const record = { ...agent, agentId, reputation: ONE_PPM, unbonding: 0n, active: true, exited: false };
  state.agents.set(agentId, record);
  append(state, [{ kind: "agentsChanged", agentId }]);
  return record;
}

function ask(
  state: State,
  consumer: Address,
  terms: Terms,
  question: string,
): { readonly request: Request; readonly seedBlock: bigint } {
  const request: Request = { id: BigInt(state.requests.size + 1) as RequestId, consumer, terms, question };
  const seedBlock = nextSeedBlock(state);
  const commitment = requestedCommitment(request, seedBlock);
  state.requests.set(request.id, { status: "requested", commitment, callbackPending: false, payCredited: false });
  append(state, [{ kind: "requested", request, seedBlock }]);
  return { request, seedBlock };
}

/** As contracts/DecisionOracle.sol. */
function nextSeedBlock({ blocks }: State): bigint {
  const seedBlock = BigInt(blocks.length) + SEED_DELAY;
  const offset = seedBlock % EPOCH_BLOCKS;
  if (offset < SEED_DELAY) return seedBlock + SEED_DELAY - offset;
  return offset >= EPOCH_BLOCKS - DRAW_BLOCKS ? seedBlock + EPOCH_BLOCKS - offset + SEED_DELAY : seedBlock;
}

function draw(state: State, request: Request, seedBlock: bigint): Receipt {
  const entry = requireEntry(state, request.id, ["requested"], requestedCommitment(request, seedBlock));
  requireOpen(state, request);
  const number = BigInt(state.blocks.length);
  if (number <= seedBlock) throw refused("SeedNotReady", { seedBlock: String(seedBlock) });
  if (number / EPOCH_BLOCKS !== seedBlock / EPOCH_BLOCKS) {
    const next = nextSeedBlock(state);
    state.requests.set(request.id, { ...entry, commitment: requestedCommitment(request, next) });
    return append(state, [{ kind: "seedRescheduled", requestId: request.id, seedBlock: next }]);
  }
  const seed = keccak256(utf8(`${state.blocks[Number(seedBlock)]?.prevRandao} ${request.id}`));
  const committee = drawSeats([...state.agents.values()], seed, request.terms.committeeSize);
  state.requests.set(request.id, {
    ...entry,
    status: "drawn",
    commitment: drawnCommitment(request, 0, committeeHash(committee)),
  });
  return append(state, [{ kind: "committeeDrawn", requestId: request.id, attempt: 0, committee }]);
}

function commit(
  state: State,
  request: Request,
  committee: readonly SeatInfo[],
  certificate: Certificate,
  relayer: Address,
): Receipt {
  const { decision } = certificate;
  const entry = requireEntry(
    state,
    request.id,
    ["drawn"],
    drawnCommitment(request, decision.attempt, committeeHash(committee)),
  );
  requireOpen(state, request);
  requireOutcome(request.terms, decision);
  const attempt = { domain: state.options.domain, request, attempt: decision.attempt, committee };
  const signers = verifyCertificate(attempt, certificate);
  const relay = { signers, gasPrice: 0n, relayer };
  const commitment = settledCommitment(state, { request, committee, decision, relay });
  const callbackPending = request.terms.callbackGasLimit !== 0 && !callBack(state, request, decision);
  state.requests.set(request.id, { ...entry, status: decision.status, commitment, callbackPending });
  const changed = decision.reputationChanges.flatMap(({ seat, steps }) => {
    const agent = agentAt(state, committee, seat);
    if (agent === undefined) return [];
    state.agents.set(agent.agentId, withReputation(agent, steps));
    return [{ kind: "agentsChanged" as const, agentId: agent.agentId }];
  });
  return append(state, [{ kind: "decisionCommitted", requestId: request.id, decision, relay }, ...changed]);
}

function retryCallback(state: State, settlement: Settlement): Receipt {
  const { request, decision } = settlement;
  const entry = requireEntry(state, request.id, ["decided", "hung"], settledCommitment(state, settlement));
  if (!entry.callbackPending) throw refused("CallbackNotPending", { requestId: String(request.id) });
  if (!callBack(state, request, decision)) throw refused("CallbackStillFails", { requestId: String(request.id) });
  state.requests.set(request.id, { ...entry, callbackPending: false });
  return append(state, []);
}

/** As contracts/libraries/PayLib.sol. */
function creditPay(state: State, settlement: Settlement): Receipt {
  const { request, committee, decision } = settlement;
  const entry = requireEntry(state, request.id, ["decided", "hung"], settledCommitment(state, settlement));
  if (entry.payCredited) throw refused("PayAlreadyCredited", { requestId: String(request.id) });
  state.requests.set(request.id, { ...entry, payCredited: true });
  const { fee } = request.terms;
  const total = BigInt(decision.shares.reduce((sum, share) => sum + share, 0));
  const pay = decision.status === "decided" ? fee : fee / 2n;
  let rest = fee;
  for (const [seat, share] of decision.shares.entries()) {
    const amount = total === 0n ? 0n : (pay * BigInt(share)) / total;
    const agent = agentAt(state, committee, seat);
    if (agent === undefined) continue;
    credit(state, agent.operator, amount);
    rest -= amount;
  }
  credit(state, request.consumer, rest);
  return append(state, []);
}

function refund(state: State, request: Request, witness: RefundWitness): Receipt {
  const entry = requireEntry(state, request.id, ["requested", "drawn"], witnessCommitment(request, witness));
  const { deadline, fee } = request.terms;
  if (nextTimestamp(state) <= deadline) throw refused("DeadlineNotPassed", { deadline });
  state.requests.set(request.id, { ...entry, status: "refunded", payCredited: true });
  credit(state, request.consumer, fee);
  return append(state, [{ kind: "requestRefunded", requestId: request.id }]);
}

/** As contracts/Slasher.sol; all stake here is the operator's own. */
function submitEvidence(state: State, proof: EquivocationProof, reporter: Address): Receipt {
  const signer = equivocator(state.options.domain, proof);
  const agent = state.agents.values().find((one) => one.signer === signer);
  if (agent === undefined) throw refused("UnknownSigner", { signer });
  const { request, slot } = proof;
  // There is no attempt after the first one here.
  if (slot.attempt > 0 || (state.requests.get(request.id)?.status ?? "requested") === "requested")
    throw refused("AttemptNotDrawn", { requestId: String(request.id), attempt: slot.attempt });
  const fault = faultOf({ ...proof, agentId: agent.agentId });
  if (state.consumed.has(fault)) throw refused("EvidenceConsumed", { agentId: agent.agentId });
  const [bonded, unbonding] = [slashOf(agent.stake), slashOf(agent.unbonding)];
  if (bonded + unbonding === 0n) throw refused("NothingToSlash", { agentId: agent.agentId });
  state.consumed.add(fault);
  state.agents.set(agent.agentId, {
    ...agent,
    stake: agent.stake - bonded,
    unbonding: agent.unbonding - unbonding,
  });
  state.owed.set(reporter, (state.owed.get(reporter) ?? 0n) + (bonded + unbonding) / 10n);
  return append(state, [{ kind: "agentsChanged", agentId: agent.agentId }]);
}

function requireEntry(
  { requests }: State,
  id: RequestId,
  allowed: readonly RequestStatus[],
  commitment: Digest,
): RequestEntry {
  const entry = requests.get(id);
  if (entry === undefined || !allowed.includes(entry.status))
    throw refused("WrongStatus", { status: entry?.status ?? "none" });
  if (entry.commitment !== commitment) throw refused("WitnessMismatch", { requestId: String(id) });
  return entry;
}

function requireOpen(state: State, { terms: { deadline } }: Request): void {
  if (nextTimestamp(state) > deadline) throw refused("DeadlinePassed", { deadline });
}

function callBack({ options }: State, request: Request, decision: Decision): boolean {
  try {
    return options.onDecision(request, decision);
  } catch {
    return false;
  }
}

function credit({ balances }: State, account: Address, amount: bigint): void {
  balances.set(account, (balances.get(account) ?? 0n) + amount);
}

function agentAt({ agents }: State, committee: readonly SeatInfo[], seat: number): AgentRecord | undefined {
  const agentId = committee[seat]?.agentId;
  return agentId === undefined ? undefined : agents.get(agentId);
}

function witnessCommitment(request: Request, witness: RefundWitness): Digest {
  switch (witness.kind) {
    case "requested":
      return requestedCommitment(request, witness.seedBlock);
    case "drawn":
      return drawnCommitment(request, witness.attempt, witness.committeeHash);
  }
}

function requestedCommitment(request: Request, seedBlock: bigint): Digest {
  return keccak256(utf8(`requested ${requestHash(request)} ${seedBlock}`));
}

function drawnCommitment(request: Request, attempt: number, committee: Digest): Digest {
  return keccak256(utf8(`drawn ${requestHash(request)} ${attempt} ${committee}`));
}

function settledCommitment({ options }: State, { request, committee, decision, relay }: Settlement): Digest {
  const digest = decisionDigest({ domain: options.domain, request, attempt: decision.attempt, committee }, decision);
  return keccak256(utf8(`settled ${digest} ${relay.signers} ${relay.gasPrice} ${relay.relayer}`));
}
