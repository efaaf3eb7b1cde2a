import { committeeSizeAfter, unpackRound } from "../../../agents/core/request/rounds.ts";
import { shareOf, type Address, type Decision, type Round, type Terms } from "../../../agents/core/types.ts";
import type { DecidedRound } from "../../../agents/core/request/events.ts";

/** Units for each seat of a committee that decided; a seat of a committee that hung has one. */
const DECIDED_UNITS = 2n;
/** An upheld appeal earns what the seats of the overturned round would have got, divided by this. */
const APPEAL_REWARD_DIVISOR = 2n;

export interface Payment {
  readonly account: Address;
  readonly amount: bigint;
}

/**
 * Bond as in contracts/libraries/PricesLib.sol if gas costs nothing: the most that the committees of an appeal in this
 * round can earn (SE5).
 */
export function bondOf(terms: Terms, round: Round): bigint {
  const size = committeeSizeAfter(terms.committeeSize, unpackRound(round).appeals + 1);
  return (DECIDED_UNITS + BigInt(terms.retries)) * BigInt(size) * unitOf(terms);
}

/**
 * Pays like contracts/Settlement.sol under a price list of zeros: nothing for the treasury, no reserve for gas (SE10 to
 * SE14).
 * @param operatorOf gives the operator of an agent id, null for an unknown one
 * @returns the payments, and the rest that the asker gets
 */
export function payOut(
  terms: Terms,
  rounds: readonly DecidedRound[],
  operatorOf: (agentId: number) => Address | null,
): { readonly payments: readonly Payment[]; readonly rest: bigint } {
  const payOf = ({ decision }: DecidedRound): bigint => unitOf(terms) * unitsOf(decision);
  let escrow = terms.fee;
  const payments: Payment[] = [];
  for (const [index, one] of rounds.entries()) {
    const appellant = one === rounds.at(-1) ? null : one.appellant;
    const bond = appellant === null ? 0n : bondOf(terms, one.round);
    escrow += bond;
    const isOver = isOverturned(terms, rounds, index);
    if (!isOver) payments.push(...seatPay(terms, one, operatorOf));
    if (appellant === null) continue;
    const called = calledBy(rounds, index)
      .filter(({ decision }) => !paysNobody(decision))
      .reduce((sum, other) => sum + payOf(other), 0n);
    payments.push({ account: appellant, amount: isOver ? bond + payOf(one) / APPEAL_REWARD_DIVISOR : bond - called });
  }
  return { payments, rest: payments.reduce((rest, { amount }) => rest - amount, escrow) };
}

/** The rounds whose reputation changes count: those that no later decision overturns. */
export function standing(terms: Terms, rounds: readonly DecidedRound[]): readonly DecidedRound[] {
  return rounds.filter((_, index) => !isOverturned(terms, rounds, index));
}

/** True if the decision can overturn earlier ones: the committee answered, or a seat said at first that nobody can (SE10). */
function canOverturn({ decision: { status, shares } }: DecidedRound): boolean {
  return status === "decided" || (status !== "hung" && shares.some((_, seat) => shareOf(shares, seat) > 1));
}

function paysNobody({ shares }: Pick<Decision, "shares">): boolean {
  return shares.every((_, seat) => shareOf(shares, seat) === 0);
}

/** Rounds that the appeal against this round called: those up to the next appeal. */
function calledBy(rounds: readonly DecidedRound[], index: number): readonly DecidedRound[] {
  const later = rounds.slice(index + 1);
  const next = later.findIndex(({ appellant }) => appellant !== null);
  return next < 0 ? later : later.slice(0, next + 1);
}

function seatPay(terms: Terms, one: DecidedRound, operatorOf: (agentId: number) => Address | null): readonly Payment[] {
  const amounts = earnings(terms, one);
  return one.committee.flatMap(({ agentId }, seat) => {
    const account = operatorOf(agentId);
    return account === null ? [] : [{ account, amount: amounts[seat] ?? 0n }];
  });
}

/** Pay of each seat of a round that is not overturned. */
export function earnings(terms: Terms, { committee, decision }: DecidedRound): readonly bigint[] {
  const shares = committee.map((_, seat) => shareOf(decision.shares, seat));
  const total = BigInt(shares.reduce((sum, share) => sum + share, 0));
  const pay = unitOf(terms) * unitsOf(decision);
  return shares.map((share) => (total === 0n ? 0n : (pay * BigInt(share)) / total));
}

/** True if somebody appealed against the decision, or it was not sure enough, and the last one that can overturn others differs (SE10). */
function isOverturned({ kind, tolerance }: Terms, rounds: readonly DecidedRound[], index: number): boolean {
  const by = rounds.findLastIndex(canOverturn);
  if (by <= index) return false;
  const [{ appellant, decision }, { decision: last }] = [rounds[index]!, rounds[by]!];
  if (appellant === null && decision.status !== "decided") return false;
  if (decision.status !== last.status) return true;
  if (kind !== "number") return decision.outcome !== last.outcome;
  const distance = BigInt.asIntN(256, BigInt(decision.outcome)) - BigInt.asIntN(256, BigInt(last.outcome));
  return (distance < 0n ? -distance : distance) > tolerance;
}

function unitsOf({ status, shares }: Decision): bigint {
  return (status === "hung" ? 1n : DECIDED_UNITS) * BigInt(shares.length);
}

/** SE10: value of one unit of the fee, which covers every round that can come. */
function unitOf({ fee, committeeSize, appeals, retries }: Terms): bigint {
  const sizes = Array.from({ length: appeals + 1 }, (_, level) => BigInt(committeeSizeAfter(committeeSize, level)));
  const decided = sizes.reduce((sum, size) => sum + DECIDED_UNITS * size, 0n);
  return fee / (decided + BigInt(retries) * (sizes.at(-1) ?? 0n));
}
