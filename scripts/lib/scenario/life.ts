// What happens in the scenario, in order, and how everybody leaves in the end.
import type { Random } from "../../../agents/sim/random.ts";
import { ask, draw, passDeadline, refundArgs, termsFor } from "../course.ts";
import { submitEquivocation } from "../equivocation.ts";
import { Currency, packTerms, testKey } from "../typed-data.ts";
import { subscription, unbondingDelay, type World } from "../world.ts";
import { tokenPrices, type Agent, type Economy } from "./economy.ts";
import { play } from "./play.ts";

export interface Life {
  readonly fates: Readonly<Record<string, number>>;
  readonly kinds: Readonly<Record<string, number>>;
  readonly events: Readonly<Record<string, number>>;
}

const adminRole = 0n;
const governanceDelay = 48 * 3600;

/** At a quarter an agent equivocates, at a half an operator leaves, at three quarters prices double. */
export async function live(
  economy: Economy,
  requests: number,
  random: Random,
  progress: (line: string) => void,
): Promise<Life> {
  const fates: Record<string, number> = {};
  const kinds: Record<string, number> = {};
  const events = { "equivocator slashed": 0, "operator left": 0, "prices changed": 0 };
  const [equivocator, leaver] = random.shuffled(economy.agents) as [Agent, Agent];
  for (let index = 0; index < requests; index++) {
    if (index === Math.floor(requests / 4)) {
      await equivocate(economy, equivocator);
      events["equivocator slashed"]++;
    }
    if (index === Math.floor(requests / 2)) {
      await startLeaving(economy, leaver);
      events["operator left"]++;
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
  await leave(economy);
  return { fates, kinds, events };
}

/** About a request of the deployer that nobody answers. */
async function equivocate({ world, reporter }: Economy, { label }: Agent): Promise<void> {
  const fee = (await world.oracle.quote(packTerms(termsFor()))) as bigint;
  const drawn = await draw(world, await ask(world, { fee }));
  await (await submitEquivocation(world, testKey(label), drawn.request, world.slasher.connect(reporter))).wait();
  await passDeadline(world, drawn.round);
  await world.oracle.refund(...refundArgs(drawn));
}

async function startLeaving({ world, agents }: Economy, leaver: Agent): Promise<void> {
  for (const { id, operator } of agents.filter((agent) => agent.operator === leaver.operator))
    await unbondAll(world, id, operator);
}

async function unbondAll(world: World, id: bigint, owner: Agent["operator"]): Promise<void> {
  const { shares } = await world.registry.positionOf(id, owner.address);
  if (shares !== 0n) await world.registry.connect(owner).startUnbonding(id, shares);
}

async function claimRewards({ registry }: World, id: bigint, owner: Agent["operator"]): Promise<void> {
  for (const currency of [Currency.Token, Currency.Native] as const) {
    const rewards = (await registry.rewardsOf(id, owner.address, currency)) as bigint;
    if (rewards !== 0n) await registry.connect(owner).claimRewards(id, currency, owner.address);
  }
}

/** The administrator's decision waits for its delay on the chain. */
async function doublePrices(world: World): Promise<void> {
  const { manager, oracle, deployer, ethers } = world;
  await manager.grantRole(adminRole, deployer.address, governanceDelay);
  const doubled = { ...tokenPrices, unitPrice: 2n * tokenPrices.unitPrice };
  const call = oracle.interface.encodeFunctionData("setPrices", [Currency.Token, doubled]);
  await manager.schedule(oracle.target, call, 0);
  await ethers.provider.send("evm_increaseTime", [governanceDelay]);
  await manager.execute(oracle.target, call);
}

/** All stake is unbonded and withdrawn, every credit and subscription emptied; only the treasury keeps what it is owed. */
async function leave(economy: Economy): Promise<void> {
  const { world } = economy;
  const holders = [...economy.operators, ...economy.delegators];
  for (const { id } of economy.agents) for (const owner of holders) await unbondAll(world, id, owner);
  await world.ethers.provider.send("evm_increaseTime", [unbondingDelay]);
  await world.ethers.provider.send("hardhat_mine", ["0x1"]);
  for (const { id } of economy.agents)
    for (const owner of holders) {
      const { unbonding } = await world.registry.positionOf(id, owner.address);
      if (unbonding !== 0n) await world.registry.connect(owner).withdrawStake(id, owner.address);
    }
  await world.registry.connect(economy.reporter).claim(economy.reporter.address);
  for (const { id } of economy.agents) for (const owner of holders) await claimRewards(world, id, owner);

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
