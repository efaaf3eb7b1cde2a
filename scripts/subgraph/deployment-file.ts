import { readFile } from "node:fs/promises";
import { parseJson } from "../../agents/adapters/json.ts";
import { fileTrouble } from "../../agents/cli/shared/config.ts";
import { ConclaveError } from "../../agents/core/errors.ts";
import type { Deployed } from "./manifest.ts";

/** A deployment as `npm run deploy` and the demo write it. */
export interface DeploymentFile extends Deployed {
  readonly chainId: number;
  readonly rpcUrl?: string;
}

/** Reads what --deployment names. Throws USAGE. */
export async function readDeploymentFile(file: string): Promise<DeploymentFile> {
  const wrong = (reason: string, cause?: unknown): ConclaveError => {
    const message = `Correct --deployment ${JSON.stringify(file)}: ${reason}; name a file that npm run deploy or the demo wrote`;
    return new ConclaveError("USAGE", message, { field: "deployment", value: file }, cause);
  };
  const text = await readFile(file, "utf8").catch((error: unknown) => {
    throw wrong(fileTrouble(error), error);
  });
  const found = parseJson(text) as Partial<DeploymentFile> | null | undefined;
  if (found === undefined || found === null) throw wrong("it is not JSON");
  for (const name of ["registry", "oracle", "settlement", "slasher", "deploymentBlock", "chainId"] as const)
    if (found[name] === undefined) throw wrong(`it has no ${name}`);
  return found as DeploymentFile;
}
