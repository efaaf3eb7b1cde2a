// What a request secures: what a decision of its own costs a coalition that asks itself, what bribes cost, and when an appeal pays.
import { ownSeatsOf } from "../../agents/cli/request/security.ts";
import { OVERTURN_SLASH_PPM, OVERTURN_UNITS } from "../../agents/cli/shared/slice.ts";
import { SAFE_RIGHT, SURE_RIGHT } from "../../agents/core/phases/pay.ts";
import { quorum } from "../../test/support/contracts/course.ts";
import { appealSizes, seatsToBreak } from "../complexity/committee-odds.ts";
import {
  HONEST_CERTAINTY,
  LEAST_STAKE_TOKENS,
  PRICES,
  SECURABLE,
  SHARES,
  STAKE_TOKENS,
  type Setting,
} from "./assumptions.ts";
import { odds } from "./coalition.ts";
import { sum } from "./estimate.ts";

/** What requests cost an asker, in dollars. */
export interface Costs {
  readonly decided: number;
  readonly hung: number;
  readonly unanswered: number;
  /** All costs of a request with a lost appeal, the appellant's included; 0 where nobody can appeal. */
  readonly appealed: number;
}

/**
 * What an asker asks until a committee is its own. `decided`: what everybody knows. `hung`: what honest agents refuse (CE19), for half the pay.
 * `unsure`: what it alone knows, and the others guess, half of them rightly. `shown`: what a source tells that it serves to as many seats as make
 * a third with its own, not sure of it, while the others accept.
 */
export const DRAWS = ["decided", "hung", "unsure", "shown"] as const;
export type Draw = (typeof DRAWS)[number];

export interface Security {
  readonly setting: string;
  readonly coalitions: readonly Holding[];
}

export interface Holding {
  readonly share: number;
  /** How often it has more than 2/3 of the first committee, and of all committees that appeals can call. */
  readonly first: number;
  readonly all: number;
  /** Dollars of a decision of its own, if it asks until it has one: where nobody appeals, and where somebody appeals each time. */
  readonly unchallenged: number;
  readonly challenged: number;
}

const UNIT_DOLLARS = Number(PRICES.token.unitPrice) / 1e18;
/** Units that a seat of a committee that decided earns; of one that hung, half (SE11). */
const DECIDED_UNITS = 2;

/** P(more than 2/3 of a committee belong to a share of the stake). */
export const holds = (n: number, share: number): number =>
  sum(Array.from({ length: n - quorum(n) + 1 }, (_, index) => odds(n, quorum(n) + index, share)));

/** Dollars of a decided request's pay that come back to who has this share of it. */
export const paidBack = (n: number, share: number): number => share * DECIDED_UNITS * n * UNIT_DOLLARS;

export type Spent = Omit<Costs, "appealed">;

/** Dollars that a request costs its asker which has k of its n seats, fewer than a quorum: gas, and what the other seats earn. */
const LOSSES: Readonly<Record<Draw, (k: number, n: number, costs: Spent) => number>> = {
  decided: (k, n, costs) => costs.decided - paidBack(n, k / n),
  hung: (k, _, costs) => costs.hung - UNIT_DOLLARS * k,
  unsure: (k, n, costs) => {
    const hung = LOSSES.hung(k, n, costs);
    const lossWith = (right: number): number => {
      const part = (SURE_RIGHT * k) / (SURE_RIGHT * k + SAFE_RIGHT * right);
      return k > 0 && k + right >= leastKnowing(n) ? Math.min(hung, costs.decided - paidBack(n, part)) : hung;
    };
    return sum(Array.from({ length: n - k + 1 }, (_, right) => odds(n - k, right, GUESSED) * lossWith(right)));
  },
  shown: (k, n, costs) => {
    if (k === 0) return LOSSES.hung(k, n, costs);
    const others = Math.max(0, leastKnowing(n) - k);
    return costs.decided - paidBack(n, (SURE_RIGHT * k) / (SURE_RIGHT * k + SAFE_RIGHT * others));
  },
};

/** How often a seat is right that guesses one of two. */
const GUESSED = 0.5;

/** Seats that have to know the answer if shares are to be scores (PY6). */
const leastKnowing = (n: number): number => Math.floor(n / 3) + 1;

/**
 * Dollars that a decision of its own costs a share of the stake that asks until it has one. A committee that it holds decides, and pays it alone;
 * one of which it has more than a third it can silence.
 * @param chance of the decision by one request: that of holding the first committee, if nobody appeals
 */
export function costOfOwn(n: number, share: number, draw: Draw, costs: Spent, chance = holds(n, share)): number {
  const lost = Array.from({ length: quorum(n) }, (_, k) => {
    const loss = LOSSES[draw](k, n, costs);
    return odds(n, k, share) * (k < seatsToBreak(n) ? loss : Math.min(loss, costs.unanswered));
  });
  return costs.decided - paidBack(n, 1) + sum(lost) / chance;
}

/** Tokens that a seat loses at the quote if two larger committees overturn what it certified (SC3). */
const sliceOf = (stake: number): number =>
  Math.min((stake * Number(OVERTURN_SLASH_PPM)) / 1e6, Number(OVERTURN_UNITS) * UNIT_DOLLARS);

/** Dollars that a wrong quorum of a secured request's first committee loses at least, so bribes for it cost as much: the other signatures can be honest ones (SC7). */
export const slicesOf = (n: number, stake = STAKE_TOKENS): number => ownSeatsOf(n) * sliceOf(stake);

/** Dollars that both appellants get together for an overturned decision at most, a unit each (SC4); where gas is cheap they get less. */
export const APPELLANTS_REWARD = 2 * UNIT_DOLLARS;

/** Dollars that a share of the stake earns in the committees that appeals call. */
const calledPay = ({ committeeSize, appeals }: Pick<Setting, "committeeSize" | "appeals">, share: number): number =>
  sum(
    appealSizes(committeeSize, appeals)
      .slice(1)
      .map((n) => paidBack(n, share)),
  );

/**
 * What an asker gains that chooses a question whose answer changes between the committees, and makes both appeals itself. It knows the
 * answer, so its seats are sure, and are right. Half of the others are wrong and earn nothing, and half do not say how sure they are.
 * @param spent dollars that the request, both appeals and the call cost it, without the reward
 * @param share part of the seats that it has in the committees that it calls
 */
export const gainOfChange = (
  spent: number,
  setting: Pick<Setting, "committeeSize" | "appeals">,
  share: number,
): number => {
  const sure = share * SURE_RIGHT;
  return APPELLANTS_REWARD + calledPay(setting, sure / (sure + ((1 - share) / 2) * SAFE_RIGHT)) - spent;
};

/** Dollars of all bonds up to the last committee. Its seats risk nothing: nobody can overturn them. */
export const bondsToLast = (setting: Pick<Setting, "committeeSize" | "appeals">): number => calledPay(setting, 1);

/** What stands behind the answer of a request that is secured, in dollars. Behind that of one that is not stands 0. */
export interface Secured {
  readonly setting: string;
  /** What a wrong quorum of the first committee loses at least, with the stake of the study and with the least. */
  readonly slices: number;
  readonly leastSlices: number;
  /** How often each share of the stake holds the first committee. */
  readonly captures: readonly number[];
  /** Seats of the last committee, and the bonds to get there. */
  readonly last: number;
  readonly bonds: number;
}

export const SECURED: readonly Secured[] = SECURABLE.map((terms) => {
  const { committeeSize: n, appeals } = terms;
  return {
    setting: `n = ${n}, K = ${appeals}`,
    slices: slicesOf(n),
    leastSlices: slicesOf(n, LEAST_STAKE_TOKENS),
    captures: SHARES.map((share) => holds(n, share)),
    last: appealSizes(n, appeals).at(-1)!,
    bonds: bondsToLast(terms),
  };
});

export function securityOf({ name, committeeSize, appeals }: Setting, costs: Costs): Security {
  const sizes = appealSizes(committeeSize, appeals);
  const coalitions = SHARES.map((share): Holding => {
    const chances = sizes.map((n) => holds(n, share));
    const all = chances.reduce((product, chance) => product * chance, 1);
    const cheapest = (chance: number): number =>
      Math.min(...DRAWS.map((draw) => costOfOwn(committeeSize, share, draw, costs, chance)));
    const unchallenged = cheapest(chances[0]!);
    // It can also lose its own appeals until it holds the last committee alone. A later bond is at least the later committee's pay.
    const later = sum(sizes.slice(2).map((n) => paidBack(n, 1)));
    const byAppeals = (costs.appealed + later - paidBack(committeeSize, share)) / chances.at(-1)!;
    const challenged = appeals === 0 ? unchallenged : Math.min(cheapest(all), byAppeals);
    return { share, first: chances[0]!, all, unchallenged, challenged };
  });
  return { setting: name, coalitions };
}

/** How sure an appellant has to be. */
export interface Certainty {
  /** From 0 to 1; null: no appeal pays at the quote. */
  readonly least: number | null;
  /** The fee in multiples of the quote from which an honest appeal pays. */
  readonly fee: number;
}

/** From what an upheld appeal brings and a lost one costs at the quote, in cents. */
export function certaintyOf(win: number, loss: number, { committeeSize }: Pick<Setting, "committeeSize">): Certainty {
  const reward = 100 * committeeSize * UNIT_DOLLARS;
  const gas = reward - win;
  const bond = -loss - gas;
  const [right, wrong] = [HONEST_CERTAINTY * reward, (1 - HONEST_CERTAINTY) * bond];
  // The bond grows up to twice the list (SE5), the reward with the fee.
  const small = right > wrong ? gas / (right - wrong) : Number.POSITIVE_INFINITY;
  const fee = Math.max(1, small <= 2 ? small : (gas + 2 * wrong) / right);
  return { least: win > 0 ? loss / (loss - win) : null, fee };
}
