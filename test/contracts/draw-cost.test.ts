import { expect } from "chai";
import { id } from "ethers";
import hre from "hardhat";

const { ethers } = await hre.network.create();

/** A bound on gas, far below the 2^24 gas of a transaction. */
const worst = 10_000_000n;

async function harnessOf(...groups: readonly { count: number; stake?: number; reputation?: number }[]) {
  const harness = await ethers.deployContract("DrawHarness");
  for (const { count, stake = 16, reputation = 1_000_000 } of groups) {
    for (let filled = 0; filled < count; filled += 150) {
      await harness.getFunction("fill")(Math.min(150, count - filled), stake, 16, reputation);
    }
  }
  // Each draw has a call of its own, so that every slot is cold.
  return (sample: number, size: number, excluded: readonly number[] = []): Promise<bigint> =>
    harness.getFunction("draw").estimateGas(id(`${sample}`), size, excluded);
}

/** Returns the mean gas of 40 draws. */
async function meanDraw(count: number, size: number): Promise<number> {
  const draw = await harnessOf({ count });
  let total = 0n;
  for (let sample = 0; sample < 40; sample++) total += await draw(sample, size);
  return Number(total) / 40;
}

describe("the cost of a draw", () => {
  it("does not depend on the size of the registry", async () => {
    const small = await meanDraw(10, 4);
    const large = await meanDraw(1000, 4);
    expect(Math.abs(large / small - 1)).to.be.below(0.05);
  });

  it("stays bounded when the last candidate is almost never accepted", async () => {
    const draw = await harnessOf({ count: 63 }, { count: 1, stake: 1, reputation: 10_000 });
    for (let sample = 0; sample < 3; sample++) expect(await draw(sample, 64)).to.be.below(worst);
  });

  it("stays bounded when earlier committees leave only as many agents as seats", async () => {
    // The largest number of excluded agents: committees of 7, 15 and 31 seats, and three of 63 that hung.
    const before = 242;
    const draw = await harnessOf({ count: before + 63 });
    const excluded = Array.from({ length: before }, (_, index) => index + 1);
    expect(await draw(0, 63, excluded)).to.be.below(worst);
  });

  it("stays bounded when every probe looks at another agent and none accepts", async () => {
    const draw = await harnessOf({ count: 6000, stake: 1, reputation: 10_000 });
    expect(await draw(0, 64)).to.be.below(worst);
  });
});
