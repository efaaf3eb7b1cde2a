// How long certification takes after the last message, over real libp2p, beside three one-way delays of the same hosts.
import { mkdtemp, rm } from "node:fs/promises";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import Table from "cli-table3";
import type { Command } from "commander";
import { quantileSorted } from "simple-statistics";
import { between, toolCommand } from "../../../scripts/shared/arguments.ts";
import { startCommittee, type Committee } from "./committee.ts";
import type { Sizes, Stages } from "./messages.ts";

/** Pings of each size after each decision. */
const PINGS = 5;
/** Decisions that are made before any is counted, so that loading and compiling the program is not. */
const WARM_UP = 3;

interface Flags {
  readonly seats: readonly number[];
  readonly decisions: number;
  readonly memory?: true;
  readonly json?: true;
}

/** Milliseconds. */
interface Quantiles {
  readonly p50: number;
  readonly p90: number;
}

interface Report {
  readonly seats: number;
  readonly sizes: Sizes;
  /** Of one message alone, by its size: proposal, first vote, second vote. */
  readonly oneWay: readonly [Quantiles, Quantiles, Quantiles];
  /** The sum of the three medians. */
  readonly limitMs: number;
  /** The three steps with frames that nobody signs, verifies or keeps. */
  readonly bare: Quantiles;
  readonly certification: Quantiles;
  /** Medians: certification to the limit, and to the bare steps. */
  readonly toLimit: number;
  readonly toBare: number;
  /** What each step takes in a seat: medians. */
  readonly stages: Stages;
  /** Processor time of a seat for the whole decision, deliberation included. */
  readonly cpuMs: Quantiles;
}

function commandLine(): Command {
  return toolCommand("bench:latency")
    .description(
      `For each number of seats: how long certification takes, in milliseconds, from the moment at which the proposer has the last message of the deliberation until a seat has the certificate (over all seats and decisions). Each seat is a process with the session, network (libp2p over loopback), journal and store of an agent, and a model that answers at once.

The limit is three one-way delays: a message of each step's size, sent alone between two of these processes, measured after each decision. The bare steps are the same proposal and votes with frames that nobody signs, verifies or keeps: what the network takes while all seats send at once.`,
    )
    .option(
      "--seats <list>",
      "numbers of seats, 4 to 64",
      (text) => text.split(",").map(between(4, 64)),
      [4, 7, 13, 31],
    )
    .option("--decisions <n>", "decisions of each committee", between(1, 1000), 30)
    .option("--memory", "keep journals and blocks in memory, to see what the disk takes")
    .option("--json", "print one JSON object instead of a table")
    .addHelpText("after", "\nExample:\n  npm run -s bench:latency -- --seats 4,7 --decisions 50 --json\n");
}

/** Measures and prints, and returns the exit code. Throws CommanderError. */
export async function main(argv: readonly string[]): Promise<number> {
  const flags = commandLine().parse(argv, { from: "user" }).opts<Flags>();
  const reports: Report[] = [];
  for (const seats of flags.seats) {
    process.stderr.write(`${seats} seats ...\n`);
    reports.push(await measure(seats, flags));
  }
  const machine = { processors: cpus().length, load: loadavg()[1] };
  const report = { decisions: flags.decisions, memory: flags.memory ?? false, machine, reports };
  process.stdout.write(flags.json ? `${JSON.stringify(report)}\n` : asText(reports));
  return 0;
}

async function measure(seats: number, { decisions, memory }: Flags): Promise<Report> {
  const folder = await mkdtemp(join(tmpdir(), "conclave-latency-"));
  const committee = await startCommittee(seats, folder, memory ?? false);
  try {
    const certified: number[] = [];
    const bare: number[] = [];
    const cpu: number[] = [];
    const stages: Stages[] = [];
    const delays: readonly [number[], number[], number[]] = [[], [], []];
    let sizes: Sizes = [0, 0, 0];
    for (let repetition = 0; repetition < WARM_UP + decisions; repetition++) {
      const decision = await committee.decide(repetition);
      sizes = decision.sizes;
      const steps = await committee.exchange(repetition, sizes);
      const pinged = await pingEach(committee, repetition, sizes);
      if (repetition < WARM_UP) continue;
      certified.push(...decision.certifiedMs);
      cpu.push(decision.cpuMs);
      stages.push(...decision.stages);
      bare.push(...steps);
      for (const [step, delaysMs] of pinged.entries()) delays[step]?.push(...delaysMs);
    }
    return reportOf(seats, sizes, { certified, bare, cpu, stages, delays });
  } finally {
    await committee.close();
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** One message at a time, between another pair after each decision. */
async function pingEach(
  committee: Committee,
  repetition: number,
  sizes: Sizes,
): Promise<readonly (readonly number[])[]> {
  const delays: (readonly number[])[] = [];
  const from = repetition % committee.seats;
  for (const bytes of sizes) delays.push(await committee.ping(from, (from + 1) % committee.seats, bytes, PINGS));
  return delays;
}

interface Measured {
  readonly certified: readonly number[];
  readonly bare: readonly number[];
  readonly cpu: readonly number[];
  readonly stages: readonly Stages[];
  readonly delays: readonly [readonly number[], readonly number[], readonly number[]];
}

function reportOf(seats: number, sizes: Sizes, { certified, bare, cpu, stages, delays }: Measured): Report {
  const [propose, prevote, precommit] = delays;
  const oneWay = [quantilesOf(propose), quantilesOf(prevote), quantilesOf(precommit)] as const;
  const limitMs = oneWay[0].p50 + oneWay[1].p50 + oneWay[2].p50;
  const certification = quantilesOf(certified);
  const steps = quantilesOf(bare);
  return {
    seats,
    sizes,
    oneWay,
    limitMs,
    bare: steps,
    certification,
    toLimit: certification.p50 / limitMs,
    toBare: certification.p50 / steps.p50,
    stages: [0, 1, 2, 3].map((stage) => medianOf(stages.flatMap((one) => one[stage] ?? []))) as unknown as Stages,
    cpuMs: quantilesOf(cpu),
  };
}

function medianOf(values: readonly number[]): number | null {
  return values.length === 0 ? null : quantilesOf(values).p50;
}

function quantilesOf(values: readonly number[]): Quantiles {
  const sorted = values.toSorted((a, b) => a - b);
  return { p50: quantileSorted(sorted, 0.5), p90: quantileSorted(sorted, 0.9) };
}

function asText(reports: readonly Report[]): string {
  const table = new Table({
    head: [
      "seats",
      "bytes of the steps",
      "limit ms",
      "bare p50",
      "bare p90",
      "certified p50",
      "certified p90",
      "x limit",
      "x bare",
      "in a seat: proposal, votes, certificate",
      "CPU ms of a seat",
    ],
    style: { head: [], border: [] },
  });
  for (const { seats, sizes, limitMs, bare, certification, toLimit, toBare, stages, cpuMs } of reports)
    table.push([
      seats,
      sizes.join(", "),
      ...[limitMs, bare.p50, bare.p90, certification.p50, certification.p90, toLimit, toBare].map(short),
      stages.map((stage) => (stage === null ? "-" : short(stage))).join(", "),
      short(cpuMs.p50),
    ]);
  return `${table.toString()}\n`;
}

function short(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3);
}
