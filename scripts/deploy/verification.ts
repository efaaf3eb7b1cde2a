// Inputs by which an explorer or Sourcify verifies a deployment: the compiler's standard input, and the constructor's
// arguments of each contract.
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { encodeDeployData, type Hex } from "viem";
import type { Address } from "../../agents/core/types.ts";
import { loadArtifacts, type BuildProfile } from "../../agents/adapters/artifacts/artifacts.ts";
import type { Plan } from "./deployment.ts";
import { contracts } from "./settings.ts";

/** A compiler run. */
interface BuildInfo {
  readonly solcLongVersion: string;
  /** Standard JSON input. */
  readonly input: object;
}

/** The content of verification/<Contract>.json. */
export interface Verification {
  readonly address: Address;
  /** Name in the form of explorers: "file:contract", the file as the standard input names it. */
  readonly contract: string;
  /** E.g. "v0.8.34+commit.80d5c536". */
  readonly compilerVersion: string;
  /** ABI-encoded. */
  readonly constructorArguments: Hex;
  /** File beside this one with the standard JSON input for all contracts of one compiler run. */
  readonly standardInput: string;
}

/** Writes one file for each contract that the plan creates, and one for each compiler run. Replaces existing files. */
export async function writeVerification(
  folder: string,
  { steps, deployment }: Pick<Plan, "steps" | "deployment">,
  profile: BuildProfile,
): Promise<void> {
  const { settlement } = deployment;
  const created = [
    ...steps.filter(({ action }) => action === "create"),
    // By the oracle's constructor.
    { contract: "Settlement", address: settlement, args: [] },
  ];
  const artifacts = await loadArtifacts(
    created.map(({ contract }) => contracts[contract] ?? contract),
    profile,
  );
  await mkdir(folder, { recursive: true });
  for (const [index, { contract, address, args }] of created.entries()) {
    const artifact = artifacts[index];
    if (artifact === undefined) throw new Error(`Write verification/${contract}.json: there is no artifact`);
    const { abi, bytecode, inputSourceName, buildInfoId } = artifact;
    const { input, solcLongVersion } = await readBuildInfo(buildInfoId);
    const standardInput = `input-${buildInfoId}.json`;
    const data = encodeDeployData({ abi, bytecode, args });
    const verification: Verification = {
      address,
      contract: `${inputSourceName}:${contract}`,
      compilerVersion: `v${solcLongVersion}`,
      constructorArguments: `0x${data.slice(bytecode.length)}`,
      standardInput,
    };
    await writeFile(join(folder, `${contract}.json`), `${JSON.stringify(verification, null, 2)}\n`);
    await writeFile(join(folder, standardInput), JSON.stringify(input));
  }
}

/** Reads the compiler run that made an artifact. */
async function readBuildInfo(id: string): Promise<BuildInfo> {
  const folder = join(import.meta.dirname, "../../artifacts/build-info");
  return JSON.parse(await readFile(join(folder, `${id}.json`), "utf8")) as BuildInfo;
}
