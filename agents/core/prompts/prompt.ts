import { utf8 } from "../encoding/bytes.ts";

/** P2: a JSON object of strings with its properties in order. Every engine can enforce such a schema. */
export interface OutputSchema {
  readonly properties: readonly OutputProperty[];
}

export interface OutputProperty {
  readonly name: string;
  /** Closed list of allowed values, else text. */
  readonly enum?: readonly string[];
  /** Form of the text, else free text. The engine holds the model to it; the rules of the answer check what comes. */
  readonly form?: TextForm;
  /** Whole texts that may stand in place of one of the form. */
  readonly words?: readonly string[];
  /** Characters. */
  readonly maxLength?: number;
  /** True for text whose length says nothing about how sure the model is of it (docs/spec/confidence.md CF2). */
  readonly isProse?: true;
}

/** P2: forms of texts that an engine can enforce. Every text of a form is an answer of its kind (EQ4). */
export type TextForm =
  | { readonly kind: "number"; readonly decimals: number }
  /** Letters from A on, ascending, joined by commas. */
  | { readonly kind: "letters"; readonly options: number };

/**
 * P5: the sets of wordings. `small` is what the repository's small models were trained on, to the byte; `general` is for the models
 * that people run. A model says which one it wants.
 */
export const PROMPT_SETS = ["small", "general"] as const;
export type PromptSet = (typeof PROMPT_SETS)[number];

/** P5: the version of each set. Raised with every change of its wording or fields; the protocols rise with it. */
export const PROMPT_VERSIONS: Readonly<Record<PromptSet, number>> = { small: 2, general: 1 };

/** The set and its version, as transcripts and calibration tables name them. */
export function promptsName(set: PromptSet): string {
  return `${set}@${PROMPT_VERSIONS[set]}`;
}

/** One question to a model, in the words of each set. */
export type Prompt = Readonly<Record<PromptSet, Wording>>;

export interface Wording {
  /** Instructions; never contains text of askers or peers. */
  readonly system: string;
  /** Rendered fields: the only place for askers' and peers' text. */
  readonly user: string;
  /** P9, SG7: shorter forms of `user`, each shorter than the one before; absent if there is none. */
  readonly briefs?: readonly string[];
  readonly schema: OutputSchema;
  /** The property whose token probability is the confidence. */
  readonly confidenceOf: string;
  /** P10: the answer under judgement, if the model derives its own and code compares the two; absent if the model gives the verdict. */
  readonly judged?: string;
  /** CL2: whether answers to other seeds must differ as the model is unsure, whatever temperature its config has. */
  readonly isSampled?: true;
}

/** The prompt with each of its wordings changed. */
export function reworded(prompt: Prompt, change: (wording: Wording, set: PromptSet) => Wording): Prompt {
  return { small: change(prompt.small, "small"), general: change(prompt.general, "general") };
}

/** The prompt as one to which each answer is a sample (CL2). */
export function sampled(prompt: Prompt): Prompt {
  return reworded(prompt, (wording) => ({ ...wording, isSampled: true }));
}

/** What made an answer. It is recorded beside the answer, and nobody else's is judged by it. */
export interface Origin {
  /** Descriptor with the model's digest, e.g. "conclave-small@0.4 sha256:ab12...". */
  readonly model: string;
  /** e.g. "node-llama-cpp@3.21.1 llama.cpp@b9999 cpu". */
  readonly engine: string;
  /** e.g. "temperature=0.7 top_k=40". */
  readonly sampling: string;
  /** P5: the set of prompts and its version, e.g. "general@1". */
  readonly prompts: string;
  /** Null if the engine took no seed. */
  readonly seed: number | null;
}

/**
 * What JSON leaves as it is, but a reader or tokenizer may take for a line end, for a space, for nothing (letters of Unicode's tags among
 * them), or for another direction. A fixed list: Unicode tables differ between engine versions.
 */
const DECEPTIVE =
  /\u034f|[\u007f-\u00a0\u00ad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u1680\u17b4\u17b5]|[\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ufeff\uffa0\ufff0-\ufffc]|[\ufe00-\ufe0f]|[\u{110bd}\u{110cd}\u{13430}-\u{1343f}\u{1bca0}-\u{1bca3}\u{1d159}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu;

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

/** Number of bytes that a text takes up in a prompt, without its quotes. */
export function renderedBytes(text: string): number {
  return utf8(quote(text)).length - 2;
}

/** Marks the place where a text was cut. */
const CUT = "...";
/** The least limit that leaves room for the mark. */
const LEAST_MARKED_BYTES = 16;

/** P9: the longest beginning, of whole characters, that takes up at most `maxBytes` in a prompt. */
export function cutText(text: string, maxBytes: number): string {
  if (renderedBytes(text) <= maxBytes) return text;
  const mark = maxBytes < LEAST_MARKED_BYTES ? "" : CUT;
  let bytes = mark.length;
  let cut = "";
  for (const character of text) {
    bytes += renderedBytes(character);
    if (bytes > maxBytes) break;
    cut += character;
  }
  return cut + mark;
}

/** Failures that long texts of peers and sources can cause: the prompt fills the context, which costs nothing but where a server cuts it and answers, or leaves no room for the answer. */
const TOO_LONG = "prompt-too-long";
const CUT_OFF = "truncated";

/** P9, SG7: the wording with these shorter forms, less those that change nothing. */
export function withBriefs({ briefs: _, ...wording }: Wording, briefs: readonly string[]): Wording {
  const others = [...new Set(briefs)].filter((brief) => brief !== wording.user);
  return others.length === 0 ? wording : { ...wording, briefs: others };
}

/** P9, SG7: the shorter wording to ask after a call that failed this way; null without one. */
export function shortened(wording: Wording, failure: string): Wording | null {
  const [user, ...briefs] = wording.briefs ?? [];
  if (user === undefined || (failure !== TOO_LONG && failure !== CUT_OFF)) return null;
  // A model that goes round in a loop is cut off whatever it is asked, so that is tried once.
  return withBriefs({ ...wording, user }, failure === TOO_LONG ? briefs : []);
}
