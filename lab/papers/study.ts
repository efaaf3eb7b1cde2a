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
  /** Questions of each suite, worlds or drawn decisions, in place of what a study takes of itself; null: as it does. */
  readonly size: number | null;
  readonly seed: number;
  /** The embedded model, and the same file at temperature 0; opened when first asked for, since some studies need none. */
  readonly book: () => Promise<AnswerBook>;
  /** Progress, for people. */
  readonly tell: (line: string) => void;
}

export interface Findings {
  readonly claims: readonly Claim[];
  readonly comparisons: readonly Comparison[];
  readonly tables: readonly Table[];
  readonly charts: readonly Chart[];
}

/** What a committee decides right of its questions, and one greedy call of the same file of the same ones. */
export interface Comparison {
  readonly who: string;
  readonly questions: number;
  readonly right: number;
  readonly greedyRight: number;
}

/** What a paper says beside what came out here. Whether they agree is computed from the figures, never written down. */
export interface Claim {
  readonly paper: string;
  readonly here: string;
  readonly agrees: "yes" | "no" | "in part" | "not redone";
  readonly why: string;
}

export interface Table {
  readonly title: string;
  /** What was run, how often, and how to read it. */
  readonly note: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** Lines over a numeric axis. */
export interface Chart {
  /** Of lab/plots, without ".svg". */
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

/** How many of something a study takes. */
export function sized(
  { isQuick, size }: Setting,
  { quick, full }: { readonly quick: number; readonly full: number },
): number {
  return size ?? (isQuick ? quick : full);
}

/** How a claim fares that either holds or does not. */
export function verdictOf(holds: boolean): Claim["agrees"] {
  return holds ? "yes" : "no";
}

export function percent(share: number): string {
  return (100 * share).toFixed(1);
}

/** Of questions that each know both. */
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

/** In percent, right answers of one greedy call. */
export function greedyText(all: readonly { readonly greedyIsRight: boolean }[]): string {
  return percent(all.filter(({ greedyIsRight }) => greedyIsRight).length / all.length);
}

/** Right, hung and wrong in percent; who has no certificate is hung. */
export function sharesText(statuses: readonly ("right" | "wrong" | "hung" | "none")[]): string {
  const share = (...wanted: readonly string[]): string =>
    percent(statuses.filter((status) => wanted.includes(status)).length / statuses.length);
  return [share("right"), share("hung", "none"), share("wrong")].join(" / ");
}
