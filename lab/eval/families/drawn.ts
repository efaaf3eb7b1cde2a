import type { Random } from "../../../sim/random.ts";

/** A question as its family draws it, with a true derivation and a lie with a false one. */
export interface Drawn {
  /** The `kind` line of the prompt. */
  readonly kind: string;
  readonly text: string;
  readonly answer: string;
  readonly proof: string;
  readonly lie: { readonly answer: string; readonly proof: string };
  /** What its sources show; null if no page can be poisoned so that the answer turns. Absent: it names no sources. */
  readonly pages?: Pages | null;
}

/** What the sources of a question show: to everybody, and to a seat that is shown a poisoned page. */
export interface Pages {
  readonly right: readonly string[];
  readonly poisoned: readonly string[];
}

/** Draws one question. */
export type Family = (random: Random) => Drawn;

/** How hard the questions of a family are. */
export interface Level {
  /** Numbers of rules or options, one of which is drawn. */
  readonly sizes: readonly number[];
  /** Share of values within a few steps of their limit, parts per million. */
  readonly nearPpm: number;
  /** Share of limits from 100 on whose values are round, parts per million. */
  readonly roundPpm: number;
}

/** Kind of a limit: the most or the least. */
export type Bound = "max" | "min";

/** A value on the wanted side of the limit: near it, at it, or far from it. */
export function valueFor(
  random: Random,
  { nearPpm, roundPpm }: Level,
  limit: number,
  bound: Bound,
  holds: boolean,
): number {
  const isNear = random.chance(nearPpm);
  const step = limit >= 100 && random.chance(roundPpm) ? 10 : 1;
  if (holds === (bound === "max")) {
    const top = holds ? limit : limit - step;
    const low = Math.max(top < 1 ? 0 : 1, top - (isNear ? 5 * step : Math.max(5, Math.floor(limit * 0.8))));
    const value = random.between(Math.min(low, top), top);
    return step === 1 || value < 10 ? value : Math.floor(value / step) * step;
  }
  const bottom = holds ? limit : limit + step;
  return Math.floor(random.between(bottom, bottom + (isNear ? 5 * step : Math.max(5, limit))) / step) * step;
}

/** Draws a limit; many limits are round. */
export function rounded(random: Random, value: number): number {
  if (value >= 100) return Math.floor(value / 50) * 50;
  return value >= 20 && random.chance(500_000) ? Math.floor(value / 5) * 5 : value;
}
