import type { CheckerName } from "./checkers/index.ts";

/** A planted fault: one safety rule of the core is switched off, and named checkers must notice. */
export interface Mutant {
  /** The rule, e.g. "CE7"; with a suffix where there are several, e.g. "MB11-uphold". */
  readonly id: string;
  /** What the bug is, in a few words. */
  readonly bug: string;
  /** Path from the repository's root. */
  readonly file: string;
  /** Text that occurs exactly once in the file. */
  readonly find: string;
  readonly replace: string;
  /** Arguments of `npm run sim` that show it, without --seeds and --seed. */
  readonly sim: string;
  /** Seed at which the hunt begins, where one from 1 would be long: a seed that showed the fault when it was planted. Default 1. */
  readonly seed?: number;
  /** Checkers that must notice: one of them is enough. */
  readonly expect: readonly CheckerName[];
}
