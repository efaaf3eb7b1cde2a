import { BLOB_BYTES_PER_BLOCK, BLOCK_GAS, ROLLUP_GAS_PER_SECOND, SECONDS_PER_BLOCK } from "./assumptions.ts";
import { CALLS_WHATEVER_HAPPENS, CALLS_PER_REQUEST, type Demand } from "./demand.ts";
import type { Inputs } from "./inputs.ts";

/** Something that gives out when decisions become more. */
export interface Limit {
  readonly what: string;
  /** Decisions a second at which it is used up. */
  readonly perSecond: number;
  /** What is counted as used up. */
  readonly bound: string;
  readonly remedy: string;
}

/** Requests that a keeper settles in one transaction: `SETTLED_AT_ONCE` in agents/node/request/settler.ts. */
export const SETTLED_AT_ONCE = 20;
/** Calls a second that a node answers to one agent. */
export const NODE_CALLS = 25;
/** What one agent has. */
export const AGENT_DISK = 1e12;
export const AGENT_UPLOAD = 12_500_000;

/** Returns what gives out at one load, the first first. */
export function limitsOf(inputs: Inputs, demand: Demand): readonly Limit[] {
  const { subgraph } = inputs;
  const [low, high] = BLOCK_GAS;
  const l1 = (limit: number): number => limit / SECONDS_PER_BLOCK / demand.gasPerDecision;
  const limits: readonly Limit[] = [
    {
      what: "settlements by one keeper, where an appeal is allowed",
      perSecond: SETTLED_AT_ONCE / SECONDS_PER_BLOCK,
      bound: `${SETTLED_AT_ONCE} requests in a block`,
      remedy: "keepers take different parts of what is due; a rollup has a block in two seconds or less",
    },
    {
      what: "gas of the L1, low limit",
      perSecond: l1(low),
      bound: "every block full of nothing else",
      remedy: "deploy on a rollup; one relayer for many committees saves up to a fifth",
    },
    {
      what: "gas of the L1, high limit",
      perSecond: l1(high),
      bound: "the same",
      remedy: "the same",
    },
    {
      what: "calls to each agent's chain node",
      perSecond: (NODE_CALLS - CALLS_WHATEVER_HAPPENS) / CALLS_PER_REQUEST,
      bound: `${NODE_CALLS} a second`,
      remedy: "a node of one's own; or one call in place of three for each request",
    },
    {
      what: "an auditor of every decision",
      perSecond: 1_000 / demand.auditMs,
      bound: "one core",
      remedy: "`conclave verify --jobs N`, one thread a core; or a sample",
    },
    {
      what: "gas of a rollup",
      perSecond: ROLLUP_GAS_PER_SECOND / demand.gasPerDecision,
      bound: "all of its gas",
      remedy: "a rollup of its own, or several deployments",
    },
    {
      what: "graph-node",
      perSecond: subgraph.requests / subgraph.indexSeconds,
      bound: "one process, at the speed of the measurement",
      remedy: "a machine of its own; shards of the database",
    },
    {
      what: "blobs of the L1",
      perSecond: BLOB_BYTES_PER_BLOCK / SECONDS_PER_BLOCK / demand.chainBytes,
      bound: "all that a block aims at",
      remedy: "compression, which rollups do anyway",
    },
    {
      what: "an agent's disk",
      perSecond: (demand.perSecond * AGENT_DISK) / demand.storeKept,
      bound: "1 TB of transcripts",
      remedy: "the Kubo store on a cluster; a shorter `collection.retentionDays`",
    },
    {
      what: "an agent's processor",
      perSecond: demand.perSecond / demand.coreShare,
      bound: "one core, without its model",
      remedy: "more agents: each sits less often",
    },
    {
      what: "an agent's line",
      perSecond: (demand.perSecond * AGENT_UPLOAD) / demand.bytesPerSecond,
      bound: "100 Mbit/s up",
      remedy: "more agents",
    },
  ];
  return limits.toSorted((one, other) => one.perSecond - other.perSecond);
}
