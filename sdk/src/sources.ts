import { ConclaveError as CoreError } from "../../agents/core/errors.ts";
import { refuseSources, namingSources } from "../../agents/core/sources/named.ts";
import { parseSource } from "../../agents/core/sources/source.ts";

/** Returns the question with a line for each source. Throws TERMS_INVALID for a source that no agent could read. */
export function questionWith(text: string, sources: readonly string[]): string {
  for (const source of sources) {
    const parsed = parseSource(source);
    if ("refused" in parsed) throw invalid(source, parsed.refused);
  }
  const question = namingSources(text, sources);
  const refused = refuseSources(question);
  if (refused !== null) throw invalid(sources.join(", "), refused);
  return question;
}

function invalid(value: string, way: string): CoreError {
  return new CoreError("TERMS_INVALID", `Ask the question: sources = ${value}: ${way}`, { field: "sources", value });
}
