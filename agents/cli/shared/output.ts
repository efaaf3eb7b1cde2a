import type { Receipt } from "../../ports/chain.ts";
import Table from "cli-table3";

/**
 * Bigints as decimal strings: they do not fit JSON's numbers everywhere. What would steer a terminal stands as its escape, which JSON
 * itself asks for only of the oldest controls.
 */
export function toJson(value: unknown): string {
  const text = JSON.stringify(value, (_, item: unknown) => (typeof item === "bigint" ? String(item) : item));
  return text.replace(UNPRINTABLE, escaped);
}

/** By its UTF-16 units. */
function escaped(character: string): string {
  return Array.from({ length: character.length }, (_, unit) => {
    return `\\u${character.charCodeAt(unit).toString(16).padStart(4, "0")}`;
  }).join("");
}

export type Row = readonly [name: string, value: string];

/** Names and values; values that may come from others go through `printable` first. */
export function rows(entries: readonly Row[]): string {
  return plainTable(entries.map((row) => [...row]));
}

export function grid(head: readonly string[], lines: readonly (readonly string[])[]): string {
  return plainTable([[...head], ...lines.map((line) => [...line])]);
}

/** Without frames or colours, so that it can be cut and grepped. */
function plainTable(lines: readonly string[][]): string {
  const none = {
    mid: "",
    "left-mid": "",
    "mid-mid": "",
    "right-mid": "",
    top: "",
    "top-mid": "",
    "top-left": "",
    "top-right": "",
  };
  const chars = {
    ...none,
    bottom: "",
    "bottom-mid": "",
    "bottom-left": "",
    "bottom-right": "",
    left: "",
    right: "",
    middle: "  ",
  };
  const table = new Table({ chars, style: { "padding-left": 0, "padding-right": 0, head: [], border: [] } });
  table.push(...lines);
  return table.toString().replace(/ +$/gm, "");
}

/** Controls, line separators, and what is invisible or turns the direction: text of others must not steer the terminal. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** One line, every character visible. */
export function printable(text: string): string {
  return text.toWellFormed().replace(UNPRINTABLE, (character) => `\\u${hexOf(character)}`);
}

/** Of a character beyond four digits in braces, as in source text. */
function hexOf(character: string): string {
  const hex = (character.codePointAt(0) as number).toString(16).padStart(4, "0");
  return hex.length > 4 ? `{${hex}}` : hex;
}

/** Parts per million as a percentage. */
export function percent(ppm: number): string {
  return `${(ppm / 10_000).toFixed(2)} %`;
}

/** Unix seconds. */
export function utc(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace(".000Z", "Z");
}

export function transactionRow({ transactionHash, gasUsed }: Receipt): Row {
  return ["transaction", `${transactionHash} (${gasUsed} gas)`];
}
