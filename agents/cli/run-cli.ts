import { Command, CommanderError } from "commander";
import { ConclaveError } from "../core/errors.ts";
import { commands, type CommandGroup } from "./commands.ts";
import { addCommand, type CliHost, type CommandEntry } from "./shared/command.ts";
import { printable, toJson } from "./shared/output.ts";
import { isUsage, wayOut, wayOutOf } from "./shared/reasons.ts";

const EXIT_FAILURE = 1;
const EXIT_USAGE = 2;
const EXIT_INTERRUPTED = 130;

/** Runs one command line (without the program's name) and resolves with the exit code; never rejects. */
export async function runCli(argv: readonly string[], host: CliHost): Promise<number> {
  let code = 0;
  try {
    const program = await createProgram(argv, host, (set) => (code = set));
    await program.parseAsync([...argv], { from: "user" });
    return code;
  } catch (error) {
    return reportError(error, argv.includes("--json"), host);
  }
}

async function createProgram(argv: readonly string[], host: CliHost, exit: (code: number) => void): Promise<Command> {
  const program = new Command("conclave")
    .description(
      "An on-chain oracle whose answers are argued, voted and signed by a committee of language-model agents.",
    )
    .exitOverride()
    .configureOutput({ writeOut: host.stdout, writeErr: () => undefined });
  // `help` may stand before any word of a command.
  const [first, second] = argv.filter((word) => word !== "help" && !word.startsWith("-"));
  for (const entry of commands) {
    if (!("commands" in entry)) await addCommand(program, entry, wordOf(entry) === first, host, exit);
    else {
      const group = program.command(entry.name).description(entry.summary);
      const called = entry.name === first ? calledOf(entry, second) : undefined;
      for (const command of entry.commands) await addCommand(group, command, command === called, host, exit);
    }
  }
  return program;
}

function calledOf({ commands: all }: CommandGroup, word: string | undefined): CommandEntry | undefined {
  return all.find((entry) => wordOf(entry) === word) ?? all.find(({ isDefault }) => isDefault);
}

/** The name of a command without its arguments. */
function wordOf({ name }: CommandEntry): string | undefined {
  return name.split(" ")[0];
}

interface Failure {
  readonly code: string;
  readonly message: string;
  readonly way: string | null;
  readonly data: object;
  readonly exitCode: number;
}

function reportError(error: unknown, json: boolean, host: CliHost): number {
  const failure = cliFailure(error, host.signal);
  if (failure === null) return 0;
  const { code, message, way, data, exitCode } = failure;
  if (json) host.stdout(`${toJson({ error: { code, message, data } })}\n`);
  else host.stderr(`error ${code}: ${printable(message)}\n${way === null ? "" : `way out: ${way}\n`}`);
  return exitCode;
}

/** Turns an error into a failure; null for --help and --version, which commander reports as errors. */
function cliFailure(error: unknown, signal: AbortSignal): Failure | null {
  if (error instanceof CommanderError) return usageFailure(error);
  if (signal.aborted)
    return { code: "INTERRUPTED", message: "stopped by a signal", way: null, data: {}, exitCode: EXIT_INTERRUPTED };
  if (error instanceof ConclaveError) {
    const { code, message, data } = error;
    return { code, message, way: wayOutOf(error), data, exitCode: isUsage(code) ? EXIT_USAGE : EXIT_FAILURE };
  }
  const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return { code: "UNEXPECTED", message, way: "report it: this is a bug", data: {}, exitCode: EXIT_FAILURE };
}

function usageFailure({ code, message, exitCode }: CommanderError): Failure | null {
  if (exitCode === 0) return null;
  if (code === "commander.help")
    return { code: "USAGE", message: "name a command", way: wayOut.USAGE, data: {}, exitCode: EXIT_USAGE };
  return { code: "USAGE", message: message.replace(/^error: /, ""), way: wayOut.USAGE, data: {}, exitCode: EXIT_USAGE };
}
