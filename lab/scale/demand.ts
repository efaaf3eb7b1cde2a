import {
  BLOB_BYTES_PER_BLOCK,
  BLOCK_GAS,
  ROLLUP_GAS_PER_SECOND,
  SECONDS_PER_BLOCK,
  SECONDS_PER_DAY,
  SECONDS_PER_SEAT,
  UNBONDING_DAYS,
} from "./assumptions.ts";
import { certification } from "../complexity/formulas.ts";
import { quorumOf } from "../../agents/core/quorum.ts";
import { retentionMs } from "../../agents/node/collector.ts";
import { EVERYBODY } from "../../agents/node/peers.ts";
import type { GasOf } from "./gas.ts";
import type { Inputs, NetworkName, ProcessorFigures, WorldFigures } from "./inputs.ts";

/** How many agents decide how often, in committees of how many seats. */
export interface Load {
  readonly agents: number;
  readonly perSecond: number;
  readonly n: number;
}

/** What a load asks of an agent, of the chain and of the others. */
export interface Demand extends Load {
  /** Seats that one agent takes a day, and those that it holds at a time. */
  readonly seatsPerDay: number;
  readonly seatsHeld: number;
  /** Frames and bytes that one seat sends for a decision; it receives as many. */
  readonly framesPerSeat: number;
  readonly bytesPerSeat: number;
  /** Bytes a second that one agent sends. */
  readonly bytesPerSecond: number;
  readonly connections: number;
  readonly dialsPerDay: number;
  /** Processor time of one seat, in ms: the core with its signatures, the frames, the connections. */
  readonly cpu: { readonly core: number; readonly frames: number; readonly connections: number };
  /** Part of one core that an agent needs for its seats. */
  readonly coreShare: number;
  /** Bytes that one transcript takes in a seat's store, an agent's a day, and an agent's in the end. */
  readonly storePerDecision: number;
  readonly storePerDay: number;
  readonly storeKept: number;
  /** Calls a second of one agent to its chain's node. */
  readonly rpcPerSecond: number;
  readonly gasPerDecision: number;
  readonly gasWithAppeal: number;
  /** Parts of the L1's blocks, of the rollup's gas and of the blobs that are aimed at. */
  readonly blockShares: readonly number[];
  readonly rollupShare: number;
  readonly blobShare: number;
  readonly chainBytes: number;
  /** Processor time of an auditor for one decision, in ms. */
  readonly auditMs: number;
}

/**
 * Calls of an agent to its chain's node. For each attempt of anybody: the state, the header of the seed block, the committee
 * (`seatedProgress` in agents/node/request/committee.ts). Every second: the head and the newest block that it knows (`nextBatch` in
 * agents/adapters/chain/follow.ts, `pollIntervalMs`), and twice the head for its keeper (`TICK_MS` in agents/node/request/keeper.ts).
 * For each block: the block, its logs, whether the chain changed meanwhile, and the head (`sit` in agents/node/agent.ts).
 */
export const CALLS_PER_REQUEST = 3;
export const CALLS_WHATEVER_HAPPENS = 4 + 4 / SECONDS_PER_BLOCK;

export function worldOf({ worlds }: Inputs, n: number, network: NetworkName): WorldFigures {
  return found(worlds.sizes.find((one) => one.n === n && one.network === network));
}

export function processorOf({ processor }: Inputs, n: number): ProcessorFigures {
  return found(processor.sizes.find((one) => one.n === n));
}

export function demandOf(inputs: Inputs, gas: GasOf, { agents, perSecond, n }: Load): Demand {
  const { loopback, audit } = inputs;
  const world = worldOf(inputs, n, "wan");
  const { cpuMs, commitBytes, requestBytes, messages } = processorOf(inputs, n);
  // A transcript holds the deliberation, and a commit as many signatures as are needed.
  const signatures = messages - (certification.of(n) as number) + quorumOf(n);
  const seatsPerSecond = (perSecond * n) / agents;
  const framesPerSeat = world.frames / n;
  const bytesPerSeat = world.bytes / n;
  const standing = agents <= EVERYBODY ? agents - 1 : neighbourCount(agents);
  const dialled = agents <= EVERYBODY ? 0 : n - 1;
  const cpu = {
    core: cpuMs,
    frames: framesPerSeat * loopback.cpuMsPerFrame,
    connections: (dialled * loopback.cpuMsPerConnection) / 2,
  };
  const storePerDay = seatsPerSecond * SECONDS_PER_DAY * world.storeBytes;
  const gasPerDecision = gas.allIn(n);
  const chainBytes = commitBytes + requestBytes;
  return {
    agents,
    perSecond,
    n,
    seatsPerDay: seatsPerSecond * SECONDS_PER_DAY,
    seatsHeld: seatsPerSecond * SECONDS_PER_SEAT,
    framesPerSeat,
    bytesPerSeat,
    bytesPerSecond: seatsPerSecond * bytesPerSeat,
    connections: standing + seatsPerSecond * SECONDS_PER_SEAT * dialled,
    dialsPerDay: (seatsPerSecond * SECONDS_PER_DAY * dialled) / 2,
    cpu,
    coreShare: (seatsPerSecond * (cpu.core + cpu.frames + cpu.connections)) / 1_000,
    storePerDecision: world.storeBytes,
    storePerDay,
    storeKept: storePerDay * retentionDays(),
    rpcPerSecond: CALLS_PER_REQUEST * perSecond + CALLS_WHATEVER_HAPPENS,
    gasPerDecision,
    gasWithAppeal: gas.withAppeal(n),
    blockShares: BLOCK_GAS.map((limit) => (gasPerDecision * perSecond * SECONDS_PER_BLOCK) / limit),
    rollupShare: (gasPerDecision * perSecond) / ROLLUP_GAS_PER_SECOND,
    blobShare: (chainBytes * perSecond * SECONDS_PER_BLOCK) / BLOB_BYTES_PER_BLOCK,
    chainBytes,
    auditMs: ((1_000 * audit.cpuSeconds) / audit.signatures) * signatures,
  };
}

/** Returns how many neighbours an agent has where agents are many. */
export function neighbourCount(agents: number): number {
  return 2 * Math.floor(Math.log2(agents));
}

/** Days that an agent keeps a transcript where its config names no number. */
export function retentionDays(): number {
  return retentionMs(undefined, UNBONDING_DAYS * SECONDS_PER_DAY, "") / (SECONDS_PER_DAY * 1_000);
}

function found<T>(one: T | undefined): T {
  if (one === undefined) throw new Error("the inputs lack a size: run npm run lab -- scale --measure");
  return one;
}
