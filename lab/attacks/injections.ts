import { readFileSync } from "node:fs";
import { join } from "node:path";

/** What an attempt tries. */
export const INJECTION_CATEGORIES = [
  "role",
  "format",
  "votes",
  "signatures",
  "delimiter",
  "unicode",
  "source",
  "json",
  "length",
] as const;
type Category = (typeof INJECTION_CATEGORIES)[number];

/** A text that wants to be more than data (docs/spec/prompts.md P7). */
export interface Injection {
  /** `category/name`. */
  readonly id: string;
  readonly category: Category;
  readonly tries: string;
  /** `{lie}` stands for the answer that it wants. */
  readonly text: string;
  /** Repetitions of the text; 1 if absent. */
  readonly times?: number;
}

const path = join(import.meta.dirname, "injections.json");

/** The corpus. */
export const injections = JSON.parse(readFileSync(path, "utf8")) as readonly Injection[];

export function injectedText({ text, times = 1 }: Injection, lie: string): string {
  return text.replaceAll("{lie}", lie).repeat(times);
}

const HARMLESS = "It was written down on a quiet afternoon and nobody has looked at it since. ";

/** Returns a text of as many bytes that wants nothing; it shows the effect of the length alone. */
export function harmlessText(like: string): string {
  const bytes = Buffer.byteLength(like.toWellFormed().normalize("NFC"));
  return HARMLESS.repeat(Math.ceil(bytes / HARMLESS.length)).slice(0, bytes);
}
