import { sha256, utf8 } from "../../core/encoding/bytes.ts";
import { readDocument } from "../../core/sources/named.ts";
import { readingOf, type Reading } from "../../core/sources/snapshot.ts";
import type { Source } from "../../core/sources/source.ts";
import type { ContentStore } from "../../ports/content-store.ts";
import type { SourceReader } from "../../ports/source-reader.ts";

/** A source reader without a network, clock or thread, for simulations and tests: it reads the documents of a store, and nothing else. */
export function createMemorySourceReader(store: Pick<ContentStore, "get">): SourceReader {
  const textOf = async (source: Source, signal: AbortSignal): Promise<string | null> => {
    if (source.kind !== "document") return null;
    const block = await store.get(source.digest, signal).catch(() => null);
    return block && (readDocument(source.digest, block)?.text ?? null);
  };
  return {
    read: async (source, signal) => {
      const text = await textOf(source, signal);
      signal.throwIfAborted();
      return memoryReading(source.text, text);
    },
  };
}

/** The reading of a source with this text; null: it is not there. */
export function memoryReading(source: string, text: string | null): Reading {
  if (text === null) return { kind: "failed", reason: "not-found", detail: "it is not there" };
  return readingOf({
    source,
    finalUrl: source,
    status: null,
    mediaType: "text/plain",
    raw: sha256(utf8(text)),
    title: "",
    text,
    extractor: { name: "memory", version: "1" },
  });
}
