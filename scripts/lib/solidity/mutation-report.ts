// What a mutation run found: the score, and the mutants that no test noticed, with what is known about them.
import type { Sources } from "./ast.ts";
import { diff } from "./mutants.ts";
import type { Mutant } from "./mutants.ts";
import type { Result } from "./mutation-run.ts";

/** An entry of test/contracts/mutants.json: which mutants survive, and why that is no gap in the tests. */
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

export interface Report {
  readonly tried: number;
  readonly killed: number;
  readonly survived: number;
  readonly invalid: number;
  readonly timeouts: number;
  /** Percent killed of all that compile, the explained ones included. */
  readonly score: number;
  readonly survivors: readonly Survivor[];
}

export function reportOf(
  sources: Sources,
  mutants: readonly Mutant[],
  results: readonly Result[],
  explanations: readonly Explanation[],
): Report {
  const byId = new Map(mutants.map((mutant) => [mutant.id, mutant]));
  const own = results.filter(({ id }) => byId.has(id));
  const count = (verdict: Result["verdict"]): number => own.filter((result) => result.verdict === verdict).length;
  const [killed, survived, invalid] = [count("killed"), count("survived"), count("invalid")];
  const survivors = own
    .filter(({ verdict }) => verdict === "survived")
    .map(({ id }) => describe(sources, byId.get(id)!, explanations));
  return {
    tried: own.length,
    killed,
    survived,
    invalid,
    timeouts: own.filter(({ by }) => by === "timeout").length,
    score: killed + survived === 0 ? 100 : (100 * killed) / (killed + survived),
    survivors,
  };
}

function describe(sources: Sources, mutant: Mutant, explanations: readonly Explanation[]): Survivor {
  const lines = diff(sources[mutant.file]!, mutant).split("\n");
  const known = explanations.find(
    (entry) => entry.file === mutant.file && entry.diff[0] === lines[0] && entry.diff[1] === lines[1],
  );
  const at = `${mutant.file}:${mutant.line}`;
  return { id: mutant.id, at, operator: mutant.operator, diff: lines, why: known?.why };
}

/** Explanations of mutants that no longer exist: the contract has changed since. */
export function staleExplanations(
  sources: Sources,
  mutants: readonly Mutant[],
  explanations: readonly Explanation[],
): readonly Explanation[] {
  const known = new Set(mutants.map((mutant) => `${mutant.file}\n${diff(sources[mutant.file]!, mutant)}`));
  return explanations.filter((entry) => !known.has([entry.file, ...entry.diff].join("\n")));
}
