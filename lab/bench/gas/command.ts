// Gas figures of the production build on an in-process chain in the steady state: balances, counters and reputations
// are not zero, and the agents have served long enough to weigh in full.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { type Command, Option } from "commander";
import { between, toolCommand } from "../../../scripts/shared/arguments.ts";
import { BATCH, askerOf, measureAllIn, type AllInFigure } from "./all-in.ts";
import { floorText, measureFloor } from "./floor.ts";
import { measureEvidence, type EvidenceFigures } from "./evidence.ts";
import { measureLater, type LaterFigure } from "./later.ts";
import { differencesOf, TOLERANCE, type GasFigures, type GasFile } from "./gas-file.ts";
import { proveAgents } from "../../../test/support/contracts/prove.ts";
import {
  appeal,
  ask,
  commit,
  commitArgs,
  decide,
  decisionFor,
  draw,
  fallBackArgs,
  latestOf,
  passDeadline,
  quorum,
  recordOf,
  refundArgs,
} from "../../../test/support/contracts/course.ts";
import { writeSections } from "../../shared/generated-section.ts";
import { startProductionChain } from "../../shared/production-chain.ts";
import { Currency } from "../../../test/support/contracts/typed-data.ts";
import {
  deployWorld,
  findEvents,
  freeTokens,
  minStake,
  registerAgents,
  subscription,
  type World,
} from "../../../test/support/contracts/world.ts";

const file = join(import.meta.dirname, "../../../test/contracts/gas.json");
const sizes = [4, 7, 13, 31] as const;
const batch = { n: 7, items: 5 } as const;
/** The committee whose gas is booked item by item. */
const FLOOR_SEATS = 31;
/** The smallest registry in which all these committees are drawn: a committee has at most 2/3 of the agents. */
const LEAST_AGENTS = Math.ceil((3 * Math.max(...sizes)) / 2);
/**
 * The goals, and figures that the designers measured on the same kind of chain: a naive prototype of this design, and
 * other oracles.
 */
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
  allIn: { 4: { goal: 200_000 }, 7: { goal: 240_000 }, 13: { goal: 320_000 }, 31: { goal: 520_000 } },
} as const;

interface CommitFigure {
  readonly n: number;
  readonly signatures: number;
  readonly commit: number;
}

/** Gas of a request by its payment. */
interface RequestFigures {
  readonly subscription: number;
  readonly token: number;
  readonly native: number;
}

/** Gas of calls about a committee of 4 without a callback; the caller is paid for them. */
interface DeliveryFigures {
  readonly finalize: number;
  readonly replace: number;
  /** Two rounds: 4 seats and 9. */
  readonly settle: number;
  /** A call whose bond comes back. */
  readonly fallBack: number;
}

interface Figures {
  readonly request: RequestFigures;
  readonly allIn: readonly AllInFigure[];
  readonly commits: readonly CommitFigure[];
  readonly perBatchItem: number;
  readonly later: readonly LaterFigure[];
  readonly delivery: DeliveryFigures;
  readonly evidence: EvidenceFigures;
}

interface Flags {
  readonly agents: number;
  readonly floor?: true;
  readonly json?: true;
  readonly write?: true;
  readonly check?: true;
}

function commandLine(): Command {
  return toolCommand("bench:gas")
    .description(
      "Measures gas (gasUsed of receipts, production build, an Osaka chain in this process) and compares it with the goals: of requests, paid from a subscription or at once in tokens or coins; of commits, which prove the committee, call back a consumer that writes one new slot, and pay the seats, alone and in batches; of settle, finalize, replace and fallBack; and of evidence. The agents are proven: they have served sixteen settled requests. The cost of a whole decision is measured twice: among --agents at full stake, and among 300 at the least stake and 100 at the most.",
    )
    .addOption(
      new Option(
        "--floor",
        `only trace ${BATCH} decisions of ${FLOOR_SEATS} seats in one transaction, and tell where each unit of their gas goes; --write writes it into docs/spec/gas.md`,
      ).conflicts("check"),
    )
    .addOption(
      new Option("--agents <number>", "agents in the registry")
        .argParser(between(LEAST_AGENTS, 1_000_000))
        .default(1000)
        .conflicts("check"),
    )
    .addOption(new Option("--json", "print one JSON object on the last line instead of tables").conflicts("check"))
    .addOption(new Option("--write", "keep the figures in test/contracts/gas.json").conflicts("check"))
    .option(
      "--check",
      `compare with that file, whose number of agents the registry has, and fail with a table if a figure differs by more than ${TOLERANCE} gas`,
    )
    .addHelpText(
      "after",
      `
Examples:
  npm run bench:gas -- --json | tail -n 1
  npm run bench:gas -- --write --agents 100
  npm run bench:gas -- --floor
`,
    );
}

/** Measures, then writes, checks or prints the figures, and returns the exit code. Throws CommanderError. */
export async function main(argv: readonly string[]): Promise<number> {
  const flags = commandLine().parse(argv, { from: "user" }).opts<Flags>();
  if (flags.floor) return tellFloor(flags);
  const { agents, json, write, check } = flags;
  if (check) return compare(JSON.parse(readFileSync(file, "utf8")) as GasFile);
  const figures = await measure(agents);
  if (write) writeFileSync(file, `${JSON.stringify({ agents, gas: named(figures) }, null, 2)}\n`);
  if (json) console.log(JSON.stringify(asJson(figures)));
  else report(figures);
  return 0;
}

/** Books the gas of the largest committee, and prints or writes it. */
async function tellFloor({ agents, json, write }: Flags): Promise<number> {
  const floor = await measureFloor(await openWorld(agents), FLOOR_SEATS, BATCH);
  const { goal } = anchors.allIn[FLOOR_SEATS];
  const text = floorText(floor, goal);
  console.log(json ? JSON.stringify({ ...floor, goal }) : text);
  return write ? writeSections("docs/spec/gas.md", { floor: text }, { check: false, study: "bench gas --floor" }) : 0;
}

/** A world of the production build with proven agents at full stake. */
async function openWorld(agents: number): Promise<World> {
  const world = await deployWorld(await startProductionChain());
  await registerAgents(world, agents);
  await proveAgents(world, 1, agents);
  return world;
}

async function measure(agents: number): Promise<Figures> {
  const world = await openWorld(agents);
  const request = await measureRequest(world);
  const commits: CommitFigure[] = [];
  for (const n of sizes) commits.push(await measureCommit(world, n));
  const perBatchItem = await measureBatch(world);
  const evidence = await measureEvidence(await deployWorld(await startProductionChain()));
  const later = await measureLater(world);
  const delivery = await measureDelivery(world);
  const allIn = [...(await measureAllIn(world, `${agents} proven`))];
  const mixed = await deployWorld(await startProductionChain());
  await registerAgents(mixed, 100);
  await registerAgents(mixed, 300, { stake: minStake, label: "least" });
  await proveAgents(mixed, 1, 400);
  allIn.push(...(await measureAllIn(mixed, "300 at the least stake, 100 at the most")));
  return { request, allIn, commits, perBatchItem, later, evidence, delivery };
}

/** Names the figures as the file keeps them. */
function named({ request, allIn, commits, perBatchItem, later, delivery, evidence }: Figures): GasFigures {
  return Object.fromEntries([
    ...Object.entries(request).map(([payer, gas]) => [`request, ${payer}`, gas]),
    ...commits.map(({ n, commit: gas }) => [`commit of ${n}`, gas]),
    [`commit of ${batch.n} in a batch of ${batch.items}`, perBatchItem],
    ...later.map(({ commit: what, gas }) => [`commit of ${what}`, gas]),
    ...allIn.flatMap(namedParts),
    ...Object.entries(delivery).map(([call, gas]) => [`${call} of 4`, gas]),
    ...Object.entries(evidence).map(([kind, gas]) => [`evidence, ${kind}`, gas]),
  ]);
}

/** Names the gas of a whole decision, and of what is sent after its commit. */
function namedParts({ registry, n, appeals, batch: items, headers, gas, parts }: AllInFigure): [string, number][] {
  const allowed = appeals === 0 ? "" : ", an appeal allowed";
  const name = (part: string): string =>
    `${part}, ${n} seats, ${registry}, ${items} commits with ${headers} headers${allowed}`;
  const later = (["finalize", "settle"] as const).filter(() => appeals > 0);
  return [[name("all in"), gas], ...later.map((part): [string, number] => [name(part), parts[part]])];
}

/** Measures among as many agents as the kept file names, compares with it, and returns the exit code. */
async function compare(kept: GasFile): Promise<number> {
  const differences = differencesOf(kept.gas, named(await measure(kept.agents)));
  if (differences.length === 0) {
    console.log(
      `${Object.keys(kept.gas).length} gas figures are those of test/contracts/gas.json, within ${TOLERANCE} gas`,
    );
    return 0;
  }
  console.table(differences);
  console.error("These gas figures are not those of test/contracts/gas.json. If they are meant to be, write it anew:");
  console.error(`  npm run bench:gas -- --write --agents ${kept.agents}`);
  return 1;
}

async function measureRequest(world: World): Promise<RequestFigures> {
  const measureOne = async (subscriptionId: bigint, currency: number): Promise<number> => {
    const overrides = subscriptionId === 0n && currency === Currency.Native ? { value: 10n ** 18n } : {};
    const once = () =>
      ask(world, { currency }, "q".repeat(200), (terms, question) =>
        world.oracle.request(subscriptionId, terms, question, overrides),
      );
    await once();
    return Number((await once()).receipt.gasUsed);
  };
  return {
    subscription: await measureOne(subscription, Currency.Token),
    token: await measureOne(0n, Currency.Token),
    native: await measureOne(0n, Currency.Native),
  };
}

/** Measures the second request of one consumer: the operators' credits exist by then. */
async function measureCommit(world: World, n: number): Promise<CommitFigure> {
  const askOne = await askerOf(world, n);
  let figure: CommitFigure | undefined;
  for (let round = 0; round < 2; round++) {
    const committed = await commit(world, await draw(world, await askOne()));
    figure = { n, signatures: quorum(n), commit: Number(committed.receipt.gasUsed) };
  }
  return figure!;
}

/** Gas per request when several of one consumer are committed in one transaction. */
async function measureBatch(world: World): Promise<number> {
  const askOne = await askerOf(world, batch.n);
  await commit(world, await draw(world, await askOne()));
  // All are asked before a seed block passes, so that one transaction can prove all committees.
  const asked = [];
  for (let item = 0; item < batch.items; item++) asked.push(await askOne());
  const calls: string[] = [];
  for (const one of asked) {
    const drawn = await draw(world, one);
    const args = commitArgs(world, drawn, decisionFor(drawn));
    calls.push(world.oracle.interface.encodeFunctionData("commit", args));
  }
  const sent = await world.oracle.tryMulticall(calls, { gasLimit: 1_000_000n * BigInt(batch.items) });
  const receipt = await sent.wait();
  const settled = findEvents(world.oracle, receipt, "DecisionSettled").length;
  if (settled !== batch.items) throw new Error(`${settled} of ${batch.items} decisions were settled`);
  return Math.round(Number(receipt.gasUsed) / batch.items);
}

/** Measures the second call of each kind: its caller and its appellant have a credit by then. */
async function measureDelivery(world: World): Promise<DeliveryFigures> {
  await world.oracle.setPrices(Currency.Token, { ...freeTokens, gasRate: 10n ** 18n, gasPriceCap: 10n ** 9n });
  const decided = async () => decide(world, await ask(world, { appeals: 1 }));
  let [finalize, replace, settle, fallBack] = [0, 0, 0, 0];
  for (let round = 0; round < 2; round++) {
    const committed = await decided();
    await passDeadline(world, committed.rounds[0]!.round);
    finalize = Number((await (await world.oracle.finalize(...latestOf(committed))).wait()).gasUsed);
    const running = await appeal(world, await decided());
    await passDeadline(world, running.round);
    fallBack = Number((await (await world.oracle.fallBack(...fallBackArgs(running))).wait()).gasUsed);
    const silent = await ask(world, { retries: 1 });
    await passDeadline(world, silent.round);
    replace = Number((await (await world.oracle.replace(...refundArgs(silent))).wait()).gasUsed);
    const twice = await decide(world, await appeal(world, await decided()));
    settle = Number((await (await world.settlement.settle(...recordOf(twice))).wait()).gasUsed);
  }
  return { finalize, replace, settle, fallBack };
}

function asJson({ request, allIn, commits, perBatchItem, later, delivery, evidence }: Figures) {
  const batched = { ...batch, perItem: perBatchItem };
  const relative = ratios(request, commits, perBatchItem);
  return { request, allIn, commits, batch: batched, later, delivery, evidence, anchors, ratios: relative };
}

function report({ request, allIn, commits, perBatchItem, later, delivery, evidence }: Figures): void {
  const ratio = (value: number, anchor: number): string => `${((100 * value) / anchor).toFixed(1)} %`;
  console.log(
    `request, 200-byte question, from a subscription: ${request.subscription} gas (goal ${ratio(request.subscription, anchors.request.goal)}, prototype ${ratio(request.subscription, anchors.request.prototype)})`,
  );
  console.log(
    `paid at once in tokens: ${request.token} gas (goal ${ratio(request.token, anchors.direct.goal)}), in coins: ${request.native} gas`,
  );
  console.log(
    "\ncommit with the proof of its committee, a callback that writes one new slot, and the pay of all seats",
  );
  console.table(
    commits.map(({ n, signatures, commit: gas }) => {
      const anchor = anchors.commit[n as (typeof sizes)[number]];
      return {
        n,
        signatures,
        commit: gas,
        "of prototype": ratio(gas, anchor.prototype),
        "of goal": ratio(gas, anchor.goal),
        "of OCR2": ratio(gas, anchor.ocr2),
        "of Keystone": ratio(gas, anchor.keystone),
      };
    }),
  );
  console.log(
    `\nin a batch of ${batch.items} at n = ${batch.n}: ${perBatchItem} gas per request (goal ${ratio(perBatchItem, anchors.batchItem.goal)})`,
  );
  console.log("\ncommit without a callback, after an appeal and of a text");
  console.table(later);
  console.log(
    "\nall in, for one decision: every transaction from the request to the pay, also where an appeal is allowed",
  );
  console.table(
    allIn.map(({ registry, n, appeals, batch: items, headers, gas, parts }) => ({
      registry,
      n,
      appeals,
      batch: items,
      headers,
      ...parts,
      gas,
      "of goal": ratio(gas, anchors.allIn[n as (typeof sizes)[number]].goal),
    })),
  );
  console.log(
    `\nfinalize: ${delivery.finalize} gas, replace: ${delivery.replace} gas, fallBack: ${delivery.fallBack} gas, settle of 4 and 9 seats: ${delivery.settle} gas`,
  );
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
