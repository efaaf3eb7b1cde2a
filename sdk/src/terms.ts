import { ConclaveError as CoreError } from "../../agents/core/errors.ts";
import { limits } from "../../agents/core/limits.ts";
import { usesTerm, type KindTerm } from "../../agents/core/request/kinds.ts";
import { requireQuestion as requireText } from "../../agents/core/request/question.ts";
import { termFlaw, type TermWords } from "../../agents/core/request/term-rules.ts";
import { defaultTerms } from "../../agents/core/request/terms.ts";
import { NAMED_TERMS, type NamedTerm, type Terms } from "../../agents/core/types.ts";
import { shown } from "./arguments.ts";
import { ConclaveError, toSdkError } from "./errors.ts";
import { PROTOCOL_CODES } from "./protocol-codes.ts";

export type ProtocolId = keyof typeof PROTOCOL_CODES;

/** The terms of a request, each with a default but `kind`; docs/asking.md says what each one does. */
export interface AskedTerms extends Partial<Omit<Terms, "protocol" | "kind">> {
  readonly kind: Terms["kind"];
  /** mbft if absent. A number is the on-chain code of a protocol that this version does not know. */
  readonly protocol?: ProtocolId | number;
}

const DEFAULTS: Readonly<Record<string, unknown>> = { ...defaultTerms({ protocol: 0 }) };
const TERMS = Object.keys(DEFAULTS);
/** What stands beside the terms of a question. */
const BESIDE = ["question", "sources", "subscriptionId", "onSent"];

const KIND_TERMS: readonly KindTerm[] = ["options", "decimals", "tolerance"];

const WORDS: TermWords = {
  give: (term, value) => `${term}: ${JSON.stringify(value)}`,
  time: (seconds) => `${seconds} seconds`,
};

/** Returns all terms, with the fee 0 where none is named. Throws PROTOCOL_UNKNOWN or TERMS_INVALID; the contract checks the rest. */
export function termsOf({ protocol = "mbft", ...given }: AskedTerms, words: TermWords = WORDS): Terms {
  const { kind } = given;
  // A form names every term, whether it has a value or not.
  const asked = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as typeof given;
  // A misspelt one would be paid for without what it asks.
  for (const term of Object.keys(asked))
    if (!TERMS.includes(term) && !BESIDE.includes(term))
      throw invalid(term, `there is no such term; there are ${[...TERMS, ...BESIDE].join(", ")}`);
  for (const [term, values] of Object.entries(NAMED_TERMS) as [NamedTerm, readonly unknown[]][])
    if ((term === "kind" || asked[term] !== undefined) && !values.includes(asked[term]))
      throw invalid(term, `give one of ${values.join(", ")}`, asked[term]);
  // A number that is a text, or a bigint that is a number, would be packed nevertheless.
  for (const [term, value] of Object.entries(asked)) {
    const wanted = DEFAULTS[term];
    if (wanted === undefined || typeof value === typeof wanted) continue;
    if (term === "options")
      throw invalid(term, "give how many there are; the question says what each of them is", value);
    throw invalid(term, typeof wanted === "bigint" ? "give a bigint, such as 1n" : "give a whole number", value);
  }
  for (const term of KIND_TERMS)
    if (asked[term] !== undefined && !usesTerm(kind, term))
      throw invalid(term, `questions of the kind ${kind} have no ${term}; leave it out`, asked[term]);
  if (usesTerm(kind, "options") && asked.options === undefined)
    throw invalid("options", `give the number of options, ${limits.minOptions} to ${limits.maxOptions}`);
  const terms = defaultTerms({
    duration: limits.minDurationSeconds,
    ...asked,
    protocol: typeof protocol === "number" ? protocol : codeOf(protocol),
  });
  const flaw = termFlaw(terms, words);
  if (flaw !== null) throw invalid(flaw.term, flaw.way, terms[flaw.term]);
  return terms;
}

/** Throws TERMS_INVALID or QUESTION_TOO_LONG. */
export function requireQuestion(question: string): void {
  // Forms and JavaScript give what they have.
  if (typeof question !== "string") throw invalid("question", "give a text", question);
  requireText(question);
}

/**
 * Returns why `ask` refuses the question before it asks the chain; null if it does not. For forms, beside the field. What agents would
 * refuse, such as a source that stands above other text, only `ask` says.
 */
export function questionProblem(question: string): ConclaveError | null {
  return problemOf(() => requireQuestion(question));
}

/**
 * Returns why `quote` and `ask` refuse the terms before they ask the chain; null if they do not. For forms, beside the field.
 * @param words how the form names its fields; without them the terms have the names of the SDK
 */
export function termsProblem(terms: AskedTerms, words?: TermWords): ConclaveError | null {
  return problemOf(() => void termsOf(terms, words));
}

function problemOf(check: () => void): ConclaveError | null {
  try {
    check();
    return null;
  } catch (error) {
    const problem = toSdkError(error);
    if (problem instanceof ConclaveError) return problem;
    throw error;
  }
}

function codeOf(protocol: string): number {
  if (typeof protocol === "string" && Object.hasOwn(PROTOCOL_CODES, protocol))
    return PROTOCOL_CODES[protocol as ProtocolId];
  const known = Object.keys(PROTOCOL_CODES).join(", ");
  const said = shown(protocol);
  throw new CoreError("PROTOCOL_UNKNOWN", `Choose a protocol: ${said} is unknown; known are ${known}`, {
    field: "protocol",
    protocol: said,
    known,
  });
}

/** @param values the wrong one, where showing it helps */
function invalid(field: string, way: string, ...values: readonly [unknown?]): CoreError {
  const said = values.map(shown).join("");
  const place = said === "" ? field : `${field} = ${said}`;
  return new CoreError("TERMS_INVALID", `Ask the question: ${place}: ${way}`, { field, value: said, way });
}
