// Agents that have served long enough to weigh in full.
import { Currency } from "./typed-data.ts";
import { nextEpoch, servicesOf, type World } from "./world.ts";

/** PROVEN_SERVICE in contracts/types/Limits.sol. */
const SERVICES = 16;
/** Below MAX_REQUEST_SEATS in contracts/types/Limits.sol. */
const BATCH = 128;

/**
 * Makes the registry count as many settled requests for these agents as prove an agent, as if the oracle had settled
 * them.
 */
export async function proveAgents(world: World, first: number, last: number): Promise<void> {
  const { ethers, oracle, registry } = world;
  await ethers.provider.send("hardhat_impersonateAccount", [oracle.target]);
  const balance = await ethers.provider.send("eth_getBalance", [oracle.target, "latest"]);
  await ethers.provider.send("hardhat_setBalance", [oracle.target, "0x56bc75e2d63100000"]);
  const trusted = registry.connect(await ethers.getSigner(oracle.target));
  for (let from = first; from <= last; from += BATCH) {
    const ids = Array.from({ length: Math.min(BATCH, last - from + 1) }, (_, index) => from + index);
    const services = servicesOf(ids, 0, 1n);
    for (let service = 0; service < SERVICES; service++) await trusted.recordServices(Currency.Token, services);
  }
  await ethers.provider.send("hardhat_setBalance", [oracle.target, balance]);
  await ethers.provider.send("hardhat_stopImpersonatingAccount", [oracle.target]);
  await nextEpoch(world);
}
