import { ranking } from "../references/leaderless-baselines.ts";
import type { Latency } from "./decentllms-latency.ts";
import { CORRECT, PAPER_SCORES, PUSHED, type Resilience } from "./decentllms-table.ts";
import { percent, verdictOf, type Claim } from "./study.ts";

/** Numbers of questions decided right, by method. */
export interface Accuracy {
  readonly questions: number;
  readonly right: Readonly<Record<string, number>>;
  readonly greedyRight: number;
}

/** The claim of the introduction, against the one model that all seats hold. */
export function singleClaim({ questions, right, greedyRight }: Accuracy): Claim {
  const methods = ["leaderless", "decentllms-best"] as const;
  const shares = methods.map((name) => `\`${name}\` ${percent((right[name] ?? 0) / questions)} %`);
  const above = methods.filter((name) => (right[name] ?? 0) > greedyRight).length;
  return {
    paper: "I: several agents overcome the limitations of a single LLM",
    here: `${shares.join(", ")}, one greedy call of the same model ${percent(greedyRight / questions)} % of the same ${questions} questions`,
    agrees: above === methods.length ? "yes" : above > 0 ? "in part" : "no",
    why: "all seats hold the file of the greedy call, sampled so that they differ; the paper's agents are nine models of different size, and it gives no figure for the best of them",
  };
}

/** Fig. 6. */
export function accuracyClaim({ questions, right }: Accuracy): Claim {
  const [best, twoThirds, majority] = ["best", "two-thirds", "majority"].map(
    (name) => right[`decentllms-${name}`] ?? 0,
  ) as [number, number, number];
  const isOrdered = best >= twoThirds && twoThirds >= majority;
  return {
    paper:
      "V-B1: the best-scored answer is right in 71 %, the one that a 2/3 quorum takes in 64 %, a majority's in 50 %",
    here: `${[best, twoThirds, majority].map((count) => percent(count / questions)).join(", ")} % of ${questions} questions`,
    agrees: isOrdered && best > majority ? "yes" : isOrdered ? "in part" : "no",
    why: "the baselines are the paper's own assumption: a quorum takes the answer of a fixed place in the ranking, which no leader-based protocol here does. Few questions: see the intervals",
  };
}

/** Fig. 7. */
export function latencyClaims(latencies: readonly Latency[]): readonly Claim[] {
  const callsOf = (method: string): readonly number[] =>
    latencies.filter((one) => one.method === method).map(({ calls }) => calls);
  const isRising = (calls: readonly number[]): boolean =>
    calls.slice(1).every((count, index) => count > (calls[index] as number));
  const [flat, wbft, debate] = ["leaderless", "wbft", "fixed-leader-debate"].map(callsOf) as [
    readonly number[],
    readonly number[],
    readonly number[],
  ];
  const isFlat = new Set(flat).size === 1;
  // All but the last, where all first workers are bad.
  const isFlatBelow = new Set(flat.slice(0, -1)).size === 1;
  return [
    {
      paper: "V-B2: the latency of DecentLLMs is about constant (221 s), however many agents are Byzantine",
      here: `\`leaderless\`: ${flat.join(", ")} calls one after the other for 0 to ${flat.length - 1} bad workers`,
      agrees: isFlat ? "yes" : isFlatBelow ? "in part" : "no",
      why: "the paper never lets all workers be Byzantine; here a second round has other workers (LL4). Seconds are those of its models and machines and are not comparable",
    },
    {
      paper: "V-B2: leader-driven consensus takes longer with every Byzantine leader, nearly linearly",
      here: `\`wbft\`: ${wbft.join(", ")}; fixed-leader debate: ${debate.join(", ")}`,
      agrees: verdictOf(isRising(wbft) && isRising(debate)),
      why: "views and debates come one after the other. `mbft` has leaders and does not grow, since it verifies all answers at once (MB8)",
    },
  ];
}

/** Table I. */
export function tableClaims(scores: readonly number[]): readonly Claim[] {
  const order = ranking(scores);
  const paperOrder = ranking(PAPER_SCORES);
  const off = Math.max(...scores.map((score, worker) => Math.abs(score / 1000 - (PAPER_SCORES[worker] as number))));
  return [
    {
      paper: "Table I: w7 is best with 88.2, then w6, w1, w8, w2, w3, w0, w4, w5, and the Byzantine w9",
      here: `w${order.join(", w")}; w7 has ${((scores[7] as number) / 1000).toFixed(1)}; scores differ by at most ${off.toFixed(1)}`,
      agrees: verdictOf(order.join() === paperOrder.join()),
      why: "scores differ because the paper prints totals and we spread them evenly over the criteria",
    },
    {
      paper: "Table I: evaluators take a wrong answer (w8) for a good one and a right one (w3) for a poor one",
      here: `w8 is place ${order.indexOf(8) + 1}, w3 place ${order.indexOf(3) + 1} of 10`,
      agrees: verdictOf(order.indexOf(8) < order.indexOf(3)),
      why: "no aggregation mends what honest evaluators get wrong",
    },
  ];
}

/** Fig. 8. */
export function resilienceClaim(rows: readonly Resilience[]): Claim {
  const taken = rows.find(({ best }) => best === PUSHED)?.colluders ?? null;
  const isRight = rows.filter(({ colluders }) => colluders <= 6).every(({ best }) => CORRECT.includes(best));
  const approved = rows.find(({ approvedBest }) => approvedBest === PUSHED)?.colluders ?? null;
  return {
    paper: "V-B4: right with up to 6 Byzantine evaluators beside 8 honest ones, the Byzantine answer from 7 on",
    here: `${isRight ? "right" : "not always right"} up to 6; the Byzantine answer is first at ${taken ?? "none"}, and wins under our approval rule first at ${approved ?? "none"}`,
    agrees: !isRight ? "no" : taken === 7 ? "yes" : "in part",
    why: "7 of 15 is less than half, which a geometric median bears; the paper's own text has three different bounds (LL2). At 8 of 16 our rule has no winner rather than a wrong one",
  };
}
