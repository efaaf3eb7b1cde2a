// Requests, committees, decisions, appeals.
import { BigInt, ByteArray, Bytes, crypto, ethereum } from "@graphprotocol/graph-ts";

import {
  AttemptUnanswered,
  CallbackFailed,
  CallbackSucceeded,
  DecisionCommitted,
  DecisionFinalized,
  DecisionProvisional,
  OracleDeployed,
  RefundCallbackFailed,
  RequestCancelled,
  RequestRefunded,
  RequestReopened,
  Requested,
} from "../generated/DecisionOracle/DecisionOracle";
import { Appeal, Attempt, Callback, Decision, Request, RequestSubscription, Seat } from "../generated/schema";
import { cidOf } from "./cid";
import {
  headAttempt,
  headAgreed,
  headAnswered,
  headConfidence,
  headRound,
  headSeats,
  headStatus,
  readTerms,
  relayGasPrice,
  relayRelayer,
  relaySigners,
  requestIdPriceVersion,
  requestIdSubscription,
  roundAppeals,
  roundDeadline,
  seatAgentId,
  seatReputation,
  seatSkill,
  seatSigner,
} from "./layouts";
import { ZERO, attemptId, eventId, isWaiting, isZero, priceListId, seatId, statusOf } from "./names";
import { Tally } from "./statistics";
import { credit, fundSubscription, loadAccount, loadAgent, loadDeployment, spendAllowance } from "./stores";
import { bytesAt } from "./words";

export {
  handleConsumerSet,
  handlePricesSet,
  handleRequestsPaused,
  handleRequestsUnpaused,
  handleSubscriptionCreated,
  handleSubscriptionFunded,
  handleSubscriptionTransferStarted,
  handleSubscriptionTransferred,
  handleSubscriptionWithdrawn,
  handleWithdrawn,
} from "./accounts";
export { handleCallerPaid, handleDecisionSettled, handleFeeRefunded } from "./settlement";

/** Wei of a unit of the gas price in a relay word. */
const GAS_PRICE_UNIT = BigInt.fromI32(1000000);

export function handleOracleDeployed(event: OracleDeployed): void {
  const deployment = loadDeployment();
  deployment.oracle = event.address;
  deployment.settlement = event.params.settlement;
  deployment.supportedProtocols = event.params.supportedProtocols;
  deployment.save();
}

export function handleRequested(event: Requested): void {
  const terms = event.params.terms;
  const requestId = event.params.requestId;
  const deployment = loadDeployment();
  deployment.requests += 1;
  deployment.save();
  const request = new Request(requestId.toString());
  request.number = deployment.requests;
  request.questionHash = Bytes.fromByteArray(crypto.keccak256(event.params.question));
  request.hash = hashOf(requestId, event.params.consumer, terms, request.questionHash);
  request.consumer = event.params.consumer;
  request.question = event.params.question.toString();
  readTerms(request, terms);
  request.priceList = priceListId(request.currency, requestIdPriceVersion(requestId));
  request.status = "Requested";
  request.provisional = false;
  request.settled = false;
  request.cancelled = false;
  request.outcomeStored = false;
  request.callback = request.callbackGasLimit == 0 ? "NotWanted" : "Waiting";
  request.attempt = 0;
  request.deadline = BigInt.fromU64(roundDeadline(event.params.round));
  request.refund = ZERO;
  request.timestamp = event.block.timestamp;
  request.block = event.block.number;
  request.transaction = event.transaction.hash;
  const subscription = subscriptionOf(requestId);
  if (subscription) spend(request, subscription);
  request.save();
  createAttempt(request, "First", event.params.round, event.params.seedBlock, event);

  const tally = new Tally();
  tally.requests = 1;
  tally.currency = request.currency;
  tally.fees = request.fee;
  tally.count(request.protocol, event.block.timestamp);
}

export function handleRequestReopened(event: RequestReopened): void {
  const request = Request.load(event.params.requestId.toString())!;
  const before = Attempt.load(attemptId(request.id, request.attempt))!;
  request.attempt = event.params.attempt.toI32();
  request.status = "Requested";
  request.provisional = false;
  request.deadline = BigInt.fromU64(roundDeadline(event.params.round));
  let cause = causeAfter(before, event.params.seedBlock);
  if (!isZero(event.params.appellant)) {
    cause = "Appeal";
    request.appeal = createAppeal(request, before.id, event).id;
    const tally = new Tally();
    tally.appeals = 1;
    tally.count(request.protocol, event.block.timestamp);
  }
  request.save();
  createAttempt(request, cause, event.params.round, event.params.seedBlock, event);
}

export function handleDecisionCommitted(event: DecisionCommitted): void {
  const head = event.params.head;
  const request = Request.load(event.params.requestId.toString())!;
  const attempt = Attempt.load(attemptId(request.id, headAttempt(head)))!;
  attempt.committee = createSeats(attempt, event);
  const decision = createDecision(attempt, event);
  attempt.decision = decision.id;
  attempt.save();
  request.status = decision.status;
  request.decision = decision.id;
  if (isFinal(request, attempt, decision)) deliver(request);
  request.save();
  const tally = new Tally();
  if (decision.status == "Decided") tally.decided = 1;
  else if (decision.status == "Unanswerable") tally.unanswerable = 1;
  else if (decision.status == "TooEarly") tally.tooEarly = 1;
  else tally.hung = 1;
  tally.count(request.protocol, event.block.timestamp);
}

export function handleDecisionProvisional(event: DecisionProvisional): void {
  const request = Request.load(event.params.requestId.toString())!;
  request.provisional = true;
  request.deadline = BigInt.fromU64(roundDeadline(event.params.round));
  request.save();
  const attempt = Attempt.load(attemptId(request.id, request.attempt))!;
  attempt.round = bytesAt(event.params.round, 32);
  attempt.deadline = request.deadline;
  attempt.save();
}

export function handleDecisionFinalized(event: DecisionFinalized): void {
  const request = Request.load(event.params.requestId.toString())!;
  request.provisional = false;
  deliver(request);
  request.save();
}

/** Nobody answers the latest attempt any more: the request ends as Hung, and the consumer is told so. */
export function handleAttemptUnanswered(event: AttemptUnanswered): void {
  const request = Request.load(event.params.requestId.toString())!;
  request.status = "Hung";
  deliver(request);
  request.save();
  if (isZero(event.params.appellant)) return;
  const appeal = Appeal.load(request.appeal!)!;
  appeal.state = "Unanswered";
  appeal.returned = event.params.bond;
  appeal.resolvedAt = event.block.timestamp;
  appeal.save();
  credit(event.params.appellant, request.currency, event.params.bond);
}

/** The request's status says `Delivered` unless this follows. */
export function handleCallbackFailed(event: CallbackFailed): void {
  const request = Request.load(event.params.requestId.toString())!;
  failCallback(request, event);
}

export function handleRefundCallbackFailed(event: RefundCallbackFailed): void {
  const request = Request.load(event.params.requestId.toString())!;
  failCallback(request, event);
}

export function handleCallbackSucceeded(event: CallbackSucceeded): void {
  const request = Request.load(event.params.requestId.toString())!;
  request.callback = "Delivered";
  request.save();
  saveCallback(request, true, event);
}

/** The refund follows. */
export function handleRequestCancelled(event: RequestCancelled): void {
  const request = Request.load(event.params.requestId.toString())!;
  request.cancelled = true;
  request.callback = "NotWanted";
  request.save();
}

export function handleRequestRefunded(event: RequestRefunded): void {
  const request = Request.load(event.params.requestId.toString())!;
  request.status = "Refunded";
  deliver(request);
  request.save();
  const tally = new Tally();
  tally.refunded = 1;
  tally.count(request.protocol, event.block.timestamp);
}

/** keccak256(abi.encode(Request)): four words. */
function hashOf(requestId: BigInt, consumer: Bytes, terms: BigInt, questionHash: Bytes): Bytes {
  const encoded: ByteArray = bytesAt(requestId, 32)
    .concat(new Bytes(12))
    .concat(consumer)
    .concat(bytesAt(terms, 32))
    .concat(questionHash);
  return Bytes.fromByteArray(crypto.keccak256(encoded));
}

/** Null for a request that was paid directly. */
function subscriptionOf(requestId: BigInt): string | null {
  const number = requestIdSubscription(requestId);
  return number == 0 ? null : number.toString();
}

/** The fee goes from the balance into escrow. */
function spend(request: Request, id: string): void {
  request.subscription = id;
  fundSubscription(id, request.currency, request.fee.neg());
  spendAllowance(id, request.consumer, request.currency, request.fee);
  const subscription = RequestSubscription.load(id)!;
  subscription.requestCount += 1;
  subscription.save();
}

function createAttempt(request: Request, cause: string, round: BigInt, seedBlock: BigInt, event: ethereum.Event): void {
  const attempt = new Attempt(attemptId(request.id, request.attempt));
  attempt.request = request.id;
  attempt.number = request.attempt;
  attempt.cause = cause;
  attempt.appealsBefore = roundAppeals(round);
  attempt.round = bytesAt(round, 32);
  attempt.deadline = request.deadline;
  attempt.seedBlock = seedBlock;
  attempt.committee = [];
  attempt.timestamp = event.block.timestamp;
  attempt.block = event.block.number;
  attempt.transaction = event.transaction.hash;
  attempt.save();
  if (isWaiting(seedBlock)) return;
  const tally = new Tally();
  tally.committees = 1;
  tally.count(request.protocol, event.block.timestamp);
}

/** Why another committee follows this attempt, where nobody appealed. */
function causeAfter(attempt: Attempt, seedBlock: BigInt): string {
  if (attempt.decision == null) return isWaiting(attempt.seedBlock) ? "Waited" : "Silent";
  if (isWaiting(seedBlock)) return "TooEarly";
  return Decision.load(attempt.decision!)!.status == "Hung" ? "Hung" : "Unsure";
}

function createAppeal(request: Request, against: string, event: RequestReopened): Appeal {
  const appeal = new Appeal(against);
  appeal.request = request.id;
  appeal.against = against;
  appeal.appellant = loadAccount(event.params.appellant).id;
  appeal.bond = event.params.bond;
  appeal.state = "Open";
  appeal.returned = ZERO;
  appeal.timestamp = event.block.timestamp;
  appeal.block = event.block.number;
  appeal.transaction = event.transaction.hash;
  appeal.save();
  return appeal;
}

/** Returns the agents' numbers, by seat. */
function createSeats(attempt: Attempt, event: DecisionCommitted): i32[] {
  const words = event.params.committee;
  const committee: i32[] = [];
  for (let number = 0; number < words.length; number++) {
    const agent = loadAgent(BigInt.fromU64(seatAgentId(words[number])));
    agent.seatCount += 1;
    agent.save();
    committee.push(agent.number);
    const seat = new Seat(seatId(attempt.id, number));
    seat.attempt = attempt.id;
    seat.request = attempt.request;
    seat.agent = agent.id;
    // It has the id of its attempt.
    seat.decision = attempt.id;
    seat.number = number;
    seat.reputation = seatReputation(words[number]);
    seat.skill = seatSkill(words[number]);
    seat.signer = seatSigner(words[number]);
    seat.timestamp = event.block.timestamp;
    seat.save();
  }
  return committee;
}

/** See `DecisionHead` and `Relay`. */
function createDecision(attempt: Attempt, event: DecisionCommitted): Decision {
  const head = event.params.head;
  const relay = event.params.relay;
  const decision = new Decision(attempt.id);
  decision.attempt = attempt.id;
  decision.request = attempt.request;
  decision.status = statusOf(headStatus(head));
  decision.outcome = event.params.outcome;
  decision.answer = event.params.answer.toString();
  decision.confidence = headConfidence(head);
  decision.transcript = cidOf(event.params.transcript);
  decision.ballot = headRound(head);
  decision.committeeSize = headSeats(head);
  decision.answered = seatsIn(headAnswered(head));
  decision.agreed = seatsIn(headAgreed(head));
  readMerits(decision, event.params.merits);
  readSigners(decision, attempt, relaySigners(relay));
  decision.relayer = relayRelayer(relay);
  decision.gasPrice = BigInt.fromU64(relayGasPrice(relay)).times(GAS_PRICE_UNIT);
  decision.timestamp = event.block.timestamp;
  decision.block = event.block.number;
  decision.logIndex = event.logIndex;
  decision.transaction = event.transaction.hash;
  decision.save();
  return decision;
}

/** First a share for each seat, then pairs (seat, steps). */
function readMerits(decision: Decision, merits: Bytes): void {
  const shares: i32[] = [];
  const steps: i32[] = [];
  for (let seat = 0; seat < decision.committeeSize; seat++) {
    shares.push(merits[seat]);
    steps.push(0);
  }
  for (let i = decision.committeeSize; i + 1 < merits.length; i += 2) steps[merits[i]] = <i32>(<i8>merits[i + 1]);
  decision.shares = shares;
  decision.steps = steps;
}

/** The seats whose bits are set. */
function seatsIn(bitmap: u64): i32[] {
  const seats: i32[] = [];
  for (let seat = 0; seat < 64; seat++) if (((bitmap >> (<u64>seat)) & 1) != 0) seats.push(seat);
  return seats;
}

function readSigners(decision: Decision, attempt: Attempt, bitmap: u64): void {
  const signers: string[] = [];
  const numbers: i32[] = [];
  for (let seat = 0; seat < decision.committeeSize; seat++) {
    if (((bitmap >> (<u64>seat)) & 1) == 0) continue;
    numbers.push(seat);
    signers.push(seatId(attempt.id, seat));
    const agent = loadAgent(BigInt.fromI32(attempt.committee[seat]));
    agent.signatureCount += 1;
    agent.save();
  }
  decision.signers = signers;
  decision.signerSeats = numbers;
}

/** Whether a commit delivers (SE4, SE24, SE25): no retry of a hung or early committee is left, and no appeal, or the decision is sure enough. */
function isFinal(request: Request, attempt: Attempt, decision: Decision): boolean {
  const isHung = decision.status == "Hung";
  if (isHung && attempt.number - attempt.appealsBefore < request.retries) return false;
  const canWait = attempt.appealsBefore == 0 && attempt.number + 1 < request.retries;
  if (decision.status == "TooEarly" && canWait) return false;
  if (attempt.appealsBefore == request.appeals) return true;
  return !isHung && request.finality != 0 && decision.confidence >= request.finality * CONFIDENCE_PERCENT;
}

/** One percent of confidence, in parts per million. */
const CONFIDENCE_PERCENT: i32 = 10_000;

function deliver(request: Request): void {
  if (request.callback == "Waiting") request.callback = "Delivered";
}

function failCallback(request: Request, event: ethereum.Event): void {
  request.callback = "Failed";
  request.save();
  saveCallback(request, false, event);
  const tally = new Tally();
  tally.callbacksFailed = 1;
  tally.count(request.protocol, event.block.timestamp);
}

function saveCallback(request: Request, success: boolean, event: ethereum.Event): void {
  const callback = new Callback(eventId(event));
  callback.request = request.id;
  callback.success = success;
  callback.timestamp = event.block.timestamp;
  callback.block = event.block.number;
  callback.transaction = event.transaction.hash;
  callback.save();
}
