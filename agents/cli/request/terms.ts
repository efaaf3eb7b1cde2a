import { ConclaveError } from "../../core/errors.ts";
import { utf8 } from "../../core/encoding/bytes.ts";
import { limits } from "../../core/limits.ts";
import type { Protocol } from "../../core/protocol.ts";
import { protocolByCode, protocols } from "../../core/protocols/index.ts";
import { KIND_RULES, usesTerm, type KindTerm } from "../../core/request/kinds.ts";
import { anybody } from "../../core/request/refusal.ts";
import { committeeSizeAfter, seatsOfAll } from "../../core/request/rounds.ts";
import { ANSWER_KINDS, type Address, type Attempt, type RequestId, type Terms } from "../../core/types.ts";
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
  checkCommittees(terms, flags);
  checkDelay(terms, flags);
  checkAssurance(terms, flags, registry);
  checkFinality(terms, flags);
  checkSecurity(terms, flags);
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

function checkCommittees(terms: Terms, flags: TermsFlags): void {
  const { kind, appeals, committeeSize } = terms;
  if (appeals > 0 && !KIND_RULES[kind].appealable)
    throw invalidTerm("appeals", flags.appeals, "no contract can tell whether two texts agree; ask another --kind");
  const largest = committeeSizeAfter(committeeSize, appeals);
  if (largest > limits.maxCommittee) {
    const way = `the last appeal would call ${largest} seats, at most ${limits.maxCommittee} are allowed; take fewer seats or appeals`;
    throw invalidTerm("committee", flags.committee, way);
  }
  const all = seatsOfAll(terms);
  if (all > limits.requestSeats) {
    const way = `all appeals and retries together would call ${all} seats, at most ${limits.requestSeats} are allowed; take fewer of them`;
    throw invalidTerm("committee", flags.committee, way);
  }
}

/** SE25: the wait is an attempt, and what replaces an attempt is a retry. */
function checkDelay({ delay, retries }: Terms, flags: TermsFlags): void {
  if (delay > 0 && retries === 0)
    throw invalidTerm(
      "delay",
      flags.delay,
      "the committee after the wait is a retry; allow it with --retries 1 or more",
    );
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

/**
 * SE24: whoever wants a larger committee after an unsure one must allow an appeal for it. Nobody can appeal against such decisions, so a
 * secured request takes no finality.
 */
function checkFinality({ finality, appeals, security }: Terms, flags: TermsFlags): void {
  if (finality > 0 && appeals === 0)
    throw invalidTerm(
      "finality",
      flags.finality,
      "a larger committee follows an unsure one; allow it with --appeals 1 or more",
    );
  if (finality > 0 && security === "secured")
    throw invalidTerm(
      "finality",
      flags.finality,
      "--security secured needs appeals that somebody pays; leave one of the two out",
    );
}

/**
 * SC1: who puts the stake of others at risk must hold a quorum, and two larger committees must be able to overturn the first, before
 * stake that leaves is gone.
 */
function checkSecurity(terms: Terms, flags: TermsFlags): void {
  const { kind, duration, assurance, appeals, retries, currency } = terms;
  if (terms.security === "none") return;
  if (assurance !== "high")
    throw invalidTerm(
      "security",
      flags.security,
      "it needs --assurance high: otherwise fewer than a quorum decide for all seats",
    );
  if (KIND_RULES[kind].agreement !== undefined)
    throw invalidTerm(
      "security",
      flags.security,
      `answers of --kind ${kind} agree in part, so nothing shows who knew; ask another --kind`,
    );
  if (currency !== "token")
    throw invalidTerm(
      "security",
      flags.security,
      "it needs a fee in the stake token: pay compares with stake; give --currency token",
    );
  if (appeals < limits.minSecuredAppeals)
    throw invalidTerm(
      "appeals",
      flags.appeals,
      `--security secured needs at least --appeals ${limits.minSecuredAppeals}`,
    );
  const periods = 2 * appeals + retries + 1;
  if (duration * periods > limits.maxDurationSeconds)
    throw invalidTerm(
      "duration",
      flags.duration,
      `the ${periods} periods of a secured request may last ${formatDuration(limits.maxDurationSeconds)} together; take at most ${formatDuration(Math.floor(limits.maxDurationSeconds / periods))}`,
    );
}

/**
 * Refuses a question that every agent would refuse, since it would cost its fee and hang (CE19). Throws
 * QUESTION_TOO_LONG or TERMS_INVALID.
 * @param question with the lines that name its documents
 */
export function requireTakers(terms: Terms, question: string): void {
  checkQuestion(question);
  const protocol = protocolByCode(terms.protocol);
  const refused = protocol?.refuseRequest(sampleAttempt(terms, question)) ?? null;
  if (refused !== null) throw invalidTerm("protocol", protocol?.id, `every agent would refuse: ${refused}`);
}

function sampleAttempt(terms: Terms, question: string): Attempt {
  const nobody = `0x${"00".repeat(20)}` as Address;
  return {
    domain: { chainId: 0, oracle: nobody },
    request: { id: 1n as RequestId, consumer: nobody, terms, question },
    attempt: 0,
    committee: anybody(terms.committeeSize),
  };
}

function checkQuestion(question: string): void {
  if (!question.isWellFormed()) throw invalidTerm("question", undefined, "it is not well-formed Unicode");
  const bytes = utf8(question).length;
  if (bytes === 0) throw invalidTerm("question", undefined, "it is empty");
  if (bytes <= limits.questionBytes) return;
  throw new ConclaveError(
    "QUESTION_TOO_LONG",
    `Ask the question: it has ${bytes} bytes, at most ${limits.questionBytes} are taken; shorten it`,
    {
      bytes,
      maxBytes: limits.questionBytes,
    },
  );
}
