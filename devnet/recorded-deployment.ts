// Deploys on fresh local chains: Ignition the first time, and then the transactions that it sent. That takes a tenth of
// its processor time, which tests pay for each of their chains.
import { createHash, randomUUID } from "node:crypto";
import { globSync } from "node:fs";
import { mkdir, readFile, readdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createPublicClient, http, type LocalAccount, type PublicClient } from "viem";
import { loadArtifacts } from "../agents/adapters/artifacts/artifacts.ts";
import { receiptOf } from "../agents/adapters/chain/receipt.ts";
import { parseJson } from "../agents/adapters/json.ts";
import { messageOf } from "../agents/core/errors.ts";
import type { Hex } from "../agents/core/types.ts";
import { contracts, protocolBitmap, type DeployOptions, type Deployment } from "../scripts/deploy/settings.ts";

export type RecordedOptions = Omit<DeployOptions, "directory" | "progress">;

interface Recording {
  readonly deployment: Deployment;
  /** Signed, in the order of their nonces. */
  readonly transactions: readonly Hex[];
}

const root = join(import.meta.dirname, "..");
const RECORDINGS = join(root, ".cache/deployments");
/** What decides which transactions a deployment sends, beside its options and the contracts' code. */
const SOURCES = ["ignition/modules/*.ts", "scripts/deploy/*.ts", "devnet/recorded-deployment.ts"];
/** Recordings of a build are deleted so long after the newest of them was made. */
const KEPT_MS = 7 * 86_400_000;
/** A slot that was empty when the transaction was recorded may cost more on a chain with another height. */
const SPARE_GAS = 200_000n;
/** The base fee of a local chain begins with 1 gwei. */
const FEES = { maxFeePerGas: 100_000_000_000n, maxPriorityFeePerGas: 1_000_000_000n };
const RECEIPT_POLL_MS = 5;

/**
 * Deploys as `deploy` does, on a local chain on which the account has sent nothing. May be called many times at once, by many processes.
 * @param folder where the recordings are
 * @throws what `deploy` throws, and an Error if the account has sent something or the chain refuses a recorded transaction
 */
export async function deployRecorded(options: RecordedOptions, folder: string = RECORDINGS): Promise<Deployment> {
  const client = createPublicClient({ transport: http(options.rpcUrl) });
  const nonce = await client.getTransactionCount({ address: options.account.address, blockTag: "pending" });
  if (nonce !== 0)
    throw new Error(
      `Deploy from a recording: ${options.account.address} has sent ${nonce} transactions; use \`deploy\``,
    );
  const { build, name } = await keyOf(options);
  const file = join(folder, build, `${name}.json`);
  const text = await readFile(file, "utf8").catch(() => null);
  const recording = text === null ? undefined : (parseJson(text) as Recording | undefined);
  return recording === undefined ? record(options, client, folder, file) : replay(recording, client, file);
}

/** Two runs with the same key send the same transactions. */
async function keyOf({ rpcUrl: _, account, ...terms }: RecordedOptions) {
  const artifacts = await loadArtifacts(Object.values(contracts), terms.buildProfile);
  const paths = SOURCES.flatMap((pattern) => globSync(pattern, { cwd: root })).toSorted();
  const sources = await Promise.all(paths.map((path) => readFile(join(root, path), "utf8")));
  const code = artifacts.map(({ bytecode }) => bytecode);
  const plain = (_name: string, value: unknown): unknown => (typeof value === "bigint" ? `${value}n` : value);
  const digestOf = (value: unknown): string => createHash("sha256").update(JSON.stringify(value, plain)).digest("hex");
  return {
    build: digestOf([code, sources, protocolBitmap()]),
    name: digestOf([account.address, Object.entries(terms).toSorted(([a], [b]) => (a < b ? -1 : 1))]),
  };
}

async function record(
  options: RecordedOptions,
  client: PublicClient,
  folder: string,
  file: string,
): Promise<Deployment> {
  const { deploy } = await import("../scripts/deploy/deployment.ts");
  const deployment = await deploy(options);
  const transactions = await sentBy(options.account, client, deployment);
  await mkdir(dirname(file), { recursive: true });
  // Written whole or not at all: another process, or another chain of this one, may read it now, or write the same.
  const part = `${file}.${randomUUID()}`;
  await writeFile(part, JSON.stringify({ deployment, transactions } satisfies Recording));
  await rename(part, file);
  await removeOld(folder);
  return deployment;
}

/** Signs what the account has sent since the deployment began, with fees and gas that suffice on any fresh local chain. */
async function sentBy(account: LocalAccount, client: PublicClient, deployment: Deployment): Promise<readonly Hex[]> {
  const signed: Hex[] = [];
  const last = await client.getBlockNumber();
  for (let blockNumber = BigInt(deployment.deploymentBlock) + 1n; blockNumber <= last; blockNumber++) {
    const { transactions } = await client.getBlock({ blockNumber, includeTransactions: true });
    for (const { from, to, input: data, gas, nonce } of transactions.toSorted((a, b) => a.nonce - b.nonce)) {
      if (from.toLowerCase() !== account.address.toLowerCase()) continue;
      const sent = { chainId: deployment.chainId, type: "eip1559", to, data, nonce, gas: gas + SPARE_GAS } as const;
      signed.push(await account.signTransaction({ ...sent, ...FEES }));
    }
  }
  return signed;
}

async function replay(recording: Recording, client: PublicClient, file: string): Promise<Deployment> {
  const { transactions, deployment } = recording;
  const deploymentBlock = Number(await client.getBlockNumber());
  for (const [nonce, serializedTransaction] of transactions.entries()) {
    const refused = (why: string): Error =>
      new Error(`Deploy from a recording: transaction ${nonce} of ${file} ${why}; delete the file`);
    const hash = await client.sendRawTransaction({ serializedTransaction }).catch((error: unknown) => {
      throw refused(`was refused (${messageOf(error)})`);
    });
    const { status } = await receiptOf(client, hash, RECEIPT_POLL_MS);
    if (status !== "success") throw refused("reverted");
  }
  return { ...deployment, deploymentBlock };
}

async function removeOld(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    const written = await stat(path).catch(() => null);
    if (written !== null && Date.now() - written.mtimeMs > KEPT_MS) await rm(path, { recursive: true, force: true });
  }
}
