import { Option } from "commander";
import { toJson } from "./output.ts";
import type { StrictCommand } from "./strict-command.ts";

/** The process around a command; tests replace it. */
export interface CliHost {
  readonly stdout: (text: string) => void;
  readonly stderr: (text: string) => void;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Relative paths start here. */
  readonly cwd: string;
  /** Aborts on Ctrl-C. */
  readonly signal: AbortSignal;
  /** scrypt's N of keystores that a command makes: tests make throw-away keys. That of `createKeystore` if absent. */
  readonly scryptN?: number;
}

export interface Result {
  readonly json: object;
  readonly text: string;
  /** False ends the process with exit code 1. */
  readonly ok?: boolean;
}

export interface Invocation<Options> {
  readonly args: readonly string[];
  readonly options: Options;
  readonly host: CliHost;
  /** True if stdout is for machines. */
  readonly json: boolean;
  /** Writes a line for people to stderr. */
  readonly tell: (line: string) => void;
}

export interface OptionSpec {
  readonly flags: string;
  readonly description: string;
  readonly default?: string;
  readonly required?: boolean;
  /** Fields of options that exclude this one: both together are a USAGE error, so that neither is ignored. */
  readonly excludes?: readonly string[];
}

/** What the help lists of a command. Its file loads when it is called, because all files take a second to load. */
export interface CommandEntry {
  /** The name with its arguments, e.g. "decision <id>". */
  readonly name: string;
  readonly summary: string;
  /** Runs if the group's arguments name no command. */
  readonly isDefault?: true;
  readonly load: () => Promise<CommandSpec<never>>;
}

/** What the file of a command declares; `wire` joins it to the process. */
export interface CommandSpec<Options> {
  /** One command line per line. */
  readonly example: string;
  readonly options: readonly OptionSpec[];
  readonly run: (invocation: Invocation<Options>) => Promise<Result>;
}

/** The only exit code that a command sets itself; errors are mapped in run-cli.ts. */
export const FAILED = 1;

/** Lists a command in the help of its parent; loads its file if it is called. */
export async function addCommand(
  parent: StrictCommand,
  entry: CommandEntry,
  isCalled: boolean,
  host: CliHost,
  exit: (code: number) => void,
): Promise<void> {
  const { name, summary, isDefault = false } = entry;
  const command = parent.command(name, { isDefault }).description(summary).allowExcessArguments(false);
  if (isCalled) wire(command, await entry.load(), host, exit);
  command.option("--json", "print one JSON value on stdout");
}

function wire<Options>(
  command: StrictCommand,
  spec: CommandSpec<Options>,
  host: CliHost,
  exit: (code: number) => void,
): void {
  for (const { flags, description, default: value, required = false, excludes = [] } of spec.options) {
    const option = new Option(flags, description).default(value).makeOptionMandatory(required);
    command.addOption(option.conflicts([...excludes]));
  }
  command.addHelpText("after", `\nExample:\n  $ ${spec.example.replaceAll("\n", "\n  $ ")}\n`);
  command.action(async () => {
    command.requireOptions();
    const options = command.opts<Options & { readonly json?: true }>();
    const json = options.json === true;
    const tell = (line: string): void => host.stderr(`${line}\n`);
    const result = await spec.run({ args: command.processedArgs as string[], options, host, json, tell });
    host.stdout(json ? `${toJson(result.json)}\n` : `${result.text}\n`);
    if (result.ok === false) exit(FAILED);
  });
}
