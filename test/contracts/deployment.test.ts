import { expect } from "chai";
import hre from "hardhat";

import { deployWorld, epochBlocks, maxStake, minStake } from "../../scripts/lib/world.ts";

const { ethers, networkHelpers } = await hre.network.create();
const { loadFixture } = networkHelpers;

const deployed = () => deployWorld(ethers);

describe("the registry's constructor", () => {
  it("refuses bounds under which draws would take long", async () => {
    const { registry, manager, token } = await loadFixture(deployed);
    for (const [low, high] of [
      [0n, 1n],
      [2n, 1n],
      [1n, 17n],
    ]) {
      const factory = await ethers.getContractFactory("AgentRegistry");
      await expect(factory.deploy(manager.target, token.target, low, high, 0, epochBlocks))
        .to.be.revertedWithCustomError(registry, "InvalidStakeBounds")
        .withArgs(low, high);
    }
  });

  it("refuses delays and epochs out of bounds, and announces those it takes", async () => {
    const { registry, manager, token } = await loadFixture(deployed);
    const factory = await ethers.getContractFactory("AgentRegistry");
    const deploy = (delay: number, blocks: number) =>
      factory.deploy(manager.target, token.target, minStake, maxStake, delay, blocks);
    const year = 365 * 24 * 3600;
    await expect(deploy(year + 1, 8))
      .to.be.revertedWithCustomError(registry, "InvalidUnbondingDelay")
      .withArgs(year + 1, year);
    for (const blocks of [0, 3, 7201]) {
      await expect(deploy(0, blocks))
        .to.be.revertedWithCustomError(registry, "InvalidEpochBlocks")
        .withArgs(blocks, 4, 7200);
    }
    await deploy(0, 7200);
    const longest = await deploy(year, 4);
    await expect(longest.deploymentTransaction())
      .to.emit(longest, "RegistryDeployed")
      .withArgs(token.target, minStake, maxStake, year, 4);
  });
});
