import { Command, InvalidArgumentError } from "commander";

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
