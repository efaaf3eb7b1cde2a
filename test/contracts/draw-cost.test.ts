import { expect } from "chai";
import { id } from "ethers";
import hre from "hardhat";

import { agentOf } from "../support/contracts/typed-data.ts";

const { ethers } = await hre.network.create();

interface Group {
  readonly count: number;
  /** In parts of 32: a fresh agent at minStake counts 1, a proven one 2, a fresh one at maxStake 16, a proven one 32. */
  readonly stake?: number;
  readonly reputation?: number;
}

/** The registry of the reference, and others that it must cost no more to draw from. */
const uniform: readonly Group[] = [{ count: 100 }];
const skewed: Readonly<Record<string, readonly Group[]>> = {
  "100 proven at minStake": [{ count: 100, stake: 2 }],
  "100 fresh at minStake": [{ count: 100, stake: 1 }],
  "100 proven at maxStake and 300 of an attacker, fresh at minStake": [{ count: 100 }, { count: 300, stake: 1 }],
  "100 proven at maxStake and 900 of an attacker, fresh at minStake": [{ count: 100 }, { count: 900, stake: 1 }],
  "1,000 fresh at minStake": [{ count: 1000, stake: 1 }],
};

async function harnessOf(groups: readonly Group[]) {
  const harness = await ethers.deployContract("DrawHarness");
  for (const { count, stake = 32, reputation = 1_000_000 } of groups)
    for (let filled = 0; filled < count; filled += 150)
      await harness.getFunction("fill")(Math.min(150, count - filled), stake, 32, reputation);
  return harness;
}

/** Resolves with a function that measures a draw. Each has a call of its own, so that every slot is cold. */
async function costOf(...groups: readonly Group[]) {
  const harness = await harnessOf(groups);
  return async (sample: number, size: number, excluded: readonly number[] = []): Promise<number> =>
    Number(await harness.getFunction("committee").estimateGas(id(`${sample}`), size, excluded));
}

async function meanCost(groups: readonly Group[], size: number, samples = 24): Promise<number> {
  const draw = await costOf(...groups);
  let total = 0;
  for (let sample = 0; sample < samples; sample++) total += await draw(sample, size);
  return total / samples;
}

describe("the cost of a draw", () => {
  it("does not depend on the size of the registry", async () => {
    const small = await meanCost([{ count: 10 }], 4);
    const large = await meanCost([{ count: 1000 }], 4);
    expect(Math.abs(large / small - 1)).to.be.below(0.05);
  });

  for (const size of [7, 31])
    for (const [name, groups] of Object.entries(skewed))
      it(`is within 10 % of that of a uniform registry for ${size} seats: ${name}`, async () => {
        const cost = await meanCost(groups, size);
        expect(Math.abs(cost / (await meanCost(uniform, size)) - 1)).to.be.below(0.1);
      });

  it("is at most twice that of a uniform registry where all weights lie at the lower bound of their bucket", async () => {
    const groups = [1, 2, 4, 8, 16, 32].map((stake) => ({ count: 50, stake, reputation: 500_001 }));
    for (const size of [7, 31]) expect(await meanCost(groups, size)).to.be.below(2 * (await meanCost(uniform, size)));
  });

  it("stays bounded when the lightest candidate comes last", async () => {
    const draw = await costOf({ count: 63 }, { count: 1, stake: 1, reputation: 100_000 });
    for (let sample = 0; sample < 3; sample++) expect(await draw(sample, 64)).to.be.below(350_000);
  });

  it("stays bounded when reviewed committees leave fewer agents than seats", async () => {
    // The largest committees that one reviews have 7, 15 and 31 seats. All 115 agents are drawn.
    const before = 53;
    const draw = await costOf({ count: before, reputation: 500_001 }, { count: 62, reputation: 500_001 });
    const excluded = Array.from({ length: before }, (_, index) => index + 1);
    for (let sample = 0; sample < 3; sample++) expect(await draw(sample, 63, excluded)).to.be.below(1_000_000);
  });
});

describe("weights where agents have the least stake: 30 of 100 agents were slashed ten times (reputation 0.107)", () => {
  for (const stake of [32, 16, 2, 1])
    it(`count in full with all at ${stake}/32 of the full weight`, async () => {
      const harness = await harnessOf([
        { count: 70, stake },
        { count: 30, stake, reputation: 107_000 },
      ]);
      for (const size of [4, 13, 31]) {
        const samples = 120;
        let slashed = 0;
        for (let sample = 0; sample < samples; sample++) {
          const committee = (await harness.getFunction("committee")(id(`${sample}/${size}`), size, [])) as bigint[];
          slashed += committee.filter((seat) => agentOf(seat) > 70n).length;
        }
        const expected = expectedSeats(size);
        // Four standard deviations of a binomial; seats without replacement vary less.
        const tolerance = 4 * Math.sqrt(samples * expected * (1 - expected / size));
        expect(slashed).to.be.within(samples * expected - tolerance, samples * expected + tolerance);
      }
    });
});

/** Mean number of seats of the 30 slashed agents, from the chance of each seat. */
function expectedSeats(size: number): number {
  let states = new Map([[0, 1]]);
  for (let seat = 0; seat < size; seat++) {
    const next = new Map<number, number>();
    for (const [slashed, chance] of states) {
      const weight = (30 - slashed) * 0.107;
      const share = weight / (weight + 70 - (seat - slashed));
      next.set(slashed, (next.get(slashed) ?? 0) + chance * (1 - share));
      next.set(slashed + 1, (next.get(slashed + 1) ?? 0) + chance * share);
    }
    states = next;
  }
  return [...states].reduce((sum, [slashed, chance]) => sum + slashed * chance, 0);
}
