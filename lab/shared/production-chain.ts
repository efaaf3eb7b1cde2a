// A chain in this process with the production build of the contracts.
import { dirname, join } from "node:path";

import type { HardhatEthers } from "@nomicfoundation/hardhat-ethers/types";
import { createHardhatRuntimeEnvironment, importUserConfig } from "hardhat/hre";

const root = dirname(dirname(import.meta.dirname));

/** Starts the chain on the build of `npm run test:contracts:production`, which is made if it is missing or old. */
export async function startProductionChain(accounts = 20): Promise<HardhatEthers> {
  const config = await importUserConfig(join(root, "scripts/solidity/production.config.ts"));
  const runtime = await createHardhatRuntimeEnvironment(config, { buildProfile: "production" }, root);
  await runtime.tasks.getTask("build").run({ noTests: true, quiet: true });
  // The plugin adds `ethers` to the connection.
  const connection: object = await runtime.network.create({ override: { accounts: { count: accounts } } });
  return (connection as { ethers: HardhatEthers }).ethers;
}
