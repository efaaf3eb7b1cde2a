import { compareHex, keccak256, utf8 } from "../encoding/bytes.ts";
import { limits } from "../limits.ts";
import type { Digest, Hex, SeatIndex, Terms } from "../types.ts";

/** Two answers agree iff their outcomes are equal; numbers within tolerance are brought together by `groupAnswers`. */
export interface CanonicalAnswer {
  readonly text: string;
  /** What the chain stores: boolean 0/1, choice index, number int256, text keccak256, policies a bitmap (bit i = policy i). */
  readonly outcome: Digest;
}

/** An answer by its outcome alone. */
type Named = Pick<CanonicalAnswer, "outcome">;

export interface SeatAnswer {
  readonly seat: SeatIndex;
  readonly answer: CanonicalAnswer;
}

/** A class of agreeing answers. */
export interface AnswerGroup {
  readonly representative: CanonicalAnswer;
  /** Ascending. */
  readonly seats: readonly SeatIndex[];
}

/** A to Z. */
const LETTERS = 26;
const YES = /^(?:yes|y|true)$/i;
const NO = /^(?:no|n|false)$/i;
const CHOICE = /^([A-Z])[).]?$/i;
/** One policy or more, between commas or spaces; every step consumes a character of its own, so matching is linear. */
const POLICIES = /^[A-Z][).]?(?:(?: ?, ?| )[A-Z][).]?)*$/i;
const NUMBER = /^([+-]?)([0-9]+)(?:\.([0-9]+))?$/;
const NUMBER_BOUND = 1n << 127n;
const ASCII_SPACE = /[\t\n\v\f\r ]+/g;
/** Controls (C0, DEL, C1), line separators and bidirectional overrides: they make two answers look alike. A fixed list, no Unicode tables. */
// eslint-disable-next-line no-control-regex
const FORBIDDEN = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/;

/** The canonical form of an untrusted answer; null when it is none of the question's kind, or too long. */
export function canonicalAnswer(terms: Terms, text: string): CanonicalAnswer | null {
  // Every UTF-16 unit is at least one byte: bounds the work below.
  if (text.length > limits.answerBytes) return null;
  const trimmed = collapseSpace(text);
  switch (terms.kind) {
    case "boolean":
      return canonicalBoolean(trimmed);
    case "choice":
      return canonicalChoice(trimmed, terms.options);
    case "number":
      return canonicalNumber(trimmed, terms.decimals);
    case "text":
      return canonicalText(trimmed);
    case "policies":
      return canonicalPolicies(trimmed, terms.options);
  }
}

/** The indices of the policies in an outcome of that kind, ascending; A is 0. */
export function policiesOf(outcome: Digest): readonly number[] {
  const bits = BigInt(outcome);
  return Array.from({ length: LETTERS }, (_, index) => index).filter((index) => ((bits >> BigInt(index)) & 1n) === 1n);
}

/**
 * Brings what a model wrote into the form its author signs: well-formed UTF-16 in normal form C. It runs only where
 * an answer enters, never in a replay, because Unicode tables differ between engine versions; in the core, texts
 * are equal iff they are equal byte for byte after `canonicalAnswer`.
 */
export function composeText(text: string): string {
  return text.toWellFormed().normalize("NFC");
}

/**
 * EQ0. Agreeing answers, one class each; the result does not depend on the input's order. Numbers: the span of one tolerance that
 * most seats fall into is a class (of equals the lowest), then the same with the rest; a few outliers cannot shift it.
 */
export function groupAnswers(terms: Terms, answers: readonly SeatAnswer[]): readonly AnswerGroup[] {
  let rest = answers.toSorted((a, b) => compareOutcomes(terms, a.answer, b.answer) || a.seat - b.seat);
  const groups: AnswerGroup[] = [];
  while (rest.length > 0) {
    const spans = rest.map((first) => rest.filter((entry) => reaches(terms, first.answer, entry.answer)));
    const members = spans.reduce((best, span) => (span.length > best.length ? span : best));
    groups.push({
      // Members are in ascending order, so this is the lower median.
      representative: (members[Math.floor((members.length - 1) / 2)] as SeatAnswer).answer,
      seats: members.map(({ seat }) => seat).toSorted((a, b) => a - b),
    });
    rest = rest.filter((entry) => !members.includes(entry));
  }
  return groups.toSorted((a, b) => compareOutcomes(terms, a.representative, b.representative));
}

/** Whether two answers agree: equal, or numbers at most one tolerance apart. */
export function isSameAnswer(terms: Terms, a: Named, b: Named): boolean {
  return reaches(terms, a, b) || reaches(terms, b, a);
}

/** The answers a JSON schema should allow, or null when they cannot be listed. */
export function answerSchemaEnum(terms: Terms): readonly string[] | null {
  switch (terms.kind) {
    case "boolean":
      return ["yes", "no"];
    case "choice":
      return Array.from({ length: terms.options }, (_, index) => letter(index));
    case "number":
    case "text":
    case "policies":
      return null;
  }
}

/** Whether a text shows what it is: no controls, line separators or bidirectional overrides. */
export function isReadable(text: string): boolean {
  return text.isWellFormed() && !FORBIDDEN.test(text);
}

/** The longest readable prefix of whole characters that fits; what is not readable becomes a space. */
export function clipText(text: string, maxBytes: number): string {
  let clipped = "";
  let bytes = 0;
  for (const character of text.toWellFormed()) {
    const readable = FORBIDDEN.test(character) ? " " : character;
    bytes += utf8(readable).length;
    if (bytes > maxBytes) break;
    clipped += readable;
  }
  return clipped;
}

function canonicalBoolean(text: string): CanonicalAnswer | null {
  if (YES.test(text)) return { text: "yes", outcome: int256(1n) };
  if (NO.test(text)) return { text: "no", outcome: int256(0n) };
  return null;
}

function canonicalChoice(text: string, options: number): CanonicalAnswer | null {
  const match = CHOICE.exec(text)?.[1];
  if (match === undefined) return null;
  const index = match.toUpperCase().charCodeAt(0) - 65;
  return index < options ? { text: letter(index), outcome: int256(BigInt(index)) } : null;
}

function canonicalNumber(text: string, decimals: number): CanonicalAnswer | null {
  const match = NUMBER.exec(text);
  if (match === null) return null;
  const [, sign = "", whole = "", fraction = ""] = match;
  if (/[^0]/.test(fraction.slice(decimals))) return null;
  const magnitude = BigInt(whole + fraction.slice(0, decimals).padEnd(decimals, "0"));
  if (magnitude >= NUMBER_BOUND) return null;
  const scaled = sign === "-" ? -magnitude : magnitude;
  return { text: decimalText(scaled, decimals), outcome: int256(scaled) };
}

function canonicalText(text: string): CanonicalAnswer | null {
  if (text === "" || !isReadable(text)) return null;
  const bytes = utf8(text);
  return bytes.length > limits.answerBytes ? null : { text, outcome: keccak256(bytes) };
}

/** A set: written in any order, canonical in that of the alphabet. A policy named twice or out of range makes it none. */
function canonicalPolicies(text: string, options: number): CanonicalAnswer | null {
  if (!POLICIES.test(text)) return null;
  const indices = [...text.toUpperCase().matchAll(/[A-Z]/g)].map(([found]) => found.charCodeAt(0) - 65);
  if (new Set(indices).size !== indices.length || indices.some((index) => index >= options)) return null;
  return {
    text: indices
      .toSorted((a, b) => a - b)
      .map(letter)
      .join(","),
    outcome: int256(indices.reduce((bits, index) => bits | (1n << BigInt(index)), 0n)),
  };
}

/** No leading zeros, no trailing zeros after the point, no point without decimals. */
function decimalText(scaled: bigint, decimals: number): string {
  const digits = (scaled < 0n ? -scaled : scaled).toString().padStart(decimals + 1, "0");
  const point = digits.length - decimals;
  const fraction = digits.slice(point).replace(/0+$/, "");
  return `${scaled < 0n ? "-" : ""}${digits.slice(0, point)}${fraction === "" ? "" : `.${fraction}`}`;
}

function collapseSpace(text: string): string {
  return text.replace(ASCII_SPACE, " ").replace(/^ | $/g, "");
}

function letter(index: number): string {
  return String.fromCharCode(65 + index);
}

/** From `first` upwards within one tolerance. */
function reaches(terms: Terms, first: Named, other: Named): boolean {
  if (terms.kind !== "number") return first.outcome === other.outcome;
  const distance = signed(other.outcome) - signed(first.outcome);
  return distance >= 0n && distance <= terms.tolerance;
}

/** Numbers by value, all others by the bytes of the outcome. */
function compareOutcomes(terms: Terms, a: CanonicalAnswer, b: CanonicalAnswer): number {
  if (terms.kind !== "number") return compareHex(a.outcome, b.outcome);
  const difference = signed(a.outcome) - signed(b.outcome);
  return difference === 0n ? 0 : difference < 0n ? -1 : 1;
}

function int256(value: bigint): Digest {
  return `0x${BigInt.asUintN(256, value).toString(16).padStart(64, "0")}` as Digest;
}

function signed(outcome: Hex): bigint {
  return BigInt.asIntN(256, BigInt(outcome));
}
