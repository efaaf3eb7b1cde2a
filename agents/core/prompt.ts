/** A JSON object of strings, properties in order: what every engine can be held to. */
export interface OutputSchema {
  readonly properties: readonly {
    readonly name: string;
    /** Closed list of allowed values, else free text. */
    readonly enum?: readonly string[];
    /** Characters. */
    readonly maxLength?: number;
  }[];
}

export interface Prompt {
  /** Instructions; never contains text of askers or peers. */
  readonly system: string;
  /** Rendered fields: the only place for askers' and peers' text. */
  readonly user: string;
  readonly schema: OutputSchema;
  /** The property whose token probability is the confidence. */
  readonly confidenceOf: string;
}

/** What an answer was made by. Recorded beside what the seat says of it; nothing decides by it. */
export interface Origin {
  /** Descriptor with the model's digest, e.g. "conclave-small@0.4 sha256:ab12...". */
  readonly model: string;
  /** e.g. "node-llama-cpp@3.21.1 llama.cpp@b9999 cpu". */
  readonly engine: string;
  /** e.g. "temperature=0". */
  readonly sampling: string;
  readonly seed: number;
}

/**
 * What JSON leaves as it is, but a reader or tokenizer may take for a line end, for nothing (letters of Unicode's tags among them), or for
 * another direction. A fixed list: Unicode tables differ between engine versions.
 */
const DECEPTIVE =
  /\u034f|[\ufe00-\ufe0f]|[\u007f-\u009f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu;

/**
 * Renders data for a model, one `name: value` per line. Untrusted text is a JSON string literal, so it can neither
 * break out of its line nor forge a field (docs/spec/prompts.md P1).
 */
export function renderFields(
  fields: readonly (readonly [name: string, value: string, trust: "trusted" | "untrusted"])[],
): string {
  return fields.map(([name, value, trust]) => `${name}: ${trust === "trusted" ? value : quote(value)}`).join("\n");
}

function quote(text: string): string {
  const escape = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(text).replace(DECEPTIVE, (character) => character.split("").map(escape).join(""));
}
