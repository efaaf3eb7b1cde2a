import { MAX_USUAL_CONTEXT, type GgufHeader } from "./gguf.ts";
import { usualThinking } from "./thinking-budget.ts";

/** What the process has beside the file and the contexts: Node, the engine, and its work on one batch. */
const ENGINE_BYTES = 400 * 2 ** 20;

/** The file as it is mapped, and its weights once more where the engine keeps them in the order that the processor reads fastest. */
const COPIES = 2;

/** Bytes of memory that a model's process can come to need. */
export interface MemoryNeed {
  /** Of all copies. */
  readonly file: number;
  readonly contexts: number;
  readonly all: number;
}

/** Returns the most tokens of context that a model gets if its config names none. */
export function usualContext(
  { contextLength, thinks, parameters }: GgufHeader,
  thinkingTokens = thinks ? usualThinking(parameters, false) : 0,
): number {
  const most = MAX_USUAL_CONTEXT + thinkingTokens;
  return Math.min(contextLength ?? most, most);
}

/** Returns the memory that a model needs at most, with a file of so many bytes; null if its file does not say how large its context is. */
export function memoryNeed(
  { contextBytesPerToken }: GgufHeader,
  file: number,
  sequences: number,
  contextSize: number,
): MemoryNeed | null {
  if (contextBytesPerToken === null) return null;
  const contexts = contextBytesPerToken * contextSize * sequences;
  return { file: COPIES * file, contexts, all: COPIES * file + contexts + ENGINE_BYTES };
}
