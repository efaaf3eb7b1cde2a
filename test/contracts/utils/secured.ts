import type { HardhatEthers } from "@nomicfoundation/hardhat-ethers/types";
import { hexlify } from "ethers";

import { appeal, ask, decide, no, recordOf, termsFor, type Committed } from "../../support/contracts/course.ts";
import { agentOf, type SignedDecision, type Terms } from "../../support/contracts/typed-data.ts";
import {
  deployWorld,
  freeTokens,
  maxStake,
  minStake,
  registerAgents,
  type World,
} from "../../support/contracts/world.ts";
import { mostUnits } from "./money.ts";

export const secured = { security: 1, assurance: 1, appeals: 2 } as const;
export const yes = {};
/** A quorum of the first four seats signs. */
export const signers = 3n;
/** A twentieth of the stake. */
export const slice = maxStake / 20n;
/** The price of a unit of pay, of which 200 are a twentieth of the greatest stake. */
export const fullUnit = slice / 200n;

/** Yes of a committee where so many seats earned by it, one was absent, and the others were wrong at first. */
export const knownTo = (size: number, paid: number): Partial<SignedDecision> => ({
  shares: hexlify(Uint8Array.from({ length: size }, (_, seat) => (seat < paid ? 30 : seat === paid ? 255 : 0))),
});

/** Makes as many agents as four seats and two appeals need. Alice appeals first, Bob second; a stranger reports. */
async function makeAgents(ethers: HardhatEthers, count: number, stake: bigint) {
  // Without a cap on the price of gas nobody is paid for gas, and with this rate gas costs more than a unit from 0.1 gwei on.
  const world = await deployWorld(ethers, { token: { ...freeTokens, gasRate: 10n ** 24n } });
  const { oracle, token, registry } = world;
  const [, operator, alice, bob, stranger] = await ethers.getSigners();
  await token.mint(operator!.address, 10n ** 24n);
  await token.connect(operator!).approve(registry.target, 10n ** 24n);
  await registerAgents(world, count, { operator: operator!, stake });
  for (const account of [alice!, bob!, operator!]) {
    await token.mint(account.address, 10n ** 24n);
    await token.connect(account).approve(oracle.target, 10n ** 24n);
  }
  const slasher = world.slasher.connect(stranger!);
  return { world, operator: operator!, alice: alice!, bob: bob!, stranger: stranger!, slasher };
}

/** Makes the fixtures: agents at full and at the least stake, enough for a retry or a third appeal, and so many that no agent sits twice (DR4). */
export const settings = (ethers: HardhatEthers) => ({
  full: () => makeAgents(ethers, 32, maxStake),
  least: () => makeAgents(ethers, 32, minStake),
  many: () => makeAgents(ethers, 71, maxStake),
  crowded: () => makeAgents(ethers, 104, maxStake),
});

/** Secured terms at the price of a unit; without a list the whole fee is pay. */
export function priced(overrides: Partial<Terms> = {}, unit = fullUnit): Terms {
  const terms = termsFor({ ...secured, ...overrides });
  return { ...terms, fee: unit * mostUnits(terms) };
}

export type Setting = Awaited<ReturnType<typeof makeAgents>>;

/** Lets committees decide so, one after the other: an account appeals against each decision but the last. */
export async function play(
  { world, alice, bob }: Setting,
  decisions: readonly Partial<SignedDecision>[],
  terms: Partial<Terms> = {},
  appellants = [alice, bob, alice],
): Promise<Committed> {
  let committed = await decide(world, await ask(world, "fee" in terms ? termsFor(terms) : priced(terms)), decisions[0]);
  let appeals = 0;
  for (const decision of decisions.slice(1)) {
    const next = committed.reopened ?? (await appeal(world, committed, world.oracle.connect(appellants[appeals++]!)));
    committed = await decide(world, next, decision);
  }
  return committed;
}

export async function settle(world: World, committed: Committed): Promise<Committed> {
  await world.settlement.settle(...recordOf(committed));
  return committed;
}

export const overturned = async (setting: Setting, terms: Partial<Terms> = {}): Promise<Committed> =>
  settle(setting.world, await play(setting, [no, yes, yes], terms));

/** The agents that signed a round. */
export const signersOf = (committed: Committed, round = 0): number[] =>
  committed.rounds[round]!.committee.slice(0, Number(signers)).map((seat) => Number(agentOf(seat)));

export const stakeOf = async ({ registry }: World, agentId: number): Promise<bigint> => {
  const { bonded, unbonding } = await registry.getAgent(agentId);
  return (bonded.assets as bigint) + (unbonding.assets as bigint);
};

/** The stake of all agents. */
export async function allStake(world: World): Promise<bigint> {
  const count = Number(await world.registry.agentCount());
  let sum = 0n;
  for (let agentId = 1; agentId <= count; agentId++) sum += await stakeOf(world, agentId);
  return sum;
}
