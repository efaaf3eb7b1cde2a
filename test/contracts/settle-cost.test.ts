import { expect } from "chai";
import { hexlify, toUtf8Bytes } from "ethers";
import hre from "hardhat";

import {
  appeal,
  ask,
  commit,
  decisionFor,
  draw,
  hung,
  recordOf,
  termsFor,
  type Asked,
  type Committed,
} from "../../scripts/lib/course.ts";
import { packTerms, testKey } from "../../scripts/lib/typed-data.ts";
import { deployWorld, findEvents, maxStake, nextEpoch, registration, type World } from "../../scripts/lib/world.ts";

/** Committees of 7, 15 and 31 seats that are appealed against, and three of 63 that hang before the last. */
const agents = 7 + 15 + 31 + 4 * 63;
const rounds = ["decided", "decided", "decided", "hung", "hung", "hung", "decided"] as const;
const gwei = 10n ** 9n;
/** Well below a transaction's 2^24 gas. */
const worst = 12_000_000n;

const { ethers } = await hre.network.create({ override: { accounts: { count: agents + 20 } } });

/** Every agent has an operator of its own, who has not been paid before. */
async function crowdedWorld(): Promise<World> {
  const prices = { unitPrice: 10n ** 12n, gasRate: 10n ** 18n, gasPriceCap: 10n * gwei, treasuryPpm: 100_000n };
  const world = await deployWorld(ethers, { token: prices });
  const { token, registry, oracle } = world;
  const operators = (await ethers.getSigners()).slice(20);
  for (const [index, operator] of operators.entries()) {
    await token.mint(operator.address, maxStake);
    await token.connect(operator).approve(registry.target, maxStake);
    const key = testKey(`agent ${index}`);
    await registry.connect(operator).register(registration(world, operator.address, key, maxStake));
  }
  for (const appellant of (await ethers.getSigners()).slice(1, 4)) {
    await token.mint(appellant.address, 10n ** 24n);
    await token.connect(appellant).approve(oracle.target, 10n ** 24n);
  }
  await nextEpoch(world);
  return world;
}

/** Every round stands, so that every seat is paid; each has another relayer. */
async function play(world: World, asked: Asked): Promise<Committed> {
  const signers = await ethers.getSigners();
  let running = asked;
  for (const [index, status] of rounds.entries()) {
    const drawn = await draw(world, running);
    const decided = { answer: hexlify(toUtf8Bytes("y".repeat(1024))) };
    const decision = decisionFor(drawn, status === "hung" ? hung : decided);
    const relaying = { ...world, oracle: world.oracle.connect(signers[10 + index]!) };
    const committed = await commit(relaying, drawn, decision, { gasPrice: 10n * gwei });
    if (index === rounds.length - 1) return committed;
    running = committed.reopened ?? (await appeal(world, committed, world.oracle.connect(signers[1 + index]!)));
  }
  throw new Error("No rounds");
}

describe("the cost of a settlement", () => {
  it("stays below a transaction's gas with all rounds and seats that can be", async function () {
    this.timeout(300_000);
    const world = await crowdedWorld();
    const terms = termsFor({ committeeSize: 7, appeals: 3, retries: 3 });
    const fee = 3n * ((await world.oracle.quote(packTerms(terms))) as bigint);
    const committed = await play(world, await ask(world, { ...terms, fee }));
    expect(committed.rounds.flatMap(({ committee }) => committee)).to.have.length(agents);
    const receipt = await (await world.settlement.settle(...recordOf(committed))).wait();
    expect(findEvents(world.settlement, receipt, "PayCredited")).to.have.length(agents);
    expect(receipt.gasUsed).to.be.below(worst);
  });
});
