import { markdownTable } from "../shared/markdown.ts";
import { AGENTS, ASSUMPTIONS, DECISIONS_PER_SECOND, SECONDS_PER_DAY, SIZES } from "./assumptions.ts";
import { demandOf, retentionDays, worldOf, type Demand } from "./demand.ts";
import type { GasOf } from "./gas.ts";
import type { Inputs, Made, Spread } from "./inputs.ts";
import { limitsOf } from "./limits.ts";

const YEAR_SECONDS = 365 * SECONDS_PER_DAY;

type Row = readonly [what: string, of: (demand: Demand) => string];

/** The tables of docs/scale.md, by the names of their sections. */
export function scaleTables(inputs: Inputs, gas: GasOf): Readonly<Record<string, string>> {
  const demands = demandsOf(inputs, gas);
  return {
    "scale-inputs": provenance(inputs),
    "scale-load": byCommittee(demands, LOAD),
    "scale-chain": byCommittee(demands, CHAIN),
    "scale-latency": latency(inputs),
    "scale-limits": limits(inputs, demands),
    "scale-assumptions": markdownTable(
      ["what", "assumed", "from"],
      ASSUMPTIONS.map(({ what, value, source }) => [what, value, source]),
    ),
  };
}

export function demandsOf(inputs: Inputs, gas: GasOf): readonly Demand[] {
  return SIZES.map((n) => demandOf(inputs, gas, { agents: AGENTS, perSecond: DECISIONS_PER_SECOND, n }));
}

const LOAD: readonly Row[] = [
  ["seats of an agent a day", ({ seatsPerDay }) => count(seatsPerDay)],
  ["seats that it holds at a time", ({ seatsHeld }) => seatsHeld.toFixed(2)],
  ["frames that a seat sends for a decision", ({ framesPerSeat }) => count(framesPerSeat)],
  ["their bytes", ({ bytesPerSeat }) => size(bytesPerSeat)],
  ["what an agent sends, in the mean", ({ bytesPerSecond }) => `${size(bytesPerSecond)}/s`],
  ["its connections at a time", ({ connections }) => count(connections)],
  ["connections that it opens a day", ({ dialsPerDay }) => count(dialsPerDay)],
  ["processor time of a seat: rules and signatures", ({ cpu }) => ms(cpu.core)],
  ["frames", ({ cpu }) => ms(cpu.frames)],
  ["connections", ({ cpu }) => ms(cpu.connections)],
  ["of one core, an agent in the mean", ({ coreShare }) => percent(coreShare)],
  ["a transcript in a store", ({ storePerDecision }) => size(storePerDecision)],
  ["store of an agent, growth a day", ({ storePerDay }) => size(storePerDay)],
  [`store of an agent, after the ${retentionDays()} days that it keeps`, ({ storeKept }) => size(storeKept)],
  ["stores of all agents, growth a day", ({ storePerDay, agents }) => size(storePerDay * agents)],
  ["an auditor's processor time for a decision", ({ auditMs }) => ms(auditMs)],
];

const CHAIN: readonly Row[] = [
  ["gas of a decision, all in", ({ gasPerDecision }) => count(gasPerDecision)],
  ["where an appeal is allowed and not made", ({ gasWithAppeal }) => count(gasWithAppeal)],
  [
    "gas a day, billions",
    ({ gasPerDecision, perSecond }) => ((gasPerDecision * perSecond * SECONDS_PER_DAY) / 1e9).toFixed(1),
  ],
  [
    "of the L1's blocks, high to low limit",
    ({ blockShares }) => `${percent(Math.min(...blockShares))} to ${percent(Math.max(...blockShares))}`,
  ],
  ["of a rollup's gas", ({ rollupShare }) => percent(rollupShare)],
  ["call data of a decision", ({ chainBytes }) => size(chainBytes)],
  ["of the L1's blobs, uncompressed", ({ blobShare }) => percent(blobShare)],
  [
    "transactions a second; where an appeal is allowed",
    ({ perSecond }) => `${2 * perSecond}; ${(3.05 * perSecond).toFixed(2)}`,
  ],
  ["calls of an agent to its node", ({ rpcPerSecond }) => `${rpcPerSecond.toFixed(1)}/s`],
];

function byCommittee(demands: readonly Demand[], rows: readonly Row[]): string {
  const head = [
    `${count(AGENTS)} agents, ${DECISIONS_PER_SECOND} decision a second`,
    ...demands.map(({ n }) => `n = ${n}`),
  ];
  return markdownTable(
    head,
    rows.map(([what, of]) => [what, ...demands.map(of)]),
  );
}

function latency(inputs: Inputs): string {
  const show = ({ median, worst }: Spread): string => `${seconds(median)} (${seconds(worst)})`;
  return markdownTable(
    ["seats", "worlds", "loopback: first certificate", "last", "WAN: first certificate", "last"],
    SIZES.map((n) => {
      const [near, far] = [worldOf(inputs, n, "loopback"), worldOf(inputs, n, "wan")];
      return [n, far.seeds, show(near.firstMs), show(near.lastMs), show(far.firstMs), show(far.lastMs)].map(String);
    }),
  );
}

function limits(inputs: Inputs, demands: readonly Demand[]): string {
  const [small, large] = [31, 64].map((n) => demands.find((one) => one.n === n) as Demand) as [Demand, Demand];
  const others = new Map(limitsOf(inputs, large).map(({ what, perSecond }) => [what, perSecond]));
  return markdownTable(
    ["what gives out", "decisions a second, n = 31", "n = 64", "counted as given out", "what would be changed"],
    limitsOf(inputs, small).map(({ what, perSecond, bound, remedy }) => [
      what,
      rate(perSecond),
      rate(others.get(what) as number),
      bound,
      remedy,
    ]),
  );
}

function provenance({ loopback, processor, worlds, subgraph, audit }: Inputs): string {
  const quantile = (percentile: number): string => `${loopback.delaysMs[percentile] as number} ms`;
  const made = ({ made: { date, commit, load, seconds: took } }: Made): string =>
    `${date} at ${commit}, ${load === null || took === null ? "load not noted" : `load ${load}, ${took} s`}`;
  const { databaseBytes } = subgraph;
  const disk = databaseBytes === undefined ? "" : `, ${size(databaseBytes / subgraph.requests)} on the database's disk`;
  return [
    `Measured by \`npm run lab -- scale --measure\` on ${loopback.made.machine}:`,
    "",
    `* Loopback (${made(loopback)}): a frame of 4 KiB takes ${quantile(50)} in the median, ${quantile(90)} at most nine times in ten; ${loopback.cpuMsPerFrame} ms of processor time, a connection ${loopback.cpuMsPerConnection} ms, both ends together. The key of a peer takes ${loopback.cpuMsPerPeer} ms before it is dialled.`,
    `* Processor time of seats (${made(processor)}) and committees in virtual time (${made(worlds)}): below.`,
    `* \`npm run bench:verify\` (${made(audit)}): ${audit.decisions} decisions of four seats, ${((1_000 * audit.cpuSeconds) / audit.signatures).toFixed(2)} ms of processor time for a signature with everything around it.`,
    `* \`npm run subgraph:bench\` (${made(subgraph)}): ${subgraph.requests} requests of many kinds and sizes make ${(subgraph.events / subgraph.requests).toFixed(1)} events and ${(subgraph.entities / subgraph.requests).toFixed(1)} entities each${disk}, and ${(subgraph.requests / subgraph.indexSeconds).toFixed(1)} of them are indexed in a second. A year of a decision a second has ${count((YEAR_SECONDS * subgraph.events) / subgraph.requests / 1e6)} million events.`,
  ].join("\n");
}

function count(value: number): string {
  const rounded = value >= 100 ? Math.round(value) : Number(value.toPrecision(2));
  return rounded.toLocaleString("en-US");
}

function size(bytes: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  const power = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, bytes)) / 3)));
  return `${Number((bytes / 1_000 ** power).toPrecision(3))} ${units[power]}`;
}

function ms(value: number): string {
  return `${Number(value.toPrecision(3))} ms`;
}

function seconds(value: number): string {
  return `${(value / 1_000).toFixed(2)} s`;
}

function percent(share: number): string {
  return `${Number((100 * share).toPrecision(2))} %`;
}

function rate(value: number): string {
  return Number(value.toPrecision(2)).toLocaleString("en-US");
}
