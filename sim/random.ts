/** Seeded numbers. Every random choice of a world comes from one of these. */
export interface Random {
  /** An integer in 0..bound-1. */
  below(bound: number): number;
  /** An integer in least..most, both included. */
  between(least: number, most: number): number;
  /** True with a probability in parts per million. */
  chance(ppm: number): boolean;
  pick<T>(items: readonly T[]): T;
  shuffled<T>(items: readonly T[]): readonly T[];
  bytes(length: number): Uint8Array;
  /** Returns a generator of its own for one purpose: what is drawn from one changes nothing that another draws. */
  fork(purpose: string): Random;
}

export function createRandom(seed: number, purpose = ""): Random {
  const origin = mix(seed, purpose);
  let state = origin;

  /** mulberry32: unsigned 32-bit numbers. */
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let value = state;
    value = Math.imul(value ^ (value >>> 15), value | 1);
    value ^= value + Math.imul(value ^ (value >>> 7), value | 61);
    return (value ^ (value >>> 14)) >>> 0;
  };
  const below = (bound: number): number => Math.floor((next() / 0x1_0000_0000) * bound);

  return {
    below,
    between: (least, most) => least + below(most - least + 1),
    chance: (ppm) => below(1_000_000) < ppm,
    pick: (items) => items[below(items.length)] as (typeof items)[number],
    shuffled(items) {
      const result = [...items];
      for (let last = result.length - 1; last > 0; last--) {
        const other = below(last + 1);
        [result[last], result[other]] = [
          result[other] as (typeof items)[number],
          result[last] as (typeof items)[number],
        ];
      }
      return result;
    },
    bytes: (length) => Uint8Array.from({ length }, () => below(256)),
    fork: (label) => createRandom(origin, label),
  };
}

/** FNV-1a over the purpose, starting from the seed. */
function mix(seed: number, purpose: string): number {
  let hash = (Math.imul(seed, 0x9e3779b1) ^ 0x811c9dc5) >>> 0;
  for (let index = 0; index < purpose.length; index++)
    hash = Math.imul(hash ^ purpose.charCodeAt(index), 0x01000193) >>> 0;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b) >>> 0;
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35) >>> 0;
  return (hash ^ (hash >>> 16)) >>> 0;
}
