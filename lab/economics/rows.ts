// What the study concludes of its figures: which strategies pay, and which of these the docs state.
import { COIN_DOLLARS } from "./assumptions.ts";
import type { Estimate } from "./estimate.ts";

/** Cents of a gas at a price of 1 gwei. */
const CENTS_A_GAS = COIN_DOLLARS * 100 * 1e-9;

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
export type Result = "holds" | "undecided" | "fails";

/** Two plays of one request differ by some gas for reasons of no interest, such as the bytes of a signature. */
const NOISE_GAS = 10;

export function resultOf({ kind, gain, gwei }: Pick<Row, "kind" | "gain" | "gwei">): Result {
  const noise = NOISE_GAS * gwei * CENTS_A_GAS;
  const [least, most] = kind === "duty" ? [-gain.high, -gain.low] : [gain.low, gain.high];
  return least > noise ? "fails" : most <= noise ? "holds" : "undecided";
}

/** Strategies that pay, or duties that do not, which the docs state. */
export interface Exception {
  readonly strategies: readonly string[];
  /** Settings and gas prices for which it stands; all if left out. */
  readonly settings?: readonly string[];
  readonly gwei?: readonly number[];
  /** Most cents: what is more beyond doubt, with its whole interval, is a new fault. For each gwei of the gas price if `isOfGas`. */
  readonly most: number;
  readonly isOfGas?: true;
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
  const failing = rows.filter((row) => resultOf(row) === "fails");
  const stated = failing.flatMap((row) => {
    const exception = exceptions.find((one) => covers(one, row));
    return exception === undefined ? [] : [{ row, exception }];
  });
  const known = new Set(stated.map(({ row }) => row));
  const needed = new Set(stated.map(({ exception }) => exception));
  return {
    stated,
    failures: failing.filter((row) => !known.has(row)),
    undecided: rows.filter((row) => resultOf(row) === "undecided"),
    idle: exceptions.filter((one) => !needed.has(one)),
  };
}

/** The end of the interval that is nearer to 0, of a gain or a loss beyond doubt. A mean of few lives is often greater by chance. */
const leastOf = ({ low, high }: Estimate): number => Math.min(Math.abs(low), Math.abs(high));

function covers({ strategies, settings, gwei, most, isOfGas }: Exception, row: Row): boolean {
  return (
    strategies.includes(row.strategy) &&
    (settings ?? [row.setting]).includes(row.setting) &&
    (gwei ?? [row.gwei]).includes(row.gwei) &&
    leastOf(row.gain) <= most * (isOfGas === true ? row.gwei : 1)
  );
}
