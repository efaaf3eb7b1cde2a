// Entities that an event may find or has to create.
import { Address, BigInt, Bytes } from "@graphprotocol/graph-ts";

import {
  Account,
  Agent,
  Deployment,
  Operator,
  StakePosition,
  RequestSubscription,
  SubscriptionConsumer,
} from "../generated/schema";
import { TOKEN, UNBOUNDED, ZERO, consumerId, positionId } from "./names";

const DEPLOYMENT = "conclave";

export function loadDeployment(): Deployment {
  const found = Deployment.load(DEPLOYMENT);
  if (found != null) return found;
  const deployment = new Deployment(DEPLOYMENT);
  deployment.minStake = ZERO;
  deployment.maxStake = ZERO;
  deployment.unbondingDelay = ZERO;
  deployment.epochBlocks = ZERO;
  deployment.supportedProtocols = ZERO;
  deployment.tokenPaused = false;
  deployment.nativePaused = false;
  deployment.agents = 0;
  deployment.activeAgents = 0;
  deployment.requests = 0;
  return deployment;
}

export function loadAccount(address: Bytes): Account {
  const found = Account.load(address);
  if (found != null) return found;
  const account = new Account(address);
  account.creditToken = ZERO;
  account.creditNative = ZERO;
  account.owed = ZERO;
  account.save();
  return account;
}

/** Adds to what the account can withdraw from the oracle; a withdrawal is below 0. */
export function credit(address: Bytes, currency: string, amount: BigInt): void {
  if (amount.isZero()) return;
  const account = loadAccount(address);
  if (currency == TOKEN) account.creditToken = account.creditToken.plus(amount);
  else account.creditNative = account.creditNative.plus(amount);
  account.save();
}

/** Adds to what the registry owes the account. */
export function owe(address: Bytes, amount: BigInt): void {
  const account = loadAccount(address);
  account.owed = account.owed.plus(amount);
  account.save();
}

/** Adds to what a subscription can spend. */
export function fundSubscription(id: string, currency: string, amount: BigInt): void {
  const subscription = RequestSubscription.load(id)!;
  if (currency == TOKEN) subscription.tokenBalance = subscription.tokenBalance.plus(amount);
  else subscription.nativeBalance = subscription.nativeBalance.plus(amount);
  subscription.save();
}

/** Takes the fee of a request off what the consumer may still spend, unless that is unbounded. */
export function spendAllowance(id: string, consumerAddress: Bytes, currency: string, fee: BigInt): void {
  const consumer = SubscriptionConsumer.load(consumerId(id, consumerAddress))!;
  const isToken = currency == TOKEN;
  const left = isToken ? consumer.tokenAllowance : consumer.nativeAllowance;
  if (left.equals(UNBOUNDED)) return;
  if (isToken) consumer.tokenAllowance = left.minus(fee);
  else consumer.nativeAllowance = left.minus(fee);
  consumer.save();
}

export function loadOperator(address: Bytes): Operator {
  const found = Operator.load(address);
  if (found != null) return found;
  const operator = new Operator(address);
  operator.account = loadAccount(address).id;
  operator.earnedToken = ZERO;
  operator.earnedNative = ZERO;
  operator.save();
  return operator;
}

/** Loads an agent that is registered. */
export function loadAgent(number: BigInt): Agent {
  return Agent.load(number.toString())!;
}

/** With nothing unbonding if that was slashed away. */
export function loadPosition(agent: Agent, account: Address): StakePosition {
  const id = positionId(agent.id, account);
  let position = StakePosition.load(id);
  if (position == null) {
    position = new StakePosition(id);
    position.agent = agent.id;
    position.account = loadAccount(account).id;
    position.isOperator = agent.operator.equals(account);
    position.shares = ZERO;
    position.joiningShares = ZERO;
    position.unbondingShares = ZERO;
    position.unbondingEnd = ZERO;
    position.deposited = ZERO;
    position.withdrawn = ZERO;
    position.generation = agent.generation;
  }
  if (position.generation != agent.generation) {
    position.unbondingShares = ZERO;
    position.generation = agent.generation;
  }
  return position;
}
