// Codes of the contracts as the schema's enums, and the ids of entities.
import { Address, BigInt, Bytes, ethereum } from "@graphprotocol/graph-ts";

export const TOKEN = "Token";

/** What stands in place of the share of a seat that said nothing. */
export const ABSENT = 255;
/** PY3: the share of an answer that agrees with the decision, at the top tier and below it. */
export const SURE_SHARE = 240;
export const SAFE_SHARE = 30;
/** PY6: the share of whoever worked, where nothing could be scored. */
export const FLAT_SHARE = 1;

export function currencyOf(code: i32): string {
  return code == 0 ? TOKEN : "Native";
}

/** Status of a decision, which is one of these. */
export function statusOf(code: i32): string {
  if (code == 2) return "Decided";
  if (code == 4) return "Unanswerable";
  return code == 5 ? "TooEarly" : "Hung";
}

/** True for the seed block of an attempt that waits and has no committee (SE25). */
export function isWaiting(seedBlock: BigInt): boolean {
  return seedBlock.equals(BigInt.fromU64(0xffffffffffff));
}

export function faultOf(code: i32): string {
  return code == 0 ? "Messages" : "Decisions";
}

export function eventId(event: ethereum.Event): Bytes {
  return event.transaction.hash.concatI32(event.logIndex.toI32());
}

export function attemptId(requestId: string, attempt: i32): string {
  return requestId + "-" + attempt.toString();
}

export function seatId(attempt: string, seat: i32): string {
  return attempt + "-" + seat.toString();
}

export function priceListId(currency: string, version: i32): string {
  return currency + "-" + version.toString();
}

export function consumerId(subscription: string, consumer: Bytes): string {
  return subscription + "-" + consumer.toHexString();
}

export function positionId(agent: string, account: Bytes): string {
  return agent + "-" + account.toHexString();
}

export function isZero(address: Address): boolean {
  return address.equals(Address.zero());
}

/** An allowance that requests do not lower: 2^104 - 1. */
export const UNBOUNDED = BigInt.fromI32(2).pow(104).minus(BigInt.fromI32(1));
export const ZERO = BigInt.zero();
