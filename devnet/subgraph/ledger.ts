import type { Entities, Entity } from "./entities.ts";

/** Counts comparisons and keeps the differences. */
export interface Ledger {
  equal(what: string, actual: unknown, expected: unknown): void;
}

export interface Result {
  /** Number of compared values. */
  readonly comparisons: number;
  /** Differences in words. */
  readonly differences: readonly string[];
}

export function openLedger(): { readonly ledger: Ledger; readonly result: () => Result } {
  const differences: string[] = [];
  let comparisons = 0;
  const ledger: Ledger = {
    equal(what, actual, expected) {
      comparisons++;
      const [left, right] = [text(actual), text(expected)];
      if (left !== right) differences.push(`${what} is ${left}, on the chain ${right}`);
    },
  };
  return { ledger, result: () => ({ comparisons, differences }) };
}

export function rows(entities: Entities, type: string): readonly Entity[] {
  return [...(entities[type]?.values() ?? [])];
}

export function compare(
  ledger: Ledger,
  name: string,
  entity: Entity,
  expected: Readonly<Record<string, unknown>>,
): void {
  for (const [field, value] of Object.entries(expected)) ledger.equal(`${name}.${field}`, entity[field], value);
}

export function lower(hex: string): string {
  return hex.toLowerCase();
}

/** Graph-node returns large numbers as text. */
function text(value: unknown): string {
  return Array.isArray(value) ? `[${value.map(text).join(",")}]` : String(value);
}
