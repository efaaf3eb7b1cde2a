// What skill is worth to a coalition that asks requests of its own to learn it: prices, and the real counters without a chain.
import { playCoalition, type Strategy } from "../attacks/coalitions.ts";
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
  /** Parts of others' requests that its lie decides: by counting, and what its skills add, with a 95 % interval. */
  readonly captured: ReturnType<typeof playCoalition>["captured"];
  /** Dollars that must hang on each answer of others for the added ones to be worth the cost; infinite if none is added. */
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
    SKILL_SHARES.flatMap((share) =>
      PLAYS.map((strategy): SkillRow => {
        const plan = { strategy, share, seats, assurance: ASSURANCE, weeks, requests: WEEKLY_REQUESTS, seed } as const;
        const { farmed, paid, captured } = playCoalition(plan);
        const own = farmed / weeks;
        const cost = (paid * paidBack(seats, 1)) / weeks;
        const added = WEEKLY_REQUESTS * Math.max(0, captured.more.mean);
        return { seats, share, strategy, own, cost, captured, worthFrom: cost / added, limit };
      }),
    ),
  );
}
