// Documents that a question names. A node of the asker hands them to the agents, as `conclave request --source` does.
import { openServingStore } from "../../agents/cli/shared/content-source.ts";
import { cidString } from "../../agents/core/encoding/cid.ts";
import { sha256 } from "../../agents/core/encoding/bytes.ts";
import { documentBlock } from "../../agents/core/sources/named.ts";
import type { ChainReader } from "../../agents/ports/chain.ts";
import type { DemoQuestion } from "./questions.ts";

/**
 * Returns the question as it is asked: its last lines name its sources, documents by their content (docs/spec/sources.md SG1).
 */
export function questionText({ question, documents = [], sources = [] }: DemoQuestion): string {
  const names = [...documentsOf({ documents }).map(({ cid }) => cid), ...sources];
  const lines = names.map((name) => `source: ${name}`);
  return [question, ...lines].join("\n");
}

/** Returns the question's documents with the names that they have in it. */
export function documentsOf({
  documents = [],
}: Pick<DemoQuestion, "documents">): readonly { readonly cid: string; readonly text: string }[] {
  return documents.map((text) => ({ cid: cidString(sha256(blockOf(text))), text }));
}

/** Serves the documents until it is closed. */
export async function handOut(
  documents: readonly string[],
  reader: ChainReader,
  signal: AbortSignal,
): Promise<{ readonly close: () => Promise<void> }> {
  if (documents.length === 0) return { close: () => Promise.resolve() };
  const store = await openServingStore(await reader.agents(signal), signal);
  for (const text of documents) await store.put(blockOf(text), signal);
  return store;
}

function blockOf(text: string): Uint8Array {
  const block = documentBlock(text);
  if (block === null) throw new Error(`Hand out a document: it is too long, or no text: ${text.slice(0, 40)}`);
  return block;
}
