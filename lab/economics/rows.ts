// What the study concludes of its figures: which strategies pay, and which of these the docs state.
import { scaled, type Estimate } from "./estimate.ts";

/**
 * `attack`: must not gain anything. `reply`: another policy of a seat, must not gain over honest work. `duty`: what others need, must not
 * lose.
 */
export type Kind = "attack" | "reply" | "duty";

export interface Row {
  readonly kind: Kind;
  readonly group: "seats" | "coalitions" | "others";
  readonly strategy: string;
  readonly setting: string;
  /** Gas price in gwei. */
  readonly gwei: number;
  /** Cents that the strategy has in all, for a seat of an agent or for a request of others. */
  readonly profit: Estimate;
  /** Cents that it has above what it is compared with: honest work, or nothing. */
  readonly gain: Estimate;
}

/** `holds` and `fails` beyond doubt at 95 %. */
export type Verdict = "holds" | "undecided" | "fails";

export function verdictOn({ kind, gain }: Pick<Row, "kind" | "gain">): Verdict {
  const { low, high } = kind === "duty" ? scaled(gain, -1) : gain;
  const [least, most] = [Math.min(low, high), Math.max(low, high)];
  return least > 0 ? "fails" : most <= 0 ? "holds" : "undecided";
}

/** A strategy that pays, or a duty that does not, which the docs state. */
export interface Exception {
  readonly strategy: string;
  /** Settings and gas prices for which it stands; all if left out. */
  readonly settings?: readonly string[];
  readonly gwei?: readonly number[];
  /** Most cents, of the mean: a greater figure is a new fault. */
  readonly most: number;
  readonly says: string;
}

export interface Conclusion {
  /** Failures with the exception that states each. */
  readonly stated: readonly { readonly row: Row; readonly exception: Exception }[];
  /** Failures that the docs do not state. */
  readonly failures: readonly Row[];
  readonly undecided: readonly Row[];
  /** Exceptions that no row needs any more. */
  readonly idle: readonly Exception[];
}

export function conclude(rows: readonly Row[], exceptions: readonly Exception[]): Conclusion {
  const failing = rows.filter((row) => verdictOn(row) === "fails");
  const stated = failing.flatMap((row) => {
    const exception = exceptions.find((one) => covers(one, row));
    return exception === undefined ? [] : [{ row, exception }];
  });
  const known = new Set(stated.map(({ row }) => row));
  const needed = new Set(stated.map(({ exception }) => exception));
  return {
    stated,
    failures: failing.filter((row) => !known.has(row)),
    undecided: rows.filter((row) => verdictOn(row) === "undecided"),
    idle: exceptions.filter((one) => !needed.has(one)),
  };
}

function covers({ strategy, settings, gwei, most }: Exception, row: Row): boolean {
  return (
    strategy === row.strategy &&
    (settings ?? [row.setting]).includes(row.setting) &&
    (gwei ?? [row.gwei]).includes(row.gwei) &&
    Math.abs(row.gain.mean) <= most
  );
}
