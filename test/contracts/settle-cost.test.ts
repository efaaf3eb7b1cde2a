import { expect } from "chai";
import { concat, hexlify, toBeHex, toUtf8Bytes } from "ethers";
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
} from "../support/contracts/course.ts";
import { Currency, agentOf, packTerms, testKey } from "../support/contracts/typed-data.ts";
import {
  deployWorld,
  findEvents,
  maxStake,
  nextEpoch,
  registration,
  servicesOf,
  type World,
} from "../support/contracts/world.ts";

/**
 * The requests with the most seats and with the most rounds: every committee before the last hangs or is appealed
 * against.
 */
const shapes = [
  { committeeSize: 53, appeals: 0, retries: 2, seats: 159 },
  { committeeSize: 40, appeals: 0, retries: 3, seats: 160 },
  { committeeSize: 10, appeals: 2, retries: 2, seats: 160 },
  { committeeSize: 4, appeals: 3, retries: 2, seats: 149 },
  { committeeSize: 7, appeals: 3, retries: 0, seats: 116 },
] as const;
type Shape = (typeof shapes)[number];
/** So many that most of them sit once at most: a retry leaves nobody out. */
const agents = 320;
/** The most agents that one call serves. */
const served = 160;
const gwei = 10n ** 9n;
const WEEK = 7 * 86_400;
/** The most gas that a settlement may use where no agent sits twice: seven eighths of the 2^24 gas of a transaction. */
const worst = 2n ** 24n - 2n ** 21n;

const { ethers, networkHelpers } = await hre.network.create({ override: { accounts: { count: agents + 20 } } });

/**
 * Makes agents that each have an operator of their own. No operator has been paid, and the next service proves each
 * agent.
 */
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
  await networkHelpers.impersonateAccount(oracle.target);
  await networkHelpers.setBalance(oracle.target, 10n ** 20n);
  for (let service = 0; service < 15; service++) await serveAll(world, 0, 1n);
  await nextEpoch(world);
  return world;
}

/** The same, four weeks of falls later: one more slash ends each agent. */
async function failingWorld(): Promise<World> {
  const world = await crowdedWorld();
  for (const steps of [-3, -3, -3, -1]) {
    await networkHelpers.time.increase(WEEK);
    await serveAll(world, steps, 0n);
  }
  await networkHelpers.time.increase(WEEK);
  await nextEpoch(world);
  return world;
}

async function serveAll(world: World, steps: number, earned: bigint): Promise<void> {
  const ids = Array.from({ length: agents }, (_, index) => index + 1);
  const trusted = world.registry.connect(await ethers.getSigner(world.oracle.target));
  for (let first = 0; first < agents; first += served)
    await trusted.recordServices(Currency.Token, servicesOf(ids.slice(first, first + served), steps, earned));
}

/**
 * Plays rounds that all stand, so that every seat is paid and learns, and all reputations change. A first lesson in which an agent is
 * outvoted changes its skill, too. Each round has another relayer.
 */
async function play(world: World, { appeals, retries }: Shape, step: string, asked: Asked): Promise<Committed> {
  const signers = await ethers.getSigners();
  const rounds = appeals + retries;
  let running = asked;
  for (let index = 0; ; index++) {
    const drawn = await draw(world, running);
    const isHung = index >= appeals && index < rounds;
    const decided = { answer: hexlify(toUtf8Bytes("y".repeat(128))) };
    const reputationChanges = concat(drawn.committee.flatMap((_, seat) => [toBeHex(seat, 1), step]));
    const answered = (1n << BigInt(drawn.committee.length)) - 1n;
    const decision = decisionFor(drawn, { ...(isHung ? hung : decided), reputationChanges, answered });
    const relaying = { ...world, oracle: world.oracle.connect(signers[10 + index]!) };
    const committed = await commit(relaying, drawn, decision, { gasPrice: 10n * gwei });
    if (index === rounds) return committed;
    running = committed.reopened ?? (await appeal(world, committed, world.oracle.connect(signers[1 + index]!)));
  }
}

describe("the cost of a settlement", () => {
  for (const shape of shapes) {
    for (const [name, step, event, worldOf] of [
      ["slashes", "0xfd", "ReputationChanged", crowdedWorld],
      ["proves", "0x01", "AgentProven", crowdedWorld],
      ["ends", "0xfd", "AgentExited", failingWorld],
    ] as const) {
      const { seats, ...overrides } = shape;
      const rounds = 1 + shape.appeals + shape.retries;

      it(`stays below a transaction's gas when it pays and ${name} all ${seats} seats of ${rounds} rounds`, async function () {
        const world = await networkHelpers.loadFixture(worldOf);
        const terms = termsFor(overrides);
        const fee = 3n * ((await world.oracle.quote(packTerms(terms))) as bigint);
        const committed = await play(world, shape, step, await ask(world, { ...terms, fee }));
        const receipt = await (await world.settlement.settle(...recordOf(committed))).wait();
        expect(findEvents(world.settlement, receipt, "RoundPaid")).to.have.length(rounds);
        const [recorded] = findEvents(world.registry, receipt, "ServicesRecorded");
        expect(recorded!.args["services"]).to.have.length(seats);
        const sitting = new Set(committed.rounds.flatMap(({ committee }) => committee.map(agentOf))).size;
        expect(findEvents(world.registry, receipt, event)).to.have.length(sitting);
        // A second seat of an agent costs less than a first one, so seats of as many agents cost less than this: by how much depends on the draws.
        expect((receipt.gasUsed * BigInt(seats)) / BigInt(sitting)).to.be.below(worst);
      });
    }
  }
});
