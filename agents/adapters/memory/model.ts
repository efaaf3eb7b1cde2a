import type { PromptSet } from "../../core/prompts/prompt.ts";
import type { Model, ModelRequest, ModelResponse } from "../../ports/model.ts";
import { mostTokens, setAside } from "../models/budget.ts";
import { aborted, closed, modelFailed, parseOutput } from "../models/output.ts";

type Fields = Readonly<Record<string, string>>;

/** Answers from the request alone. An error that is no ConclaveError counts as a crash of the model. */
export type Script = (request: ModelRequest, signal: AbortSignal) => Fields | Promise<Fields>;

export interface MemoryModelOptions {
  readonly descriptor?: string;
  /** "small" if absent. */
  readonly prompts?: PromptSet;
  /** Confidence in parts per million; absent if the model has none. */
  readonly confidence?: (request: ModelRequest, fields: Fields) => number | null;
}

/**
 * Creates a model from a function, for tests and the simulator. Its answers are checked against the schema like real
 * ones.
 */
export function createMemoryModel(script: Script, options: MemoryModelOptions = {}): Model {
  const { descriptor = "memory", prompts = "small", confidence = () => null } = options;
  const closing = new AbortController();

  const answer = async (
    request: ModelRequest,
    signal: AbortSignal,
    onToken?: (text: string) => void,
  ): Promise<ModelResponse> => {
    const settle = setAside(descriptor, request, mostTokens(request, 0));
    const text = JSON.stringify(await script(request, signal));
    const promptTokens = request.system.length + request.user.length;
    settle(promptTokens + text.length);
    if (signal.aborted) throw aborted(descriptor, signal);
    const output = parseOutput(text, request.schema);
    if ("reason" in output) throw modelFailed(descriptor, "unparsable", output.reason);
    onToken?.(text);
    const { fields } = output;
    return {
      fields,
      confidencePpm: confidence(request, fields),
      promptTokens,
      outputTokens: text.length,
      firstTokenMs: 0,
      durationMs: 0,
    };
  };

  return {
    descriptor,
    prompts,
    async ask(request, signal, onToken) {
      if (closing.signal.aborted) throw closed(descriptor);
      if (signal.aborted) throw aborted(descriptor, signal);
      const { promise, reject } = Promise.withResolvers<never>();
      const abort = (): void => reject(aborted(descriptor, signal));
      const close = (): void => reject(closed(descriptor));
      signal.addEventListener("abort", abort, { once: true });
      closing.signal.addEventListener("abort", close, { once: true });
      try {
        return await Promise.race([answer(request, signal, onToken), promise]);
      } finally {
        signal.removeEventListener("abort", abort);
        closing.signal.removeEventListener("abort", close);
      }
    },
    close: async () => closing.abort(),
  };
}
