import { expect } from "chai";
import { ZeroAddress } from "ethers";
import hre from "hardhat";

import { deployRegistry, deployWorld, freeCoins, freeTokens, registryTerms } from "../support/contracts/world.ts";

const { ethers, networkHelpers } = await hre.network.create();
const { loadFixture } = networkHelpers;

type Terms = Awaited<ReturnType<typeof registryTerms>>;

/** Makes a world, and a function that deploys a second registry with other terms. */
async function deployed() {
  const { registry, token } = await deployWorld(ethers);
  const factory = await ethers.getContractFactory("AgentRegistry");
  const deploy = async (change: Partial<Record<keyof Terms, unknown>>) =>
    factory.deploy({ ...(await registryTerms(ethers, token.target)), ...change });
  return { registry, token, deploy };
}

describe("the registry's constructor", () => {
  it("refuses bounds under which draws would take long or shares would not fit", async () => {
    const { registry, deploy } = await loadFixture(deployed);
    for (const [minStake, maxStake] of [
      [0n, 0n],
      [0n, 1n],
      [2n, 1n],
      [1n, 17n],
      [1n << 95n, 1n << 96n],
    ]) {
      await expect(deploy({ minStake, maxStake }))
        .to.be.revertedWithCustomError(registry, "InvalidStakeBounds")
        .withArgs(minStake, maxStake);
    }
    for (const [minStake, maxStake] of [
      [1n, 16n],
      [5n, 5n],
      [1n << 95n, (1n << 96n) - 1n],
    ])
      await deploy({ minStake, maxStake });
  });

  it("refuses delays and epochs out of bounds, and announces the accepted ones", async () => {
    const { registry, deploy } = await loadFixture(deployed);
    const day = 24 * 3600;
    for (const unbondingDelay of [0, 16 * day - 1, 365 * day + 1]) {
      await expect(deploy({ unbondingDelay }))
        .to.be.revertedWithCustomError(registry, "InvalidUnbondingDelay")
        .withArgs(unbondingDelay, 16 * day, 365 * day);
    }
    for (const epochBlocks of [0, 24, 7201]) {
      await expect(deploy({ epochBlocks }))
        .to.be.revertedWithCustomError(registry, "InvalidEpochBlocks")
        .withArgs(epochBlocks, 25, 7200);
    }
    await deploy({ epochBlocks: 7200 });
    const longest = await deploy({ unbondingDelay: 365 * day, epochBlocks: 25 });
    const [event] = await longest.queryFilter(longest.filters["RegistryDeployed"]!());
    const { args } = event as unknown as { readonly args: readonly [Readonly<Record<string, unknown>>] };
    expect([args[0]["unbondingDelay"], args[0]["epochBlocks"]]).to.deep.equal([BigInt(365 * day), 25n]);
  });

  it("refuses the zero address for the accounts that it is bound to", async () => {
    const { registry, deploy } = await loadFixture(deployed);
    for (const name of ["oracle", "slasher", "treasury"] as const) {
      await expect(deploy({ [name]: ZeroAddress })).to.be.revertedWithCustomError(registry, "InvalidBinding");
    }
  });
});

describe("the oracle's constructor", () => {
  it("refuses a chain whose prevrandao is a constant", async () => {
    const { token } = await loadFixture(deployed);
    const [deployer] = await ethers.getSigners();
    const factory = await ethers.getContractFactory("DecisionOracle");
    const create = async (prevRandao: bigint) => {
      const { target } = await deployRegistry(ethers, token.target);
      await networkHelpers.setPrevRandao(prevRandao);
      // With a limit nothing is estimated, which would happen on another block.
      const terms = [deployer!.address, target, token.target, 1n, freeTokens, freeCoins] as const;
      return factory.deploy(...terms, { gasLimit: 12_000_000n });
    };
    // Scroll, Arbitrum, Linea before its Beta v4, ZKsync.
    for (const constant of [0n, 1n, 2n, 2_500_000_000_000_000n, 2n ** 64n - 1n]) {
      await expect(create(constant)).to.be.revertedWithCustomError(factory, "ChainHasNoBeacon").withArgs(constant);
    }
    await (await create(2n ** 64n)).waitForDeployment();
  });
});

describe("the slasher's constructor", () => {
  it("refuses a registry that is bound to another one", async () => {
    const { registry } = await loadFixture(deployed);
    const factory = await ethers.getContractFactory("Slasher");
    await expect(factory.deploy(registry.target))
      .to.be.revertedWithCustomError(factory, "NotBound")
      .withArgs(await registry.slasher());
  });
});
