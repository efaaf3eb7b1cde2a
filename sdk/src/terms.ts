import { ConclaveError as CoreError } from "../../agents/core/errors.ts";
import { utf8 } from "../../agents/core/encoding/bytes.ts";
import { limits } from "../../agents/core/limits.ts";
import { usesTerm, type KindTerm } from "../../agents/core/request/kinds.ts";
import { defaultTerms } from "../../agents/core/request/terms.ts";
import { NAMED_TERMS, type NamedTerm, type Terms } from "../../agents/core/types.ts";
import { PROTOCOL_CODES } from "./protocol-codes.ts";

export type ProtocolId = keyof typeof PROTOCOL_CODES;

/** The terms of a request, each with a default but `kind`; docs/asking.md says what each one does. */
export interface AskedTerms extends Partial<Omit<Terms, "protocol" | "kind">> {
  readonly kind: Terms["kind"];
  /** mbft if absent. A number is the on-chain code of a protocol that this version does not know. */
  readonly protocol?: ProtocolId | number;
}

const TERMS = Object.keys(defaultTerms({ protocol: 0 }));
/** What stands beside the terms of a question. */
const BESIDE = ["question", "sources", "subscriptionId"];

const KIND_TERMS: readonly KindTerm[] = ["options", "decimals", "tolerance"];

/** Returns all terms, with the fee 0 where none is named. Throws PROTOCOL_UNKNOWN or TERMS_INVALID; the contract checks the rest. */
export function termsOf({ protocol = "mbft", ...asked }: AskedTerms): Terms {
  const { kind } = asked;
  // A misspelt one would be paid for without what it asks.
  for (const [term, value] of Object.entries(asked))
    if (value !== undefined && !TERMS.includes(term) && !BESIDE.includes(term))
      throw invalid(term, "", `there is no such term; there are ${TERMS.join(", ")}`);
  for (const [term, values] of Object.entries(NAMED_TERMS) as [NamedTerm, readonly unknown[]][])
    if ((term === "kind" || asked[term] !== undefined) && !values.includes(asked[term]))
      throw invalid(term, asked[term], `give one of ${values.join(", ")}`);
  for (const term of KIND_TERMS)
    if (asked[term] !== undefined && !usesTerm(kind, term))
      throw invalid(term, asked[term], `questions of the kind ${kind} have no ${term}; leave it out`);
  if (usesTerm(kind, "options") && asked.options === undefined)
    throw invalid("options", "", `give the number of options, ${limits.minOptions} to ${limits.maxOptions}`);
  return defaultTerms({
    duration: limits.minDurationSeconds,
    ...asked,
    protocol: typeof protocol === "number" ? protocol : codeOf(protocol),
  });
}

/** Throws TERMS_INVALID or QUESTION_TOO_LONG. */
export function requireQuestion(question: string): void {
  // Forms and JavaScript give what they have.
  if (typeof question !== "string") throw invalid("question", "", "it is no text");
  if (question === "") throw invalid("question", "", "it is empty");
  if (!question.isWellFormed()) throw invalid("question", "", "it is not well-formed Unicode");
  const bytes = utf8(question).length;
  if (bytes <= limits.questionBytes) return;
  throw new CoreError(
    "QUESTION_TOO_LONG",
    `Ask the question: it has ${bytes} bytes, at most ${limits.questionBytes} are taken; shorten it`,
    { field: "question", bytes, maxBytes: limits.questionBytes },
  );
}

function codeOf(protocol: string): number {
  if (Object.hasOwn(PROTOCOL_CODES, protocol)) return PROTOCOL_CODES[protocol as ProtocolId];
  const known = Object.keys(PROTOCOL_CODES).join(", ");
  throw new CoreError(
    "PROTOCOL_UNKNOWN",
    `Choose a protocol: ${JSON.stringify(protocol)} is unknown; known are ${known}`,
    { field: "protocol", protocol, known },
  );
}

function invalid(field: string, value: string | number | bigint | undefined, way: string): CoreError {
  const shown = value === "" ? "" : ` = ${String(value)}`;
  return new CoreError("TERMS_INVALID", `Ask the question: ${field}${shown}: ${way}`, { field, value: String(value) });
}
