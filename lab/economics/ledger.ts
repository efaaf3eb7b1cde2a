// Who owns what: tokens and coins of every party, to the unit, so that what one gains others lose or gas burns.
import type { Addressable } from "ethers";

import { Currency } from "../../test/support/contracts/typed-data.ts";
import { subscription, treasury, type World } from "../../test/support/contracts/world.ts";
import { AGENTS, COIN_DOLLARS } from "./assumptions.ts";
import type { StudyChain } from "./chain.ts";

/** Tokens and coins in the smallest unit. */
export interface Holding {
  readonly tokens: bigint;
  readonly coins: bigint;
}

export const dollarsOf = ({ tokens, coins }: Holding): number =>
  Number(tokens) / 1e18 + (Number(coins) / 1e18) * COIN_DOLLARS;

export const gainOf = (before: Holding, after: Holding): number =>
  dollarsOf({ tokens: after.tokens - before.tokens, coins: after.coins - before.coins });

/** What an account owns outside the registry: balances and credits. */
export async function ownedBy({ token, oracle, ethers }: World, address: string | Addressable): Promise<Holding> {
  return {
    tokens: ((await token.balanceOf(address)) as bigint) + ((await oracle.creditOf(address, Currency.Token)) as bigint),
    coins: (await ethers.provider.getBalance(address)) + ((await oracle.creditOf(address, Currency.Native)) as bigint),
  };
}

/** What the asker owns: the deployer's account and its subscription. */
export async function askerOwns(world: World): Promise<Holding> {
  const { tokens, coins } = await ownedBy(world, world.deployer.address);
  const [, , prepaid, prepaidCoins] = (await world.oracle.subscriptionOf(subscription)) as readonly bigint[];
  return { tokens: tokens + (prepaid ?? 0n), coins: coins + (prepaidCoins ?? 0n) };
}

/** What an account earned with an agent and has not claimed. */
export const rewardsOf = async ({ registry }: World, agent: number, account: string): Promise<bigint> =>
  (await registry.rewardsOf(agent, account, Currency.Token)) as bigint;

/** Every party's holding, and what nobody can claim. */
export interface Ledger {
  readonly parties: Readonly<Record<string, Holding>>;
  readonly dust: bigint;
  readonly block: number;
}

/** Reads all holdings. Every request is settled, and nobody but the operators has stake. */
export async function readLedger({ world, relayer, appellant, latecomer }: StudyChain): Promise<Ledger> {
  const { registry, token, deployer, ethers } = world;
  const block = (await ethers.provider.getBlock("latest"))!;
  const parties: Record<string, Holding> = { asker: await askerOwns(world) };
  const accounts = { relayer, appellant, latecomer };
  for (const [name, { address }] of Object.entries(accounts)) parties[name] = await ownedBy(world, address);
  const due = (await registry.owedTo(treasury)) as bigint;
  const ofTreasury = await ownedBy(world, treasury);
  parties["treasury"] = { ...ofTreasury, tokens: ofTreasury.tokens + due };
  parties["proposer"] = await ownedBy(world, block.miner);
  for (let agent = 1; agent <= AGENTS; agent++) {
    const { bonded } = await registry.getAgent(agent);
    const stake = bonded.assets as bigint;
    parties[`agent ${agent}`] = { tokens: stake + (await rewardsOf(world, agent, deployer.address)), coins: 0n };
  }
  const counted = Object.values(parties).reduce((sum, { tokens }) => sum + tokens, 0n);
  return { parties, dust: ((await token.totalSupply()) as bigint) - counted, block: block.number };
}

const ROUNDINGS = BigInt(AGENTS);

/** Errors in words: money that two ledgers of one chain do not account for; empty where both agree. */
export async function faultsBetween({ ethers }: World, before: Ledger, after: Ledger): Promise<readonly string[]> {
  const faults: string[] = [];
  const lost = after.dust - before.dust;
  // What each agent can claim is rounded down, before and after.
  if (lost < -ROUNDINGS || lost > ROUNDINGS) faults.push(`${lost} token units are nobody's`);
  let coins = 0n;
  for (const [name, { coins: owned }] of Object.entries(after.parties)) coins += owned - before.parties[name]!.coins;
  const burnt = await burntIn(ethers.provider, before.block, after.block);
  if (coins !== -burnt) faults.push(`all parties lost ${-coins} coin units, and gas burnt ${burnt}`);
  return faults;
}

async function burntIn(provider: World["ethers"]["provider"], after: number, last: number): Promise<bigint> {
  let burnt = 0n;
  for (let number = after + 1; number <= last; number++) {
    const { gasUsed, baseFeePerGas } = (await provider.getBlock(number))!;
    burnt += gasUsed * (baseFeePerGas ?? 0n);
  }
  return burnt;
}
