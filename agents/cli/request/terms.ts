import { parseUnits } from "viem";
import { ConclaveError } from "../../core/errors.ts";
import { utf8 } from "../../core/encoding/bytes.ts";
import { limits } from "../../core/limits.ts";
import type { Protocol } from "../../core/protocol.ts";
import { protocolByCode, protocols } from "../../core/protocols/index.ts";
import { anybody } from "../../core/request/refusal.ts";
import { CURRENCIES, type Address, type AnswerKind, type Assurance } from "../../core/types.ts";
import type { Attempt, RequestId, Terms } from "../../core/types.ts";
import { committeeSizeAfter, seatsOfAll } from "../../core/request/rounds.ts";
import { parseAmount, parseChoice, parseDuration, parseInteger, unitOf, type Unit } from "../shared/arguments.ts";
import { meaningOf } from "../shared/assurance.ts";

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
  readonly callbackGas: string;
}

/** A boolean question to the smallest committee: the least that any costs. */
export const SMALLEST: Terms = {
  fee: 0n,
  duration: limits.minDurationSeconds,
  appeals: 0,
  retries: 0,
  tolerance: 0n,
  callbackGasLimit: 0,
  committeeSize: limits.minCommittee,
  assurance: "normal",
  currency: "token",
  decimals: 0,
  options: 0,
  kind: "boolean",
  protocol: 0,
};

const KINDS: readonly AnswerKind[] = ["boolean", "choice", "number", "text", "policies"];
const ASSURANCES: readonly Assurance[] = ["normal", "high"];

/** As in contracts/types/Limits.sol. */
export const MAX_APPEALS = 3;
export const MAX_RETRIES = 3;
const MAX_CALLBACK_GAS = 2_000_000;
const MAX_DECIMALS = 18;
const OPTIONS = { least: 2, most: 26 } as const;
const MAX_TOLERANCE = 2n ** 40n - 1n;

/**
 * Within the bounds of the contract; what agents refuse besides is for `requireTakers`. Without `--fee` the fee is 0, for the
 * caller to replace by the quote. Throws PROTOCOL_UNKNOWN, TERMS_INVALID or USAGE.
 */
export function termsOf(flags: TermsFlags, feeToken: Unit, registry: readonly Protocol[] = protocols): Terms {
  const protocol = findProtocol(flags.protocol, registry);
  const kind = parseChoice(flags.kind, "--kind", KINDS);
  const duration = parseDuration(flags.duration, "--duration");
  if (duration < limits.minDurationSeconds)
    throw invalid("duration", flags.duration, "30m is the shortest: committees must be able to answer in it");
  if (duration > limits.maxDurationSeconds) throw invalid("duration", flags.duration, "7d is the longest");
  const currency = parseChoice(flags.currency, "--currency", CURRENCIES);
  return {
    fee: flags.fee === undefined ? 0n : parseAmount(flags.fee, unitOf(currency, feeToken), "--fee"),
    duration,
    callbackGasLimit: parseInteger(flags.callbackGas, "--callback-gas", 0, MAX_CALLBACK_GAS),
    ...committeeTerms(kind, flags),
    assurance: assuranceOf(flags, protocol, registry),
    currency,
    kind,
    protocol: protocol.code,
    ...answerTerms(kind, flags),
  };
}

function committeeTerms(kind: AnswerKind, flags: TermsFlags): Pick<Terms, "appeals" | "retries" | "committeeSize"> {
  const appeals = parseInteger(flags.appeals, "--appeals", 0, MAX_APPEALS);
  const retries = parseInteger(flags.retries, "--retries", 0, MAX_RETRIES);
  const committeeSize = parseInteger(flags.committee, "--committee", limits.minCommittee, limits.maxCommittee);
  if (appeals > 0 && kind === "text")
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
 * What every agent would refuse is not asked: it would hang for its fee (CE19). Throws QUESTION_TOO_LONG or TERMS_INVALID.
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

/** A larger quorum of accepting seats means nothing where the answer is the chair's. */
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
  const hasOptions = kind === "choice" || kind === "policies";
  if (hasOptions && options === undefined)
    throw invalid("options", "", `--kind ${kind} needs --options N, the number of letters`);
  if (!hasOptions && options !== undefined)
    throw invalid("options", options, `only --kind choice and --kind policies have options, not ${kind}`);
  if (kind !== "number" && decimals !== undefined)
    throw invalid("decimals", decimals, `only --kind number has decimals, not ${kind}`);
  if (kind !== "number" && tolerance !== undefined)
    throw invalid("tolerance", tolerance, `only --kind number has a tolerance, not ${kind}`);
  const places = decimals === undefined ? 0 : parseInteger(decimals, "--decimals", 0, MAX_DECIMALS);
  return {
    options: options === undefined ? 0 : parseInteger(options, "--options", OPTIONS.least, OPTIONS.most),
    decimals: places,
    tolerance: tolerance === undefined ? 0n : scaledTolerance(tolerance, places),
  };
}

/** The tolerance is given like an answer: "0.5" with one decimal is 5 units. */
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
