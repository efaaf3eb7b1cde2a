// What a decision costs with everything: request, commit with a callback that writes a new slot, and the pay of all seats.
import { commit, commitArgs, decisionFor, draw, ask, type Drawn } from "../../../test/support/contracts/course.ts";
import { Currency } from "../../../test/support/contracts/typed-data.ts";
import { anyAmount, findEvents, subscription, type World } from "../../../test/support/contracts/world.ts";

const sizes = [4, 7, 13, 31] as const;
const batch = 20;
const gwei = 10n ** 9n;

export interface AllInFigure {
  readonly registry: string;
  readonly n: number;
  /** Number of commits in the transaction. */
  readonly batch: number;
  /** How many of them bring their seed block's header: all, as for seed blocks of their own, or the first of a shared one. */
  readonly headers: number;
  /** All parts together, for one decision. */
  readonly gas: number;
  /** Nobody sends a draw. The commit settles, so that there is no settlement of its own. */
  readonly parts: { readonly request: number; readonly draw: 0; readonly commit: number; readonly settle: 0 };
}

/** Measures decisions of one consumer at prices above 0: the treasury and the relayer are paid, too. */
export async function measureAllIn(world: World, registry: string): Promise<readonly AllInFigure[]> {
  await world.oracle.setPrices(Currency.Token, {
    unitPrice: 10n ** 12n,
    gasRate: 10n ** 18n,
    gasPriceCap: gwei,
    treasuryPpm: 50_000n,
  });
  const figures: AllInFigure[] = [];
  for (const n of sizes) {
    const askOne = await askerOf(world, n);
    // The first decision of a consumer writes slots that later ones change.
    await commit(world, await draw(world, await askOne()), undefined, { gasPrice: gwei });
    const asked = await askOne();
    const request = Number(asked.receipt.gasUsed);
    const { receipt } = await commit(world, await draw(world, asked), undefined, { gasPrice: gwei });
    const figure = (commits: number, headers: number, gasUsed: bigint): AllInFigure => {
      const each = Math.round(Number(gasUsed) / commits);
      const parts = { request, draw: 0, commit: each, settle: 0 } as const;
      return { registry, n, batch: commits, headers, gas: request + each, parts };
    };
    figures.push(figure(1, 1, receipt.gasUsed));
    for (const headers of [batch, 1]) figures.push(figure(batch, headers, await commitBatch(world, askOne, headers)));
  }
  return figures;
}

/** Commits a batch whose first calls bring a header, and returns the gas that it used. */
async function commitBatch(world: World, askOne: () => ReturnType<typeof ask>, headers: number): Promise<bigint> {
  const asked = [];
  // A seed block that all share: the questions are asked late in an epoch.
  for (let item = 0; item < batch; item++) asked.push(await askOne());
  const drawn: Drawn[] = [];
  for (const one of asked) drawn.push(await draw(world, one));
  const shared = new Set<bigint>();
  const calls = drawn.map((one, index) => {
    const isProven = index >= headers && shared.has(one.seedBlock);
    shared.add(one.seedBlock);
    const args = commitArgs(world, isProven ? { ...one, header: "0x" } : one, decisionFor(one));
    return world.oracle.interface.encodeFunctionData("commit", args);
  });
  const sent = await world.oracle.tryMulticall(calls, { gasLimit: 16_000_000n, gasPrice: gwei });
  const receipt = (await sent.wait())!;
  const settled = findEvents(world.oracle, receipt, "DecisionSettled").length;
  if (settled !== batch) throw new Error(`${settled} of ${batch} decisions were settled`);
  return receipt.gasUsed as bigint;
}

/** Returns a function that asks for a consumer of its own. */
export async function askerOf(world: World, n: number): Promise<() => ReturnType<typeof ask>> {
  const consumer = await world.ethers.deployContract("SlotConsumer", [world.oracle.target]);
  await world.oracle.setConsumer(subscription, consumer.target, anyAmount, anyAmount);
  const askBy = consumer.getFunction("ask");
  const terms = { committeeSize: n, callbackGasLimit: 100_000 };
  const by = (packed: string, question: Uint8Array) => askBy.send(subscription, packed, question);
  return () => ask(world, terms, "q".repeat(200), by);
}
