// The result of a mutation run: the score, and the mutants that no test noticed, with what is known about them.
import type { Sources } from "./compiler.ts";
import { diff } from "./mutants.ts";
import type { Mutant } from "./mutants.ts";
import type { Result } from "./mutation-run.ts";

/** An entry of test/contracts/mutants.json: a mutant that survives, and why that is no gap in the tests. */
export interface Explanation {
  readonly file: string;
  /** As diff() prints it: the line as it is, and as the mutant has it. */
  readonly diff: readonly [string, string];
  readonly why: string;
}

interface Survivor {
  readonly id: number;
  readonly at: string;
  readonly operator: string;
  readonly diff: readonly string[];
  readonly why: string | undefined;
}

interface Score {
  readonly tried: number;
  readonly killed: number;
  readonly survived: number;
  readonly open: number;
  readonly invalid: number;
  /** Percent killed of all mutants that compile, the explained ones included. */
  readonly score: number;
}

export interface Report extends Score {
  readonly files: readonly (Score & { readonly file: string })[];
  /** Mutants that survived or stayed open. */
  readonly survivors: readonly Survivor[];
}

export function reportOf(
  sources: Sources,
  mutants: readonly Mutant[],
  results: readonly Result[],
  explanations: readonly Explanation[],
): Report {
  const byId = new Map(mutants.map((mutant) => [mutant.id, mutant]));
  const own = results.filter(({ id }) => byId.has(id)).toSorted((one, other) => one.id - other.id);
  const files = Map.groupBy(own, ({ id }) => byId.get(id)!.file);
  const survivors = own
    .filter(({ verdict }) => verdict === "survived" || verdict === "open")
    .map(({ id }) => describe(sources, byId.get(id)!, explanations));
  return { ...scoreOf(own), files: [...files].map(([file, part]) => ({ file, ...scoreOf(part) })), survivors };
}

function scoreOf(results: readonly Result[]): Score {
  const count = (verdict: Result["verdict"]): number => results.filter((result) => result.verdict === verdict).length;
  const [killed, invalid] = [count("killed"), count("invalid")];
  const valid = results.length - invalid;
  const score = valid === 0 ? 100 : (100 * killed) / valid;
  return { tried: results.length, killed, survived: count("survived"), open: count("open"), invalid, score };
}

function describe(sources: Sources, mutant: Mutant, explanations: readonly Explanation[]): Survivor {
  const { id, file, line, operator } = mutant;
  const why = explanationOf(sources, mutant, explanations);
  return { id, at: `${file}:${line}`, operator, diff: diff(sources[file]!, mutant).split("\n"), why };
}

/** Returns why no test notices the mutant, if somebody explained it. */
export function explanationOf(
  sources: Sources,
  mutant: Mutant,
  explanations: readonly Explanation[],
): string | undefined {
  const own = explanations.filter(({ file }) => file === mutant.file);
  if (own.length === 0) return undefined;
  const change = diff(sources[mutant.file]!, mutant);
  return own.find((entry) => entry.diff.join("\n") === change)?.why;
}

/** Returns explanations of mutants that no longer exist because the contract has changed. */
export function staleExplanations(
  sources: Sources,
  mutants: readonly Mutant[],
  explanations: readonly Explanation[],
): readonly Explanation[] {
  const known = new Set(mutants.map((mutant) => `${mutant.file}\n${diff(sources[mutant.file]!, mutant)}`));
  return explanations.filter((entry) => !known.has([entry.file, ...entry.diff].join("\n")));
}
