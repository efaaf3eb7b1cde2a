import { readFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join, relative } from "node:path";
import { CommanderError, InvalidArgumentError } from "commander";
import { errorFailure, failureJson, failureText, usageFailure, type Failure } from "../../agents/cli/shared/failure.ts";
import { isUsage } from "../../agents/cli/shared/reasons.ts";
import { StrictCommand } from "../../agents/cli/shared/strict-command.ts";
import { ConclaveError, messageOf } from "../../agents/core/errors.ts";

/** Exit code of a tool that could not run. As everywhere, 1 means that the command ran and its result is a failure. */
export const EXIT_USAGE = 2;
const EXIT_FAILED = 1;

/** Returns the command line of a tool. A bad one throws CommanderError and prints nothing: see `exitCodeOf`. */
export function toolCommand(name: string): StrictCommand {
  return new StrictCommand(name).exitOverride().configureOutput({ writeErr: () => undefined });
}

/**
 * Returns the command line that shows the help of the tool that runs, as it was typed: `npm run NAME -- --help`, or with
 * Node if npm did not start it. `part`: the words that name a part of the tool, such as a study of the lab.
 */
export function typedHelp(part: readonly string[] = []): string {
  const entry = relative(join(import.meta.dirname, "../.."), process.argv[1] ?? "");
  const { npm_lifecycle_event: name, npm_lifecycle_script: script = "" } = process.env;
  // A script that npm started may have started this tool in its turn.
  const isOfNpm = name !== undefined && script.split(" ").includes(entry);
  const isNamed = isOfNpm && part.length > 0 && script.endsWith(` ${part.join(" ")}`);
  const words = [isOfNpm ? `npm run ${name} --` : `node ${entry}`, ...(isNamed ? [] : part), "--help"];
  return words.join(" ");
}

/** Returns the command line of a script. A bad command line ends the script with exit code 2. */
export function scriptCommand(name: string, description: string): StrictCommand {
  return toolCommand(name)
    .description(description)
    .exitOverride((error) => process.exit(reported(usageFailure(error, typedHelp()), false)));
}

/** Where a tool prints. */
export interface Streams {
  readonly stdout: { write(text: string): unknown };
  readonly stderr: { write(text: string): unknown };
}

/** Prints a failure as `conclave` does, and returns the exit code: 0 for none, else `exitCode`. */
export function reported(
  failure: Failure | null,
  json: boolean,
  exitCode = EXIT_USAGE,
  { stdout, stderr }: Streams = process,
): number {
  if (failure === null) return 0;
  if (json) stdout.write(failureJson(failure));
  else stderr.write(failureText(failure));
  return exitCode;
}

/** Returns a parser for an option that takes a whole number. */
export function between(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= least && value <= most) return value;
    throw new InvalidArgumentError(`A whole number from ${least} to ${most} is needed.`);
  };
}

/** Adds the options of a study that asks models. */
export function answerOptions(command: StrictCommand): StrictCommand {
  return command
    .option("--jobs <n>", "answers made at the same time, each in a process", between(1, 64), availableParallelism())
    .option("--cache <file>", "where answers are kept", ".cache/eval/answers.jsonl")
    .option("--no-cache", "keep no answers");
}

/** Prints the error that ends a tool, and returns the exit code: 2 for a bad command line, else 1. */
export function endedBy(error: unknown): number {
  if (error instanceof ConclaveError)
    return reported(errorFailure(error, typedHelp()), false, isUsage(error.code) ? EXIT_USAGE : EXIT_FAILED);
  process.stderr.write(`error: ${messageOf(error)}\n`);
  return EXIT_FAILED;
}

/** Runs a program and returns its exit code. Every error becomes 2, since 1 is a result; one that nobody foresaw ends the process. */
export async function exitCodeOf(
  argv: readonly string[],
  run: () => Promise<number>,
  part: readonly string[] = [],
): Promise<number> {
  try {
    return await run();
  } catch (error) {
    const json = argv.includes("--json");
    if (error instanceof CommanderError) return reported(usageFailure(error, typedHelp(part)), json);
    if (error instanceof ConclaveError) return reported(errorFailure(error, typedHelp(part)), json);
    process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    process.exit(EXIT_USAGE);
  }
}

/** Reads a file that the user named. Throws CONFIG_MISSING. */
export async function readGiven(path: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (error) {
    const message = `Read ${path}: ${messageOf(error)}; name a file that is there`;
    throw new ConclaveError("CONFIG_MISSING", message, { path }, error);
  }
}
