import { expect } from "chai";
import { encodeBytes32String, toUtf8Bytes } from "ethers";
import hre from "hardhat";

import { ask, passDeadline, refundArgs, termsFor } from "../support/contracts/course.ts";
import { Currency, packTerms, type Terms } from "../support/contracts/typed-data.ts";
import {
  deployRegistry,
  deployWorld,
  findEvents,
  freeCoins,
  freeTokens,
  maxStake,
  registerAgents,
  subscriptionCoins,
  type Oracle,
  type World,
} from "../support/contracts/world.ts";

const { ethers, networkHelpers } = await hre.network.create();
const { loadFixture } = networkHelpers;

const Mode = { Revert: 1, Reenter: 5 } as const;
const question = toUtf8Bytes("Is it?");
const fee = 10n ** 18n;

const termsIn = (currency: number, overrides: Partial<Terms> = {}): string =>
  packTerms(termsFor({ currency, ...overrides }));

async function deployed() {
  const world = await deployWorld(ethers);
  await registerAgents(world, 6);
  const [, stranger] = await ethers.getSigners();
  return { world, oracle: world.oracle, stranger: stranger! };
}

/** Deploys an oracle for another fee token, with a registry of its own. */
async function oracleFor(world: World, token: string): Promise<Oracle> {
  const { manager, token: stakeToken } = world;
  const registry = await deployRegistry(ethers, stakeToken.target);
  const args = [manager.target, registry.target, token, 0b11n, freeTokens, freeCoins];
  const oracle = (await ethers.deployContract("DecisionOracle", args)) as unknown as Oracle;
  await stakeToken.approve(registry.target, 100n * maxStake);
  const registryDomain = { ...world.registryDomain, verifyingContract: registry.target };
  await registerAgents({ ...world, registry, registryDomain }, 6, { label: token });
  return oracle;
}

describe("fee tokens", () => {
  it("SC1: other than the stake token secure nothing", async () => {
    const { world } = await loadFixture(deployed);
    const token = await ethers.deployContract("TestToken");
    const oracle = await oracleFor(world, await token.getAddress());
    const secured = termsIn(Currency.Token, { fee: 0n, security: 1, assurance: 1, appeals: 2 });
    await expect(oracle.request(0, secured, question))
      .to.be.revertedWithCustomError(oracle, "InvalidTerms")
      .withArgs(encodeBytes32String("security"), 1);
  });

  it("that take a fee on transfers are refused", async () => {
    const { world } = await loadFixture(deployed);
    const token = await ethers.deployContract("FeeOnTransferToken");
    const oracle = await oracleFor(world, await token.getAddress());
    await token.getFunction("mint")(world.deployer.address, 200);
    await token.getFunction("approve")(oracle.target, 200);
    await oracle.createSubscription();
    for (const call of [
      () => oracle.fund(1, 100),
      () => oracle.request(0, termsIn(Currency.Token, { fee: 100n }), question),
    ]) {
      await expect(call()).to.be.revertedWithCustomError(oracle, "TransferMismatch").withArgs(100, 99);
    }
  });

  it("that do not move make the call fail, on the way in and on the way out", async () => {
    const { world } = await loadFixture(deployed);
    const token = await ethers.deployContract("HostileToken");
    const oracle = await oracleFor(world, await token.getAddress());
    await token.getFunction("mint")(world.deployer.address, 200);
    await token.getFunction("approve")(oracle.target, 200);
    await oracle.createSubscription();
    await oracle.fund(1, 50);
    await token.getFunction("setRefusing")(true);
    for (const call of [
      () => oracle.fund(1, 100),
      () => oracle.request(0, termsIn(Currency.Token, { fee: 100n }), question),
      () => oracle.withdrawFunds(1, Currency.Token, 50, world.deployer.address),
    ]) {
      await expect(call()).to.be.revertedWithCustomError(oracle, "SafeERC20FailedOperation").withArgs(token.target);
    }
    expect((await oracle.subscriptionOf(1)).tokenBalance).to.equal(50n);
  });

  it("that call back in the middle of a transfer gain nothing by it", async () => {
    const { world } = await loadFixture(deployed);
    const token = await ethers.deployContract("HostileToken");
    const oracle = await oracleFor(world, await token.getAddress());
    for (const account of [world.deployer.address, token.target]) await token.getFunction("mint")(account, 1000);
    await token.getFunction("approve")(oracle.target, 1000);
    await token.getFunction("approveFor")(oracle.target, 1000);
    await oracle.createSubscription();
    const direct = [0, termsIn(Currency.Token, { fee: 100n }), question] as const;
    const [funding, asking] = [
      oracle.interface.encodeFunctionData("fund", [1, 60]),
      oracle.interface.encodeFunctionData("request", direct),
    ];
    for (const reentry of [funding, asking]) {
      for (const call of [() => oracle.fund(1, 100), () => oracle.request(...direct)]) {
        await token.getFunction("setReentry")(oracle.target, reentry);
        await expect(call())
          .to.be.revertedWithCustomError(oracle, "TransferMismatch")
          .withArgs(100, reentry === funding ? 160 : 200);
      }
    }
    // A request without a fee moves no tokens. Each of the two requests has its own id.
    const free = [0, termsIn(Currency.Token, { fee: 0n }), question] as const;
    await token.getFunction("setReentry")(oracle.target, oracle.interface.encodeFunctionData("request", free));
    const receipt = (await (await oracle.request(...free)).wait())!;
    const ids = findEvents(oracle, receipt, "Requested").map(({ args }) => args["requestId"] as bigint);
    expect(ids).to.deep.equal([1n, 2n]);
    expect(await token.getFunction("balanceOf")(oracle.target)).to.equal(0n);
  });
});

describe("coins", () => {
  async function receiver() {
    const start = await deployed();
    const { oracle, world } = start;
    const contract = await ethers.deployContract("HostileConsumer", [oracle.target]);
    const encode = (name: string, args: readonly unknown[]): string => oracle.interface.encodeFunctionData(name, args);
    const execute = (name: string, args: readonly unknown[], value = 0n) =>
      contract.getFunction("execute").send(oracle.target, encode(name, args), { value });
    const asked = await ask(world, {}, "Is it?", () =>
      execute("request", [0, termsIn(Currency.Native), question], fee),
    );
    await passDeadline(world, asked.round);
    await oracle.refund(...refundArgs(asked));
    return { ...start, contract, encode, execute };
  }

  it("that a contract refuses remain its credit", async () => {
    const { oracle, stranger, contract, execute } = await loadFixture(receiver);
    const setMode = contract.getFunction("setMode");
    await setMode(Mode.Revert);
    const target = contract.target as string;
    await expect(execute("withdraw", [Currency.Native, fee, target])).to.be.revertedWithCustomError(
      contract,
      "Refused",
    );
    expect(await oracle.creditOf(target, Currency.Native)).to.equal(fee);
    const before = await ethers.provider.getBalance(stranger.address);
    await execute("withdraw", [Currency.Native, fee, stranger.address]);
    expect(await ethers.provider.getBalance(stranger.address)).to.equal(before + fee);
  });

  it("are not paid twice to a contract that calls again during the payment", async () => {
    const { oracle, contract, encode, execute } = await loadFixture(receiver);
    const target = contract.target as string;
    const args = [Currency.Native, fee, target];
    await contract.getFunction("setMode")(Mode.Reenter);
    await contract.getFunction("setReentry")(oracle.target, encode("withdraw", args));
    await execute("withdraw", args);
    expect(await contract.getFunction("reentered")()).to.be.false;
    const result = await contract.getFunction("reentryResult")();
    expect(oracle.interface.parseError(result)?.name).to.equal("InsufficientCredit");
    expect(await ethers.provider.getBalance(target)).to.equal(fee);
    expect(await ethers.provider.getBalance(oracle.target)).to.equal(subscriptionCoins);
  });

  it("are paid back to the last unit", async () => {
    const { world, oracle, contract, execute } = await loadFixture(receiver);
    const terms = termsIn(Currency.Native, { fee: 1n });
    const asked = await ask(world, {}, "Is it?", () => execute("request", [0, terms, question], 1n));
    await passDeadline(world, asked.round);
    await oracle.refund(...refundArgs(asked));
    expect(await oracle.creditOf(contract.target, Currency.Native)).to.equal(fee + 1n);
  });

  it("have left the credit when they arrive, so there is no read-only reentrancy", async () => {
    const { oracle, contract, encode, execute } = await loadFixture(receiver);
    const target = contract.target as string;
    await contract.getFunction("setMode")(Mode.Reenter);
    await contract.getFunction("setReentry")(oracle.target, encode("creditOf", [target, Currency.Native]));
    await execute("withdraw", [Currency.Native, fee - 1n, target]);
    expect(await contract.getFunction("reentered")()).to.be.true;
    expect(BigInt(await contract.getFunction("reentryResult")())).to.equal(1n);
  });
});
