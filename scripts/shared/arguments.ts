import { availableParallelism } from "node:os";
import { Command, CommanderError, InvalidArgumentError } from "commander";
import { ConclaveError } from "../../agents/core/errors.ts";

/** Exit code of a bad command line. As everywhere, 1 means that the command ran and its result is a failure. */
export const EXIT_USAGE = 2;

/** Returns the command line of a script. A bad command line ends the script with exit code 2 and one line. */
export function scriptCommand(name: string, description: string): Command {
  return new Command(name)
    .description(description)
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : EXIT_USAGE));
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
export function answerOptions(command: Command): Command {
  return command
    .option("--jobs <n>", "answers made at the same time, each in a process", between(1, 64), availableParallelism())
    .option("--cache <file>", "where answers are kept", ".cache/eval/answers.jsonl")
    .option("--no-cache", "keep no answers");
}

/** Runs a program and returns its exit code. A bad command line and a ConclaveError become 2, since 1 is a result. */
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
