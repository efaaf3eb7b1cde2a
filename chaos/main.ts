// Breaks real agents on purpose, and examines what came of it (docs/chaos.md).
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { InvalidArgumentError, Option } from "commander";
import { messageOf } from "../agents/core/errors.ts";
import { between, EXIT_USAGE, exitCodeOf, readGiven, toolCommand } from "../scripts/shared/arguments.ts";
import { CONTROLS, type Control } from "./controls.ts";
import { newFolder } from "./folder.ts";
import { generateManifest } from "./generate.ts";
import type { Finding } from "./examine.ts";
import {
  AGENTS,
  agentsOf,
  APPEAL_TERMS,
  parseManifest,
  PERTURBATIONS,
  type Manifest,
  type PerturbationKind,
} from "./manifest.ts";
import { runManifest } from "./run.ts";
import { teller } from "./teller.ts";
import { startChaosWorld, type ChaosWorld, type WorldPlan } from "./world.ts";

/** Something was found; every other failure exits with 2. */
const EXIT_FOUND = 1;
const MOST_MANIFESTS = 10_000;
/** Manifests of one world at most: anvil needs longer for a block the more blocks there are, and agents' disks get full. */
const WORLD_MANIFESTS = 12;
const MOST_SEED = 2 ** 31;

interface Flags {
  readonly seed: number;
  readonly manifests: number;
  readonly manifest?: readonly string[];
  readonly only?: readonly PerturbationKind[];
  readonly control?: Control;
  readonly appeals?: boolean;
  readonly out: string;
  readonly json?: boolean;
}

interface Found extends Finding {
  readonly manifest: string;
  readonly folder: string;
  /** The command that runs it again. */
  readonly again: string;
}

function commandLine(): ReturnType<typeof toolCommand> {
  const oneOf =
    <Name extends string>(names: readonly Name[]) =>
    (text: string): Name => {
      const found = names.find((name) => name === text);
      if (found === undefined) throw new InvalidArgumentError(`Choose one of ${names.join(", ")}.`);
      return found;
    };
  const kinds = (text: string): readonly PerturbationKind[] => text.split(",").map(oneOf(PERTURBATIONS));
  return toolCommand("chaos")
    .description(
      "Runs real agents over libp2p on a local chain, breaks processes, network, chain, RPC nodes, models, sources and disks, and examines the outcome from outside.",
    )
    .addOption(
      new Option("--seed <first>", "the first seed; each manifest is made from one")
        .argParser(between(0, MOST_SEED))
        .default(1)
        .conflicts("manifest"),
    )
    .addOption(
      new Option("--manifests <count>", "how many manifests, one after the other")
        .argParser(between(1, MOST_MANIFESTS))
        .default(1)
        .conflicts("manifest"),
    )
    .option("--manifest <files...>", "run these manifests (YAML) instead of generated ones")
    .addOption(
      new Option("--only <kinds>", `draw only these perturbations: some of ${PERTURBATIONS.join(",")}`)
        .argParser(kinds)
        .conflicts("manifest"),
    )
    .addOption(
      new Option(
        "--appeals",
        "make manifests in which somebody appeals against every decision; they take 13 agents",
      ).conflicts("manifest"),
    )
    .option(
      "--control <name>",
      `switch one safety off, which has to be found: ${Object.keys(CONTROLS).join(", ")}`,
      oneOf(Object.keys(CONTROLS) as Control[]),
    )
    .option(
      "--out <folder>",
      "where a new folder is made for each manifest, and stays if something is found",
      ".cache/chaos",
    )
    .option("--json", "print one JSON object at the end instead of text")
    .addHelpText("after", "\nExample:\n  npm run chaos -- --seed 7 --manifests 3 --json\n")
    .addHelpText("after", "Exit codes: 0 nothing found, 1 something found, 2 it could not run, or was stopped.");
}

interface Report {
  manifests: number;
  decisions: number;
  readonly findings: Found[];
}

async function main(argv: readonly string[]): Promise<number> {
  const program = commandLine();
  program.parse(argv, { from: "user" });
  const flags = program.opts<Flags>();
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.once(signal, () => stop.abort(new Error(`stopped by ${signal}`)));
  const report: Report = { manifests: 0, decisions: 0, findings: [] };
  const print = (): void =>
    void process.stdout.write(flags.json === true ? `${JSON.stringify(report)}\n` : textOf(report));
  try {
    await play(await manifestsOf(flags), flags, report, stop.signal);
  } catch (error) {
    if (!stop.signal.aborted) {
      // What was found before is not lost.
      if (report.manifests > 0) print();
      throw error;
    }
    process.stderr.write(`${messageOf(stop.signal.reason)}\n`);
  }
  print();
  // A build of the contracts may still go on.
  if (stop.signal.aborted) process.exit(EXIT_USAGE);
  return report.findings.length > 0 ? EXIT_FOUND : 0;
}

/** Plays the manifests one after the other, and adds each to the report. */
async function play(manifests: readonly Manifest[], flags: Flags, report: Report, signal: AbortSignal): Promise<void> {
  let world: ChaosWorld | null = null;
  const closeWorld = async (): Promise<void> => {
    await world?.close();
    world = null;
  };
  try {
    for (const manifest of manifests) {
      // One world serves many manifests; what is found in one must not blur the next.
      if (world !== null && world.agents.length !== agentsOf(manifest.appeals)) await closeWorld();
      const folder = await newFolder(flags.out, manifest.name.replaceAll(" ", "-"));
      let isFound = false;
      try {
        world ??= await startChaosWorld(planOf(manifest, flags.control), teller("a new world"), signal);
        const tell = teller(manifest.name);
        const { decisions, messages, findings } = await runManifest(world, manifest, { out: folder, tell, signal });
        isFound = findings.length > 0;
        report.manifests++;
        report.decisions += decisions;
        const place = `${report.manifests} of ${manifests.length}`;
        tell(`${place}: ${decisions} decisions, ${messages} messages, ${findings.length} findings`);
        const control = flags.control === undefined ? "" : ` --control ${flags.control}`;
        const again = `npm run chaos -- --manifest ${join(folder, "manifest.yaml")}${control}`;
        for (const finding of findings) {
          tell(`${finding.kind}: ${finding.what}`);
          report.findings.push({ ...finding, manifest: manifest.name, folder, again });
        }
      } finally {
        if (!isFound) await rm(folder, { recursive: true, force: true });
      }
      // Whoever was slashed once cannot be again for a week.
      const isChanged = isFound || manifest.perturbations.some(({ kind }) => kind === "equivocate");
      if (isChanged || report.manifests % WORLD_MANIFESTS === 0) await closeWorld();
    }
  } finally {
    await closeWorld().catch((error: unknown) => process.stderr.write(`clean-up: ${messageOf(error)}\n`));
  }
}

function planOf({ appeals }: Manifest, control: Control | undefined): WorldPlan {
  const committees = appeals
    ? { seats: APPEAL_TERMS.committeeSize, appeals: APPEAL_TERMS.appeals }
    : { seats: AGENTS, appeals: 0 };
  return { agents: agentsOf(appeals), ...committees, control: control ?? null, ownDisks: true, skipsBlocks: true };
}

async function manifestsOf(flags: Flags): Promise<readonly Manifest[]> {
  const { manifest, seed, manifests } = flags;
  const read = async (path: string): Promise<Manifest> => parseManifest((await readGiven(path)).toString("utf8"), path);
  if (manifest !== undefined) return Promise.all(manifest.map(read));
  return Array.from({ length: manifests }, (_, index) => generateManifest(seed + index, flags));
}

function textOf(report: Report): string {
  const lines = report.findings.map(
    ({ manifest, kind, what, folder, again }) => `${manifest}: ${kind}: ${what}\n  ${folder}\n  ${again}`,
  );
  return `${[...lines, `${report.manifests} manifests, ${report.decisions} decisions, ${report.findings.length} findings`].join("\n")}\n`;
}

const words = process.argv.slice(2);
process.exitCode = await exitCodeOf(words, () => main(words));
