import { ConclaveError } from "../../core/errors.ts";
import type { Protocol } from "../../core/protocol.ts";
import { protocolByCode, protocols } from "../../core/protocols/index.ts";
import { usesTerm, type KindTerm } from "../../core/request/kinds.ts";
import { refuseSources } from "../../core/sources/named.ts";
import { requireQuestion } from "../../core/request/question.ts";
import { sampleAttempt } from "../../core/request/refusal.ts";
import { termFlaw, type TermWords } from "../../core/request/term-rules.ts";
import { ANSWER_KINDS, type Terms } from "../../core/types.ts";
import { formatDuration, type Unit } from "../shared/arguments.ts";
import { meaningOf } from "../shared/protocol-words.ts";
import { invalidTerm, readTerms, type TermsFlags } from "./term-options.ts";

/** How error messages name the terms that only some kinds use. */
const NOUNS: Readonly<Record<KindTerm, string>> = {
  options: "options",
  decimals: "decimals",
  tolerance: "a tolerance",
};

/**
 * Reads the terms, within the bounds of the contract; `requireTakers` checks what agents refuse besides. Without
 * `--fee` the fee is 0, and the caller replaces it by the quote. Throws PROTOCOL_UNKNOWN, TERMS_INVALID or USAGE.
 */
export function termsOf(flags: TermsFlags, feeToken: Unit, registry: readonly Protocol[] = protocols): Terms {
  const terms = readTerms(flags, feeToken, registry);
  checkKind(terms.kind, flags);
  checkRules(terms, flags);
  checkAssurance(terms, flags, registry);
  return terms;
}

/** The terms of the kind, and no others. */
function checkKind(kind: Terms["kind"], flags: TermsFlags): void {
  if (usesTerm(kind, "options") && flags.options === undefined)
    throw invalidTerm("options", undefined, `--kind ${kind} needs --options N, the number of letters`);
  for (const term of ["options", "decimals", "tolerance"] as const)
    if (flags[term] !== undefined && !usesTerm(kind, term))
      throw invalidTerm(term, flags[term], `only ${takersOf(term)}, not ${kind}`);
}

/** Names the kinds that have the term, e.g. "--kind choice and --kind policies have options". */
function takersOf(term: KindTerm): string {
  const kinds = ANSWER_KINDS.filter((kind) => usesTerm(kind, term)).map((kind) => `--kind ${kind}`);
  return `${kinds.join(" and ")} ${kinds.length === 1 ? "has" : "have"} ${NOUNS[term]}`;
}

/** A larger quorum of accepting seats means nothing if the answer is the chair's. */
function checkAssurance(terms: Terms, flags: TermsFlags, registry: readonly Protocol[]): void {
  const chaired = registry.find(({ code, assurance }) => code === terms.protocol && assurance === "chair");
  if (terms.assurance === "normal" || chaired === undefined) return;
  const others = registry.filter(({ assurance }) => assurance === "byzantine").map(({ id }) => id);
  throw invalidTerm(
    "assurance",
    flags.assurance,
    `a certificate of ${chaired.id} says that ${meaningOf[chaired.assurance]}; choose normal, or --protocol ${others.join(", ")}`,
  );
}

/** How the command line names the terms, and what it calls otherwise. */
const WORDS: TermWords = { give: (term, value) => `--${term} ${value}`, time: formatDuration };

/** What the contract refuses, whatever the protocol. */
function checkRules(terms: Terms, flags: TermsFlags): void {
  const flaw = termFlaw(terms, WORDS);
  if (flaw === null) return;
  const field = flaw.term === "committeeSize" ? "committee" : flaw.term;
  throw invalidTerm(field, (flags as Readonly<Record<string, string | undefined>>)[field], flaw.way);
}

/**
 * Refuses a question that every agent would refuse, since it would cost its fee and hang (CE19). Throws
 * QUESTION_TOO_LONG or TERMS_INVALID.
 * @param question with the lines that name its documents
 */
export function requireTakers(terms: Terms, question: string): void {
  requireQuestion(question);
  const wrong = refuseSources(question);
  if (wrong !== null) throw new ConclaveError("TERMS_INVALID", `Ask the question: ${wrong}`, { field: "source" });
  const protocol = protocolByCode(terms.protocol);
  const refused = protocol?.refuseRequest(sampleAttempt(terms, question)) ?? null;
  if (refused !== null) throw invalidTerm("protocol", protocol?.id, `every agent would refuse: ${refused}`);
}
