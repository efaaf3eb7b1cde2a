// Compiles the subgraph: npm's tools make types and WebAssembly, once for the same sources.
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, globSync } from "node:fs";
import { cp, mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { zeroAddress } from "viem";
import { abiFiles, manifestOf, type Deployed, type Form } from "./manifest.ts";

const run = promisify(execFile);
const root = join(import.meta.dirname, "../..");
const source = join(root, "subgraph");
const cache = join(root, ".cache", "subgraph");
const BUILD_TIMEOUT_MS = 1_200_000;
/** Deployment with addresses of 0. The real ones are known at deployment, and the WebAssembly is the same for all. */
const nowhere: Deployed = {
  registry: zeroAddress,
  oracle: zeroAddress,
  settlement: zeroAddress,
  slasher: zeroAddress,
  deploymentBlock: 0,
};

/** Returns the file of graph-node's development edition; null where npm has none. */
export function findGraphNode(): string | null {
  try {
    const packageFile = createRequire(import.meta.url).resolve("@graphprotocol/gnd-linux-x64/package.json");
    const binary = join(dirname(packageFile), "bin", "gnd");
    return process.platform === "linux" && process.arch === "x64" && existsSync(binary) ? binary : null;
  } catch {
    return null;
  }
}

/** Way out if `findGraphNode` returns null. */
export const NO_GRAPH_NODE = `npm has graph-node for linux-x64 only, and this is ${process.platform}-${process.arch}. Run it in a linux-x64 container or machine, or deploy subgraph/ to a graph-node of your own.`;

/** Builds the subgraph for a deployment into `target`, which must not exist; without one, with addresses of 0. */
export async function buildFor(
  deployed: Deployed | null,
  network: string,
  target: string,
  signal?: AbortSignal,
): Promise<void> {
  await cp(await compiled(signal), target, { recursive: true });
  await writeFile(join(target, "subgraph.yaml"), manifestOf(deployed ?? nowhere, network, "build"));
}

/** Returns the folder of the newest build; builds it if the sources have changed since. */
async function compiled(signal?: AbortSignal): Promise<string> {
  const target = join(cache, await fingerprint());
  if (existsSync(target)) return target;
  const gnd = findGraphNode();
  if (gnd === null) throw new Error(`Build the subgraph: ${NO_GRAPH_NODE}`);
  await mkdir(cache, { recursive: true });
  const work = await mkdtemp(join(cache, "work-"));
  try {
    await compile(gnd, work, signal);
    await rm(target, { recursive: true, force: true });
    // Another process that built the same sources meanwhile made the same files.
    await rename(join(work, "build"), target);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  return target;
}

async function compile(gnd: string, work: string, signal?: AbortSignal): Promise<void> {
  await cp(join(source, "src"), join(work, "src"), { recursive: true });
  await cp(join(source, "schema.graphql"), join(work, "schema.graphql"));
  await writeManifest(work, "source");
  // The build looks for the AssemblyScript compiler on the path, and for its library in node_modules of a folder
  // above.
  const env = { ...process.env, PATH: `${join(root, "node_modules", ".bin")}${delimiter}${process.env["PATH"] ?? ""}` };
  for (const command of ["codegen", "build"]) {
    try {
      await run(gnd, [command, "--skip-migrations"], { cwd: work, env, timeout: BUILD_TIMEOUT_MS, signal });
    } catch (error) {
      const { stderr = "", stdout = "" } = error as { stderr?: string; stdout?: string };
      throw new Error(`Build the subgraph: gnd ${command} failed. ${stderr}${stdout}`, { cause: error });
    }
  }
}

async function writeManifest(directory: string, form: Form): Promise<void> {
  await writeFile(join(directory, "subgraph.yaml"), manifestOf(nowhere, "none", form));
  await mkdir(join(directory, "abis"));
  for (const [path, text] of Object.entries(abiFiles())) await writeFile(join(directory, path), text);
}

/** Returns a hash of everything that the build is made from. */
async function fingerprint(): Promise<string> {
  const files = globSync(["schema.graphql", "package.json", "src/**/*.ts"], { cwd: source }).toSorted();
  const hash = createHash("sha256");
  for (const file of files) hash.update(`${file}\n`).update(await readFile(join(source, file)));
  hash.update(manifestOf(nowhere, "none", "source")).update(JSON.stringify(abiFiles()));
  return hash.digest("hex").slice(0, 16);
}
