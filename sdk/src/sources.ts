import { ConclaveError as CoreError } from "../../agents/core/errors.ts";
import { refuseSources, namingSources } from "../../agents/core/sources/named.ts";
import { parseSource } from "../../agents/core/sources/source.ts";

/** Returns the question with a line for each source. Throws TERMS_INVALID for a source that no agent could read. */
export function questionWith(text: string, sources: readonly string[]): string {
  const problem = sourcesProblem(text, sources);
  if (problem !== null) throw invalid(problem.value, problem.way);
  return namingSources(text, sources);
}

/** Returns which sources no agent could read, and what to do; null if there are none. */
export function sourcesProblem(
  text: string,
  sources: readonly string[],
): { readonly value: string; readonly way: string } | null {
  for (const source of sources) {
    const parsed = parseSource(source);
    if ("refused" in parsed) return { value: source, way: parsed.refused };
  }
  const way = refuseSources(namingSources(text, sources));
  return way === null ? null : { value: sources.join(", "), way };
}

function invalid(value: string, way: string): CoreError {
  return new CoreError("TERMS_INVALID", `Ask the question: sources = ${value}: ${way}`, { field: "sources", value });
}
