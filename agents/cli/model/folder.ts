import { resolve } from "node:path";
import { modelsFolder } from "../../adapters/model-files/folder.ts";
import { parseFolder } from "../shared/arguments.ts";
import type { CliHost, OptionSpec } from "../shared/command.ts";

export const folderOption: OptionSpec = {
  flags: "--dir <dir>",
  description: "folder of models (default: the variable CONCLAVE_MODELS, else ~/.conclave/models)",
};

/** Returns the folder of models that the option or the environment names. Throws USAGE. */
export function folderOf(dir: string | undefined, { cwd, environment }: CliHost): string {
  return dir === undefined ? modelsFolder(environment) : resolve(cwd, parseFolder(dir, "--dir"));
}
