// Money in is money out, to the smallest unit: what the contracts hold is what they owe.
import { setTimeout as sleep } from "node:timers/promises";
import { createPublicClient, http, parseAbi } from "viem";
import { shareOf, type Address } from "../agents/core/types.ts";
import type { ChaosWorld } from "./world.ts";

const abi = parseAbi([
  "function balanceOf(address account) view returns (uint256)",
  "function creditOf(address account, uint8 currency) view returns (uint256)",
  "function owedTo(address account) view returns (uint256)",
  "function rewardsOf(uint32 agentId, address account, uint8 currency) view returns (uint256)",
  "event FeeRefunded(uint256 indexed requestId, address indexed consumer, uint256 amount)",
  "event DecisionSettled(uint256 indexed requestId, uint256 pay, uint256 treasuryPay, uint256 relayerPay, uint256 rest)",
  "event RequestReopened(uint256 indexed requestId, uint32 attempt, uint256 round, uint64 seedBlock, address indexed appellant, uint256 bond)",
  "event AttemptUnanswered(uint256 indexed requestId, uint32 attempt, address indexed appellant, uint256 bond)",
]);
const TOKEN = 0;

/** A difference is looked at so often, a second apart: a real one stays. While anvil mines, its newest block has the state of the next one. */
const LOOKS = 3;

/**
 * Returns the differences in words. `sharesOf`: the shares of the decisions to look at, by request. Every request of the world is final or open, and pays its own way: a request that is
 * settled gave out its fee and the bond of its appeal, and the contracts hold those of the others, all credits, rewards and stakes.
 */
export async function checkMoney(
  world: ChaosWorld,
  sharesOf: ReadonlyMap<bigint, readonly number[]>,
  signal: AbortSignal,
): Promise<readonly string[]> {
  for (let look = 1; ; look++) {
    const differences = await differencesNow(world, sharesOf, signal);
    if (differences.length === 0 || look === LOOKS) return differences;
    await sleep(1_000, undefined, { signal });
  }
}

async function differencesNow(
  world: ChaosWorld,
  sharesOf: ReadonlyMap<bigint, readonly number[]>,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { deployment, asker, agents, chain, fee } = world;
  const { token, oracle, registry } = deployment;
  const client = createPublicClient({ transport: http(chain.rpcUrl) });
  // All but the stakes at one block, since agents may still settle.
  const blockNumber = await client.getBlockNumber();
  const balanceOf = (account: Address): Promise<bigint> =>
    client.readContract({ address: token, abi, functionName: "balanceOf", args: [account], blockNumber });
  const creditOf = (account: Address): Promise<bigint> =>
    client.readContract({ address: oracle, abi, functionName: "creditOf", args: [account, TOKEN], blockNumber });
  const rewardsOf = (agentId: number, account: Address): Promise<bigint> =>
    client.readContract({
      address: registry,
      abi,
      functionName: "rewardsOf",
      args: [agentId, account, TOKEN],
      blockNumber,
    });

  const owedTo = (account: Address): Promise<bigint> =>
    client.readContract({ address: registry, abi, functionName: "owedTo", args: [account], blockNumber });

  signal.throwIfAborted();
  const range = { address: oracle, abi, fromBlock: BigInt(deployment.deploymentBlock), toBlock: blockNumber } as const;
  const settled = await client.getContractEvents({ ...range, eventName: "DecisionSettled" });
  // Who was refunded, or settled by `settle` after a hung or appealed round: none of them is among those that their commit settled.
  const others = await client.getContractEvents({ ...range, eventName: "FeeRefunded" });
  const differences: string[] = [];
  const equal = (what: string, actual: bigint, expected: bigint): void => {
    if (actual !== expected) differences.push(`${what}: ${actual}, not ${expected}`);
  };
  for (const { args } of settled) {
    const { requestId = 0n, pay = 0n, treasuryPay = 0n, relayerPay = 0n, rest = 0n } = args;
    const shares = sharesOf.get(requestId);
    if (shares !== undefined)
      equal(`request ${requestId} gave out`, earnedBy(shares, pay) + treasuryPay + relayerPay + rest, fee);
  }
  const operators = agents.map(({ keys }) => keys.address);
  const credits = await Promise.all([asker, ...operators].map(creditOf));
  const rewards = await Promise.all(agents.map(({ agentId, keys }) => rewardsOf(agentId, keys.address)));
  const reopened = await client.getContractEvents({ ...range, eventName: "RequestReopened" });
  const unanswered = await client.getContractEvents({ ...range, eventName: "AttemptUnanswered" });
  const over = new Set([...settled, ...others].map(({ args }) => args.requestId));
  // An appeal that nobody answered gave its bond back.
  for (const { args } of unanswered) if ((args.bond ?? 0n) > 0n) over.add(args.requestId);
  const bonds = reopened.flatMap(({ args }) => (over.has(args.requestId) ? [] : [args.bond ?? 0n]));
  const open = BigInt(world.asked() - settled.length - others.length);
  // What was slashed belongs to the treasury, who is the asker here, and to who reported it.
  const slashed = await Promise.all([asker, ...operators].map(owedTo));
  const owed = sum([...credits, ...rewards, ...slashed, ...bonds, ...(await stakesOf(world, signal))]) + open * fee;
  const held = (await balanceOf(oracle)) + (await balanceOf(registry));
  // Rewards are rounded down, once for each seat that was paid; a committee has no more than all agents.
  const rounding = BigInt((settled.length + others.length + reopened.length) * agents.length);
  if (held < owed || held > owed + rounding)
    differences.push(`the contracts hold ${held}, and owe ${owed} (roundings explain ${rounding} more)`);
  return differences;
}

/** The stakes of the world's agents. */
export async function stakesOf({ reader, agents }: ChaosWorld, signal: AbortSignal): Promise<readonly bigint[]> {
  const records = await reader.agents(signal);
  return agents.map(({ agentId }) => records.find((record) => record.agentId === agentId)?.stake ?? 0n);
}

/** What the seats get of their pay: each by its share, rounded down; an absent seat has none. */
export function earnedBy(shares: readonly number[], pay: bigint): bigint {
  const parts = shares.map((_, seat) => BigInt(shareOf(shares, seat)));
  const total = sum(parts);
  return total === 0n ? 0n : sum(parts.map((part) => (pay * part) / total));
}

function sum(amounts: readonly bigint[]): bigint {
  return amounts.reduce((total, amount) => total + amount, 0n);
}
