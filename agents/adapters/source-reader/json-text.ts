import { ReadingError } from "./failure.ts";

/** A number as the body writes it: no float loses a digit. */
class Numeral {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Json = null | boolean | string | Numeral | Json[] | { readonly [key: string]: Json };

const MAX_DEPTH = 128;
const MAX_VALUES = 200_000;

/**
 * EV11: the canonical text of a JSON body, or of the value that a pointer names: no white space, keys in the order of their code units,
 * numbers as the body writes them. A string that a pointer names is its characters alone.
 */
export function readJson(text: string, pointer: readonly string[] | null): string {
  const body = parsed(text);
  if (pointer === null) return canonical(body);
  const value = pointer.reduce(step, body);
  return typeof value === "string" ? value : canonical(value);
}

/**
 * EV16: the values of a JSON text, each in a line of its own behind its key: what changes between two answers of a server, such as a mark
 * or a time, then stands apart. Throws a ReadingError for JSON that is too deep, or has too many values, and for any other text.
 */
export function readJsonLines(text: string): readonly string[] {
  return leaves("", parsed(text));
}

function leaves(key: string, value: Json): readonly string[] {
  if (Array.isArray(value)) return value.flatMap((item) => leaves(key, item));
  if (typeof value === "object" && value !== null && !(value instanceof Numeral))
    return Object.entries(value).flatMap(([name, item]) => leaves(name, item));
  const text = typeof value === "string" ? value : canonical(value);
  return [key === "" ? text : `${key}: ${text}`];
}

function parsed(text: string): Json {
  requireBounded(text);
  try {
    // The third argument is newer than the types.
    const reviver = (_: string, value: unknown, context?: { readonly source?: string }): unknown =>
      typeof value === "number" ? new Numeral(context?.source ?? String(value)) : value;
    return JSON.parse(text, reviver) as Json;
  } catch {
    throw new ReadingError("undecodable", "the body is no JSON");
  }
}

/** Counts brackets and commas outside strings, before anything allocates or recurses. */
function requireBounded(text: string): void {
  let [depth, values, inString] = [0, 0, false];
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (character === '"') inString = !inString;
    else if (inString) at += character === "\\" ? 1 : 0;
    else if (character === "[" || character === "{") [depth, values] = [depth + 1, values + 1];
    else if (character === "]" || character === "}") depth -= 1;
    else if (character === ",") values += 1;
    if (depth > MAX_DEPTH) throw new ReadingError("too-large", `the JSON is nested deeper than ${MAX_DEPTH}`);
    if (values > MAX_VALUES) throw new ReadingError("too-large", `the JSON has more than ${MAX_VALUES} values`);
  }
}

function step(value: Json, token: string): Json {
  const isIndex = !Array.isArray(value) || /^(?:0|[1-9]\d*)$/.test(token);
  const isHolder = typeof value === "object" && value !== null && !(value instanceof Numeral);
  if (isHolder && isIndex && Object.hasOwn(value, token))
    return (value as { readonly [key: string]: Json })[token] as Json;
  throw new ReadingError(
    "no-such-value",
    `the JSON has nothing at ${JSON.stringify(token.slice(0, 80))} of the pointer`,
  );
}

function canonical(value: Json): string {
  if (value instanceof Numeral) return value.text;
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${canonical(item)}`).join(",")}}`;
}
