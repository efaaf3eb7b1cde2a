import { expect } from "chai";
import hre from "hardhat";

import { ask, decide } from "../support/contracts/course.ts";
import { Currency, testKey } from "../support/contracts/typed-data.ts";
import {
  deployWorld,
  joiningDelay,
  minStake,
  mineTo,
  nextEpoch,
  registration,
  unbondingDelay,
  type World,
} from "../support/contracts/world.ts";

const { ethers, networkHelpers } = await hre.network.create();
const { loadFixture, time } = networkHelpers;

const Mode = { Revert: 1, Reenter: 5 } as const;
const currencies = [Currency.Token, Currency.Native] as const;
const fee = 8_000n;
/**
 * Each of four agents earns a quarter. The operator keeps a tenth of it; operator and delegator have half of the shares
 * each.
 */
const [operatorPart, delegatorPart] = [1_100n, 900n];

/** Makes six agents of one operator, and a contract that delegates to all of them. */
async function delegated(tokenContract?: string) {
  const world = await deployWorld(ethers, {}, tokenContract);
  const { registry, token, oracle } = world;
  const [, operator, stranger] = await ethers.getSigners();
  const delegator = await ethers.deployContract("HostileConsumer", [oracle.target]);
  const target = delegator.target as string;
  const execute = (contract: Pick<World["oracle"], "interface" | "target">, name: string, args: readonly unknown[]) =>
    delegator.getFunction("execute").send(contract.target, contract.interface.encodeFunctionData(name, args));
  await token.mint(operator!.address, 10n ** 24n);
  await token.connect(operator!).approve(registry.target, 10n ** 24n);
  await token.mint(target, 10n ** 24n);
  await execute(token, "approve", [registry.target, 10n ** 24n]);
  for (let index = 0; index < 6; index++) {
    const entry = registration(world, operator!.address, testKey(`agent ${index}`), minStake, 100_000n);
    await registry.connect(operator!).register(entry);
    await execute(registry, "bond", [index + 1, minStake]);
  }
  // RW6: half of the shares join for 14 days before they earn.
  await time.increase(joiningDelay);
  for (let index = 0; index < 6; index++) await registry.startEarning(index + 1, target);
  await nextEpoch(world);
  return { world, registry, oracle, operator: operator!, stranger: stranger!, delegator, target, execute };
}

/**
 * Pays agents 1 to 4 in both currencies. The others leave after the questions, whose seed block lies in the next epoch.
 */
async function paid(tokenContract?: string) {
  const start = await delegated(tokenContract);
  const { world, registry, operator } = start;
  await mineTo(world, BigInt(await ethers.provider.getBlockNumber()) + 20n);
  const asked = [];
  for (const currency of currencies) asked.push(await ask(world, { fee, currency }));
  for (const agentId of [5, 6]) await registry.connect(operator).startUnbonding(agentId, minStake);
  for (const one of asked) await decide(world, one);
  return start;
}

const unpaid = () => delegated();
const paidCoins = () => paid();
const paidHostileTokens = () => paid("HostileToken");

describe("rewards", () => {
  it("SE16: belong to the operator and the delegators, in each currency", async () => {
    const { world, registry, oracle, operator, stranger, target, execute } = await loadFixture(paidCoins);
    for (const currency of currencies) {
      expect(await oracle.creditOf(registry.target, currency)).to.equal(fee);
      expect(await registry.rewardsOf(1, stranger.address, currency)).to.equal(0n);
      // The pay is rounded down by less than a unit, which stays theirs.
      for (const [account, part] of [
        [operator.address, operatorPart],
        [target, delegatorPart],
      ] as const) {
        const rewards = (await registry.rewardsOf(1, account, currency)) as bigint;
        expect(rewards).to.be.within(part - 1n, part);
        const tokens = (await world.token.balanceOf(stranger.address)) as bigint;
        const coins = await ethers.provider.getBalance(stranger.address);
        const claim =
          account === target
            ? execute(registry, "claimRewards", [1, currency, stranger.address])
            : registry.connect(operator).claimRewards(1, currency, stranger.address);
        await expect(claim)
          .to.emit(registry, "RewardsClaimed")
          .withArgs(1, account, currency, stranger.address, rewards)
          .and.to.emit(oracle, "Withdrawn")
          .withArgs(registry.target, stranger.address, currency, rewards);
        const [gotTokens, gotCoins] = currency === Currency.Token ? [rewards, 0n] : [0n, rewards];
        expect(await world.token.balanceOf(stranger.address)).to.equal(tokens + gotTokens);
        expect(await ethers.provider.getBalance(stranger.address)).to.equal(coins + gotCoins);
        expect(await registry.rewardsOf(1, account, currency)).to.equal(0n);
      }
      await expect(registry.connect(stranger).claimRewards(1, currency, stranger.address))
        .to.be.revertedWithCustomError(registry, "NoRewards")
        .withArgs(1, stranger.address, currency);
    }
  });

  it("that a contract refuses remain claimable", async () => {
    const { registry, oracle, delegator, target, execute } = await loadFixture(paidCoins);
    const rewards = (await registry.rewardsOf(1, target, Currency.Native)) as bigint;
    await delegator.getFunction("setMode")(Mode.Revert);
    await expect(execute(registry, "claimRewards", [1, Currency.Native, target])).to.be.revertedWithCustomError(
      delegator,
      "Refused",
    );
    expect(await registry.rewardsOf(1, target, Currency.Native)).to.equal(rewards);
    expect(await oracle.creditOf(registry.target, Currency.Native)).to.equal(fee);
  });

  it("are not paid twice to a contract that claims again, which reads only what is left", async () => {
    const claim = [1, Currency.Native] as const;
    for (const [contract, name, expected] of [
      ["registry", "claimRewards", "NoRewards"],
      ["registry", "rewardsOf", 0n],
      ["oracle", "creditOf", fee],
    ] as const) {
      const { registry, oracle, delegator, target, execute } = await loadFixture(paidCoins);
      const asked = { registry, oracle }[contract];
      const rewards = (await registry.rewardsOf(1, target, Currency.Native)) as bigint;
      const args = {
        claimRewards: [...claim, target],
        rewardsOf: [1, target, Currency.Native],
        creditOf: [registry.target, Currency.Native],
      }[name];
      await delegator.getFunction("setMode")(Mode.Reenter);
      await delegator.getFunction("setReentry")(asked.target, asked.interface.encodeFunctionData(name, args));
      await execute(registry, "claimRewards", [...claim, target]);
      const result = (await delegator.getFunction("reentryResult")()) as string;
      if (typeof expected === "string") expect(asked.interface.parseError(result)?.name).to.equal(expected);
      else expect(BigInt(result)).to.equal(expected === 0n ? 0n : expected - rewards);
      expect(await ethers.provider.getBalance(target)).to.equal(rewards);
      expect(await ethers.provider.getBalance(oracle.target)).to.be.above(0n);
    }
  });

  it("are not paid twice by a token that calls the claiming account in the middle of a transfer", async () => {
    const { world, registry, delegator, target, execute } = await loadFixture(paidHostileTokens);
    const again = registry.interface.encodeFunctionData("claimRewards", [1, Currency.Token, target]);
    const reentry = delegator.interface.encodeFunctionData("execute", [registry.target, again]);
    const hostile = await ethers.getContractAt("HostileToken", world.token.target);
    await hostile.getFunction("setReentry")(target, reentry);
    await expect(execute(registry, "claimRewards", [1, Currency.Token, target]))
      .to.be.revertedWithCustomError(registry, "NoRewards")
      .withArgs(1, target, Currency.Token);
    await hostile.getFunction("setReentry")(ethers.ZeroAddress, "0x");
    await hostile.getFunction("setRefusing")(true);
    await expect(execute(registry, "claimRewards", [1, Currency.Token, target])).to.be.revertedWithCustomError(
      world.oracle,
      "SafeERC20FailedOperation",
    );
    await hostile.getFunction("setRefusing")(false);
    await execute(registry, "claimRewards", [1, Currency.Token, target]);
  });
});

describe("the commission", () => {
  it("is lowered at once, and raised after the unbonding delay by a second call", async () => {
    const { registry, operator } = await loadFixture(unpaid);
    const own = registry.connect(operator);
    await expect(own.setCommission(1, 50_000)).to.emit(registry, "CommissionChanged").withArgs(1, 50_000);
    const due = (await time.latest()) + 1 + unbondingDelay;
    await expect(own.setCommission(1, 500_000)).to.emit(registry, "CommissionRaiseAnnounced").withArgs(1, 500_000, due);
    await time.increaseTo(due - 2);
    await expect(own.raiseCommission(1)).to.be.revertedWithCustomError(registry, "RaiseNotDue").withArgs(1, due);
    expect((await registry.getAgent(1)).commission).to.equal(50_000n);
    await time.increaseTo(due);
    await expect(own.raiseCommission(1)).to.emit(registry, "CommissionChanged").withArgs(1, 500_000);
    expect((await registry.getAgent(1)).commission).to.equal(500_000n);
    await expect(own.raiseCommission(1)).to.be.revertedWithCustomError(registry, "NoRaiseAnnounced").withArgs(1);
    await expect(own.setCommission(1, 500_001))
      .to.be.revertedWithCustomError(registry, "CommissionAboveMaximum")
      .withArgs(500_001, 500_000);
  });
});
