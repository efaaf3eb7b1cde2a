import { keccak256, utf8 } from "../encoding/bytes.ts";
import { limits } from "../limits.ts";
import { ONE_PPM, type AnswerKind, type Digest, type Ppm, type Request, type Terms } from "../types.ts";
import type { TextForm } from "../prompts/prompt.ts";
import { readNumber } from "./number.ts";
import { isReadable } from "./text.ts";

/** Two answers agree iff their outcomes are equal; numbers within tolerance are brought together by `groupAnswers`. */
export interface CanonicalAnswer {
  readonly text: string;
  /**
   * What the chain stores: boolean 0/1, choice index, number int256, text keccak256, policies a bitmap (bit i = policy i). A non-answer
   * has a value of its own (EQ6).
   */
  readonly outcome: Digest;
}

/** What was asked, as far as the form of its answers depends on it. */
export type Asked = Pick<Request, "terms" | "question" | "admitsNonAnswers">;

/** A solved question. */
interface Example {
  readonly question: string;
  readonly proof: string;
  readonly answer: string;
}

/** Terms that only some kinds use; they are 0 for the others. */
export type KindTerm = "options" | "decimals" | "tolerance";

/** Answers of one kind, for simulations and tests. */
interface Samples {
  /** The kind's own terms, under which the answers below are valid or not. */
  readonly terms: Partial<Pick<Terms, KindTerm>>;
  /** Answers with at least two outcomes. `between` draws an integer from a range, which includes both bounds. */
  valid(between: (least: number, most: number) => number): readonly string[];
  readonly invalid: readonly string[];
}

/** All that the system knows of one kind of answer. */
export interface KindRules {
  readonly uses: readonly KindTerm[];
  /** Whether a contract can tell if two answers agree. Only then can a decision be appealed against. */
  readonly appealable: boolean;
  /** How outcomes are ordered: as int256 or by their bytes. Only values have distances, which a tolerance bounds. */
  readonly order: "value" | "bytes";
  /** Characters that a model may write as an answer, unless `listed` names them all. */
  readonly maxLength: number;
  /** The canonical form of a text without outer and repeated spaces; null if the text is no answer of this kind. */
  canonical(text: string, asked: Asked): CanonicalAnswer | null;
  /** All answers there can be; null when they are too many to list. */
  listed(terms: Terms): readonly string[] | null;
  /** The form that a model's answer has, if it has one. Absent where the answers are listed, and for free text. */
  form?(terms: Terms): TextForm;
  /** The kind and its terms in words for people. */
  label(terms: Terms): string;
  /** What an answer is, in words that follow "is no". */
  noun(terms: Terms): string;
  /** How an answer must be written, in words for models. */
  words(terms: Terms): string;
  /** A question of this kind with its answer, as an example of the form. */
  example(terms: Terms): Example;
  /** An easy question of this kind, to try a model with. */
  readonly trial: string;
  /** Whether the contract takes the outcome of a decided request, as contracts/libraries/DecisionLib.sol. */
  fits(outcome: bigint, terms: Terms, answer: string): boolean;
  /** PY2: how far an outcome agrees with a decided one. Absent where answers agree or do not, and nothing lies between. */
  readonly agreement?: (own: Digest, decided: Digest) => Ppm;
  readonly samples: Samples;
}

/** A to Z. */
const LETTERS = 26;
const YES = /^(?:yes|y|true)$/i;
const NO = /^(?:no|n|false)$/i;
const CHOICE = /^([A-Z])[).]?$/i;
/** One policy or more, between commas or spaces; every step consumes a character of its own, so matching is linear. */
const POLICIES = /^[A-Z][).]?(?:(?: ?, ?| )[A-Z][).]?)*$/i;
const NUMBER_BOUND = 1n << 127n;

/** The one record of answer kinds: code of every layer reads a kind's rules here. */
export const KIND_RULES: Readonly<Record<AnswerKind, KindRules>> = {
  boolean: {
    uses: [],
    appealable: true,
    order: "bytes",
    maxLength: limits.shortAnswerBytes,
    canonical: (text) => canonicalBoolean(text),
    listed: () => ["yes", "no"],
    label: () => "boolean",
    noun: () => "yes or no",
    words: () => "one word: yes or no",
    example: () => ({ question: "Is 12 more than 10?", proof: "12 - 10 = 2, and 2 is more than 0", answer: "yes" }),
    trial: "Is Paris the capital of France?",
    fits: (outcome) => outcome <= 1n,
    samples: { terms: {}, valid: () => ["yes", "no"], invalid: ["maybe", "yes and no"] },
  },
  choice: {
    uses: ["options"],
    appealable: true,
    order: "bytes",
    maxLength: limits.shortAnswerBytes,
    canonical: (text, { terms }) => canonicalChoice(text, terms.options),
    listed: ({ options }) => Array.from({ length: options }, (_, index) => letter(index)),
    label: ({ options }) => `choice of ${options}`,
    noun: ({ options }) => `letter from A to ${letter(options - 1)}`,
    words: ({ options }) => `one letter: ${lettersUpTo(options)}`,
    example: () => ({ question: "Which is larger? A) 3 B) 9", proof: "9 - 3 = 6, so 9 is larger: B", answer: "B" }),
    trial: "Which of these is a fruit? (A) chair (B) apple (C) stone",
    fits: (outcome, { options }) => outcome < BigInt(options),
    samples: { terms: { options: 4 }, valid: () => ["A", "B", "C", "D"], invalid: ["E", "A B"] },
  },
  number: {
    uses: ["decimals", "tolerance"],
    appealable: true,
    order: "value",
    maxLength: limits.shortAnswerBytes,
    canonical: (text, asked) => canonicalNumber(text, asked),
    listed: () => null,
    form: ({ decimals }) => ({ kind: "number", decimals }),
    label: ({ decimals, tolerance }) => `number, ${decimals} decimals, tolerance ${tolerance} units`,
    noun: ({ decimals }) => (decimals === 0 ? "whole number" : `number with at most ${decimals} decimals`),
    words: ({ decimals }) =>
      `${decimals === 0 ? "a whole number" : `a number with at most ${decimals} ${decimals === 1 ? "decimal" : "decimals"} after a point`}, digits only: no unit, no thousands separator, no words`,
    example: ({ decimals }) =>
      decimals === 0
        ? { question: "What do 3 books of 400 cost?", proof: "3 x 400 = 1200", answer: "1200" }
        : { question: "What do 3 books of 400.5 cost?", proof: "3 x 400.5 = 1201.5", answer: "1201.5" },
    trial: "What is 2 + 2?",
    fits: () => true,
    samples: {
      terms: { decimals: 2 },
      valid: (between) => {
        const base = between(-50, 5_000);
        return [base, base + 1, base + 10, -base - 7].map(String);
      },
      invalid: ["seven", "0.125"],
    },
  },
  text: {
    uses: [],
    appealable: false,
    order: "bytes",
    maxLength: limits.answerBytes / 2,
    canonical: (text) => canonicalText(text),
    listed: () => null,
    label: () => "text",
    noun: () => "readable text of the allowed length",
    words: () => "the answer itself in as few words as it needs, without an explanation",
    // Measured: small models copy an example's text as their answer.
    example: () => ({ question: "another question", proof: "...", answer: "..." }),
    trial: "What is the capital of Germany? Answer with one word.",
    fits: (outcome, _, answer) => outcome === BigInt(keccak256(utf8(answer))),
    samples: {
      terms: {},
      valid: () => [
        "the treaty was signed in Lisbon",
        "the treaty was signed in Vienna",
        "nothing was signed",
        "no treaty",
      ],
      invalid: ["", "\u202eno"],
    },
  },
  policies: {
    uses: ["options"],
    appealable: true,
    order: "bytes",
    maxLength: limits.shortAnswerBytes,
    canonical: (text, { terms }) => canonicalPolicies(text, terms.options),
    listed: () => null,
    form: ({ options }) => ({ kind: "letters", options }),
    label: ({ options }) => `policies, any of ${options}`,
    noun: ({ options }) => `set of letters from A to ${letter(options - 1)}`,
    words: ({ options }) =>
      `the letters of all policies that hold, in order, with a comma between them, at least one: of ${lettersUpTo(options)}`,
    example: () => ({
      question: "Which hold for 6? A) it is even B) it is more than 5",
      proof: "6 = 2 x 3, so A holds; 6 > 5, so B holds",
      answer: "A,B",
    }),
    trial: "Which of these are colours? (A) red (B) seven (C) blue",
    fits: (outcome, { options }) => outcome !== 0n && outcome < 1n << BigInt(options),
    agreement: (own, decided) => overlap(policiesOf(own), policiesOf(decided)),
    samples: { terms: { options: 4 }, valid: () => ["A", "A,B", "C,D", "B,C,D"], invalid: ["A,A", "E", "none"] },
  },
};

export function usesTerm(kind: AnswerKind, term: KindTerm): boolean {
  return KIND_RULES[kind].uses.includes(term);
}

/** The indices of the policies in an outcome of that kind, ascending; A is 0. */
export function policiesOf(outcome: Digest): readonly number[] {
  const bits = BigInt(outcome);
  return Array.from({ length: LETTERS }, (_, index) => index).filter((index) => ((bits >> BigInt(index)) & 1n) === 1n);
}

/** |both| / |either|, rounded down. */
function overlap(own: readonly number[], decided: readonly number[]): Ppm {
  const both = own.filter((policy) => decided.includes(policy)).length;
  return Math.floor((ONE_PPM * both) / (own.length + decided.length - both)) as Ppm;
}

/** A for 0. */
export function letter(index: number): string {
  return String.fromCharCode(65 + index);
}

/** e.g. "A or B", "A, B, C or D". */
function lettersUpTo(options: number): string {
  const all = Array.from({ length: options }, (_, index) => letter(index));
  return [all.slice(0, -1).join(", "), ...all.slice(-1)].join(" or ");
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

function canonicalNumber(text: string, { terms: { decimals }, question }: Asked): CanonicalAnswer | null {
  const read = readNumber(text, decimals, question);
  if (read === null || /[^0]/.test(read.fraction.slice(decimals))) return null;
  const magnitude = BigInt(read.whole + read.fraction.slice(0, decimals).padEnd(decimals, "0"));
  if (magnitude >= NUMBER_BOUND) return null;
  const scaled = read.isNegative ? -magnitude : magnitude;
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

function int256(value: bigint): Digest {
  return `0x${BigInt.asUintN(256, value).toString(16).padStart(64, "0")}` as Digest;
}
