import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { describe, it } from "node:test";
import { assertAtLeast } from "../support/assertions.ts";

const root = join(import.meta.dirname, "../..");

/** Files by path, each with those that it imports. */
type Imports = ReadonlyMap<string, readonly string[]>;

/** Reads the imports of a Solidity source: relative ones as paths from the root; those of packages are left out. */
function importsOf(file: string, source: string): readonly string[] {
  return [...source.matchAll(/^import\s+(?:[^"';]*\sfrom\s+)?["'](\.[^"']+)["']/gm)].map(([, path]) =>
    posix.join(posix.dirname(file), path as string),
  );
}

/** Circles, each as the path that closes it: a -> b -> a. Empty if the imports go in no circle. */
function circlesIn(imports: Imports): readonly string[] {
  const circles = new Map<string, string>();
  const done = new Set<string>();
  const walk = (file: string, path: readonly string[]): void => {
    const at = path.indexOf(file);
    if (at >= 0) {
      const circle = path.slice(at);
      circles.set(circle.toSorted().join(" "), [...circle, file].join(" -> "));
      return;
    }
    if (done.has(file)) return;
    for (const other of imports.get(file) ?? []) walk(other, [...path, file]);
    done.add(file);
  };
  for (const file of imports.keys()) walk(file, []);
  return [...circles.values()].toSorted();
}

// TypeScript and the subgraph: import/no-cycle of the linter.
describe("the imports of the contracts", () => {
  it("go in no circle", () => {
    const files = globSync("contracts/**/*.sol", { cwd: root }).map((file) => file.replaceAll("\\", "/"));
    const imports = new Map(files.map((file) => [file, importsOf(file, readFileSync(join(root, file), "utf8"))]));
    assertAtLeast([...imports.values()].flat().length, 100);
    // A path that is read wrongly would hide a circle.
    assert.deepEqual(
      [...imports.values()].flat().filter((file) => !imports.has(file)),
      [],
    );
    assert.deepEqual(circlesIn(imports), []);
  });

  it("would show a circle of two and of three files, and take no diamond for one", () => {
    const sourceOf = (other: string): string => `pragma solidity 0.8.30;\nimport {\n  A,\n  B\n} from "${other}";\n`;
    assert.deepEqual(importsOf("contracts/a/A.sol", sourceOf("../B.sol")), ["contracts/B.sol"]);
    assert.deepEqual(importsOf("contracts/A.sol", 'import "./b/B.sol";'), ["contracts/b/B.sol"]);
    assert.deepEqual(importsOf("contracts/A.sol", 'import {C} from "@openzeppelin/C.sol";'), []);
    const pairs = (...all: readonly [string, ...string[]][]): Imports => new Map(all.map(([a, ...b]) => [a, b]));
    assert.deepEqual(circlesIn(pairs(["a", "b"], ["b", "a"])), ["a -> b -> a"]);
    assert.deepEqual(circlesIn(pairs(["a", "b"], ["b", "c"], ["c", "a"])), ["a -> b -> c -> a"]);
    assert.deepEqual(circlesIn(pairs(["a", "b", "c"], ["b", "d"], ["c", "d"], ["d"])), []);
  });
});
