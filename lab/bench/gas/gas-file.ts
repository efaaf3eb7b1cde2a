// The gas figures that the repository keeps, and their differences from measured ones.

/** Gas by the name of the figure. */
export type GasFigures = Readonly<Record<string, number>>;

export interface GasFile {
  /** How many agents the registry had. */
  readonly agents: number;
  readonly gas: GasFigures;
}

export interface Difference {
  readonly figure: string;
  readonly kept: number | null;
  readonly measured: number | null;
}

/**
 * Most gas by which two runs of the same code may differ. Each run has its own timestamps, and a zero byte of
 * calldata costs 12 gas less than another: three bytes of a round's deadline can be zero, which is 36 gas, in one of
 * 256 runs for each byte. The header in a draw's calldata has hashes, but the mean of eight draws moved by at most 7
 * gas in eight runs. Everything else is the same in every run.
 */
export const TOLERANCE = 40;

/** Returns what differs by more than the tolerance, what is missing and what is new, in the order of the file. */
export function differencesOf(kept: GasFigures, measured: GasFigures): readonly Difference[] {
  const names = [...new Set([...Object.keys(kept), ...Object.keys(measured)])];
  return names
    .map((figure) => ({ figure, kept: kept[figure] ?? null, measured: measured[figure] ?? null }))
    .filter((pair) => pair.kept === null || pair.measured === null || Math.abs(pair.kept - pair.measured) > TOLERANCE);
}
