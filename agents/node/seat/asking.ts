import { digestOf } from "../../core/encoding/codec.ts";
import { ConclaveError } from "../../core/errors.ts";
import { limits } from "../../core/limits.ts";
import { tidyOrigin } from "../../core/phases/origin.ts";
import { promptsName, shortened, type Wording } from "../../core/prompts/prompt.ts";
import { withVerdict } from "../../core/prompts/task-prompt.ts";
import type { Effect, Observation } from "../../core/protocol.ts";
import { canonicalAnswer, unreadAnswer } from "../../core/request/answer.ts";
import { composeText } from "../../core/request/text.ts";
import { grounded } from "../../core/sources/named.ts";
import type { Ppm } from "../../core/types.ts";
import type { ModelRequest, ModelResponse } from "../../ports/model.ts";
import { logFailure, tagOf, timeLimit, type EffectHost } from "./host.ts";

/** Asks the model, within a phase and the request's token budget; whatever happens becomes an observation. */
export async function ask(host: EffectHost, effect: Extract<Effect, { kind: "ask" }>): Promise<void> {
  const { context, ports } = host;
  const { signal, cancel } = timeLimit(host, context.timing.phaseMs);
  const seed = Number.parseInt(digestOf({ ask: effect.ask, secret: context.secret }).slice(2, 9), 16);
  const budget = ports.budget.open();
  let observation: Observation;
  try {
    const { prompts } = ports.model;
    const wording = effect.prompt[prompts];
    const response = await answerTo(host, wording, { seed, budget }, signal);
    const said = Object.fromEntries(Object.entries(response.fields).map(([name, text]) => [name, composeText(text)]));
    const fields = withVerdict(wording, grounded(context.attempt).request, said);
    reportUnread(host, fields);
    const confidence = response.confidencePpm as Ppm | null;
    const origin = response.origin && tidyOrigin({ ...response.origin, prompts: promptsName(prompts) });
    observation = { kind: "answered", fields, confidence, ...(origin && { origin }) };
  } catch (error) {
    logFailure(host, error, "model call failed: abstaining");
    observation = { kind: "failed", reason: modelFailure(error) };
  } finally {
    cancel();
  }
  host.enqueue({ kind: "observed", ask: effect.ask, observation, tokens: budget.spent() });
}

/** Says why an answer will not count. */
function reportUnread({ context, ports, events }: EffectHost, fields: Readonly<Record<string, string>>): void {
  const { request } = grounded(context.attempt);
  const answer = fields["answer"];
  if (answer === undefined || canonicalAnswer(request, answer) !== null) return;
  events.onUnread();
  ports.log.warn({ ...tagOf(context), why: unreadAnswer(request, answer) }, "the model gave no answer: abstaining");
}

/** P9, SG7: asks again with shorter texts of peers and sources, as long as their length may be why there is no answer. */
async function answerTo(
  host: EffectHost,
  wording: Wording,
  call: Pick<ModelRequest, "seed" | "budget">,
  signal: AbortSignal,
): Promise<ModelResponse> {
  const { system, user, schema, confidenceOf, isSampled } = wording;
  const maxTokens = limits.modelOutputTokens;
  const request = { system, user, schema, confidenceOf, ...(isSampled && { isSampled }), maxTokens, ...call };
  try {
    return await host.ports.model.ask(request, signal);
  } catch (error) {
    const again = shortened(wording, modelFailure(error));
    if (again === null) throw error;
    logFailure(host, error, "model call failed: asking again with shorter texts of peers and sources");
    return await answerTo(host, again, call, signal);
  }
}

/** Names why a model call has no answer. */
function modelFailure(error: unknown): string {
  return error instanceof ConclaveError ? String(error.data["kind"] ?? error.code) : "crashed";
}
