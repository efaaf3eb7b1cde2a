// What a soak showed, for machines and for people.
import Table from "cli-table3";
import { quantileSorted, sum } from "simple-statistics";
import type { Finding } from "../examine.ts";
import { growthOf, type Growth, type Point } from "./growth.ts";
import type { Soaked } from "./run.ts";
import { OF_FOLDER, OF_PROCESS, type Resource, type Sample } from "./samples.ts";

/** Seconds. */
export interface Percentiles {
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly most: number;
}

export interface Latency {
  /** "all", or a protocol. */
  readonly of: string;
  readonly requests: number;
  readonly decided: number;
  /** From the request to its first decision, and until its fee was given out; null if that never happened. */
  readonly toCommit: Percentiles | null;
  readonly toPayment: Percentiles | null;
}

export interface ResourceReport {
  readonly resource: Resource;
  /** Greatest value of any sample, and the mean of the last sample of each agent. */
  readonly most: number;
  readonly last: number;
  /** Of all agents, by life of their processes; null if it was too short. */
  readonly growth: Growth | null;
  readonly grows: boolean;
  /** How much of it each decision explains; null for what does not outlive a process. */
  readonly perDecision: number | null;
}

export interface SoakReport {
  readonly minutes: number;
  readonly requests: number;
  /** Requests that were committed while the load lasted or afterwards, hung ones included. */
  readonly decisions: number;
  /** Requests by how they ended. */
  readonly ends: Readonly<Record<string, number>>;
  readonly decisionsPerMinute: number;
  readonly perturbations: number;
  readonly processes: number;
  /** Processor seconds of all agents together. */
  readonly cpuSecondsPerDecision: number;
  readonly messages: number;
  readonly latency: readonly Latency[];
  readonly resources: readonly ResourceReport[];
  readonly findings: readonly Finding[];
}

export function reportOf({ requests, samples, perturbations, loadMs, examination }: Soaked): SoakReport {
  const minutes = loadMs / 60_000;
  const decided = requests.filter(({ committedMs }) => committedMs !== null).length;
  const names = [...new Set(requests.map(({ protocol }) => protocol))].toSorted();
  return {
    minutes,
    requests: requests.length,
    decisions: decided,
    ends: Object.fromEntries(
      [...Map.groupBy(requests, ({ status }) => status)].map(([status, all]) => [status, all.length]),
    ),
    decisionsPerMinute: decided / minutes,
    perturbations,
    processes: livesOf(samples).length,
    cpuSecondsPerDecision: sum(livesOf(samples).map((life) => life.at(-1)?.cpuSeconds ?? 0)) / decided,
    messages: examination.messages,
    latency: [
      latencyOf("all", requests),
      ...names.map((name) =>
        latencyOf(
          name,
          requests.filter(({ protocol }) => protocol === name),
        ),
      ),
    ],
    resources: [...OF_PROCESS, ...OF_FOLDER].map((resource) => resourceOf(resource, samples, decided / (minutes / 60))),
    findings: examination.findings,
  };
}

function latencyOf(of: string, requests: Soaked["requests"]): Latency {
  const secondsTo = (moment: "committedMs" | "paidMs"): readonly number[] =>
    requests.flatMap((one) => {
      const atMs = one[moment];
      return atMs === null ? [] : [(atMs - one.askedMs) / 1000];
    });
  const toCommit = secondsTo("committedMs");
  return {
    of,
    requests: requests.length,
    decided: toCommit.length,
    toCommit: percentilesOf(toCommit),
    toPayment: percentilesOf(secondsTo("paidMs")),
  };
}

export function percentilesOf(values: readonly number[]): Percentiles | null {
  const sorted = values.toSorted((a, b) => a - b);
  if (sorted.length === 0) return null;
  const at = (part: number): number => quantileSorted(sorted, part);
  return { p50: at(0.5), p90: at(0.9), p99: at(0.99), most: at(1) };
}

function resourceOf(resource: Resource, samples: readonly Sample[], decisionsPerHour: number): ResourceReport {
  const isOfFolder = (OF_FOLDER as readonly string[]).includes(resource);
  const pointsOf = (some: readonly Sample[]): readonly Point[] =>
    some.map((sample) => ({ hours: sample.hours, value: sample[resource] }));
  const ofAgents = [...Map.groupBy(samples, ({ agent }) => agent).values()];
  const growth = growthOf((isOfFolder ? ofAgents : livesOf(samples)).map(pointsOf));
  return {
    resource,
    most: Math.max(0, ...samples.map((sample) => sample[resource])),
    last: sum(ofAgents.map((some) => some.at(-1)?.[resource] ?? 0)) / ofAgents.length,
    growth,
    grows: growth !== null && growth.low > 0,
    perDecision: isOfFolder && growth !== null ? growth.perHour / decisionsPerHour : null,
  };
}

/** The samples of each process. */
function livesOf(samples: readonly Sample[]): readonly (readonly Sample[])[] {
  return [...Map.groupBy(samples, ({ agent, life }) => `${agent} ${life}`).values()];
}

export function textOf(report: SoakReport): string {
  const { minutes, requests, decisions, decisionsPerMinute, perturbations, processes, messages, findings, ends } =
    report;
  const latency = new Table({
    head: ["s from request", "requests", "decided", ...["commit", "paid"].flatMap((to) => columnsOf(to))],
    style: { head: [], border: [] },
  });
  for (const { of, requests: asked, decided, toCommit, toPayment } of report.latency)
    latency.push([of, asked, decided, ...cellsOf(toCommit), ...cellsOf(toPayment)]);
  const resources = new Table({
    head: ["of one agent", "most", "last", "growth per hour", "95 %", "", "per decision"],
    style: { head: [], border: [] },
  });
  for (const { resource, most, last, growth, grows, perDecision } of report.resources)
    resources.push([
      resource,
      short(most),
      short(last),
      growth === null ? "" : short(growth.perHour),
      growth === null ? "" : `${short(growth.low)} to ${short(growth.high)}`,
      growth === null ? "too short" : grows ? "grows" : "flat",
      perDecision === null ? "" : short(perDecision),
    ]);
  return [
    `${minutes} minutes, ${requests} requests, ${decisions} decided, ${decisionsPerMinute.toFixed(1)} a minute, ${report.cpuSecondsPerDecision.toFixed(2)} s of processor time each`,
    Object.entries(ends)
      .map(([status, count]) => `${count} ${status}`)
      .join(", "),
    `${perturbations} perturbations, ${processes} processes, ${messages} messages`,
    latency.toString(),
    resources.toString(),
    ...findings.map(({ kind, what }) => `${kind}: ${what}`),
    `${findings.length} findings`,
    "",
  ].join("\n");
}

function columnsOf(to: string): readonly string[] {
  return ["p50", "p90", "p99", "most"].map((name) => `${to} ${name}`);
}

function cellsOf(percentiles: Percentiles | null): readonly string[] {
  if (percentiles === null) return ["", "", "", ""];
  return [percentiles.p50, percentiles.p90, percentiles.p99, percentiles.most].map((value) => value.toFixed(1));
}

function short(value: number): string {
  return Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(3);
}
