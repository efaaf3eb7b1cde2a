// Real agents under load for hours, with mild chaos: what they take, and how long answers take (docs/chaos.md).
import { cpus, loadavg } from "node:os";
import { messageOf } from "../../agents/core/errors.ts";
import { between, EXIT_USAGE, exitCodeOf, toolCommand } from "../../scripts/shared/arguments.ts";
import { AGENTS } from "../manifest.ts";
import { teller } from "../teller.ts";
import { startChaosWorld, type ChaosWorld } from "../world.ts";
import { newFolder } from "../folder.ts";
import { reportOf, textOf } from "./report.ts";
import { soak } from "./run.ts";

/** Something was found; every other failure exits with 2. */
const EXIT_FOUND = 1;
const MOST_MINUTES = 10_080;
const MOST_OPEN = 64;
/** One of five agents may sleep or be away, and requests go on. */
const SEATS = 4;

interface Flags {
  readonly minutes: number;
  readonly open: number;
  readonly seed: number;
  readonly out: string;
  readonly json?: boolean;
}

function commandLine(): ReturnType<typeof toolCommand> {
  return toolCommand("soak")
    .description(
      `Keeps five real agents busy with requests of every protocol in turn (committees of ${SEATS}), kills, restarts and pauses agents and breaks their RPC nodes now and then, and examines everything at the end. It measures latency, throughput, and whether memory, descriptors, threads, folders and journals grow. Linux only.`,
    )
    .option("--minutes <n>", "how long", between(1, MOST_MINUTES), 60)
    .option("--open <n>", "requests that are open at once", between(1, MOST_OPEN), 4)
    .option("--seed <n>", "what is broken follows from it", between(0, 2 ** 31), 1)
    .option(
      "--out <folder>",
      "where a new folder is made for samples, and everything that shows a finding",
      ".cache/soak",
    )
    .option("--json", "print one JSON object at the end instead of text")
    .addHelpText("after", "\nExample:\n  npm run soak -- --minutes 5 --json\n")
    .addHelpText("after", "Exit codes: 0 nothing found, 1 something found, 2 it could not run, or was stopped.");
}

async function main(argv: readonly string[]): Promise<number> {
  const { json, ...flags } = commandLine().parse(argv, { from: "user" }).opts<Flags>();
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.once(signal, () => stop.abort(new Error(`stopped by ${signal}`)));
  const tell = teller("soak");
  const out = await newFolder(flags.out, "soak");
  tell(`keeps its samples in ${out}`);
  const plan = { control: null, agents: AGENTS, seats: SEATS, appeals: 0, ownDisks: false, skipsBlocks: false };
  let world: ChaosWorld | null = null;
  try {
    world = await startChaosWorld(plan, tell, stop.signal);
    const report = reportOf(await soak(world, { ...flags, out, tell, signal: stop.signal }));
    const machine = { processors: cpus().length, load: loadavg()[2] };
    process.stdout.write(json === true ? `${JSON.stringify({ ...flags, out, machine, ...report })}\n` : textOf(report));
    return report.findings.length > 0 ? EXIT_FOUND : 0;
  } catch (error) {
    if (!stop.signal.aborted) throw error;
    process.stderr.write(`${messageOf(stop.signal.reason)}\n`);
    return EXIT_USAGE;
  } finally {
    await world?.close();
  }
}

const words = process.argv.slice(2);
process.exitCode = await exitCodeOf(words, () => main(words));
