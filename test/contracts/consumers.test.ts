import { readFileSync, readdirSync } from "node:fs";

import { expect } from "chai";
import { ZeroAddress, ZeroHash, hexlify, toBeHex, toUtf8Bytes } from "ethers";
import hre from "hardhat";

import {
  ask,
  certificateFor,
  commit,
  commitArgs,
  decisionFor,
  draw,
  latestOf,
  hashedRound,
  packDecided,
  passDeadline,
  priceGas,
  recordOf,
  refundArgs,
  seedOf,
  termsFor,
  type Drawn,
} from "../support/contracts/course.ts";
import {
  agentOf,
  Currency,
  hashCommittee,
  packDecision,
  packRelay,
  packTerms,
  Status,
} from "../support/contracts/typed-data.ts";
import type { Terms } from "../support/contracts/typed-data.ts";
import {
  anyAmount,
  deployWorld,
  findEvent,
  registerAgents,
  subscription,
  type World,
} from "../support/contracts/world.ts";

const { ethers, networkHelpers } = await hre.network.create();
const { loadFixture } = networkHelpers;

const Mode = { Accept: 0, Revert: 1, BurnGas: 2, ReturnBomb: 3, RevertBomb: 4, Reenter: 5 } as const;

async function hostile() {
  const world = await deployWorld(ethers);
  await registerAgents(world, 6);
  const consumer = await ethers.deployContract("HostileConsumer", [world.oracle.target]);
  await world.oracle.setConsumer(subscription, consumer.target, anyAmount, anyAmount);
  const drawFor = async (mode: number, overrides: Partial<Terms> = {}): Promise<Drawn> => {
    await consumer.getFunction("setMode")(mode);
    const terms = termsFor({ callbackGasLimit: 200_000, ...overrides });
    const by = (_: string, question: Uint8Array) => consumer.getFunction("ask").send(subscription, terms, question);
    return draw(world, await ask(world, {}, "Is it safe?", by));
  };
  return { world, oracle: world.oracle, consumer, drawFor };
}

/** Commits, which settles, and tells whether the callback failed. */
async function settle(world: World, entry: Drawn) {
  const committed = await commit(world, entry);
  const { receipt } = committed;
  const { status, callbackPending } = await world.oracle.statusOf(entry.request.id);
  expect(status).to.equal(BigInt(Status.Decided));
  // The decision, its pay, and what the registry recorded; a callback that succeeds emits no event of its own.
  expect(receipt.logs).to.have.length(callbackPending === true ? 4 : 3);
  if (callbackPending === true) findEvent(world.oracle, receipt, "CallbackFailed");
  return { receipt, pending: callbackPending as boolean, claim: latestOf(committed), record: recordOf(committed) };
}

describe("callbacks", () => {
  it("reach a consumer once", async () => {
    const { world, oracle, consumer, drawFor } = await loadFixture(hostile);
    const entry = await drawFor(Mode.Accept);
    const { claim, pending } = await settle(world, entry);
    expect(pending).to.be.false;
    expect(await consumer.getFunction("calls")()).to.equal(1n);
    await expect(oracle.retryCallback(...claim))
      .to.be.revertedWithCustomError(oracle, "CallbackNotPending")
      .withArgs(entry.request.id);
  });

  it("are not made for a request that wants no callback", async () => {
    const { world, oracle, consumer, drawFor } = await loadFixture(hostile);
    const entry = await drawFor(Mode.Revert, { callbackGasLimit: 0 });
    const { receipt } = await commit(world, entry);
    expect(receipt.logs).to.have.length(3);
    expect((await oracle.statusOf(entry.request.id)).callbackPending).to.be.false;
    expect(await consumer.getFunction("calls")()).to.equal(0n);
  });

  for (const mode of ["Revert", "BurnGas", "RevertBomb"] as const) {
    it(`that fail by ${mode} block neither the settlement nor the pay nor a later retry`, async () => {
      const { world, oracle, consumer, drawFor } = await loadFixture(hostile);
      const entry = await drawFor(Mode[mode]);
      const { claim, record, pending } = await settle(world, entry);
      expect(pending).to.be.true;
      const retry = () => oracle.retryCallback(...claim);
      await expect(retry()).to.be.revertedWithCustomError(oracle, "CallbackStillFails").withArgs(entry.request.id);
      await expect(world.settlement.settle(...record)).to.be.revertedWithCustomError(oracle, "AlreadySettled");
      const state = await oracle.statusOf(entry.request.id);
      expect(state).to.deep.equal([BigInt(Status.Decided), 0n, false, true, true]);

      await consumer.getFunction("setMode")(Mode.Accept);
      await expect(retry()).to.emit(oracle, "CallbackSucceeded").withArgs(entry.request.id);
      expect(await consumer.getFunction("calls")()).to.equal(1n);
      await expect(retry()).to.be.revertedWithCustomError(oracle, "CallbackNotPending");
    });
  }

  for (const mode of ["Revert", "BurnGas", "RevertBomb", "ReturnBomb"] as const) {
    it(`cost the relayer no more than their limit, whatever they burn or return: ${mode}`, async () => {
      const { world, drawFor } = await loadFixture(hostile);
      const { receipt } = await settle(world, await drawFor(Mode[mode]));
      expect(receipt.gasUsed).to.be.below(500_000n);
    });
  }

  it("wait for a consumer without code", async () => {
    const { world, oracle } = await loadFixture(hostile);
    const entry = await draw(world, await ask(world, { callbackGasLimit: 100_000 }));
    const { claim, pending } = await settle(world, entry);
    expect(pending).to.be.true;
    await expect(oracle.retryCallback(...claim)).to.be.revertedWithCustomError(oracle, "CallbackStillFails");
  });

  it("get all their gas, or the transaction fails", async () => {
    const { world, oracle, consumer, drawFor } = await loadFixture(hostile);
    const entry = await drawFor(Mode.Accept, { callbackGasLimit: 1_000_000 });
    const decision = decisionFor(entry);
    const send = (gasLimit: number) => oracle.commit(...commitArgs(world, entry, decision), { gasLimit });
    // Enough gas for the settlement and most of the callback, but not for the limit that the request paid for.
    const required = Math.floor((1_000_000 * 64) / 63) + 1 + 15_000;
    await expect(send(1_000_000))
      .to.be.revertedWithCustomError(oracle, "InsufficientCallbackGas")
      .withArgs((available: bigint) => available < required && available > 700_000n, required);
    expect((await oracle.statusOf(entry.request.id))[0]).to.equal(BigInt(Status.Requested));
    await send(1_500_000);
    expect(await consumer.getFunction("calls")()).to.equal(1n);
  });

  it("cannot be made twice, and cannot settle or get paid a second time from within", async () => {
    const { world, oracle, consumer, drawFor } = await loadFixture(hostile);
    // Without a fee an appeal needs no bond.
    const entry = await drawFor(Mode.Reenter, { callbackGasLimit: 1_000_000, fee: 0n });
    const decision = decisionFor(entry);
    const packed = packDecision(decision);
    const certificate = certificateFor(world, entry, decision);
    const committeeHash = hashCommittee(entry.committee);
    const { signers, relayer } = { signers: 7n, relayer: world.deployer.address };
    // The relay that the commit will store; its gas price is fixed below.
    const gasPrice = 10n ** 10n;
    const relay = packRelay(signers, gasPrice, relayer);
    const decided = { round: entry.round, committee: entry.committee, decision, relay, appellant: ZeroAddress };
    const committing = [entry.request, entry.round, seedOf(entry, entry.header), certificate, packed] as const;
    const settleAt = async () => oracle.commit(...committing, await priceGas(world, gasPrice));
    const encode = (name: string, args: readonly unknown[]): string => oracle.interface.encodeFunctionData(name, args);
    const latest = [entry.request, entry.round, committeeHash, packed, relay];
    const snapshot = await networkHelpers.takeSnapshot();
    for (const [data, error] of [
      [encode("retryCallback", latest), "CallbackNotPending"],
      [encode("appeal", latest), "DecisionIsFinal"],
      [encode("finalize", latest), "DecisionIsFinal"],
      [encode("commit", committing), "WrongStatus"],
      [encode("replace", refundArgs(entry)), "WrongStatus"],
      [encode("refund", refundArgs(entry)), "WrongStatus"],
      [encode("fallBack", [...refundArgs(entry), hashedRound(entry.request, decided)]), "WrongStatus"],
    ] as const) {
      await consumer.getFunction("setReentry")(oracle.target, data);
      await settleAt();
      expect(await consumer.getFunction("calls")()).to.equal(1n);
      expect(await consumer.getFunction("reentered")()).to.be.false;
      expect(oracle.interface.parseError(await consumer.getFunction("reentryResult")())?.name).to.equal(error);
      await snapshot.restore();
    }
    // The commit has settled before it calls the consumer.
    const record = [entry.request, [packDecided(decided)]] as const;
    const settling = world.settlement.interface.encodeFunctionData("settle", record);
    await consumer.getFunction("setReentry")(world.settlement.target, settling);
    await settleAt();
    expect(await consumer.getFunction("reentered")()).to.be.false;
    expect(oracle.interface.parseError(await consumer.getFunction("reentryResult")())?.name).to.equal("AlreadySettled");
    const state = await oracle.statusOf(entry.request.id);
    expect(state).to.deep.equal([BigInt(Status.Decided), 0n, false, false, true]);
  });

  it("read the final state from within, so there is no read-only reentrancy", async () => {
    const { world, oracle, consumer, drawFor } = await loadFixture(hostile);
    const { registry } = world;
    const entry = await drawFor(Mode.Reenter, { callbackGasLimit: 1_000_000 });
    const views = [
      [oracle, "statusOf", [entry.request.id]],
      [oracle, "subscriptionOf", [subscription]],
      [oracle, "creditOf", [consumer.target, Currency.Token]],
      [oracle, "creditOf", [world.deployer.address, Currency.Token]],
      [oracle, "creditOf", [registry.target, Currency.Token]],
      [registry, "getAgent", [agentOf(entry.committee[0]!)]],
    ] as const;
    const snapshot = await networkHelpers.takeSnapshot();
    for (const [contract, name, args] of views) {
      const { target, interface: abi } = contract;
      await consumer.getFunction("setReentry")(target, abi.encodeFunctionData(name, [...args]));
      await commit(world, entry);
      const within = abi.decodeFunctionResult(name, await consumer.getFunction("reentryResult")());
      const after = await contract.getFunction(name).staticCallResult(...args);
      expect(within, name).to.deep.equal(after);
      if (name === "statusOf") expect(within[0]).to.equal(BigInt(Status.Decided));
      await snapshot.restore();
    }
  });

  it("are accepted only from the oracle", async () => {
    const { world, consumer } = await loadFixture(hostile);
    await expect(consumer.getFunction("onDecision")(1, Status.Decided, ZeroHash, "0x", 0))
      .to.be.revertedWithCustomError(consumer, "NotOracle")
      .withArgs(world.deployer.address);
  });
});

describe("DecisionConsumer", () => {
  it("withdraws the credit of its direct payments, and no more", async () => {
    const { world, oracle, consumer } = await loadFixture(hostile);
    const { token } = world;
    const [, stranger] = await ethers.getSigners();
    const terms = termsFor({ callbackGasLimit: 0 });
    const fee = (await oracle.quote(packTerms(terms))) as bigint;
    await token.mint(consumer.target, fee);
    const approval = token.interface.encodeFunctionData("approve", [oracle.target, fee]);
    await consumer.getFunction("execute")(token.target, approval);
    const by = (_: string, question: Uint8Array) => consumer.getFunction("ask").send(0, { ...terms, fee }, question);
    const entry = await draw(world, await ask(world, {}, "Is it paid at once?", by));
    await passDeadline(world, entry.round);
    await oracle.refund(...refundArgs(entry));
    expect(await oracle.creditOf(consumer.target, Currency.Token)).to.equal(fee);
    const withdraw = consumer.getFunction("withdrawCredit");
    await expect(withdraw(Currency.Token, fee + 1n, stranger!.address)).to.be.revertedWithCustomError(
      oracle,
      "InsufficientCredit",
    );
    await withdraw(Currency.Token, fee, stranger!.address);
    expect(await token.balanceOf(stranger!.address)).to.equal(fee);
    expect(await oracle.creditOf(consumer.target, Currency.Token)).to.equal(0n);
  });
});

describe("the smallest consumer", () => {
  it("passes questions on and keeps outcomes", async () => {
    const { world } = await loadFixture(hostile);
    const consumer = await ethers.deployContract("SlotConsumer", [world.oracle.target]);
    await world.oracle.setConsumer(subscription, consumer.target, anyAmount, anyAmount);
    const terms = packTerms(termsFor({ callbackGasLimit: 60_000 }));
    const by = () => consumer.getFunction("ask").send(subscription, terms, toUtf8Bytes("?"));
    const drawn = await draw(world, await ask(world, {}, "?", by));
    await settle(world, drawn);
    expect(await consumer.getFunction("outcomeOf")(drawn.request.id)).to.equal(toBeHex(1, 32));
  });
});

describe("event and callback of a settlement", () => {
  it("have the ABI's encoding byte for byte, for answers of every length", async () => {
    const { world } = await loadFixture(hostile);
    const consumer = await ethers.deployContract("RecordingConsumer");
    await world.oracle.setConsumer(subscription, consumer.target, anyAmount, anyAmount);
    const coder = ethers.AbiCoder.defaultAbiCoder();
    const terms = packTerms(termsFor({ callbackGasLimit: 1_500_000 }));
    const by = (_: string, question: Uint8Array) =>
      consumer.getFunction("ask").send(world.oracle.target, subscription, terms, question);
    for (const length of [0, 1, 31, 32, 33, 100]) {
      const drawn = await draw(world, await ask(world, {}, "?", by));
      const answer = hexlify(new Uint8Array(length).fill(0xaa));
      const decision = decisionFor(drawn, { answer, reputationChanges: length === 33 ? "0x0001" : "0x" });
      const { receipt, relay } = await commit(world, drawn, decision);
      const { head, outcome, transcript, merits } = packDecision(decision);
      expect(receipt.logs[0]!.data).to.equal(
        coder.encode(
          ["uint256", "bytes32", "bytes32", "uint256", "uint256[]", "bytes", "bytes"],
          [head, outcome, transcript, relay, drawn.committee, answer, merits],
        ),
      );
      const call = [drawn.request.id, decision.status, outcome, answer, decision.confidence];
      expect(await consumer.getFunction("received")()).to.equal(
        consumer.interface.encodeFunctionData("onDecision", call),
      );
    }
  });
});

describe("every error of the interfaces", () => {
  it("is provoked by a test", async () => {
    const sources = readdirSync(import.meta.dirname)
      .filter((name) => name.endsWith(".test.ts") || name.endsWith(".t.sol"))
      .map((name) => readFileSync(`${import.meta.dirname}/${name}`, "utf8"))
      .join("\n");
    for (const name of ["IAccounts", "IAgentRegistry", "IDecisionOracle", "ISettlement", "ISlasher"]) {
      const { abi } = await hre.artifacts.readArtifact(name);
      for (const item of abi) {
        if (item.type !== "error") continue;
        const isProvoked = sources.includes(`"${item.name}"`) || sources.includes(`${name}.${item.name}.selector`);
        expect(isProvoked, `${name}.${item.name}`).to.equal(true);
      }
    }
  });
});
