// A chain in this process with the production build of the contracts.
import { dirname } from "node:path";

import type { HardhatEthers } from "@nomicfoundation/hardhat-ethers/types";
import { createHardhatRuntimeEnvironment, importUserConfig, resolveHardhatConfigPath } from "hardhat/hre";

const root = dirname(dirname(import.meta.dirname));

/** Starts the chain with a build folder of its own, so that the development build stays as it is. */
export async function startProductionChain(accounts = 20): Promise<HardhatEthers> {
  const userConfig = await importUserConfig(await resolveHardhatConfigPath());
  const config = {
    ...userConfig,
    paths: { ...userConfig.paths, artifacts: "cache/bench-gas/artifacts", cache: "cache/bench-gas/cache" },
  };
  const runtime = await createHardhatRuntimeEnvironment(config, { buildProfile: "production" }, root);
  await runtime.tasks.getTask("build").run({ noTests: true, quiet: true });
  // The plugin adds `ethers` to the connection.
  const connection: object = await runtime.network.create({ override: { accounts: { count: accounts } } });
  return (connection as { ethers: HardhatEthers }).ethers;
}
