// How fast graph-node indexes a long history, and how much memory it takes.
import { readFileSync, readdirSync } from "node:fs";
import { createRandom } from "../../sim/random.ts";
import { openEconomy } from "../scenario/economy.ts";
import { playScenario } from "../scenario/scenario.ts";
import { checkEntities } from "../../devnet/subgraph/check.ts";
import { deployedIn, startEconomyChain } from "./economy-chain.ts";
import { readEntities } from "../../devnet/subgraph/entities.ts";
import { startGraphNode } from "../../devnet/subgraph/graph-node.ts";
import { readLogs } from "../../devnet/subgraph/logs.ts";

export interface Bench {
  readonly requests: number;
  readonly blocks: number;
  /** Events of the contracts that the subgraph follows. */
  readonly events: number;
  readonly entities: number;
  /** Seconds from graph-node's first answer until it had all; what it had indexed before does not count. */
  readonly indexSeconds: number;
  readonly eventsPerSecond: number;
  /** Most resident memory of graph-node. */
  readonly graphNodeMiB: number;
  /** Memory of the database's processes in the end, shared pages counted once. */
  readonly postgresMiB: number;
  /** What the history adds to the database on the disk. */
  readonly databaseBytes: number;
  readonly comparisons: number;
  readonly differences: readonly string[];
}

export interface BenchOptions {
  readonly requests: number;
  readonly operators: number;
  readonly seed: number;
  readonly signal: AbortSignal;
  readonly progress: (line: string) => void;
}

/** Plays the scenario's economy on Hardhat's chain, then indexes it with a new graph-node and compares every entity. */
export async function benchSubgraph({ requests, operators, seed, signal, progress }: BenchOptions): Promise<Bench> {
  const random = createRandom(seed, "subgraph");
  progress("starting a chain, deploying the contracts");
  const { chain, ethers, client } = await startEconomyChain("hardhat", operators, signal);
  try {
    const economy = await openEconomy(ethers, operators, random.fork("economy"));
    progress(`${economy.agents.length} agents; playing ${requests} requests`);
    await playScenario(economy, requests, random.fork("life"), progress);
    const deployed = deployedIn(economy.world);
    const blocks = Number(await client.getBlockNumber({ cacheTime: 0 }));
    progress("starting PostgreSQL and graph-node");
    const node = await startGraphNode(chain.rpcUrl, deployed, signal);
    try {
      const first = (await node.status()).block;
      const empty = await node.databaseBytes();
      const started = performance.now();
      await node.synced(blocks, { signal, onProgress: everyTenth(blocks, progress) });
      const indexSeconds = (performance.now() - started) / 1000;
      const databaseBytes = (await node.databaseBytes()) - empty;
      const logs = await readLogs(client, deployed, BigInt(blocks));
      const counted = logs.filter(({ blockNumber }) => blockNumber > first).length;
      progress("comparing every entity with the contracts");
      const { entities, comparisons, differences } = await checkEntities(
        await readEntities(node.queryUrl, blocks, signal),
        client,
        deployed,
        blocks,
      );
      return {
        requests,
        blocks,
        entities,
        indexSeconds,
        databaseBytes,
        comparisons,
        differences,
        events: logs.length,
        eventsPerSecond: counted / indexSeconds,
        graphNodeMiB: memoryOf("gnd", "status", /^VmHWM:\s+(\d+) kB$/m),
        postgresMiB: memoryOf("postgres", "smaps_rollup", /^Pss:\s+(\d+) kB$/m),
      };
    } finally {
      await node.stop();
    }
  } finally {
    await chain.stop();
  }
}

function everyTenth(blocks: number, progress: (line: string) => void): (status: { readonly block: number }) => void {
  let told = -1;
  return ({ block }) => {
    const tenth = Math.floor((10 * block) / blocks);
    if (tenth > told) progress(`graph-node has indexed block ${block} of ${blocks}`);
    told = Math.max(told, tenth);
  };
}

/** Returns the MiB of processes of this name below ours, by a line of one of their files in /proc. */
function memoryOf(name: string, file: string, pattern: RegExp): number {
  const parents = new Map(
    readdirSync("/proc")
      .filter((entry) => /^\d+$/.test(entry))
      .map((pid) => [pid, statOf(pid)]),
  );
  const isOurs = (pid: string): boolean => {
    const parent = parents.get(pid)?.parent;
    return parent !== undefined && (parent === String(process.pid) || isOurs(parent));
  };
  const own = [...parents].filter(([pid, stat]) => stat?.name === name && isOurs(pid)).map(([pid]) => pid);
  const kilobytes = own.map((pid) => Number(pattern.exec(readText(`/proc/${pid}/${file}`))?.[1] ?? 0));
  return Math.round(kilobytes.reduce((sum, one) => sum + one, 0) / 1024);
}

/** Returns undefined if the process has ended meanwhile. */
function statOf(pid: string): { readonly name: string; readonly parent: string } | undefined {
  const [, name, parent] = /^\d+ \((.*)\) \S (\d+) /.exec(readText(`/proc/${pid}/stat`)) ?? [];
  return name === undefined || parent === undefined ? undefined : { name, parent };
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
