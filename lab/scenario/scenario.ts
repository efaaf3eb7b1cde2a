// The events of the scenario in order, and how all leave in the end.
import type { Random } from "../../sim/random.ts";
import {
  ask,
  decide,
  passDeadline,
  refundArgs,
  termsFor,
  type Committed,
} from "../../test/support/contracts/course.ts";
import { equivocation, submitEquivocation } from "../../test/support/contracts/equivocation.ts";
import { Currency, agentOf, packTerms } from "../../test/support/contracts/typed-data.ts";
import {
  minStake,
  nextEpoch,
  subscription,
  unbondingDelay,
  type Registry,
  type World,
} from "../../test/support/contracts/world.ts";
import { tokenPrices, type Agent, type Economy } from "./economy.ts";
import { play } from "./play.ts";

export interface Played {
  readonly fates: Readonly<Record<string, number>>;
  readonly kinds: Readonly<Record<string, number>>;
  readonly events: Readonly<Record<string, number>>;
}

const adminRole = 0n;
const governanceDelay = 48 * 3600;
/** MAX_COMMITTEE of contracts/types/Limits.sol. */
const largestCommittee = 64;
/** MAX_COMMISSION_PPM of contracts/types/Limits.sol; all operators begin with less. */
const highestCommission = 500_000;

/**
 * Plays the scenario. At a quarter of it an agent equivocates, and an operator announces a higher commission. An asker
 * takes a request back at the same time. At a half another operator leaves, a third lowers its commission and hands its agent over, and all delegators claim. At three quarters prices
 * double.
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
  };
  const [equivocator, leaver, generous, greedy] = random.shuffled(economy.agents) as [Agent, Agent, Agent, Agent];
  for (let index = 0; index < requests; index++) {
    events["agents woken"] += await wakeAll(economy.world, economy.sluggish);
    if (index === Math.floor(requests / 4)) {
      await equivocate(economy, equivocator);
      events["equivocator slashed"]++;
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
    const { fate, kind } = await play(economy, random);
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

/** Lets large committees decide until the agent, which is awake, sits in one, and proves that it equivocated there. */
async function equivocate({ world, reporter }: Economy, { id }: Agent): Promise<void> {
  await nextEpoch(world);
  const committeeSize = Math.min(largestCommittee, Number(await world.registry.drawableCount()));
  const fee = (await world.oracle.quote(packTerms(termsFor({ committeeSize })))) as bigint;
  let course: Committed;
  let seat: number;
  do {
    course = await decide(world, await ask(world, { committeeSize, fee }));
    seat = course.rounds[0]!.committee.findIndex((one) => agentOf(one) === id);
  } while (seat < 0);
  const proof = equivocation(world, course, { index: 0, seat });
  await (await submitEquivocation(world, proof, world.slasher.connect(reporter))).wait();
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
  await registry.bond(agent.id, minStake);
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
  await world.ethers.provider.send("evm_increaseTime", [unbondingDelay]);
  await world.ethers.provider.send("hardhat_mine", ["0x1"]);
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
