import { readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { CommanderError } from "commander";
import { BaseError } from "viem";
import { toChainError } from "../../agents/adapters/chain/errors.ts";
import { makeFolderOf } from "../../agents/cli/shared/folder.ts";
import { errorFailure, usageFailure } from "../../agents/cli/shared/failure.ts";
import { toJson } from "../../agents/cli/shared/output.ts";
import { isUsage } from "../../agents/cli/shared/reasons.ts";
import { ConclaveError } from "../../agents/core/errors.ts";
import { EXIT_USAGE, reported, type Streams } from "../shared/arguments.ts";
import { addressFrom, readAccount } from "./account.ts";
import type { Deployment } from "./settings.ts";
import { commandLine, type Flags } from "./flags.ts";
import type { Step } from "./plan.ts";
import { usage } from "./price-options.ts";
import { networkOf, readRules, type Network } from "./rules.ts";

interface Result {
  readonly json: object;
  readonly text: string;
}

const EXIT_FAILED = 1;
const HELP = "npm run deploy -- --help";

/** Deploys, or shows the plan, and returns the exit code. */
export async function main(argv: readonly string[], streams: Streams = process): Promise<number> {
  const program = commandLine();
  try {
    program.parse(argv, { from: "user" }).requireOptions();
  } catch (error) {
    if (error instanceof CommanderError)
      return reported(usageFailure(error, HELP), argv.includes("--json"), EXIT_USAGE, streams);
    throw error;
  }
  const flags = program.opts<Flags>();
  try {
    const { json, text } = await run(flags, (line) => void streams.stderr.write(`${line}\n`));
    streams.stdout.write(`${flags.json === true ? toJson(json) : text}\n`);
    return 0;
  } catch (error) {
    // Anything else is a bug or a broken build, and its stack helps.
    if (!(error instanceof ConclaveError)) throw error;
    return reported(
      errorFailure(error, HELP),
      flags.json === true,
      isUsage(error.code) ? EXIT_USAGE : EXIT_FAILED,
      streams,
    );
  }
}

type Progress = (line: string) => void;

async function run(flags: Flags, progress: Progress): Promise<Result> {
  const network = await networkOf(flags.network);
  try {
    return await runOn(network, flags, progress);
  } catch (error) {
    throw error instanceof BaseError ? toChainError(error, "Deploy the contracts", network.rpcUrl) : error;
  }
}

async function runOn(network: Network, flags: Flags, progress: Progress): Promise<Result> {
  const { chainId, rules } = await readRules(flags, network);
  // Loaded only here: Ignition takes a second, and a wrong flag is refused before.
  const { deploy, planDeployment } = await import("./deployment.ts");
  const file = resolve(flags.out ?? join(import.meta.dirname, "../../deployments", `${chainId}.json`));
  const folder = file.replace(/\.json$/, "");
  if (folder === file) throw usage("--out", "names a file that ends in .json");
  await reserve(file, folder);
  const directory = join(folder, "ignition");
  const unfinished = flags.reset === true ? {} : { directory };
  if (flags.dryRun === true) {
    const { steps, deployment } = await planDeployment({ ...rules, ...unfinished, account: await addressFrom(flags) });
    return { json: { steps, deployment }, text: [...steps.map(lineOf), describe(deployment)].join("\n") };
  }
  const account = await readAccount(flags);
  if (flags.reset === true) await rm(directory, { recursive: true, force: true });
  const options = { ...rules, account, directory, progress };
  const plan = await planDeployment(options);
  progress(`compiling the contracts (${rules.buildProfile} build); the first time takes minutes`);
  const deployment = await deploy(options);
  const { writeVerification } = await import("./verification.ts");
  await writeVerification(join(folder, "verification"), plan, rules.buildProfile);
  await writeFile(file, `${JSON.stringify(deployment, null, 2)}\n`, { flag: "wx" });
  return { json: deployment, text: `${describe(deployment)}\nWritten to ${file}; verification inputs beside it` };
}

/** Keeps the place of the addresses free. An existing file is never overwritten: its addresses cannot be found again. */
async function reserve(file: string, folder: string): Promise<void> {
  await makeFolderOf("--out", dirname(file));
  const existing = await readFile(file).catch(() => null);
  if (existing !== null)
    throw usage("--out", `names ${file}, which exists; move it and the folder ${folder} away or choose another name`);
}

function lineOf({ action, contract, address, functionName = "", args }: Step): string {
  const shown = args.map((argument) => toJson(argument)).join(", ");
  return action === "create"
    ? `create ${contract} at ${address}\n  (${shown})`
    : `call ${contract} at ${address}\n  ${functionName}(${shown})`;
}

function describe(deployment: Deployment): string {
  const lines = Object.entries(deployment).map(([name, value]) => `  ${name.padEnd(16)}${value}`);
  return `Chain ${deployment.chainId}:\n${lines.join("\n")}`;
}
