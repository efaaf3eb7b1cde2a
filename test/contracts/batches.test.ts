import { expect } from "chai";
import { dataLength, dataSlice } from "ethers";
import type { ContractTransactionReceipt } from "ethers";
import hre from "hardhat";

import {
  ask,
  commit,
  commitArgs,
  decisionFor,
  draw,
  latestOf,
  recordOf,
  passDeadline,
  refundArgs,
  termsFor,
  type Asked,
  type Committed,
  type Drawn,
} from "../support/contracts/course.ts";
import { agentOf, Currency, packTerms, Status } from "../support/contracts/typed-data.ts";
import {
  anyAmount,
  deployWorld,
  findEvents,
  freeCoins,
  freeTokens,
  pauserRole,
  registerAgents,
  subscription,
  type World,
} from "../support/contracts/world.ts";

const { ethers, networkHelpers } = await hre.network.create();
const { loadFixture } = networkHelpers;

const Mode = { Accept: 0, Revert: 1, BurnGas: 2, ReturnBomb: 3, RevertBomb: 4, Reenter: 5 } as const;
const gasLimit = 8_000_000;
const freePrices = { [Currency.Token]: freeTokens, [Currency.Native]: freeCoins } as const;

async function deployed() {
  const world = await deployWorld(ethers);
  await registerAgents(world, 6);
  const consumerOf = async (mode: number) => {
    const consumer = await ethers.deployContract("HostileConsumer", [world.oracle.target]);
    await world.oracle.setConsumer(subscription, consumer.target, anyAmount, anyAmount);
    await consumer.getFunction("setMode")(mode);
    return consumer;
  };
  type Consumer = Awaited<ReturnType<typeof consumerOf>>;
  const askBy = async (consumer: Consumer, callbackGasLimit: number): Promise<Asked> => {
    const terms = termsFor({ callbackGasLimit });
    const by = (_: string, question: Uint8Array) => consumer.getFunction("ask").send(subscription, terms, question);
    return ask(world, {}, "Is it safe?", by);
  };
  const drawFor = async (consumer: Consumer, callbackGasLimit = 300_000): Promise<Drawn> =>
    draw(world, await askBy(consumer, callbackGasLimit));
  /** Asks for all before a seed block passes, so that one transaction can commit all. */
  const drawForAll = async (consumers: readonly Consumer[], limits: readonly number[] = []): Promise<Drawn[]> => {
    const asked: Asked[] = [];
    for (const [index, consumer] of consumers.entries()) asked.push(await askBy(consumer, limits[index] ?? 300_000));
    const drawn: Drawn[] = [];
    for (const one of asked) drawn.push(await draw(world, one));
    return drawn;
  };
  return { world, oracle: world.oracle, consumerOf, drawFor, drawForAll };
}

function commitOf(world: World, entry: Drawn, signers?: number[]): string {
  return world.oracle.interface.encodeFunctionData("commit", commitArgs(world, entry, decisionFor(entry), signers));
}

/** Returns the failed calls by index, each with the name of its error. */
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
  it("settles every decision that it can, and reports the others", async () => {
    const { world, oracle, consumerOf, drawForAll } = await loadFixture(deployed);
    const good = await consumerOf(Mode.Accept);
    const entries = await drawForAll(Array.from({ length: 6 }, () => good));
    await commit(world, entries[1]!);
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
      const expected = decided[index] === true ? Status.Decided : Status.Requested;
      expect((await oracle.statusOf(request.id))[0]).to.equal(BigInt(expected));
    }
  });

  for (const mode of ["Revert", "BurnGas", "ReturnBomb", "RevertBomb"] as const) {
    it(`goes on when a consumer does ${mode}`, async () => {
      const { world, oracle, consumerOf, drawForAll } = await loadFixture(deployed);
      const good = await consumerOf(Mode.Accept);
      const entries = await drawForAll([good, await consumerOf(Mode[mode]), good]);
      const hostile = entries[1]!;
      const calls = entries.map((entry) => commitOf(world, entry));
      const receipt: ContractTransactionReceipt = await (await oracle.tryMulticall(calls, { gasLimit })).wait();
      expect(failures(world, receipt)).to.deep.equal({});
      expect(await good.getFunction("calls")()).to.equal(2n);
      const { status, callbackPending } = await oracle.statusOf(hostile.request.id);
      expect([status, callbackPending]).to.deep.equal([BigInt(Status.Decided), mode !== "ReturnBomb"]);
    });

    it(`uses less than 1,000,000 gas when a consumer does ${mode}`, async () => {
      const { world, oracle, consumerOf, drawForAll } = await loadFixture(deployed);
      const good = await consumerOf(Mode.Accept);
      const entries = await drawForAll([good, await consumerOf(Mode[mode]), good]);
      const calls = entries.map((entry) => commitOf(world, entry));
      const receipt: ContractTransactionReceipt = await (await oracle.tryMulticall(calls, { gasLimit })).wait();
      expect(receipt.gasUsed).to.be.below(1_000_000n);
    });
  }

  it("names the caller as the relayer of each decision, and keeps what a consumer does in between", async () => {
    const { world, oracle, consumerOf, drawForAll } = await loadFixture(deployed);
    const reentering = await consumerOf(Mode.Reenter);
    const entries = await drawForAll([reentering, await consumerOf(Mode.Accept)], [2_000_000, 300_000]);
    // The consumer settles the next decision in a batch of its own, before the outer batch comes to it.
    const inner = oracle.interface.encodeFunctionData("tryMulticall", [[commitOf(world, entries[1]!)]]);
    await reentering.getFunction("setReentry")(oracle.target, inner);
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
    const { world, oracle, consumerOf, drawForAll } = await loadFixture(deployed);
    const good = await consumerOf(Mode.Accept);
    const entries = await drawForAll([good, good]);
    const calls = entries.map((entry) => commitOf(world, entry));
    const receipt = await (await oracle.tryMulticall(calls, { gasLimit: 560_000 })).wait();
    expect(failures(world, receipt)).to.deep.equal({ 1: "InsufficientCallbackGas" });
    expect((await oracle.statusOf(entries[1]!.request.id))[0]).to.equal(BigInt(Status.Requested));
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
    const receipt = (await (await oracle.tryMulticall(Array(128).fill("0x"))).wait())!;
    expect(findEvents(oracle, receipt, "CallFailed")).to.have.length(128);
  });
});

describe("tryMulticall of the settlement", () => {
  const count = 20;
  const seats = 7;
  const gasPrice = 2n * 10n ** 9n;

  /** A registry of proven agents, all of which have been paid, and more final requests than a batch settles. */
  async function final() {
    const prices = { unitPrice: 10n ** 12n, gasRate: 10n ** 18n, gasPriceCap: gasPrice, treasuryPpm: 50_000n };
    const world = await deployWorld(ethers, { token: prices });
    await registerAgents(world, 60);
    const decideOne = async (): Promise<Committed> => {
      const asked = await ask(world, termsFor({ committeeSize: seats, appeals: 1, duration: 86_400 }));
      const committed = await commit(world, await draw(world, asked), undefined, { gasPrice });
      await passDeadline(world, committed.rounds[0]!.round);
      await world.oracle.finalize(...latestOf(committed), { gasPrice });
      return committed;
    };
    const ready: Committed[] = [];
    for (let index = 0; index < count + 2; index++) ready.push(await decideOne());
    return { world, ready };
  }
  const settleOf = (world: World, one: Committed): string =>
    world.settlement.interface.encodeFunctionData("settle", recordOf(one));

  it("settles twenty requests for less gas than one by one; a call that fails changes nothing", async function () {
    const { world, ready } = await loadFixture(final);
    const { settlement, oracle } = world;
    const [first, second, ...others] = ready as [Committed, Committed, ...Committed[]];
    await settlement.settle(...recordOf(first), { gasPrice });
    const alone = (await (await settlement.settle(...recordOf(second), { gasPrice })).wait())!.gasUsed as bigint;
    const calls = others.map((one) => settleOf(world, one));
    // One that is settled already, and one that is no call.
    const bad = [settleOf(world, first), "0x"];
    const sent = await settlement.tryMulticall([...bad, ...calls], { gasLimit: 16_000_000n, gasPrice });
    const receipt = (await sent.wait())!;
    const failed = findEvents(settlement, receipt, "CallFailed");
    expect(failed.map((event) => Number(event.args["index"]))).to.deep.equal([0, 1]);
    expect(findEvents(settlement, receipt, "SettlerPaid")).to.have.length(count);
    for (const { request } of others) expect((await oracle.statusOf(request.id)).settled).to.equal(true);
    const each = (receipt.gasUsed as bigint) / BigInt(count);
    expect(each).to.be.below(alone - 30_000n);
  });

  /** Sends settlements in one transaction, and then the same again. */
  async function settleTwice(world: World, calls: readonly string[]): Promise<ContractTransactionReceipt> {
    const send = async (): Promise<ContractTransactionReceipt> =>
      (await (await world.settlement.tryMulticall(calls, { gasLimit: 16_000_000n, gasPrice })).wait())!;
    await send();
    return send();
  }

  function expectAllSettled({ settlement, oracle }: World, receipt: ContractTransactionReceipt, calls: number): void {
    const reasons = findEvents(settlement, receipt, "CallFailed").map((event) => event.args["reason"] as string);
    expect(reasons.map((reason) => oracle.interface.parseError(reason)?.name)).to.deep.equal(
      Array(calls).fill("AlreadySettled"),
    );
  }

  it("a copy of a batch costs whoever comes second the calldata, and no gas beside", async function () {
    const { world, ready } = await loadFixture(final);
    const calls = ready.slice(0, count).map((one) => settleOf(world, one));
    const second = await settleTwice(world, calls);
    expectAllSettled(world, second, count);
    // EIP-7623: 10 gas for a byte of zero, 40 for any other.
    const bytes = ethers.getBytes(world.settlement.interface.encodeFunctionData("tryMulticall", [calls]));
    const floor = bytes.reduce((sum, byte) => sum + (byte === 0 ? 10 : 40), 21_000);
    expect(second.gasUsed).to.equal(floor);
  });

  it("a copy of a small batch, which mutants can pay for, finds every request settled", async function () {
    const { world, ready } = await loadFixture(final);
    const { settlement, oracle } = world;
    const calls = ready.slice(0, 3).map((one) => settleOf(world, one));
    expectAllSettled(world, await settleTwice(world, calls), calls.length);
    // It is the first question: what is settled needs no record.
    const [request] = recordOf(ready[0]!);
    await expect(settlement.settle(request, []))
      .to.be.revertedWithCustomError(oracle, "AlreadySettled")
      .withArgs(request.id);
  });

  it("takes at most 128 calls", async () => {
    const { settlement, oracle } = await deployWorld(ethers);
    await expect(settlement.tryMulticall(Array(129).fill("0x")))
      .to.be.revertedWithCustomError(oracle, "TooManyCalls")
      .withArgs(129, 128);
  });
});

describe("the pause of new requests", () => {
  it("can be set only by the pauser, for one currency", async () => {
    const { world, oracle } = await loadFixture(deployed);
    const [, pauser, stranger] = await ethers.getSigners();
    await world.manager.grantRole(pauserRole, pauser!.address, 0);
    for (const name of ["pauseRequests", "unpauseRequests"] as const) {
      await expect(oracle.connect(stranger!)[name](Currency.Token))
        .to.be.revertedWithCustomError(oracle, "AccessManagedUnauthorized")
        .withArgs(stranger!.address);
    }
    const trusted = oracle.connect(pauser!);
    for (const [currency, other] of [
      [Currency.Token, Currency.Native],
      [Currency.Native, Currency.Token],
    ] as const) {
      await expect(trusted.unpauseRequests(currency))
        .to.be.revertedWithCustomError(oracle, "RequestsAreNotPaused")
        .withArgs(currency);
      await expect(trusted.pauseRequests(currency)).to.emit(oracle, "RequestsPaused").withArgs(currency);
      await expect(trusted.pauseRequests(currency))
        .to.be.revertedWithCustomError(oracle, "RequestsArePaused")
        .withArgs(currency);
      await expect(ask(world, { currency }))
        .to.be.revertedWithCustomError(oracle, "RequestsArePaused")
        .withArgs(currency);
      await ask(world, { currency: other });
      // New prices do not end the pause.
      await oracle.setPrices(currency, freePrices[currency]);
      expect((await oracle.pricesOf(currency)) & 1n).to.equal(0n);
      await expect(trusted.unpauseRequests(currency)).to.emit(oracle, "RequestsUnpaused").withArgs(currency);
      await ask(world, { currency });
    }
  });

  it("does not change the course of earlier requests", async () => {
    const { world, oracle, consumerOf, drawFor } = await loadFixture(deployed);
    const consumer = await consumerOf(Mode.Revert);
    const failing = await drawFor(consumer);
    const waiting = await ask(world);
    const expiring = await ask(world);
    const { deployer } = world;
    await world.manager.grantRole(pauserRole, deployer.address, 0);
    await oracle.pauseRequests(Currency.Token);
    await expect(oracle.request(subscription, packTerms(termsFor()), "0x01"))
      .to.be.revertedWithCustomError(oracle, "RequestsArePaused")
      .withArgs(Currency.Token);
    expect((await oracle.subscriptionOf(subscription)).requests).to.equal(3n);
    await draw(world, waiting);
    const committed = await commit(world, failing);
    await consumer.getFunction("setMode")(Mode.Accept);
    await oracle.retryCallback(...latestOf(committed));
    await oracle.fund(subscription, 1);
    await oracle.withdrawFunds(subscription, Currency.Token, 1, deployer.address);
    const agentId = agentOf(failing.committee[0]!);
    await world.registry.claimRewards(agentId, Currency.Token, deployer.address);
    await passDeadline(world, expiring.round);
    await oracle.refund(...refundArgs(expiring));
    await oracle.unpauseRequests(Currency.Token);
    await ask(world);
  });
});
