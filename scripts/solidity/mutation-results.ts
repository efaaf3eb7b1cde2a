// Results of mutation runs, kept in cache/mutate from one run to the next.
import { createHash } from "node:crypto";
import { appendFileSync, existsSync, globSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

import type { Sources } from "./compiler.ts";
import type { Mutant } from "./mutants.ts";
import type { Result } from "./mutation-run.ts";

const root = join(import.meta.dirname, "../..");
const resultsFile = join(root, "cache/mutate/results.jsonl");

interface Line extends Result {
  readonly key: string;
  /** Hash of all contracts and tests when the mutant was tried. */
  readonly state: string;
}

/** Hash of all contracts and of the tests that judge them. */
export function stateOfTests(): string {
  return hashOf(
    globSync("{test/contracts,test/support/contracts,devnet/contracts,contracts}/**/*.{sol,ts}", { cwd: root }),
  );
}

/** Results of earlier runs that still count. An open result counts if this run has a time limit, too. */
export function readResults(
  sources: Sources,
  mutants: readonly Mutant[],
  state: string,
  hasLimit: boolean,
): Map<number, Result> {
  mkdirSync(dirname(resultsFile), { recursive: true });
  if (!existsSync(resultsFile)) return new Map();
  const lines = readFileSync(resultsFile, "utf8").trimEnd().split("\n");
  const counts = (line: Line): boolean =>
    line.verdict === "killed" || (line.state === state && (line.verdict !== "open" || hasLimit));
  const byKey = new Map(lines.map((line) => [(JSON.parse(line) as Line).key, JSON.parse(line) as Line]));
  const known = new Map<number, Result>();
  for (const mutant of mutants) {
    const line = byKey.get(keyOf(sources, mutant));
    if (line !== undefined && counts(line)) known.set(mutant.id, { ...line, id: mutant.id });
  }
  return known;
}

export function keepResult(sources: Sources, mutant: Mutant, result: Result, state: string): void {
  appendFileSync(resultsFile, `${JSON.stringify({ ...result, key: keyOf(sources, mutant), state })}\n`);
}

/** Identifies a mutant by its change and the text of its file, whatever the numbers of other mutants. */
function keyOf(sources: Sources, { file, start, end, replacement }: Mutant): string {
  const parts = [file, sources[file]!, start, end, replacement];
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 16);
}

function hashOf(files: readonly string[]): string {
  const hash = createHash("sha256");
  for (const file of files.toSorted()) hash.update(file).update(readFileSync(join(root, file)));
  return hash.digest("hex").slice(0, 16);
}
