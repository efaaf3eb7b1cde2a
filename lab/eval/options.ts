import { InvalidArgumentError } from "commander";
import type { StrictCommand } from "../../agents/cli/shared/strict-command.ts";
import { ConclaveError } from "../../agents/core/errors.ts";
import { limits } from "../../agents/core/limits.ts";
import { faultTolerance } from "../../agents/core/quorum.ts";
import type { Assurance } from "../../agents/core/types.ts";
import { BYZANTINE_KINDS, parseList } from "../../sim/options.ts";
import { answerOptions, between, toolCommand } from "../../scripts/shared/arguments.ts";
import type { Badness } from "./deliberate.ts";
import { METHODS, type Method } from "./methods.ts";
import { DEFAULT_MODELS, variantSpecOf, type VariantSpec } from "./models.ts";
import { SUITE_NAMES, type Suite } from "./question.ts";

/** What to evaluate, with which models, and for how long. */
export interface Options {
  readonly suites: readonly Suite[];
  readonly methods: readonly Method[];
  readonly variants: readonly VariantSpec[];
  readonly seats: number;
  readonly byzantine: readonly number[];
  readonly badness: readonly Badness[];
  readonly assurance: Assurance;
  readonly seed: number;
  readonly jobs: number;
  /** Null: nowhere. */
  readonly cache: string | null;
  /** Questions of each suite; null: as many as the time allows. */
  readonly questions: number | null;
  /** Starts no question that would end later; null: no limit. */
  readonly limitSeconds: number | null;
  readonly json: boolean;
  /** Section of lab/results.md that gets the tables; null: none. */
  readonly section: string | null;
}

interface Flags {
  readonly suite: string;
  readonly protocol: string;
  readonly models: string;
  readonly seats: number;
  readonly byzantine: string;
  readonly byzantineKinds: string;
  readonly assurance: Assurance;
  readonly questions?: number;
  readonly quick?: true;
  readonly full?: true;
  readonly seed: number;
  readonly jobs: number;
  readonly cache: string | false;
  readonly json?: true;
  readonly write?: true;
}

/**
 * Limits of time: the study starts no round of questions that would end later. With start and report it stays under
 * 15 minutes and 3 hours.
 */
const QUICK_SECONDS = 13 * 60;
const FULL_SECONDS = 45 * 60;
const FEW_QUESTIONS = 5;
const BADNESS: readonly Badness[] = ["confident", ...BYZANTINE_KINDS];
const PROTOCOLS = METHODS.filter(({ source }) => source === "protocol").map(({ id }) => id);
const BASELINES = METHODS.filter(({ source }) => source === "baseline").map(({ id }) => id);

const NOTES = `
Suites: ${SUITE_NAMES.join(", ")}.
Protocols: ${PROTOCOLS.join(", ")}.
Baselines of the papers, named like protocols: ${BASELINES.join(", ")}.
Ways to be bad: ${BADNESS.join(", ")}.
Baselines have no messages to forge: their bad seats are always confident liars.

Answers are kept in --cache: a run that was stopped continues where it was, with the same counts.
Progress goes to stderr, tables or one JSON object to stdout.

Example:
  npm run eval -- --suite arithmetic,wason --protocol mbft,leaderless,early-stop --questions 10 --json
`;

export function commandLine(): StrictCommand {
  const assurance = (text: string): Assurance => {
    if (text === "normal" || text === "high") return text;
    throw new InvalidArgumentError("Choose normal or high.");
  };
  return answerOptions(
    toolCommand("eval")
      .description("Lets committees of real seats decide questions with known answers, and counts what it costs.")
      .requiredOption("--suite <list>", "all, or some of the suites below")
      .option("--protocol <list>", "all, or some of the protocols and baselines below", "all")
      .option("--models <list>", "GGUF files, each file@temperature", DEFAULT_MODELS)
      .option("--seats <n>", "committee size", between(limits.minCommittee, limits.maxCommittee), 4)
      .option("--byzantine <list>", "numbers of bad seats: 0..f, a number, or several: 0,f", "0..f")
      .option("--byzantine-kinds <list>", "all, or some of the ways to be bad below", "confident")
      .option("--assurance <level>", "normal or high", assurance, "normal")
      .option("--questions <n>", "of each suite", between(1, 10_000))
      .option("--quick", "as many questions as fit into 13 minutes")
      .option("--full", "as many as fit into 45 minutes")
      .option("--seed <n>", "draws questions, bad seats and samples", between(0, 2 ** 31 - 1), 1),
  )
    .option("--json", "print one JSON object instead of tables")
    .option("--write", "put the tables into lab/results.md")
    .addHelpText("after", NOTES);
}

/** Reads the options. Throws CommanderError or USAGE. */
export function optionsFrom(argv: readonly string[]): Options {
  const program = commandLine().parse(argv, { from: "user" });
  const flags = program.opts<Flags>();
  const { seats, seed, jobs, assurance, quick, full, json = false } = flags;
  if (quick === true && full === true) throw usage("full", "", "give --quick or --full, not both");
  const questions = flags.questions ?? (quick === true || full === true ? null : FEW_QUESTIONS);
  const mode = quick === true ? "quick" : full === true ? "full" : "selected";
  const seconds = { quick: QUICK_SECONDS, full: FULL_SECONDS, selected: null };
  const methods = someOf("protocol", flags.protocol, [...PROTOCOLS, ...BASELINES]);
  const given = {
    methods: METHODS.filter(({ id }) => methods.includes(id)),
    variants: flags.models.split(",").map((text) => variantSpecOf("models", text)),
    seats,
    byzantine: byzantineOf(flags.byzantine, faultTolerance(seats)),
    badness: someOf("byzantine-kinds", flags.byzantineKinds, BADNESS),
  };
  program.requireOptions();
  return {
    suites: someOf("suite", flags.suite, SUITE_NAMES),
    ...given,
    assurance,
    seed,
    jobs,
    cache: flags.cache === false ? null : flags.cache,
    questions,
    limitSeconds: seconds[mode],
    json,
    section: flags.write === true ? mode : null,
  };
}

/** Parses a list of at least one of the known names. Throws USAGE. */
export function someOf<T extends string>(field: string, text: string, known: readonly T[]): readonly T[] {
  const found = parseList(field, text, known);
  if (found.length === 0) throw usage(field, text, `name all, or some of ${known.join(", ")}`);
  return found;
}

/** Parses "0..f", "1" or "0,2", where f is the most that the committee bears. Throws USAGE. */
export function byzantineOf(text: string, f: number): readonly number[] {
  const numberOf = (word: string): number => (word === "f" ? f : /^\d{1,2}$/.test(word) ? Number(word) : Number.NaN);
  const numbers = text.split(",").flatMap((part) => {
    const [from = Number.NaN, to = from, ...more] = part.split("..").map(numberOf);
    if (!(from >= 0 && from <= to && to <= f) || more.length > 0)
      throw usage("byzantine", text, `write 0..f, a number or several, each from 0 to ${f}, or take more --seats`);
    return Array.from({ length: to - from + 1 }, (_, index) => from + index);
  });
  return [...new Set(numbers)].toSorted((a, b) => a - b);
}

function usage(field: string, value: string, way: string): ConclaveError {
  return new ConclaveError("USAGE", `Correct --${field} ${JSON.stringify(value)}: ${way}`, { field, value });
}
