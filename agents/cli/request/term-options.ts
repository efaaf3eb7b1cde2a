import { Option } from "commander";
import { parseUnits } from "viem";
import { LAYOUTS, greatestOf } from "../../core/encoding/layouts.ts";
import { ConclaveError } from "../../core/errors.ts";
import { limits } from "../../core/limits.ts";
import type { Protocol } from "../../core/protocol.ts";
import { protocols } from "../../core/protocols/index.ts";
import { usesTerm, type KindTerm } from "../../core/request/kinds.ts";
import { MAX_TOLERANCE, TERM_BOUNDS } from "../../core/request/term-rules.ts";
import { defaultTerms } from "../../core/request/terms.ts";
import { ANSWER_KINDS, ASSURANCES, CURRENCIES, NON_ANSWER_TERMS, SECURITIES, type Terms } from "../../core/types.ts";
import {
  formatDuration,
  parseAmount,
  parseChoice,
  parseDuration,
  parseInteger,
  unitOf,
  type Unit,
} from "../shared/arguments.ts";
import type { OptionSpec } from "../shared/command.ts";

/** What reading a term can depend on. */
interface TermContext {
  /** The terms whose options stand before it in the table, and the default of every other term. */
  readonly terms: Terms;
  readonly feeToken: Unit;
  readonly registry: readonly Protocol[];
}

/** A term as an option of the command line. If the option is not given and has no default, the term has that of `defaultTerms`. */
interface TermOption<Term> extends OptionSpec {
  /** Reads the term within its own bounds. Throws USAGE, TERMS_INVALID or PROTOCOL_UNKNOWN. */
  read(text: string, option: string, context: TermContext): Term;
}

const SHORTEST = formatDuration(limits.minDurationSeconds);
const LONGEST = formatDuration(limits.maxDurationSeconds);
const LONGEST_DELAY = formatDuration(limits.maxDelaySeconds);
/** The largest fee, in the smallest units of its currency, that the bits of the terms hold. */
export const MAX_FEE = greatestOf(LAYOUTS.requestTerms, "fee");

/** Every term but the callback's gas: the command asks from an account, which has no callback and would pay for that gas. */
type OptionTerm = Exclude<keyof Terms, "callbackGasLimit">;

/** The one table of the terms that the command line takes, in the order of its help. What terms demand of each other: terms.ts. */
const TERM_OPTIONS = {
  kind: {
    flags: "--kind <kind>",
    description: `${ANSWER_KINDS.join(", ")}; docs/asking.md says what each is`,
    required: true,
    read: (text, option) => parseChoice(text, option, ANSWER_KINDS),
  },
  options: {
    flags: "--options <number>",
    description: `${kindsWith("options")}: how many letters, from A`,
    read: (text, option) => parseInteger(text, option, ...TERM_BOUNDS.options),
  },
  decimals: {
    flags: "--decimals <number>",
    description: `${kindsWith("decimals")}: decimals that count`,
    read: (text, option) => parseInteger(text, option, ...TERM_BOUNDS.decimals),
  },
  tolerance: {
    flags: "--tolerance <number>",
    description: `${kindsWith("tolerance")}: answers this close to each other agree, e.g. 0.5`,
    read: (text, _, { terms }) => scaledTolerance(text, terms.decimals),
  },
  protocol: {
    flags: "--protocol <id>",
    description: protocols.map(({ id }) => id).join(", "),
    default: protocols[0]?.id ?? "",
    read: (text, _, { registry }) => findProtocol(text, registry).code,
  },
  committeeSize: {
    flags: "--committee <seats>",
    description: `${limits.minCommittee} to ${limits.maxCommittee}`,
    default: String(limits.minCommittee),
    read: (text, option) => parseInteger(text, option, ...TERM_BOUNDS.committeeSize),
  },
  currency: {
    flags: "--currency <currency>",
    description: "token or native, the chain's coin",
    default: "token",
    read: (text, option) => parseChoice(text, option, CURRENCIES),
  },
  fee: {
    flags: "--fee <amount>",
    description: "in whole units of the currency, e.g. 12.5 (default: the least)",
    read: (text, option, { terms, feeToken }) => parseAmount(text, unitOf(terms.currency, feeToken), option),
  },
  duration: {
    flags: "--duration <duration>",
    description: `time for a committee to decide, and for an appeal, e.g. 30m, 2h or 1d; ${SHORTEST} to ${LONGEST}`,
    default: SHORTEST,
    read: (text, option) => boundedDuration(text, option),
  },
  delay: {
    flags: "--delay <duration>",
    description: `time before the first committee is called, e.g. 3d, for a question about what is still to come; at most ${LONGEST_DELAY}; takes one of --retries (default: at once)`,
    read: (text, option) => boundedDelay(text, option),
  },
  appeals: {
    flags: "--appeals <number>",
    description: `0 to ${limits.maxAppeals}; 0: the first decision is final`,
    default: "0",
    read: (text, option) => parseInteger(text, option, ...TERM_BOUNDS.appeals),
  },
  retries: {
    flags: "--retries <number>",
    description: `0 to ${limits.maxRetries} committees that are replaced when they hang or do not answer in time`,
    default: "0",
    read: (text, option) => parseInteger(text, option, ...TERM_BOUNDS.retries),
  },
  assurance: {
    flags: "--assurance <level>",
    description: "normal or high; high only where the protocol's certificate is byzantine",
    default: "normal",
    read: (text, option) => parseChoice(text, option, ASSURANCES),
  },
  finality: {
    flags: "--finality <percent>",
    description:
      "a decision with this confidence, 1 to 100, is final at once, and otherwise a larger committee follows (needs --appeals 1); with 0 every decision waits for an appeal, if --appeals allows any",
    default: "0",
    read: (text, option) => parseInteger(text, option, ...TERM_BOUNDS.finality),
  },
  nonAnswers: {
    flags: "--non-answers <choice>",
    description:
      "accepted, or refused: whether the committee may decide that the sources do not tell, or that it is too early to ask",
    default: "accepted",
    read: (text, option) => parseChoice(text, option, NON_ANSWER_TERMS),
  },
  security: {
    flags: "--security <class>",
    description:
      "none, or secured: who certifies an answer that two larger committees overturn loses stake; needs --assurance high and --appeals 2",
    default: "none",
    read: (text, option) => parseChoice(text, option, SECURITIES),
  },
} as const satisfies { readonly [Name in OptionTerm]: TermOption<Terms[Name]> };

type Camel<Name extends string> = Name extends `${infer Head}-${infer Tail}`
  ? `${Head}${Capitalize<Camel<Tail>>}`
  : Name;
type Attribute<Flags extends string> = Flags extends `--${infer Name} <${string}` ? Camel<Name> : never;
/** The options of all terms as given, e.g. `nonAnswers` for `--non-answers`. */
export type TermsFlags = {
  readonly [Name in OptionTerm as Attribute<(typeof TERM_OPTIONS)[Name]["flags"]>]?: string;
};

export const termOptions: readonly OptionSpec[] = Object.values(TERM_OPTIONS);

/** Reads each term by itself, from its option or the option's default. Throws USAGE, TERMS_INVALID or PROTOCOL_UNKNOWN. */
export function readTerms(flags: TermsFlags, feeToken: Unit, registry: readonly Protocol[]): Terms {
  const given: Readonly<Record<string, string | undefined>> = flags;
  // The option's default replaces this protocol.
  const terms = defaultTerms({ protocol: 0 });
  for (const [name, option] of Object.entries<TermOption<Terms[OptionTerm]>>(TERM_OPTIONS)) {
    const parsed = new Option(option.flags);
    const text = given[parsed.attributeName()] ?? option.default;
    if (text === undefined) continue;
    Object.assign(terms, { [name]: option.read(text, parsed.long ?? "", { terms, feeToken, registry }) });
  }
  return terms;
}

/** @param value the text that was given, if any */
export function invalidTerm(field: string, value: string | undefined, way: string): ConclaveError {
  const shown = value === undefined ? "" : ` = ${JSON.stringify(value)}`;
  return new ConclaveError("TERMS_INVALID", `Ask the question: ${field}${shown}: ${way}`, {
    field,
    value: value ?? "",
  });
}

/** The kinds that use the term, e.g. "choice and policies". */
function kindsWith(term: KindTerm): string {
  return ANSWER_KINDS.filter((kind) => usesTerm(kind, term)).join(" and ");
}

function findProtocol(id: string, registry: readonly Protocol[]): Protocol {
  const found = registry.find((protocol) => protocol.id === id);
  if (found !== undefined) return found;
  const known = registry.map((protocol) => protocol.id).join(", ");
  throw new ConclaveError(
    "PROTOCOL_UNKNOWN",
    `Choose a --protocol: ${JSON.stringify(id)} is unknown; known are ${known}`,
    { protocol: id, known },
  );
}

function boundedDuration(text: string, option: string): number {
  const duration = parseDuration(text, option);
  if (duration < limits.minDurationSeconds)
    throw invalidTerm("duration", text, `${SHORTEST} is the shortest: committees must be able to answer in it`);
  if (duration > limits.maxDurationSeconds) throw invalidTerm("duration", text, `${LONGEST} is the longest`);
  return duration;
}

function boundedDelay(text: string, option: string): number {
  const delay = parseDuration(text, option);
  if (delay > limits.maxDelaySeconds) throw invalidTerm("delay", text, `${LONGEST_DELAY} is the longest`);
  return delay;
}

/** Reads the tolerance, which is written like an answer: "0.5" with one decimal is 5 units. */
function scaledTolerance(text: string, decimals: number): bigint {
  const [, fraction = ""] = text.split(".");
  if (!/^\d{1,30}(\.\d{1,18})?$/.test(text) || fraction.length > decimals)
    throw invalidTerm("tolerance", text, `give a number from 0 on, with at most ${decimals} decimals`);
  const scaled = parseUnits(text, decimals);
  if (scaled > MAX_TOLERANCE)
    throw invalidTerm("tolerance", text, `at most ${MAX_TOLERANCE} units of the last decimal`);
  return scaled;
}
