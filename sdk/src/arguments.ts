import { isAddress } from "viem";
import { ConclaveError } from "./errors.ts";

/** Throws USAGE, which names the field, unless the value is of this kind. JavaScript and forms give what they have. */
export type Kind = (field: string, value: unknown) => void;

/** Arguments or fields in order, by their names. */
export type Kinds = Readonly<Record<string, Kind>>;

/** Throws USAGE, which names the first argument that is not of its kind. */
export function requireArguments(kinds: Kinds, values: readonly unknown[]): void {
  for (const [index, [field, kind]] of Object.entries(kinds).entries()) kind(field, values[index]);
}

/** Shows any value in a message, and runs no code of the value. */
export function shown(value: unknown): string {
  switch (typeof value) {
    case "string":
      return JSON.stringify(cut(value));
    case "bigint":
      return cut(`${value}n`);
    case "number":
    case "boolean":
    case "undefined":
      return String(value);
    case "object":
      if (value === null) return "null";
      return Array.isArray(value) ? "a list" : "an object";
    default:
      return `a ${typeof value}`;
  }
}

/** @param way follows "give" */
export function kindOf(way: string, isRight: (value: unknown) => boolean): Kind {
  return (field, value) => {
    if (!isRight(value)) throw wrong(field, value, way);
  };
}

export function wholeNumber(least: number, most: number): Kind {
  const isRight = (value: unknown): boolean => Number.isSafeInteger(value) && between(least, value as number, most);
  return kindOf(`a whole number from ${least} to ${most}`, isRight);
}

export function units(bits: number): Kind {
  const isRight = (value: unknown): boolean => typeof value === "bigint" && BigInt.asUintN(bits, value) === value;
  return kindOf(`a bigint of at most ${bits} bits that is not negative, such as 1n`, isRight);
}

export function oneOf(values: readonly unknown[]): Kind {
  return kindOf(`one of ${values.join(", ")}`, (value) => values.includes(value));
}

export function optional(kind: Kind): Kind {
  return (field, value) => {
    if (value !== undefined) kind(field, value);
  };
}

export function orNull(kind: Kind): Kind {
  return (field, value) => {
    if (value !== null) kind(field, value);
  };
}

export function listOf(kind: Kind): Kind {
  return (field, value) => {
    if (!Array.isArray(value)) throw wrong(field, value, "a list");
    for (const one of value as readonly unknown[]) kind(field, one);
  };
}

/** @param way what to give in place of what is no object */
export function record(kinds: Kinds, way = "an object"): Kind {
  return (field, value) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) throw wrong(field, value, way);
    for (const [name, kind] of Object.entries(kinds)) kind(name, (value as Record<string, unknown>)[name]);
  };
}

/** An object with these methods. */
export function having(way: string, ...methods: readonly string[]): Kind {
  return kindOf(way, (value) => {
    if ((typeof value !== "object" && typeof value !== "function") || value === null) return false;
    return methods.every((name) => typeof (value as Record<string, unknown>)[name] === "function");
  });
}

export const TEXT: Kind = kindOf("a text", (value) => typeof value === "string");
export const FUNCTION: Kind = kindOf("a function", (value) => typeof value === "function");
export const ADDRESS: Kind = kindOf(
  "an address, 0x and 40 hexadecimal digits, in lower case or with the right checksum",
  (value) => typeof value === "string" && isAddress(value),
);
export const HEX: Kind = kindOf(
  "bytes as a text: 0x and hexadecimal digits",
  (value) => typeof value === "string" && /^0x(?:[0-9a-fA-F]{2})*$/.test(value),
);
export const BYTES: Kind = kindOf("a Uint8Array", (value) => value instanceof Uint8Array);
export const LINK: Kind = kindOf(
  "a URL, such as https://example.org",
  (value) => typeof value === "string" && URL.canParse(value),
);
export const ABORT_SIGNAL: Kind = having("an AbortSignal", "addEventListener", "throwIfAborted");
export const SIGNAL: Kind = optional(ABORT_SIGNAL);

const LONGEST = 80;

function cut(text: string): string {
  return text.length > LONGEST ? `${text.slice(0, LONGEST).toWellFormed()}…` : text;
}

function between(least: number, value: number, most: number): boolean {
  return least <= value && value <= most;
}

function wrong(field: string, value: unknown, way: string): ConclaveError {
  const said = shown(value);
  return new ConclaveError("USAGE", `Check the arguments: ${field} = ${said}: give ${way}`, { field, value: said });
}
