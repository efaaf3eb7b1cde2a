// A chain on a free port of 127.0.0.1: anvil where npm has it (linux-x64), otherwise Hardhat's.
import type { ChildProcess } from "node:child_process";
import { pbkdf2Sync } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { HDKey } from "viem/accounts";
import { keysFromPrivateKey } from "../agents/adapters/keystore/keys.ts";
import { bytesToHex } from "../agents/core/encoding/bytes.ts";
import type { Address, Hex } from "../agents/core/types.ts";
import { spawnGuarded } from "../scripts/shared/guarded-child.ts";

export interface LocalChain {
  readonly engine: "anvil" | "hardhat";
  readonly rpcUrl: string;
  readonly chainId: number;
  /** Funded accounts; their keys are public. */
  readonly accounts: readonly { readonly address: Address; readonly privateKey: Hex }[];
  /**
   * Mines up to the first block of the next epoch, for epochs of that many blocks. Agents that registered before can
   * then be drawn, and the draw has the whole epoch.
   */
  nextEpoch(epochBlocks: number): Promise<void>;
  /** Idempotent. */
  stop(): Promise<void>;
}

export interface LocalChainOptions {
  /** Interval of blocks, beside one block for each transaction. Without it only transactions make blocks. */
  readonly blockTimeSeconds?: number;
  readonly engine?: "anvil" | "hardhat";
  /** Number of funded accounts; 20 by default. */
  readonly accounts?: number;
  /** 0, the default, takes a free port. */
  readonly port?: number;
  /** File from which the chain goes on, if it exists, and which keeps the chain; anvil only. */
  readonly stateFile?: string;
}

const CHAIN_ID = 31_337;
const DEFAULT_ACCOUNTS = 20;
/** The development mnemonic of anvil and Hardhat. */
const MNEMONIC = "test test test test test test test test test test test junk";
/** How much of the chain a crash can lose. */
const STATE_INTERVAL_SECONDS = 5;
/** It takes a tenth of a second, and much longer on a machine that has no time for it. */
const START_TIMEOUT_MS = 300_000;
const STOP_TIMEOUT_MS = 3_000;

export async function startLocalChain(options: LocalChainOptions = {}): Promise<LocalChain> {
  const anvil = findAnvil();
  const engine = options.engine ?? (anvil === null ? "hardhat" : "anvil");
  if (engine === "hardhat") return startHardhat(options);
  if (anvil === null)
    throw new Error("Start anvil: there is no @foundry-rs/anvil package for this platform; use the hardhat engine");
  return startAnvil(anvil, options);
}

function findAnvil(): string | null {
  try {
    const packageFile = createRequire(import.meta.url).resolve("@foundry-rs/anvil-linux-amd64/package.json");
    const binary = join(dirname(packageFile), "bin", "anvil");
    return process.platform === "linux" && process.arch === "x64" && existsSync(binary) ? binary : null;
  } catch {
    return null;
  }
}

async function startAnvil(binary: string, options: LocalChainOptions): Promise<LocalChain> {
  const { blockTimeSeconds, accounts = DEFAULT_ACCOUNTS, port = 0, stateFile } = options;
  const place = ["--host", "127.0.0.1", "--port", String(port), "--chain-id", String(CHAIN_ID)];
  const funded = ["--accounts", String(accounts), "--mnemonic", MNEMONIC];
  const mining = blockTimeSeconds === undefined ? [] : ["--block-time", String(blockTimeSeconds), "--mixed-mining"];
  const kept =
    stateFile === undefined ? [] : ["--state", stateFile, "--state-interval", String(STATE_INTERVAL_SECONDS)];
  // anvil writes older states there, up to some MB a block, and never removes them: by default into the user's home.
  const scratch = await mkdtemp(join(tmpdir(), "conclave-anvil-"));
  const flags = [...place, ...funded, ...mining, ...kept, "--cache-path", scratch];
  const guarded = spawnGuarded(binary, flags, { signal: "TERM", output: ["pipe", "ignore"], scratch });
  const child = guarded.process;
  try {
    const rpcUrl = `http://${await listeningAddress(child)}`;
    return {
      engine: "anvil",
      rpcUrl,
      chainId: CHAIN_ID,
      accounts: developmentAccounts(accounts),
      nextEpoch: (epochBlocks) => nextEpoch(rpcUrl, epochBlocks),
      stop: guarded.stop,
    };
  } catch (error) {
    await guarded.stop();
    throw error;
  }
}

/** Waits for "Listening on 127.0.0.1:PORT", which anvil prints when it is ready; drops the rest of its output. */
async function listeningAddress(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error("Start anvil: its output is not readable");
  const lines = createInterface({ input: child.stdout });
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new Error(`Start anvil: it is not ready after ${START_TIMEOUT_MS / 1000} s`)),
      START_TIMEOUT_MS,
    );
    const fail = (error: Error): void => {
      clearTimeout(timer);
      reject(error);
    };
    child.once("error", fail);
    child.once("exit", (code) => fail(new Error(`Start anvil: it ended with code ${code}`)));
    lines.on("line", (line) => {
      const address = /^Listening on (127\.0\.0\.1:\d+)/.exec(line)?.[1];
      if (address === undefined) return;
      clearTimeout(timer);
      resolve(address);
    });
  });
}

async function startHardhat(options: LocalChainOptions): Promise<LocalChain> {
  const { blockTimeSeconds, accounts = DEFAULT_ACCOUNTS, port: wanted = 0, stateFile } = options;
  if (stateFile !== undefined) throw new Error("Start Hardhat's chain: it keeps no state; use anvil, or keep none");
  const { network } = await import("hardhat");
  const interval = blockTimeSeconds === undefined ? 0 : Math.round(blockTimeSeconds * 1000);
  const override = {
    chainId: CHAIN_ID,
    allowBlocksWithSameTimestamp: true,
    mining: { auto: true, interval },
    accounts: { mnemonic: MNEMONIC, count: accounts },
  };
  const server = await network.createServer({ network: "default", override }, "127.0.0.1", wanted);
  const { address, port } = await server.listen();
  let closing: Promise<void> | null = null;
  // Keep-alive connections of clients would keep the server open.
  const stop = (): Promise<void> =>
    (closing ??= Promise.race([server.close(), sleep(STOP_TIMEOUT_MS, undefined, { ref: false })]));
  const rpcUrl = `http://${address}:${port}`;
  return {
    engine: "hardhat",
    rpcUrl,
    chainId: CHAIN_ID,
    accounts: developmentAccounts(accounts),
    nextEpoch: (epochBlocks) => nextEpoch(rpcUrl, epochBlocks),
    stop,
  };
}

/** Anvil accepts Hardhat's name of the method, too. */
async function nextEpoch(rpcUrl: string, epochBlocks: number): Promise<void> {
  const call = async (method: string, params: readonly unknown[]): Promise<unknown> => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const answer = await fetch(rpcUrl, { method: "POST", headers: { "content-type": "application/json" }, body });
    const { result, error } = (await answer.json()) as { readonly result?: unknown; readonly error?: unknown };
    if (error !== undefined) throw new Error(`Mine an epoch: ${method} failed with ${JSON.stringify(error)}`);
    return result;
  };
  const blocks = epochBlocks - (Number(await call("eth_blockNumber", [])) % epochBlocks);
  await call("hardhat_mine", [`0x${blocks.toString(16)}`]);
}

function developmentAccounts(length: number): LocalChain["accounts"] {
  // By hand, for speed: viem would derive the seed of BIP 39 and the path above the accounts again for each of them.
  const parent = HDKey.fromMasterSeed(pbkdf2Sync(MNEMONIC, "mnemonic", 2_048, 64, "sha512")).derive("m/44'/60'/0'/0");
  return Array.from({ length }, (_, index) => {
    const key = parent.deriveChild(index).privateKey;
    if (key === null) throw new Error("Derive a development account: it has no private key");
    const { address } = keysFromPrivateKey(Uint8Array.from(key));
    return { address, privateKey: bytesToHex(Uint8Array.from(key)) };
  });
}
