// Generated from agents/core/encoding/layouts.ts and agents/core/types.ts by scripts/words.ts; `npm run check` compares. Do not edit.
import { BigInt, Bytes } from "@graphprotocol/graph-ts";
import { Request } from "../generated/schema";
import { currencyOf } from "./names";
import { bigAt, bytesAt, i32At, u64At } from "./words";

/** The schema's names of answer kinds, by their codes. */
const KINDS: string[] = ["Boolean", "Choice", "Number", "Text", "Policies"];

/** Writes every term into the request. */
export function readTerms(request: Request, word: BigInt): void {
  request.fee = bigAt(word, 176, 80);
  request.delay = BigInt.fromU64(i32At(word, 152, 24));
  request.finality = i32At(word, 144, 8);
  request.duration = BigInt.fromU64(i32At(word, 120, 24));
  request.appeals = i32At(word, 116, 4);
  request.retries = i32At(word, 112, 4);
  request.tolerance = BigInt.fromU64(u64At(word, 72, 40));
  request.callbackGasLimit = i32At(word, 48, 24);
  request.committeeSize = i32At(word, 40, 8);
  request.assurance = i32At(word, 38, 2);
  request.nonAnswers = i32At(word, 36, 2);
  request.security = i32At(word, 34, 2);
  request.currency = currencyOf(i32At(word, 32, 2));
  request.decimals = i32At(word, 24, 8);
  request.options = i32At(word, 16, 8);
  request.kind = KINDS[i32At(word, 8, 8)];
  request.protocol = i32At(word, 0, 8);
}

export function requestIdPriceVersion(word: BigInt): i32 {
  return i32At(word, 96, 16);
}

export function requestIdSubscription(word: BigInt): u64 {
  return u64At(word, 48, 48);
}

export function requestIdCount(word: BigInt): u64 {
  return u64At(word, 0, 48);
}

export function roundLink(word: BigInt): BigInt {
  return bigAt(word, 48, 208);
}

export function roundAppeals(word: BigInt): i32 {
  return i32At(word, 40, 8);
}

export function roundDeadline(word: BigInt): u64 {
  return u64At(word, 0, 40);
}

export function seatSkill(word: BigInt): i32 {
  return i32At(word, 224, 8);
}

export function seatAgentId(word: BigInt): u64 {
  return u64At(word, 192, 32);
}

export function seatReputation(word: BigInt): i32 {
  return i32At(word, 160, 32);
}

export function seatSigner(word: BigInt): Bytes {
  return bytesAt(word, 20);
}

export function headStatus(word: BigInt): i32 {
  return i32At(word, 208, 8);
}

export function headAttempt(word: BigInt): i32 {
  return i32At(word, 200, 8);
}

export function headSeats(word: BigInt): i32 {
  return i32At(word, 192, 8);
}

export function headRound(word: BigInt): i32 {
  return i32At(word, 160, 32);
}

export function headConfidence(word: BigInt): i32 {
  return i32At(word, 128, 32);
}

export function headAnswered(word: BigInt): u64 {
  return u64At(word, 64, 64);
}

export function headAgreed(word: BigInt): u64 {
  return u64At(word, 0, 64);
}

export function relaySigners(word: BigInt): u64 {
  return u64At(word, 192, 64);
}

export function relayGasPrice(word: BigInt): u64 {
  return u64At(word, 160, 32);
}

export function relayRelayer(word: BigInt): Bytes {
  return bytesAt(word, 20);
}

export function serviceAgentId(word: BigInt): u64 {
  return u64At(word, 128, 32);
}

export function serviceSteps(word: BigInt): i32 {
  return i32At(word, 120, 8);
}

export function serviceMissed(word: BigInt): i32 {
  return i32At(word, 112, 8);
}

export function serviceAnswered(word: BigInt): i32 {
  return i32At(word, 104, 8);
}

export function serviceAgreed(word: BigInt): i32 {
  return i32At(word, 96, 8);
}

export function serviceEarned(word: BigInt): BigInt {
  return bigAt(word, 0, 96);
}
