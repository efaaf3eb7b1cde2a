import { faultTolerance } from "../../agents/core/quorum.ts";
import type { Assurance } from "../../agents/core/types.ts";
import type { Method } from "./methods.ts";
import type { Suite } from "./suites.ts";

/** Which models sit: the first alone, or all of them in turn. */
export const MIXES = ["heterogeneous", "homogeneous"] as const;
/** How seats answer: at the models' temperature, at temperature 0, or sampled with calibrated confidence. */
export const SEATINGS = ["sampled", "greedy", "calibrated"] as const;
/** What liars count where skill counts: their lies were held against them, or they were honest for long. */
export const LIARS = ["caught", "trusted"] as const;
export const ASSURANCES = ["normal", "high"] as const satisfies readonly Assurance[];

/** What does not depend on protocol and question. */
export interface Condition {
  readonly mix: (typeof MIXES)[number];
  readonly seats: number;
  readonly seating: (typeof SEATINGS)[number];
  readonly assurance: Assurance;
  readonly byzantine: number;
  /** "caught" without bad seats, too. */
  readonly liars: (typeof LIARS)[number];
}

/** What an evaluation varies. The first of each list, with every number of bad seats, is the plain condition. */
export interface Grid {
  readonly mixes: readonly Condition["mix"][];
  readonly seats: readonly number[];
  readonly seatings: readonly Condition["seating"][];
  readonly assurances: readonly Assurance[];
  readonly liars: readonly Condition["liars"][];
  /** Numbers of bad seats; "f": the most that a committee bears. */
  readonly byzantine: readonly (number | "f")[];
  readonly methods: readonly Method[];
  /** Methods that are tried beyond the plain condition, too. */
  readonly leading: readonly Method[];
  /** The method whose targets need every question; null: none. */
  readonly recommended: Method | null;
  /** What is not needed for them gets one question in so many. */
  readonly thinning: number;
}

/** One method under one condition, on the questions of one suite. */
export interface CellKey {
  readonly suite: Suite;
  readonly condition: Condition;
  readonly method: Method;
  /** It has one question of the suite in so many. */
  readonly every: number;
}

/** All cells: every method in the plain condition, the leading ones in those that differ from it in few ways, too. */
export function cellsOf(grid: Grid, suites: readonly Suite[]): readonly CellKey[] {
  const all = conditionsOf(grid);
  const [smallest] = grid.seats;
  const isPlain = ({ seats, ...one }: Condition): boolean => seats === smallest && isOrdinary(grid, one);
  return suites.flatMap((suite) =>
    all.flatMap((condition) =>
      grid.methods
        .filter((method) => isPlain(condition) || grid.leading.includes(method))
        .map((method) => {
          const isWhole = method === grid.recommended && condition.seating === grid.seatings[0];
          return { suite, condition, method, every: isWhole ? 1 : grid.thinning };
        }),
    ),
  );
}

/** Sizes and liars are crossed; seatings vary with the smallest committee alone, assurance with the first liars alone. */
function conditionsOf(grid: Grid): readonly Condition[] {
  const [smallest] = grid.seats;
  const [seating] = grid.seatings;
  const [assurance] = grid.assurances;
  const [liars] = grid.liars;
  const crossed = grid.mixes.flatMap((mix) =>
    grid.seats.flatMap((seats) =>
      grid.seatings.flatMap((one) =>
        grid.assurances.flatMap((level) =>
          badOf(grid, seats).flatMap((byzantine) =>
            (byzantine === 0 ? (["caught"] as const) : grid.liars).map((kind) => ({
              mix,
              seats,
              seating: one,
              assurance: level,
              byzantine,
              liars: kind,
            })),
          ),
        ),
      ),
    ),
  );
  return crossed.filter((one) => {
    const differs = [one.seating !== seating, one.assurance !== assurance, one.byzantine > 0 && one.liars !== liars];
    return differs.filter(Boolean).length < 2 && (one.seating === seating || one.seats === smallest);
  });
}

function isOrdinary(grid: Grid, { seating, assurance, byzantine, liars }: Omit<Condition, "seats">): boolean {
  const isFirst = byzantine === 0 || liars === grid.liars[0];
  return seating === grid.seatings[0] && assurance === grid.assurances[0] && isFirst;
}

function badOf({ byzantine }: Grid, seats: number): readonly number[] {
  const f = faultTolerance(seats);
  return [...new Set(byzantine.map((count) => (count === "f" ? f : count)).filter((count) => count <= f))];
}

/** Words for a table, e.g. "n = 7, 2 trusted liars, greedy". */
export function conditionText({ mix, seats, seating, assurance, byzantine, liars }: Condition): string {
  const bad = byzantine === 0 ? "nobody bad" : `${byzantine} ${liars} ${byzantine === 1 ? "liar" : "liars"}`;
  const words = [
    `n = ${seats}`,
    bad,
    ...(seating === "sampled" ? [] : [seating]),
    ...(assurance === "normal" ? [] : ["high assurance"]),
    ...(mix === "heterogeneous" ? [] : ["one model"]),
  ];
  return words.join(", ");
}

/** True for two that differ at most in what `except` names. */
export function isSameCondition(a: Condition, b: Condition, except: readonly (keyof Condition)[] = []): boolean {
  return (Object.keys(a) as (keyof Condition)[]).every((key) => except.includes(key) || a[key] === b[key]);
}
