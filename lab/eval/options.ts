import type { StrictCommand } from "../../agents/cli/shared/strict-command.ts";
import { ConclaveError } from "../../agents/core/errors.ts";
import { limits } from "../../agents/core/limits.ts";
import { faultTolerance } from "../../agents/core/quorum.ts";
import { BYZANTINE_KINDS, parseList } from "../../sim/options.ts";
import { answerOptions, between, toolCommand } from "../../scripts/shared/arguments.ts";
import { ASSURANCES, LIARS, MIXES, SEATINGS, type Grid } from "./conditions.ts";
import type { Badness } from "./deliberate.ts";
import { METHODS, type Method } from "./methods.ts";
import { DEFAULT_MODELS, variantSpecOf, type VariantSpec } from "./models.ts";
import { HARD_SUITES, SOURCED_SUITES, SUITE_NAMES, TAUGHT_SUITES, type Suite } from "./suites.ts";

/** What to evaluate, with which models, and for how long. */
export interface Options extends Grid {
  readonly suites: readonly Suite[];
  readonly variants: readonly VariantSpec[];
  readonly badness: readonly Badness[];
  /** Each draws an equal part of the questions, their bad seats and samples. */
  readonly seeds: readonly number[];
  readonly jobs: number;
  /** Null: nowhere. */
  readonly cache: string | null;
  /** Questions of each suite. */
  readonly questions: number;
  /** Starts no question that would end later; null: no limit. */
  readonly limitSeconds: number | null;
  readonly json: boolean;
  /** Section of lab/results.md that gets the tables; null: none. */
  readonly section: string | null;
}

interface Flags {
  readonly suite: string;
  readonly protocol: string;
  readonly leading: string;
  readonly recommended: string;
  readonly models: string;
  readonly mix: string;
  readonly seats: string;
  readonly seating: string;
  readonly byzantine: string;
  readonly byzantineKinds: string;
  readonly liars: string;
  readonly assurance: string;
  readonly questions?: number;
  readonly quick?: true;
  readonly full?: true;
  readonly seeds: string;
  readonly jobs: number;
  readonly cache: string | false;
  readonly json?: true;
  readonly write?: true;
}

/** How much a run takes: it starts no round of questions that would end after the limit. */
const MODES = {
  // With start and report under 12 minutes, and under 6 hours.
  quick: { limitSeconds: 10 * 60, questions: 2_000, thinning: 4 },
  full: { limitSeconds: 345 * 60, questions: 2_000, thinning: 4 },
  selected: { limitSeconds: null, questions: 25, thinning: 1 },
} as const;
const MOST_SEED = 2 ** 31 - 1;
const BADNESS: readonly Badness[] = ["confident", ...BYZANTINE_KINDS];
const PROTOCOLS = METHODS.filter(({ source }) => source === "protocol").map(({ id }) => id);
const BASELINES = METHODS.filter(({ source }) => source === "baseline").map(({ id }) => id);
/** Those that the docs recommend, or weigh beside it. */
const LEADING = "clo,escalating,mbft";
const RECOMMENDED = "clo";

const NOTES = `
Suites: hard (${HARD_SUITES.join(", ")}), taught (${TAUGHT_SUITES.join(", ")}),
sourced (${SOURCED_SUITES.join(", ")}), of which only protocols that read sources decide any.
Protocols: ${PROTOCOLS.join(", ")}.
Baselines of the papers, named like protocols: ${BASELINES.join(", ")}.
Seatings: ${SEATINGS.join(", ")}. Liars: ${LIARS.join(", ")}. Assurances: ${ASSURANCES.join(", ")}. Mixes: ${MIXES.join(", ")}.
Ways to be bad: ${BADNESS.join(", ")}.
Baselines have no messages to forge: their bad seats are always confident liars.

The plain condition has the first entry of each list. In it every protocol is tried with every number of bad seats.
The protocols of --leading are also tried with every committee size and every kind of liars, with every seating in the
smallest committee, and with every assurance against the first kind of liars. With --quick and --full the protocol of
--recommended gets every question in the first seating, and everything else gets every fourth question of a suite.

Answers and trials are kept beside --cache: the same command goes on where it was stopped, and ends with the same counts.
Progress goes to stderr, tables or one JSON object to stdout.

Examples:
  npm run eval -- --suite rules,offers --protocol clo,mbft,early-stop --questions 50 --json
  npm run eval -- --suite hard --full --write      six hours on two cores; again, to go on
`;

export function commandLine(): StrictCommand {
  return answerOptions(
    toolCommand("eval")
      .description("Lets committees of real seats decide questions with known answers, and counts what it costs.")
      .requiredOption("--suite <list>", "all, hard, taught, sourced, or some of the suites below")
      .option("--protocol <list>", "all, or some of the protocols and baselines below", PROTOCOLS.join(","))
      .option("--leading <list>", "the protocols that are tried in more conditions", LEADING)
      .option("--recommended <id>", "the protocol that gets every question with --quick and --full", RECOMMENDED)
      .option("--models <list>", "GGUF files, each file@temperature", DEFAULT_MODELS)
      .option("--mix <list>", "which models the seats have: all in turn, or the first alone", MIXES[0])
      .option("--seats <list>", "committee sizes", "4")
      .option("--seating <list>", "how seats answer", SEATINGS[0])
      .option(
        "--byzantine <list>",
        "numbers of bad seats: a list such as 0,1 or a range such as 0..f; f is the most that a committee bears",
        "0,f",
      )
      .option("--byzantine-kinds <list>", "what bad seats do: all, or some of the ways to be bad below", "confident")
      .option("--liars <list>", "the skill of liars, in protocols where skill counts", LIARS[0])
      .option("--assurance <list>", "normal, high", ASSURANCES[0])
      .option(
        "--questions <n>",
        "number of questions, divided among the suites (default: 25; with --quick or --full 2000)",
        between(1, 100_000),
      )
      .option("--quick", "all conditions, as many questions as fit into 10 minutes")
      .option("--full", "all conditions, as many questions as fit into 5 hours and 45 minutes")
      .option(
        "--seeds <list>",
        "draw questions, bad seats and samples; each seed draws an equal part of the questions",
        "1,2,3",
      ),
  )
    .option("--json", "print one JSON object instead of tables")
    .option("--write", "put the tables into lab/results.md")
    .addHelpText("after", NOTES);
}

/** What --quick and --full take where no flag says otherwise. */
const EVERYTHING = {
  seats: "4,7,13",
  seating: SEATINGS.join(","),
  liars: LIARS.join(","),
  assurance: ASSURANCES.join(","),
} as const;

/** Reads the options. Throws CommanderError or USAGE. */
export function optionsFrom(argv: readonly string[]): Options {
  const program = commandLine().parse(argv, { from: "user" });
  const flags = program.opts<Flags>();
  const { jobs, quick, full, json = false } = flags;
  if (quick === true && full === true)
    throw new ConclaveError("USAGE", "Give --quick or --full, not both", { field: "full" });
  const mode = quick === true ? "quick" : full === true ? "full" : "selected";
  const valueOf = (flag: keyof typeof EVERYTHING): string =>
    mode !== "selected" && program.getOptionValueSource(flag) === "default" ? EVERYTHING[flag] : flags[flag];
  const methods = methodsOf("protocol", flags.protocol);
  const leading = methodsOf("leading", flags.leading);
  const [recommended = null, ...others] = methodsOf("recommended", flags.recommended);
  if (others.length > 0) throw usage("recommended", flags.recommended, "name one");
  const seats = seatsOf(valueOf("seats"));
  const given = {
    methods,
    leading: methods.filter((method) => leading.includes(method)),
    recommended,
    thinning: MODES[mode].thinning,
    variants: flags.models.split(",").map((text) => variantSpecOf("models", text)),
    mixes: someOf("mix", flags.mix, MIXES),
    seats,
    seatings: someOf("seating", valueOf("seating"), SEATINGS),
    byzantine: byzantineOf(flags.byzantine, Math.max(...seats)),
    badness: someOf("byzantine-kinds", flags.byzantineKinds, BADNESS),
    liars: someOf("liars", valueOf("liars"), LIARS),
    assurances: someOf("assurance", valueOf("assurance"), ASSURANCES),
    seeds: seedsOf(flags.seeds),
  };
  program.requireOptions();
  const suites = suitesOf(flags.suite);
  return {
    suites,
    ...given,
    jobs,
    cache: flags.cache === false ? null : flags.cache,
    questions: Math.ceil((flags.questions ?? MODES[mode].questions) / suites.length),
    limitSeconds: MODES[mode].limitSeconds,
    json,
    section: flags.write === true ? sectionFor(mode, suites) : null,
  };
}

/** What reads sources has a section of its own. */
function sectionFor(mode: string, suites: readonly Suite[]): string {
  return suites.every((suite) => SOURCED_SUITES.some((one) => one === suite)) ? "sourced" : mode;
}

function suitesOf(text: string): readonly Suite[] {
  const sets: Readonly<Record<string, readonly Suite[]>> = {
    hard: HARD_SUITES,
    taught: TAUGHT_SUITES,
    sourced: SOURCED_SUITES,
  };
  const words = someOf("suite", text, [...SUITE_NAMES, "hard", "taught", "sourced"]);
  return [...new Set(words.flatMap((word) => sets[word] ?? [word as Suite]))];
}

function methodsOf(field: string, text: string): readonly Method[] {
  const ids = someOf(field, text, [...PROTOCOLS, ...BASELINES]);
  return METHODS.filter(({ id }) => ids.includes(id));
}

/** Parses a list of at least one of the known names. Throws USAGE. */
export function someOf<T extends string>(field: string, text: string, known: readonly T[]): readonly T[] {
  return parseList(field, text, known, ["all"]);
}

function seatsOf(text: string): readonly number[] {
  const { minCommittee, maxCommittee } = limits;
  return numbersOf("seats", text, minCommittee, maxCommittee);
}

function seedsOf(text: string): readonly number[] {
  return numbersOf("seeds", text, 0, MOST_SEED);
}

/** Parses different whole numbers, ascending. Throws USAGE. */
function numbersOf(field: string, text: string, least: number, most: number): readonly number[] {
  const numbers = text.split(",").map((word) => (/^\d{1,10}$/.test(word) ? Number(word) : Number.NaN));
  if (!numbers.every((number) => number >= least && number <= most))
    throw usage(field, text, `write one whole number from ${least} to ${most}, or several with commas between them`);
  return [...new Set(numbers)].toSorted((a, b) => a - b);
}

/** Parses "0..f", "1" or "0,f"; "f" stays, as it is another number in every committee. Throws USAGE. */
export function byzantineOf(text: string, seats: number): readonly (number | "f")[] {
  const f = faultTolerance(seats);
  const wrong = (): ConclaveError =>
    usage(
      "byzantine",
      text,
      `write 0..f, or numbers from 0 to ${f} with commas between them; more bad seats need more --seats`,
    );
  const numberOf = (word: string): number => (word === "f" ? f : /^\d{1,2}$/.test(word) ? Number(word) : Number.NaN);
  const found = text.split(",").flatMap((part): readonly (number | "f")[] => {
    if (part === "f") return ["f"];
    const [from = Number.NaN, to = from, ...more] = part.split("..").map(numberOf);
    if (!(from >= 0 && from <= to && to <= f) || more.length > 0) throw wrong();
    const numbers = Array.from({ length: to - from + 1 }, (_, index) => from + index);
    return part.endsWith("..f") ? [...numbers.slice(0, -1), "f"] : numbers;
  });
  return [...new Set(found)].toSorted((a, b) => (a === "f" ? f : a) - (b === "f" ? f : b));
}

function usage(field: string, value: string, way: string): ConclaveError {
  return new ConclaveError("USAGE", `Correct --${field} ${JSON.stringify(value)}: ${way}`, { field, value });
}
