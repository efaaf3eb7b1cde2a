import { Option, type Command } from "commander";
import { toJson } from "./output.ts";

/** The process around a command; tests replace it. */
export interface CliHost {
  readonly stdout: (text: string) => void;
  readonly stderr: (text: string) => void;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Relative paths start here. */
  readonly cwd: string;
  /** Aborts on Ctrl-C. */
  readonly signal: AbortSignal;
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

/** One command: its file declares it, `addCommand` wires it to the process. */
export interface CommandSpec<Options> {
  /** The name with its arguments, e.g. "decision <id>". */
  readonly name: string;
  readonly summary: string;
  /** One command line per line. */
  readonly example: string;
  readonly options: readonly OptionSpec[];
  /** Runs if the group's arguments name no command. */
  readonly isDefault?: true;
  readonly run: (invocation: Invocation<Options>) => Promise<Result>;
}

/** The only exit code that a command sets itself; errors are mapped in run-cli.ts. */
export const FAILED = 1;

export function addCommand<Options>(
  parent: Command,
  spec: CommandSpec<Options>,
  host: CliHost,
  exit: (code: number) => void,
): void {
  const { isDefault = false } = spec;
  const command = parent.command(spec.name, { isDefault }).description(spec.summary).allowExcessArguments(false);
  for (const { flags, description, default: value, required = false, excludes = [] } of spec.options) {
    const option = new Option(flags, description).default(value).makeOptionMandatory(required);
    command.addOption(option.conflicts([...excludes]));
  }
  command.option("--json", "print one JSON value on stdout");
  command.addHelpText("after", `\nExample:\n  $ ${spec.example.replaceAll("\n", "\n  $ ")}\n`);
  command.action(async () => {
    const options = command.opts<Options & { readonly json?: true }>();
    const json = options.json === true;
    const tell = (line: string): void => host.stderr(`${line}\n`);
    const result = await spec.run({ args: command.processedArgs as string[], options, host, json, tell });
    host.stdout(json ? `${toJson(result.json)}\n` : `${result.text}\n`);
    if (result.ok === false) exit(FAILED);
  });
}
