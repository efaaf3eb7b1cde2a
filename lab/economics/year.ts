// What a policy brings in a year. That is too long for the chain, so the seat's shares and falls are the core's and the rest is arithmetic.
import { canonicalAnswer } from "../../agents/core/request/answer.ts";
import { outcomeFrom } from "../../agents/core/phases/outcome.ts";
import type { BlindAnswer } from "../../agents/core/phases/pay.ts";
import { TIER_MAX } from "../../agents/core/phases/tiers.ts";
import { ONE_PPM, type Attempt, type Ppm, type SeatIndex } from "../../agents/core/types.ts";
import { createRandom, type Random } from "../../sim/random.ts";
import { attemptOf } from "../../test/support/core/committee.ts";
import { CLAIM_PART, MODEL_DOLLARS, PRICES, SEATS_A_WEEK } from "./assumptions.ts";
import { estimateOf, sum, type Estimate } from "./estimate.ts";
import { askModel, drawQuestion, type Belief, type Text } from "./mind.ts";

/** `spent`: honest until it has fallen in a week, then always sure, for no other fall of that week counts (RE4). */
export type YearPolicy = "honest" | "bold" | "wait" | "spent";

export interface Career {
  readonly seats: number;
  /** Times in a week at which an agent of full reputation is drawn. */
  readonly aWeek: number;
  /** Steps that a fall takes; PY5 takes one. */
  readonly steps: number;
}

/** Cents for each draw, and the mean reputation. */
export interface Year {
  readonly cents: number;
  readonly reputation: number;
}

const WEEKS = 52;
/** As in contracts/types/Limits.sol: what a slash leaves, and what a recovery gives. */
const SLASHED = 0.8;
const RECOVERED = 0.01;
const UNIT_CENTS = Number(PRICES.token.unitPrice) / 1e16;

/** A year of seat 0; the others are honest. A committee decides what most of its seats believe. */
export function liveYear(policy: YearPolicy, { seats, aWeek, steps }: Career, random: Random): Year {
  const attempt = attemptOf(seats);
  let [cents, reputation, reputations] = [0, 1, 0];
  for (let week = 0; week < WEEKS; week++) {
    let hasFallen = false;
    for (let chance = 0; chance < aWeek; chance++) {
      reputations += reputation;
      const fate = random.fork(`${week}.${chance}`);
      if (!fate.chance(Math.round(reputation * ONE_PPM))) continue;
      const question = drawQuestion(fate);
      const beliefs = attempt.committee.map(() => askModel(question, fate));
      const isSure = policy === "bold" || policy === "wait" || (policy === "spent" && hasFallen);
      const own = isSure ? { ...beliefs[0]!, tier: TIER_MAX } : beliefs[0]!;
      const { share, falls } = decide(attempt, [own, ...beliefs.slice(1)], policy === "wait");
      cents += (1 - CLAIM_PART) * 2 * seats * UNIT_CENTS * share - 100 * MODEL_DOLLARS;
      if (share > 0) reputation = Math.min(1, reputation + RECOVERED);
      if (falls && !hasFallen) {
        hasFallen = true;
        reputation *= SLASHED ** steps;
      }
    }
  }
  return { cents: cents / (WEEKS * aWeek), reputation: reputations / (WEEKS * aWeek) };
}

/** Seat 0's part of the pay, and whether it falls. `waits`: it hides an answer that most of the others do not share. */
function decide(
  attempt: Attempt,
  beliefs: readonly Belief[],
  waits: boolean,
): { readonly share: number; readonly falls: boolean } {
  const answers = beliefs.map(({ answer, tier }, seat): BlindAnswer => ({
    seat: seat as SeatIndex,
    answer: canonicalAnswer(attempt.request, answer)!,
    tier: tier as Ppm,
  }));
  const hides = waits && mostOf(beliefs.slice(1)) !== beliefs[0]!.answer;
  const { shares, reputationChanges } = outcomeFrom(attempt, {
    winner: {
      answer: canonicalAnswer(attempt.request, mostOf(hides ? beliefs.slice(1) : beliefs))!,
      alike: [],
      confidence: ONE_PPM,
    },
    blind: {
      answers: hides ? answers.slice(1) : answers,
      overdue: hides ? [{ seat: 0 as SeatIndex, late: null }] : [],
    },
    slashes: beliefs.map(() => 0),
    completed: answers.map(({ seat }) => seat),
  });
  const all = sum(shares);
  const falls = reputationChanges.some(({ seat, steps }) => seat === 0 && steps < 0);
  return { share: all === 0 ? 0 : shares[0]! / all, falls };
}

function mostOf(beliefs: readonly Belief[]): Text {
  const yes = beliefs.filter(({ answer }) => answer === "yes").length;
  return 2 * yes >= beliefs.length ? "yes" : "no";
}

const LIVES = 20;
const SIZES = [4, 7, 13] as const;
const STEPS = [1, 2, 3] as const;
const SELDOM_A_WEEK = 5;

export interface YearRow extends Career {
  readonly honest: Estimate;
  readonly reputation: number;
  /** Gains over honest work, paired by seed. */
  readonly gains: Readonly<Record<Exclude<YearPolicy, "honest">, Estimate>>;
}

export function yearRows(seed: number): readonly YearRow[] {
  const careers = SIZES.flatMap((seats) => [
    ...STEPS.map((steps) => ({ seats, aWeek: SEATS_A_WEEK, steps })),
    { seats, aWeek: SELDOM_A_WEEK, steps: 1 },
  ]);
  return careers.map((career) => {
    const lived = (policy: YearPolicy): readonly Year[] =>
      Array.from({ length: LIVES }, (_, life) =>
        liveYear(policy, career, createRandom(seed * 1_000 + life, `year of ${career.seats}`)),
      );
    const honest = lived("honest");
    const gainOf = (policy: YearPolicy): Estimate =>
      estimateOf(lived(policy).map(({ cents }, life) => cents - honest[life]!.cents));
    return {
      ...career,
      honest: estimateOf(honest.map(({ cents }) => cents)),
      reputation: sum(honest.map(({ reputation }) => reputation)) / LIVES,
      gains: { bold: gainOf("bold"), wait: gainOf("wait"), spent: gainOf("spent") },
    };
  });
}
