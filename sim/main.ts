// Runs seeded worlds of one protocol and checks them (docs/spec/simulator.md).
import { availableParallelism } from "node:os";
import { InvalidArgumentError } from "commander";
import { ConclaveError } from "../agents/core/errors.ts";
import { protocols } from "../agents/core/protocols/index.ts";
import { ANSWER_KINDS } from "../agents/core/types.ts";
import type { AnswerKind } from "../agents/core/types.ts";
import { optionsFrom, WINDOW_MS, type SimFlags } from "./arguments.ts";
import type { SeedResult } from "./batch.ts";
import { commandFor } from "./command.ts";
import type { Mutant } from "./mutant.ts";
import { mutants } from "./mutants.ts";
import { BYZANTINE_KINDS, FAULTS, SOURCE_FAULTS, checkOptions, isBeyondTolerance, type SimOptions } from "./options.ts";
import { createPlan } from "./plan.ts";
import { createPool, type Pool } from "./pool.ts";
import { buildReport, reportText } from "./report.ts";
import { showsSame, shrink } from "./shrink.ts";
import { checkTwins, schedulesOf } from "./twins.ts";
import { exitCodeOf, toolCommand } from "../scripts/shared/arguments.ts";

/** A violation was found; every other failure exits with 2. */
const EXIT_VIOLATED = 1;
/** Keeps seed numbers within 32 bits. */
const MOST_SEEDS = 10_000_000;
/** Worlds if no number is given. */
const SEEDS = 100;
const PROGRESS_MS = 5_000;

/** The names that `recorder.count` counts. */
const STRUCK = `
Names after "struck:" and in "counts", each with the number of times that it happened:
  cut, drop, targeted drop    frames lost: in a partition, by chance, by an adversary on the links
  delay, reorder, duplicate   frames delayed, overtaken, sent twice
  crash, lost tail            processes that died; processes that died and lost the end of their journal
  model rate-limit, timeout, unparsable, crashed    model calls of honest seats that failed
  equivocation, double vote, other root, withheld    two payloads for a slot; two votes; a root proposed that is not the due one; messages shown only with such a root
  first twin, second twin     frames to the first or second of two runtimes under one key
  censored, doctored, not relayed    proposals that leave messages out; changed roots; messages kept back
  silent, late, malformed, replay, replay elsewhere    frames not sent; sent late; malformed; old; in another slot
  page right, page gone, ...  readings of a page, by how it shows itself
  false reading, deaf         GATHER messages that name what their seat never read; CLOSE messages that deny what it heard
  false citation, changed citation    answers that cite what nobody read, or misquote; answers shown with another citation than committed to
  free claim                  events of a hashgraph seat that claims to be done, or all its events at once
  three payloads, misnamed    three payloads for a slot, two of them to each peer; messages that name some of these as others'
`;

interface Flags extends SimFlags {
  readonly seeds?: number;
  readonly seed: number;
  readonly jobs: number;
  readonly realSignatures?: boolean;
  readonly mutant?: string;
  readonly json?: boolean;
}

function commandLine(): ReturnType<typeof toolCommand> {
  const integer = (text: string): number => {
    if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError("Give an integer, 0 or more, of at most nine digits.");
    return Number(text);
  };
  const kind = (text: string): AnswerKind => {
    const found = ANSWER_KINDS.find((one) => one === text);
    if (found === undefined) throw new InvalidArgumentError(`Choose one of ${ANSWER_KINDS.join(", ")}.`);
    return found;
  };
  return toolCommand("sim")
    .description("Runs a protocol in seeded worlds that try to break it, and checks every run by its invariants.")
    .requiredOption("--protocol <id>", `one of ${protocols.map(({ id }) => id).join(", ")}`)
    .requiredOption("--n <seats>", "committee size", integer)
    .option("--byzantine <seats>", "how many seats misbehave; more than the protocol bears is allowed", integer, 0)
    .option("--seeds <count>", "how many worlds; 100 if absent, with --twins all that there are", integer)
    .option("--seed <first>", "the first seed; the others follow it", integer, 1)
    .option("--faults <list>", `all, none, or some of ${FAULTS.join(",")}`, "all")
    .option("--byzantine-kinds <list>", `all, or some of ${BYZANTINE_KINDS.join(",")}`, "all")
    .option("--kind <kind>", `answer kind (${ANSWER_KINDS.join(", ")}); without it each seed draws one`, kind)
    .option("--error-ppm <ppm>", "how often an honest model is wrong, parts per million", integer, 0)
    .option(
      "--sources <list>",
      `how pages that the question names show themselves: none, all, or some of ${SOURCE_FAULTS.join(",")}`,
      "none",
    )
    .option(
      "--twins <windows>",
      "one seat has two instances; seeds from 1 on give every split of the committee in so many windows, once",
      integer,
    )
    .option("--window-ms <ms>", "virtual milliseconds of such a window", integer, WINDOW_MS)
    .option("--jobs <threads>", "worker threads", integer, availableParallelism())
    .option("--real-signatures", "secp256k1 and Keccak instead of the simulated scheme (slow)")
    .option("--mutant <id>", "plant one of the bugs of sim/mutants.ts")
    .option("--json", "print one JSON object instead of text")
    .addHelpText("after", "\nExample:\n  npm run sim -- --protocol mbft --n 7 --byzantine 2 --seeds 1000 --json\n")
    .addHelpText("after", STRUCK)
    .addHelpText("after", "Exit codes: 0 no violation, 1 violations, 2 it could not run.");
}

async function main(argv: readonly string[]): Promise<number> {
  const program = commandLine();
  refuseRepeated(argv);
  program.parse(argv, { from: "user" });
  return simulate(program);
}

/** Refuses a flag that is given twice: commander would drop the first value silently. */
function refuseRepeated(argv: readonly string[]): void {
  const names = argv.flatMap((word) => (word.startsWith("--") ? [word.split("=")[0] as string] : []));
  const name = names.find((one, index) => names.indexOf(one) < index);
  if (name === undefined) return;
  throw new ConclaveError("USAGE", `Correct ${name}: it is given more than once`, { field: name.slice(2), value: "" });
}

function refuseIdleKinds({ byzantine, byzantineKinds }: Flags): void {
  if (byzantine > 0) return;
  throw new ConclaveError(
    "USAGE",
    `Correct --byzantine-kinds ${byzantineKinds}: no seat misbehaves without --byzantine; add --byzantine 1 or more`,
    { field: "byzantine-kinds", value: byzantineKinds },
  );
}

async function simulate(program: ReturnType<typeof toolCommand>): Promise<number> {
  const flags = program.opts<Flags>();
  const options = optionsFrom(flags);
  if (program.getOptionValueSource("byzantineKinds") === "cli") refuseIdleKinds(flags);
  if (options.twins !== undefined) checkTwins(options.twins, flags.n, flags.byzantine);
  const count = flags.seeds ?? (options.twins === undefined ? SEEDS : schedulesOf(options.twins, flags.n));
  checkRange("seeds", count, 1, MOST_SEEDS);
  checkRange("jobs", flags.jobs, 1, 256);
  const mutant = flags.mutant === undefined ? null : mutantById(flags.mutant);
  program.requireOptions();
  checkOptions(options);
  if (mutant !== null && isOfOtherProtocol(mutant, flags.protocol))
    process.stderr.write(`${mutant.file} may not run under ${flags.protocol}; where it shows: ${mutant.sim}\n`);
  // Fails at once if the protocol refuses such a committee.
  createPlan(options, flags.seed);
  if (isBeyondTolerance(options))
    process.stderr.write(
      `${options.byzantine} of ${options.n} seats are more than f, the most that a committee bears: expect violations, or hung decisions\n`,
    );
  const pool = await createPool(Math.min(flags.jobs, count), {
    realSignatures: flags.realSignatures === true,
    mutant,
  });
  try {
    return await runAndReport(pool, options, { ...flags, seeds: count }, mutant);
  } finally {
    await pool.close();
  }
}

async function runAndReport(
  pool: Pool,
  options: SimOptions,
  flags: Flags & { readonly seeds: number },
  mutant: Mutant | null,
): Promise<number> {
  const started = performance.now();
  let told = started;
  const progress = (results: readonly SeedResult[]): boolean => {
    const now = performance.now();
    if (now - told < PROGRESS_MS) return false;
    told = now;
    const violated = results.filter(({ violations }) => violations.length > 0).length;
    process.stderr.write(`${results.length} of ${flags.seeds} seeds, ${violated} with violations\n`);
    return false;
  };
  const seeds = Array.from({ length: flags.seeds }, (_, index) => flags.seed + index);
  const results = await pool.run(options, seeds, progress);
  const elapsedMs = performance.now() - started;
  const cpuMs = results.reduce((sum, one) => sum + one.cpuMs, 0);
  const shrunk = await shrunkCommand(pool, options, results, mutant?.id ?? null);
  const report = buildReport(
    options,
    flags.seed,
    results,
    { elapsedMs, cpuMs },
    { mutant: mutant?.id ?? null, shrunk },
  );
  process.stdout.write(flags.json === true ? `${JSON.stringify(report)}\n` : reportText(report));
  return report.violations.length > 0 ? EXIT_VIOLATED : 0;
}

/** Returns the command of the shrunk first failure; null without a failure, or if nothing could be taken away. */
async function shrunkCommand(
  pool: Pool,
  options: SimOptions,
  results: readonly SeedResult[],
  mutant: string | null,
): Promise<string | null> {
  const failed = results.find(({ violations }) => violations.length > 0);
  if (failed === undefined) return null;
  process.stderr.write(`seed ${failed.seed} fails: ${commandFor(options, failed.seed, mutant)}\nshrinking ...\n`);
  const shrunk = await shrink(options, failed.seed, async (smaller, seed) => {
    if (!isPossible(smaller, seed)) return false;
    const [result] = await pool.run(smaller, [seed]);
    return result !== undefined && showsSame(result, failed);
  });
  const command = commandFor(shrunk.options, shrunk.seed, mutant);
  return command === commandFor(options, failed.seed, mutant) ? null : command;
}

/** True if the protocol takes such a committee. */
function isPossible(options: SimOptions, seed: number): boolean {
  try {
    createPlan(options, seed);
    return true;
  } catch (error) {
    if (error instanceof ConclaveError) return false;
    throw error;
  }
}

function mutantById(id: string): Mutant {
  const found = mutants.find((one) => one.id === id);
  if (found !== undefined) return found;
  throw new ConclaveError(
    "USAGE",
    `Correct --mutant ${JSON.stringify(id)}: it is unknown; choose one of ${mutants.map((one) => one.id).join(", ")}`,
    { field: "mutant", value: id },
  );
}

function isOfOtherProtocol({ file, sim }: Mutant, protocol: string): boolean {
  return file.startsWith("agents/core/protocols/") && !`${sim} `.includes(`--protocol ${protocol} `);
}

function checkRange(field: string, value: number, least: number, most: number): void {
  if (value >= least && value <= most) return;
  throw new ConclaveError("USAGE", `Correct --${field} ${value}: give a number from ${least} to ${most}`, {
    field,
    value,
  });
}

const words = process.argv.slice(2);
process.exitCode = await exitCodeOf(words, () => main(words));
