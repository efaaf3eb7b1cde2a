import type { ModelRequest } from "../../ports/model.ts";
import { modelFailed } from "./output.ts";

/** Tokens that a chat template may add to a prompt. */
const TEMPLATE_TOKENS = 256;

/** Returns the most tokens that a try can cost: no token of a text is shorter than a byte. */
export function mostTokens(
  { system, user, maxTokens }: Pick<ModelRequest, "system" | "user" | "maxTokens">,
  thinkingTokens: number,
): number {
  return Buffer.byteLength(system) + Buffer.byteLength(user) + TEMPLATE_TOKENS + thinkingTokens + maxTokens;
}

/** Most bytes per token of usual text. */
const MOST_BYTES_PER_TOKEN = 8;

/** P8: returns the least tokens that an answered try is counted with, whatever the server says; never more than it could cost. */
export function leastTokens(
  { system, user }: Pick<ModelRequest, "system" | "user">,
  answer: string,
  thoughtLength: number,
  most: number,
): number {
  const bytes = [system, user, answer].reduce((sum, text) => sum + Buffer.byteLength(text), thoughtLength);
  return Math.min(Math.ceil(bytes / MOST_BYTES_PER_TOKEN), most);
}

/**
 * P8: sets aside the most tokens that a try can cost. The returned function takes the real cost, or null if nobody
 * knows it, which counts as the most. Throws MODEL_FAILED (budget-spent).
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
