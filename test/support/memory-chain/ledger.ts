import { isDeepStrictEqual } from "node:util";
import type { ConclaveError } from "../../../agents/core/errors.ts";
import { ONE_PPM } from "../../../agents/core/types.ts";
import type {
  Address,
  AgentId,
  Certificate,
  Currency,
  Domain,
  HashedRequest,
  Hex,
  Ppm,
  Request,
  RequestId,
  SeatInfo,
  Terms,
} from "../../../agents/core/types.ts";
import type { AwaitedRound, DecidedRound } from "../../../agents/core/request/events.ts";
import type {
  AgentRecord,
  CertifiedDecision,
  EquivocationProof,
  FinalRequest,
  Receipt,
} from "../../../agents/ports/chain.ts";
import { hashedRequest } from "../../../agents/core/encoding/typed-data.ts";
import { recordOf, type RequestRecord } from "../../../agents/core/request/progress.ts";
import { faultOf, heldSeat, unprovable } from "../../../agents/ports/evidence.ts";
import { oldestSeedAt } from "../../../agents/adapters/chain/committee.ts";
import {
  appeal,
  ask,
  commit,
  commitAll,
  committeeOf,
  fallBack,
  finalize,
  refund,
  replace,
  retryCallback,
  settle,
  settleAll,
  SEED_WINDOW,
  type AskedRequest,
} from "./requests.ts";
import { equivocator, refused, slashOf } from "./rules.ts";
import {
  append,
  certificateKey,
  creditOf,
  reorganize,
  setAgent,
  type Block,
  type LedgerOptions,
  type RequestEntry,
  type State,
} from "./state.ts";

/** The contracts' rules without a chain: who gets what, and when. It does not check the sizes of terms again. */
export interface Ledger {
  readonly domain: Domain;
  readonly blocks: readonly Block[];
  readonly agents: ReadonlyMap<AgentId, AgentRecord>;
  readonly requests: ReadonlyMap<RequestId, RequestEntry>;
  /** Credit of an account. Askers need no funds to ask; the ledger only counts what accounts get. */
  creditOf(account: Address, currency: Currency): bigint;
  /** Appends empty blocks. */
  mine(count?: number): void;
  /** Appends an empty block that is so many seconds later. */
  passTime(seconds: number): void;
  addAgent(agent: NewAgent): AgentRecord;
  ask(consumer: Address, terms: Terms, question: string): AskedRequest;
  committeeOf(request: Request, awaited: AwaitedRound): readonly SeatInfo[];
  /** The oldest seed block that can still prove a committee at the newest block. */
  oldestSeed(): bigint;
  /** Replaces the blocks from this one on by others with the same transactions. */
  reorganize(from: bigint): void;
  commit(commit: CertifiedDecision, relayer: Address): Receipt;
  commitAll(commits: readonly CertifiedDecision[], relayer: Address): readonly (Receipt | ConclaveError)[];
  appeal(appellant: Address, request: Request, last: DecidedRound): Receipt;
  finalize(request: Request, last: DecidedRound): Receipt;
  retryCallback(request: Request, last: DecidedRound): Receipt;
  settle(request: Request, rounds: readonly DecidedRound[]): Receipt;
  settleAll(requests: readonly FinalRequest[]): readonly (Receipt | ConclaveError)[];
  replace(request: Request, awaited: AwaitedRound): Receipt;
  refund(request: Request, awaited: AwaitedRound): Receipt;
  fallBack(request: Request, awaited: AwaitedRound): Receipt;
  wake(agentId: AgentId): Receipt;
  isConsumed(proof: EquivocationProof): boolean;
  submitEvidence(proof: EquivocationProof, record: RequestRecord, reporter: Address): Receipt;
  certificateIn(transactionHash: Hex, requestId: RequestId): Certificate["signatures"] | null;
  /** Services of an agent, counted up to `PROVEN_SERVICES`. */
  servicesOf(agentId: AgentId): number;
  /** Stake tokens that an account is owed for reports of evidence. */
  owedTo(account: Address): bigint;
}

export type NewAgent = Pick<AgentRecord, "operator" | "signer" | "publicKey" | "endpoint" | "model" | "stake">;

export function createLedger(options: LedgerOptions): Ledger {
  const state: State = {
    options,
    blocks: [],
    agents: new Map(),
    passedSeconds: 0,
    snapshot: null,
    services: new Map(),
    falls: new Map(),
    misses: new Map(),
    requests: new Map(),
    credits: new Map(),
    owed: new Map(),
    consumed: new Set(),
    certificates: new Map(),
  };
  append(state, []);
  return {
    domain: options.domain,
    blocks: state.blocks,
    agents: state.agents,
    requests: state.requests,
    creditOf: (account, currency) => creditOf(state, account, currency),
    mine: (count = 1) => {
      for (let index = 0; index < count; index += 1) append(state, []);
    },
    passTime: (seconds) => {
      state.passedSeconds += seconds - options.blockSeconds;
      append(state, []);
    },
    addAgent: (agent) => addAgent(state, agent),
    ask: (...parameters) => ask(state, ...parameters),
    committeeOf: (...parameters) => committeeOf(state, ...parameters),
    oldestSeed: () => oldestSeedAt(BigInt(state.blocks.length - 1), SEED_WINDOW),
    reorganize: (from) => reorganize(state, from),
    commit: (...parameters) => commit(state, ...parameters),
    commitAll: (...parameters) => commitAll(state, ...parameters),
    appeal: (...parameters) => appeal(state, ...parameters),
    finalize: (...parameters) => finalize(state, ...parameters),
    retryCallback: (...parameters) => retryCallback(state, ...parameters),
    settle: (...parameters) => settle(state, ...parameters),
    settleAll: (...parameters) => settleAll(state, ...parameters),
    replace: (...parameters) => replace(state, ...parameters),
    refund: (...parameters) => refund(state, ...parameters),
    fallBack: (...parameters) => fallBack(state, ...parameters),
    wake: (agentId) => wake(state, agentId),
    isConsumed: (proof) => state.consumed.has(faultOf(proof)),
    submitEvidence: (...parameters) => submitEvidence(state, ...parameters),
    certificateIn: (transactionHash, requestId) =>
      state.certificates.get(certificateKey(transactionHash, requestId)) ?? null,
    servicesOf: (agentId) => state.services.get(agentId) ?? 0,
    owedTo: (account) => state.owed.get(account) ?? 0n,
  };
}

function addAgent(state: State, agent: NewAgent): AgentRecord {
  const agentId = (state.agents.size + 1) as AgentId;
  const record: AgentRecord = {
    ...agent,
    agentId,
    reputation: ONE_PPM,
    unbonding: 0n,
    active: true,
    exited: false,
    asleep: false,
    proven: false,
    commission: 0 as Ppm,
    raise: null,
  };
  setAgent(state, record);
  append(state, [{ kind: "agentsChanged", agentId }]);
  return record;
}

function wake(state: State, agentId: AgentId): Receipt {
  const agent = state.agents.get(agentId);
  if (agent?.asleep !== true) throw refused("AgentNotAsleep", { agentId });
  state.misses.set(agentId, 0);
  setAgent(state, { ...agent, asleep: false, active: !agent.exited });
  return append(state, [{ kind: "agentsChanged", agentId }]);
}

/** Refuses a record that is not the one of the chain. */
function requireRecord({ blocks }: State, request: HashedRequest, record: RequestRecord): void {
  const events = blocks
    .flatMap((block) => block.events)
    .filter((event) =>
      event.kind === "requested"
        ? isDeepStrictEqual(hashedRequest(event.request), request)
        : "requestId" in event && event.requestId === request.id,
    );
  if (!isDeepStrictEqual(recordOf(events), record)) throw refused("WitnessMismatch", { requestId: String(request.id) });
}

/** Slashes like contracts/Slasher.sol; all stake here is the operator's own. */
function submitEvidence(state: State, proof: EquivocationProof, record: RequestRecord, reporter: Address): Receipt {
  const held = heldSeat(proof, record);
  if (held === null) throw unprovable(proof);
  requireRecord(state, proof.request, record);
  const signer = equivocator(state.options.domain, proof);
  const seat = record.rounds[held.index]?.committee[held.seat];
  const agent = state.agents.get(proof.agentId);
  if (agent === undefined || seat?.signer !== signer)
    throw refused("SeatNotHeld", { requestId: String(proof.request.id), ...held });
  const fault = faultOf(proof);
  if (state.consumed.has(fault)) throw refused("EvidenceConsumed", { agentId: agent.agentId });
  const [bonded, unbonding] = [slashOf(agent.stake), slashOf(agent.unbonding)];
  if (bonded + unbonding === 0n) throw refused("NothingToSlash", { agentId: agent.agentId });
  state.consumed.add(fault);
  setAgent(state, { ...agent, stake: agent.stake - bonded, unbonding: agent.unbonding - unbonding });
  state.owed.set(reporter, (state.owed.get(reporter) ?? 0n) + (bonded + unbonding) / 10n);
  return append(state, [{ kind: "agentsChanged", agentId: agent.agentId }]);
}
