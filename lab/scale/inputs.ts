import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gasOf, type GasOf } from "./gas.ts";

/** What was measured, by `npm run lab -- scale --measure`, part by part. */
export interface Inputs {
  readonly loopback: LoopbackFigures & Made;
  readonly processor: { readonly sizes: readonly ProcessorFigures[] } & Made;
  readonly worlds: { readonly sizes: readonly WorldFigures[] } & Made;
  readonly audit: AuditFigures & Made;
  readonly subgraph: SubgraphFigures & Made;
}

export const PARTS = ["loopback", "processor", "worlds", "audit", "subgraph"] as const;
export type Part = (typeof PARTS)[number];

/** When and where a part was measured. */
export interface Made {
  readonly made: {
    readonly commit: string;
    readonly date: string;
    readonly machine: string;
    /** Mean number of running processes in the minute before, and how long it took; null if nobody noted it. */
    readonly load: number | null;
    readonly seconds: number | null;
  };
}

export const NETWORKS = ["loopback", "wan"] as const;
export type NetworkName = (typeof NETWORKS)[number];

/** The real runtime of one committee in virtual time; models answer at once. */
export interface WorldFigures {
  readonly n: number;
  readonly network: NetworkName;
  readonly seeds: number;
  /** Virtual ms until the first seat and until the last seat had a certificate; the median and the worst of the seeds. */
  readonly firstMs: Spread;
  readonly lastMs: Spread;
  /** Frames and their bytes that all seats sent; means. */
  readonly frames: number;
  readonly bytes: number;
  /** Of one seat; means. */
  readonly storeBytes: number;
  readonly journalBytes: number;
}

export interface Spread {
  readonly median: number;
  readonly worst: number;
}

/** Processor time of one seat for a decision: its core, and every signature that it makes and checks. */
export interface ProcessorFigures {
  readonly n: number;
  readonly cpuMs: number;
  /** Signed messages of the whole decision. */
  readonly messages: number;
  /** Call data of the commit, with the header of its seed block, and of the request, with a question of 200 bytes. */
  readonly commitBytes: number;
  readonly requestBytes: number;
}

/** Two libp2p nodes in one process. */
export interface LoopbackFigures {
  /** One-way delays of frames of 4 KiB in ms: 101 quantiles. */
  readonly delaysMs: readonly number[];
  /** Processor time of sender and receiver together. */
  readonly cpuMsPerFrame: number;
  /** Processor time of both ends together to open a connection with a stream each way. */
  readonly cpuMsPerConnection: number;
  /** Processor time that the key of one peer takes before it is dialled. */
  readonly cpuMsPerPeer: number;
}

/** `bench verify`: its decisions, their signatures, and the processor time of the fastest curve. */
export interface AuditFigures {
  readonly decisions: number;
  readonly signatures: number;
  readonly cpuSeconds: number;
}

export interface SubgraphFigures {
  readonly requests: number;
  readonly events: number;
  readonly entities: number;
  readonly indexSeconds: number;
  /** Growth of the database on the disk; absent in measurements before 27 November 2026. */
  readonly databaseBytes?: number;
}

export const INPUTS_FILE = "lab/scale/inputs.json";
const root = join(import.meta.dirname, "../..");

export function readInputs(): Inputs {
  return JSON.parse(readFileSync(join(root, INPUTS_FILE), "utf8")) as Inputs;
}

/** Reads the gas of a decision that is final at once, alone in its transaction, by the number of seats. */
export function readGas(): GasOf {
  const { gas } = JSON.parse(readFileSync(join(root, "test/contracts/gas.json"), "utf8")) as {
    readonly gas: Readonly<Record<string, number>>;
  };
  return gasOf(gas);
}
