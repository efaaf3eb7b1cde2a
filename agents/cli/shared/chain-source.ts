import { existsSync, globSync } from "node:fs";
import { join, resolve } from "node:path";
import type { ReaderOptions } from "../../adapters/chain/reader.ts";
import { readChainId } from "../../adapters/chain/terms.ts";
import { ConclaveError } from "../../core/errors.ts";
import { MAX_FEE_PER_GAS_GWEI, MAX_PRIORITY_FEE_PER_GAS_GWEI } from "../../ports/chain.ts";
import type { Address } from "../../core/types.ts";
import { chainConfigSchema } from "../../node/config.ts";
import { parseAddress, parseInteger, usage } from "./arguments.ts";
import type { CliHost, OptionSpec } from "./command.ts";
import {
  CONFIG_FILE,
  DEFAULT_DIR,
  loadAgentConfig,
  readDeployment,
  type AgentChainConfig,
  type DeploymentFile,
} from "./config.ts";

export interface ChainFlags {
  readonly dir?: string;
  readonly deployment?: string;
  readonly rpc?: string;
  readonly chainId?: string;
  readonly oracle?: string;
  readonly registry?: string;
  /** Of commands that send transactions. */
  readonly maxFeePerGas?: string;
}

export const deploymentFlag: OptionSpec = {
  flags: "--deployment <file>",
  description:
    "take the contracts from a deployment file; also the variable CONCLAVE_DEPLOYMENT (default: the only file in ./deployments)",
};
export const rpcFlag: OptionSpec = {
  flags: "--rpc <url>",
  description: "HTTP JSON-RPC of the chain; also the variable CONCLAVE_RPC",
};

/** Flags that name the chain and the contracts, for commands that need no agent. */
export const chainFlags: readonly OptionSpec[] = [
  { flags: "--dir <dir>", description: "take the chain from an agent's folder" },
  deploymentFlag,
  rpcFlag,
  { flags: "--chain-id <number>", description: "expected chain id" },
  { flags: "--oracle <address>", description: "address of the DecisionOracle" },
  { flags: "--registry <address>", description: "address of the AgentRegistry" },
];

/** Where a local chain listens unless somebody says otherwise. */
export const LOCAL_RPC = "http://127.0.0.1:8545";
export const LOCAL_CHAIN = 31_337;
const MAX_CHAIN_ID = Number.MAX_SAFE_INTEGER;

/**
 * Finds the chain: flags override files, and an agent's folder overrides a deployment. Throws CONFIG_MISSING or
 * CONFIG_INVALID.
 */
export async function findChain(flags: ChainFlags, host: CliHost): Promise<ReaderOptions> {
  const chain = await findChainConfig(flags, host);
  return chainSource(chain);
}

export function chainSource(chain: AgentChainConfig): ReaderOptions {
  const { oracle, registry, deploymentBlock, maxFeePerGasGwei, maxPriorityFeePerGasGwei } = chain;
  return {
    ...chain,
    oracle: oracle.toLowerCase() as Address,
    registry: registry.toLowerCase() as Address,
    deploymentBlock: BigInt(deploymentBlock),
    maxFeePerGas: weiOf(maxFeePerGasGwei),
    maxPriorityFeePerGas: weiOf(maxPriorityFeePerGasGwei),
  };
}

function weiOf(gwei: number): bigint {
  return BigInt(Math.round(gwei * 1e9));
}

/** Reads what flags and the variable say of the chain by themselves, before a file or a node is asked. Throws USAGE or CONFIG_INVALID. */
export function readChainFlags(flags: ChainFlags, { environment }: CliHost) {
  const { rpc, chainId, oracle, registry, maxFeePerGas } = flags;
  const rpcUrl = rpc ?? environment["CONCLAVE_RPC"];
  if (rpcUrl !== undefined) requireHttp(rpcUrl);
  return {
    rpcUrl,
    chainId: chainId === undefined ? undefined : parseChainId(chainId),
    oracle: oracle === undefined ? undefined : parseAddress(oracle, "--oracle"),
    registry: registry === undefined ? undefined : parseAddress(registry, "--registry"),
    maxFeePerGasGwei: maxFeePerGas === undefined ? undefined : parseMaxFeePerGas(maxFeePerGas),
  };
}

function parseMaxFeePerGas(text: string): number {
  const { success, data } = chainConfigSchema.shape.maxFeePerGasGwei.safeParse(/^[\d.]+$/.test(text) && Number(text));
  if (!success) throw usage("--max-fee-per-gas", text, "give gwei, from 0.001 to 1000000");
  return data;
}

function requireHttp(rpcUrl: string): void {
  if (URL.canParse(rpcUrl) && /^https?:/.test(rpcUrl)) return;
  throw new ConclaveError(
    "CONFIG_INVALID",
    "Read the RPC URL: it is no http or https URL; correct --rpc or CONCLAVE_RPC",
    { field: "rpc" },
  );
}

/** Finds the chain as `findChain` does, in the form of the config file. */
export async function findChainConfig(flags: ChainFlags, host: CliHost): Promise<AgentChainConfig> {
  const given = readChainFlags(flags, host);
  const base = await findBase(flags, host);
  const rpcUrl = given.rpcUrl ?? base?.rpcUrl ?? (base?.chainId === LOCAL_CHAIN ? LOCAL_RPC : undefined);
  const oracle = given.oracle ?? base?.oracle;
  const registry = given.registry ?? base?.registry;
  if (rpcUrl === undefined) throw missing("--rpc URL (or the variable CONCLAVE_RPC)");
  requireHttp(rpcUrl);
  if (oracle === undefined) throw missing("--oracle ADDRESS");
  if (registry === undefined) throw missing("--registry ADDRESS");
  const chainId = given.chainId ?? base?.chainId ?? (await readChainId(rpcUrl, host.signal));
  const { finalityDepth, pollIntervalMs, maxPriorityFeePerGasGwei, ...usual } = { ...defaults, ...base };
  const maxFeePerGasGwei = given.maxFeePerGasGwei ?? usual.maxFeePerGasGwei;
  const habits = { finalityDepth, pollIntervalMs, maxFeePerGasGwei, maxPriorityFeePerGasGwei };
  return { rpcUrl, chainId, oracle, registry, deploymentBlock: base?.deploymentBlock ?? 0, ...habits };
}

/** Throws USAGE. */
export function parseChainId(text: string): number {
  return parseInteger(text, "--chain-id", 1, MAX_CHAIN_ID);
}

/** What an agent's config says and no deployment file. */
const defaults = {
  finalityDepth: 0,
  pollIntervalMs: 1_000,
  maxFeePerGasGwei: MAX_FEE_PER_GAS_GWEI,
  maxPriorityFeePerGasGwei: MAX_PRIORITY_FEE_PER_GAS_GWEI,
};

/** Files that name the chain. If there is an agent's folder, the deployment file is only compared with it. */
export interface ChainPlace {
  readonly folder: string | null;
  readonly deployment: string | null;
}

type Base = DeploymentFile & Partial<Pick<AgentChainConfig, keyof typeof defaults>>;

async function findBase(flags: ChainFlags, host: CliHost): Promise<Base | null> {
  const { folder, deployment } = findPlace(flags, host);
  if (folder !== null) return (await loadAgentConfig(join(folder, CONFIG_FILE))).chain;
  return deployment === null ? null : readDeployment(deployment);
}

/** Sorts files that are named by their chain's number by that number. */
const byNumber = new Intl.Collator("en", { numeric: true });

/** Finds the files that name the chain; none if the flags name it. Throws CONFIG_MISSING. */
export function findPlace(
  { dir, deployment, oracle, registry }: ChainFlags,
  { cwd, environment }: CliHost,
): ChainPlace {
  const named = deployment === undefined ? null : resolve(cwd, deployment);
  if (dir !== undefined) return { folder: resolve(cwd, dir), deployment: named };
  if (named !== null) return { folder: null, deployment: named };
  if (oracle !== undefined && registry !== undefined) return { folder: null, deployment: null };
  const variable = environment["CONCLAVE_DEPLOYMENT"] ?? "";
  if (variable !== "") return { folder: null, deployment: resolve(cwd, variable) };
  const own = resolve(cwd, DEFAULT_DIR);
  if (existsSync(join(own, CONFIG_FILE))) return { folder: own, deployment: null };
  const files = globSync("deployments/*.json", { cwd });
  const [only] = files;
  if (files.length > 1) throw missing(`--deployment FILE (one of ${files.toSorted(byNumber.compare).join(", ")})`);
  return { folder: null, deployment: only === undefined ? null : resolve(cwd, only) };
}

function missing(what: string): ConclaveError {
  return new ConclaveError(
    "CONFIG_MISSING",
    `Find the chain: give ${what}, or --deployment FILE (or the variable CONCLAVE_DEPLOYMENT), or --dir of an agent`,
    { field: what },
  );
}
