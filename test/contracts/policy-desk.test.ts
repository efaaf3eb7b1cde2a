import { expect } from "chai";
import { hexlify, id as hashText, toBeHex, toUtf8Bytes, type ContractTransactionReceipt } from "ethers";
import hre from "hardhat";

import {
  ask,
  commit,
  decide,
  decisionFor,
  draw,
  hung,
  latestOf,
  passDeadline,
  refundArgs,
} from "../support/contracts/course.ts";
import { LAYOUTS } from "../../agents/core/encoding/layouts.ts";
import { Status, fieldOf } from "../support/contracts/typed-data.ts";
import { anyAmount, deployWorld, findEvent, registerAgents, subscription } from "../support/contracts/world.ts";

const { ethers, networkHelpers } = await hre.network.create();
const { loadFixture } = networkHelpers;

async function desk() {
  const world = await deployWorld(ethers);
  await registerAgents(world, 6);
  const settings = {
    subscriptionId: subscription,
    fee: 10n ** 18n,
    duration: 3600,
    appeals: 0,
    retries: 0,
    callbackGasLimit: 150_000,
    committeeSize: 4,
    assurance: 1,
    protocol: 1,
  };
  const { deployer, oracle } = world;
  const contract = await ethers.deployContract("PolicyDesk", [oracle.target, deployer.address, settings]);
  await oracle.setConsumer(subscription, contract.target, anyAmount, anyAmount);
  const [, stranger] = await ethers.getSigners();
  return { world, contract, settings, stranger: stranger! };
}

describe("PolicyDesk", () => {
  it("L25: asks questions of every kind and keeps their outcomes", async () => {
    const { world, contract } = await loadFixture(desk);
    const call = (name: string) => contract.getFunction(name);
    const text = hashText("clause 7");
    const cases = [
      { method: "askBoolean", args: [], outcome: 1n, read: "isYes", expected: true },
      { method: "askChoice", args: [3], outcome: 2n, read: "choiceOf", expected: 2n },
      { method: "askNumber", args: [2, 5], outcome: 2n ** 256n - 250n, read: "numberOf", expected: -250n },
      { method: "askText", args: [], outcome: BigInt(text), answer: "clause 7", read: "textHashOf", expected: text },
      { method: "askPolicies", args: [4], outcome: 0b1010n, answer: "B,D", read: "policiesOf", expected: 0b1010n },
    ];
    for (const { method, args, outcome, answer = "any", read, expected } of cases) {
      const by = (_: string, question: Uint8Array) =>
        call(method).send(Buffer.from(question).toString("utf8"), ...args);
      const asked = await ask(world, {}, "Which clause applies?", by);
      const { id } = asked.request;
      await expect(call(read)(id)).to.be.revertedWithCustomError(contract, "NotDecided").withArgs(id, Status.None);
      const drawn = await draw(world, asked);
      const decision = decisionFor(drawn, {
        outcome: toBeHex(outcome, 32),
        answer: hexlify(toUtf8Bytes(answer)),
      });
      const told = findEvent(contract, asked.receipt, "Asked").args;
      expect([told["requestId"], told["question"]]).to.deep.equal([id, "Which clause applies?"]);
      const { receipt } = await commit(world, drawn, decision);
      const expectedArgs = [id, decision.outcome, decision.answer, 900_000n];
      expect([...findEvent(contract, receipt, "Answered").args]).to.deep.equal(expectedArgs);
      expect((await world.oracle.statusOf(id)).callbackPending).to.be.false;
      expect(await call(read)(id)).to.equal(expected);
      expect(await call("outcomes")(id)).to.deep.equal([BigInt(Status.Decided), 900_000n, toBeHex(outcome, 32)]);
    }
  });

  it("does not treat a hung or a refunded question as an answered one", async () => {
    const { world, contract } = await loadFixture(desk);
    const by = () => contract.getFunction("askBoolean").send("Is it?");
    const endedAs = async (status: number, id: bigint, receipt: ContractTransactionReceipt): Promise<void> => {
      expect([...findEvent(contract, receipt, "Unanswered").args]).to.deep.equal([id, BigInt(status)]);
      await expect(contract.getFunction("isYes")(id))
        .to.be.revertedWithCustomError(contract, "NotDecided")
        .withArgs(id, status);
    };
    const drawn = await draw(world, await ask(world, {}, "Is it?", by));
    const committed = await commit(world, drawn, decisionFor(drawn, hung));
    await endedAs(Status.Hung, drawn.request.id, committed.receipt);
    const silent = await ask(world, {}, "Is it?", by);
    await passDeadline(world, silent.round);
    const refunded = await (await world.oracle.refund(...refundArgs(silent))).wait();
    await endedAs(Status.Refunded, silent.request.id, refunded);
  });

  it("SE23: lets its owner take a question back", async () => {
    const { world, contract } = await loadFixture(desk);
    const asked = await ask(world, {}, "Is it?", () => contract.getFunction("askBoolean").send("Is it?"));
    await contract.getFunction("cancel")(...refundArgs(asked));
    expect((await world.oracle.statusOf(asked.request.id)).status).to.equal(BigInt(Status.Refunded));
    expect((await contract.getFunction("outcomes")(asked.request.id)).status).to.equal(BigInt(Status.None));
  });

  it("allows appeals except for texts, and hears only the final decision", async () => {
    const { world, contract, settings } = await loadFixture(desk);
    await registerAgents(world, 8);
    await contract.getFunction("setSettings")({ ...settings, appeals: 1 });
    const text = await ask(world, {}, "Which?", () => contract.getFunction("askText").send("Which?"));
    expect(fieldOf(LAYOUTS.requestTerms, text.request.terms, "appeals")).to.equal(0n);
    const asked = await ask(world, {}, "Is it?", () => contract.getFunction("askBoolean").send("Is it?"));
    const { id } = asked.request;
    const committed = await decide(world, asked);
    expect((await contract.getFunction("outcomes")(id)).status).to.equal(BigInt(Status.None));
    await passDeadline(world, committed.rounds[0]!.round);
    await world.oracle.finalize(...latestOf(committed));
    expect(await contract.getFunction("isYes")(id)).to.be.true;
  });

  it("obeys only its owner", async () => {
    const { world, contract, settings, stranger } = await loadFixture(desk);
    const asked = await ask(world, {}, "Is it?", () => contract.getFunction("askBoolean").send("Is it?"));
    const other = contract.connect(stranger);
    for (const [method, args] of [
      ["askBoolean", ["?"]],
      ["askChoice", ["?", 2]],
      ["askNumber", ["?", 0, 0]],
      ["askText", ["?"]],
      ["askPolicies", ["?", 2]],
      ["setSettings", [settings]],
      ["cancel", refundArgs(asked)],
    ] as const) {
      await expect(other.getFunction(method)(...args))
        .to.be.revertedWithCustomError(contract, "OwnableUnauthorizedAccount")
        .withArgs(stranger.address);
    }
    const first = (await contract.deploymentTransaction()!.wait())!;
    expect(findEvent(contract, first, "SettingsChanged").args["settings"]["committeeSize"]).to.equal(4n);
    await expect(contract.getFunction("setSettings")({ ...settings, committeeSize: 5 })).to.emit(
      contract,
      "SettingsChanged",
    );
    expect((await contract.getFunction("settings")()).committeeSize).to.equal(5n);
  });
});
