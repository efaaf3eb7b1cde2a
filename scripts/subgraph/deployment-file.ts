import { readFile } from "node:fs/promises";
import type { Deployed } from "./manifest.ts";

/** A deployment as `npm run deploy` and the demo write it. */
export interface DeploymentFile extends Deployed {
  readonly chainId: number;
  readonly rpcUrl?: string;
}

export async function readDeploymentFile(file: string): Promise<DeploymentFile> {
  const found = JSON.parse(await readFile(file, "utf8")) as Partial<DeploymentFile>;
  for (const name of ["registry", "oracle", "settlement", "slasher", "deploymentBlock", "chainId"] as const)
    if (found[name] === undefined) throw new Error(`Read ${file}: it has no ${name}`);
  return found as DeploymentFile;
}
