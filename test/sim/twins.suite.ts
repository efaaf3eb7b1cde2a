import assert from "node:assert/strict";
import type { SeedResult } from "../../sim/batch.ts";
import { commandFor } from "../../sim/command.ts";
import type { SimOptions, TwinsOptions } from "../../sim/options.ts";
import type { Pool } from "../../sim/pool.ts";
import { schedulesOf } from "../../sim/twins.ts";

export const N = 4;

export function twinsOf(protocol: string, twins: TwinsOptions): SimOptions & { readonly twins: TwinsOptions } {
  return {
    protocol,
    n: N,
    byzantine: 1,
    faults: [],
    byzantineKinds: ["twin"],
    kind: null,
    errorPpm: 0,
    sources: [],
    twins,
  };
}

export function everySchedule(twins: TwinsOptions): readonly number[] {
  return Array.from({ length: schedulesOf(twins, N) }, (_, index) => index + 1);
}

/** Plays every schedule, and fails with the command of the first that is not safe. */
export async function playTwins(pool: Pool, protocol: string, twins: TwinsOptions): Promise<readonly SeedResult[]> {
  const options = twinsOf(protocol, twins);
  const results = await pool.run(options, everySchedule(twins));
  for (const { seed, violations } of results) assert.deepEqual(violations, [], commandFor(options, seed));
  return results;
}
