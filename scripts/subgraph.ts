// npm run subgraph:build: compiles the history of a deployment for The Graph.
import { existsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { makeFolderOf } from "../agents/cli/shared/folder.ts";
import { ConclaveError } from "../agents/core/errors.ts";
import { endedBy, scriptCommand } from "./shared/arguments.ts";
import { progress } from "./shared/progress.ts";
import { buildFor } from "./subgraph/build.ts";
import { readDeploymentFile } from "./subgraph/deployment-file.ts";

const { deployment, network, out } = scriptCommand(
  "subgraph:build",
  "Compile the subgraph; with a deployment, into a folder that can be deployed to a graph-node. Needs no network.",
)
  .option("--deployment <file>", "where the contracts are, as `npm run deploy` writes it")
  .option("--network <name>", "the chain's name at the graph-node", "mainnet")
  .option("--out <folder>", "must not exist", "subgraph-build")
  .addHelpText(
    "after",
    "\nExample:\n  $ npm run subgraph:build -- --deployment deployments/11155111.json --network sepolia",
  )
  .parse()
  .opts<{ readonly deployment?: string; readonly network: string; readonly out: string }>();

try {
  if (existsSync(out)) {
    const message = `Correct --out ${JSON.stringify(out)}: it exists already; name a folder that does not, or remove it`;
    throw new ConclaveError("USAGE", message, { field: "out", value: out });
  }
  await makeFolderOf("--out", dirname(resolve(out)));
  const deployed = deployment === undefined ? null : await readDeploymentFile(deployment);
  await buildFor(deployed, network, out);
  progress(`${out}/subgraph.yaml is ready${deployed === null ? "; its addresses are 0: name a --deployment" : ""}`);
} catch (error) {
  process.exitCode = endedBy(error);
}
