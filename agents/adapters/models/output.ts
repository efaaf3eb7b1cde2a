import { ConclaveError } from "../../core/errors.ts";
import type { ModelFailureKind, OutputSchema } from "../../ports/model.ts";
import { parseJson } from "../json.ts";

export function modelFailed(
  descriptor: string,
  kind: ModelFailureKind,
  reason: string,
  cause?: unknown,
): ConclaveError {
  return new ConclaveError(
    "MODEL_FAILED",
    `Ask model ${descriptor} failed (${kind}): ${reason}`,
    { kind, model: descriptor },
    cause,
  );
}

/** Error of a call whose signal aborted: for the protocol the answer did not come in time. */
export function aborted(descriptor: string, signal: AbortSignal): ConclaveError {
  return modelFailed(descriptor, "timeout", "no answer came within its time", signal.reason);
}

/** Error of calls that `close` ends or that come after it. */
export function closed(descriptor: string): ConclaveError {
  return modelFailed(descriptor, "crashed", "the model is closed");
}

/**
 * Shows a text once although it is made several times: each try begins it again, and only what goes beyond the shown
 * text is shown.
 */
export function resumable(onText: (text: string) => void): () => (text: string) => void {
  let shown = "";
  return () => {
    let made = "";
    return (text) => {
      made += text;
      if (made.length <= shown.length || !made.startsWith(shown)) return;
      onText(made.slice(shown.length));
      shown = made;
    };
  };
}

/** How many times as long as asked for a field may be: servers that know no lengths go over it. Who uses a field cuts it, or says in words that it is no answer. */
const MOST_OVER = 4;

/**
 * Returns the fields of the model's JSON, or the reason why it does not match the schema. Engines promise a match; this
 * checks it.
 */
export function parseOutput(
  text: string,
  schema: OutputSchema,
): { readonly fields: Readonly<Record<string, string>> } | { readonly reason: string } {
  const value = parseJson(text);
  if (value === undefined) return { reason: "the output is not JSON" };
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return { reason: "the output is not a JSON object" };
  const given = new Map(Object.entries(value));
  const fields: [string, string][] = [];
  for (const { name, enum: allowed, maxLength } of schema.properties) {
    const field: unknown = given.get(name);
    if (typeof field !== "string")
      return { reason: `the field ${name} is ${field === undefined ? "missing" : "not a string"}` };
    if (!field.isWellFormed()) return { reason: `the field ${name} is not valid Unicode` };
    if (allowed !== undefined && !allowed.includes(field))
      return { reason: `the field ${name} is not one of the allowed values` };
    if (maxLength !== undefined && characters(field) > maxLength * MOST_OVER)
      return { reason: `the field ${name} has more than ${maxLength * MOST_OVER} characters` };
    fields.push([name, field]);
  }
  if (given.size > fields.length) return { reason: "the output has fields that nobody asked for" };
  return { fields: Object.fromEntries(fields) };
}

/**
 * Returns the range of a property's value in compact or spaced JSON text: from after the opening quote to after the
 * closing one. The closing quote belongs to the value, since it decides between "1" and "12".
 */
export function valueRange(
  text: string,
  schema: OutputSchema,
  name: string,
): { readonly start: number; readonly end: number } | null {
  const literal = /\s*[{,]\s*("(?:[^"\\]|\\.)*")\s*:\s*"((?:[^"\\]|\\.)*")/suy;
  for (let i = 0; i < schema.properties.length; i++) {
    const match = literal.exec(text);
    if (match === null) return null;
    const [, key, value] = match as unknown as [string, string, string];
    if (key === JSON.stringify(name)) return { start: literal.lastIndex - value.length, end: literal.lastIndex };
  }
  return null;
}

/** A token of the output, with the characters that it covers and its probability under the grammar at temperature 1. */
export interface TokenSpan {
  readonly start: number;
  readonly end: number;
  readonly probability: number;
}

/**
 * CF2: returns the probability of a property's value, in parts per million: the product over the tokens that touch it,
 * for prose their geometric mean; null without tokens.
 */
export function confidenceOf(
  spans: readonly TokenSpan[],
  text: string,
  schema: OutputSchema,
  name: string,
): number | null {
  const range = valueRange(text, schema, name);
  if (range === null) return null;
  const touching = spans.filter(({ start, end }) => start < range.end && end > range.start);
  if (touching.length === 0) return null;
  const isProse = schema.properties.some((property) => property.name === name && property.isProse === true);
  // Logarithms: a product of many probabilities would become 0.
  const sum = touching.reduce((all, { probability }) => all + Math.log(probability), 0);
  const confidence = Math.exp(isProse ? sum / touching.length : sum);
  return Number.isNaN(confidence) ? null : Math.round(Math.min(1, confidence) * 1_000_000);
}

/** Counts Unicode characters as JSON Schema does. */
function characters(text: string): number {
  return Array.from(text).length;
}
