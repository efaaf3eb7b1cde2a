import { availableParallelism } from "node:os";
import { Command, CommanderError, InvalidArgumentError } from "commander";
import { ConclaveError } from "../../agents/core/errors.ts";

/** As everywhere: 1 says that what was asked for was done, and failed. */
export const EXIT_USAGE = 2;

/** A script's command line: a bad one ends it with exit code 2 and one line. */
export function scriptCommand(name: string, description: string): Command {
  return new Command(name)
    .description(description)
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : EXIT_USAGE));
}

/** A parser of an option that is a whole number. */
export function between(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= least && value <= most) return value;
    throw new InvalidArgumentError(`A whole number from ${least} to ${most} is needed.`);
  };
}

/** Options of a script that asks models. */
export function answerOptions(command: Command): Command {
  return command
    .option("--jobs <n>", "answers made at the same time, each in a process", between(1, 64), availableParallelism())
    .option("--cache <file>", "where answers are kept", ".cache/eval/answers.jsonl")
    .option("--no-cache", "keep no answers");
}

/** Runs a script whose command line throws, and tells what it was stopped by: 2, since 1 is a result. */
export async function exitCodeOf(argv: readonly string[], run: () => Promise<number>): Promise<number> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_USAGE;
    if (!(error instanceof ConclaveError)) throw error;
    const { code, message, data } = error;
    if (argv.includes("--json")) process.stdout.write(`${JSON.stringify({ error: { code, message, data } })}\n`);
    else process.stderr.write(`${code}: ${message}\n`);
    return EXIT_USAGE;
  }
}
