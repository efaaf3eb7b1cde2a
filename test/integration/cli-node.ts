// The command line against a chain whose agents do not run: a test certifies with their keys, and so controls what they decide.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Address } from "../../agents/core/types.ts";
import { openBank, type Bank } from "../../devnet/world/bank.ts";
import { createNodeHarness, type NodeHarness } from "../adapters/chain-node.ts";
import { agentFolders, createCli, type Cli } from "./cli-world.ts";

/** Options of `agent init` for an agent that never asks a model. */
export const NO_MODEL = ["--model-url", "http://127.0.0.1:1", "--model-name", "none"] as const;

export interface CliNode {
  readonly harness: NodeHarness;
  readonly bank: Bank;
  /** Its folder holds deployment.json. */
  readonly cli: Cli;
  /** Makes an account with a keystore in a folder of that name, 10 coins and that many of the token's smallest units. */
  readonly accountOf: (name: string, tokens: bigint) => Promise<Address>;
  readonly stop: () => Promise<void>;
}

/** @param agents the chain's agents, as `createNodeHarness` takes them */
export async function startCliNode(agents?: Parameters<typeof createNodeHarness>[0]): Promise<CliNode> {
  const harness = await createNodeHarness(agents);
  const cli = createCli(await mkdtemp(join(tmpdir(), "conclave-cli-")));
  const deployment = { ...harness.deployment, rpcUrl: harness.chain.rpcUrl };
  await writeFile(join(cli.folder, "deployment.json"), JSON.stringify(deployment));
  const bank = openBank(harness.chain, harness.deployment.token, harness.accounts[0]!);
  const makeFolder = agentFolders(cli, NO_MODEL);
  return {
    harness,
    bank,
    cli,
    async accountOf(name, tokens) {
      const address = await makeFolder(name);
      await bank.fund(address, tokens);
      return address;
    },
    async stop() {
      await harness.stop();
      await rm(cli.folder, { recursive: true, force: true });
    },
  };
}
