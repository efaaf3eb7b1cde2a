// Twins (arXiv 2004.10617): two instances of one real seat, and every way to split the committee in a few windows of time.
import type { SeatIndex } from "../agents/core/types.ts";
import { invalid, type TwinsOptions } from "./options.ts";

/** The seat with two instances, and where everybody is in each window. */
export interface TwinsPlan {
  readonly seat: SeatIndex;
  readonly windows: readonly TwinsWindow[];
}

export interface TwinsWindow {
  /** Virtual times in milliseconds. */
  readonly from: number;
  readonly until: number;
  /** Seats apart from the first instance. The seat that has two is not among them. */
  readonly apart: ReadonlySet<SeatIndex>;
  readonly isSecondApart: boolean;
}

export const MOST_WINDOWS = 3;
export const MOST_TWIN_SEATS = 7;

/** Throws TERMS_INVALID with the field, its value and a way out. */
export function checkTwins({ windows, windowMs }: TwinsOptions, n: number, byzantine: number): void {
  if (!Number.isSafeInteger(windows) || windows < 1 || windows > MOST_WINDOWS)
    throw invalid("twins", windows, `give 1 to ${MOST_WINDOWS} windows`);
  if (!Number.isSafeInteger(windowMs) || windowMs < 10 || windowMs > 60_000)
    throw invalid("window-ms", windowMs, "give 10 to 60000 milliseconds");
  if (n < 4 || n > MOST_TWIN_SEATS) throw invalid("n", n, `with --twins give 4 to ${MOST_TWIN_SEATS} seats`);
  if (byzantine !== 1) throw invalid("byzantine", byzantine, "with --twins give 1: one seat has two instances");
}

/** How many schedules there are: each seat may have the twin, and in each window all others stand on either side. */
export function schedulesOf({ windows }: TwinsOptions, n: number): number {
  return n * 2 ** (n * windows);
}

/** Returns the schedule of a seed for seats 0 to n - 1. Seeds from 1 to the number of schedules give every schedule once. */
export function scheduleOf({ windows, windowMs }: TwinsOptions, n: number, seed: number): TwinsPlan {
  const seat = (seed % n) as SeatIndex;
  let rest = Math.floor(seed / n);
  const others = Array.from({ length: n }, (_, one) => one as SeatIndex).filter((one) => one !== seat);
  const schedule = Array.from({ length: windows }, (_, index): TwinsWindow => {
    const code = rest % 2 ** n;
    rest = Math.floor(rest / 2 ** n);
    return {
      from: index * windowMs,
      until: (index + 1) * windowMs,
      apart: new Set(others.filter((_other, place) => ((code >> (place + 1)) & 1) === 1)),
      isSecondApart: (code & 1) === 1,
    };
  });
  return { seat, windows: schedule };
}

/** True if the instance and the seat are on one side now. */
export function isBeside({ windows }: TwinsPlan, instance: 0 | 1, seat: SeatIndex, now: number): boolean {
  const window = windows.find(({ from, until }) => from <= now && now < until);
  if (window === undefined) return true;
  return window.apart.has(seat) === (instance === 1 && window.isSecondApart);
}
