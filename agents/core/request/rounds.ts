import { LAYOUTS } from "../encoding/layouts.ts";
import { unpackWord } from "../encoding/words.ts";
import { ONE_PPM, type Decision, type Round, type Terms } from "../types.ts";

/** The unpacked `Round` of contracts/types/Types.sol. */
export interface RoundFields {
  /** The upper 208 bits of the hash of the earlier rounds; 0 in the first round. */
  readonly link: bigint;
  /** Number of appeals so far. */
  readonly appeals: number;
  /** Unix seconds, end of the running period. */
  readonly deadline: number;
}

/** One percent of confidence. */
const PERCENT = ONE_PPM / 100;

export function unpackRound(round: Round): RoundFields {
  const { link, appeals, deadline } = unpackWord(LAYOUTS.round, round);
  return { link, appeals: Number(appeals), deadline: Number(deadline) };
}

/** Number of seats of the committee after a number of appeals. Each committee is twice as large as the one before, plus one. */
export function committeeSizeAfter(first: number, appeals: number): number {
  return (first + 1) * 2 ** appeals - 1;
}

/** Number of seats of all the committees together that the terms allow. */
export function seatsOfAll({
  committeeSize,
  appeals,
  retries,
}: Pick<Terms, "committeeSize" | "appeals" | "retries">): number {
  const sizes = Array.from({ length: appeals + 1 }, (_, level) => committeeSizeAfter(committeeSize, level));
  return sizes.reduce((sum, size) => sum + size, 0) + retries * committeeSizeAfter(committeeSize, appeals);
}

/** SE2: agents that can be drawn, without whom the oracle refuses a request: the first committee and those of all appeals need agents of their own. */
export function agentsNeeded({ committeeSize, appeals }: Pick<Terms, "committeeSize" | "appeals">): number {
  return seatsOfAll({ committeeSize, appeals, retries: 0 });
}

/**
 * SE3: the rounds whose agents a committee leaves out as long as others of their weight are there: the last round of each smaller size. As
 * contracts/libraries/HistoryLib.sol has it.
 * @param rounds all rounds before the committee, from the first on
 * @param appeals those before the committee
 */
export function reviewedBy<Past extends { readonly round: Round }>(
  rounds: readonly Past[],
  appeals: number,
): readonly Past[] {
  const appealsOf = (index: number): number => {
    const one = rounds[index];
    return one === undefined ? appeals : unpackRound(one.round).appeals;
  };
  return rounds.filter((_, index) => appealsOf(index) < appealsOf(index + 1));
}

/** Units of pay of a seat of a committee that decided, if only that there is no answer; one of a committee that hung has one. As in contracts/types/Limits.sol. */
const DECIDED_UNITS = 2;

/** The most units of pay that a request can cost (SE11). */
export function mostUnits({
  committeeSize,
  appeals,
  retries,
}: Pick<Terms, "committeeSize" | "appeals" | "retries">): bigint {
  const decided = seatsOfAll({ committeeSize, appeals, retries: 0 });
  return BigInt(DECIDED_UNITS * decided + retries * committeeSizeAfter(committeeSize, appeals));
}

/** Stands for the seed block while a request waits and has no committee (SE25). As in contracts/types/Limits.sol. */
export const NO_SEED_BLOCK = (1n << 48n) - 1n;
/**
 * Seconds that a request waits after a committee found that it is too early to answer (SE25). As in contracts/types/Limits.sol.
 * @internal the chain of the tests waits so long; nothing else reads it.
 */
export const TOO_EARLY_WAIT = 86_400;

/** What follows a decision: nothing, an appeal if somebody makes one, another committee of the same size, a larger one, or one after a wait. */
export type Next = "final" | "provisional" | "retry" | "larger" | "later";

/** What follows a decision of this round (SE4, SE24, SE25), as contracts/libraries/FinalityLib.sol says. */
export function nextAfter(
  terms: Terms,
  round: Round,
  { status, attempt, confidence }: Pick<Decision, "status" | "attempt" | "confidence">,
): Next {
  if (status === "hung" && hasRetry(round, terms, attempt)) return "retry";
  const { appeals } = unpackRound(round);
  // The wait is an attempt of its own, and so is the committee after it.
  if (status === "tooEarly" && appeals === 0 && hasRetry(round, terms, attempt + 1)) return "later";
  if (appeals === terms.appeals) return "final";
  if (terms.finality === 0) return "provisional";
  return status !== "hung" && confidence >= terms.finality * PERCENT ? "final" : "larger";
}

/** True if another committee may be tried after this attempt. Every attempt but the first follows an appeal or a retry. */
export function hasRetry(round: Round, { retries }: Pick<Terms, "retries">, attempt: number): boolean {
  return attempt - unpackRound(round).appeals < retries;
}
