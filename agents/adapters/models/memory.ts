import type { GgufHeader } from "./gguf.ts";

/** What the process has beside the file and the contexts: Node, the engine, and its work on one batch. */
const ENGINE_BYTES = 300 * 2 ** 20;

/** Bytes of memory that a model's process can come to need. */
export interface MemoryNeed {
  readonly file: number;
  readonly contexts: number;
  readonly all: number;
}

/** Returns the memory that a model needs; null if its file does not say how large its context is. */
export function memoryNeed(
  { contextBytesPerToken }: GgufHeader,
  file: number,
  sequences: number,
  contextSize: number,
): MemoryNeed | null {
  if (contextBytesPerToken === null) return null;
  const contexts = contextBytesPerToken * contextSize * sequences;
  return { file, contexts, all: file + contexts + ENGINE_BYTES };
}
