// What rounds and callers are paid (SE10 to SE15): a decision that is final in the first round pays in its commit, others
// in `settle`.
import { BigInt, Bytes, ethereum } from "@graphprotocol/graph-ts";

import { CallerPaid, DecisionSettled, FeeRefunded } from "../generated/DecisionOracle/DecisionOracle";
import { AppealResolved, OutcomeStored, RoundPaid, SettlerPaid } from "../generated/Settlement/Settlement";
import { Agent, Appeal, Attempt, CallerPay, Decision, Pay, Reliability, Request, RoundPay } from "../generated/schema";
import { ABSENT, SAFE_SHARE, SURE_SHARE, ZERO, attemptId, eventId, seatId } from "./names";
import { Tally } from "./statistics";
import { credit, fundSubscription, loadDeployment } from "./stores";

/** The registry's record of the services follows. */
export function handleDecisionSettled(event: DecisionSettled): void {
  const request = Request.load(event.params.requestId.toString())!;
  const decision = Decision.load(request.decision!)!;
  payRound(request, decision, event.params.pay, event.params.treasuryPay, event.params.relayerPay, event);
  endEscrow(request, event.params.rest, event);
}

export function handleOutcomeStored(event: OutcomeStored): void {
  const request = Request.load(event.params.requestId.toString())!;
  request.outcomeStored = true;
  request.save();
}

export function handleRoundPaid(event: RoundPaid): void {
  const request = Request.load(event.params.requestId.toString())!;
  const decision = Decision.load(attemptId(request.id, event.params.attempt.toI32()))!;
  payRound(request, decision, event.params.pay, event.params.treasuryPay, event.params.relayerPay, event);
}

/** The escrow is distributed; if the request was settled, the registry's record of the services follows. */
export function handleFeeRefunded(event: FeeRefunded): void {
  const request = Request.load(event.params.requestId.toString())!;
  endEscrow(request, event.params.amount, event);
}

export function handleAppealResolved(event: AppealResolved): void {
  const request = Request.load(event.params.requestId.toString())!;
  const appeal = Appeal.load(attemptId(request.id, event.params.attempt.toI32()))!;
  appeal.state = event.params.upheld ? "Upheld" : "Lost";
  appeal.returned = event.params.amount;
  appeal.resolvedAt = event.block.timestamp;
  appeal.save();
  credit(event.params.appellant, request.currency, event.params.amount);
  if (!event.params.upheld) return;
  const tally = new Tally();
  tally.appealsUpheld = 1;
  tally.count(request.protocol, event.block.timestamp);
}

export function handleCallerPaid(event: CallerPaid): void {
  const request = Request.load(event.params.requestId.toString())!;
  payCaller(request, event.params.caller, event.params.amount, event.params.rest, event);
}

export function handleSettlerPaid(event: SettlerPaid): void {
  const request = Request.load(event.params.requestId.toString())!;
  payCaller(request, event.params.settler, event.params.amount, ZERO, event);
}

function payRound(
  request: Request,
  decision: Decision,
  pay: BigInt,
  treasuryPay: BigInt,
  relayerPay: BigInt,
  event: ethereum.Event,
): void {
  const round = new RoundPay(decision.id);
  round.request = request.id;
  round.attempt = decision.attempt;
  round.currency = request.currency;
  round.pay = pay;
  round.treasuryPay = treasuryPay;
  round.relayer = decision.relayer;
  round.relayerPay = relayerPay;
  round.timestamp = event.block.timestamp;
  round.block = event.block.number;
  round.transaction = event.transaction.hash;
  round.save();
  credit(loadDeployment().treasury!, request.currency, treasuryPay);
  credit(decision.relayer, request.currency, relayerPay);
  if (request.status == "Decided" && decision.id == request.decision) rateSeats(decision);

  const tally = new Tally();
  tally.currency = request.currency;
  tally.pay = paySeats(request, decision, pay, event);
  tally.treasury = treasuryPay;
  tally.relayers = relayerPay;
  tally.count(request.protocol, event.block.timestamp);
}

/** Returns what all seats earn together. Each division rounds down, as in `PayLib.servicesOf`. */
function paySeats(request: Request, decision: Decision, pay: BigInt, event: ethereum.Event): BigInt {
  const committee = Attempt.load(decision.attempt)!.committee;
  const shares = decision.shares;
  let total = 0;
  for (let seat = 0; seat < shares.length; seat++) if (shares[seat] != ABSENT) total += shares[seat];
  let earned = ZERO;
  for (let seat = 0; seat < shares.length; seat++) {
    const isPaid = total != 0 && shares[seat] != ABSENT;
    const amount = !isPaid ? ZERO : pay.times(BigInt.fromI32(shares[seat])).div(BigInt.fromI32(total));
    if (amount.isZero()) continue;
    const agent = Agent.load(committee[seat].toString())!;
    const one = new Pay(seatId(decision.id, seat));
    one.seat = one.id;
    one.agent = agent.id;
    one.operator = agent.operator;
    one.request = request.id;
    one.currency = request.currency;
    one.amount = amount;
    one.timestamp = event.block.timestamp;
    one.block = event.block.number;
    one.transaction = event.transaction.hash;
    one.save();
    earned = earned.plus(amount);
  }
  return earned;
}

/** See `Reliability`. Seats that agreed earn by their tier (PY3), and who is outvoted at the top tier falls (PY5). */
function rateSeats(decision: Decision): void {
  const committee = Attempt.load(decision.attempt)!.committee;
  const shares = decision.shares;
  let agreed = 0;
  for (let seat = 0; seat < shares.length; seat++) if (hasAgreed(shares[seat])) agreed += 1;
  if (3 * agreed <= 2 * shares.length) return;
  for (let seat = 0; seat < shares.length; seat++) {
    const isOutvoted = decision.answered.includes(seat) && !decision.agreed.includes(seat);
    if (!hasAgreed(shares[seat]) && !isOutvoted) continue;
    const point = loadReliability(committee[seat], decision.confidence);
    if (isOutvoted && decision.steps[seat] < 0) point.sureOutvoted += 1;
    else if (isOutvoted) point.unsureOutvoted += 1;
    else if (shares[seat] == SURE_SHARE) point.sureAgreed += 1;
    else point.unsureAgreed += 1;
    point.save();
  }
}

function hasAgreed(share: i32): boolean {
  return share != ABSENT && 2 * share >= SAFE_SHARE;
}

function loadReliability(agent: i32, confidence: i32): Reliability {
  const tenth = min(confidence / 100_000, 9);
  const id = `${agent}-${tenth}`;
  const found = Reliability.load(id);
  if (found != null) return found;
  const point = new Reliability(id);
  point.agent = agent.toString();
  point.tenth = tenth;
  point.sureAgreed = 0;
  point.sureOutvoted = 0;
  point.unsureAgreed = 0;
  point.unsureOutvoted = 0;
  return point;
}

function payCaller(request: Request, caller: Bytes, amount: BigInt, rest: BigInt, event: ethereum.Event): void {
  const pay = new CallerPay(eventId(event));
  pay.request = request.id;
  pay.currency = request.currency;
  pay.caller = caller;
  pay.amount = amount;
  pay.rest = rest;
  pay.timestamp = event.block.timestamp;
  pay.block = event.block.number;
  pay.transaction = event.transaction.hash;
  pay.save();
  credit(caller, request.currency, amount);
  giveBack(request, rest);

  const tally = new Tally();
  tally.currency = request.currency;
  tally.relayers = amount;
  tally.refunds = rest;
  tally.count(request.protocol, event.block.timestamp);
}

function endEscrow(request: Request, refund: BigInt, event: ethereum.Event): void {
  request.settled = true;
  request.settledAt = event.block.timestamp;
  request.refund = refund;
  request.save();
  giveBack(request, refund);
  const deployment = loadDeployment();
  deployment.lastSettled = request.id;
  deployment.save();
  const tally = new Tally();
  tally.settled = 1;
  tally.currency = request.currency;
  tally.refunds = refund;
  tally.count(request.protocol, event.block.timestamp);
}

/** Returns an amount to the source of the fee: the subscription or the consumer's credit. */
function giveBack(request: Request, amount: BigInt): void {
  const subscription = request.subscription;
  if (subscription) fundSubscription(subscription, request.currency, amount);
  else credit(request.consumer, request.currency, amount);
}
