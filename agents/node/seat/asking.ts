import { digestOf } from "../../core/encoding/codec.ts";
import { ConclaveError } from "../../core/errors.ts";
import { limits } from "../../core/limits.ts";
import { tidyOrigin } from "../../core/phases/origin.ts";
import { shortened, type Prompt } from "../../core/prompts/prompt.ts";
import type { Effect, Observation } from "../../core/protocol.ts";
import { composeText } from "../../core/request/text.ts";
import type { Ppm } from "../../core/types.ts";
import type { ModelRequest, ModelResponse } from "../../ports/model.ts";
import { timeLimit, logFailure, type EffectHost } from "./host.ts";

/** Asks the model, within a phase and the request's token budget; whatever happens becomes an observation. */
export async function ask(host: EffectHost, effect: Extract<Effect, { kind: "ask" }>): Promise<void> {
  const { context, ports } = host;
  const { signal, cancel } = timeLimit(host, context.timing.phaseMs);
  const seed = Number.parseInt(digestOf({ ask: effect.ask, secret: context.secret }).slice(2, 9), 16);
  const budget = ports.budget.open();
  let observation: Observation;
  try {
    const response = await answerTo(host, effect.prompt, { seed, budget }, signal);
    const fields = Object.fromEntries(Object.entries(response.fields).map(([name, text]) => [name, composeText(text)]));
    const confidence = response.confidencePpm as Ppm | null;
    const { origin } = response;
    observation = { kind: "answered", fields, confidence, ...(origin && { origin: tidyOrigin(origin) }) };
  } catch (error) {
    logFailure(host, error, "model call failed: abstaining");
    observation = { kind: "failed", reason: modelFailure(error) };
  } finally {
    cancel();
  }
  host.enqueue({ kind: "observed", ask: effect.ask, observation, tokens: budget.spent() });
}

/** P9: asks again with shorter texts of peers, if their length may be why there is no answer. */
async function answerTo(
  host: EffectHost,
  prompt: Prompt,
  call: Pick<ModelRequest, "seed" | "budget">,
  signal: AbortSignal,
): Promise<ModelResponse> {
  const { system, user, schema, confidenceOf } = prompt;
  const request = { system, user, schema, confidenceOf, maxTokens: limits.modelOutputTokens, ...call };
  try {
    return await host.ports.model.ask(request, signal);
  } catch (error) {
    const again = shortened(prompt, modelFailure(error));
    if (again === null) throw error;
    logFailure(host, error, "model call failed: asking again with peers' texts cut short");
    return await answerTo(host, again, call, signal);
  }
}

/** Names why a model call has no answer. */
function modelFailure(error: unknown): string {
  return error instanceof ConclaveError ? String(error.data["kind"] ?? error.code) : "crashed";
}
