import { expect } from "chai";
import { Signature, ZeroAddress, concat, toBeHex } from "ethers";
import type { BytesLike } from "ethers";
import hre from "hardhat";

import { addressOf, packSeat, publicKeyOf, testKey } from "../support/contracts/typed-data.ts";
import {
  committeeNow,
  deployWorld,
  epochBlocks,
  maxStake,
  minStake,
  nextEpoch,
  provePossession,
  registration,
  servicesOf,
  registryTerms,
  treasury,
  unbondingDelay,
} from "../support/contracts/world.ts";

const { ethers, networkHelpers } = await hre.network.create();
const { loadFixture } = networkHelpers;

/** Makes one agent of the deployer at the minimum stake. */
async function oneAgent() {
  const world = await deployWorld(ethers);
  const [, stranger, other] = await ethers.getSigners();
  const key = testKey("first agent");
  await world.registry.register(registration(world, world.deployer.address, key, minStake));
  return { world, key, stranger: stranger!, other: other! };
}

async function impersonate(address: string) {
  await networkHelpers.setBalance(address, 10n ** 18n);
  return ethers.getImpersonatedSigner(address);
}

describe("AgentRegistry", () => {
  describe("register", () => {
    it("binds operator, signer, stake and reputation and activates the agent", async () => {
      const { world, key, stranger } = await loadFixture(oneAgent);
      const { registry, token, deployer } = world;
      const next = testKey("second agent");
      await token.mint(stranger.address, maxStake);
      await token.connect(stranger).approve(registry.target, maxStake);
      const before: bigint = await token.balanceOf(registry.target);
      const entry = registration(world, stranger.address, next, maxStake);
      await expect(registry.connect(stranger).register(entry))
        .to.emit(registry, "AgentRegistered")
        .withArgs(2, stranger.address, addressOf(next), publicKeyOf(next), entry.model, entry.endpoint, 1_000_000, 0)
        .and.to.emit(registry, "StakeBonded")
        .withArgs(2, stranger.address, maxStake, maxStake, 0)
        .and.to.emit(registry, "AgentActivated")
        .withArgs(2);
      expect(await registry.getAgent(2)).to.deep.equal([
        stranger.address,
        ZeroAddress,
        addressOf(next),
        1_000_000n,
        true,
        0n,
        0n,
        false,
        false,
        0n,
        0n,
        [maxStake, maxStake],
        0n,
        [0n, 0n],
        0n,
        0n,
        0n,
      ]);
      expect(await registry.positionOf(2, stranger.address)).to.deep.equal([maxStake, maxStake, 0n, 0n, 0n, 0n, 0n]);
      expect(await token.balanceOf(registry.target)).to.equal(before + maxStake);
      expect([...(await registry.keyOf(addressOf(key)))]).to.deep.equal([1n, 0n]);
      expect([...(await registry.keyOf(stranger.address))]).to.deep.equal([0n, 0n]);
      expect(await registry.operatorOf(1)).to.equal(deployer.address);
      expect(await registry.activeCount()).to.equal(2n);
      expect(await registry.agentCount()).to.equal(2n);
    });

    it("returns the settings of its deployment", async () => {
      const { world } = await loadFixture(oneAgent);
      const { registry, token, oracle, slasher } = world;
      expect(await registry.oracle()).to.equal(oracle.target);
      expect(await registry.slasher()).to.equal(slasher.target);
      expect(await registry.treasury()).to.equal(treasury);
      expect(await slasher.registry()).to.equal(registry.target);
      expect(await slasher.oracle()).to.equal(oracle.target);
      expect(await registry.minStake()).to.equal(minStake);
      expect(await registry.maxStake()).to.equal(maxStake);
      expect(await registry.unbondingDelay()).to.equal(unbondingDelay);
      expect(await registry.epochBlocks()).to.equal(epochBlocks);
      expect(await registry.stakeToken()).to.equal(token.target);
    });

    it("refuses a stake out of bounds", async () => {
      const { world } = await loadFixture(oneAgent);
      const { registry, deployer } = world;
      const key = testKey("second agent");
      const low = registration(world, deployer.address, key, minStake - 1n);
      await expect(registry.register(low))
        .to.be.revertedWithCustomError(registry, "StakeBelowMinimum")
        .withArgs(minStake - 1n, minStake);
      const high = registration(world, deployer.address, key, maxStake + 1n);
      await expect(registry.register(high))
        .to.be.revertedWithCustomError(registry, "StakeAboveMaximum")
        .withArgs(maxStake + 1n, maxStake);
    });

    it("refuses texts that are too long, and accepts the longest allowed", async () => {
      const { world } = await loadFixture(oneAgent);
      const { registry, deployer } = world;
      const entry = registration(world, deployer.address, testKey("second agent"), minStake);
      await expect(registry.register({ ...entry, model: "m".repeat(257) }))
        .to.be.revertedWithCustomError(registry, "TextTooLong")
        .withArgs(257, 256);
      await expect(registry.register({ ...entry, endpoint: "e".repeat(513) }))
        .to.be.revertedWithCustomError(registry, "TextTooLong")
        .withArgs(513, 512);
      await registry.register({ ...entry, model: "m".repeat(256), endpoint: "e".repeat(512) });
    });

    it("refuses a public key that is invalid or not the signer's", async () => {
      const { world } = await loadFixture(oneAgent);
      const { registry, deployer } = world;
      const key = testKey("second agent");
      const entry = registration(world, deployer.address, key, minStake);
      for (const length of [0, 63, 65]) {
        await expect(registry.register({ ...entry, publicKey: new Uint8Array(length) }))
          .to.be.revertedWithCustomError(registry, "InvalidPublicKey")
          .withArgs(length);
      }
      const publicKey = publicKeyOf(testKey("another"));
      await expect(registry.register({ ...entry, publicKey })).to.be.revertedWithCustomError(
        registry,
        "InvalidPossession",
      );
    });

    it("refuses a proof of possession by another key, for another operator, or malformed", async () => {
      const { world, stranger } = await loadFixture(oneAgent);
      const { registry, deployer } = world;
      const key = testKey("second agent");
      const signer = addressOf(key);
      const entry = registration(world, deployer.address, key, minStake);
      const refused = async (possession: BytesLike): Promise<void> => {
        await expect(registry.register({ ...entry, possession })).to.be.revertedWithCustomError(
          registry,
          "InvalidPossession",
        );
      };
      await refused(provePossession(world, stranger.address, key));
      await refused(provePossession({ ...world, registryDomain: world.domain }, deployer.address, key));
      await refused("0x");
      const { r, s, yParity } = Signature.from(entry.possession);
      const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
      const malleable = concat([r, toBeHex(order - BigInt(s), 32), yParity === 0 ? "0x1c" : "0x1b"]);
      await expect(registry.register({ ...entry, possession: malleable }))
        .to.be.revertedWithCustomError(registry, "InvalidPossession")
        .withArgs(ZeroAddress, signer);
    });

    it("refuses a key that is in use", async () => {
      const { world, key } = await loadFixture(oneAgent);
      const { registry, deployer } = world;
      await expect(registry.register(registration(world, deployer.address, key, minStake)))
        .to.be.revertedWithCustomError(registry, "SignerInUse")
        .withArgs(addressOf(key));
    });

    it("refuses a token that takes a fee on transfers", async () => {
      const { world } = await loadFixture(oneAgent);
      const { deployer, registryDomain } = world;
      const token = await ethers.deployContract("FeeOnTransferToken");
      const terms = await registryTerms(ethers, await token.getAddress());
      const registry = await ethers.deployContract("AgentRegistry", [terms]);
      await token.getFunction("mint")(deployer.address, maxStake);
      await token.getFunction("approve")(registry.target, maxStake);
      const domain = { ...registryDomain, verifyingContract: await registry.getAddress() };
      const entry = registration({ ...world, registryDomain: domain }, deployer.address, testKey("fee"), minStake);
      await expect(registry.getFunction("register")(entry))
        .to.be.revertedWithCustomError(registry, "TransferMismatch")
        .withArgs(minStake, minStake - 1n);
    });
  });

  describe("signer", () => {
    it("is rotated for the next draws, and no key is used twice", async () => {
      const { world, key } = await loadFixture(oneAgent);
      const { registry, deployer } = world;
      const next = testKey("rotated");
      const possession = provePossession(world, deployer.address, next);
      await expect(registry.rotateSigner(1, publicKeyOf(next), possession))
        .to.emit(registry, "SignerRotated")
        .withArgs(1, addressOf(next), publicKeyOf(next));
      const end = BigInt(await networkHelpers.time.latest()) + ((await registry.unbondingDelay()) as bigint);
      expect((await registry.getAgent(1)).signer).to.equal(addressOf(next));
      await nextEpoch(world);
      expect(await committeeNow(world, ethers.ZeroHash, 1)).to.deep.equal([
        BigInt(packSeat(1, 1_000_000, addressOf(next))),
      ]);
      expect([...(await registry.keyOf(addressOf(key)))]).to.deep.equal([1n, end]);
      expect([...(await registry.keyOf(addressOf(next)))]).to.deep.equal([1n, 0n]);
      for (const used of [key, next]) {
        const proof = provePossession(world, deployer.address, used);
        await expect(registry.rotateSigner(1, publicKeyOf(used), proof))
          .to.be.revertedWithCustomError(registry, "SignerInUse")
          .withArgs(addressOf(used));
      }
    });

    it("must come with a proof of possession", async () => {
      const { world, stranger } = await loadFixture(oneAgent);
      const { registry } = world;
      const next = testKey("rotated");
      const possession = provePossession(world, stranger.address, next);
      await expect(registry.rotateSigner(1, publicKeyOf(next), possession)).to.be.revertedWithCustomError(
        registry,
        "InvalidPossession",
      );
    });
  });

  describe("permissions", () => {
    it("lets only the operator act, except on descriptors and on an account's own stake", async () => {
      const { world, stranger } = await loadFixture(oneAgent);
      const registry = world.registry.connect(stranger);
      for (const call of [
        () => registry.rotateSigner(1, "0x", "0x"),
        () => registry.setCommission(1, 0),
        () => registry.raiseCommission(1),
        () => registry.setEndpoint(1, "e"),
        () => registry.setModel(1, "m"),
      ]) {
        await expect(call()).to.be.revertedWithCustomError(registry, "NotOperator").withArgs(1, stranger.address);
      }
    });

    it("rejects unknown agents", async () => {
      const { world } = await loadFixture(oneAgent);
      const { registry } = world;
      const permit = { value: 0, deadline: 0, v: 27, r: ethers.ZeroHash, s: ethers.ZeroHash };
      for (const call of [
        () => registry.getAgent(2),
        () => registry.operatorOf(2),
        () => registry.bond(2, 1),
        () => registry.bondWithPermit(2, 1, permit),
        () => registry.startEarning(2, ethers.ZeroAddress),
        () => registry.startUnbonding(2, 1),
        () => registry.withdrawStake(2, ethers.ZeroAddress),
        () => registry.claimRewards(2, 0, ethers.ZeroAddress),
        () => registry.setCommission(2, 0),
        () => registry.raiseCommission(2),
        () => registry.setModel(0, ""),
      ]) {
        await expect(call()).to.be.revertedWithCustomError(registry, "UnknownAgent");
      }
    });

    it("lets the operator and the signer change the descriptors", async () => {
      const { world, key } = await loadFixture(oneAgent);
      const { registry, deployer } = world;
      const signer = await ethers.getImpersonatedSigner(addressOf(key));
      await networkHelpers.setBalance(signer.address, 10n ** 18n);
      for (const account of [deployer, signer]) {
        await expect(registry.connect(account).setEndpoint(1, "/dns4/a"))
          .to.emit(registry, "EndpointUpdated")
          .withArgs(1, "/dns4/a");
        await expect(registry.connect(account).setModel(1, "m2")).to.emit(registry, "ModelUpdated").withArgs(1, "m2");
      }
      for (const [set, maximum] of [
        [registry.setModel, 256],
        [registry.setEndpoint, 512],
      ] as const) {
        await set(1, "x".repeat(maximum));
        await expect(set(1, "x".repeat(maximum + 1)))
          .to.be.revertedWithCustomError(registry, "TextTooLong")
          .withArgs(maximum + 1, maximum);
      }
    });

    it("credits pay down to a single unit", async () => {
      const { world } = await loadFixture(oneAgent);
      const { registry, oracle } = world;
      const trusted = registry.connect(await impersonate(oracle.target));
      const services = servicesOf([1], 0, 1n);
      await expect(trusted.recordServices(0, services)).to.emit(registry, "ServicesRecorded").withArgs(0, services);
    });

    it("slashes only agents that it knows", async () => {
      const { world } = await loadFixture(oneAgent);
      const { registry, slasher, deployer } = world;
      const trusted = registry.connect(await impersonate(slasher.target));
      await expect(trusted.slash(2, deployer.address))
        .to.be.revertedWithCustomError(registry, "UnknownAgent")
        .withArgs(2);
    });

    it("lets only the oracle change reputations", async () => {
      const { world, stranger } = await loadFixture(oneAgent);
      const { registry, oracle } = world;
      await expect(registry.connect(stranger).recordServices(0, servicesOf([1], -1)))
        .to.be.revertedWithCustomError(registry, "NotOracle")
        .withArgs(stranger.address);
      const trusted = registry.connect(await impersonate(oracle.target));
      await expect(trusted.recordServices(0, servicesOf([1], -2)))
        .to.emit(registry, "ReputationChanged")
        .withArgs(1, -2, 640_000);
      await expect(trusted.recordServices(0, servicesOf([1], 1)))
        .to.emit(registry, "ReputationChanged")
        .withArgs(1, 1, 650_000);
      expect((await registry.getAgent(1)).reputation).to.equal(650_000n);
      await nextEpoch(world);
      const [drawn] = await committeeNow(world, ethers.ZeroHash, 1);
      expect((drawn! >> 160n) & 0xffffffffn).to.equal(650_000n);
      await trusted.recordServices(0, servicesOf(Array(160).fill(1), 0));
      await expect(trusted.recordServices(0, servicesOf(Array(161).fill(1), 1)))
        .to.be.revertedWithCustomError(registry, "TooManyServices")
        .withArgs(161, 160);
    });

    it("removes an agent for good when its reputation falls too low", async () => {
      const { world } = await loadFixture(oneAgent);
      const { registry, oracle } = world;
      const trusted = registry.connect(await impersonate(oracle.target));
      await expect(trusted.recordServices(0, servicesOf([1], -11)))
        .to.emit(registry, "AgentDeactivated")
        .withArgs(1)
        .and.to.emit(registry, "AgentExited")
        .withArgs(1);
      await expect(registry.bond(1, 1)).to.be.revertedWithCustomError(registry, "AgentHasExited").withArgs(1);
    });

    it("DR3: draws from the running epoch and the one before it, and refuses any other", async () => {
      const { world } = await loadFixture(oneAgent);
      const { registry } = world;
      await nextEpoch(world);
      const first = BigInt(await world.ethers.provider.getBlockNumber()) / epochBlocks;
      const drawn = async (epoch: bigint): Promise<readonly bigint[]> =>
        registry.committee(ethers.ZeroHash, epoch, 1, []);
      const before = await drawn(first);
      const next = testKey("rotated");
      await registry.rotateSigner(1, publicKeyOf(next), provePossession(world, world.deployer.address, next));
      expect(await drawn(first)).to.deep.equal(before);
      await nextEpoch(world);
      expect(await drawn(first)).to.deep.equal(before);
      expect(await drawn(first + 1n)).to.deep.equal([BigInt(packSeat(1, 1_000_000, addressOf(next)))]);
      await nextEpoch(world);
      for (const epoch of [0n, first, first + 3n, 2n ** 64n - 1n])
        await expect(drawn(epoch))
          .to.be.revertedWithCustomError(registry, "EpochNotKept")
          .withArgs(epoch, first + 2n);
    });

    it("draws at most 64 seats, and an empty committee for size 0", async () => {
      const { world } = await loadFixture(oneAgent);
      expect(await committeeNow(world, ethers.ZeroHash, 0)).to.deep.equal([]);
      await expect(committeeNow(world, ethers.ZeroHash, 65))
        .to.be.revertedWithCustomError(world.registry, "InvalidCommitteeSize")
        .withArgs(65, 64);
    });
  });
});
