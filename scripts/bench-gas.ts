// Gas figures of the production build on an in-process chain, in the steady state: balances, counters and reputations
// are non-zero before anything is measured.
import { dirname } from "node:path";
import { parseArgs } from "node:util";

import type { HardhatEthers } from "@nomicfoundation/hardhat-ethers/types";
import { createHardhatRuntimeEnvironment, importUserConfig, resolveHardhatConfigPath } from "hardhat/hre";

import { measureEvidence, type EvidenceFigures } from "./lib/bench/evidence.ts";
import { ask, commit, commitArgs, decisionFor, draw, quorum, recordOf, type Drawn } from "./lib/course.ts";
import { Currency } from "./lib/typed-data.ts";
import { deployWorld, registerAgents, subscription, type World } from "./lib/world.ts";

const help = `Usage: npm run bench:gas -- [--json] [--agents 10,1000] [--help]

Measures the gas (receipts' gasUsed, production build, in-process Osaka chain) of request, draw, commit with callback, alone
and in a batch, of settle and of evidence, and compares with the goal, a naive prototype, Chainlink OCR2 and Keystone. Requests
are paid from a subscription, or at once in tokens or coins. The consumer writes one new slot.

  --json           one JSON object on the last line instead of tables
  --agents LIST    registry sizes for the draw, ascending (default 10,1000)

Example: npm run bench:gas -- --json | tail -n 1`;

const root = dirname(import.meta.dirname);
const sizes = [4, 7, 13, 31] as const;
const samples = 8;
const batch = { n: 7, items: 5 } as const;
/** The goals, and what the designers measured on the same kind of chain: a naive prototype of this design, and peers. */
const anchors = {
  request: { prototype: 66_751, goal: 65_000 },
  direct: { goal: 95_000 },
  evidence: { goal: 150_000 },
  commit: {
    4: { prototype: 92_251, goal: 78_000, ocr2: 94_789, keystone: 94_083 },
    7: { prototype: 102_860, goal: 88_000, ocr2: 103_973, keystone: 102_062 },
    13: { prototype: 124_078, goal: 108_000, ocr2: 122_320, keystone: 118_018 },
    31: { prototype: 187_696, goal: 170_000, ocr2: 177_386, keystone: 165_852 },
  },
  batchItem: { goal: 62_000 },
} as const;

interface CommitFigure {
  readonly n: number;
  readonly signatures: number;
  readonly commit: number;
  readonly settle: number;
}

/** By what pays. */
interface RequestFigures {
  readonly subscription: number;
  readonly token: number;
  readonly native: number;
}

interface DrawFigure {
  readonly n: number;
  readonly agents: number;
  readonly mean: number;
}

const { values } = parseArgs({
  options: { json: { type: "boolean" }, help: { type: "boolean" }, agents: { type: "string", default: "10,1000" } },
});
if (values.help === true) console.log(help);
else await main();

async function main(): Promise<void> {
  const world = await deployWorld(await startChain());
  const registrySizes = values.agents.split(",").map(Number);
  if (registrySizes.some((size) => !Number.isSafeInteger(size) || size < 4)) {
    throw new Error(`Give --agents as whole numbers of at least 4, not "${values.agents}"`);
  }
  const draws: DrawFigure[] = [];
  for (const agents of registrySizes) {
    await registerAgents(world, agents - Number(await world.registry.agentCount()));
    for (const n of sizes) if (n <= agents) draws.push({ n, agents, mean: await meanDraw(world, n) });
  }
  const request = await measureRequest(world);
  const commits: CommitFigure[] = [];
  for (const n of sizes) commits.push(await measureCommit(world, n));
  report(request, draws, commits, await measureBatch(world), await measureEvidence(world));
}

/** Its own build folder, so that the development build stays as it is. */
async function startChain(): Promise<HardhatEthers> {
  const userConfig = await importUserConfig(await resolveHardhatConfigPath());
  const config = {
    ...userConfig,
    paths: { ...userConfig.paths, artifacts: "cache/bench-gas/artifacts", cache: "cache/bench-gas/cache" },
  };
  const runtime = await createHardhatRuntimeEnvironment(config, { buildProfile: "production" }, root);
  await runtime.tasks.getTask("build").run({ noTests: true, quiet: true });
  // The plugin adds it to the connection.
  const connection: object = await runtime.network.create();
  return (connection as { ethers: HardhatEthers }).ethers;
}

async function measureRequest(world: World): Promise<RequestFigures> {
  const measure = async (subscriptionId: bigint, currency: number): Promise<number> => {
    const overrides = subscriptionId === 0n && currency === Currency.Native ? { value: 10n ** 18n } : {};
    const once = () =>
      ask(world, { currency }, "q".repeat(200), (terms, question) =>
        world.oracle.request(subscriptionId, terms, question, overrides),
      );
    await once();
    return Number((await once()).receipt.gasUsed);
  };
  return {
    subscription: await measure(subscription, Currency.Token),
    token: await measure(0n, Currency.Token),
    native: await measure(0n, Currency.Native),
  };
}

async function meanDraw(world: World, n: number): Promise<number> {
  let total = 0n;
  for (let sample = 0; sample < samples; sample++) {
    const drawn = await draw(world, await ask(world, { committeeSize: n }));
    total += drawn.receipt.gasUsed;
  }
  return Math.round(Number(total) / samples);
}

/** The second request of one consumer: the operators' credits exist by then. */
async function measureCommit(world: World, n: number): Promise<CommitFigure> {
  const drawOne = await drawsForNewConsumer(world, n);
  let figure: CommitFigure | undefined;
  for (let round = 0; round < 2; round++) {
    const committed = await commit(world, await drawOne());
    const paid = await world.settlement.settle(...recordOf(committed));
    const settle = Number((await paid.wait()).gasUsed);
    figure = { n, signatures: quorum(n), commit: Number(committed.receipt.gasUsed), settle };
  }
  return figure!;
}

/** Gas per request when several of one consumer are committed in one transaction. */
async function measureBatch(world: World): Promise<number> {
  const drawOne = await drawsForNewConsumer(world, batch.n);
  await commit(world, await drawOne());
  const calls: string[] = [];
  for (let item = 0; item < batch.items; item++) {
    const drawn = await drawOne();
    const args = commitArgs(world, drawn, decisionFor(drawn));
    calls.push(world.oracle.interface.encodeFunctionData("commit", args));
  }
  const sent = await world.oracle.tryMulticall(calls, { gasLimit: 1_000_000n * BigInt(batch.items) });
  const receipt = await sent.wait();
  const events = receipt.logs.length;
  if (events !== batch.items)
    throw new Error(`${events} events are not the ${batch.items} of a batch that went through`);
  return Math.round(Number(receipt.gasUsed) / batch.items);
}

/** Asks and draws for a consumer of its own. */
async function drawsForNewConsumer(world: World, n: number): Promise<() => Promise<Drawn>> {
  const consumer = await world.ethers.deployContract("SlotConsumer", [world.oracle.target]);
  await world.oracle.setConsumer(subscription, consumer.target, true);
  const askBy = consumer.getFunction("ask");
  const terms = { committeeSize: n, callbackGasLimit: 100_000 };
  const by = (packed: string, question: Uint8Array) => askBy.send(subscription, packed, question);
  return async () => draw(world, await ask(world, terms, "q".repeat(200), by));
}

function report(
  request: RequestFigures,
  draws: readonly DrawFigure[],
  commits: readonly CommitFigure[],
  perBatchItem: number,
  evidence: EvidenceFigures,
): void {
  if (values.json === true) {
    const batched = { ...batch, perItem: perBatchItem };
    const figures = {
      request,
      draws,
      commits,
      batch: batched,
      evidence,
      anchors,
      ratios: ratios(request, commits, perBatchItem),
    };
    console.log(JSON.stringify(figures));
    return;
  }
  const ratio = (value: number, anchor: number): string => `${((100 * value) / anchor).toFixed(1)} %`;
  console.log(
    `request, 200-byte question, from a subscription: ${request.subscription} gas (goal ${ratio(request.subscription, anchors.request.goal)}, prototype ${ratio(request.subscription, anchors.request.prototype)})`,
  );
  console.log(
    `paid at once in tokens: ${request.token} gas (goal ${ratio(request.token, anchors.direct.goal)}), in coins: ${request.native} gas`,
  );
  console.log("\ncommit + callback that writes one new slot");
  console.table(
    commits.map(({ n, signatures, commit: gas, settle }) => {
      const anchor = anchors.commit[n as (typeof sizes)[number]];
      return {
        n,
        signatures,
        commit: gas,
        "of prototype": ratio(gas, anchor.prototype),
        "of goal": ratio(gas, anchor.goal),
        "of OCR2": ratio(gas, anchor.ocr2),
        "of Keystone": ratio(gas, anchor.keystone),
        settle,
      };
    }),
  );
  console.log(
    `\nin a batch of ${batch.items} at n = ${batch.n}: ${perBatchItem} gas per request (goal ${ratio(perBatchItem, anchors.batchItem.goal)})`,
  );
  console.log(`\ndraw, mean of ${samples}, agents at full stake`);
  console.table(draws);
  const worst = Math.max(evidence.messages, evidence.decisions, evidence.deactivating);
  console.log(`\nevidence, at most ${worst} gas (goal ${ratio(worst, anchors.evidence.goal)})`);
  console.table([evidence]);
}

/** Ours divided by the anchor: below 1 is cheaper. */
function ratios(request: RequestFigures, commits: readonly CommitFigure[], perBatchItem: number) {
  const divide = (value: number, by: number): number => Number((value / by).toFixed(4));
  return {
    requestToPrototype: divide(request.subscription, anchors.request.prototype),
    requestToGoal: divide(request.subscription, anchors.request.goal),
    directToGoal: divide(request.token, anchors.direct.goal),
    batchItemToGoal: divide(perBatchItem, anchors.batchItem.goal),
    commits: commits.map(({ n, commit: gas }) => {
      const anchor = anchors.commit[n as (typeof sizes)[number]];
      return {
        n,
        toPrototype: divide(gas, anchor.prototype),
        toGoal: divide(gas, anchor.goal),
        toOcr2: divide(gas, anchor.ocr2),
        toKeystone: divide(gas, anchor.keystone),
      };
    }),
  };
}
