import { BigInt } from "@graphprotocol/graph-ts";

import { Statistic } from "../generated/schema";
import { TOKEN, ZERO } from "./names";

const DAY_SECONDS = 86400;
/** Stands for the protocol of an event that has none. */
export const NO_PROTOCOL: i32 = -1;

/** What one event adds. */
export class Tally {
  requests: i32 = 0;
  committees: i32 = 0;
  decided: i32 = 0;
  hung: i32 = 0;
  unanswerable: i32 = 0;
  tooEarly: i32 = 0;
  refunded: i32 = 0;
  settled: i32 = 0;
  appeals: i32 = 0;
  appealsUpheld: i32 = 0;
  callbacksFailed: i32 = 0;
  evidence: i32 = 0;
  /** Currency of the amounts. */
  currency: string = TOKEN;
  fees: BigInt = ZERO;
  refunds: BigInt = ZERO;
  pay: BigInt = ZERO;
  treasury: BigInt = ZERO;
  relayers: BigInt = ZERO;

  /** Adds it to everything, its protocol, its day, and both. */
  count(protocol: i32, timestamp: BigInt): void {
    const day = timestamp.toI64() / DAY_SECONDS;
    this.addTo("all", "All", NO_PROTOCOL, -1);
    this.addTo("day-" + day.toString(), "Day", NO_PROTOCOL, <i32>day);
    if (protocol == NO_PROTOCOL) return;
    const suffix = "protocol-" + protocol.toString();
    this.addTo(suffix, "Protocol", protocol, -1);
    this.addTo("day-" + day.toString() + "-" + suffix, "ProtocolDay", protocol, <i32>day);
  }

  private addTo(id: string, scope: string, protocol: i32, day: i32): void {
    let sum = Statistic.load(id);
    if (sum == null) sum = create(id, scope, protocol, day);
    // Most events add to one or two: to write the others would be a ninth of all that the mappings do.
    if (this.requests != 0) sum.requests += this.requests;
    if (this.committees != 0) sum.committees += this.committees;
    if (this.decided != 0) sum.decided += this.decided;
    if (this.hung != 0) sum.hung += this.hung;
    if (this.unanswerable != 0) sum.unanswerable += this.unanswerable;
    if (this.tooEarly != 0) sum.tooEarly += this.tooEarly;
    if (this.refunded != 0) sum.refunded += this.refunded;
    if (this.settled != 0) sum.settled += this.settled;
    if (this.appeals != 0) sum.appeals += this.appeals;
    if (this.appealsUpheld != 0) sum.appealsUpheld += this.appealsUpheld;
    if (this.callbacksFailed != 0) sum.callbacksFailed += this.callbacksFailed;
    if (this.evidence != 0) sum.evidence += this.evidence;
    if (this.currency == TOKEN) {
      if (!this.fees.isZero()) sum.feesToken = sum.feesToken.plus(this.fees);
      if (!this.refunds.isZero()) sum.refundsToken = sum.refundsToken.plus(this.refunds);
      if (!this.pay.isZero()) sum.payToken = sum.payToken.plus(this.pay);
      if (!this.treasury.isZero()) sum.treasuryToken = sum.treasuryToken.plus(this.treasury);
      if (!this.relayers.isZero()) sum.relayersToken = sum.relayersToken.plus(this.relayers);
    } else {
      if (!this.fees.isZero()) sum.feesNative = sum.feesNative.plus(this.fees);
      if (!this.refunds.isZero()) sum.refundsNative = sum.refundsNative.plus(this.refunds);
      if (!this.pay.isZero()) sum.payNative = sum.payNative.plus(this.pay);
      if (!this.treasury.isZero()) sum.treasuryNative = sum.treasuryNative.plus(this.treasury);
      if (!this.relayers.isZero()) sum.relayersNative = sum.relayersNative.plus(this.relayers);
    }
    sum.save();
  }
}

function create(id: string, scope: string, protocol: i32, day: i32): Statistic {
  const sum = new Statistic(id);
  sum.scope = scope;
  if (protocol != NO_PROTOCOL) sum.protocol = protocol;
  if (day >= 0) sum.day = day;
  sum.requests = 0;
  sum.committees = 0;
  sum.decided = 0;
  sum.hung = 0;
  sum.unanswerable = 0;
  sum.tooEarly = 0;
  sum.refunded = 0;
  sum.settled = 0;
  sum.appeals = 0;
  sum.appealsUpheld = 0;
  sum.callbacksFailed = 0;
  sum.evidence = 0;
  sum.feesToken = ZERO;
  sum.feesNative = ZERO;
  sum.refundsToken = ZERO;
  sum.refundsNative = ZERO;
  sum.payToken = ZERO;
  sum.payNative = ZERO;
  sum.treasuryToken = ZERO;
  sum.treasuryNative = ZERO;
  sum.relayersToken = ZERO;
  sum.relayersNative = ZERO;
  return sum;
}
