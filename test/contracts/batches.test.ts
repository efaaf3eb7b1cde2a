import { expect } from "chai";
import { dataLength, dataSlice } from "ethers";
import type { ContractTransactionReceipt } from "ethers";
import hre from "hardhat";

import { Status, hashCommittee, packDecision, packTerms } from "../../scripts/lib/typed-data.ts";
import {
  ask,
  certificateFor,
  commit,
  decisionFor,
  deployWorld,
  draw,
  pauserRole,
  registerAgents,
  termsFor,
} from "../../scripts/lib/world.ts";
import type { Drawn, World } from "../../scripts/lib/world.ts";

const { ethers, networkHelpers } = await hre.network.create();
const { loadFixture, time } = networkHelpers;

const Mode = { Accept: 0, Revert: 1, BurnGas: 2, ReturnBomb: 3, RevertBomb: 4, Reenter: 5 } as const;
const gasLimit = 8_000_000;

async function deployed() {
  const world = await deployWorld(ethers);
  await registerAgents(world, 5);
  const consumerOf = async (mode: number) => {
    const consumer = await ethers.deployContract("HostileConsumer", [world.oracle.target]);
    await world.oracle.deposit(consumer.target, 10n ** 20n);
    await consumer.getFunction("setMode")(mode);
    return consumer;
  };
  const drawFor = async (
    consumer: Awaited<ReturnType<typeof consumerOf>>,
    callbackGasLimit = 300_000,
  ): Promise<Drawn> => {
    const terms = await termsFor(world, { callbackGasLimit });
    const by = (_: string, question: Uint8Array) => consumer.getFunction("ask").send(terms, question);
    return draw(world, await ask(world, {}, "Is it safe?", by));
  };
  return { world, oracle: world.oracle, consumerOf, drawFor };
}

function commitOf(world: World, entry: Drawn, signers?: number[]): string {
  const decision = decisionFor(entry);
  const args = [entry.request, packDecision(decision), certificateFor(world, entry, decision, signers)];
  return world.oracle.interface.encodeFunctionData("commit", args);
}

/** The failed calls by index, each with the name of its error. */
function failures(world: World, receipt: ContractTransactionReceipt): Record<number, string> {
  const parsed = receipt.logs.map((log) => world.oracle.interface.parseLog(log));
  const failed = parsed.filter((event) => event?.name === "CallFailed");
  return Object.fromEntries(
    failed.map((event) => {
      const reason = event!.args["reason"] as string;
      const error = reason === "0x" ? null : world.oracle.interface.parseError(reason);
      return [Number(event!.args["index"]), error?.name ?? reason];
    }),
  );
}

describe("tryMulticall", () => {
  it("settles what can be settled and says what cannot", async () => {
    const { world, oracle, consumerOf, drawFor } = await loadFixture(deployed);
    const entries: Drawn[] = [];
    for (let index = 0; index < 6; index++) entries.push(await drawFor(await consumerOf(Mode.Accept)));
    await commit(world, entries[1]!, decisionFor(entries[1]!));
    const calls = [
      commitOf(world, entries[0]!),
      commitOf(world, entries[1]!),
      commitOf(world, entries[2]!, [0, 1]),
      commitOf(world, entries[3]!),
      "0x",
      "0xffffffff",
      commitOf(world, entries[4]!),
      commitOf(world, entries[0]!),
    ];
    const receipt = await (await oracle.tryMulticall(calls, { gasLimit })).wait();
    expect(failures(world, receipt)).to.deep.equal({
      1: "WrongStatus",
      2: "QuorumNotReached",
      4: "0x",
      5: "0x",
      7: "WrongStatus",
    });
    const decided = [true, true, false, true, true, false];
    for (const [index, { request }] of entries.entries()) {
      const expected = decided[index] === true ? Status.Decided : Status.Drawn;
      expect((await oracle.statusOf(request.id))[0]).to.equal(BigInt(expected));
    }
  });

  for (const mode of ["Revert", "BurnGas", "ReturnBomb", "RevertBomb"] as const) {
    it(`is not stopped by a consumer that does ${mode}`, async () => {
      const { world, oracle, consumerOf, drawFor } = await loadFixture(deployed);
      const hostile = await drawFor(await consumerOf(Mode[mode]));
      const good = await consumerOf(Mode.Accept);
      const entries = [await drawFor(good), hostile, await drawFor(good)];
      const calls = entries.map((entry) => commitOf(world, entry));
      const receipt: ContractTransactionReceipt = await (await oracle.tryMulticall(calls, { gasLimit })).wait();
      expect(failures(world, receipt)).to.deep.equal({});
      expect(receipt.gasUsed).to.be.below(800_000n);
      expect(await good.getFunction("calls")()).to.equal(2n);
      const [status, , pending] = await oracle.statusOf(hostile.request.id);
      expect([status, pending]).to.deep.equal([BigInt(Status.Decided), mode !== "ReturnBomb"]);
    });
  }

  it("names the caller as the relayer of each, and keeps what a consumer does in between", async () => {
    const { world, oracle, consumerOf, drawFor } = await loadFixture(deployed);
    const reentering = await consumerOf(Mode.Reenter);
    const entries = [await drawFor(reentering, 500_000), await drawFor(await consumerOf(Mode.Accept))];
    // The consumer settles the next one before the batch comes to it, in a batch of its own.
    const inner = oracle.interface.encodeFunctionData("tryMulticall", [[commitOf(world, entries[1]!)]]);
    await reentering.getFunction("setReentry")(inner);
    const [, stranger] = await ethers.getSigners();
    const calls = entries.map((entry) => commitOf(world, entry));
    const receipt = await (await oracle.connect(stranger!).tryMulticall(calls, { gasLimit })).wait();
    expect(failures(world, receipt)).to.deep.equal({ 1: "WrongStatus" });
    const relayers = receipt.logs
      .map((log: ContractTransactionReceipt["logs"][number]) => oracle.interface.parseLog(log))
      .filter((event: { name: string } | null) => event?.name === "DecisionCommitted")
      .map((event: { args: { relay: bigint } }) => event.args.relay & ((1n << 160n) - 1n));
    expect(relayers).to.deep.equal([BigInt(stranger!.address), BigInt(reentering.target as string)]);
  });

  it("fails a call that has too little gas for its callback, and undoes it", async () => {
    const { world, oracle, consumerOf, drawFor } = await loadFixture(deployed);
    const good = await consumerOf(Mode.Accept);
    const entries = [await drawFor(good), await drawFor(good)];
    const calls = entries.map((entry) => commitOf(world, entry));
    const receipt = await (await oracle.tryMulticall(calls, { gasLimit: 410_000 })).wait();
    expect(failures(world, receipt)).to.deep.equal({ 1: "InsufficientCallbackGas" });
    expect((await oracle.statusOf(entries[1]!.request.id))[0]).to.equal(BigInt(Status.Drawn));
  });

  it("keeps only the beginning of a long reason", async () => {
    const { world } = await loadFixture(deployed);
    const harness = await ethers.deployContract("SelfCallHarness");
    const bomb = harness.interface.encodeFunctionData("bomb", [100_000]);
    const short = harness.interface.encodeFunctionData("bomb", [3]);
    const fine = harness.interface.encodeFunctionData("fine", []);
    const [successes, reasons, after] = await harness.getFunction("tryCalls").staticCall([bomb, short, fine, bomb]);
    expect([...successes]).to.deep.equal([false, false, true, false]);
    expect(reasons.map((reason: string) => dataLength(reason))).to.deep.equal([100, 3, 0, 100]);
    expect(dataSlice(reasons[0], 0, 4)).to.equal("0xbbbbbbbb");
    expect(after).to.equal(ethers.keccak256("0x1234"));
    const { oracle } = world;
    await expect(oracle.tryMulticall(Array(129).fill("0x")))
      .to.be.revertedWithCustomError(oracle, "TooManyCalls")
      .withArgs(129, 128);
  });
});

describe("the pause of new requests", () => {
  it("is the pauser's alone", async () => {
    const { world, oracle } = await loadFixture(deployed);
    const [, pauser, stranger] = await ethers.getSigners();
    await world.manager.grantRole(pauserRole, pauser!.address, 0);
    for (const name of ["pauseRequests", "unpauseRequests"] as const) {
      await expect(oracle.connect(stranger!)[name]())
        .to.be.revertedWithCustomError(oracle, "AccessManagedUnauthorized")
        .withArgs(stranger!.address);
    }
    await expect(oracle.connect(pauser!).unpauseRequests()).to.be.revertedWithCustomError(
      oracle,
      "RequestsAreNotPaused",
    );
    await expect(oracle.connect(pauser!).pauseRequests()).to.emit(oracle, "RequestsPaused");
    expect(await oracle.requestsPaused()).to.be.true;
    await expect(oracle.connect(pauser!).pauseRequests()).to.be.revertedWithCustomError(oracle, "RequestsArePaused");
    await expect(oracle.connect(pauser!).unpauseRequests()).to.emit(oracle, "RequestsUnpaused");
    expect(await oracle.requestsPaused()).to.be.false;
    expect((await ask(world)).request.id).to.equal(1n);
  });

  it("leaves everything that was asked to its course", async () => {
    const { world, oracle, consumerOf, drawFor } = await loadFixture(deployed);
    const consumer = await consumerOf(Mode.Revert);
    const failing = await drawFor(consumer);
    const waiting = await ask(world);
    const expiring = await ask(world, { deadline: (await time.latest()) + 1000 });
    const { deployer } = world;
    await world.manager.grantRole(pauserRole, deployer.address, 0);
    await oracle.pauseRequests();
    await expect(oracle.request(packTerms(await termsFor(world)), "0x01")).to.be.revertedWithCustomError(
      oracle,
      "RequestsArePaused",
    );
    expect(await oracle.requestCount()).to.equal(3n);
    await draw(world, waiting);
    const decision = decisionFor(failing);
    const { relay } = await commit(world, failing, decision);
    await consumer.getFunction("setMode")(Mode.Accept);
    await oracle.retryCallback(failing.request, hashCommittee(failing.committee), packDecision(decision), relay);
    await oracle.creditPay(failing.request, failing.committee, packDecision(decision), relay);
    await oracle.deposit(deployer.address, 1);
    await oracle.withdraw(1, deployer.address);
    await time.increase(2000);
    const witness = ethers.AbiCoder.defaultAbiCoder().encode(["uint64"], [expiring.seedBlock]);
    await oracle.refund(expiring.request, witness);
    await oracle.unpauseRequests();
    expect((await ask(world)).request.id).to.equal(4n);
  });
});
