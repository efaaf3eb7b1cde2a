// Assertions that node:assert lacks. Each says what it saw when it fails.
import assert, { AssertionError } from "node:assert/strict";
import { inspect, isDeepStrictEqual } from "node:util";

/** Asserts that a text contains a part, or that a collection has an element. */
export function assertIncludes(all: Collection | string | null | undefined, one: unknown, message?: string): void {
  if (!includes(all, one)) fail(all, one, "includes", message);
}

export function assertExcludes(all: Collection | string | null | undefined, one: unknown, message?: string): void {
  if (includes(all, one)) fail(all, one, "excludes", message);
}

/** Asserts that a collection has every one of these elements. */
export function assertIncludesAll(all: Collection | undefined, some: Collection, message?: string): void {
  for (const one of some) assertIncludes(all, one, message);
}

/** Asserts that two collections have the same elements, each as often, in any order. */
export function assertSameMembers(actual: Collection, expected: Collection, message?: string): void {
  const left = [...actual];
  for (const one of expected) {
    const at = left.findIndex((other) => isDeepStrictEqual(other, one));
    if (at < 0) fail(actual, expected, "has the members", message);
    left.splice(at, 1);
  }
  if (left.length > 0) fail(actual, expected, "has the members", message);
}

/** Asserts that the named fields have exactly these values; "a.b" names field b of field a. */
export function assertFields(actual: unknown, expected: object, message?: string): void {
  const names = Object.keys(expected);
  assert.ok(names.length > 0, "assertFields needs a field");
  const picked = Object.fromEntries(names.map((name) => [name, fieldAt(actual, name)]));
  assert.deepEqual(picked, expected, message);
}

export function assertAbove(actual: number | undefined, bound: number, message?: string): void {
  if (!(actual !== undefined && actual > bound)) fail(actual, bound, ">", message);
}

export function assertBelow(actual: number | undefined, bound: number, message?: string): void {
  if (!(actual !== undefined && actual < bound)) fail(actual, bound, "<", message);
}

export function assertAtLeast(actual: number | undefined, bound: number, message?: string): void {
  if (!(actual !== undefined && actual >= bound)) fail(actual, bound, ">=", message);
}

export function assertAtMost(actual: number | undefined, bound: number, message?: string): void {
  if (!(actual !== undefined && actual <= bound)) fail(actual, bound, "<=", message);
}

export function assertWithin(actual: number | undefined, least: number, most: number, message?: string): void {
  assertAtLeast(actual, least, message);
  assertAtMost(actual, most, message);
}

/** Asserts that two numbers differ by at most `distance`. */
export function assertClose(actual: number | undefined, expected: number, distance: number, message?: string): void {
  if (!(actual !== undefined && Math.abs(actual - expected) <= distance))
    fail(actual, expected, `is at most ${distance} from`, message);
}

type Collection = readonly unknown[] | ReadonlySet<unknown>;

function includes(all: Collection | string | null | undefined, one: unknown): boolean {
  if (all === undefined || all === null) return false;
  if (typeof all === "string") return typeof one === "string" && all.includes(one);
  return [...all].some((other) => isDeepStrictEqual(other, one));
}

function fieldAt(value: unknown, path: string): unknown {
  return path
    .split(".")
    .reduce<unknown>((at, name) => (at as Record<string, unknown> | null | undefined)?.[name], value);
}

function fail(actual: unknown, expected: unknown, operator: string, message?: string): never {
  const seen = `${inspect(actual)}\n${operator}\n${inspect(expected)}`;
  throw new AssertionError({
    message: `Not true${message === undefined ? "" : ` (${message})`}: ${seen}`,
    actual,
    expected,
    operator,
    stackStartFn: fail,
  });
}
