// Feeds every decoder of outside bytes with seeded nonsense (docs/chaos.md).
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { ConclaveError, messageOf } from "../../agents/core/errors.ts";
import { sha256 } from "../../agents/core/encoding/bytes.ts";
import { between, exitCodeOf, readGiven, toolCommand } from "../../scripts/shared/arguments.ts";
import { createTargets } from "./targets.ts";
import type { FuzzResult, FuzzTask } from "./worker.ts";

/** Something was found; every other failure exits with 2. */
const EXIT_FOUND = 1;
/** One input may take this long on a busy machine, and a thread may use this much memory. */
const HANG_MS = 5_000;
const MOST_MEGABYTES = 512;
const WATCH_MS = 250;
const SHARED_BYTES = 8 + (1 << 17);
/** Inputs that once broke a promise. */
const CORPUS = join(import.meta.dirname, "corpus");
const MOST_SECONDS = 86_400;
const MOST_INPUTS = 2 ** 31;

interface Flags {
  readonly seconds: number;
  readonly inputs?: number;
  readonly seed: number;
  readonly target?: string;
  readonly input?: string;
  readonly out: string;
  readonly json?: boolean;
}

interface Finding {
  readonly target: string;
  readonly reason: string;
  /** The input, and the command that runs it again. */
  readonly file: string;
  readonly again: string;
}

interface Report {
  readonly seed: number;
  /** Number of inputs by target. */
  readonly executions: Readonly<Record<string, number>>;
  /** Characters of code that they reached, by target. */
  readonly characters: Readonly<Record<string, number>>;
  readonly findings: readonly Finding[];
}

function commandLine(): ReturnType<typeof toolCommand> {
  return toolCommand("fuzz")
    .description(
      "Feeds the decoders of outside bytes with changed inputs: none may throw anything else than it promises, hang, or use too much memory. Inputs that reach new code are kept, and changed further.",
    )
    .option("--seconds <n>", "time for all targets together", between(1, MOST_SECONDS), 60)
    .option("--inputs <n>", "number of inputs of each target, if the time is enough for them", between(1, MOST_INPUTS))
    .option("--seed <n>", "what is drawn follows from it", between(0, 2 ** 31), 1)
    .option("--target <name>", "one decoder; all if absent")
    .option("--input <file>", "run this input alone; it needs --target")
    .option(
      "--out <folder>",
      "where inputs that broke a promise are kept; those that reached new code are kept in its folder corpus, with which the next run begins",
      ".cache/fuzz",
    )
    .option("--json", "print one JSON object instead of text")
    .addHelpText("after", "\nExample:\n  npm run fuzz -- --seconds 10 --target car --json\n")
    .addHelpText("after", "Exit codes: 0 nothing found, 1 something found, 2 it could not run.");
}

async function main(argv: readonly string[]): Promise<number> {
  const program = commandLine();
  program.parse(argv, { from: "user" });
  const flags = program.opts<Flags>();
  const folder = await mkdtemp(join(tmpdir(), "conclave-fuzz-"));
  try {
    const names = await namesOf(flags);
    const only = flags.input === undefined ? null : [Uint8Array.from(await readGiven(flags.input))];
    const executions: Record<string, number> = {};
    const characters: Record<string, number> = {};
    const findings: Finding[] = [];
    for (const target of names) {
      const milliseconds = (flags.seconds * 1_000) / names.length;
      const keptIn = join(flags.out, "corpus", target);
      const corpus = [...(await readInputs(join(CORPUS, target))), ...(await readInputs(keptIn))];
      const most = flags.inputs ?? MOST_INPUTS;
      const task = { target, seed: flags.seed, milliseconds, most, folder: join(folder, target), corpus, only };
      const result = await fuzz(task);
      executions[target] = result.executions;
      characters[target] = result.characters;
      for (const input of result.kept) await keep(keptIn, input);
      if (result.failure !== null) findings.push(await keepFinding(flags.out, target, result.failure));
    }
    const report: Report = { seed: flags.seed, executions, characters, findings };
    process.stdout.write(flags.json === true ? `${JSON.stringify(report)}\n` : textOf(report));
    return findings.length > 0 ? EXIT_FOUND : 0;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function namesOf({ target, input }: Flags): Promise<readonly string[]> {
  const folder = await mkdtemp(join(tmpdir(), "conclave-fuzz-"));
  const { targets, close } = await createTargets(folder);
  await close();
  await rm(folder, { recursive: true, force: true });
  const names = Object.keys(targets);
  if (target === undefined && input === undefined) return names;
  if (target !== undefined && names.includes(target)) return [target];
  throw new ConclaveError(
    "USAGE",
    `Correct --target ${JSON.stringify(target ?? "")}: choose one of ${names.join(", ")}`,
    {
      field: "target",
      value: target ?? "",
    },
  );
}

/** Returns the inputs of a folder, by name; none if there is no folder. */
async function readInputs(folder: string): Promise<readonly Uint8Array[]> {
  const files = await readdir(folder).catch(() => []);
  return Promise.all(
    files
      .toSorted((one, other) => (one < other ? -1 : 1))
      .map(async (file) => Uint8Array.from(await readFile(join(folder, file)))),
  );
}

/** Runs one target; a thread that hangs or dies is a finding, too. */
async function fuzz(task: Omit<FuzzTask, "shared">): Promise<FuzzResult> {
  const shared = new SharedArrayBuffer(SHARED_BYTES);
  const head = new Uint32Array(shared, 0, 2);
  const cut = (executions: number, reason: string): FuzzResult => {
    const input = Uint8Array.from(new Uint8Array(shared, 8, head[1]));
    return { executions, characters: 0, kept: [], failure: { input, reason } };
  };
  const worker = new Worker(new URL("./worker.ts", import.meta.url), {
    workerData: { ...task, shared } satisfies FuzzTask,
    resourceLimits: { maxOldGenerationSizeMb: MOST_MEGABYTES },
  });
  return await new Promise<FuzzResult>((resolve) => {
    let begun = 0;
    let begunAt = performance.now();
    const watch = setInterval(() => {
      const now = Atomics.load(head, 0);
      if (now !== begun || now === 0) [begun, begunAt] = [now, performance.now()];
      else if (performance.now() - begunAt > HANG_MS) end(cut(now, `no end after ${HANG_MS / 1000} s`));
    }, WATCH_MS);
    const end = (result: FuzzResult): void => {
      clearInterval(watch);
      resolve(result);
      void worker.terminate();
    };
    worker.once("message", end);
    worker.once("error", (error) => end(cut(begun, messageOf(error))));
  });
}

async function keepFinding(
  out: string,
  target: string,
  { input, reason }: NonNullable<FuzzResult["failure"]>,
): Promise<Finding> {
  const file = await keep(out, input, `${target}-`);
  return { target, reason, file, again: `npm run fuzz -- --target ${target} --input ${file}` };
}

/** Writes an input under the beginning of its hash, and returns its file. */
async function keep(folder: string, input: Uint8Array, prefix = ""): Promise<string> {
  await mkdir(folder, { recursive: true });
  const file = join(folder, `${prefix}${sha256(input).slice(2, 14)}`);
  await writeFile(file, input);
  return file;
}

function textOf({ executions, characters, findings }: Report): string {
  const runs = Object.entries(executions).map(
    ([target, count]) => `${target}: ${count} inputs, ${characters[target] ?? 0} characters of code`,
  );
  const found = findings.map(({ target, reason, again }) => `${target}: ${reason}\n  ${again}`);
  return `${[...runs, ...found, `${findings.length} findings`].join("\n")}\n`;
}

const words = process.argv.slice(2);
process.exitCode = await exitCodeOf(words, () => main(words));
