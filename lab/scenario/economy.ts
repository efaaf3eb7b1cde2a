// Who takes part in the scenario, and what each owns at first.
import type { HardhatEthers, HardhatEthersSigner } from "@nomicfoundation/hardhat-ethers/types";

import type { Random } from "../../sim/random.ts";
import { Currency, testKey } from "../../test/support/contracts/typed-data.ts";
import {
  anyAmount,
  deployWorld,
  findEvent,
  minStake,
  nextEpoch,
  registration,
  type PriceTerms,
  type World,
} from "../../test/support/contracts/world.ts";

/** An account that pays for requests. */
export interface Asker {
  readonly signer: HardhatEthersSigner;
  readonly currency: number;
  /** 0 = pays each request at once. */
  readonly subscriptionId: bigint;
  /** Consumer contract that asks in its name and is called back; null = it asks itself. */
  readonly consumer: string | null;
}

export interface Agent {
  readonly id: bigint;
  readonly operator: HardhatEthersSigner;
  /** Label of its hot key, `testKey(label)`. */
  readonly label: string;
}

export interface Economy {
  readonly world: World;
  readonly operators: readonly HardhatEthersSigner[];
  readonly delegators: readonly HardhatEthersSigner[];
  readonly askers: readonly Asker[];
  readonly appellants: readonly HardhatEthersSigner[];
  readonly relayers: readonly HardhatEthersSigner[];
  readonly reporter: HardhatEthersSigner;
  readonly agents: readonly Agent[];
  /** Take part in a committee only if it has no quorum without them. */
  readonly sluggish: readonly Agent[];
}

const gwei = 10n ** 9n;
/** A coin is worth 2000 tokens. */
export const tokenPrices: PriceTerms = {
  unitPrice: 10n ** 16n,
  gasRate: 2000n * 10n ** 18n,
  gasPriceCap: 20n * gwei,
  treasuryPpm: 50_000n,
};
export const coinPrices: PriceTerms = { ...tokenPrices, unitPrice: 10n ** 13n, gasRate: 10n ** 18n };

/** A secured request with two appeals takes 32 agents (SE2). Every fourth operator has two agents. */
export const LEAST_OPERATORS = 26;
const sizes = { delegators: 25, askers: 6, appellants: 4, relayers: 3 } as const;
/** Tokens that every account starts with. */
export const grant = 10n ** 24n;
const deposit = 10n ** 22n;
const coins = 50n * 10n ** 18n;

/** Returns the number of accounts that `openEconomy` needs, the deployer included. */
export const accountsFor = (operators: number): number =>
  1 + operators + sizes.delegators + sizes.askers + sizes.appellants + sizes.relayers + 1;

/** Deploys the system and opens every account: agents, delegations, subscriptions. */
export async function openEconomy(ethers: HardhatEthers, operatorCount: number, random: Random): Promise<Economy> {
  const world = await deployWorld(ethers, { token: tokenPrices, native: coinPrices });
  const signers = (await ethers.getSigners()).slice(1);
  const take = (count: number): readonly HardhatEthersSigner[] => signers.splice(0, count);
  const operators = take(operatorCount);
  const delegators = take(sizes.delegators);
  const payers = take(sizes.askers);
  const [appellants, relayers] = [take(sizes.appellants), take(sizes.relayers)];
  const reporter = take(1)[0]!;
  for (const { address } of [...operators, ...delegators, ...payers, ...appellants, ...relayers, reporter])
    await world.token.mint(address, grant);
  const agents = await registerAll(world, operators, random);
  for (const delegator of delegators) await delegate(world, delegator, agents, random);
  const askers: Asker[] = [];
  for (const [index, signer] of payers.entries()) askers.push(await openAsker(world, signer, index));
  for (const { address } of appellants) await approve(world, address, world.oracle.target);
  await nextEpoch(world);
  return {
    world,
    operators,
    delegators,
    askers,
    appellants,
    relayers,
    reporter,
    agents,
    sluggish: agents.filter((_, index) => index % 3 === 0),
  };
}

/** Every fourth operator has two agents. */
async function registerAll(
  world: World,
  operators: readonly HardhatEthersSigner[],
  random: Random,
): Promise<readonly Agent[]> {
  const agents: Agent[] = [];
  for (const [index, operator] of operators.entries()) {
    await approve(world, operator.address, world.registry.target);
    for (let nth = 0; nth < (index % 4 === 0 ? 2 : 1); nth++) {
      const label = `operator ${index}, agent ${nth}`;
      const stake = minStake * BigInt(random.between(2, 8)) + BigInt(random.below(1_000_000));
      const registry = world.registry.connect(operator);
      const commission = BigInt(random.between(0, 400_000));
      await registry.register(registration(world, operator.address, testKey(label), stake, commission));
      agents.push({ id: (await world.registry.agentCount()) as bigint, operator, label });
    }
  }
  return agents;
}

async function delegate(
  world: World,
  delegator: HardhatEthersSigner,
  agents: readonly Agent[],
  random: Random,
): Promise<void> {
  await approve(world, delegator.address, world.registry.target);
  for (const { id } of random.shuffled(agents).slice(0, random.between(1, 3)))
    await world.registry.connect(delegator).bond(id, minStake + BigInt(random.below(1_000_000)));
}

/**
 * Opens an asker. Two pay at once, two by subscription, two by a consumer contract with a subscription; of each pair
 * one pays in tokens, one in coins.
 */
async function openAsker(world: World, signer: HardhatEthersSigner, index: number): Promise<Asker> {
  const currency = index % 2 === 0 ? Currency.Token : Currency.Native;
  await approve(world, signer.address, world.oracle.target);
  if (index < 2) return { signer, currency, subscriptionId: 0n, consumer: null };
  const oracle = world.oracle.connect(signer);
  const created = (await (await oracle.createSubscription()).wait())!;
  const subscriptionId = findEvent(world.oracle, created, "SubscriptionCreated").args["subscriptionId"] as bigint;
  if (currency === Currency.Token) await oracle.fund(subscriptionId, deposit);
  else await oracle.fundNative(subscriptionId, { value: coins });
  const contract = index < 4 ? null : await world.ethers.deployContract("SlotConsumer", [world.oracle.target]);
  const consumer = contract === null ? null : await contract.getAddress();
  await oracle.setConsumer(subscriptionId, consumer ?? signer.address, grant, anyAmount);
  return { signer, currency, subscriptionId, consumer };
}

async function approve(world: World, owner: string, spender: unknown): Promise<void> {
  const signer = await world.ethers.getSigner(owner);
  await world.token.connect(signer).approve(spender, grant);
}
