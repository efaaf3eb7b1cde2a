import type { CommanderError } from "commander";
import type { ConclaveError } from "../../core/errors.ts";
import { printable, toJson } from "./output.ts";
import { wayOut, wayOutOf } from "./reasons.ts";

/** An error as every command line of the repository prints it. */
export interface Failure {
  readonly code: string;
  readonly message: string;
  readonly way: string | null;
  readonly data: object;
}

/** Null for --help and --version, which commander reports as errors. */
export function usageFailure({ code, message, exitCode }: CommanderError): Failure | null {
  if (exitCode === 0) return null;
  const text = code === "commander.help" ? "name a command" : message.replace(/^error: /, "");
  // Commander puts its suggestion on a line of its own.
  return {
    code: "USAGE",
    message: text.replace(/\n\(Did you mean (.+)\?\)$/, "; did you mean $1?"),
    way: wayOut.USAGE,
    data: {},
  };
}

export function errorFailure(error: ConclaveError): Failure {
  const { code, message, data } = error;
  return { code, message, way: wayOutOf(error), data };
}

export function failureText({ code, message, way }: Failure): string {
  return `error ${code}: ${printable(message)}\n${way === null ? "" : `way out: ${way}\n`}`;
}

export function failureJson({ code, message, data }: Failure): string {
  return `${toJson({ error: { code, message, data } })}\n`;
}
