import { readFileSync } from "node:fs";
import { join } from "node:path";
import { CommanderError } from "commander";
import { ConclaveError } from "../core/errors.ts";
import { commands as product, type CommandGroup, type TopCommand } from "./commands.ts";
import { addCommand, type CliHost, type CommandEntry } from "./shared/command.ts";
import { completionScript, type Words } from "./shared/completion.ts";
import { errorFailure, failureJson, failureText, usageFailure, type Failure } from "./shared/failure.ts";
import { isUsage } from "./shared/reasons.ts";
import { StrictCommand } from "./shared/strict-command.ts";

const EXIT_FAILURE = 1;
const EXIT_USAGE = 2;
const EXIT_INTERRUPTED = 130;

/** Ends the help of the program. */
const BEGINNING = `
\`conclave COMMAND --help\` shows the options and an example. With --json a command prints one JSON value.
Which deployment: --deployment FILE, the variable CONCLAVE_DEPLOYMENT, or the only file in ./deployments.
To complete commands by Tab in bash, where conclave is installed: source <(conclave completion)
`;

type Commands = readonly (CommandGroup | TopCommand)[];

/** Runs one command line (without the program's name) and resolves with the exit code; never rejects. */
export async function runCli(argv: readonly string[], host: CliHost, commands: Commands = product): Promise<number> {
  let code = 0;
  try {
    const program = await createProgram(argv, host, commands, (set) => (code = set));
    await program.parseAsync([...argv], { from: "user" });
    return code;
  } catch (error) {
    return reportError(error, argv, host, commands);
  }
}

async function createProgram(
  argv: readonly string[],
  host: CliHost,
  commands: Commands,
  exit: (code: number) => void,
): Promise<StrictCommand> {
  const program = new StrictCommand("conclave")
    .description(
      "An on-chain oracle whose answers are argued, voted and signed by a committee of language-model agents.",
    )
    .version(ownVersion(), "-V, --version", "print the version")
    .exitOverride()
    .configureOutput({ writeOut: host.stdout, writeErr: () => undefined });
  const [first, second] = wordsIn(argv);
  for (const entry of commands) {
    program.commandsGroup(`${entry.topic}:`);
    if (!("commands" in entry)) await addCommand(program, entry, wordOf(entry) === first, host, exit);
    else {
      const group = program.command(entry.name).description(entry.summary);
      const called = entry.name === first ? calledOf(entry, second) : undefined;
      for (const command of entry.commands) await addCommand(group, command, command === called, host, exit);
    }
  }
  program
    .command("completion", { hidden: true })
    .description("print what bash needs to complete the commands by Tab")
    .allowExcessArguments(false)
    .action(() => host.stdout(completionScript(wordsOf(commands))));
  program.addHelpText("after", BEGINNING);
  return program;
}

/** The version of the package, or of the checkout. */
function ownVersion(): string {
  const text = readFileSync(join(import.meta.dirname, "../../package.json"), "utf8");
  return (JSON.parse(text) as { readonly version: string }).version;
}

/** The commands by their first word, with the second words of each. */
function wordsOf(commands: Commands): Words {
  const named = commands.map((one) => [
    wordOf(one) ?? "",
    "commands" in one ? one.commands.map((inner) => wordOf(inner) ?? "") : [],
  ]);
  return Object.fromEntries(named) as Words;
}

/** The words that are no options; `help` may stand before any word of a command. */
function wordsIn(argv: readonly string[]): readonly string[] {
  return argv.filter((word) => word !== "help" && !word.startsWith("-"));
}

/** The command line that shows the help of the command that was called. */
function helpOf(argv: readonly string[], commands: Commands): string {
  const [first, second] = wordsIn(argv);
  const entry = commands.find((one) => wordOf(one) === first);
  const inner = entry !== undefined && "commands" in entry ? entry.commands.map(wordOf) : [];
  return [
    "conclave",
    ...(entry === undefined ? [] : [first]),
    ...inner.filter((word) => word === second),
    "--help",
  ].join(" ");
}

function calledOf({ commands: all }: CommandGroup, word: string | undefined): CommandEntry | undefined {
  return all.find((entry) => wordOf(entry) === word) ?? all.find(({ isDefault }) => isDefault);
}

/** The name of a command without its arguments. */
function wordOf({ name }: CommandEntry | CommandGroup): string | undefined {
  return name.split(" ")[0];
}

interface Ended {
  readonly failure: Failure;
  readonly exitCode: number;
}

function reportError(error: unknown, argv: readonly string[], host: CliHost, commands: Commands): number {
  const ended = endOf(error, helpOf(argv, commands), host.signal);
  if (ended === null) return 0;
  const { failure, exitCode } = ended;
  if (argv.includes("--json")) host.stdout(failureJson(failure));
  else host.stderr(failureText(failure));
  return exitCode;
}

/** Turns an error into a failure; null for --help and --version. */
function endOf(error: unknown, help: string, signal: AbortSignal): Ended | null {
  if (error instanceof CommanderError) {
    const failure = usageFailure(error, help);
    return failure && { failure, exitCode: EXIT_USAGE };
  }
  if (signal.aborted) {
    const failure = { code: "INTERRUPTED", message: "stopped by a signal", way: null, data: {} };
    return { failure, exitCode: EXIT_INTERRUPTED };
  }
  if (error instanceof ConclaveError)
    return { failure: errorFailure(error, help), exitCode: isUsage(error.code) ? EXIT_USAGE : EXIT_FAILURE };
  const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  const failure = { code: "UNEXPECTED", message, way: "report it: this is a bug", data: {} };
  return { failure, exitCode: EXIT_FAILURE };
}
