import { expect } from "chai";
import {
  Signature,
  ZeroAddress,
  ZeroHash,
  concat,
  dataLength,
  dataSlice,
  encodeBytes32String,
  hexlify,
  keccak256,
  toBeHex,
} from "ethers";
import hre from "hardhat";

import { LAYOUTS } from "../../agents/core/encoding/layouts.ts";
import { unpackWord } from "../../agents/core/encoding/words.ts";
import {
  ask,
  certificateFor,
  commit,
  commitArgs,
  decide,
  decisionFor,
  digestOf,
  draw,
  firstSeats,
  hung,
  latestOf,
  passDeadline,
  priceGas,
  seedOf,
  type Drawn,
} from "../support/contracts/course.ts";
import {
  agentOf,
  Currency,
  packDecision,
  packRelay,
  Status,
  testKey,
  unpackRound,
} from "../support/contracts/typed-data.ts";
import {
  deployWorld,
  findEvent,
  findEvents,
  mineSeed,
  registerAgents,
  servicesOf,
  subscription,
  subscriptionFunds,
  type World,
} from "../support/contracts/world.ts";
import { crowd } from "./utils/crowd.ts";
import { stages } from "./utils/stages.ts";

const { ethers, networkHelpers } = await hre.network.create();
const { loadFixture, time } = networkHelpers;
const { tenAgents, asked, drawn } = stages(ethers);
const { sixtyAgents } = crowd(ethers);

describe("settlement", () => {
  describe("commit", () => {
    it("D20: can be sent by any account, and settles once", async () => {
      const { world, oracle, stranger, drawn: entry } = await loadFixture(drawn);
      const decision = decisionFor(entry);
      const certificate = certificateFor(world, entry, decision, [0, 2, 3]);
      const { id } = entry.request;
      const packed = packDecision(decision);
      const gasPrice = 12_345_678_901n;
      const priced = await priceGas(world, gasPrice);
      const seed = seedOf(entry, entry.header);
      const send = () => oracle.connect(stranger).commit(entry.request, entry.round, seed, certificate, packed, priced);
      await expect(send())
        .to.emit(oracle, "DecisionCommitted")
        .withArgs(
          id,
          packed.head,
          decision.outcome,
          decision.transcript,
          packRelay(0b1101n, gasPrice, stranger.address),
          entry.committee,
          decision.answer,
          packed.merits,
        );
      expect(await oracle.statusOf(id)).to.deep.equal([BigInt(Status.Decided), 0n, false, false, true]);
      await expect(send()).to.be.revertedWithCustomError(oracle, "WrongStatus").withArgs(id, Status.Decided);
    });

    it("waits for the seed block, and needs its header", async () => {
      const { world, oracle, request: waiting } = await loadFixture(asked);
      const { id } = waiting.request;
      const send = (header: string) => {
        const decision = packDecision(decisionFor({ ...waiting, committee: [], header }));
        return oracle.commit(waiting.request, waiting.round, seedOf(waiting, header), "0x", decision);
      };
      await expect(send("0x")).to.be.revertedWithCustomError(oracle, "SeedNotReady").withArgs(id, waiting.seedBlock);
      const other = await mineSeed(world, waiting.seedBlock - 1n);
      const header = await mineSeed(world, waiting.seedBlock);
      for (const wrong of ["0x", other]) {
        await expect(send(wrong))
          .to.be.revertedWithCustomError(oracle, "HeaderMismatch")
          .withArgs(id, keccak256(header), keccak256(wrong));
      }
    });

    it("is accepted up to the second of the deadline and not after", async () => {
      const { world, oracle, drawn: entry } = await loadFixture(drawn);
      const { deadline } = unpackRound(entry.round);
      const send = () => oracle.commit(...commitArgs(world, entry, decisionFor(entry)));
      const snapshot = await networkHelpers.takeSnapshot();
      await time.setNextBlockTimestamp(deadline + 1);
      await expect(send()).to.be.revertedWithCustomError(oracle, "DeadlinePassed").withArgs(entry.request.id, deadline);
      await snapshot.restore();
      await time.setNextBlockTimestamp(deadline);
      await send();
    });

    it("refuses a decision of another request, round, seed block or attempt", async () => {
      const { world, oracle, drawn: entry } = await loadFixture(drawn);
      const other = await draw(world, await ask(world));
      const decision = decisionFor(entry);
      const certificate = certificateFor(world, entry, decision);
      const packed = packDecision(decision);
      const seed = seedOf(entry, entry.header);
      for (const [request, round, from] of [
        [other.request, entry.round, seed],
        [entry.request, other.round, seed],
        [entry.request, entry.round, seedOf(other, other.header)],
      ] as const) {
        await expect(oracle.commit(request, round, from, certificate, packed))
          .to.be.revertedWithCustomError(oracle, "WitnessMismatch")
          .withArgs(request.id);
      }
      const later = packDecision({ ...decision, attempt: 1 });
      await expect(oracle.commit(entry.request, entry.round, seed, certificate, later))
        .to.be.revertedWithCustomError(oracle, "InvalidDecision")
        .withArgs(encodeBytes32String("attempt"), 1);
      // A certificate of another committee's request.
      await expect(oracle.commit(other.request, other.round, seedOf(other, other.header), certificate, packed))
        .to.be.revertedWithCustomError(oracle, "InvalidSignature")
        .withArgs(0);
    });

    it("refuses too few signers, signers without a seat, and a wrong number of seats", async () => {
      const { world, oracle, drawn: entry } = await loadFixture(drawn);
      const decision = decisionFor(entry);
      const send = (certificate: string) =>
        oracle.commit(entry.request, entry.round, seedOf(entry, entry.header), certificate, packDecision(decision));
      await expect(send(certificateFor(world, entry, decision, [1, 3])))
        .to.be.revertedWithCustomError(oracle, "QuorumNotReached")
        .withArgs(2, 3);
      const certificate = certificateFor(world, entry, decision);
      const withSigners = (signers: bigint): string => concat([toBeHex(signers, 8), dataSlice(certificate, 8)]);
      for (const signers of [0b10111n, (1n << 63n) | 7n]) {
        await expect(send(withSigners(signers)))
          .to.be.revertedWithCustomError(oracle, "InvalidDecision")
          .withArgs(encodeBytes32String("signers"), signers);
      }
      // One signature fewer, a trailing byte, and less than a signature.
      const length = dataLength(certificate);
      for (const [changed, size] of [
        [dataSlice(certificate, 0, length - 64), length - 64],
        [concat([certificate, "0x00"]), length + 1],
        [dataSlice(certificate, 0, 39), 39],
      ] as const) {
        await expect(send(changed))
          .to.be.revertedWithCustomError(oracle, "InvalidDecision")
          .withArgs(encodeBytes32String("certificate"), size);
      }
    });

    it("refuses signatures by others, for other chains or oracles, and invalid ones", async () => {
      const { world, oracle, drawn: entry } = await loadFixture(drawn);
      const decision = decisionFor(entry);
      const certificate = certificateFor(world, entry, decision);
      const seed = seedOf(entry, entry.header);
      const send = (changed: string) =>
        oracle.commit(entry.request, entry.round, seed, changed, packDecision(decision));
      const start = (seat: number): number => 8 + 64 * seat;
      const part = (seat: number): string => dataSlice(certificate, start(seat), start(seat) + 64);
      const withPart = (seat: number, signature: string): string =>
        concat([dataSlice(certificate, 0, start(seat)), signature, dataSlice(certificate, start(seat) + 64)]);

      const forged = testKey("no agent").sign(digestOf(world.domain, entry, decision)).compactSerialized;
      const { r, s, yParity } = Signature.from(part(0));
      const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
      const malleable = concat([r, toBeHex((order - BigInt(s)) | (BigInt(1 - yParity) << 255n), 32)]);
      const others: [string, number][] = [
        [withPart(1, part(0)), 1],
        [withPart(2, forged), 2],
        [withPart(0, malleable), 0],
      ];
      for (const changed of [{ chainId: 1 }, { verifyingContract: ZeroAddress }, { version: "2" }, { name: "Other" }]) {
        others.push([certificateFor(world, entry, decision, firstSeats(4), { ...world.domain, ...changed }), 0]);
      }
      for (const [other, seat] of others) {
        await expect(send(other)).to.be.revertedWithCustomError(oracle, "InvalidSignature").withArgs(seat);
      }
      for (const nothing of [
        concat([ZeroHash, dataSlice(part(2), 32)]),
        concat([r, ZeroHash]),
        concat([s, ZeroHash]),
      ]) {
        await expect(send(withPart(2, nothing)))
          .to.be.revertedWithCustomError(oracle, "InvalidSignature")
          .withArgs(2);
      }
      await send(certificate);
    });

    it("refuses a malformed decision even if it is signed", async () => {
      const { world, oracle, drawn: entry } = await loadFixture(drawn);
      const malformed: [string, Parameters<typeof decisionFor>[1], bigint | number][] = [
        ["status", { status: Status.Refunded }, Status.Refunded],
        ["outcome", { ...hung, outcome: toBeHex(5, 32) }, 5],
        ["answer", { ...hung, answer: "0x01" }, 1],
        ["answer", { answer: hexlify(new Uint8Array(1025)) }, 1025],
        ["outcome", { outcome: toBeHex(2, 32) }, 2],
        ["confidence", { confidence: 1_000_001 }, 1_000_001],
        ["seats", { shares: "0x010101" }, 3],
        ["seats", { shares: "0x0101010101" }, 5],
        ["reputationChanges", { reputationChanges: "0x00" }, 1],
        ["reputationChanges", { reputationChanges: "0x00ff04ff" }, 2],
        ["reputationChanges", { reputationChanges: "0x01ff01ff" }, 2],
        ["reputationChanges", { reputationChanges: "0x00fd01fc" }, 2],
        ["reputationChanges", { reputationChanges: "0x0102" }, 0],
        ["reputationChanges", { reputationChanges: "0x0100" }, 0],
      ];
      for (const [field, overrides, value] of malformed) {
        const decision = decisionFor(entry, overrides);
        const certificate = certificateFor(world, entry, decision);
        const seed = seedOf(entry, entry.header);
        await expect(oracle.commit(entry.request, entry.round, seed, certificate, packDecision(decision)))
          .to.be.revertedWithCustomError(oracle, "InvalidDecision")
          .withArgs(encodeBytes32String(field), value);
      }
    });

    it("accepts committees of all sizes up to 64", async () => {
      const { world, operator } = await loadFixture(tenAgents);
      await registerAgents(world, 86, { operator });
      for (const committeeSize of [5, 31, 64]) {
        await decide(world, await ask(world, { committeeSize }));
      }
    });
  });

  describe("pay", () => {
    it("SE16, SE21: goes to the agents by shares in the commit, and they claim it from the registry; the subscription gets the rest", async () => {
      const { world, oracle, operator, stranger } = await loadFixture(tenAgents);
      const { registry, settlement } = world;
      const entry = await draw(world, await ask(world, { fee: 1000n }));
      const { id } = entry.request;
      const agentIn = (seat: number): bigint => agentOf(entry.committee[seat]!);
      const args = commitArgs(world, entry, decisionFor(entry, { shares: "0x01020003" }));
      // Seat 2 has no share, but it signed.
      const paid = [
        [0, 166n],
        [1, 333n],
        [2, 0n],
        [3, 500n],
      ] as const;
      await expect(oracle.connect(stranger).commit(...args))
        .to.emit(oracle, "DecisionSettled")
        .withArgs(id, 1000, 0, 0, 1)
        .and.to.emit(registry, "ServicesRecorded")
        .withArgs(
          Currency.Token,
          paid.flatMap(([seat, pay]) => servicesOf([Number(agentIn(seat))], 0, pay)),
        );
      expect(await oracle.creditOf(registry.target, Currency.Token)).to.equal(999n);
      expect(await oracle.creditOf(operator.address, Currency.Token)).to.equal(0n);
      expect((await oracle.subscriptionOf(subscription)).tokenBalance).to.equal(subscriptionFunds - 999n);
      const rewards = await Promise.all(
        [0, 1, 2, 3].map((seat) => registry.rewardsOf(agentIn(seat), operator.address, Currency.Token)),
      );
      // Less than one unit of each pay is left; the agent gets it with its next pay.
      expect(rewards).to.deep.equal([165n, 332n, 0n, 499n]);
      for (const seat of [0, 1, 3])
        await registry.connect(operator).claimRewards(agentIn(seat), Currency.Token, operator.address);
      expect(await oracle.creditOf(registry.target, Currency.Token)).to.equal(3n);
      expect((await oracle.statusOf(id)).settled).to.be.true;
      const relay = packRelay(0b111n, 0n, stranger.address);
      const round = {
        round: entry.round,
        committee: entry.committee,
        decision: args[4],
        relay,
        appellant: ZeroAddress,
      };
      await expect(settlement.settle(entry.request, [round]))
        .to.be.revertedWithCustomError(oracle, "AlreadySettled")
        .withArgs(id);
    });

    it("is half for a hung committee, and nothing without shares", async () => {
      const { world, oracle } = await loadFixture(tenAgents);
      const { target } = world.registry;
      for (const [shares, paid] of [
        ["0x01010101", 500n],
        ["0x00000000", 0n],
      ] as const) {
        // A unit costs 125, and the committee earns 4 units.
        const before: bigint = await oracle.creditOf(target, Currency.Token);
        const { receipt } = await decide(world, await ask(world, { fee: 1001n }), { ...hung, shares });
        expect(findEvent(oracle, receipt, "DecisionSettled").args["rest"]).to.equal(1001n - paid);
        expect((await oracle.creditOf(target, Currency.Token)) - before).to.equal(paid);
      }
    });

    it("SE20: marks the seats that the decision attests as absent as missed, whoever signed", async () => {
      const { world, registry } = await loadFixture(tenAgents).then(({ world: one }) => ({ world: one, ...one }));
      const { receipt, rounds } = await decide(world, await ask(world), { shares: "0xff010100" });
      const [recorded] = findEvents(registry, receipt, "ServicesRecorded");
      const services = [...recorded!.args["services"]].map((packed) => unpackWord(LAYOUTS.service, packed));
      // Seats 0 to 2 signed, seat 3 did not.
      expect(services.map(({ missed }) => missed)).to.deep.equal([1n, 0n, 0n, 0n]);
      expect(services.map(({ agentId }) => agentId)).to.deep.equal(rounds[0]!.committee.map(agentOf));
    });

    it("needs the settled decision", async () => {
      const { world, oracle } = await loadFixture(sixtyAgents);
      const entry = await draw(world, await ask(world, { appeals: 1 }));
      const decision = decisionFor(entry);
      const { request, committee } = entry;
      let round = entry.round;
      const claim = (relay: string, changed = decision) =>
        world.settlement.settle(request, [
          { round, committee, decision: packDecision(changed), relay, appellant: ZeroAddress },
        ]);
      await expect(claim(ZeroHash))
        .to.be.revertedWithCustomError(oracle, "WrongStatus")
        .withArgs(request.id, Status.Requested);
      const committed = await commit(world, entry, decision);
      const { relay } = committed;
      round = committed.rounds[0]!.round;
      await passDeadline(world, round);
      await oracle.finalize(...latestOf(committed));
      for (const wrong of [claim(relay, { ...decision, shares: "0xff000000" }), claim(ZeroHash)]) {
        await expect(wrong).to.be.revertedWithCustomError(oracle, "WitnessMismatch").withArgs(request.id);
      }
      await claim(relay);
    });
  });

  describe("reputations", () => {
    it("SE11: change with the settlement, even those of unpaid seats; a committee of four slashes at most once", async () => {
      const { world, drawn: entry } = await loadFixture(drawn);
      const { registry } = world;
      const decision = decisionFor(entry, { reputationChanges: "0x00fe03ff", shares: "0x00010101" });
      const reputationOf = async (seat: number): Promise<bigint> =>
        (await registry.getAgent(agentOf(entry.committee[seat]!))).reputation as bigint;
      expect(await reputationOf(0)).to.equal(1_000_000n);
      const { receipt } = await commit(world, entry, decision);
      expect(await Promise.all([0, 1, 2, 3].map(reputationOf))).to.deep.equal([
        800_000n,
        1_000_000n,
        1_000_000n,
        800_000n,
      ]);
      expect(findEvents(registry, receipt, "ReputationChanged")).to.have.length(2);
    });
  });

  describe("a seat", () => {
    /** Asks until the agent sits. */
    const drawAgent = async (world: World, agentId: bigint): Promise<Drawn> => {
      for (;;) {
        const entry = await draw(world, await ask(world, { fee: 0n }));
        if (entry.committee.some((word) => agentOf(word) === agentId)) return entry;
      }
    };

    /** Makes the smallest registry that takes requests of four seats. */
    const smallest = async () => {
      const world = await deployWorld(ethers);
      await registerAgents(world, 6);
      return world;
    };

    it("loses and gains reputation without pay, even if no other seat does", async () => {
      const world = await loadFixture(smallest);
      const { registry } = world;
      for (const [steps, reputation] of [
        [-1, 800_000],
        [1, 810_000],
      ] as const) {
        const entry = await drawAgent(world, 1n);
        const seat = entry.committee.findIndex((word) => agentOf(word) === 1n);
        const reputationChanges = concat([toBeHex(seat), toBeHex(BigInt.asUintN(8, BigInt(steps)))]);
        const args = commitArgs(world, entry, decisionFor(entry, { reputationChanges }));
        await expect(world.oracle.commit(...args))
          .to.emit(registry, "ReputationChanged")
          .withArgs(1, steps, reputation);
      }
    });

    it("without pay and without a change of reputation gives no service", async () => {
      const world = await loadFixture(smallest);
      const { registry } = world;
      // 18 seats get neither pay nor steps; 16 services would make an agent proven.
      for (let round = 0; round < 6; round++) {
        const { receipt } = await decide(world, await ask(world, { fee: 0n }), { reputationChanges: "0x0001" });
        expect(findEvents(registry, receipt, "AgentProven")).to.deep.equal([]);
      }
    });

    it("can be paid a single unit", async () => {
      const world = await loadFixture(smallest);
      const { registry } = world;
      const { receipt } = await decide(world, await ask(world, { fee: 8n }), { shares: "0x05010101" });
      const amounts = [5n, 1n, 1n, 1n];
      const [recorded] = findEvents(registry, receipt, "ServicesRecorded");
      const earned = [...recorded!.args["services"]].map((word) => unpackWord(LAYOUTS.service, word).earned);
      expect(earned).to.deep.equal(amounts);
    });
  });
});
