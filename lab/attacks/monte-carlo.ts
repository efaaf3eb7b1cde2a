import { drawAt } from "./random.ts";
import { playReference } from "./reference.ts";
import { playSound } from "./sound.ts";
import { RIGHT, WRONG, trialOf, type Setting } from "./trial.ts";

/** A share of trials with its 95 % interval (Wilson). */
export interface Share {
  readonly share: number;
  readonly low: number;
  readonly high: number;
}

export interface Shares {
  readonly right: Share;
  readonly wrong: Share;
  readonly hung: Share;
}

/** The deciders: the first is the reference, the others are the real sound rules. */
export const columns = [
  "reference",
  "normal, one round",
  "high, one round",
  "normal",
  "high",
  "normal, fallible",
] as const;
export type Column = (typeof columns)[number];

/** Shares that the first Monte Carlo found for a row: right / wrong / hung, one round each. */
export interface Stated {
  readonly reference: string;
  readonly normal: string;
  readonly high: string;
}

type Row = Pick<Setting, "attack" | "seats" | "fooled" | "countered">;

/**
 * The first Monte Carlo of these attacks, to compare with (docs/spec/mbft.md, "What it buys"). Another program made it,
 * of which only these figures are left.
 */
export const statedRows: readonly { readonly row: Row; readonly stated: Stated }[] = [
  stated("coordinated vetoers", 7, 0.05, 0.9, [".00 .000 1.00", ".97 .002 .03", ".78 .001 .22"]),
  stated("coordinated vetoers", 7, 0.2, 0.5, [".00 .009 .99", ".94 .041 .02", ".75 .023 .23"]),
  stated("coordinated vetoers", 13, 0.2, 0.5, [".00 .000 1.00", ".99 .003 .01", ".65 .010 .34"]),
  stated("confident liars", 7, 0.05, 0.9, [".77 .000 .23", ".97 .005 .03", ".77 .000 .23"]),
  stated("confident liars", 7, 0.3, 0.1, [".52 .330 .15", ".72 .278 .01", ".63 .177 .19"]),
  stated("confident liars", 31, 0.2, 0.5, ["not run", ".94 .060 .00", ".34 .001 .66"]),
];

export interface MonteCarloResult extends Row {
  readonly again: Setting["again"];
  readonly stated: Stated | null;
  readonly trials: number;
  readonly shares: Readonly<Record<Column, Shares>>;
}

/** Plays the same draws through the reference and through the sound rules. */
export function runMonteCarlo(
  row: Row,
  options: {
    readonly trials: number;
    readonly seed: number;
    readonly again?: Setting["again"];
    readonly stated?: Stated;
    readonly progress?: (done: number) => void;
  },
): MonteCarloResult {
  const { trials, seed, again = "same" } = options;
  const values = new Map<Column, (string | null)[]>(columns.map((column) => [column, []]));
  for (let index = 0; index < trials; index++) {
    const luck = Math.floor(drawAt(seed, index) * 2 ** 32);
    const trial = trialOf({ ...row, again, judges: "informed" }, luck);
    const sound = playSound(trial);
    const played: Readonly<Record<Column, string | null>> = {
      reference: playReference(trial).value,
      "normal, one round": sound.normal.single,
      "high, one round": sound.high.single,
      normal: sound.normal.value,
      high: sound.high.value,
      "normal, fallible": playSound(trialOf({ ...row, again, judges: "fallible" }, luck)).normal.value,
    };
    for (const column of columns) values.get(column)?.push(played[column]);
    options.progress?.(index + 1);
  }
  const shares = Object.fromEntries(columns.map((column) => [column, sharesOf(values.get(column) ?? [])]));
  return { ...row, again, trials, stated: options.stated ?? null, shares: shares as Record<Column, Shares> };
}

function sharesOf(values: readonly (string | null)[]): Shares {
  const count = (value: string | null) => wilson(values.filter((one) => one === value).length, values.length);
  return { right: count(RIGHT), wrong: count(WRONG), hung: count(null) };
}

/** Wilson's score interval at 95 %. */
export function wilson(hits: number, trials: number): Share {
  const z = 1.959964;
  const share = hits / trials;
  const scale = 1 + z ** 2 / trials;
  const middle = (share + z ** 2 / (2 * trials)) / scale;
  const half = (z / scale) * Math.sqrt((share * (1 - share)) / trials + z ** 2 / (4 * trials ** 2));
  return { share, low: Math.max(0, middle - half), high: Math.min(1, middle + half) };
}

function stated(
  attack: Row["attack"],
  seats: number,
  fooled: number,
  countered: number,
  [reference, normal, high]: readonly [string, string, string],
) {
  return { row: { attack, seats, fooled, countered }, stated: { reference, normal, high } };
}
