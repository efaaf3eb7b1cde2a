import { expect } from "chai";
import { id } from "ethers";
import hre from "hardhat";

const { ethers } = await hre.network.create();

/** Mean gas of 40 draws, each in a call of its own, so that every slot is cold. */
async function meanDraw(count: number, size: number): Promise<number> {
  const harness = await ethers.deployContract("DrawHarness");
  for (let filled = 0; filled < count; filled += 250) {
    await harness.getFunction("fill")(Math.min(250, count - filled), 1, 1, 1_000_000);
  }
  let total = 0n;
  for (let sample = 0; sample < 40; sample++) {
    total += await harness.getFunction("draw").estimateGas(id(`${sample}`), size);
  }
  return Number(total) / 40;
}

describe("the cost of a draw", () => {
  it("does not depend on the size of the registry", async () => {
    const small = await meanDraw(10, 4);
    const large = await meanDraw(1000, 4);
    expect(Math.abs(large / small - 1)).to.be.below(0.05);
  });
});
