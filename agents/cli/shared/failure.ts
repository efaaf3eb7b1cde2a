import type { CommanderError } from "commander";
import type { ConclaveError } from "../../core/errors.ts";
import { printable, toJson } from "./output.ts";
import { wayOutOf } from "./reasons.ts";

/** An error as every command line of the repository prints it. */
export interface Failure {
  readonly code: string;
  readonly message: string;
  readonly way: string | null;
  readonly data: object;
}

/** Null for --help and --version, which commander reports as errors. `help`: the command that shows the help. */
export function usageFailure({ code, message, exitCode }: CommanderError, help: string): Failure | null {
  if (exitCode === 0) return null;
  const text = code === "commander.help" ? "name a command" : inPlainWords(message);
  // Commander puts its suggestion on a line of its own.
  return {
    code: "USAGE",
    message: text.replace(/\n\(Did you mean (.+)\?\)$/, "; did you mean $1?"),
    way: see(help),
    data: {},
  };
}

/** Commander's message, with the argument or the option first. */
function inPlainWords(message: string): string {
  return message
    .replace(/^error: /, "")
    .replace(/^command-argument value '(.*)' is invalid for argument '(.*)'\./s, "argument <$2> cannot be '$1'.")
    .replace(/^option '(.*)' argument '(.*)' is invalid\./s, "option '$1' cannot be '$2'.");
}

export function errorFailure(error: ConclaveError, help: string): Failure {
  const { code, message, data } = error;
  // The message says what is missing; the help, how it is given.
  const isGiven = code === "USAGE" || code === "CONFIG_MISSING" || (code === "CONFIG_INVALID" && "option" in data);
  return { code, message, way: isGiven ? see(help) : wayOutOf(error), data };
}

function see(help: string): string {
  return `see \`${help}\``;
}

export function failureText({ code, message, way }: Failure): string {
  return `error ${code}: ${printable(message)}\n${way === null ? "" : `way out: ${way}\n`}`;
}

export function failureJson({ code, message, data }: Failure): string {
  return `${toJson({ error: { code, message, data } })}\n`;
}
