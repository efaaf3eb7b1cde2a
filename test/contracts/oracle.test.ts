import { expect } from "chai";
import {
  Signature,
  TypedDataEncoder,
  ZeroAddress,
  decodeRlp,
  encodeBytes32String,
  getBytes,
  id as hashText,
  toUtf8Bytes,
} from "ethers";
import hre from "hardhat";

import {
  Status,
  hashCommittee,
  messageTypes,
  packDecision,
  packTerms,
  permitTypes,
} from "../../scripts/lib/typed-data.ts";
import type { Terms } from "../../scripts/lib/typed-data.ts";
import {
  ask,
  decisionFor,
  digestOf,
  draw,
  epochBlocks,
  minFee,
  mineSeed,
  mineTo,
  nextEpoch,
  supportedProtocols,
  termsFor,
} from "../../scripts/lib/world.ts";
import { stages } from "./utils/stages.ts";

const { ethers, networkHelpers } = await hre.network.create();
const { loadFixture, time, mine } = networkHelpers;
const { tenAgents, asked, drawn } = stages(ethers);
const fee = 10n ** 18n;

describe("DecisionOracle", () => {
  describe("balances", () => {
    it("go up by deposits for anybody and down by withdrawals to anybody", async () => {
      const { world, oracle, operator, stranger } = await loadFixture(tenAgents);
      const { token, deployer } = world;
      await expect(oracle.deposit(stranger.address, 70))
        .to.emit(oracle, "Deposited")
        .withArgs(stranger.address, deployer.address, 70);
      await expect(oracle.connect(stranger).withdraw(30, ZeroAddress)).to.be.revertedWithCustomError(
        token,
        "ERC20InvalidReceiver",
      );
      const before: bigint = await token.balanceOf(operator.address);
      await expect(oracle.connect(stranger).withdraw(30, operator.address))
        .to.emit(oracle, "Withdrawn")
        .withArgs(stranger.address, operator.address, 30);
      expect(await token.balanceOf(operator.address)).to.equal(before + 30n);
      expect(await oracle.balanceOf(stranger.address)).to.equal(40n);
      await expect(oracle.connect(stranger).withdraw(41, stranger.address))
        .to.be.revertedWithCustomError(oracle, "InsufficientBalance")
        .withArgs(stranger.address, 40, 41);
    });

    it("accept a permit, even one that was submitted before", async () => {
      const { world, oracle, stranger } = await loadFixture(tenAgents);
      const { token, deployer } = world;
      await token.approve(oracle.target, 0);
      const domain = { ...world.domain, name: "Conclave test token", verifyingContract: token.target };
      const deadline = 2n ** 40n;
      for (const front of [false, true]) {
        const nonce: bigint = await token.nonces(deployer.address);
        const message = { owner: deployer.address, spender: oracle.target, value: 9n, nonce, deadline };
        const { v, r, s } = Signature.from(await deployer.signTypedData(domain, permitTypes, message));
        if (front) {
          const token2612 = (await ethers.getContractAt("TestToken", token.target)).connect(stranger);
          await token2612.getFunction("permit")(deployer.address, oracle.target, 9, deadline, v, r, s);
        }
        await oracle.depositWithPermit(stranger.address, { value: 9, deadline, v, r, s });
      }
      expect(await oracle.balanceOf(stranger.address)).to.equal(18n);
    });

    it("refuse a token that takes a fee on transfers", async () => {
      const { world } = await loadFixture(tenAgents);
      const token = await ethers.deployContract("FeeOnTransferToken");
      const oracle = await ethers.deployContract("DecisionOracle", [
        world.manager.target,
        world.registry.target,
        token.target,
        1,
        0,
      ]);
      await token.getFunction("mint")(world.deployer.address, 100);
      await token.getFunction("approve")(oracle.target, 100);
      await expect(oracle.getFunction("deposit")(world.deployer.address, 100))
        .to.be.revertedWithCustomError(oracle, "TransferMismatch")
        .withArgs(100, 99);
    });
  });

  describe("request", () => {
    it("escrows the fee and puts everything into its event", async () => {
      const { world, oracle } = await loadFixture(tenAgents);
      const before: bigint = await oracle.balanceOf(world.deployer.address);
      const terms = packTerms(await termsFor(world, { fee: 5n }));
      const question = toUtf8Bytes("Is 17 a prime number?");
      const block = await ethers.provider.getBlockNumber();
      await expect(oracle.request(terms, question))
        .to.emit(oracle, "Requested")
        .withArgs(1, world.deployer.address, terms, block + 9, question);
      expect(await oracle.balanceOf(world.deployer.address)).to.equal(before - 5n);
      expect(await oracle.requestCount()).to.equal(1n);
      expect(await oracle.statusOf(1)).to.deep.equal([BigInt(Status.Requested), 0n, false, false]);
      expect(await oracle.statusOf(2)).to.deep.equal([BigInt(Status.None), 0n, false, false]);
      expect((await ask(world)).request.id).to.equal(2n);
    });

    it("says what it was deployed with", async () => {
      const { world, oracle } = await loadFixture(tenAgents);
      expect(await oracle.registry()).to.equal(world.registry.target);
      expect(await oracle.feeToken()).to.equal(world.token.target);
      expect(await oracle.supportedProtocols()).to.equal(supportedProtocols);
      expect(await oracle.minFee()).to.equal(minFee);
    });

    it("refuses a fee below its minimum, and announces itself", async () => {
      const { world } = await loadFixture(tenAgents);
      const args = [world.registry.target, world.token.target, supportedProtocols, 50];
      const oracle = (await ethers.deployContract("DecisionOracle", [
        world.manager.target,
        ...args,
      ])) as unknown as typeof world.oracle;
      await expect(oracle.deploymentTransaction())
        .to.emit(oracle, "OracleDeployed")
        .withArgs(...args, epochBlocks);
      expect(await oracle.minFee()).to.equal(50n);
      await world.token.approve(oracle.target, 50);
      await oracle.deposit(world.deployer.address, 50);
      await expect(oracle.request(packTerms(await termsFor(world, { fee: 49n })), "0x01"))
        .to.be.revertedWithCustomError(oracle, "InvalidTerms")
        .withArgs(encodeBytes32String("fee"), 49);
      await oracle.request(packTerms(await termsFor(world, { fee: 50n })), "0x01");
    });

    it("names the field of invalid terms", async () => {
      const { world, oracle } = await loadFixture(tenAgents);
      const now = await time.latest();
      const week = 7 * 24 * 3600;
      const invalid: [keyof Terms, Partial<Terms>][] = [
        ["deadline", { deadline: now }],
        ["deadline", { deadline: now + week + 100 }],
        ["committeeSize", { committeeSize: 3 }],
        ["committeeSize", { committeeSize: 65 }],
        ["callbackGasLimit", { callbackGasLimit: 2_000_001 }],
        ["assurance", { assurance: 2 }],
        ["kind", { kind: 5 }],
        ["options", { kind: 1, options: 1 }],
        ["options", { kind: 1, options: 27 }],
        ["options", { kind: 0, options: 2 }],
        ["options", { kind: 3, options: 2 }],
        ["options", { kind: 4, options: 0 }],
        ["options", { kind: 4, options: 1 }],
        ["options", { kind: 4, options: 27 }],
        ["decimals", { kind: 4, options: 2, decimals: 1 }],
        ["tolerance", { kind: 4, options: 2, tolerance: 1 }],
        ["decimals", { kind: 2, decimals: 19 }],
        ["decimals", { kind: 0, decimals: 1 }],
        ["tolerance", { kind: 3, tolerance: 1 }],
      ];
      for (const [field, overrides] of invalid) {
        await expect(oracle.request(packTerms(await termsFor(world, overrides)), "0x01"))
          .to.be.revertedWithCustomError(oracle, "InvalidTerms")
          .withArgs(encodeBytes32String(field), overrides[field]);
      }
      await expect(oracle.request(packTerms(await termsFor(world, { protocol: 2 })), "0x01"))
        .to.be.revertedWithCustomError(oracle, "UnknownProtocol")
        .withArgs(2);
    });

    it("takes every term at its bounds", async () => {
      const { world } = await loadFixture(tenAgents);
      const valid: Partial<Terms>[] = [
        { fee: 0n, committeeSize: 64, callbackGasLimit: 2_000_000, assurance: 1, protocol: 0 },
        { deadline: (await time.latest()) + 7 * 24 * 3600 },
        { kind: 1, options: 2 },
        { kind: 1, options: 26 },
        { kind: 2, decimals: 18, tolerance: 2 ** 40 - 1 },
        { kind: 3 },
        { kind: 4, options: 2 },
        { kind: 4, options: 26 },
      ];
      for (const overrides of valid) await ask(world, overrides);
    });

    it("refuses no question, too long a question, and one that is not paid for", async () => {
      const { world, oracle, stranger } = await loadFixture(tenAgents);
      const terms = packTerms(await termsFor(world));
      await expect(oracle.request(terms, "0x")).to.be.revertedWithCustomError(oracle, "QuestionIsEmpty");
      await expect(oracle.request(terms, new Uint8Array(8193)))
        .to.be.revertedWithCustomError(oracle, "QuestionTooLong")
        .withArgs(8193, 8192);
      await oracle.request(terms, new Uint8Array(8192));
      await expect(oracle.connect(stranger).request(terms, "0x01"))
        .to.be.revertedWithCustomError(oracle, "InsufficientBalance")
        .withArgs(stranger.address, 0, fee);
    });
  });

  describe("draw", () => {
    it("stores the committee of the seed and announces it", async () => {
      const { world, oracle, request, stranger } = await loadFixture(asked);
      const { id } = request.request;
      const header = await mineSeed(world, request.seedBlock);
      // Member 13 of the header is mixHash.
      const prevRandao = decodeRlp(header)[13];
      const coder = ethers.AbiCoder.defaultAbiCoder();
      const seed = ethers.keccak256(coder.encode(["bytes32", "uint256", "uint32"], [prevRandao, id, 0]));
      const committee: bigint[] = [...(await world.registry.draw(seed, 4))];
      await expect(oracle.connect(stranger).draw(request.request, request.seedBlock, header))
        .to.emit(oracle, "CommitteeDrawn")
        .withArgs(id, 0, seed, committee);
      expect((await oracle.statusOf(id))[0]).to.equal(BigInt(Status.Drawn));
      await expect(oracle.draw(request.request, request.seedBlock, "0x"))
        .to.be.revertedWithCustomError(oracle, "WrongStatus")
        .withArgs(id, Status.Drawn);
    });

    it("refuses the header of another block, and a block without a beacon", async () => {
      const { world, oracle, request } = await loadFixture(asked);
      const { id } = request.request;
      const other = await mineSeed(world, request.seedBlock - 1n);
      const header = await mineSeed(world, request.seedBlock);
      await expect(oracle.draw(request.request, request.seedBlock, other))
        .to.be.revertedWithCustomError(oracle, "HeaderMismatch")
        .withArgs(id, ethers.keccak256(header), ethers.keccak256(other));
      const next = await ask(world);
      await mineTo(world, next.seedBlock - 1n);
      await networkHelpers.setPrevRandao(0);
      const empty = await mineSeed(world, next.seedBlock);
      await expect(oracle.draw(next.request, next.seedBlock, empty))
        .to.be.revertedWithCustomError(oracle, "NoBeacon")
        .withArgs(next.request.id, next.seedBlock);
    });

    it("waits for the seed block", async () => {
      const { oracle, request } = await loadFixture(asked);
      await expect(oracle.draw(request.request, request.seedBlock, "0x"))
        .to.be.revertedWithCustomError(oracle, "SeedNotReady")
        .withArgs(request.request.id, request.seedBlock);
    });

    it("reschedules a seed that nobody used, without a header, and draws from the new one", async () => {
      const { world, oracle, request } = await loadFixture(asked);
      await mine(300);
      await nextEpoch(world);
      const block = BigInt(await ethers.provider.getBlockNumber());
      await expect(oracle.draw(request.request, request.seedBlock, "0x"))
        .to.emit(oracle, "SeedRescheduled")
        .withArgs(request.request.id, block + 9n);
      await expect(oracle.draw(request.request, request.seedBlock, "0x"))
        .to.be.revertedWithCustomError(oracle, "WitnessMismatch")
        .withArgs(request.request.id);
      await draw(world, { ...request, seedBlock: block + 9n });
    });

    it("reschedules a seed whose epoch is over although its hash is known", async () => {
      const { world, oracle, request } = await loadFixture(asked);
      await mineTo(world, request.seedBlock);
      await nextEpoch(world);
      const block = BigInt(await ethers.provider.getBlockNumber());
      await expect(oracle.draw(request.request, request.seedBlock, "0x"))
        .to.emit(oracle, "SeedRescheduled")
        .withArgs(request.request.id, block + 9n);
      await draw(world, { ...request, seedBlock: block + 9n });
    });

    it("seeds from a block with eight of its epoch before it and 16 after it", async () => {
      const { world } = await loadFixture(tenAgents);
      // The fixture ends with the first block of an epoch of 32.
      const first = BigInt(await ethers.provider.getBlockNumber());
      expect(first % epochBlocks).to.equal(0n);
      for (const [requestBlock, seedBlock] of [
        [1n, 9n],
        [7n, 15n],
        [8n, 40n],
        [31n, 40n],
        [32n, 40n],
        [33n, 41n],
      ] as const) {
        await mineTo(world, first + requestBlock - 1n);
        expect((await ask(world)).seedBlock).to.equal(first + seedBlock);
      }
    });

    it("stops at the deadline and at a registry that is too small", async () => {
      const { world, oracle, request } = await loadFixture(asked);
      const large = await ask(world, { committeeSize: 11 });
      const header = await mineSeed(world, large.seedBlock);
      await expect(oracle.draw(large.request, large.seedBlock, header))
        .to.be.revertedWithCustomError(world.registry, "TooFewAgents")
        .withArgs(10, 11);
      await time.increase(3601);
      await expect(oracle.draw(request.request, request.seedBlock, "0x")).to.be.revertedWithCustomError(
        oracle,
        "DeadlinePassed",
      );
    });
  });

  describe("digests", () => {
    it("are those of ethers", async () => {
      const { world, oracle, drawn: entry } = await loadFixture(drawn);
      const decision = decisionFor(entry, { reputationChanges: "0x01ff", round: 7 });
      const digest = await oracle.decisionDigest(entry.request, hashCommittee(entry.committee), packDecision(decision));
      expect(digest).to.equal(digestOf(world.domain, entry, decision));
      const place = { attempt: 2, protocol: 3, phase: 4, round: 5, seat: 6, payloadDigest: hashText("payload") };
      const message = { requestHash: hashText("request"), committeeHash: hashText("committee"), ...place };
      expect(await oracle.messageDigest(message)).to.equal(TypedDataEncoder.hash(world.domain, messageTypes, message));
    });
  });

  it("keeps its code below the limit of 24,576 bytes", async () => {
    const { world } = await loadFixture(tenAgents);
    for (const contract of [world.oracle, world.registry]) {
      const code = await ethers.provider.getCode(contract.target);
      expect(getBytes(code).length).to.be.below(24_576);
    }
  });
});
