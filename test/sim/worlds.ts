// What tests of seeded worlds begin with.
import type { SeedResult } from "../../sim/batch.ts";
import { BYZANTINE_KINDS, FAULTS, type SimOptions } from "../../sim/options.ts";

export const options: SimOptions = {
  protocol: "mbft",
  n: 4,
  byzantine: 1,
  faults: FAULTS,
  byzantineKinds: BYZANTINE_KINDS,
  kind: null,
  errorPpm: 0,
  sources: [],
};
export const seeds = (count: number, first = 1): readonly number[] =>
  Array.from({ length: count }, (_, index) => first + index);
export const described = (results: readonly SeedResult[]): readonly string[] =>
  results.flatMap(({ seed, violations }) => violations.map(({ checker, message }) => `${seed} ${checker}: ${message}`));
