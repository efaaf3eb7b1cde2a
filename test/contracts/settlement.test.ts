import { expect } from "chai";
import { Signature, ZeroAddress, ZeroHash, concat, dataSlice, encodeBytes32String, hexlify, toBeHex } from "ethers";
import hre from "hardhat";

import {
  Status,
  addressOf,
  drawnWitness,
  hashCommittee,
  hashRequest,
  requestedWitness,
  testKey,
} from "../../scripts/lib/typed-data.ts";
import {
  ask,
  certificateFor,
  commit,
  decisionFor,
  digestOf,
  draw,
  firstSeats,
  keyOfSeat,
  registerAgents,
} from "../../scripts/lib/world.ts";
import { stages } from "./utils/stages.ts";

const { ethers, networkHelpers } = await hre.network.create();
const { loadFixture, time } = networkHelpers;
const { tenAgents, asked, drawn, settled } = stages(ethers);
const fee = 10n ** 18n;

describe("settlement", () => {
  describe("commit", () => {
    it("D20: settles once, by anybody", async () => {
      const { world, oracle, stranger, drawn: entry } = await loadFixture(drawn);
      const decision = decisionFor(entry);
      const certificate = certificateFor(world, entry, decision, [0, 2, 3]);
      const { id } = entry.request;
      const send = () => oracle.connect(stranger).commit(entry.request, entry.committee, decision, certificate);
      await expect(send())
        .to.emit(oracle, "DecisionCommitted")
        .withArgs(
          id,
          0,
          0,
          Status.Decided,
          decision.outcome,
          decision.answer,
          decision.confidence,
          decision.transcript,
          "0x",
          decision.shares,
          0b1101,
          stranger.address,
        );
      expect(await oracle.statusOf(id)).to.deep.equal([BigInt(Status.Decided), 0n, false, false]);
      await expect(send()).to.be.revertedWithCustomError(oracle, "WrongStatus").withArgs(id, Status.Decided);
    });

    it("needs a draw", async () => {
      const { world, oracle, request } = await loadFixture(asked);
      const entry = { ...request, committee: [] };
      const decision = decisionFor(entry);
      await expect(oracle.commit(request.request, [], decision, { signers: 0, signatures: "0x" }))
        .to.be.revertedWithCustomError(world.oracle, "WrongStatus")
        .withArgs(request.request.id, Status.Requested);
    });

    it("takes it in the second of the deadline and not after", async () => {
      const { world, oracle, drawn: entry } = await loadFixture(drawn);
      const deadline = Number((BigInt(entry.request.terms) >> 120n) & 0xffffffffffn);
      const decision = decisionFor(entry);
      const certificate = certificateFor(world, entry, decision);
      await time.setNextBlockTimestamp(deadline + 1);
      await expect(oracle.commit(entry.request, entry.committee, decision, certificate))
        .to.be.revertedWithCustomError(oracle, "DeadlinePassed")
        .withArgs(entry.request.id, deadline);
      await time.setNextBlockTimestamp(deadline);
      await oracle.commit(entry.request, entry.committee, decision, certificate);
    });

    it("refuses a decision of another request, committee or attempt", async () => {
      const { world, oracle, drawn: entry } = await loadFixture(drawn);
      const other = await draw(world, await ask(world));
      const decision = decisionFor(entry);
      const certificate = certificateFor(world, entry, decision);
      for (const [request, committee, attempt] of [
        [entry.request, other.committee, 0],
        [other.request, entry.committee, 0],
        [entry.request, entry.committee, 1],
      ] as const) {
        await expect(oracle.commit(request, committee, { ...decision, attempt }, certificate))
          .to.be.revertedWithCustomError(oracle, "WitnessMismatch")
          .withArgs(request.id);
      }
    });

    it("refuses too few signers, signers that are no seats, and signatures that do not match in number", async () => {
      const { world, oracle, drawn: entry } = await loadFixture(drawn);
      const decision = decisionFor(entry);
      const send = (certificate: { signers: bigint; signatures: string }) =>
        oracle.commit(entry.request, entry.committee, decision, certificate);
      await expect(send(certificateFor(world, entry, decision, [1, 3])))
        .to.be.revertedWithCustomError(oracle, "QuorumNotReached")
        .withArgs(2, 3);
      const { signers, signatures } = certificateFor(world, entry, decision);
      await expect(send({ signers: signers | 16n, signatures }))
        .to.be.revertedWithCustomError(oracle, "InvalidDecision")
        .withArgs(encodeBytes32String("signers"), 23);
      await expect(send({ signers: 15n, signatures }))
        .to.be.revertedWithCustomError(oracle, "InvalidDecision")
        .withArgs(encodeBytes32String("signatures"), 195);
    });

    it("refuses signatures of others, for other chains or oracles, malleable or out of order", async () => {
      const { world, oracle, drawn: entry } = await loadFixture(drawn);
      const decision = decisionFor(entry);
      const { signers, signatures } = certificateFor(world, entry, decision);
      const send = (changed: string) =>
        oracle.commit(entry.request, entry.committee, decision, { signers, signatures: changed });
      const owner = (seat: number): string => addressOf(keyOfSeat(world, entry.committee[seat]!));
      const part = (seat: number): string => dataSlice(signatures, 65 * seat, 65 * seat + 65);

      await expect(send(concat([part(0), part(2), part(1)])))
        .to.be.revertedWithCustomError(oracle, "InvalidSignature")
        .withArgs(1, owner(2), owner(1));
      const stranger = testKey("no agent");
      const forged = stranger.sign(digestOf(world.domain, entry, decision)).serialized;
      await expect(send(concat([part(0), part(1), forged])))
        .to.be.revertedWithCustomError(oracle, "InvalidSignature")
        .withArgs(2, addressOf(stranger), owner(2));
      const { r, s, v } = Signature.from(part(0));
      const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
      const twin = concat([r, toBeHex(order - BigInt(s), 32), v === 27 ? "0x1c" : "0x1b"]);
      await expect(send(concat([twin, part(1), part(2)])))
        .to.be.revertedWithCustomError(oracle, "InvalidSignature")
        .withArgs(0, ZeroAddress, owner(0));
      for (const changed of [{ chainId: 1 }, { verifyingContract: ZeroAddress }, { version: "2" }, { name: "Other" }]) {
        const replayed = certificateFor(world, entry, decision, firstSeats(4), { ...world.domain, ...changed });
        await expect(send(replayed.signatures)).to.be.revertedWithCustomError(oracle, "InvalidSignature");
      }
      await send(signatures);
    });

    it("refuses a malformed decision although it is signed", async () => {
      const { world, oracle, drawn: entry } = await loadFixture(drawn);
      const hung = { status: Status.Hung, outcome: ZeroHash, answer: "0x" };
      const malformed: [string, Parameters<typeof decisionFor>[1], bigint | number][] = [
        ["status", { status: Status.Refunded }, Status.Refunded],
        ["outcome", { ...hung, outcome: toBeHex(5, 32) }, 5],
        ["answer", { ...hung, answer: "0x01" }, 1],
        ["answer", { answer: hexlify(new Uint8Array(1025)) }, 1025],
        ["outcome", { outcome: toBeHex(2, 32) }, 2],
        ["confidence", { confidence: 1_000_001 }, 1_000_001],
        ["shares", { shares: "0x010101" }, 3],
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
        await expect(oracle.commit(entry.request, entry.committee, decision, certificate))
          .to.be.revertedWithCustomError(oracle, "InvalidDecision")
          .withArgs(encodeBytes32String(field), value);
      }
    });

    it("applies reputation changes", async () => {
      const { world, drawn: entry } = await loadFixture(drawn);
      const decision = decisionFor(entry, { reputationChanges: "0x00fe03ff" });
      const receipt = await commit(world, entry, decision);
      const agentOf = (seat: number): bigint => BigInt(entry.committee[seat]!) >> 192n;
      expect((await world.registry.getAgent(agentOf(0))).reputation).to.equal(640_000n);
      expect((await world.registry.getAgent(agentOf(3))).reputation).to.equal(800_000n);
      expect(receipt.logs.filter((log) => log.address === world.registry.target)).to.have.length(2);
    });

    it("settles without its role as long as no reputation changes", async () => {
      const { world, oracle, drawn: entry } = await loadFixture(drawn);
      await world.manager.revokeRole(1, oracle.target);
      const decision = decisionFor(entry, { reputationChanges: "0x00ff" });
      const certificate = certificateFor(world, entry, decision);
      await expect(oracle.commit(entry.request, entry.committee, decision, certificate)).to.be.revertedWithCustomError(
        world.registry,
        "AccessManagedUnauthorized",
      );
      await commit(world, entry, decisionFor(entry));
    });

    it("takes committees of all sizes up to 64", async () => {
      const { world, operator } = await loadFixture(tenAgents);
      await registerAgents(world, 54, { operator });
      for (const committeeSize of [5, 31, 64]) {
        const entry = await draw(world, await ask(world, { committeeSize }));
        await commit(world, entry, decisionFor(entry));
      }
    });
  });

  describe("pay", () => {
    it("goes to the operators by shares and what is left to the consumer", async () => {
      const { world, oracle, operator, stranger } = await loadFixture(tenAgents);
      const entry = await draw(world, await ask(world, { fee: 1000n }));
      const decision = decisionFor(entry, { shares: "0x01020003" });
      await commit(world, entry, decision);
      const { id } = entry.request;
      await expect(oracle.connect(stranger).creditPay(entry.request, entry.committee, decision))
        .to.emit(oracle, "PayCredited")
        .withArgs(id, operator.address, 0, 166)
        .and.to.emit(oracle, "PayCredited")
        .withArgs(id, operator.address, 1, 333)
        .and.to.emit(oracle, "PayCredited")
        .withArgs(id, operator.address, 3, 500)
        .and.to.emit(oracle, "FeeRefunded")
        .withArgs(id, world.deployer.address, 1);
      expect(await oracle.balanceOf(operator.address)).to.equal(999n);
      await oracle.connect(operator).withdraw(999, operator.address);
      expect((await oracle.statusOf(id))[3]).to.be.true;
      await expect(oracle.creditPay(entry.request, entry.committee, decision))
        .to.be.revertedWithCustomError(oracle, "PayAlreadyCredited")
        .withArgs(id);
    });

    it("is half when hung, and nothing without shares", async () => {
      const { world, oracle, operator } = await loadFixture(tenAgents);
      for (const [shares, paid] of [
        ["0x01010101", 500n],
        ["0x00000000", 0n],
      ] as const) {
        const entry = await draw(world, await ask(world, { fee: 1001n }));
        const decision = decisionFor(entry, { status: Status.Hung, outcome: ZeroHash, answer: "0x", shares });
        await commit(world, entry, decision);
        const before: bigint = await oracle.balanceOf(operator.address);
        await expect(oracle.creditPay(entry.request, entry.committee, decision))
          .to.emit(oracle, "FeeRefunded")
          .withArgs(entry.request.id, world.deployer.address, 1001n - paid);
        expect((await oracle.balanceOf(operator.address)) - before).to.equal(paid);
      }
    });

    it("needs the settled decision", async () => {
      const { world, oracle, drawn: entry } = await loadFixture(drawn);
      const decision = decisionFor(entry);
      await expect(oracle.creditPay(entry.request, entry.committee, decision))
        .to.be.revertedWithCustomError(oracle, "WrongStatus")
        .withArgs(entry.request.id, Status.Drawn);
      await commit(world, entry, decision);
      await expect(oracle.creditPay(entry.request, entry.committee, { ...decision, shares: "0xff000000" }))
        .to.be.revertedWithCustomError(oracle, "WitnessMismatch")
        .withArgs(entry.request.id);
    });
  });

  describe("refund", () => {
    it("returns the fee after the deadline, before and after the draw, by anybody", async () => {
      const { world, oracle, stranger, drawn: entry } = await loadFixture(drawn);
      const waiting = await ask(world, { deadline: (await time.latest()) + 3600 });
      const before: bigint = await oracle.balanceOf(world.deployer.address);
      const witnesses = [
        [entry.request, drawnWitness(0, hashCommittee(entry.committee))],
        [waiting.request, requestedWitness(waiting.seedBlock)],
      ] as const;
      for (const [request, witness] of witnesses) {
        await expect(oracle.refund(request, witness)).to.be.revertedWithCustomError(oracle, "DeadlineNotPassed");
      }
      await time.increase(3700);
      for (const [request, witness] of witnesses) {
        for (const wrong of ["0x", concat([witness, "0x00"]), concat([hashRequest(request), witness])]) {
          await expect(oracle.refund(request, wrong)).to.be.revertedWithCustomError(oracle, "WitnessMismatch");
        }
        await expect(oracle.connect(stranger).refund(request, witness))
          .to.emit(oracle, "FeeRefunded")
          .withArgs(request.id, world.deployer.address, fee)
          .and.to.emit(oracle, "RequestRefunded")
          .withArgs(request.id);
        expect(await oracle.statusOf(request.id)).to.deep.equal([BigInt(Status.Refunded), 0n, false, true]);
        await expect(oracle.refund(request, witness))
          .to.be.revertedWithCustomError(oracle, "WrongStatus")
          .withArgs(request.id, Status.Refunded);
      }
      expect(await oracle.balanceOf(world.deployer.address)).to.equal(before + 2n * fee);
    });

    it("is not due in the second of the deadline, which is still the committee's", async () => {
      const { oracle, drawn: entry } = await loadFixture(drawn);
      const deadline = Number((BigInt(entry.request.terms) >> 120n) & 0xffffffffffn);
      const witness = drawnWitness(0, hashCommittee(entry.committee));
      await time.setNextBlockTimestamp(deadline);
      await expect(oracle.refund(entry.request, witness))
        .to.be.revertedWithCustomError(oracle, "DeadlineNotPassed")
        .withArgs(entry.request.id, deadline);
      await time.setNextBlockTimestamp(deadline + 1);
      await oracle.refund(entry.request, witness);
    });

    it("never follows a decision", async () => {
      const { oracle, drawn: entry } = await loadFixture(settled);
      await time.increase(3700);
      await expect(oracle.refund(entry.request, drawnWitness(0, hashCommittee(entry.committee))))
        .to.be.revertedWithCustomError(oracle, "WrongStatus")
        .withArgs(entry.request.id, Status.Decided);
    });
  });

  describe("retryCallback", () => {
    it("needs a failed callback", async () => {
      const { oracle, decision, drawn: entry } = await loadFixture(settled);
      await expect(oracle.retryCallback(entry.request, entry.committee, decision))
        .to.be.revertedWithCustomError(oracle, "CallbackNotPending")
        .withArgs(entry.request.id);
    });
  });
});
