// Agents, stakes, reputations.
import { Address, BigInt, Bytes, ethereum } from "@graphprotocol/graph-ts";

import {
  AgentActivated,
  AgentDeactivated,
  AgentExited,
  AgentFellAsleep,
  AgentRegistered,
  AgentWoke,
  AppellantRewarded,
  Claimed,
  CommissionChanged,
  CommissionRaiseAnnounced,
  EarningStarted,
  EndpointUpdated,
  ModelUpdated,
  OperatorTransferStarted,
  OperatorTransferred,
  RegistryDeployed,
  ReputationChanged,
  RewardsClaimed,
  ServicesRecorded,
  SignerRotated,
  StakeBonded,
  StakeSlashed,
  StakeWithdrawn,
  UnbondingStarted,
} from "../generated/AgentRegistry/AgentRegistry";
import {
  Agent,
  AgentKey,
  Attempt,
  Claim,
  CommissionChange,
  Decision,
  ReputationChange,
  Request,
  RewardClaim,
  Slash,
  StakeChange,
  StakePosition,
} from "../generated/schema";
import { serviceAgentId, serviceAgreed, serviceAnswered, serviceEarned, serviceMissed, serviceSteps } from "./layouts";
import { ABSENT, TOKEN, ZERO, attemptId, currencyOf, eventId, isZero, positionId, seatId } from "./names";
import { isOverturned } from "./overturned";
import { credit, loadAccount, loadAgent, loadDeployment, loadOperator, loadPosition, owe } from "./stores";

/** Settled requests until an agent's stake weighs in full. */
const PROVEN_SERVICE = 16;
const WEEK_SECONDS: u64 = 604_800;
/** See contracts/types/Limits.sol. */
const SLASHING_COMMITTEE = 13;
const MAX_WEEKLY_LESSONS = 8;
const SKILL_MEMORY = 128;
/** Missed seats in a row after which an agent sleeps. */
const MAX_MISSES = 3;

export function handleRegistryDeployed(event: RegistryDeployed): void {
  const terms = event.params.deployment;
  const deployment = loadDeployment();
  deployment.registry = event.address;
  deployment.stakeToken = terms.stakeToken;
  deployment.oracle = terms.oracle;
  deployment.slasher = terms.slasher;
  deployment.treasury = terms.treasury;
  deployment.minStake = terms.minStake;
  deployment.maxStake = terms.maxStake;
  deployment.unbondingDelay = terms.unbondingDelay;
  deployment.epochBlocks = terms.epochBlocks;
  deployment.save();
}

export function handleAgentRegistered(event: AgentRegistered): void {
  const deployment = loadDeployment();
  deployment.agents += 1;
  deployment.save();
  const agent = new Agent(event.params.agentId.toString());
  agent.number = event.params.agentId.toI32();
  agent.operator = loadOperator(event.params.operator).id;
  agent.signer = event.params.signer;
  agent.model = event.params.model;
  agent.endpoint = event.params.endpoint;
  agent.reputation = event.params.reputation.toI32();
  agent.active = false;
  agent.exited = false;
  agent.misses = 0;
  agent.asleep = false;
  agent.service = 0;
  agent.contested = 0;
  agent.agreed = 0;
  agent.skill = skillOf(0, 0);
  agent.week = 0;
  agent.falls = 0;
  agent.lessons = 0;
  agent.bonded = ZERO;
  agent.bondedShares = ZERO;
  agent.joiningShares = ZERO;
  agent.unbonding = ZERO;
  agent.unbondingShares = ZERO;
  agent.generation = 0;
  agent.commission = event.params.commission;
  agent.announcedCommission = 0;
  agent.raiseTime = ZERO;
  agent.slashed = ZERO;
  agent.seatCount = 0;
  agent.signatureCount = 0;
  agent.earnedToken = ZERO;
  agent.earnedNative = ZERO;
  agent.registeredAt = event.block.timestamp;
  agent.save();
  saveKey(agent, event.params.signer, event.params.publicKey, event);
}

export function handleSignerRotated(event: SignerRotated): void {
  const agent = loadAgent(event.params.agentId);
  agent.signer = event.params.signer;
  agent.save();
  saveKey(agent, event.params.signer, event.params.publicKey, event);
}

export function handleOperatorTransferStarted(event: OperatorTransferStarted): void {
  const agent = loadAgent(event.params.agentId);
  agent.offeredTo = isZero(event.params.to) ? null : event.params.to;
  agent.save();
}

export function handleOperatorTransferred(event: OperatorTransferred): void {
  const agent = loadAgent(event.params.agentId);
  agent.operator = loadOperator(event.params.operator).id;
  agent.offeredTo = null;
  agent.save();
  setOperator(agent, event.params.before, false);
  setOperator(agent, event.params.operator, true);
}

export function handleEndpointUpdated(event: EndpointUpdated): void {
  const agent = loadAgent(event.params.agentId);
  agent.endpoint = event.params.endpoint;
  agent.save();
}

export function handleModelUpdated(event: ModelUpdated): void {
  const agent = loadAgent(event.params.agentId);
  agent.model = event.params.model;
  agent.save();
}

export function handleAgentActivated(event: AgentActivated): void {
  setActive(event.params.agentId, true);
}

export function handleAgentDeactivated(event: AgentDeactivated): void {
  setActive(event.params.agentId, false);
}

export function handleAgentExited(event: AgentExited): void {
  const agent = loadAgent(event.params.agentId);
  agent.exited = true;
  agent.save();
}

/** `ServicesRecorded` follows, which counts the miss. */
export function handleAgentFellAsleep(event: AgentFellAsleep): void {
  const agent = loadAgent(event.params.agentId);
  agent.asleep = true;
  agent.save();
}

export function handleAgentWoke(event: AgentWoke): void {
  const agent = loadAgent(event.params.agentId);
  agent.asleep = false;
  agent.misses = 0;
  agent.save();
}

export function handleStakeBonded(event: StakeBonded): void {
  const agent = loadAgent(event.params.agentId);
  agent.bonded = agent.bonded.plus(event.params.amount);
  agent.bondedShares = agent.bondedShares.plus(event.params.shares);
  const joining = event.params.joiningEnd.isZero() ? ZERO : event.params.shares;
  agent.joiningShares = agent.joiningShares.plus(joining);
  agent.save();
  const position = loadPosition(agent, event.params.account);
  position.shares = position.shares.plus(event.params.shares);
  position.joiningShares = position.joiningShares.plus(joining);
  position.deposited = position.deposited.plus(event.params.amount);
  position.save();
  const change = stakeChange(agent, "Bonded", event.params.amount, event);
  change.account = event.params.account;
  change.shares = event.params.shares;
  change.save();
}

export function handleEarningStarted(event: EarningStarted): void {
  const agent = loadAgent(event.params.agentId);
  agent.joiningShares = agent.joiningShares.minus(event.params.shares);
  agent.save();
  const position = loadPosition(agent, event.params.account);
  position.joiningShares = position.joiningShares.minus(event.params.shares);
  position.save();
}

/** Shares that do not earn yet leave first. */
export function handleUnbondingStarted(event: UnbondingStarted): void {
  const agent = loadAgent(event.params.agentId);
  const position = loadPosition(agent, event.params.account);
  const joining = position.joiningShares.lt(event.params.shares) ? position.joiningShares : event.params.shares;
  agent.bonded = agent.bonded.minus(event.params.amount);
  agent.bondedShares = agent.bondedShares.minus(event.params.shares);
  agent.joiningShares = agent.joiningShares.minus(joining);
  agent.unbonding = agent.unbonding.plus(event.params.amount);
  agent.unbondingShares = agent.unbondingShares.plus(event.params.unbondingShares);
  agent.save();
  position.shares = position.shares.minus(event.params.shares);
  position.joiningShares = position.joiningShares.minus(joining);
  position.unbondingShares = position.unbondingShares.plus(event.params.unbondingShares);
  position.unbondingEnd = event.params.unbondingEnd;
  position.save();
  const change = stakeChange(agent, "UnbondingStarted", event.params.amount, event);
  change.account = event.params.account;
  change.shares = event.params.shares;
  change.unbondingShares = event.params.unbondingShares;
  change.save();
}

export function handleStakeWithdrawn(event: StakeWithdrawn): void {
  const agent = loadAgent(event.params.agentId);
  agent.unbonding = agent.unbonding.minus(event.params.amount);
  agent.unbondingShares = agent.unbondingShares.minus(event.params.unbondingShares);
  agent.save();
  const position = loadPosition(agent, event.params.account);
  position.unbondingShares = ZERO;
  position.unbondingEnd = ZERO;
  position.withdrawn = position.withdrawn.plus(event.params.amount);
  position.save();
  const change = stakeChange(agent, "Withdrawn", event.params.amount, event);
  change.account = event.params.account;
  change.unbondingShares = event.params.unbondingShares;
  change.save();
}

export function handleStakeSlashed(event: StakeSlashed): void {
  const taken = event.params.bonded.plus(event.params.unbonding);
  const agent = loadAgent(event.params.agentId);
  agent.bonded = agent.bonded.minus(event.params.bonded);
  agent.unbonding = agent.unbonding.minus(event.params.unbonding);
  agent.slashed = agent.slashed.plus(taken);
  // A pot of unbonding stake that is slashed to nothing is given up with its shares (StakePool.slash).
  if (agent.unbonding.isZero() && !event.params.unbonding.isZero()) {
    agent.unbondingShares = ZERO;
    agent.generation += 1;
  }
  agent.save();
  stakeChange(agent, "Slashed", taken, event).save();

  const deployment = loadDeployment();
  const slash = new Slash(eventId(event));
  slash.agent = agent.id;
  // The slasher announces its evidence just before it slashes.
  slash.evidence = deployment.lastEvidence;
  slash.bonded = event.params.bonded;
  slash.unbonding = event.params.unbonding;
  slash.reward = event.params.reward;
  slash.reporter = loadAccount(event.params.reporter).id;
  slash.timestamp = event.block.timestamp;
  slash.block = event.block.number;
  slash.transaction = event.transaction.hash;
  slash.save();
  owe(event.params.reporter, event.params.reward);
  owe(deployment.treasury!, taken.minus(event.params.reward));
}

export function handleAppellantRewarded(event: AppellantRewarded): void {
  owe(event.params.appellant, event.params.amount);
  owe(loadDeployment().treasury!, event.params.amount.neg());
}

export function handleClaimed(event: Claimed): void {
  owe(event.params.account, event.params.amount.neg());
  const claim = new Claim(eventId(event));
  claim.account = event.params.account;
  claim.to = event.params.to;
  claim.amount = event.params.amount;
  claim.timestamp = event.block.timestamp;
  claim.block = event.block.number;
  claim.transaction = event.transaction.hash;
  claim.save();
}

/** What a settled request did to the agents of its seats. The oracle holds what they earn, as the registry's credit. */
export function handleServicesRecorded(event: ServicesRecorded): void {
  const services = event.params.services;
  const currency = currencyOf(event.params.currency);
  let earned = ZERO;
  for (let i = 0; i < services.length; i++) {
    serve(services[i], currency, event.block.timestamp);
    earned = earned.plus(serviceEarned(services[i]));
  }
  credit(event.address, currency, earned);
}

/** The oracle's `Withdrawn` says that the registry's credit is smaller by it. */
export function handleRewardsClaimed(event: RewardsClaimed): void {
  const claim = new RewardClaim(eventId(event));
  claim.agent = loadAgent(event.params.agentId).id;
  claim.account = loadAccount(event.params.account).id;
  claim.to = event.params.to;
  claim.currency = currencyOf(event.params.currency);
  claim.amount = event.params.amount;
  claim.timestamp = event.block.timestamp;
  claim.block = event.block.number;
  claim.transaction = event.transaction.hash;
  claim.save();
}

export function handleCommissionChanged(event: CommissionChanged): void {
  const agent = loadAgent(event.params.agentId);
  agent.commission = event.params.commission;
  agent.announcedCommission = 0;
  agent.raiseTime = ZERO;
  agent.save();
  commissionChange(agent, event.params.commission, event).save();
}

export function handleCommissionRaiseAnnounced(event: CommissionRaiseAnnounced): void {
  const agent = loadAgent(event.params.agentId);
  agent.announcedCommission = event.params.commission;
  agent.raiseTime = event.params.raiseTime;
  agent.save();
  const change = commissionChange(agent, event.params.commission, event);
  change.raiseTime = event.params.raiseTime;
  change.save();
}

/** Comes from the settlement of a request: after the end of its escrow, before `ServicesRecorded`. */
export function handleReputationChanged(event: ReputationChanged): void {
  const agent = loadAgent(event.params.agentId);
  enterWeek(agent, event.block.timestamp);
  const request = Request.load(loadDeployment().lastSettled!)!;
  const steps = event.params.steps;
  // What earlier falls of the week took is not taken again (RE4).
  const decided = steps < 0 ? steps - agent.falls : steps;
  const seat = causeOf(request, agent.number, decided)!;
  const change = new ReputationChange(seat);
  change.agent = agent.id;
  change.request = request.id;
  change.seat = seat;
  change.steps = steps;
  change.before = agent.reputation;
  change.after = event.params.reputation.toI32();
  change.timestamp = event.block.timestamp;
  change.block = event.block.number;
  change.logIndex = event.logIndex;
  change.transaction = event.transaction.hash;
  change.save();
  agent.reputation = change.after;
  if (steps < 0) agent.falls = -decided;
  agent.save();
}

/**
 * Returns the first seat of the agent, in a round that stands, that moves its reputation by so many steps and has caused no change yet. An
 * agent may sit again, and the registry serves the seats in the order of rounds.
 */
function causeOf(request: Request, agent: i32, steps: i32): string | null {
  for (let number = 0; number <= request.attempt; number++) {
    const attempt = Attempt.load(attemptId(request.id, number))!;
    const decision = Decision.load(attempt.id);
    if (decision == null || isOverturned(request, attempt, decision)) continue;
    const committee = attempt.committee;
    for (let seat = 0; seat < committee.length; seat++) {
      const id = seatId(attempt.id, seat);
      if (committee[seat] == agent && stepsOf(decision, seat) == steps && ReputationChange.load(id) == null) return id;
    }
  }
  return null;
}

/** A small committee slashes a seat once at most (SE11), and an absent seat is slashed at least once (SE20). */
function stepsOf(decision: Decision, seat: i32): i32 {
  const isSmall = decision.committeeSize < SLASHING_COMMITTEE;
  const steps = isSmall ? max(decision.steps[seat], -1) : decision.steps[seat];
  return decision.shares[seat] == ABSENT ? min(steps, -1) : steps;
}

/** See `Service`. Whoever is paid or recovers has served. */
function serve(service: BigInt, currency: string, time: BigInt): void {
  const agent = loadAgent(BigInt.fromU64(serviceAgentId(service)));
  const operator = loadOperator(agent.operator);
  const earned = serviceEarned(service);
  if (currency == TOKEN) {
    agent.earnedToken = agent.earnedToken.plus(earned);
    operator.earnedToken = operator.earnedToken.plus(earned);
  } else {
    agent.earnedNative = agent.earnedNative.plus(earned);
    operator.earnedNative = operator.earnedNative.plus(earned);
  }
  const steps = <i32>(<i8>serviceSteps(service));
  const missed = serviceMissed(service) != 0;
  const counts = !missed && (steps > 0 || (steps == 0 && !earned.isZero()));
  if (counts && agent.service < PROVEN_SERVICE) agent.service += 1;
  // Only `wake` ends a sleep.
  if (agent.misses < MAX_MISSES) agent.misses = missed ? agent.misses + 1 : 0;
  if (serviceAnswered(service) != 0) teach(agent, serviceAgreed(service) != 0, time);
  agent.save();
  operator.save();
}

/** SK4, SK5: a contested decision more, if the week has room for it. */
function teach(agent: Agent, agrees: boolean, time: BigInt): void {
  enterWeek(agent, time);
  if (agent.lessons == MAX_WEEKLY_LESSONS) return;
  agent.lessons += 1;
  agent.contested += 1;
  if (agrees) agent.agreed += 1;
  if (agent.contested == SKILL_MEMORY) {
    agent.contested /= 2;
    agent.agreed /= 2;
  }
  agent.skill = skillOf(agent.agreed, agent.contested);
}

/** A new week has neither falls nor lessons. */
function enterWeek(agent: Agent, time: BigInt): void {
  const week = <i32>(time.toU64() / WEEK_SECONDS);
  if (agent.week == week) return;
  agent.week = week;
  agent.falls = 0;
  agent.lessons = 0;
}

/** SK6 */
function skillOf(agreed: i32, contested: i32): i32 {
  const part = 5 * (agreed + 3);
  const whole = contested + 5;
  if (part >= 4 * whole) return 3;
  return part >= 3 * whole ? 2 : 1;
}

/** Stake stays with its accounts. */
function setOperator(agent: Agent, account: Address, isOperator: boolean): void {
  const position = StakePosition.load(positionId(agent.id, account));
  if (position == null) return;
  position.isOperator = isOperator;
  position.save();
}

function setActive(agentId: BigInt, active: boolean): void {
  const deployment = loadDeployment();
  deployment.activeAgents += active ? 1 : -1;
  deployment.save();
  const agent = loadAgent(agentId);
  agent.active = active;
  agent.save();
}

function saveKey(agent: Agent, signer: Address, publicKey: Bytes, event: ethereum.Event): void {
  const key = new AgentKey(signer);
  key.agent = agent.id;
  key.publicKey = publicKey;
  key.timestamp = event.block.timestamp;
  key.block = event.block.number;
  key.transaction = event.transaction.hash;
  key.save();
}

/** Not yet saved. */
function commissionChange(agent: Agent, commission: i32, event: ethereum.Event): CommissionChange {
  const change = new CommissionChange(eventId(event));
  change.agent = agent.id;
  change.commission = commission;
  change.timestamp = event.block.timestamp;
  change.block = event.block.number;
  change.logIndex = event.logIndex;
  change.transaction = event.transaction.hash;
  return change;
}

/** Not yet saved; the agent is as it is after the event. */
function stakeChange(agent: Agent, move: string, amount: BigInt, event: ethereum.Event): StakeChange {
  const change = new StakeChange(eventId(event));
  change.agent = agent.id;
  change.move = move;
  change.amount = amount;
  change.shares = ZERO;
  change.unbondingShares = ZERO;
  change.bonded = agent.bonded;
  change.unbonding = agent.unbonding;
  change.timestamp = event.block.timestamp;
  change.block = event.block.number;
  change.logIndex = event.logIndex;
  change.transaction = event.transaction.hash;
  return change;
}
