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
  toBeHex,
} from "ethers";
import hre from "hardhat";

import { LAYOUTS } from "../../agents/core/encoding/layouts.ts";
import { unpackWord } from "../../agents/core/encoding/words.ts";
import {
  ask,
  certificateFor,
  commit,
  decide,
  decisionFor,
  digestOf,
  draw,
  firstSeats,
  hung,
  latestOf,
  passDeadline,
  priceGas,
  recordOf,
  refundArgs,
} from "../support/contracts/course.ts";
import {
  agentOf,
  Currency,
  hashCommittee,
  hashRequest,
  packDecision,
  packRelay,
  Status,
  testKey,
  unpackRound,
} from "../support/contracts/typed-data.ts";
import {
  deployWorld,
  findEvents,
  registerAgents,
  servicesOf,
  subscription,
  subscriptionFunds,
} from "../support/contracts/world.ts";
import { stages } from "./utils/stages.ts";

const { ethers, networkHelpers } = await hre.network.create();
const { loadFixture, time } = networkHelpers;
const { tenAgents, asked, drawn, settled } = stages(ethers);
const fee = 10n ** 18n;

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
      const send = () => oracle.connect(stranger).commit(entry.request, entry.round, certificate, packed, priced);
      await expect(send())
        .to.emit(oracle, "DecisionCommitted")
        .withArgs(
          id,
          packed.head,
          decision.outcome,
          decision.transcript,
          packRelay(0b1101n, gasPrice, stranger.address),
          decision.answer,
          packed.merits,
        );
      expect(await oracle.statusOf(id)).to.deep.equal([BigInt(Status.Decided), 0n, false, false, false]);
      await expect(send()).to.be.revertedWithCustomError(oracle, "WrongStatus").withArgs(id, Status.Decided);
    });

    it("needs a draw", async () => {
      const { world, oracle, request } = await loadFixture(asked);
      const entry = { ...request, committee: [] };
      const decision = decisionFor(entry);
      await expect(oracle.commit(request.request, request.round, "0x", packDecision(decision)))
        .to.be.revertedWithCustomError(world.oracle, "WrongStatus")
        .withArgs(request.request.id, Status.Requested);
    });

    it("is accepted up to the second of the deadline and not after", async () => {
      const { world, oracle, drawn: entry } = await loadFixture(drawn);
      const { deadline } = unpackRound(entry.round);
      const decision = decisionFor(entry);
      const certificate = certificateFor(world, entry, decision);
      await time.setNextBlockTimestamp(deadline + 1);
      await expect(oracle.commit(entry.request, entry.round, certificate, packDecision(decision)))
        .to.be.revertedWithCustomError(oracle, "DeadlinePassed")
        .withArgs(entry.request.id, deadline);
      await time.setNextBlockTimestamp(deadline);
      await oracle.commit(entry.request, entry.round, certificate, packDecision(decision));
    });

    it("refuses a decision of another request, round, committee or attempt", async () => {
      const { world, oracle, drawn: entry } = await loadFixture(drawn);
      const other = await draw(world, await ask(world));
      const decision = decisionFor(entry);
      const certificate = certificateFor(world, entry, decision);
      const swapped = concat([hashCommittee(other.committee), dataSlice(certificate, 32)]);
      for (const [request, round, bytes, attempt] of [
        [entry.request, entry.round, swapped, 0],
        [other.request, entry.round, certificate, 0],
        [entry.request, other.round, certificate, 0],
        [entry.request, entry.round, certificate, 1],
      ] as const) {
        await expect(oracle.commit(request, round, bytes, packDecision({ ...decision, attempt })))
          .to.be.revertedWithCustomError(oracle, "WitnessMismatch")
          .withArgs(request.id);
      }
    });

    it("refuses too few signers, signers without a seat, and a wrong number of seats", async () => {
      const { world, oracle, drawn: entry } = await loadFixture(drawn);
      const decision = decisionFor(entry);
      const send = (certificate: string) =>
        oracle.commit(entry.request, entry.round, certificate, packDecision(decision));
      await expect(send(certificateFor(world, entry, decision, [1, 3])))
        .to.be.revertedWithCustomError(oracle, "QuorumNotReached")
        .withArgs(2, 3);
      const certificate = certificateFor(world, entry, decision);
      const withSigners = (signers: bigint): string =>
        concat([dataSlice(certificate, 0, 32), toBeHex(signers, 8), dataSlice(certificate, 40)]);
      for (const signers of [0b10111n, (1n << 63n) | 7n]) {
        await expect(send(withSigners(signers)))
          .to.be.revertedWithCustomError(oracle, "InvalidDecision")
          .withArgs(encodeBytes32String("signers"), signers);
      }
      // One seat fewer, a trailing byte, and less than the head.
      const length = dataLength(certificate);
      for (const [changed, size] of [
        [dataSlice(certificate, 0, length - 28), length - 28],
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
      const send = (changed: string) => oracle.commit(entry.request, entry.round, changed, packDecision(decision));
      const start = (seat: number): number => 40 + 72 * seat + 8;
      const part = (seat: number): string => dataSlice(certificate, start(seat), start(seat) + 64);
      const withPart = (seat: number, signature: string): string =>
        concat([dataSlice(certificate, 0, start(seat)), signature, dataSlice(certificate, start(seat) + 64)]);

      const forged = testKey("no agent").sign(digestOf(world.domain, entry, decision)).compactSerialized;
      const { r, s, yParity } = Signature.from(part(0));
      const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
      const twin = concat([r, toBeHex((order - BigInt(s)) | (BigInt(1 - yParity) << 255n), 32)]);
      const others = [withPart(1, part(0)), withPart(2, forged), withPart(0, twin)];
      for (const changed of [{ chainId: 1 }, { verifyingContract: ZeroAddress }, { version: "2" }, { name: "Other" }]) {
        others.push(certificateFor(world, entry, decision, firstSeats(4), { ...world.domain, ...changed }));
      }
      for (const other of others) {
        await expect(send(other)).to.be.revertedWithCustomError(oracle, "WitnessMismatch").withArgs(entry.request.id);
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
        await expect(oracle.commit(entry.request, entry.round, certificate, packDecision(decision)))
          .to.be.revertedWithCustomError(oracle, "InvalidDecision")
          .withArgs(encodeBytes32String(field), value);
      }
    });

    it("accepts committees of all sizes up to 64", async () => {
      const { world, operator } = await loadFixture(tenAgents);
      await registerAgents(world, 54, { operator });
      for (const committeeSize of [5, 31, 64]) {
        await decide(world, await ask(world, { committeeSize }));
      }
    });
  });

  describe("pay", () => {
    it("SE16: goes to the agents by shares, and they claim it from the registry; the subscription gets the rest", async () => {
      const { world, oracle, operator, stranger } = await loadFixture(tenAgents);
      const { registry, settlement } = world;
      const committed = await decide(world, await ask(world, { fee: 1000n }), { shares: "0x01020003" });
      const { id } = committed.request;
      const agentIn = (seat: number): bigint => agentOf(committed.rounds[0]!.committee[seat]!);
      await expect(settlement.connect(stranger).settle(...recordOf(committed)))
        .to.emit(settlement, "PayCredited")
        .withArgs(id, agentIn(0), 0, 0, 166)
        .and.to.emit(settlement, "PayCredited")
        .withArgs(id, agentIn(1), 0, 1, 333)
        .and.to.emit(settlement, "PayCredited")
        .withArgs(id, agentIn(3), 0, 3, 500)
        .and.to.emit(registry, "ServicesRecorded")
        .withArgs(
          Currency.Token,
          (
            [
              [0, 166n],
              [1, 333n],
              [3, 500n],
            ] as const
          ).flatMap(([seat, pay]) => servicesOf([Number(agentIn(seat))], 0, pay)),
        )
        .and.to.emit(oracle, "FeeRefunded")
        .withArgs(id, world.deployer.address, 1);
      expect(await oracle.creditOf(registry.target, Currency.Token)).to.equal(999n);
      expect(await oracle.creditOf(operator.address, Currency.Token)).to.equal(0n);
      expect((await oracle.subscriptionOf(subscription)).tokenBalance).to.equal(subscriptionFunds - 999n);
      const paid = await Promise.all(
        [0, 1, 2, 3].map((seat) => registry.rewardsOf(agentIn(seat), operator.address, Currency.Token)),
      );
      // Less than one unit of each pay is left; the agent gets it with its next pay.
      expect(paid).to.deep.equal([165n, 332n, 0n, 499n]);
      for (const seat of [0, 1, 3])
        await registry.connect(operator).claimRewards(agentIn(seat), Currency.Token, operator.address);
      expect(await oracle.creditOf(registry.target, Currency.Token)).to.equal(3n);
      expect((await oracle.statusOf(id)).settled).to.be.true;
      await expect(settlement.settle(...recordOf(committed)))
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
        const committed = await decide(world, await ask(world, { fee: 1001n }), { ...hung, shares });
        const before: bigint = await oracle.creditOf(target, Currency.Token);
        await expect(world.settlement.settle(...recordOf(committed)))
          .to.emit(oracle, "FeeRefunded")
          .withArgs(committed.request.id, world.deployer.address, 1001n - paid);
        expect((await oracle.creditOf(target, Currency.Token)) - before).to.equal(paid);
      }
    });

    it("needs the settled decision", async () => {
      const { world, oracle, drawn: entry } = await loadFixture(drawn);
      const decision = decisionFor(entry);
      const { request, committee } = entry;
      const claim = (relay: string, changed = decision) =>
        world.settlement.settle(request, [
          { round: entry.round, committee, decision: packDecision(changed), relay, appellant: ZeroAddress },
        ]);
      await expect(claim(ZeroHash))
        .to.be.revertedWithCustomError(oracle, "WrongStatus")
        .withArgs(request.id, Status.Drawn);
      const { relay } = await commit(world, entry, decision);
      for (const wrong of [claim(relay, { ...decision, shares: "0xff000000" }), claim(ZeroHash)]) {
        await expect(wrong).to.be.revertedWithCustomError(oracle, "WitnessMismatch").withArgs(request.id);
      }
      await claim(relay);
    });
  });

  describe("reputations", () => {
    it("SE11: change with the settlement, even those of unpaid seats; a committee of four slashes at most once", async () => {
      const { world, drawn: entry } = await loadFixture(drawn);
      const { registry, settlement } = world;
      const decision = decisionFor(entry, { reputationChanges: "0x00fe03ff", shares: "0x00010101" });
      const committed = await commit(world, entry, decision);
      const reputationOf = async (seat: number): Promise<bigint> =>
        (await registry.getAgent(agentOf(entry.committee[seat]!))).reputation as bigint;
      expect(await reputationOf(0)).to.equal(1_000_000n);
      const receipt = await (await settlement.settle(...recordOf(committed))).wait();
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
    /** Makes a registry of four agents, which sit in every committee. */
    const four = async () => {
      const world = await deployWorld(ethers);
      await registerAgents(world, 4);
      return world;
    };

    it("loses and gains reputation without pay, even if no other seat does", async () => {
      const world = await loadFixture(four);
      const { registry, settlement } = world;
      for (const [steps, reputation] of [
        [-1, 800_000],
        [1, 810_000],
      ] as const) {
        const entry = await draw(world, await ask(world, { fee: 0n }));
        const seat = entry.committee.findIndex((word) => agentOf(word) === 1n);
        const reputationChanges = concat([toBeHex(seat), toBeHex(BigInt.asUintN(8, BigInt(steps)))]);
        const committed = await commit(world, entry, decisionFor(entry, { reputationChanges }));
        await expect(settlement.settle(...recordOf(committed)))
          .to.emit(registry, "ReputationChanged")
          .withArgs(1, steps, reputation);
      }
    });

    it("without pay and without a change of reputation gives no service", async () => {
      const world = await loadFixture(four);
      const { registry, settlement } = world;
      // 18 seats get neither pay nor steps; 16 services would make an agent proven.
      for (let round = 0; round < 6; round++) {
        const committed = await decide(world, await ask(world, { fee: 0n }), { reputationChanges: "0x0001" });
        const receipt = (await (await settlement.settle(...recordOf(committed))).wait())!;
        expect(findEvents(registry, receipt, "AgentProven")).to.deep.equal([]);
      }
    });

    it("can be paid a single unit", async () => {
      const world = await loadFixture(four);
      const { registry, settlement } = world;
      const committed = await decide(world, await ask(world, { fee: 8n }), { shares: "0x05010101" });
      const receipt = (await (await settlement.settle(...recordOf(committed))).wait())!;
      const amounts = findEvents(settlement, receipt, "PayCredited").map(({ args }) => args["amount"]);
      expect(amounts).to.deep.equal([5n, 1n, 1n, 1n]);
      const [recorded] = findEvents(registry, receipt, "ServicesRecorded");
      const earned = [...recorded!.args["services"]].map((word) => unpackWord(LAYOUTS.service, word).earned);
      expect(earned).to.deep.equal(amounts);
    });
  });

  describe("refund", () => {
    it("can be sent by any account after the deadline, before and after the draw, and returns the fee", async () => {
      const { world, oracle, stranger, drawn: entry } = await loadFixture(drawn);
      const waiting = await ask(world);
      for (const running of [entry, waiting]) {
        await expect(oracle.refund(...refundArgs(running))).to.be.revertedWithCustomError(oracle, "DeadlineNotPassed");
      }
      await passDeadline(world, waiting.round);
      for (const running of [entry, waiting]) {
        const [request, round, witness] = refundArgs(running);
        for (const wrong of ["0x", concat([witness, "0x00"]), concat([hashRequest(request), witness])]) {
          await expect(oracle.refund(request, round, wrong)).to.be.revertedWithCustomError(oracle, "WitnessMismatch");
        }
        await expect(oracle.connect(stranger).refund(request, round, witness))
          .to.emit(oracle, "FeeRefunded")
          .withArgs(request.id, world.deployer.address, fee)
          .and.to.emit(oracle, "RequestRefunded")
          .withArgs(request.id);
        expect(await oracle.statusOf(request.id)).to.deep.equal([BigInt(Status.Refunded), 0n, false, false, true]);
        await expect(oracle.refund(request, round, witness))
          .to.be.revertedWithCustomError(oracle, "WrongStatus")
          .withArgs(request.id, Status.Refunded);
      }
      expect((await oracle.subscriptionOf(subscription)).tokenBalance).to.equal(subscriptionFunds);
    });

    it("fails in the second of the deadline, which still belongs to the committee", async () => {
      const { oracle, drawn: entry } = await loadFixture(drawn);
      const { deadline } = unpackRound(entry.round);
      await time.setNextBlockTimestamp(deadline);
      await expect(oracle.refund(...refundArgs(entry)))
        .to.be.revertedWithCustomError(oracle, "DeadlineNotPassed")
        .withArgs(entry.request.id, deadline);
      await time.setNextBlockTimestamp(deadline + 1);
      await oracle.refund(...refundArgs(entry));
    });

    it("fails after a decision", async () => {
      const { world, oracle, drawn: entry } = await loadFixture(settled);
      await passDeadline(world, entry.round);
      await expect(oracle.refund(...refundArgs(entry)))
        .to.be.revertedWithCustomError(oracle, "WrongStatus")
        .withArgs(entry.request.id, Status.Decided);
    });
  });

  describe("retryCallback", () => {
    it("needs a failed callback", async () => {
      const { oracle, committed } = await loadFixture(settled);
      await expect(oracle.retryCallback(...latestOf(committed)))
        .to.be.revertedWithCustomError(oracle, "CallbackNotPending")
        .withArgs(committed.request.id);
    });
  });
});
