// The gas figures that the repository keeps, and how measured ones differ from them.

/** Gas by the name of the figure. */
export type GasFigures = Readonly<Record<string, number>>;

export interface GasFile {
  /** Sizes of the registry that the draws were measured with. */
  readonly agents: readonly number[];
  readonly gas: GasFigures;
}

export interface Difference {
  readonly figure: string;
  readonly kept: number | null;
  readonly measured: number | null;
}

/**
 * Most gas that two runs of the same code may differ by. A run has timestamps of its own, and a zero byte of calldata costs 12 gas
 * less than another: a round's deadline has three bytes that can be zero, which is 36 gas, one run in 256 for each byte. The header in
 * a draw's calldata has hashes, but the mean of eight draws moved by at most 7 gas in eight runs. All else is the same in every run.
 */
export const TOLERANCE = 40;

/** What is more than the tolerance away, what is missing and what is new, in the order of the file. */
export function differencesOf(kept: GasFigures, measured: GasFigures): readonly Difference[] {
  const names = [...new Set([...Object.keys(kept), ...Object.keys(measured)])];
  return names
    .map((figure) => ({ figure, kept: kept[figure] ?? null, measured: measured[figure] ?? null }))
    .filter((pair) => pair.kept === null || pair.measured === null || Math.abs(pair.kept - pair.measured) > TOLERANCE);
}
