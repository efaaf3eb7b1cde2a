// Subscriptions, credits, prices.
import {
  ConsumerSet,
  PricesSet,
  RequestsPaused,
  RequestsUnpaused,
  SubscriptionCreated,
  SubscriptionFunded,
  SubscriptionTransferStarted,
  SubscriptionTransferred,
  SubscriptionWithdrawn,
  Withdrawn,
} from "../generated/DecisionOracle/DecisionOracle";
import {
  ParameterChange,
  PriceList,
  RequestSubscription,
  SubscriptionConsumer,
  SubscriptionMovement,
  Withdrawal,
} from "../generated/schema";
import { Address, BigInt, ethereum } from "@graphprotocol/graph-ts";
import { TOKEN, ZERO, consumerId, currencyOf, eventId, isZero, priceListId } from "./names";
import { credit, fundSubscription, loadDeployment } from "./stores";

export function handleSubscriptionCreated(event: SubscriptionCreated): void {
  const subscription = new RequestSubscription(event.params.subscriptionId.toString());
  subscription.owner = event.params.owner;
  subscription.tokenBalance = ZERO;
  subscription.nativeBalance = ZERO;
  subscription.requestCount = 0;
  subscription.createdAt = event.block.timestamp;
  subscription.save();
}

export function handleConsumerSet(event: ConsumerSet): void {
  const subscription = event.params.subscriptionId.toString();
  const id = consumerId(subscription, event.params.consumer);
  let consumer = SubscriptionConsumer.load(id);
  if (consumer == null) {
    consumer = new SubscriptionConsumer(id);
    consumer.subscription = subscription;
    consumer.consumer = event.params.consumer;
  }
  consumer.tokenAllowance = event.params.tokenAllowance;
  consumer.nativeAllowance = event.params.nativeAllowance;
  consumer.save();
}

export function handleSubscriptionTransferStarted(event: SubscriptionTransferStarted): void {
  const subscription = RequestSubscription.load(event.params.subscriptionId.toString())!;
  subscription.pendingOwner = isZero(event.params.to) ? null : event.params.to;
  subscription.save();
}

export function handleSubscriptionTransferred(event: SubscriptionTransferred): void {
  const subscription = RequestSubscription.load(event.params.subscriptionId.toString())!;
  subscription.owner = event.params.to;
  subscription.pendingOwner = null;
  subscription.save();
}

export function handleSubscriptionFunded(event: SubscriptionFunded): void {
  const id = event.params.subscriptionId.toString();
  const currency = currencyOf(event.params.currency);
  fundSubscription(id, currency, event.params.amount);
  saveMovement(id, event.params.from, currency, event.params.amount, event);
}

export function handleSubscriptionWithdrawn(event: SubscriptionWithdrawn): void {
  const id = event.params.subscriptionId.toString();
  const currency = currencyOf(event.params.currency);
  fundSubscription(id, currency, event.params.amount.neg());
  saveMovement(id, event.params.to, currency, event.params.amount.neg(), event);
}

export function handleWithdrawn(event: Withdrawn): void {
  const withdrawal = new Withdrawal(eventId(event));
  withdrawal.account = event.params.account;
  withdrawal.to = event.params.to;
  withdrawal.currency = currencyOf(event.params.currency);
  withdrawal.amount = event.params.amount;
  withdrawal.timestamp = event.block.timestamp;
  withdrawal.block = event.block.number;
  withdrawal.transaction = event.transaction.hash;
  withdrawal.save();
  credit(event.params.account, withdrawal.currency, event.params.amount.neg());
}

export function handlePricesSet(event: PricesSet): void {
  const currency = currencyOf(event.params.currency);
  const terms = event.params.prices;
  const list = new PriceList(priceListId(currency, event.params.version));
  list.currency = currency;
  list.version = event.params.version;
  list.unitPrice = terms.unitPrice;
  list.gasRate = terms.gasRate;
  list.gasPriceCap = terms.gasPriceCap;
  list.treasuryPpm = terms.treasuryPpm;
  list.timestamp = event.block.timestamp;
  list.block = event.block.number;
  list.transaction = event.transaction.hash;
  list.save();
  const change = parameterChange("Prices", currency, event);
  change.priceList = list.id;
  change.save();
}

export function handleRequestsPaused(event: RequestsPaused): void {
  setPaused(currencyOf(event.params.currency), true, event);
}

export function handleRequestsUnpaused(event: RequestsUnpaused): void {
  setPaused(currencyOf(event.params.currency), false, event);
}

function setPaused(currency: string, paused: boolean, event: ethereum.Event): void {
  const deployment = loadDeployment();
  if (currency == TOKEN) deployment.tokenPaused = paused;
  else deployment.nativePaused = paused;
  deployment.save();
  parameterChange(paused ? "RequestsPaused" : "RequestsUnpaused", currency, event).save();
}

function parameterChange(name: string, currency: string, event: ethereum.Event): ParameterChange {
  const change = new ParameterChange(eventId(event));
  change.name = name;
  change.currency = currency;
  change.timestamp = event.block.timestamp;
  change.block = event.block.number;
  change.logIndex = event.logIndex;
  change.transaction = event.transaction.hash;
  return change;
}

function saveMovement(id: string, account: Address, currency: string, amount: BigInt, event: ethereum.Event): void {
  const movement = new SubscriptionMovement(eventId(event));
  movement.subscription = id;
  movement.account = account;
  movement.currency = currency;
  movement.amount = amount;
  movement.timestamp = event.block.timestamp;
  movement.block = event.block.number;
  movement.transaction = event.transaction.hash;
  movement.save();
}
