import { isSameCondition, type Condition } from "./conditions.ts";
import { holm, pAtMost, type Interval } from "./statistics.ts";
import type { Lead, Summary } from "./summary.ts";

/** What a protocol should reach (issue 19), and whether it did. */
export const TARGETS = {
  nobodyBad: "nobody bad: at most 1 below the better of self-consistency and best greedy",
  overCounting: "f caught liars: 3 above the equally attacked count",
  honestSeat: "f caught liars: at most 3 below the best honest seat",
  trusted: "f trusted liars: at most 5 below the equally attacked count",
  hung: "hung at most 2 % after one retry",
  calibration: "calibration error at most 5 (counted, not tested)",
  highAssurance: "high assurance, nobody bad: wrong at most 1 % of the surest 80 % (counted, not tested)",
} as const;
export type TargetName = keyof typeof TARGETS;
export const TARGET_NAMES = Object.keys(TARGETS) as readonly TargetName[];

/** "kept" and "missed" are shown, at 5 %; "open": the run shows neither. */
export interface Finding {
  readonly target: TargetName;
  readonly method: string;
  readonly mix: Condition["mix"];
  readonly seats: number;
  readonly verdict: "kept" | "missed" | "open";
  /** In percent or percentage points, with what limits it. */
  readonly value: number;
  readonly interval: Interval | null;
  /** Holm's adjusted p value among all findings of the target; null where nothing is tested. */
  readonly p: number | null;
}

type Untested = Omit<Finding, "p" | "verdict"> & { readonly raw: number; readonly margin: number };

const LEVEL = 0.05;
const MARGINS = { nobodyBad: -0.01, overCounting: 0.03, honestSeat: -0.03, trusted: -0.05 } as const;
const MOST_HUNG = 0.02;
const MOST_CALIBRATION_ERROR = 0.05;
const SURE = 0.8;
const MOST_WRONG = 0.01;

/** Findings on every protocol in every committee of the plain seating; `together` has all suites pooled. */
export function findingsOf(together: readonly Summary[]): readonly Finding[] {
  const protocols = together.filter(({ source }) => source === "protocol");
  const [plain] = protocols;
  if (plain === undefined) return [];
  const { seating } = plain.condition;
  const own = protocols.filter(({ condition }) => condition.seating === seating);
  return [...testedOf(own), ...countedOf(own)];
}

function testedOf(own: readonly Summary[]): readonly Finding[] {
  const untested = own.flatMap((row): readonly Untested[] => {
    const { byzantine, liars, assurance, mix, seats } = row.condition;
    if (assurance !== "normal" || byzantine < mostBad(own, row)) return [];
    const test = (target: keyof typeof MARGINS, { difference, ...pairs }: Lead): Untested => ({
      target,
      method: row.method,
      mix,
      seats,
      value: difference.share,
      interval: difference.interval,
      margin: MARGINS[target],
      raw: pAtMost(MARGINS[target], pairs),
    });
    const { selfConsistency, bestGreedy, counting, honestSeat } = row.rivals;
    if (byzantine === 0) {
      const better = bestGreedy.accuracy.share > selfConsistency.accuracy.share ? bestGreedy : selfConsistency;
      return [test("nobodyBad", better)];
    }
    if (liars === "trusted") return [test("trusted", counting)];
    return [test("overCounting", counting), test("honestSeat", honestSeat)];
  });
  return [...Map.groupBy(untested, ({ target }) => target).values()].flatMap((column) => {
    const adjusted = holm(column.map(({ raw }) => raw));
    return column.map(({ raw: _, margin, ...one }, index) => {
      const p = adjusted[index] as number;
      const isMissed = (one.interval as Interval)[1] < margin;
      return { ...one, p, verdict: p <= LEVEL ? "kept" : isMissed ? "missed" : "open" } as const;
    });
  });
}

/** The number of bad seats that a row's tests are made at: none, or the most of its committee. */
function mostBad(own: readonly Summary[], { condition, method }: Summary): number {
  const same = own.filter(
    (one) => one.method === method && isSameCondition(one.condition, condition, ["byzantine", "liars"]),
  );
  return condition.byzantine === 0 ? 0 : Math.max(...same.map((one) => one.condition.byzantine));
}

/** What is counted, not compared. */
function countedOf(own: readonly Summary[]): readonly Finding[] {
  return own.flatMap((row): readonly Finding[] => {
    const { method, calibrationError, coverage } = row;
    const { byzantine, assurance, mix, seats } = row.condition;
    const of = { method, mix, seats, p: null };
    if (assurance === "high") {
      const wrong = coverage.find(({ share }) => share === SURE)?.wrong;
      if (byzantine > 0 || wrong === undefined) return [];
      const value = wrong ?? 1;
      return [
        { ...of, target: "highAssurance", value, interval: null, verdict: value <= MOST_WRONG ? "kept" : "missed" },
      ];
    }
    if (byzantine > 0) return [];
    const worst = own
      .filter((one) => one.method === method && isSameCondition(one.condition, row.condition, ["byzantine", "liars"]))
      .reduce((a, b) => (b.hung.share > a.hung.share ? b : a)).hung;
    const [low, high] = worst.interval;
    const hung = high <= MOST_HUNG ? "kept" : low > MOST_HUNG ? "missed" : "open";
    return [
      { ...of, target: "hung", value: worst.share, interval: worst.interval, verdict: hung },
      ...(calibrationError === null
        ? []
        : [
            {
              ...of,
              target: "calibration",
              value: calibrationError,
              interval: null,
              verdict: calibrationError <= MOST_CALIBRATION_ERROR ? "kept" : "missed",
            } as const,
          ]),
    ];
  });
}
