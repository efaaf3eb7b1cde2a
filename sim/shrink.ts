import { ANSWER_KINDS } from "../agents/core/types.ts";
import { type SimOptions } from "./options.ts";
import type { SeedResult } from "./batch.ts";

/** Returns true if this world still shows the failure. */
export type StillFails = (options: SimOptions, seed: number) => Promise<boolean>;

export interface Shrunk {
  readonly options: SimOptions;
  readonly seed: number;
  readonly tries: number;
}

/** Most worlds that are tried. */
const MOST_TRIES = 150;
/** A smaller committee is another world, so a few seeds from the failing one on are tried. */
const SEEDS_PER_STEP = 4;

/** Removes greedily, as long as the failure stays: faults, kinds, Byzantine seats, seats of the committee, sources. */
export async function shrink(options: SimOptions, seed: number, stillFails: StillFails): Promise<Shrunk> {
  let best = { options, seed };
  let tries = 0;
  const tryOut = async (smallerOptions: SimOptions): Promise<boolean> => {
    for (let offset = 0; offset < SEEDS_PER_STEP && tries < MOST_TRIES; offset++) {
      tries++;
      if (!(await stillFails(smallerOptions, best.seed + offset))) continue;
      best = { options: smallerOptions, seed: best.seed + offset };
      return true;
    }
    return false;
  };
  const improve = async (): Promise<boolean> => {
    for (const one of smaller(best.options)) if (await tryOut(one)) return true;
    return false;
  };
  while (await improve());
  return { ...best, tries };
}

/** Smaller worlds, the strongest cuts first. */
function smaller(options: SimOptions): readonly SimOptions[] {
  // A schedule is as small as it can be: another option would make another one of the seed.
  if (options.twins !== undefined) return [];
  const { n, byzantine, faults, byzantineKinds, kind, sources } = options;
  const without = <T>(list: readonly T[], one: T): readonly T[] => list.filter((other) => other !== one);
  const halves = <T>(list: readonly T[]): readonly (readonly T[])[] =>
    list.length < 4 ? [] : [list.slice(0, list.length >> 1), list.slice(list.length >> 1)];
  return [
    ...(faults.length > 0 ? [{ ...options, faults: [] }] : []),
    ...(faults.length > 1 ? faults.map((fault) => ({ ...options, faults: [fault] })) : []),
    ...(n > 4
      ? [{ ...options, n: n - 3, byzantine: Math.min(byzantine, Math.max(0, Math.ceil((byzantine * (n - 3)) / n))) }]
      : []),
    ...(byzantine > 0 ? [{ ...options, byzantine: byzantine - 1 }] : []),
    ...halves(byzantineKinds).map((kinds) => ({ ...options, byzantineKinds: kinds })),
    ...faults.map((fault) => ({ ...options, faults: without(faults, fault) })),
    ...(byzantineKinds.length > 1
      ? byzantineKinds.map((one) => ({ ...options, byzantineKinds: without(byzantineKinds, one) }))
      : []),
    ...(sources.length > 0 ? [{ ...options, sources: [] }] : []),
    ...(sources.length > 1 ? sources.map((one) => ({ ...options, sources: [one] })) : []),
    ...(kind === null ? ANSWER_KINDS.map((one) => ({ ...options, kind: one })) : []),
  ];
}

/** True if a run shows one of the failures that another one showed. */
export function showsSame(result: SeedResult, failed: SeedResult): boolean {
  const wanted = new Set(failed.violations.map(({ checker }) => checker));
  return result.violations.some(({ checker }) => wanted.has(checker));
}
