import { expect } from "chai";
import { concat, toBeHex } from "ethers";
import hre from "hardhat";

import { ask, commit, decisionFor, draw, recordOf } from "../support/contracts/course.ts";
import { proveAgents } from "../support/contracts/prove.ts";
import { Currency } from "../support/contracts/typed-data.ts";
import {
  deployWorld,
  nextEpoch,
  registerAgents,
  servicesOf,
  type PriceTerms,
  type World,
} from "../support/contracts/world.ts";
import { paidGas, payGasOf, relayGasOf, settleGasOf } from "./utils/money.ts";

const { ethers, networkHelpers } = await hre.network.create();
const gwei = 10n ** 9n;
const agents = 100;
/** The build for tests uses a little more than the deployed one, for which the constants are chosen. */
const mostForAChange = paidGas.change + (hre.globalOptions.buildProfile === "production" ? 0n : 100n);
/** Beyond what is paid for a change: a fall that the decision says of an absent seat notes the miss and the week, too. */
const mostForAFall = 1_000n;
const prices: PriceTerms = {
  unitPrice: 10n ** 12n,
  gasRate: 10n ** 18n,
  gasPriceCap: 10n * gwei,
  treasuryPpm: 50_000n,
};

/** Makes proven agents that made these steps, as in a network whose models err: all words of the draw have a past. */
async function after(past: readonly number[]) {
  const world = await deployWorld(ethers, { token: prices });
  const { registry, oracle } = world;
  const [, , relayer] = await ethers.getSigners();
  await registerAgents(world, agents);
  await proveAgents(world, 1, agents);
  await networkHelpers.impersonateAccount(oracle.target);
  await networkHelpers.setBalance(oracle.target, 10n ** 20n);
  const trusted = registry.connect(await ethers.getSigner(oracle.target));
  const ids = Array.from({ length: agents }, (_, index) => index + 1);
  for (const steps of past) {
    await nextEpoch(world);
    await trusted.recordServices(Currency.Token, servicesOf(ids, steps, 1n));
  }
  await nextEpoch(world);
  const relaying: World = { ...world, oracle: oracle.connect(relayer!) };
  // The first credit of a relayer is its own cost.
  await commit(relaying, await draw(world, await ask(world)), undefined, { gasPrice: gwei });
  return { world, relaying, relayer: relayer! };
}

const recovering = () => after([-3, 1, 1, 1]);

/** Reputation 0.84, so that a fall leaves the agent in its bucket, and a week without a fall. */
async function recovered() {
  const setting = await after([-1, 1, 1, 1, 1]);
  await networkHelpers.time.increase(8 * 86_400);
  return setting;
}

describe("SE13: the gas of reputations that change", () => {
  for (const size of [4, 7, 13, 31])
    it(`PY9: is paid to whoever commits a decision of ${size} seats of which f are absent and fall for it, and suffices`, async () => {
      const { world, relaying, relayer } = await networkHelpers.loadFixture(recovered);
      const drawn = await draw(world, await ask(world, { committeeSize: size }));
      const f = Math.floor((size - 1) / 3);
      const isAbsent = (seat: number): boolean => seat >= size - f;
      const shares = concat(drawn.committee.map((_, seat) => (isAbsent(seat) ? "0xff" : "0x01")));
      const falls = drawn.committee.flatMap((_, seat) => (isAbsent(seat) ? [toBeHex(seat, 1), "0xff"] : []));
      const left: bigint[] = [];
      for (const merits of [{}, { shares }, { shares, reputationChanges: concat(falls) }]) {
        const snapshot = await networkHelpers.takeSnapshot();
        const before = (await world.oracle.creditOf(relayer.address, Currency.Token)) as bigint;
        const { receipt } = await commit(relaying, drawn, decisionFor(drawn, merits), { gasPrice: gwei });
        const paid = (((await world.oracle.creditOf(relayer.address, Currency.Token)) as bigint) - before) / gwei;
        expect(paid).to.equal(relayGasOf(size) + payGasOf(size, "reputationChanges" in merits ? f : 0));
        left.push(paid - receipt.gasUsed);
        await snapshot.restore();
      }
      const [present, unpaid, fallen] = left as [bigint, bigint, bigint];
      expect(present - unpaid > 10_000n * BigInt(f)).to.equal(true);
      expect(present - fallen <= mostForAFall * BigInt(f)).to.equal(true);
    });

  for (const size of [4, 7, 13, 31])
    it(`is paid to whoever commits a decision of ${size} seats that recover, and suffices`, async () => {
      const { world, relaying, relayer } = await networkHelpers.loadFixture(recovering);
      const drawn = await draw(world, await ask(world, { committeeSize: size }));
      const reputationChanges = concat(drawn.committee.flatMap((_, seat) => [toBeHex(seat, 1), "0x01"]));
      const before = (await world.oracle.creditOf(relayer.address, Currency.Token)) as bigint;
      const decision = decisionFor(drawn, { reputationChanges });
      const snapshot = await networkHelpers.takeSnapshot();
      const plain = await commit(relaying, drawn, decisionFor(drawn), { gasPrice: gwei });
      await snapshot.restore();
      const { receipt } = await commit(relaying, drawn, decision, { gasPrice: gwei });
      const paid = (((await world.oracle.creditOf(relayer.address, Currency.Token)) as bigint) - before) / gwei;
      expect(paid).to.equal(relayGasOf(size) + payGasOf(size, size));
      expect(receipt.gasUsed - plain.receipt.gasUsed <= mostForAChange * BigInt(size)).to.equal(true);
    });

  it("is paid to whoever settles, for the rounds that stand alone", async () => {
    const { world, relaying, relayer } = await networkHelpers.loadFixture(recovering);
    const changes = "0x00010101";
    const first = await draw(world, await ask(world, { appeals: 1, finality: 100 }));
    for (const [outcome, stands] of [
      [{}, 2],
      [{ outcome: `0x${"00".repeat(32)}`, answer: "0x6e6f" }, 1],
    ] as const) {
      const snapshot = await networkHelpers.takeSnapshot();
      const { reopened } = await commit(world, first, decisionFor(first, { reputationChanges: changes, ...outcome }));
      const second = await draw(world, reopened!);
      const last = await commit(world, second, decisionFor(second, { reputationChanges: changes }));
      const before = (await world.oracle.creditOf(relayer.address, Currency.Token)) as bigint;
      await networkHelpers.setNextBlockBaseFeePerGas(gwei);
      await relaying.settlement.connect(relayer).settle(...recordOf(last), { gasPrice: gwei });
      const paid = ((await world.oracle.creditOf(relayer.address, Currency.Token)) as bigint) - before;
      expect(paid / gwei).to.equal(settleGasOf(2) + payGasOf(13, 2 * stands));
      await snapshot.restore();
    }
  });
});
