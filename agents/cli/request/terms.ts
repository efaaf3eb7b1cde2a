import { parseUnits } from "viem";
import { ConclaveError } from "../../core/errors.ts";
import { utf8 } from "../../core/encoding/bytes.ts";
import { limits } from "../../core/limits.ts";
import type { Protocol } from "../../core/protocol.ts";
import { protocolByCode, protocols } from "../../core/protocols/index.ts";
import { anybody } from "../../core/request/refusal.ts";
import {
  ANSWER_KINDS,
  ASSURANCES,
  CURRENCIES,
  SECURITIES,
  type Address,
  type AnswerKind,
  type Assurance,
} from "../../core/types.ts";
import { LAYOUTS, placeOf } from "../../core/encoding/layouts.ts";
import { KIND_RULES, usesTerm, type KindTerm } from "../../core/request/kinds.ts";
import { defaultTerms } from "../../core/request/terms.ts";
import type { Attempt, RequestId, Terms } from "../../core/types.ts";
import { committeeSizeAfter, seatsOfAll } from "../../core/request/rounds.ts";
import { parseAmount, parseChoice, parseDuration, parseInteger, unitOf, type Unit } from "../shared/arguments.ts";
import { meaningOf } from "../shared/protocol-words.ts";

export interface TermsFlags {
  readonly kind: string;
  readonly options?: string;
  readonly decimals?: string;
  readonly tolerance?: string;
  readonly protocol: string;
  readonly committee: string;
  readonly fee?: string;
  readonly currency: string;
  readonly duration: string;
  readonly appeals: string;
  readonly retries: string;
  readonly assurance: string;
  readonly finality: string;
  readonly security: string;
  readonly callbackGas: string;
}

/** Largest tolerance that the bits of the term hold. */
const MAX_TOLERANCE = (1n << BigInt(placeOf(LAYOUTS.requestTerms, "tolerance").bits)) - 1n;
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
  const protocol = findProtocol(flags.protocol, registry);
  const kind = parseChoice(flags.kind, "--kind", ANSWER_KINDS);
  const duration = parseDuration(flags.duration, "--duration");
  if (duration < limits.minDurationSeconds)
    throw invalid("duration", flags.duration, "30m is the shortest: committees must be able to answer in it");
  if (duration > limits.maxDurationSeconds) throw invalid("duration", flags.duration, "7d is the longest");
  const currency = parseChoice(flags.currency, "--currency", CURRENCIES);
  const committee = committeeTerms(kind, flags);
  const assurance = assuranceOf(flags, protocol, registry);
  return {
    ...defaultTerms({ protocol: protocol.code, kind, currency, duration }),
    fee: flags.fee === undefined ? 0n : parseAmount(flags.fee, unitOf(currency, feeToken), "--fee"),
    callbackGasLimit: parseInteger(flags.callbackGas, "--callback-gas", 0, limits.callbackGas),
    ...committee,
    finality: finalityOf(flags, committee),
    security: securityOf(flags, { kind, duration, assurance, ...committee }),
    assurance,
    ...answerTerms(kind, flags),
  };
}

function committeeTerms(kind: AnswerKind, flags: TermsFlags): Pick<Terms, "appeals" | "retries" | "committeeSize"> {
  const appeals = parseInteger(flags.appeals, "--appeals", 0, limits.maxAppeals);
  const retries = parseInteger(flags.retries, "--retries", 0, limits.maxRetries);
  const committeeSize = parseInteger(flags.committee, "--committee", limits.minCommittee, limits.maxCommittee);
  if (appeals > 0 && !KIND_RULES[kind].appealable)
    throw invalid("appeals", flags.appeals, "no contract can tell whether two texts agree; ask another --kind");
  const largest = committeeSizeAfter(committeeSize, appeals);
  if (largest > limits.maxCommittee) {
    const way = `the last appeal would call ${largest} seats, at most ${limits.maxCommittee} are allowed; take fewer seats or appeals`;
    throw invalid("committee", flags.committee, way);
  }
  const all = seatsOfAll({ committeeSize, appeals, retries });
  if (all > limits.requestSeats) {
    const way = `all appeals and retries together would call ${all} seats, at most ${limits.requestSeats} are allowed; take fewer of them`;
    throw invalid("committee", flags.committee, way);
  }
  return { appeals, retries, committeeSize };
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
  if (refused !== null) throw invalid("protocol", protocol?.id ?? "", `every agent would refuse: ${refused}`);
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

function findProtocol(id: string, registry: readonly Protocol[]): Protocol {
  const found = registry.find((protocol) => protocol.id === id);
  if (found !== undefined) return found;
  const known = idsOf(registry);
  throw new ConclaveError(
    "PROTOCOL_UNKNOWN",
    `Choose a protocol: ${JSON.stringify(id)} is unknown; known are ${known}`,
    { protocol: id, known },
  );
}

/** Reads the assurance: a larger quorum of accepting seats means nothing if the answer is the chair's. */
function assuranceOf(flags: TermsFlags, protocol: Protocol, registry: readonly Protocol[]): Assurance {
  const assurance = parseChoice(flags.assurance, "--assurance", ASSURANCES);
  if (assurance === "normal" || protocol.assurance === "byzantine") return assurance;
  const others = idsOf(registry.filter((other) => other.assurance === "byzantine"));
  throw invalid(
    "assurance",
    assurance,
    `a certificate of ${protocol.id} says that ${meaningOf[protocol.assurance]}; choose normal, or --protocol ${others}`,
  );
}

/** SE24: who wants a larger committee for an unsure one must allow one, and nobody appeals against such a decision. */
function finalityOf({ finality, security }: TermsFlags, { appeals }: Pick<Terms, "appeals">): number {
  const percent = parseInteger(finality, "--finality", 0, limits.maxFinality);
  if (percent > 0 && appeals === 0)
    throw invalid("finality", finality, "a larger committee follows an unsure one; allow it with --appeals 1 or more");
  if (percent > 0 && security === "secured")
    throw invalid(
      "finality",
      finality,
      "--security secured needs appeals that somebody pays; leave one of the two out",
    );
  return percent;
}

/**
 * SC1: who puts the stake of others at risk must hold a quorum, and two larger committees must be able to overturn the first, before
 * stake that leaves is gone.
 */
function securityOf(
  flags: TermsFlags,
  {
    kind,
    duration,
    assurance,
    appeals,
    retries,
  }: Pick<Terms, "kind" | "duration" | "assurance" | "appeals" | "retries">,
): Terms["security"] {
  const security = parseChoice(flags.security, "--security", SECURITIES);
  if (security === "none") return security;
  if (assurance !== "high")
    throw invalid(
      "security",
      security,
      "it needs --assurance high: otherwise fewer than a quorum decide for all seats",
    );
  if (kind === "policies")
    throw invalid(
      "security",
      security,
      "sets of policies agree in part, so nothing shows who knew; ask another --kind",
    );
  if (flags.currency !== "token")
    throw invalid(
      "security",
      security,
      "it needs a fee in the stake token: pay compares with stake; give --currency token",
    );
  if (appeals < limits.minSecuredAppeals)
    throw invalid("appeals", flags.appeals, `--security secured needs at least --appeals ${limits.minSecuredAppeals}`);
  const periods = 2 * appeals + retries + 1;
  if (duration * periods > limits.maxDurationSeconds)
    throw invalid(
      "duration",
      flags.duration,
      `the ${periods} periods of a secured request may last 7d together; take at most ${Math.floor(limits.maxDurationSeconds / periods / 60)}m`,
    );
  return security;
}

function idsOf(registry: readonly Protocol[]): string {
  return registry.map(({ id }) => id).join(", ");
}

function checkQuestion(question: string): void {
  if (!question.isWellFormed()) throw invalid("question", "", "it is not well-formed Unicode");
  const bytes = utf8(question).length;
  if (bytes === 0) throw invalid("question", "", "it is empty");
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

function answerTerms(kind: AnswerKind, flags: TermsFlags): Pick<Terms, "options" | "decimals" | "tolerance"> {
  const { options, decimals, tolerance } = flags;
  const given = { options, decimals, tolerance };
  if (usesTerm(kind, "options") && options === undefined)
    throw invalid("options", "", `--kind ${kind} needs --options N, the number of letters`);
  for (const term of ["options", "decimals", "tolerance"] as const) {
    const value = given[term];
    if (value !== undefined && !usesTerm(kind, term)) throw invalid(term, value, `only ${takersOf(term)}, not ${kind}`);
  }
  const places = decimals === undefined ? 0 : parseInteger(decimals, "--decimals", 0, limits.decimals);
  return {
    options: options === undefined ? 0 : parseInteger(options, "--options", limits.minOptions, limits.maxOptions),
    decimals: places,
    tolerance: tolerance === undefined ? 0n : scaledTolerance(tolerance, places),
  };
}

/** Names the kinds that have the term, e.g. "--kind choice and --kind policies have options". */
function takersOf(term: KindTerm): string {
  const kinds = ANSWER_KINDS.filter((kind) => usesTerm(kind, term)).map((kind) => `--kind ${kind}`);
  return `${kinds.join(" and ")} ${kinds.length === 1 ? "has" : "have"} ${NOUNS[term]}`;
}

/** Reads the tolerance, which is written like an answer: "0.5" with one decimal is 5 units. */
function scaledTolerance(text: string, decimals: number): bigint {
  const [, fraction = ""] = text.split(".");
  if (!/^\d{1,30}(\.\d{1,18})?$/.test(text) || fraction.length > decimals)
    throw invalid("tolerance", text, `give a number with at most ${decimals} decimals`);
  const scaled = parseUnits(text, decimals);
  if (scaled > MAX_TOLERANCE) throw invalid("tolerance", text, `at most ${MAX_TOLERANCE} units of the last decimal`);
  return scaled;
}

function invalid(field: string, value: string, way: string): ConclaveError {
  const shown = value === "" ? "" : ` = ${JSON.stringify(value)}`;
  return new ConclaveError("TERMS_INVALID", `Ask the question: ${field}${shown}: ${way}`, { field, value });
}
