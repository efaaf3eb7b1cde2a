import { execFile, execFileSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { availableParallelism, cpus, loadavg } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { SIZES } from "./assumptions.ts";
import {
  INPUTS_FILE,
  NETWORKS,
  readInputs,
  type AuditFigures,
  type Inputs,
  type LoopbackFigures,
  type Made,
  type Part,
  type ProcessorFigures,
  type SubgraphFigures,
  type WorldFigures,
} from "./inputs.ts";

type Size = (typeof SIZES)[number];

const root = join(import.meta.dirname, "../..");
/** Seeds of worlds, and decisions whose processor time is measured. */
const WORLDS: Readonly<Record<Size, number>> = { 7: 10, 13: 5, 31: 2, 64: 1 };
const DECISIONS: Readonly<Record<Size, number>> = { 7: 40, 13: 15, 31: 3, 64: 1 };
const AUDITED = 300;
const INDEXED = 2_000;

/** Measures these parts, all in half an hour, and writes the inputs; the other parts stay as they were. */
export async function measureInputs(parts: readonly Part[], progress: (line: string) => void): Promise<void> {
  const known = (): Partial<Inputs> => (existsSync(join(root, INPUTS_FILE)) ? readInputs() : {});
  for (const part of parts) {
    progress(part);
    const started = performance.now();
    const load = Number((loadavg()[0] ?? 0).toFixed(1));
    const figures = await measured[part](known());
    const seconds = Math.round((performance.now() - started) / 1_000);
    const inputs = { ...known(), [part]: { made: { ...place(), load, seconds }, ...figures } };
    writeFileSync(join(root, INPUTS_FILE), `${JSON.stringify(inputs, null, 2)}\n`);
  }
}

function place(): Pick<Made["made"], "commit" | "date" | "machine"> {
  return {
    commit: execFileSync("git", ["rev-parse", "--short", "HEAD"], { cwd: root, encoding: "utf8" }).trim(),
    date: new Date().toISOString().slice(0, 10),
    machine: `${availableParallelism()} cores (${cpus()[0]?.model ?? "unknown"}), Node ${process.versions.node}`,
  };
}

const measured: { readonly [P in Part]: (inputs: Partial<Inputs>) => Promise<Omit<Inputs[P], "made">> } = {
  loopback: () => child<LoopbackFigures>("loopback.ts"),

  async processor() {
    const sizes: ProcessorFigures[] = [];
    for (const n of SIZES) sizes.push(await child("processor.ts", n, DECISIONS[n]));
    return { sizes };
  },

  async worlds({ loopback }) {
    const delays = JSON.stringify(loopback?.delaysMs ?? []);
    const sizes: WorldFigures[] = [];
    for (const network of NETWORKS)
      for (const n of SIZES) sizes.push(await child("worlds.ts", n, WORLDS[n], network, delays));
    return { sizes };
  },

  async audit(): Promise<AuditFigures> {
    const { decisions, signatures, fastest } = await study<VerifyReport>("bench", "verify", "--count", AUDITED);
    return { decisions, signatures, cpuSeconds: fastest.verify.cpuSeconds };
  },

  async subgraph() {
    const found = await study<SubgraphFigures>("subgraph", "bench", "--requests", INDEXED);
    const { requests, events, entities, indexSeconds, databaseBytes = 0 } = found;
    return { requests, events, entities, indexSeconds, databaseBytes };
  },
};

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
