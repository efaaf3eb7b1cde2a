import type { AnswerBook } from "../eval/answer-book.ts";

/** A paper's evaluation, done again. */
export interface Study {
  readonly id: string;
  /** Author and short title. */
  readonly paper: string;
  run(setting: Setting): Promise<Findings>;
}

export interface Setting {
  readonly isQuick: boolean;
  /** Number of questions of each suite, worlds or drawn decisions; null: the study's own. */
  readonly size: number | null;
  readonly seed: number;
  /** Opens the embedded model, and the same file at temperature 0, on first use: some studies need no model. */
  readonly book: () => Promise<AnswerBook>;
  /** Prints progress for people. */
  readonly tell: (line: string) => void;
}

export interface Findings {
  readonly claims: readonly Claim[];
  readonly comparisons: readonly Comparison[];
  readonly tables: readonly Table[];
  readonly charts: readonly Chart[];
}

/** Right decisions of a committee, and right answers of one greedy call of the same file to the same questions. */
export interface Comparison {
  readonly who: string;
  readonly questions: number;
  readonly right: number;
  readonly greedyRight: number;
}

/** What a paper says, beside the result here. The verdict is computed from the figures, never written down. */
export interface Claim {
  readonly paper: string;
  readonly here: string;
  readonly agrees: "yes" | "no" | "in part" | "not redone";
  readonly why: string;
}

export interface Table {
  readonly title: string;
  /** Text that says what was run, how often, and how to read it. */
  readonly note: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** Lines over a numeric axis. */
export interface Chart {
  /** Name of its file in lab/plots, without ".svg". */
  readonly file: string;
  readonly title: string;
  readonly x: { readonly title: string; readonly values: readonly number[] };
  readonly y: { readonly title: string; readonly most: number };
  readonly lines: readonly Line[];
}

export interface Line {
  readonly name: string;
  readonly points: readonly (readonly [x: number, y: number])[];
}

/** Returns the size of a study. */
export function sized(
  { isQuick, size }: Setting,
  { quick, full }: { readonly quick: number; readonly full: number },
): number {
  return size ?? (isQuick ? quick : full);
}

/** Returns the verdict on a claim that either holds or does not. */
export function verdictOf(holds: boolean): Claim["agrees"] {
  return holds ? "yes" : "no";
}

export function percent(share: number): string {
  return (100 * share).toFixed(1);
}

/** Compares on questions that know both results. */
export function comparisonOf(
  who: string,
  all: readonly { readonly status: string; readonly greedyIsRight: boolean }[],
): Comparison {
  return {
    who,
    questions: all.length,
    right: all.filter(({ status }) => status === "right").length,
    greedyRight: all.filter(({ greedyIsRight }) => greedyIsRight).length,
  };
}

/** Returns the right answers of one greedy call, in percent. */
export function greedyText(all: readonly { readonly greedyIsRight: boolean }[]): string {
  return percent(all.filter(({ greedyIsRight }) => greedyIsRight).length / all.length);
}

/** Returns the shares of right, hung and wrong in percent; a world without a certificate counts as hung. */
export function sharesText(statuses: readonly ("right" | "wrong" | "hung" | "none")[]): string {
  const share = (...wanted: readonly string[]): string =>
    percent(statuses.filter((status) => wanted.includes(status)).length / statuses.length);
  return [share("right"), share("hung", "none"), share("wrong")].join(" / ");
}
