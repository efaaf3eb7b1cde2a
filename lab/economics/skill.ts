// What skill is worth to a coalition that asks requests of its own to learn it: prices, and the real counters without a chain.
import { playCoalition, type CoalitionResult, type Strategy } from "../attacks/coalitions.ts";
import { ASSURANCE, SETTINGS } from "./assumptions.ts";
import { paidBack } from "./security.ts";

export interface SkillRow {
  readonly seats: number;
  readonly share: number;
  readonly strategy: "farms" | "floods";
  /** Requests of its own in a week. */
  readonly own: number;
  /** Dollars a week that others earn by these: gas comes on top. */
  readonly cost: number;
  /** The part of others' requests that its lie decides by counting. */
  readonly counting: number;
  /** What skills add to that, above what they add where it asks none of its own, with a 95 % interval. */
  readonly added: { readonly mean: number; readonly low: number; readonly high: number };
  /** Dollars that must hang on each answer of others at least, if as many are added as the interval allows; infinite if none is. */
  readonly worthFrom: number;
  /** Most dollars that may hang on an answer of such a committee, by docs/asking.md. */
  readonly limit: number;
}

/** Others' requests in a week. */
export const WEEKLY_REQUESTS = 100;
const WEEKS = 12;
const SKILL_SHARES = [0.2, 0.3];
const PLAYS: readonly Extract<Strategy, "farms" | "floods">[] = ["farms", "floods"];

export function skillRows(seed: number, weeks = WEEKS): readonly SkillRow[] {
  const sizes = SETTINGS.filter(
    ({ committeeSize }, at) => SETTINGS.findIndex((one) => one.committeeSize === committeeSize) === at,
  );
  return sizes.flatMap(({ committeeSize: seats, limit }) =>
    SKILL_SHARES.flatMap((share) => {
      const play = (strategy: Strategy): CoalitionResult =>
        playCoalition({ strategy, share, seats, assurance: ASSURANCE, weeks, requests: WEEKLY_REQUESTS, seed });
      const idle = play("lies").captured.more.mean;
      return PLAYS.map((strategy): SkillRow => {
        const { farmed, paid, captured } = play(strategy);
        const { mean, low, high } = captured.more;
        const added = { mean: mean - idle, low: low - idle, high: high - idle };
        const cost = (paid * paidBack(seats, 1)) / weeks;
        const worthFrom = cost / (WEEKLY_REQUESTS * Math.max(0, added.high));
        return {
          seats,
          share,
          strategy,
          own: farmed / weeks,
          cost,
          counting: captured.counting,
          added,
          worthFrom,
          limit,
        };
      });
    }),
  );
}
