// The pay of the rounds of a request (SE10 to SE15).
import { AppealResolved, PayCredited, RoundDeducted } from "../generated/Settlement/Settlement";
import { Agent, Appeal, Attempt, Decision, Deduction, Pay, Request } from "../generated/schema";
import { TOKEN, attemptId, seatId } from "./names";
import { PROVEN_SERVICE } from "./registry";
import { Tally } from "./statistics";
import { credit, loadDeployment, loadOperator } from "./stores";

export function handlePayCredited(event: PayCredited): void {
  const request = Request.load(event.params.requestId.toString())!;
  const attempt = Attempt.load(attemptId(request.id, event.params.attempt.toI32()))!;
  const seat = event.params.seat.toI32();
  const amount = event.params.amount;
  const agent = Agent.load(attempt.committee[seat].toString())!;
  const operator = loadOperator(agent.operator);

  const pay = new Pay(seatId(attempt.id, seat));
  pay.seat = pay.id;
  pay.agent = agent.id;
  pay.operator = operator.id;
  pay.request = request.id;
  pay.currency = request.currency;
  pay.amount = amount;
  pay.timestamp = event.block.timestamp;
  pay.block = event.block.number;
  pay.transaction = event.transaction.hash;
  pay.save();

  if (request.currency == TOKEN) {
    agent.earnedToken = agent.earnedToken.plus(amount);
    operator.earnedToken = operator.earnedToken.plus(amount);
  } else {
    agent.earnedNative = agent.earnedNative.plus(amount);
    operator.earnedNative = operator.earnedNative.plus(amount);
  }
  // Whoever is paid has served, unless the same decision slashes its reputation.
  if (Decision.load(attempt.id)!.steps[seat] >= 0 && agent.service < PROVEN_SERVICE) agent.service += 1;
  agent.save();
  operator.save();

  const tally = new Tally();
  tally.currency = request.currency;
  tally.pay = amount;
  tally.count(request.protocol, event.block.timestamp);
}

export function handleRoundDeducted(event: RoundDeducted): void {
  const request = Request.load(event.params.requestId.toString())!;
  const deduction = new Deduction(attemptId(request.id, event.params.attempt.toI32()));
  deduction.request = request.id;
  deduction.attempt = deduction.id;
  deduction.currency = request.currency;
  deduction.treasuryPay = event.params.treasuryPay;
  deduction.relayer = event.params.relayer;
  deduction.relayerPay = event.params.relayerPay;
  deduction.timestamp = event.block.timestamp;
  deduction.block = event.block.number;
  deduction.transaction = event.transaction.hash;
  deduction.save();
  credit(loadDeployment().treasury!, request.currency, event.params.treasuryPay);
  credit(event.params.relayer, request.currency, event.params.relayerPay);

  const tally = new Tally();
  tally.currency = request.currency;
  tally.treasury = event.params.treasuryPay;
  tally.relayers = event.params.relayerPay;
  tally.count(request.protocol, event.block.timestamp);
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
