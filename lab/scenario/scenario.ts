// The events of the scenario in order, and how all leave in the end.
import type { Random } from "../../sim/random.ts";
import { ask, latestOf, passDeadline, refundArgs, termsFor } from "../../test/support/contracts/course.ts";
import { Currency, packTerms } from "../../test/support/contracts/typed-data.ts";
import {
  joiningDelay,
  minStake,
  nextEpoch,
  subscription,
  unbondingDelay,
  type Registry,
  type World,
} from "../../test/support/contracts/world.ts";
import { tokenPrices, type Agent, type Economy } from "./economy.ts";
import { ALL_FATES, play } from "./play.ts";
import { equivocate, overturn } from "./slashing.ts";

export interface Played {
  readonly fates: Readonly<Record<string, number>>;
  readonly kinds: Readonly<Record<string, number>>;
  readonly events: Readonly<Record<string, number>>;
}

const adminRole = 0n;
const governanceDelay = 48 * 3600;
/** MAX_COMMISSION_PPM of contracts/types/Limits.sol; all operators begin with less. */
const highestCommission = 500_000;

/** Of so many requests one asker stores the outcome on the chain. */
const STORED = 10;

/**
 * Plays the scenario. At a quarter of it what the delegators bonded has joined and begins to earn, an agent equivocates, liars lose stake, an operator
 * announces a higher commission, and an asker takes a request back. At a half another operator leaves, a third lowers its commission and
 * hands its agent over, and all delegators claim. At three quarters prices double.
 */
export async function playScenario(
  economy: Economy,
  requests: number,
  random: Random,
  progress: (line: string) => void,
): Promise<Played> {
  const fates: Record<string, number> = {};
  const kinds: Record<string, number> = {};
  const events = {
    "stakes that began to earn": 0,
    "liars overturned and slashed": 0,
    "equivocator slashed": 0,
    "refunds unheard": 0,
    "requests cancelled": 0,
    "operator left": 0,
    "prices changed": 0,
    "commission lowered": 0,
    "commission raised": 0,
    "claims of rewards": 0,
    "agents woken": 0,
    "agent handed over": 0,
    "outcomes stored": 0,
  };
  const [equivocator, leaver, generous, greedy] = random.shuffled(economy.agents) as [Agent, Agent, Agent, Agent];
  // Each fate occurs, if there are requests enough.
  const early = random.shuffled(ALL_FATES);
  for (let index = 0; index < requests; index++) {
    events["agents woken"] += await wakeAll(economy.world, economy.sluggish);
    if (index === Math.floor(requests / 4)) {
      events["stakes that began to earn"] += await startEarning(economy);
      // Before the committees of the liars, after which sluggish agents sleep.
      await equivocate(economy, equivocator);
      events["equivocator slashed"]++;
      const liars = random.fork("liars");
      while (!(await overturn(economy, liars)))
        events["agents woken"] += await wakeAll(economy.world, economy.sluggish);
      events["liars overturned and slashed"]++;
      await leaveUnanswered(economy);
      events["refunds unheard"]++;
      await takeBack(economy);
      events["requests cancelled"]++;
      await ownRegistry(economy.world, greedy).setCommission(greedy.id, highestCommission);
    }
    if (index === Math.floor(requests / 2)) {
      await startLeaving(economy, leaver);
      events["operator left"]++;
      await ownRegistry(economy.world, generous).setCommission(generous.id, 0);
      events["commission lowered"]++;
      await handOver(economy, generous);
      events["agent handed over"]++;
      events["claims of rewards"] += await claimAll(economy, economy.delegators);
    }
    if (index === Math.floor((3 * requests) / 4)) {
      await doublePrices(economy.world);
      events["prices changed"]++;
    }
    const { fate, kind, final } = await play(economy, random, early[index]);
    if (index % STORED === 0 && final !== null) {
      await economy.world.settlement.storeOutcome(...latestOf(final));
      events["outcomes stored"]++;
    }
    fates[fate] = (fates[fate] ?? 0) + 1;
    kinds[kind] = (kinds[kind] ?? 0) + 1;
    if ((index + 1) % 50 === 0) progress(`${index + 1} of ${requests} requests`);
  }
  await unbondAndWait(economy);
  await ownRegistry(economy.world, greedy).raiseCommission(greedy.id);
  events["commission raised"]++;
  events["claims of rewards"] += await claimAll(economy, [...economy.operators, ...economy.delegators]);
  await leave(economy);
  return { fates, kinds, events };
}

/** Waits until the delegators' stakes have joined; then a stranger lets them earn (RW6). Resolves with how many. */
async function startEarning({ world, agents, delegators, relayers }: Economy): Promise<number> {
  await pass(world, joiningDelay);
  const registry = world.registry.connect(relayers[0]!);
  let started = 0;
  for (const { id } of agents)
    for (const { address } of delegators) {
      const { joining } = await registry.positionOf(id, address);
      if (joining === 0n) continue;
      await registry.startEarning(id, address);
      started++;
    }
  return started;
}

/** Lets a request end unanswered. The deployer, which asked, has no code to call back. */
async function leaveUnanswered({ world }: Economy): Promise<void> {
  const terms = { callbackGasLimit: 50_000 };
  const fee = (await world.oracle.quote(packTerms(termsFor(terms)))) as bigint;
  const asked = await ask(world, { ...terms, fee });
  await passDeadline(world, asked.round);
  await world.oracle.refund(...refundArgs(asked));
}

/** Asks, and takes the request back in the next block. */
async function takeBack({ world }: Economy): Promise<void> {
  const fee = (await world.oracle.quote(packTerms(termsFor()))) as bigint;
  await world.oracle.cancel(...refundArgs(await ask(world, { fee })));
}

/** Wakes the agents that sleep and waits until they can be drawn; returns how many. */
async function wakeAll(world: World, agents: readonly Agent[]): Promise<number> {
  let woken = 0;
  for (const { id } of agents) {
    const { asleep } = await world.registry.getAgent(id);
    if (asleep !== true) continue;
    const operator = await world.ethers.getSigner((await world.registry.operatorOf(id)) as string);
    await world.registry.connect(operator).wake(id);
    woken++;
  }
  if (woken > 0) await nextEpoch(world);
  return woken;
}

/** Hands an agent over to a delegator that has as much stake behind it as an operator needs. */
async function handOver({ world, delegators }: Economy, agent: Agent): Promise<void> {
  const [delegator] = delegators as [Agent["operator"], ...Agent["operator"][]];
  const registry = world.registry.connect(delegator);
  // In an agent that was slashed a bond is worth up to a unit less than was paid.
  await registry.bond(agent.id, minStake + 1n);
  await ownRegistry(world, agent).transferOperator(agent.id, delegator.address);
  await registry.acceptOperator(agent.id);
}

async function startLeaving({ world, agents }: Economy, leaver: Agent): Promise<void> {
  for (const { id, operator } of agents.filter((agent) => agent.operator === leaver.operator))
    await unbondAll(world, id, operator);
}

async function unbondAll(world: World, id: bigint, owner: Agent["operator"]): Promise<void> {
  const { shares } = await world.registry.positionOf(id, owner.address);
  if (shares !== 0n) await world.registry.connect(owner).startUnbonding(id, shares);
}

const ownRegistry = ({ registry }: World, { operator }: Agent): Registry => registry.connect(operator);

/** Claims for all owners; resolves with the number of claims. */
async function claimAll({ world, agents }: Economy, owners: Economy["operators"]): Promise<number> {
  const { registry } = world;
  let claims = 0;
  for (const { id } of agents)
    for (const owner of owners)
      for (const currency of [Currency.Token, Currency.Native] as const) {
        if ((await registry.rewardsOf(id, owner.address, currency)) === 0n) continue;
        await registry.connect(owner).claimRewards(id, currency, owner.address);
        claims++;
      }
  return claims;
}

/** Doubles the prices after the delay that the chain sets for the administrator's decisions. */
async function doublePrices(world: World): Promise<void> {
  const { manager, oracle, deployer, ethers } = world;
  await manager.grantRole(adminRole, deployer.address, governanceDelay);
  const doubled = { ...tokenPrices, unitPrice: 2n * tokenPrices.unitPrice };
  const call = oracle.interface.encodeFunctionData("setPrices", [Currency.Token, doubled]);
  await manager.schedule(oracle.target, call, 0);
  await ethers.provider.send("evm_increaseTime", [governanceDelay]);
  await manager.execute(oracle.target, call);
}

async function unbondAndWait({ world, agents, operators, delegators }: Economy): Promise<void> {
  for (const { id } of agents) for (const owner of [...operators, ...delegators]) await unbondAll(world, id, owner);
  await pass(world, unbondingDelay);
}

async function pass({ ethers }: World, seconds: number): Promise<void> {
  await ethers.provider.send("evm_increaseTime", [seconds]);
  await ethers.provider.send("hardhat_mine", ["0x1"]);
}

/** Withdraws all stake and empties every credit and subscription; only the treasury keeps what it is owed. */
async function leave(economy: Economy): Promise<void> {
  const { world } = economy;
  const holders = [...economy.operators, ...economy.delegators];
  for (const { id } of economy.agents)
    for (const owner of holders) {
      const { unbonding } = await world.registry.positionOf(id, owner.address);
      if (unbonding !== 0n) await world.registry.connect(owner).withdrawStake(id, owner.address);
    }
  await world.registry.connect(economy.reporter).claim(economy.reporter.address);

  const askers = economy.askers.map(({ signer }) => signer);
  for (const owner of [...economy.operators, ...economy.appellants, ...economy.relayers, ...askers]) {
    for (const currency of [Currency.Token, Currency.Native] as const) {
      const amount = (await world.oracle.creditOf(owner.address, currency)) as bigint;
      if (amount !== 0n) await world.oracle.connect(owner).withdraw(currency, amount, owner.address);
    }
  }
  const subscriptions = economy.askers.filter(({ subscriptionId }) => subscriptionId !== 0n);
  for (const { signer, subscriptionId } of [
    ...subscriptions,
    { signer: world.deployer, subscriptionId: subscription },
  ]) {
    const [, , tokens, coins] = await world.oracle.subscriptionOf(subscriptionId);
    for (const [currency, amount] of [tokens, coins].entries())
      await world.oracle.connect(signer).withdrawFunds(subscriptionId, currency, amount, signer.address);
  }
}
