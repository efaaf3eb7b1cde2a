import { execFile, execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { availableParallelism, cpus, loadavg } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { SIZES } from "./assumptions.ts";
import {
  INPUTS_FILE,
  NETWORKS,
  type Inputs,
  type LoopbackFigures,
  type NetworkName,
  type ProcessorFigures,
  type SubgraphFigures,
  type WorldFigures,
} from "./inputs.ts";

type Progress = (line: string) => void;
type Size = (typeof SIZES)[number];

const root = join(import.meta.dirname, "../..");
/** Seeds of worlds, and decisions whose processor time is measured: a committee of 64 takes minutes. */
const WORLDS: Readonly<Record<Size, number>> = { 7: 20, 13: 10, 31: 3, 64: 1 };
const DECISIONS: Readonly<Record<Size, number>> = { 7: 40, 13: 15, 31: 3, 64: 1 };
const AUDITED = 300;
const INDEXED = 200;

/** Measures everything, which takes some fifteen minutes, and writes the inputs. */
export async function measureInputs(progress: Progress): Promise<void> {
  const started = performance.now();
  const load = Number((loadavg()[0] ?? 0).toFixed(1));
  progress("two libp2p nodes over loopback");
  const { loopback, cpuMsPerPeer } = await child<{ loopback: LoopbackFigures; cpuMsPerPeer: number }>("loopback.ts");
  const processor: ProcessorFigures[] = [];
  for (const n of SIZES) {
    progress(`processor time of a seat, n = ${n}`);
    processor.push(await child("processor.ts", n, DECISIONS[n]));
  }
  const worlds: WorldFigures[] = [];
  for (const network of NETWORKS)
    for (const n of SIZES) {
      progress(`committees of ${n} in virtual time, ${network}`);
      worlds.push(await child("worlds.ts", n, WORLDS[n], network satisfies NetworkName, JSON.stringify(loopback.delaysMs)));
    }
  progress("bench verify");
  const { decisions, signatures, fastest } = await study<VerifyReport>("bench", "verify", "--count", AUDITED);
  const audit = { decisions, signatures, cpuSeconds: fastest.verify.cpuSeconds };
  progress("subgraph bench");
  const subgraph = await study<SubgraphFigures>("subgraph", "bench", "--requests", INDEXED);
  const { requests, events, entities, indexSeconds, databaseBytes } = subgraph;
  const inputs: Inputs = {
    provenance: {
      commit: execFileSync("git", ["rev-parse", "--short", "HEAD"], { cwd: root, encoding: "utf8" }).trim(),
      date: new Date().toISOString().slice(0, 10),
      machine: `${availableParallelism()} cores (${cpus()[0]?.model ?? "unknown"}), Node ${process.versions.node}`,
      load,
      seconds: Math.round((performance.now() - started) / 1_000),
    },
    worlds,
    processor,
    loopback,
    cpuMsPerPeer,
    audit,
    subgraph: { requests, events, entities, indexSeconds, databaseBytes },
  };
  writeFileSync(join(root, INPUTS_FILE), `${JSON.stringify(inputs, null, 2)}\n`);
  progress(`${INPUTS_FILE} is written`);
}

interface VerifyReport {
  readonly decisions: number;
  readonly signatures: number;
  readonly fastest: { readonly verify: { readonly cpuSeconds: number } };
}

/** Runs a script of this folder in a process of its own. */
async function child<T>(script: string, ...words: readonly (string | number)[]): Promise<T> {
  return JSON.parse(await run([join(import.meta.dirname, script), ...words.map(String)])) as T;
}

async function study<T>(...words: readonly (string | number)[]): Promise<T> {
  return JSON.parse(await run([join(root, "lab/main.ts"), ...words.map(String), "--json"])) as T;
}

async function run(words: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, words, { cwd: root, maxBuffer: 64 << 20 });
  return stdout;
}
