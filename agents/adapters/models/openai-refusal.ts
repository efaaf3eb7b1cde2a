import type { ModelRequest } from "../../ports/model.ts";

/** The part of a server's refusal from which conclusions may be drawn. */
export interface EngineRefusal {
  /** Words from fields that never repeat our text: OpenAI's `param`, `type` and `code`, FastAPI's `loc`. */
  readonly structure: readonly string[];
  /**
   * Short texts, which may repeat a part of the prompt. Longer ones repeat it whole, often with all other fields of the
   * request.
   */
  readonly texts: readonly string[];
}

const STRUCTURE = new Set(["param", "type", "code", "loc"]);
const MAX_TEXT = 400;
const MAX_STRUCTURE = 100;
const MAX_STRINGS = 100;
const MAX_DEPTH = 8;

export function readRefusal(body: string): EngineRefusal {
  const structure: string[] = [];
  const texts: string[] = [];
  const walk = (value: unknown, isStructure: boolean, depth: number): void => {
    if (structure.length + texts.length >= MAX_STRINGS || depth > MAX_DEPTH) return;
    if (typeof value === "string" && isStructure && value.length <= MAX_STRUCTURE) structure.push(value);
    else if (typeof value === "string" && value.length <= MAX_TEXT) texts.push(value);
    if (typeof value !== "object" || value === null) return;
    for (const [key, part] of Object.entries(value))
      walk(part, STRUCTURE.has(key) || (isStructure && Array.isArray(value)), depth + 1);
  };
  try {
    walk(JSON.parse(body), false, 0);
  } catch {
    walk(body, false, 0);
  }
  return { structure, texts };
}

/** Tells if the refusal has the words. `perhaps`: the prompt has them as well, so they may be its echo. */
export function names(
  { structure, texts }: EngineRefusal,
  words: RegExp,
  { system, user }: Pick<ModelRequest, "system" | "user">,
): "surely" | "perhaps" | "no" {
  if (structure.some((text) => words.test(text))) return "surely";
  if (!texts.some((text) => words.test(text))) return "no";
  return words.test(system) || words.test(user) ? "perhaps" : "surely";
}
