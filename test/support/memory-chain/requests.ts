import { keccak256, utf8 } from "../../../agents/core/encoding/bytes.ts";
import { ConclaveError } from "../../../agents/core/errors.ts";
import { isTimeUp } from "../../../agents/core/request/progress.ts";
import {
  NO_SEED_BLOCK,
  TOO_EARLY_WAIT,
  committeeSizeAfter,
  hasRetry,
  nextAfter,
  reviewedBy,
  seatsOfAll,
  unpackRound,
} from "../../../agents/core/request/rounds.ts";
import { linkOf, requestedCommitment, settledCommitment } from "./commitments.ts";
import { packRound } from "./rounds.ts";
import {
  ABSENT,
  DECISION_STATUSES,
  type Address,
  type AgentId,
  type Decision,
  type Digest,
  type Ppm,
  type Request,
  type RequestId,
  type Round,
  type SeatInfo,
  type Terms,
} from "../../../agents/core/types.ts";
import type { AwaitedRound, DecidedRound, RequestStatus } from "../../../agents/core/request/events.ts";
import {
  PROVEN_SERVICES,
  type CertifiedDecision,
  type FinalRequest,
  type Receipt,
} from "../../../agents/ports/chain.ts";
import { oldestSeedAt, type SeedWindow } from "../../../agents/adapters/chain/committee.ts";
import { bondOf, earnings, payOut, standing as standingRounds } from "./pay.ts";
import {
  drawSeats,
  refused,
  requirePeriods,
  requireOutcome,
  verifyCertificate,
  withReputation,
  NO_OUTCOME,
} from "./rules.ts";
import {
  append,
  certificateKey,
  credit,
  nextTimestamp,
  setAgent,
  type Body,
  type RequestEntry,
  type State,
} from "./state.ts";

/** A request as its event says. */
export interface AskedRequest {
  readonly request: Request;
  readonly round: Round;
  readonly seedBlock: bigint;
}

/** Blocks from the request to its seed block, and the fewest blocks of its epoch before the seed block. */
const SEED_DELAY = 8n;
/** At the twenty blocks a second of whole agents in a test, a committee has minutes, also on a busy machine. */
const EPOCH_BLOCKS = 4_096n;
export const SEED_WINDOW: SeedWindow = { epochBlocks: EPOCH_BLOCKS, hashes: 8_191n };
/** Fewest blocks of the epoch after the seed block. */
const DRAW_BLOCKS = 16n;
/** A committee of fewer seats slashes a seat at most once. */
const SLASHING_COMMITTEE = 13;
/** An agent that misses so many seats in a row sleeps. */
const MAX_MISSES = 3;
const WEEK_SECONDS = 604_800;

export function ask(state: State, consumer: Address, terms: Terms, question: string): AskedRequest {
  requirePeriods(terms);
  const [drawable, needed] = [activeCount(state), seatsOfAll({ ...terms, retries: 0 })];
  if (drawable < needed) throw refused("TooFewAgents", { drawable, needed });
  const request: Request = { id: BigInt(state.requests.size + 1) as RequestId, consumer, terms, question };
  const { round, seedBlock } = begin(state, request, { link: 0n, appeals: 0, wait: terms.delay });
  state.requests.set(request.id, standing("requested", 0, requestedCommitment(request, round, seedBlock)));
  append(state, [{ kind: "requested", request, round, seedBlock }]);
  return { request, round, seedBlock };
}

/** The committee as contracts/libraries/CommitteeLib.sol finds it, by the agents at the seed block. */
export function committeeOf(state: State, request: Request, awaited: AwaitedRound): readonly SeatInfo[] {
  const { id, terms } = request;
  const { attempt } = requireAwaited(state, request, awaited);
  const { round, seedBlock, past } = awaited;
  const number = BigInt(state.blocks.length);
  const block = state.blocks[Number(seedBlock)];
  if (block === undefined) throw refused("SeedNotReady", { seedBlock: String(seedBlock) });
  if (seedBlock < oldestSeedAt(number, SEED_WINDOW)) throw refused("SeedExpired", { seedBlock: String(seedBlock) });
  requireHistory(request, round, past);
  const { appeals } = unpackRound(round);
  const sat = new Set(reviewedBy(past, appeals).flatMap(({ committee }) => committee.map(({ agentId }) => agentId)));
  const seed = keccak256(utf8(`${block.prevRandao} ${id} ${attempt}`));
  return drawSeats(block.agents, seed, committeeSizeAfter(terms.committeeSize, appeals), sat);
}

function activeCount({ agents }: State): number {
  return agents.values().reduce((count, { active }) => count + Number(active), 0);
}

export function commit(state: State, one: CertifiedDecision, relayer: Address): Receipt {
  return withCertificate(state, one, append(state, decide(state, one, relayer)));
}

/** Commits like `tryMulticall`: in one transaction, in which a refused commit changes nothing. */
export function commitAll(
  state: State,
  commits: readonly CertifiedDecision[],
  relayer: Address,
): readonly (Receipt | ConclaveError)[] {
  const bodies = commits.map((one) => unlessRefused(() => decide(state, one, relayer)));
  const receipt = append(
    state,
    bodies.flatMap((made) => (made instanceof ConclaveError ? [] : made)),
  );
  return bodies.map((made, index) =>
    made instanceof ConclaveError ? made : withCertificate(state, commits[index] as CertifiedDecision, receipt),
  );
}

/** Keeps the certificate, which can be read from the transaction later. */
function withCertificate(
  { certificates }: State,
  { request, certificate }: CertifiedDecision,
  receipt: Receipt,
): Receipt {
  certificates.set(certificateKey(receipt.transactionHash, request.id), certificate.signatures);
  return receipt;
}

function unlessRefused<T>(action: () => T): T | ConclaveError {
  try {
    return action();
  } catch (error) {
    if (error instanceof ConclaveError) return error;
    throw error;
  }
}

/** Applies a commit to its request and returns the events; changes nothing when it throws. */
function decide(state: State, { request, awaited, certificate }: CertifiedDecision, relayer: Address): readonly Body[] {
  const { decision } = certificate;
  const { round } = awaited;
  const { attempt } = requireAwaited(state, request, awaited);
  requireBefore(state, round);
  const committee = committeeOf(state, request, awaited);
  if (decision.attempt !== attempt) throw refused("InvalidDecision", { field: "attempt", value: decision.attempt });
  requireOutcome(request.terms, decision);
  const signers = verifyCertificate({ domain: state.options.domain, request, attempt, committee }, certificate);
  const relay = { signers, gasPrice: 0n, relayer };
  const following = advance(state, request, { round, committee, decision, relay, appellant: null });
  return [{ kind: "decisionCommitted", requestId: request.id, committee, decision, relay }, ...following];
}

export function appeal(state: State, appellant: Address, request: Request, last: DecidedRound): Receipt {
  requireProvisional(state, request, last);
  requireBefore(state, last.round);
  const { appeals } = unpackRound(last.round);
  const bond = bondOf(request.terms, last.round);
  const link = linkOf(request, { ...last, appellant });
  const step = { attempt: last.decision.attempt + 1, link, appeals: appeals + 1, appellant, bond, wait: 0 };
  return append(state, [reopen(state, request, step)]);
}

export function finalize(state: State, request: Request, last: DecidedRound): Receipt {
  const entry = requireProvisional(state, request, last);
  requireAfter(state, last.round);
  state.requests.set(request.id, { ...entry, provisional: false });
  deliver(state, request, last.decision);
  const { attempt } = last.decision;
  return append(state, [{ kind: "decisionFinalized", requestId: request.id, attempt }]);
}

export function retryCallback(state: State, request: Request, last: DecidedRound): Receipt {
  const { id } = request;
  const entry = requireEntry(state, id, DECISION_STATUSES, settledCommitment(request, last));
  if (!entry.callbackPending) throw refused("CallbackNotPending", { requestId: String(id) });
  if (!callBack(state, request, toldOf(entry, last.decision)))
    throw refused("CallbackStillFails", { requestId: String(id) });
  state.requests.set(id, { ...entry, callbackPending: false });
  return append(state, []);
}

export function settle(state: State, request: Request, rounds: readonly DecidedRound[]): Receipt {
  return append(state, settlementOf(state, { request, rounds }));
}

/** Settles like `tryMulticall`: in one transaction, in which a refused settlement changes nothing. */
export function settleAll(state: State, requests: readonly FinalRequest[]): readonly (Receipt | ConclaveError)[] {
  const bodies = requests.map((one) => unlessRefused(() => settlementOf(state, one)));
  const receipt = append(
    state,
    bodies.flatMap((made) => (made instanceof ConclaveError ? [] : made)),
  );
  return bodies.map((made) => (made instanceof ConclaveError ? made : receipt));
}

function settlementOf(state: State, { request, rounds }: FinalRequest): readonly Body[] {
  const { id } = request;
  const last = rounds.at(-1);
  if (last === undefined) throw refused("WitnessMismatch", { requestId: String(id) });
  requireHistory(request, last.round, rounds.slice(0, -1));
  const entry = requireEntry(state, id, DECISION_STATUSES, settledCommitment(request, last));
  if (entry.provisional) throw refused("DecisionIsProvisional", { requestId: String(id) });
  if (entry.settled) throw refused("AlreadySettled", { requestId: String(id) });
  state.requests.set(id, { ...entry, settled: true });
  return pay(state, request, rounds);
}

/** Pays all rounds of a request, once. */
function pay(state: State, { terms, consumer }: Request, rounds: readonly DecidedRound[]): readonly Body[] {
  const operatorOf = (agentId: number): Address | null =>
    state.agents.values().find((agent) => agent.agentId === agentId)?.operator ?? null;
  const { payments, rest } = payOut(terms, rounds, operatorOf);
  for (const { account, amount } of payments) credit(state, account, terms.currency, amount);
  credit(state, consumer, terms.currency, rest);
  return standingRounds(terms, rounds).flatMap((one) => recordService(state, terms, one));
}

export function replace(state: State, request: Request, awaited: AwaitedRound): Receipt {
  const { attempt } = requireUnanswered(state, request, awaited);
  const { round } = awaited;
  if (!hasRetry(round, request.terms, attempt)) throw refused("NoRetriesLeft", { requestId: String(request.id) });
  const { link, appeals } = unpackRound(round);
  return append(state, [
    reopen(state, request, { attempt: attempt + 1, link, appeals, appellant: null, bond: 0n, wait: 0 }),
  ]);
}

export function refund(state: State, request: Request, awaited: AwaitedRound): Receipt {
  const { id, terms, consumer } = request;
  const entry = requireGivenUp(state, request, awaited);
  if (unpackRound(awaited.round).link !== 0n) throw refused("HasEarlierDecision", { requestId: String(id) });
  state.requests.set(id, { ...entry, status: "refunded", settled: true });
  credit(state, consumer, terms.currency, terms.fee);
  return append(state, [{ kind: "requestRefunded", requestId: id }]);
}

export function fallBack(state: State, request: Request, awaited: AwaitedRound): Receipt {
  const { id, terms } = request;
  const { attempt } = requireGivenUp(state, request, awaited);
  const last = awaited.past.at(-1);
  if (last === undefined || linkOf(request, last) !== unpackRound(awaited.round).link)
    throw refused("WitnessMismatch", { requestId: String(id) });
  const { appellant } = last;
  const bond = appellant === null ? 0n : bondOf(terms, last.round);
  state.requests.set(id, standing("hung", attempt, settledCommitment(request, last)));
  if (appellant !== null) credit(state, appellant, terms.currency, bond);
  deliver(state, request, last.decision);
  return append(state, [{ kind: "attemptUnanswered", requestId: id, attempt, appellant, bond }]);
}

/** Moves a request on after a commit (SE4) and returns the events of it. */
function advance(state: State, request: Request, decided: DecidedRound): readonly Body[] {
  const { terms, id } = request;
  const { round, decision } = decided;
  const { appeals: before, ...fields } = unpackRound(round);
  const next = nextAfter(terms, round, decision);
  if (next === "retry" || next === "larger" || next === "later") {
    const appeals = next === "larger" ? before + 1 : before;
    const wait = next === "later" ? TOO_EARLY_WAIT : 0;
    const step = {
      attempt: decision.attempt + 1,
      link: linkOf(request, decided),
      appeals,
      appellant: null,
      bond: 0n,
      wait,
    };
    return [reopen(state, request, step)];
  }
  if (next === "final") {
    const commitment = settledCommitment(request, decided);
    const settled = unpackRound(round).link === 0n;
    state.requests.set(id, { ...standing(decision.status, decision.attempt, commitment), settled });
    const paid = settled ? pay(state, request, [decided]) : [];
    deliver(state, request, decision);
    return paid;
  }
  const waiting = packRound({ ...fields, appeals: before, deadline: nextTimestamp(state) + terms.duration });
  const commitment = settledCommitment(request, { ...decided, round: waiting });
  state.requests.set(id, { ...standing(decision.status, decision.attempt, commitment), provisional: true });
  return [{ kind: "decisionProvisional", requestId: id, round: waiting }];
}

/** Values that the next attempt starts with. */
interface Step {
  readonly attempt: number;
  readonly link: bigint;
  readonly appeals: number;
  readonly appellant: Address | null;
  readonly bond: bigint;
  /** Seconds before a committee is called, or 0. */
  readonly wait: number;
}

function reopen(state: State, request: Request, step: Step): Body {
  const { attempt, appellant, bond } = step;
  const { round, seedBlock } = begin(state, request, step);
  state.requests.set(request.id, standing("requested", attempt, requestedCommitment(request, round, seedBlock)));
  return { kind: "requestReopened", requestId: request.id, attempt, round, seedBlock, appellant, bond };
}

/** What an attempt begins with. One that waits has no committee. */
function begin(
  state: State,
  { terms }: Request,
  { link, appeals, wait }: Pick<Step, "link" | "appeals" | "wait">,
): Pick<AskedRequest, "round" | "seedBlock"> {
  const period = wait === 0 ? terms.duration : wait;
  return {
    round: packRound({ link, appeals, deadline: nextTimestamp(state) + period }),
    seedBlock: wait === 0 ? nextSeedBlock(state) : NO_SEED_BLOCK,
  };
}

/** Seed block as contracts/DecisionOracle.sol computes it. */
function nextSeedBlock({ blocks }: State): bigint {
  const seedBlock = BigInt(blocks.length) + SEED_DELAY;
  const offset = seedBlock % EPOCH_BLOCKS;
  if (offset < SEED_DELAY) return seedBlock + SEED_DELAY - offset;
  return offset >= EPOCH_BLOCKS - DRAW_BLOCKS ? seedBlock + EPOCH_BLOCKS - offset + SEED_DELAY : seedBlock;
}

function deliver(state: State, request: Request, decision: Decision): void {
  const entry = state.requests.get(request.id);
  if (entry === undefined || request.terms.callbackGasLimit === 0) return;
  state.requests.set(request.id, { ...entry, callbackPending: !callBack(state, request, toldOf(entry, decision)) });
}

/** What the consumer is told: that the request hung if nobody answered an attempt after the decision. */
function toldOf({ attempt }: RequestEntry, decision: Decision): Decision {
  if (attempt === decision.attempt) return decision;
  return { ...decision, status: "hung", outcome: NO_OUTCOME, answer: "", confidence: 0 as Ppm };
}

function callBack({ options }: State, request: Request, decision: Decision): boolean {
  try {
    return options.onDecision(request, decision);
  } catch {
    return false;
  }
}

/**
 * Counts services and misses like contracts/libraries/AgentBook.sol: an agent that is paid or recovers has served, a
 * slashed one has not (ADR 10). SE20: an absent seat missed.
 */
function recordService(state: State, terms: Terms, one: DecidedRound): readonly Body[] {
  const { agents, services } = state;
  const amounts = earnings(terms, one);
  return one.committee.flatMap(({ agentId }, seat): readonly Body[] => {
    const agent = agents.get(agentId);
    if (agent === undefined) return [];
    const missed = one.decision.shares[seat] === ABSENT;
    const decided = one.decision.reputationChanges.find((change) => change.seat === seat)?.steps ?? 0;
    const steps = missed ? Math.min(decided, -1) : decided;
    const asleep = agent.asleep || countMiss(state, agentId, missed) === MAX_MISSES;
    const serves = steps > 0 || (steps === 0 && amounts[seat] !== 0n);
    const served = Math.min(PROVEN_SERVICES, (services.get(agentId) ?? 0) + (serves ? 1 : 0));
    services.set(agentId, served);
    const changed = withReputation(agent, counted(state, agentId, one.committee.length, steps));
    const next = { ...changed, asleep, active: changed.active && !asleep, proven: served === PROVEN_SERVICES };
    if (next.reputation === agent.reputation && next.proven === agent.proven && asleep === agent.asleep) return [];
    setAgent(state, next);
    return [{ kind: "agentsChanged", agentId }];
  });
}

/** Returns how many seats in a row the agent has missed, with this one. */
function countMiss({ misses }: State, agentId: AgentId, missed: boolean): number {
  const count = missed ? (misses.get(agentId) ?? 0) + 1 : 0;
  misses.set(agentId, count);
  return count;
}

/** SE11, RE4: steps of a decision that take effect, as in contracts/libraries/PayLib.sol and ReputationLib.sol. */
function counted(state: State, agentId: AgentId, size: number, steps: number): number {
  if (steps >= 0) return steps;
  const slashes = size < SLASHING_COMMITTEE ? 1 : -steps;
  const week = Math.floor(nextTimestamp(state) / WEEK_SECONDS);
  const fall = state.falls.get(agentId);
  const earlier = fall?.week === week ? fall.slashes : 0;
  if (slashes <= earlier) return 0;
  state.falls.set(agentId, { week, slashes });
  return earlier - slashes;
}

function standing(status: RequestStatus, attempt: number, commitment: Digest): RequestEntry {
  return { status, attempt, commitment, provisional: false, callbackPending: false, settled: false };
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

function requireProvisional(state: State, request: Request, last: DecidedRound): RequestEntry {
  const entry = requireEntry(state, request.id, DECISION_STATUSES, settledCommitment(request, last));
  if (!entry.provisional) throw refused("DecisionIsFinal", { requestId: String(request.id) });
  return entry;
}

function requireAwaited(state: State, request: Request, { round, seedBlock }: AwaitedRound): RequestEntry {
  return requireEntry(state, request.id, ["requested"], requestedCommitment(request, round, seedBlock));
}

function requireUnanswered(state: State, request: Request, awaited: AwaitedRound): RequestEntry {
  const entry = requireAwaited(state, request, awaited);
  const number = BigInt(state.blocks.length);
  const next = { number, timestamp: nextTimestamp(state), oldestSeed: oldestSeedAt(number, SEED_WINDOW) };
  if (!isTimeUp(awaited, next)) throw refused("DeadlineNotPassed", { deadline: unpackRound(awaited.round).deadline });
  return entry;
}

function requireGivenUp(state: State, request: Request, awaited: AwaitedRound): RequestEntry {
  const entry = requireUnanswered(state, request, awaited);
  if (hasRetry(awaited.round, request.terms, entry.attempt))
    throw refused("RetriesLeft", { requestId: String(request.id) });
  return entry;
}

/** Refuses rounds that do not lead to the link of this round. */
function requireHistory(request: Request, round: Round, past: readonly DecidedRound[]): void {
  const links = [0n, ...past.map((one) => linkOf(request, one))];
  const rounds = [...past.map((one) => one.round), round];
  if (rounds.some((one, index) => unpackRound(one).link !== links[index]))
    throw refused("WitnessMismatch", { requestId: String(request.id) });
}

function requireBefore(state: State, round: Round): void {
  const { deadline } = unpackRound(round);
  if (nextTimestamp(state) > deadline) throw refused("DeadlinePassed", { deadline });
}

function requireAfter(state: State, round: Round): void {
  const { deadline } = unpackRound(round);
  if (nextTimestamp(state) <= deadline) throw refused("DeadlineNotPassed", { deadline });
}
