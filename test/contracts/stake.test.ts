import { expect } from "chai";
import { Signature } from "ethers";
import hre from "hardhat";

import { agentOf, permitTypes, testKey } from "../support/contracts/typed-data.ts";
import {
  committeeNow,
  deployWorld,
  joiningDelay,
  maxStake,
  minStake,
  nextEpoch,
  registerAgents,
  registration,
  unbondingDelay,
} from "../support/contracts/world.ts";
import type { World } from "../support/contracts/world.ts";

const { ethers, networkHelpers } = await hre.network.create();
const { loadFixture, time } = networkHelpers;

/** Makes one agent of the deployer at the minimum stake. */
async function oneAgent() {
  const world = await deployWorld(ethers);
  const [, stranger, other] = await ethers.getSigners();
  await world.registry.register(registration(world, world.deployer.address, testKey("first agent"), minStake));
  return { world, stranger: stranger!, other: other! };
}

async function signPermit(world: World, value: bigint, spender = world.registry) {
  const owner = world.deployer;
  const name = "Conclave test token";
  const domain = { ...world.domain, name, verifyingContract: world.token.target };
  const deadline = 2n ** 40n;
  const nonce: bigint = await world.token.nonces(owner.address);
  const permit = { owner: owner.address, spender: spender.target, value, nonce, deadline };
  const { v, r, s } = Signature.from(await owner.signTypedData(domain, permitTypes, permit));
  return { value, deadline, v, r, s };
}

describe("stake", () => {
  it("SC3: an operator loses its part of a slice, and its delegators the rest", async () => {
    const { world, stranger } = await loadFixture(oneAgent);
    const { registry, token } = world;
    await token.mint(stranger.address, maxStake);
    await token.connect(stranger).approve(registry.target, maxStake);
    await registry.connect(stranger).bond(1, maxStake - minStake);
    const slasher = (await registry.slasher()) as string;
    await networkHelpers.impersonateAccount(slasher);
    await networkHelpers.setBalance(slasher, 10n ** 18n);
    const slice = minStake / 20n;
    await registry.connect(await ethers.getSigner(slasher)).slashOverturned(1, stranger.address, slice);
    const own = (await registry.positionOf(1, world.deployer.address)).bonded as bigint;
    expect(minStake - own).to.equal(slice / 16n);
  });

  describe("permit", () => {
    it("registers and tops up without an approval", async () => {
      const { world } = await loadFixture(oneAgent);
      const { registry, token, deployer } = world;
      await token.approve(registry.target, 0);
      const entry = registration(world, deployer.address, testKey("second agent"), minStake);
      await registry.registerWithPermit(entry, await signPermit(world, minStake));
      const permit = await signPermit(world, 5n);
      const start = (await time.latest()) + 10;
      await time.setNextBlockTimestamp(start);
      await expect(registry.bondWithPermit(2, 5, permit))
        .to.emit(registry, "StakeBonded")
        .withArgs(2, deployer.address, 5, 5, start + joiningDelay);
    });

    it("works even if another account submitted the permit first", async () => {
      const { world, stranger } = await loadFixture(oneAgent);
      const { registry, token, deployer } = world;
      await token.approve(registry.target, 0);
      const permit = await signPermit(world, 7n);
      const token2612 = (await ethers.getContractAt("TestToken", token.target)).connect(stranger);
      const { value, deadline, v, r, s } = permit;
      await token2612.getFunction("permit")(deployer.address, registry.target, value, deadline, v, r, s);
      await registry.bondWithPermit(1, 7, permit);
      expect((await registry.getAgent(1)).bonded.assets).to.equal(minStake + 7n);
    });

    it("fails on the allowance if the permit is invalid", async () => {
      const { world } = await loadFixture(oneAgent);
      const { registry, token } = world;
      await token.approve(registry.target, 0);
      const permit = await signPermit(world, 7n);
      await expect(registry.bondWithPermit(1, 7, { ...permit, value: 8n }))
        .to.be.revertedWithCustomError(token, "ERC20InsufficientAllowance")
        .withArgs(registry.target, 0, 7);
    });
  });

  describe("of the operator", () => {
    it("can be topped up to the maximum and no further", async () => {
      const { world } = await loadFixture(oneAgent);
      const { registry } = world;
      await registry.bond(1, maxStake - minStake);
      await expect(registry.bond(1, 1))
        .to.be.revertedWithCustomError(registry, "StakeAboveMaximum")
        .withArgs(maxStake + 1n, maxStake);
      await expect(registry.bond(1, 0)).to.be.revertedWithCustomError(registry, "AmountIsZero");
    });

    it("leaves in parts, and each part starts the delay again", async () => {
      const { world, other } = await loadFixture(oneAgent);
      const { registry, token, deployer } = world;
      const own = deployer.address;
      await registry.bond(1, 100);
      const start = (await time.latest()) + 10;
      await time.setNextBlockTimestamp(start);
      await expect(registry.startUnbonding(1, 60))
        .to.emit(registry, "UnbondingStarted")
        .withArgs(1, own, 60, 60, 60, start + unbondingDelay);
      await time.setNextBlockTimestamp(start + 1000);
      await expect(registry.startUnbonding(1, 40))
        .to.emit(registry, "UnbondingStarted")
        .withArgs(1, own, 40, 40, 40, start + 1000 + unbondingDelay);
      await time.setNextBlockTimestamp(start + 999 + unbondingDelay);
      await expect(registry.withdrawStake(1, other.address))
        .to.be.revertedWithCustomError(registry, "StillUnbonding")
        .withArgs(1, own, start + 1000 + unbondingDelay);
      await time.setNextBlockTimestamp(start + 1000 + unbondingDelay);
      await expect(registry.withdrawStake(1, other.address))
        .to.emit(registry, "StakeWithdrawn")
        .withArgs(1, own, other.address, 100, 100);
      expect(await token.balanceOf(other.address)).to.equal(100n);
      await expect(registry.withdrawStake(1, other.address))
        .to.be.revertedWithCustomError(registry, "NothingToWithdraw")
        .withArgs(1, own);
      expect(await registry.positionOf(1, own)).to.deep.equal([minStake, minStake, 0n, 0n, 0n, 0n, 0n]);
    });

    it("removes the agent from the next epoch's draws when it falls below the minimum, and returns it above", async () => {
      const { world } = await loadFixture(oneAgent);
      const { registry } = world;
      await registerAgents(world, 4);
      await expect(registry.startUnbonding(1, 1)).to.emit(registry, "AgentDeactivated").withArgs(1);
      expect(await registry.activeCount()).to.equal(4n);
      expect((await registry.getAgent(1)).active).to.be.false;
      expect(await registry.drawableCount()).to.equal(5n);
      await nextEpoch(world);
      expect(await registry.drawableCount()).to.equal(4n);
      const drawn = await committeeNow(world, ethers.ZeroHash, 4);
      expect(drawn.map(agentOf)).to.have.members([2n, 3n, 4n, 5n]);
      await expect(registry.bond(1, 1)).to.emit(registry, "AgentActivated").withArgs(1);
      await registry.startUnbonding(3, maxStake);
      await nextEpoch(world);
      await expect(committeeNow(world, ethers.ZeroHash, 5))
        .to.be.revertedWithCustomError(registry, "TooFewAgents")
        .withArgs(4, 5);
      const again = await committeeNow(world, ethers.ZeroHash, 4);
      expect(again.map(agentOf)).to.have.members([1n, 2n, 4n, 5n]);
    });

    it("cannot leave in a larger amount than is bonded", async () => {
      const { world } = await loadFixture(oneAgent);
      const { registry, deployer } = world;
      await expect(registry.startUnbonding(1, minStake + 1n))
        .to.be.revertedWithCustomError(registry, "InsufficientShares")
        .withArgs(1, deployer.address, minStake, minStake + 1n);
      await expect(registry.startUnbonding(1, 0)).to.be.revertedWithCustomError(registry, "AmountIsZero");
    });
  });

  describe("delegation", () => {
    it("is open to any account for an active agent, within the agent's maximum", async () => {
      const { world, stranger } = await loadFixture(oneAgent);
      const { registry, token } = world;
      await token.mint(stranger.address, 2n * maxStake);
      await token.connect(stranger).approve(registry.target, 2n * maxStake);
      const delegator = registry.connect(stranger);
      await expect(delegator.bond(1, maxStake - minStake + 1n))
        .to.be.revertedWithCustomError(registry, "StakeAboveMaximum")
        .withArgs(maxStake + 1n, maxStake);
      const start = (await time.latest()) + 10;
      await time.setNextBlockTimestamp(start);
      await expect(delegator.bond(1, maxStake - minStake))
        .to.emit(registry, "StakeBonded")
        .withArgs(1, stranger.address, maxStake - minStake, maxStake - minStake, start + joiningDelay);
      await expect(delegator.withdrawStake(1, stranger.address))
        .to.be.revertedWithCustomError(registry, "NothingToWithdraw")
        .withArgs(1, stranger.address);
      // Only the operator's own stake keeps the agent active, and only the operator makes it active again.
      await expect(registry.startUnbonding(1, 1)).to.emit(registry, "AgentDeactivated").withArgs(1);
      await expect(delegator.bond(1, 1)).to.be.revertedWithCustomError(registry, "AgentNotActive").withArgs(1);
      await expect(registry.bond(1, 1)).to.emit(registry, "AgentActivated").withArgs(1);
      // The operator cannot keep the delegated stake back.
      await registry.startUnbonding(1, minStake);
      await delegator.startUnbonding(1, maxStake - minStake);
      await time.increase(unbondingDelay);
      await expect(delegator.withdrawStake(1, stranger.address))
        .to.emit(registry, "StakeWithdrawn")
        .withArgs(1, stranger.address, stranger.address, maxStake - minStake, maxStake - minStake);
    });

    it("does not include donations, which belong to nobody", async () => {
      const { world } = await loadFixture(oneAgent);
      const { registry, token, deployer } = world;
      await token.transfer(registry.target, 10n ** 24n);
      await registry.bond(1, 7);
      const joiningEnd = BigInt((await time.latest()) + joiningDelay);
      const position = [minStake + 7n, minStake + 7n, 7n, joiningEnd, 0n, 0n, 0n];
      expect(await registry.positionOf(1, deployer.address)).to.deep.equal(position);
    });
  });
});
