import { Counter, Histogram, type Registry } from "prom-client";
import { ConclaveError } from "../../core/errors.ts";
import type { HostedModel, Model, ModelFailureKind, ModelResponse, TokenBudget } from "../../ports/model.ts";
import { seriesOf } from "./registry.ts";

const SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];
const TOKENS_PER_SECOND = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000];

/** Every value of the label `kind`, so that a series begins at 0 and not with its first failure. */
const kinds: Readonly<Record<ModelFailureKind | "unreachable" | "unloadable" | "bug", true>> = {
  timeout: true,
  overloaded: true,
  "rate-limit": true,
  "budget-spent": true,
  "prompt-too-long": true,
  "answer-too-large": true,
  truncated: true,
  "thinking-too-long": true,
  unparsable: true,
  refused: true,
  unsupported: true,
  crashed: true,
  unreachable: true,
  unloadable: true,
  bug: true,
};

/** The kind of a file that a restarted process does not load. */
const UNLOADABLE: ReadonlySet<string> = new Set([
  "MODEL_FILE_MISSING",
  "MODEL_FILE_BROKEN",
  "MODEL_DIGEST_WRONG",
  "MODEL_CONTEXT_TOO_SMALL",
]);

/** Returns the same model, and counts its queue, its process and its answers from now on. */
export function measuredModel(model: HostedModel, registry: Registry): Model {
  const { answered, failed } = modelSeries(model, registry);
  return {
    ...model,
    async ask(request, signal, onToken) {
      const budget = countingBudget(request.budget);
      try {
        const response = await model.ask({ ...request, budget }, signal, onToken);
        answered(response);
        return response;
      } catch (error) {
        failed(error, budget.spent());
        throw error;
      }
    },
  };
}

/** The same budget, and what was taken from it; tokens that are set aside count as spent (P8). */
function countingBudget(budget: TokenBudget | undefined): TokenBudget & { readonly spent: () => number } {
  let spent = 0;
  return {
    reserve(most) {
      const settle = budget === undefined ? () => {} : budget.reserve(most);
      if (settle === null) return null;
      spent += most;
      return (tokens) => {
        spent += tokens - most;
        settle(tokens);
      };
    },
    spent: () => spent,
  };
}

interface Recorder {
  readonly answered: (response: ModelResponse) => void;
  readonly failed: (error: unknown, tokens: number) => void;
}

function modelSeries(model: HostedModel, registry: Registry): Recorder {
  const registers = [registry];
  const histogram = (name: string, help: string, buckets: number[]): Histogram =>
    new Histogram({ name, help, buckets, registers });
  const { gauge, total } = seriesOf(registry);
  gauge("conclave_model_calls_running", "Model calls at work", () => model.state().running);
  gauge("conclave_model_calls_waiting", "Model calls that wait for a place", () => model.state().waiting);
  total(
    "conclave_model_process_restarts_total",
    "Times that the process of the embedded model was started again",
    () => model.state().restarts,
  );
  gauge(
    "conclave_model_process_memory_bytes",
    "Resident memory of the embedded model's process when it last answered",
    () => model.state().memoryBytes,
  );
  const prompt = new Counter({
    name: "conclave_model_prompt_tokens_total",
    help: "Tokens of the prompts that were answered",
    registers,
  });
  const output = new Counter({ name: "conclave_model_output_tokens_total", help: "Tokens of the answers", registers });
  const rate = histogram(
    "conclave_model_output_tokens_per_second",
    "Tokens of one answer by the time that it took, the wait for a place not counted",
    TOKENS_PER_SECOND,
  );
  const firstToken = histogram(
    "conclave_model_time_to_first_token_seconds",
    "From a call to the first token of its answer, the wait for a place included",
    SECONDS,
  );
  const duration = histogram(
    "conclave_model_answer_duration_seconds",
    "Time of the work on one answer, the wait for a place not counted",
    SECONDS,
  );
  const failures = new Counter({
    name: "conclave_model_failures_total",
    help: "Calls without a usable answer, by kind",
    labelNames: ["kind"],
    registers,
  });
  for (const kind of Object.keys(kinds)) failures.inc({ kind }, 0);
  const lost = new Counter({
    name: "conclave_model_failed_tokens_total",
    help: "Tokens of prompts, thoughts and answers of calls that failed, as the budget counts them",
    registers,
  });
  return {
    answered({ promptTokens, outputTokens, firstTokenMs, durationMs }) {
      prompt.inc(promptTokens);
      output.inc(outputTokens);
      firstToken.observe(firstTokenMs / 1000);
      duration.observe(durationMs / 1000);
      if (durationMs > 0) rate.observe((outputTokens * 1000) / durationMs);
    },
    failed(error, tokens) {
      failures.inc({ kind: kindOf(error) });
      lost.inc(tokens);
    },
  };
}

function kindOf(error: unknown): string {
  if (!(error instanceof ConclaveError)) return "bug";
  if (error.code === "MODEL_UNREACHABLE") return "unreachable";
  const kind = String(error.data["kind"]);
  if (error.code === "MODEL_FAILED" && kind in kinds) return kind;
  return UNLOADABLE.has(error.code) ? "unloadable" : "bug";
}
