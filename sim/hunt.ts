import { optionsOf } from "./arguments.ts";
import type { SeedResult } from "./batch.ts";
import { commandFor } from "./command.ts";
import type { Mutant } from "./mutant.ts";
import { createPool } from "./pool.ts";

/** Result of the hunt for a planted fault. */
export interface Hunt {
  readonly mutant: string;
  /** First seed for which an expected checker notices the bug; null = it survived. */
  readonly found: {
    readonly seed: number;
    readonly checker: string;
    readonly message: string;
    readonly command: string;
  } | null;
  readonly seeds: number;
  /** What other checkers noticed. */
  readonly others: readonly string[];
}

/** Runs a mutant from its seed on until one of its expected checkers notices it, over at most `mostSeeds` seeds. */
export async function hunt(mutant: Mutant, mostSeeds: number, jobs = 1): Promise<Hunt> {
  const options = optionsOf(mutant.sim);
  const expected = new Set<string>(mutant.expect);
  const notices = ({ violations }: SeedResult): boolean => violations.some(({ checker }) => expected.has(checker));
  const pool = await createPool(jobs, { realSignatures: false, mutant });
  try {
    const seeds = Array.from({ length: mostSeeds }, (_, index) => (mutant.seed ?? 1) + index);
    const results = await pool.run(options, seeds, (done) => done.some(notices));
    const first = results.find(notices);
    const violation = first?.violations.find(({ checker }) => expected.has(checker));
    const others = results.flatMap(({ violations }) => violations.map(({ checker }) => checker));
    return {
      mutant: mutant.id,
      found:
        first === undefined || violation === undefined
          ? null
          : { ...violation, seed: first.seed, command: commandFor(options, first.seed, mutant.id) },
      seeds: results.length,
      others: [...new Set(others)].filter((checker) => !expected.has(checker)),
    };
  } finally {
    await pool.close();
  }
}
