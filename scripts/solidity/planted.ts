// The faults of test/contracts/planted.json, which the stateful invariants alone must notice.
import type { Sources } from "./compiler.ts";
import type { Mutant } from "./mutants.ts";
import type { Result, Verdict } from "./mutation-run.ts";

export interface Fault {
  readonly name: string;
  readonly file: string;
  /** A text that the file has once: whole statements if it ends with a semicolon, otherwise an expression. */
  readonly find: string;
  readonly replace: string;
}

export interface PlantedReport {
  readonly tried: number;
  readonly killed: number;
  readonly faults: readonly {
    readonly name: string;
    readonly file: string;
    readonly verdict: Verdict;
    readonly by: string;
  }[];
}

/** Returns the faults as mutants, in their order. Throws if a contract does not have the text of one exactly once. */
export function mutantsOf(sources: Sources, faults: readonly Fault[]): readonly Mutant[] {
  return faults.map(({ name, file, find, replace }, index) => {
    const source = sources[file] ?? "";
    const start = source.indexOf(find);
    if (start < 0 || source.includes(find, start + 1))
      throw new Error(`Cannot plant "${name}": ${file} must have this text exactly once, see planted.json: ${find}`);
    return {
      id: index + 1,
      file,
      line: source.slice(0, start).split("\n").length,
      operator: "planted",
      start,
      end: start + find.length,
      original: find,
      replacement: replace,
      kind: find.endsWith(";") ? "statement" : "expression",
      cast: "",
      body: false,
    };
  });
}

/** A fault that only used up time or memory is open: no invariant has said what is wrong. */
export function plantedReport(faults: readonly Fault[], results: readonly Result[]): PlantedReport {
  const rows = results.map(({ id, verdict, by }) => {
    const { name, file } = faults[id - 1]!;
    return {
      name,
      file,
      verdict: by.includes(" invariant_") || verdict !== "killed" ? verdict : ("open" as const),
      by,
    };
  });
  return { tried: rows.length, killed: rows.filter(({ verdict }) => verdict === "killed").length, faults: rows };
}
