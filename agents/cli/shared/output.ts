import { TOO_MANY_MARKS } from "../../core/sources/text.ts";
import type { Receipt } from "../../ports/chain.ts";
import Table from "cli-table3";

/**
 * Writes JSON with bigints as decimal strings, since not every reader has numbers of that size. What `printable` escapes is escaped
 * here, too; JSON itself requires that only for the oldest control characters.
 */
export function toJson(value: unknown): string {
  const text = JSON.stringify(value, (_, item: unknown) => (typeof item === "bigint" ? String(item) : item));
  return escapedBy(unitsOf, text);
}

/** Escapes each UTF-16 unit. */
function unitsOf(character: string): string {
  return Array.from({ length: character.length }, (_, unit) => {
    return `\\u${character.charCodeAt(unit).toString(16).padStart(4, "0")}`;
  }).join("");
}

export type Row = readonly [name: string, value: string];

/** Prints names and values as a table; values from others go through `printable` first. */
export function rows(entries: readonly Row[]): string {
  return plainTable(entries.map((row) => [...row]));
}

export function grid(head: readonly string[], lines: readonly (readonly string[])[]): string {
  return plainTable([[...head], ...lines.map((line) => [...line])]);
}

/** Prints a table without frames or colours, so that it can be cut and grepped. */
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

/**
 * Controls, line separators, and characters that change the direction or have no shape, such as fillers: text of others must not steer
 * the terminal, nor hide anything in it.
 */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu;

/** Returns the text as one line in which every character is visible, and no pile of marks covers other lines. */
export function printable(text: string): string {
  return escapedBy((character) => `\\u${hexOf(character)}`, text.toWellFormed());
}

function escapedBy(escape: (character: string) => string, text: string): string {
  return text
    .replace(UNPRINTABLE, escape)
    .replace(TOO_MANY_MARKS, (marks, kept: string) => kept + Array.from(marks.slice(kept.length), escape).join(""));
}

/** Returns a character's code as in source text: in braces if it has more than four digits. */
function hexOf(character: string): string {
  const hex = (character.codePointAt(0) as number).toString(16).padStart(4, "0");
  return hex.length > 4 ? `{${hex}}` : hex;
}

/** Returns parts per million as a percentage. */
export function percent(ppm: number): string {
  return `${(ppm / 10_000).toFixed(2)} %`;
}

/** Returns Unix seconds as a UTC time. */
export function utc(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace(".000Z", "Z");
}

export function transactionRow({ transactionHash, gasUsed }: Receipt): Row {
  return ["transaction", `${transactionHash} (${gasUsed} gas)`];
}
