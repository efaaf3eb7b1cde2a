// Gas figures of the production build on an in-process chain, in the steady state: balances, counters and reputations
// are non-zero before anything is measured.
import { dirname } from "node:path";
import { parseArgs } from "node:util";

import type { HardhatEthers } from "@nomicfoundation/hardhat-ethers/types";
import { createHardhatRuntimeEnvironment, importUserConfig, resolveHardhatConfigPath } from "hardhat/hre";

import { ask, commit, decisionFor, deployWorld, draw, quorum, registerAgents } from "./lib/world.ts";
import type { World } from "./lib/world.ts";

const help = `Usage: npm run bench:gas -- [--json] [--agents 10,1000] [--help]

Measures the gas (receipts' gasUsed, production build, in-process Osaka chain) of request, draw, commit with callback, and
creditPay, and compares with a naive prototype, a later goal, Chainlink OCR2 and Keystone. The consumer writes one new slot.

  --json           one JSON object on the last line instead of tables
  --agents LIST    registry sizes for the draw, ascending (default 10,1000)

Example: npm run bench:gas -- --json | tail -n 1`;

const root = dirname(import.meta.dirname);
const sizes = [4, 7, 13, 31] as const;
const samples = 8;
/** Measured on the same kind of chain by the designers: a naive prototype of this design, and what a later issue aims at. */
const anchors = {
  request: { prototype: 66_751, goal: 65_000 },
  commit: {
    4: { prototype: 92_251, goal: 78_000, ocr2: 94_789, keystone: 94_083 },
    7: { prototype: 102_860, goal: 88_000, ocr2: 103_973, keystone: 102_062 },
    13: { prototype: 124_078, goal: 108_000, ocr2: 122_320, keystone: 118_018 },
    31: { prototype: 187_696, goal: 170_000, ocr2: 177_386, keystone: 165_852 },
  },
} as const;

interface CommitFigure {
  readonly n: number;
  readonly signatures: number;
  readonly commit: number;
  readonly creditPay: number;
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
  report(request, draws, commits);
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

async function measureRequest(world: World): Promise<number> {
  const question = "q".repeat(200);
  await ask(world, {}, question);
  const { receipt } = await ask(world, {}, question);
  return Number(receipt.gasUsed);
}

async function meanDraw(world: World, n: number): Promise<number> {
  let total = 0n;
  for (let sample = 0; sample < samples; sample++) {
    const drawn = await draw(world, await ask(world, { committeeSize: n }));
    total += drawn.receipt.gasUsed;
  }
  return Math.round(Number(total) / samples);
}

/** The second request of one consumer: its balance and the operators' balances exist by then. */
async function measureCommit(world: World, n: number): Promise<CommitFigure> {
  const consumer = await world.ethers.deployContract("SlotConsumer", [world.oracle.target]);
  await world.oracle.deposit(consumer.target, 10n ** 20n);
  const askBy = consumer.getFunction("ask");
  let figure: CommitFigure | undefined;
  for (let round = 0; round < 2; round++) {
    const asked = await ask(
      world,
      { committeeSize: n, callbackGasLimit: 100_000 },
      "q".repeat(200),
      askBy.send.bind(askBy),
    );
    const drawn = await draw(world, asked);
    const decision = decisionFor(drawn);
    const receipt = await commit(world, drawn, decision);
    const paid = await world.oracle.creditPay(drawn.request, drawn.committee, decision);
    const creditPay = Number((await paid.wait()).gasUsed);
    figure = { n, signatures: quorum(n), commit: Number(receipt.gasUsed), creditPay };
  }
  return figure!;
}

function report(request: number, draws: readonly DrawFigure[], commits: readonly CommitFigure[]): void {
  if (values.json === true) {
    console.log(JSON.stringify({ request, draws, commits, anchors, ratios: ratios(request, commits) }));
    return;
  }
  const ratio = (value: number, anchor: number): string => `${((100 * value) / anchor).toFixed(1)} %`;
  console.log(
    `request, 200-byte question, prepaid: ${request} gas (prototype ${ratio(request, anchors.request.prototype)})`,
  );
  console.log("\ncommit + callback that writes one new slot");
  console.table(
    commits.map(({ n, signatures, commit: gas, creditPay }) => {
      const anchor = anchors.commit[n as (typeof sizes)[number]];
      return {
        n,
        signatures,
        commit: gas,
        "of prototype": ratio(gas, anchor.prototype),
        "of later goal": ratio(gas, anchor.goal),
        "of OCR2": ratio(gas, anchor.ocr2),
        "of Keystone": ratio(gas, anchor.keystone),
        creditPay,
      };
    }),
  );
  console.log(`\ndraw, mean of ${samples}, agents at full stake`);
  console.table(draws);
}

/** Ours divided by the anchor: below 1 is cheaper. */
function ratios(request: number, commits: readonly CommitFigure[]) {
  const divide = (value: number, by: number): number => Number((value / by).toFixed(4));
  return {
    requestToPrototype: divide(request, anchors.request.prototype),
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
