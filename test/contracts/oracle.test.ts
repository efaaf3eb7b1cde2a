import { expect } from "chai";
import { decodeRlp, encodeBytes32String, getBytes, toUtf8Bytes } from "ethers";
import hre from "hardhat";

import { usesTerm } from "../../agents/core/request/kinds.ts";
import { ANSWER_KINDS } from "../../agents/core/types.ts";
import {
  ask,
  commitArgs,
  decisionFor,
  draw,
  passDeadline,
  refundArgs,
  seedOf,
  termsFor,
} from "../support/contracts/course.ts";
import { packRequestId, packRound, packTerms, Status, unpackRound } from "../support/contracts/typed-data.ts";
import type { Terms } from "../support/contracts/typed-data.ts";
import {
  deployRegistry,
  epochBlocks,
  findEvent,
  freeCoins,
  freeTokens,
  maxStake,
  mineSeed,
  mineTo,
  registerAgents,
  subscription,
  subscriptionFunds,
  supportedProtocols,
  treasury,
} from "../support/contracts/world.ts";
import { stages } from "./utils/stages.ts";

const { ethers, networkHelpers } = await hre.network.create();
const { loadFixture, time } = networkHelpers;
const { tenAgents, asked } = stages(ethers);
/** Id of the first request that the world's subscription pays for. */
const firstId = packRequestId(0n, subscription, 1n);

describe("DecisionOracle", () => {
  describe("request", () => {
    it("escrows the fee and puts everything into its event", async () => {
      const { world, oracle } = await loadFixture(tenAgents);
      const terms = packTerms(termsFor({ fee: 5n }));
      const question = toUtf8Bytes("Is 17 a prime number?");
      const block = await ethers.provider.getBlockNumber();
      const now = (await time.latest()) + 10;
      await time.setNextBlockTimestamp(now);
      const round = packRound({ link: 0n, appeals: 0, deadline: now + 3600 });
      await expect(oracle.request(subscription, terms, question))
        .to.emit(oracle, "Requested")
        .withArgs(firstId, world.deployer.address, terms, round, block + 9, question);
      const { tokenBalance, requests } = await oracle.subscriptionOf(subscription);
      expect([tokenBalance, requests]).to.deep.equal([subscriptionFunds - 5n, 1n]);
      expect(await oracle.statusOf(firstId)).to.deep.equal([BigInt(Status.Requested), 0n, false, false, false]);
      expect(await oracle.statusOf(firstId + 1n)).to.deep.equal([BigInt(Status.None), 0n, false, false, false]);
      expect((await ask(world)).request.id).to.equal(firstId + 1n);
    });

    it("returns the settings of its deployment", async () => {
      const { world, oracle } = await loadFixture(tenAgents);
      const { registry, token, settlement } = world;
      expect(await oracle.registry()).to.equal(registry.target);
      expect(await oracle.feeToken()).to.equal(token.target);
      expect(await oracle.treasury()).to.equal(treasury);
      expect(await oracle.supportedProtocols()).to.equal(supportedProtocols);
      expect(await settlement.oracle()).to.equal(oracle.target);
    });

    it("announces itself and its prices", async () => {
      const { world } = await loadFixture(tenAgents);
      const { manager, token } = world;
      const registry = await deployRegistry(ethers, token.target);
      const args = [manager.target, registry.target, token.target, supportedProtocols, freeTokens, freeCoins];
      const oracle = (await ethers.deployContract("DecisionOracle", args)) as unknown as typeof world.oracle;
      const receipt = (await oracle.deploymentTransaction()!.wait())!;
      const { args: announced } = findEvent(oracle, receipt, "OracleDeployed");
      expect([...announced]).to.deep.equal([
        registry.target,
        await oracle.settlement(),
        supportedProtocols,
        epochBlocks,
      ]);
    });

    it("can be deployed only for a registry that is bound to it", async () => {
      const { world } = await loadFixture(tenAgents);
      const { manager, registry, token, oracle } = world;
      const args = [manager.target, registry.target, token.target, supportedProtocols, freeTokens, freeCoins] as const;
      const factory = await ethers.getContractFactory("DecisionOracle");
      await expect(factory.deploy(...args))
        .to.be.revertedWithCustomError(factory, "NotBound")
        .withArgs(oracle.target);
    });

    it("names the invalid field of the terms", async () => {
      const { oracle } = await loadFixture(tenAgents);
      const week = 7 * 24 * 3600;
      const invalid: [keyof Terms, Partial<Terms>][] = [
        ["duration", { duration: 0 }],
        ["duration", { duration: 30 * 60 - 1 }],
        ["duration", { duration: week + 1 }],
        ["retries", { retries: 4 }],
        ["appeals", { appeals: 4 }],
        ["appeals", { kind: 3, appeals: 1 }],
        ["committeeSize", { committeeSize: 32, appeals: 1 }],
        ["committeeSize", { committeeSize: 16, appeals: 2 }],
        ["committeeSize", { committeeSize: 8, appeals: 3 }],
        ["currency", { currency: 2 }],
        ["currency", { currency: 3 }],
        ["committeeSize", { committeeSize: 3, appeals: 3 }],
        ["committeeSize", { committeeSize: 65 }],
        ["callbackGasLimit", { callbackGasLimit: 2_000_001 }],
        ["assurance", { assurance: 2 }],
        ["security", { security: 1, assurance: 1 }],
        ["security", { security: 1, assurance: 1, appeals: 1 }],
        ["security", { security: 1, appeals: 2 }],
        // What a seat can lose depends on what it earns, in the stake token (SC3).
        ["security", { security: 1, assurance: 1, appeals: 2, currency: 1 }],
        // Five periods may last a week together (SC1).
        ["security", { security: 1, assurance: 1, appeals: 2, duration: week / 5 + 1 }],
        ["security", { security: 1, assurance: 1, appeals: 2, retries: 3, duration: week / 8 + 1 }],
        ["security", { security: 2, assurance: 1, appeals: 2 }],
        ["security", { security: 3, assurance: 1, appeals: 2 }],
        // Sets agree in part, so no share shows who knew (SC2).
        ["kind", { security: 1, assurance: 1, appeals: 2, duration: 3_600, kind: 4, options: 2 }],
        ["kind", { kind: ANSWER_KINDS.length }],
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
        await expect(oracle.request(subscription, packTerms(termsFor(overrides)), "0x01"), field)
          .to.be.revertedWithCustomError(oracle, "InvalidTerms")
          .withArgs(encodeBytes32String(field), overrides[field]);
      }
      for (const [seats, overrides] of [
        [161, { committeeSize: 14, appeals: 2, retries: 1 }],
        [242, { committeeSize: 7, appeals: 3, retries: 2 }],
        [256, { committeeSize: 64, retries: 3 }],
      ] as const) {
        await expect(oracle.request(subscription, packTerms(termsFor(overrides)), "0x01"))
          .to.be.revertedWithCustomError(oracle, "InvalidTerms")
          .withArgs(encodeBytes32String("seats"), seats);
      }
      await expect(oracle.request(subscription, packTerms(termsFor({ protocol: 2 })), "0x01"))
        .to.be.revertedWithCustomError(oracle, "UnknownProtocol")
        .withArgs(2);
    });

    it("accepts every field of the terms at its bounds", async () => {
      const { world, operator } = await loadFixture(tenAgents);
      await registerAgents(world, 109, { operator });
      const valid: Partial<Terms>[] = [
        { fee: 0n, committeeSize: 64, callbackGasLimit: 2_000_000, assurance: 1, protocol: 0 },
        { duration: 30 * 60, retries: 3 },
        { duration: 7 * 24 * 3600, currency: 1 },
        { committeeSize: 31, appeals: 1 },
        { committeeSize: 15, appeals: 2 },
        { committeeSize: 7, appeals: 3 },
        { committeeSize: 4, appeals: 3, retries: 2 },
        { committeeSize: 64, retries: 1 },
        { committeeSize: 40, retries: 3 },
        ...ANSWER_KINDS.map((name, kind) => ({ kind, ...(usesTerm(name, "options") ? { options: 2 } : {}) })),
        { kind: 1, options: 26 },
        { kind: 2, decimals: 18, tolerance: 2 ** 40 - 1 },
        { kind: 4, options: 26 },
      ];
      for (const overrides of valid) await ask(world, overrides);
    });

    it("SE2: refuses terms whose committees the registry cannot fill", async () => {
      const { world, oracle } = await loadFixture(tenAgents);
      for (const [needed, overrides] of [
        [11, { committeeSize: 11 }],
        [13, { committeeSize: 4, appeals: 1 }],
        [64, { committeeSize: 64 }],
        [109, { committeeSize: 15, appeals: 2 }],
      ] as const) {
        await expect(oracle.request(subscription, packTerms(termsFor(overrides)), "0x01"))
          .to.be.revertedWithCustomError(oracle, "TooFewAgents")
          .withArgs(10, needed);
      }
      await ask(world, { committeeSize: 10, retries: 3 });
    });

    it("refuses an empty question and one that is too long", async () => {
      const { oracle } = await loadFixture(tenAgents);
      const terms = packTerms(termsFor());
      await expect(oracle.request(subscription, terms, "0x")).to.be.revertedWithCustomError(oracle, "QuestionIsEmpty");
      await expect(oracle.request(subscription, terms, new Uint8Array(8193)))
        .to.be.revertedWithCustomError(oracle, "QuestionTooLong")
        .withArgs(8193, 8192);
      await oracle.request(subscription, terms, new Uint8Array(8192));
    });
  });

  describe("committeeOf", () => {
    it("is what the seed picks, for anybody, while the request waits for a decision", async () => {
      const { world, oracle, request } = await loadFixture(asked);
      const { id } = request.request;
      const header = await mineSeed(world, request.seedBlock);
      // Member 13 of the header is mixHash.
      const prevRandao = decodeRlp(header)[13];
      const coder = ethers.AbiCoder.defaultAbiCoder();
      const seed = ethers.keccak256(coder.encode(["bytes32", "uint256", "uint32"], [prevRandao, id, 0]));
      const epoch = request.seedBlock / epochBlocks;
      const committee: bigint[] = [...(await world.registry.committee(seed, epoch, 4, []))];
      const drawn = await draw(world, request);
      expect(drawn.committee.map(BigInt)).to.deep.equal(committee);
      await passDeadline(world, request.round);
      // The deadline does not hide who should have answered.
      expect((await draw(world, request)).committee).to.deep.equal(drawn.committee);
      await oracle.refund(...refundArgs(request));
      await expect(world.settlement.committeeOf(request.request, request.round, seedOf(request, header)))
        .to.be.revertedWithCustomError(oracle, "WrongStatus")
        .withArgs(id, Status.Refunded);
    });

    it("refuses the header of another block, and a block without a beacon", async () => {
      const { world, oracle, request } = await loadFixture(asked);
      const { id } = request.request;
      const other = await mineSeed(world, request.seedBlock - 1n);
      const header = await mineSeed(world, request.seedBlock);
      await expect(world.settlement.committeeOf(request.request, request.round, seedOf(request, other)))
        .to.be.revertedWithCustomError(oracle, "HeaderMismatch")
        .withArgs(id, ethers.keccak256(header), ethers.keccak256(other));
      const next = await ask(world);
      await mineTo(world, next.seedBlock - 1n);
      await networkHelpers.setPrevRandao(0);
      const empty = await mineSeed(world, next.seedBlock);
      await expect(world.settlement.committeeOf(next.request, next.round, seedOf(next, empty)))
        .to.be.revertedWithCustomError(oracle, "NoBeacon")
        .withArgs(next.request.id, next.seedBlock);
    });

    it("waits for the seed block", async () => {
      const { world, oracle, request } = await loadFixture(asked);
      await expect(world.settlement.committeeOf(request.request, request.round, seedOf(request, "0x")))
        .to.be.revertedWithCustomError(oracle, "SeedNotReady")
        .withArgs(request.request.id, request.seedBlock);
    });

    it("is the same in the epoch after the seed's, and gone in the one after that, which ends the attempt", async () => {
      const { world, oracle, request } = await loadFixture(asked);
      const drawn = await draw(world, request);
      const end = (request.seedBlock / epochBlocks + 2n) * epochBlocks;
      await mineTo(world, end - 1n);
      expect((await draw(world, request)).committee).to.deep.equal(drawn.committee);
      const snapshot = await networkHelpers.takeSnapshot();
      await mineTo(world, end);
      for (const call of [
        world.settlement.committeeOf(request.request, request.round, seedOf(request, drawn.header)),
        oracle.commit(...commitArgs(world, drawn, decisionFor(drawn))),
      ]) {
        await expect(call)
          .to.be.revertedWithCustomError(oracle, "SeedExpired")
          .withArgs(request.request.id, request.seedBlock);
      }
      await oracle.refund(...refundArgs(request));
      await snapshot.restore();
      await expect(oracle.refund.staticCall(...refundArgs(request), { blockTag: "latest" }))
        .to.be.revertedWithCustomError(oracle, "DeadlineNotPassed")
        .withArgs(request.request.id, unpackRound(request.round).deadline);
    });

    it("chooses a seed block with eight blocks of its epoch before it and 16 after it", async () => {
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

    it("fails in a registry that became too small, and the request can still be refunded", async () => {
      const { world, oracle, operator } = await loadFixture(tenAgents);
      // The seed block lies in the next epoch.
      await mineTo(world, BigInt(await ethers.provider.getBlockNumber()) + 20n);
      const request = await ask(world, { committeeSize: 6 });
      for (let agent = 1; agent <= 5; agent++) await world.registry.connect(operator).startUnbonding(agent, maxStake);
      const header = await mineSeed(world, request.seedBlock);
      await expect(world.settlement.committeeOf(request.request, request.round, seedOf(request, header)))
        .to.be.revertedWithCustomError(world.registry, "TooFewAgents")
        .withArgs(5, 6);
      await passDeadline(world, request.round);
      await oracle.refund(...refundArgs(request));
    });
  });

  it("keeps its code below the limit of 24,576 bytes", async () => {
    const { world } = await loadFixture(tenAgents);
    for (const contract of [world.oracle, world.registry, world.settlement]) {
      const code = await ethers.provider.getCode(contract.target);
      expect(getBytes(code).length).to.be.below(24_576);
    }
  });
});
