// Hardhat's artifacts, compiled if they are missing or older than the sources.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync } from "node:fs";
import { readFile, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";

import type { Abi, Hex } from "viem";
import { withLock } from "./lock.ts";

/** Places where the constructor writes into the runtime code, by the compiler's id of the variable. */
export type ImmutableReferences = Readonly<
  Record<string, readonly { readonly start: number; readonly length: number }[]>
>;

/** A file of Hardhat's artifacts. */
export interface Artifact {
  readonly _format: string;
  readonly contractName: string;
  readonly sourceName: string;
  readonly abi: Abi;
  readonly bytecode: Hex;
  readonly deployedBytecode: Hex;
  readonly immutableReferences?: ImmutableReferences;
  readonly buildInfoId: string;
  /** The contract's name in the compiler's input. */
  readonly inputSourceName: string;
}

export type BuildProfile = "default" | "production";

const root = join(import.meta.dirname, "../../..");
const lock = join(root, "cache", "conclave-build.lock");
const stamp = join(root, "cache", "conclave-build.stamp");

/**
 * Reads the artifacts, which are built first if they are old. An abort ends the build.
 * @param names e.g. "contracts/Slasher.sol:Slasher"
 */
export async function loadArtifacts(
  names: readonly string[],
  profile: BuildProfile,
  signal?: AbortSignal,
): Promise<readonly Artifact[]> {
  if (profile !== "production" && (await areFresh(names, profile))) return readArtifacts(names);
  // One build at a time, because test files run in parallel processes; and no other profile is built before these
  // artifacts are read.
  return withLock(lock, async () => {
    // Only Hardhat knows which profile made the artifacts: it builds what differs.
    if (profile === "production" || !(await areFresh(names, profile))) await build(profile, signal);
    return readArtifacts(names);
  });
}

function readArtifacts(names: readonly string[]): Promise<readonly Artifact[]> {
  return Promise.all(names.map(async (name) => JSON.parse(await readFile(pathOf(name), "utf8")) as Artifact));
}

/** Returns the runtime code as the compiler made it, with zeros where the constructor wrote immutables. */
export function maskImmutables(code: Hex, references: ImmutableReferences = {}): Hex {
  const bytes = Buffer.from(code.slice(2), "hex");
  for (const { start, length } of Object.values(references).flat()) bytes.subarray(start, start + length).fill(0);
  return `0x${bytes.toString("hex")}`;
}

function pathOf(name: string): string {
  const [file = "", contract = ""] = name.split(":");
  return join(root, "artifacts", file, `${contract}.json`);
}

/**
 * True if nothing has to be compiled. Hardhat does not touch unchanged artifacts, so their age says nothing; a stamp
 * says when Hardhat last checked, and with which profile.
 */
export async function areFresh(names: readonly string[], profile: BuildProfile): Promise<boolean> {
  const built = await Promise.all(names.map((name) => modifiedMs(pathOf(name))));
  const sources = [...globSync("contracts/**/*.sol", { cwd: root }), ...names.map((name) => name.replace(/:.*/, ""))];
  const written = await Promise.all(sources.map((path) => modifiedMs(join(root, path))));
  const last = await readFile(stamp, "utf8").catch(() => null);
  return last === profile && !built.includes(0) && (await modifiedMs(stamp)) > Math.max(...written);
}

async function modifiedMs(path: string): Promise<number> {
  const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: 0 }));
  return mtimeMs;
}

async function build(profile: BuildProfile, signal?: AbortSignal): Promise<void> {
  const started = new Date();
  // Without a stamp nobody takes the artifacts for a profile's, until the build succeeds.
  await rm(stamp, { force: true });
  const hardhat = join(root, "node_modules", ".bin", "hardhat");
  // Solidity's tests take the compiler longer than all contracts, and nobody loads them from here.
  const args = [hardhat, "build", "--no-tests", "--build-profile", profile];
  const child = spawn(process.execPath, args, { cwd: root, stdio: ["ignore", "pipe", "pipe"], signal });
  const output: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => output.push(chunk.toString()));
  // Nobody would use what it builds after this process has ended.
  const kill = (): boolean => child.kill();
  process.once("exit", kill);
  const [code] = (await once(child, "close")) as [number | null];
  process.off("exit", kill);
  if (code !== 0) throw new Error(`Build the contracts: hardhat ended with code ${code}\n${output.join("")}`);
  await writeFile(stamp, profile);
  await utimes(stamp, started, started);
}
