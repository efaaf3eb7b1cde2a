// What a decision costs with everything: each transaction that the chain holds from the request to the pay of all seats.
import type { ContractTransactionReceipt, ContractTransactionResponse } from "ethers";

import {
  ask,
  commitArgs,
  committedBy,
  decisionFor,
  draw,
  latestOf,
  passDeadline,
  priceGas,
  recordOf,
  type Asked,
  type Committed,
  type Drawn,
} from "../../../test/support/contracts/course.ts";
import { Currency, type Terms } from "../../../test/support/contracts/typed-data.ts";
import {
  anyAmount,
  epochBlocks,
  findEvents,
  mineTo,
  subscription,
  type Oracle,
  type Settlement,
  type World,
} from "../../../test/support/contracts/world.ts";

const sizes = [4, 7, 13, 31] as const;
/** Number of decisions of one transaction. */
export const BATCH = 20;
const gwei = 10n ** 9n;
/** The first block of an epoch whose questions have the seed block of the next epoch: DRAW_BLOCKS + SEED_DELAY before its end. */
const SHARED_FROM = epochBlocks - 24n;

/** Gas of one decision by what its transactions do. */
export interface Parts {
  readonly request: number;
  /** Transactions before the commit that ask for nothing: a draw, if somebody had to send one. */
  readonly draw: number;
  /** A commit of a decision that is final settles it, too. */
  readonly commit: number;
  readonly finalize: number;
  readonly settle: number;
}

export interface AllInFigure {
  readonly registry: string;
  readonly n: number;
  /** How many appeals the request allows. Nobody appeals. */
  readonly appeals: 0 | 1;
  /** Number of decisions in each transaction after the request. */
  readonly batch: number;
  /** How many of them bring their seed block's header: all, as for seed blocks of their own, or the first of a shared one. */
  readonly headers: number;
  /** All parts together, for one decision. */
  readonly gas: number;
  readonly parts: Parts;
}

/** Measures decisions of one consumer at prices above 0: the treasury and the relayer are paid, too. */
export async function measureAllIn(world: World, registry: string): Promise<readonly AllInFigure[]> {
  await setAllInPrices(world);
  const figures: AllInFigure[] = [];
  for (const appeals of [0, 1] as const) {
    for (const n of sizes) {
      const askOne = await askerOf(world, n, { appeals });
      // The first decision of a consumer writes slots that later ones change.
      await decideAll(world, askOne, 1, 1);
      // Where somebody else settles, the headers are a part of the commit alone, which the figures without appeals tell.
      const shapes = [[1, 1], ...(appeals === 0 ? [[BATCH, BATCH]] : []), [BATCH, 1]] as const;
      for (const [batch, headers] of shapes) {
        const parts = await decideAll(world, askOne, batch, headers);
        const gas = Object.values(parts).reduce((sum, part) => sum + part, 0);
        figures.push({ registry, n, appeals, batch, headers, gas, parts });
      }
    }
  }
  return figures;
}

export async function setAllInPrices({ oracle }: World): Promise<void> {
  await oracle.setPrices(Currency.Token, {
    unitPrice: 10n ** 12n,
    gasRate: 10n ** 18n,
    gasPriceCap: gwei,
    treasuryPpm: 50_000n,
  });
}

/** Brings questions to their end, and returns what one of them took of all transactions meanwhile. */
export async function decideAll(
  world: World,
  askOne: () => Promise<Asked>,
  batch: number,
  headers: number,
): Promise<Parts> {
  const { oracle, settlement } = world;
  const before = await world.ethers.provider.getBlockNumber();
  const { committed } = await commitAll(world, askOne, batch, headers);
  const [first] = committed;
  if (first !== undefined && !(await statusOf(world, first)).settled) {
    await passDeadline(world, first.rounds[0]!.round);
    await sendAll(world, oracle, "finalize", committed.map(latestOf));
    await sendAll(world, settlement, "settle", committed.map(recordOf));
  }
  for (const one of committed)
    if (!(await statusOf(world, one)).settled) throw new Error(`Request ${one.request.id} is not settled`);
  return partsOf(world, before + 1, batch);
}

const statusOf = async ({ oracle }: World, { request }: Committed): Promise<{ readonly settled: boolean }> =>
  oracle.statusOf(request.id) as Promise<{ readonly settled: boolean }>;

/** What one transaction committed, with the requests as they were asked and drawn. */
export interface CommittedBatch {
  readonly asked: readonly Asked[];
  readonly drawn: readonly Drawn[];
  readonly committed: readonly Committed[];
  readonly receipt: ContractTransactionReceipt;
}

/** Asks, and commits all decisions in one transaction whose first calls bring a header. The other calls share the first one's. */
export async function commitAll(
  world: World,
  askOne: () => Promise<Asked>,
  batch: number,
  headers: number,
): Promise<CommittedBatch> {
  await waitForOneSeedBlock(world, batch);
  const asked: Asked[] = [];
  for (let item = 0; item < batch; item++) asked.push(await askOne());
  const seedBlocks = new Set(asked.map(({ seedBlock }) => seedBlock));
  if (seedBlocks.size !== 1) throw new Error(`${batch} questions have ${seedBlocks.size} seed blocks instead of one`);
  const drawn: Drawn[] = [];
  for (const one of asked) drawn.push(await draw(world, one));
  const calls = drawn.map((one, index) =>
    commitArgs(world, index < headers ? one : { ...one, header: "0x" }, decisionFor(one)),
  );
  const receipt = await sendAll(world, world.oracle, "commit", calls);
  const committed = drawn.map((one) => committedBy(world, one, decisionFor(one), receipt));
  return { asked, drawn, committed, receipt };
}

/** Mines, unless the next questions, one a block, have one seed block: those of the last blocks of an epoch do (SE3). */
async function waitForOneSeedBlock(world: World, questions: number): Promise<void> {
  const next = BigInt(await world.ethers.provider.getBlockNumber()) + 1n;
  const offset = next % epochBlocks;
  if (questions === 1 || (offset >= SHARED_FROM && offset + BigInt(questions) <= epochBlocks)) return;
  await mineTo(world, next - offset + (offset < SHARED_FROM ? 0n : epochBlocks) + SHARED_FROM - 1n);
}

/** Sends one call by itself, and several in one transaction. */
async function sendAll(
  world: World,
  contract: Oracle | Settlement,
  method: string,
  calls: readonly (readonly unknown[])[],
): Promise<ContractTransactionReceipt> {
  const transaction = await priceGas(world, gwei);
  const [alone] = calls;
  const encoded = calls.map((args) => contract.interface.encodeFunctionData(method, args));
  const sent: ContractTransactionResponse =
    alone !== undefined && calls.length === 1
      ? await contract.getFunction(method).send(...alone, transaction)
      : await contract.tryMulticall(encoded, { ...transaction, gasLimit: 16_000_000n });
  return (await sent.wait())!;
}

/**
 * Books each transaction of the blocks from `first` on by the event that it brings, and one without such an event by its place:
 * before the commits it is a draw, after them a part of the settlement.
 */
async function partsOf(world: World, first: number, batch: number): Promise<Parts> {
  const total = { request: 0n, draw: 0n, commit: 0n, finalize: 0n, settle: 0n };
  let isCommitted = false;
  const { provider } = world.ethers;
  const last = await provider.getBlockNumber();
  for (let number = first; number <= last; number++) {
    for (const hash of (await provider.getBlock(number))!.transactions) {
      const receipt = (await provider.getTransactionReceipt(hash)) as ContractTransactionReceipt;
      const has = (event: string): boolean => findEvents(world.oracle, receipt, event).length > 0;
      const event = (["Requested", "DecisionCommitted", "DecisionFinalized"] as const).find(has);
      isCommitted ||= event === "DecisionCommitted";
      const part = event === undefined ? (isCommitted ? "settle" : "draw") : partOfEvent[event];
      total[part] += receipt.gasUsed;
    }
  }
  const each = (gas: bigint): number => Math.round(Number(gas) / batch);
  return {
    request: each(total.request),
    draw: each(total.draw),
    commit: each(total.commit),
    finalize: each(total.finalize),
    settle: each(total.settle),
  };
}

const partOfEvent = { Requested: "request", DecisionCommitted: "commit", DecisionFinalized: "finalize" } as const;

/** Returns a function that asks for a consumer of its own. */
export async function askerOf(world: World, n: number, overrides: Partial<Terms> = {}): Promise<() => Promise<Asked>> {
  const consumer = await world.ethers.deployContract("SlotConsumer", [world.oracle.target]);
  await world.oracle.setConsumer(subscription, consumer.target, anyAmount, anyAmount);
  const askBy = consumer.getFunction("ask");
  const terms = { committeeSize: n, callbackGasLimit: 100_000, ...overrides };
  const by = (packed: string, question: Uint8Array) => askBy.send(subscription, packed, question);
  return () => ask(world, terms, "q".repeat(200), by);
}
