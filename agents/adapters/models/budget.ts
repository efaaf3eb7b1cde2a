import type { ModelRequest } from "../../ports/model.ts";
import { modelFailed } from "./output.ts";

/** What a chat template may add to a prompt. */
const TEMPLATE_TOKENS = 256;

/** What an attempt at an answer can cost at most: no token of a text is shorter than a byte. */
export function mostTokens({ system, user, maxTokens }: Pick<ModelRequest, "system" | "user" | "maxTokens">): number {
  return Buffer.byteLength(system) + Buffer.byteLength(user) + TEMPLATE_TOKENS + maxTokens;
}

/** More bytes per token are in no usual text. */
const MOST_BYTES_PER_TOKEN = 8;

/** P8: what an answered attempt did cost at least, whatever a server counts. */
export function leastTokens({ system, user }: Pick<ModelRequest, "system" | "user">, answer: string): number {
  const bytes = [system, user, answer].reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  return Math.ceil(bytes / MOST_BYTES_PER_TOKEN);
}

/**
 * P8: sets aside what an attempt can cost at most; the function that it returns says what it did cost, null where nobody knows: then it
 * counts as the most. Throws MODEL_FAILED (budget-spent).
 */
export function setAside(
  descriptor: string,
  { budget }: Pick<ModelRequest, "budget">,
  most: number,
): (tokens: number | null) => void {
  if (budget === undefined) return () => {};
  const settle = budget.reserve(most);
  if (settle === null)
    throw modelFailed(
      descriptor,
      "budget-spent",
      `an answer could cost ${most} tokens, and fewer are left for this request; raise model.tokensPerRequest in the config`,
    );
  return (tokens) => settle(tokens ?? most);
}
