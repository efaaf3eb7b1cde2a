// Where every token and coin of the scenario went, read from balances and from the contracts' own events.
import type { LogDescription } from "ethers";

import { LAYOUTS } from "../../agents/core/encoding/layouts.ts";
import { unpackWord } from "../../agents/core/encoding/words.ts";
import { Currency } from "../../test/support/contracts/typed-data.ts";
import { treasury, type World } from "../../test/support/contracts/world.ts";
import { grant, type Economy } from "./economy.ts";

export interface Holder {
  readonly name: string;
  /** Tokens in the end, in the smallest unit. */
  readonly tokens: bigint;
  /** Tokens that it was given in the beginning. */
  readonly given: bigint;
}

export interface Flow {
  readonly name: string;
  readonly tokens: bigint;
  readonly coins: bigint;
}

export interface Audit {
  readonly holders: readonly Holder[];
  readonly minted: bigint;
  readonly flows: readonly Flow[];
  /** Errors in words; empty if every unit is accounted for. */
  readonly faults: readonly string[];
}

type Sums = [tokens: bigint, coins: bigint];

/** Reads the chain from its first block. */
export async function audit(economy: Economy): Promise<Audit> {
  const { world } = economy;
  const faults: string[] = [];
  const expectEqual = (name: string, actual: bigint, expected: bigint): void => {
    if (actual !== expected) faults.push(`${name}: ${actual}, not ${expected}`);
  };
  const holders = await holdersOf(economy);
  const minted = (await world.token.totalSupply()) as bigint;
  expectEqual("tokens of all holders", sum(holders.map(({ tokens }) => tokens)), minted);

  const events = await eventsOf(world);
  const registryHolds = sum([...(await potsOf(economy)), ...(await owed(economy))]);
  expectEqual("the registry's tokens", await balance(world, world.registry.target), registryHolds);
  const left = await leftAtOracle(economy, events);
  expectEqual("the oracle's tokens", await balance(world, world.oracle.target), left[0]);
  expectEqual("the oracle's coins", await world.ethers.provider.getBalance(world.oracle.target), left[1]);
  const flows = flowsOf(events, world.registry.target);
  for (const [index, unit] of (["tokens", "coins"] as const).entries())
    expectEqual(`${unit} in, less ${unit} out`, sum(flows.map((flow) => flow[unit])), left[index]!);
  faults.push(...requestFaults(events), ...(await rewardFaults(economy, events)));
  return { holders, minted, flows, faults };
}

async function holdersOf({ world, ...people }: Economy): Promise<readonly Holder[]> {
  const groups = {
    operators: people.operators,
    delegators: people.delegators,
    askers: people.askers.map(({ signer }) => signer),
    appellants: people.appellants,
    relayers: people.relayers,
    reporter: [people.reporter],
  };
  const holders: Holder[] = [];
  for (const [name, signers] of Object.entries(groups)) {
    const balances = await Promise.all(signers.map(({ address }) => balance(world, address)));
    holders.push({ name, tokens: sum(balances), given: grant * BigInt(signers.length) });
  }
  const given = (await world.token.totalSupply()) as bigint;
  const deployer = given - sum(holders.map((holder) => holder.given));
  holders.push({ name: "deployer", tokens: await balance(world, world.deployer.address), given: deployer });
  // All others have left: what the contracts still hold is the treasury's.
  for (const [name, { target }] of Object.entries({ registry: world.registry, oracle: world.oracle }))
    holders.push({ name: `treasury, in the ${name}`, tokens: await balance(world, target), given: 0n });
  return holders;
}

/** Returns what the registry holds for those with stake. */
async function potsOf({ world, agents }: Economy): Promise<readonly bigint[]> {
  const found = await Promise.all(agents.map(async ({ id }) => world.registry.getAgent(id)));
  return found.flatMap(({ bonded, unbonding }) => [bonded.assets, unbonding.assets] as bigint[]);
}

async function owed({ world, reporter }: Economy): Promise<readonly bigint[]> {
  return Promise.all(
    [treasury, reporter.address].map(async (account) => (await world.registry.owedTo(account)) as bigint),
  );
}

/** Credits and subscriptions: every request is settled. */
async function leftAtOracle(economy: Economy, events: readonly LogDescription[]): Promise<Sums> {
  const { world } = economy;
  const accounts = new Set<string>([treasury, world.deployer.address, world.registry.target]);
  for (const { signer, consumer } of economy.askers) accounts.add(consumer ?? signer.address);
  for (const { address } of [...economy.operators, ...economy.appellants, ...economy.relayers]) accounts.add(address);
  const left: Sums = [0n, 0n];
  for (const account of accounts)
    for (const currency of [Currency.Token, Currency.Native] as const)
      left[currency] += (await world.oracle.creditOf(account, currency)) as bigint;
  for (const { args } of named(events, "SubscriptionCreated")) {
    const [, , tokens, coins] = await world.oracle.subscriptionOf(args["subscriptionId"]);
    left[0] += tokens as bigint;
    left[1] += coins as bigint;
  }
  return left;
}

/** Sums what came to the oracle (above 0) and what left it. */
function flowsOf(events: readonly LogDescription[], registry: string): readonly Flow[] {
  const flow = (name: string, of: readonly (readonly [currency: number, amount: bigint])[]): Flow => {
    const sums: Sums = [0n, 0n];
    for (const [currency, amount] of of) sums[currency as 0 | 1] += amount;
    return { name, tokens: sums[0], coins: sums[1] };
  };
  const amounts = (logs: readonly LogDescription[], sign: bigint) =>
    logs.map(({ args }) => [Number(args["currency"]), sign * (args["amount"] as bigint)] as const);
  const moved = (name: string, sign: bigint) => amounts(named(events, name), sign);
  const withdrawn = (ofRegistry: boolean) =>
    amounts(
      named(events, "Withdrawn").filter(({ args }) => (args["account"] === registry) === ofRegistry),
      -1n,
    );
  const requests = requestsOf(events);
  const bonds = named(events, "RequestReopened").map(
    ({ args }) => [requests.get(args["requestId"] as bigint)!.currency, args["bond"] as bigint] as const,
  );
  const direct = [...requests.values()].filter(({ subscription }) => subscription === 0n);
  return [
    flow("paid into subscriptions", moved("SubscriptionFunded", 1n)),
    flow(
      "fees paid at once",
      direct.map(({ currency, fee }) => [currency, fee]),
    ),
    flow("bonds of appeals", bonds),
    flow("rewards of operators and delegators", withdrawn(true)),
    flow("withdrawn by others credited", withdrawn(false)),
    flow("taken out of subscriptions", moved("SubscriptionWithdrawn", -1n)),
  ];
}

/** RW1: the claims equal what the agents earned, except less than a unit of each account with each agent. */
async function rewardFaults(
  { world, agents, operators, delegators }: Economy,
  events: readonly LogDescription[],
): Promise<readonly string[]> {
  const faults: string[] = [];
  for (const [currency, unit] of (["tokens", "coins"] as const).entries()) {
    const claims = named(events, "RewardsClaimed").filter(({ args }) => Number(args["currency"]) === currency);
    const claimed = sum(claims.map(({ args }) => args["amount"] as bigint));
    const left = earnedIn(currency, events) - claimed;
    const credit = (await world.oracle.creditOf(world.registry.target, currency)) as bigint;
    if (left !== credit) faults.push(`${unit} of the agents: ${left} are not claimed, ${credit} are there`);
    const most = BigInt(agents.length * (operators.length + delegators.length));
    if (left > most) faults.push(`${unit} of the agents: ${left} are left, more than roundings`);
  }
  return faults;
}

/** What settled requests paid all agents. */
function earnedIn(currency: number, events: readonly LogDescription[]): bigint {
  const recorded = named(events, "ServicesRecorded").filter(({ args }) => Number(args["currency"]) === currency);
  return sum(recorded.map(({ args }) => earnedOf(args)));
}

/** What one event of the registry says that seats earned. */
function earnedOf(args: LogDescription["args"]): bigint {
  return sum([...(args["services"] as readonly bigint[])].map((word) => unpackWord(LAYOUTS.service, word).earned));
}

/** SE15 for each request: what came in for it equals what it distributed. */
function requestFaults(events: readonly LogDescription[]): readonly string[] {
  const book = new Map([...requestsOf(events)].map(([id, { fee }]) => [id, fee]));
  const add = (name: string, amountOf: (args: LogDescription["args"]) => bigint): void => {
    for (const { args } of named(events, name)) {
      const id = args["requestId"] as bigint;
      book.set(id, book.get(id)! + amountOf(args));
    }
  };
  add("RequestReopened", (args) => args["bond"] as bigint);
  add("AttemptUnanswered", (args) => -(args["bond"] as bigint));
  add("CallerPaid", (args) => -(args["amount"] as bigint) - (args["rest"] as bigint));
  add("DecisionSettled", (args) => -(args["treasuryPay"] as bigint) - (args["relayerPay"] as bigint));
  add("DecisionSettled", (args) => -(args["rest"] as bigint));
  add("RoundPaid", (args) => -(args["treasuryPay"] as bigint) - (args["relayerPay"] as bigint));
  add("SettlerPaid", (args) => -(args["amount"] as bigint));
  add("AppealResolved", (args) => -(args["amount"] as bigint));
  add("FeeRefunded", (args) => -(args["amount"] as bigint));
  // What the seats earn is in the registry's event, which is the next one after these.
  let settled = 0n;
  for (const { name, args } of events) {
    if (name === "DecisionSettled" || name === "FeeRefunded") settled = args["requestId"] as bigint;
    if (name === "ServicesRecorded") book.set(settled, book.get(settled)! - earnedOf(args));
  }
  return [...book].flatMap(([id, rest]) => (rest === 0n ? [] : [`request ${id}: ${rest} are not accounted for`]));
}

function requestsOf(events: readonly LogDescription[]) {
  return new Map(
    named(events, "Requested").map(({ args }) => {
      const [id, terms] = [args["requestId"] as bigint, args["terms"] as bigint];
      const { fee, currency } = unpackWord(LAYOUTS.requestTerms, terms);
      return [id, { fee, currency: Number(currency), subscription: (id >> 48n) & 0xffff_ffff_ffffn }];
    }),
  );
}

async function eventsOf({ ethers, oracle, settlement, registry }: World): Promise<readonly LogDescription[]> {
  const contracts = [oracle, settlement, registry] as const;
  const logs = await ethers.provider.getLogs({
    address: contracts.map(({ target }) => target),
    fromBlock: 0,
  });
  return logs.flatMap((log) => {
    const parsed = contracts.find(({ target }) => target === log.address)?.interface.parseLog(log) ?? null;
    return parsed === null ? [] : [parsed];
  });
}

const named = (events: readonly LogDescription[], name: string): readonly LogDescription[] =>
  events.filter((event) => event.name === name);

const balance = async ({ token }: World, account: unknown): Promise<bigint> =>
  (await token.balanceOf(account)) as bigint;

const sum = (amounts: readonly bigint[]): bigint => amounts.reduce((total, amount) => total + amount, 0n);
