// Runs a Kubo daemon on a new repository that talks to this machine alone.
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { spawnGuarded, type GuardedChild } from "../shared/guarded-child.ts";

export interface Kubo {
  /** URL of the RPC on 127.0.0.1. */
  readonly url: string;
  /** URL of the trustless and other gateways on 127.0.0.1. */
  readonly gatewayUrl: string;
  /** Folder of its blocks and config. */
  readonly repository: string;
  /** Runs `ipfs` on the daemon; resolves with its standard output. */
  ipfs(...args: readonly string[]): Promise<Buffer>;
  /** Stops the daemon and removes the repository. */
  stop(): Promise<void>;
}

const run = promisify(execFile);
const START_TIMEOUT_MS = 60_000;
const MAX_OUTPUT_BYTES = 1 << 28;
const KEPT_LINES = 30;

/**
 * Configures Kubo as for its own tests: no routing, no bootstrap nodes, no discovery, no telemetry, free ports of
 * 127.0.0.1.
 */
const PROFILES = "test,autoconf-off";
const settings: readonly (readonly [key: string, value: string])[] = [
  ["Routing.Type", '"none"'],
  ["AutoTLS.Enabled", "false"],
  ["Plugins.Plugins.telemetry.Disabled", "true"],
];

export async function startKubo(binary: string): Promise<Kubo> {
  const repository = await mkdtemp(join(tmpdir(), "conclave-kubo-"));
  const env = { ...process.env, IPFS_PATH: repository, IPFS_TELEMETRY: "off" };
  const ipfs: Kubo["ipfs"] = async (...args) =>
    (await run(binary, args, { env, encoding: "buffer", maxBuffer: MAX_OUTPUT_BYTES })).stdout;
  const removeAll = (): Promise<void> => rm(repository, { recursive: true, force: true, maxRetries: 5 });
  try {
    await ipfs("init", "--profile", PROFILES, "--empty-repo");
    for (const [key, value] of settings) await ipfs("config", "--json", key, value);
    const child = spawnGuarded(binary, ["daemon"], { signal: "TERM", output: ["pipe", "pipe"], env });
    try {
      await readiness(child);
      const stop = async (): Promise<void> => {
        await child.stop();
        await removeAll();
      };
      const gatewayUrl = (await readFile(join(repository, "gateway"), "utf8")).trim();
      return { url: await apiUrl(repository), gatewayUrl, repository, ipfs, stop };
    } catch (error) {
      await child.stop();
      throw error;
    }
  } catch (error) {
    await removeAll();
    throw error;
  }
}

/** Reads all output, so that the daemon never waits for a reader. */
async function readiness({ process: { stdout, stderr } }: GuardedChild): Promise<void> {
  const said: string[] = [];
  await new Promise<void>((settle, reject) => {
    const fail = (): void => {
      clearTimeout(timer);
      reject(new Error(`Start Kubo: it is not ready.\n${said.join("\n")}`));
    };
    const timer = setTimeout(fail, START_TIMEOUT_MS);
    for (const stream of [stdout, stderr]) {
      if (stream === null) throw new Error("Start Kubo: its output is not readable");
      createInterface({ input: stream }).on("line", (line) => {
        if (said.length < KEPT_LINES) said.push(line);
        if (!line.includes("Daemon is ready")) return;
        clearTimeout(timer);
        settle();
      });
    }
    stdout?.once("close", fail);
  });
}

/** Returns the URL of the RPC from the address in its repository: /ip4/127.0.0.1/tcp/PORT. */
async function apiUrl(repository: string): Promise<string> {
  const address = (await readFile(join(repository, "api"), "utf8")).trim();
  const [, host, port] = /^\/ip4\/([\d.]+)\/tcp\/(\d+)$/.exec(address) ?? [];
  if (host !== "127.0.0.1" || port === undefined) throw new Error(`Start Kubo: it listens on ${address}`);
  return `http://${host}:${port}`;
}
