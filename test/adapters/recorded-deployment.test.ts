import assert from "node:assert/strict";
import { globSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { accessManagerAbi, agentRegistryAbi } from "@conclave/contracts/abi";
import { createPublicClient, http, keccak256, type PublicClient } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import type { Hex } from "../../agents/core/types.ts";
import { startLocalChain, type LocalChain, type LocalChainOptions } from "../../devnet/local-chain.ts";
import { deployRecorded } from "../../devnet/recorded-deployment.ts";
import { FREE } from "../../scripts/deploy/prices.ts";
import { MIN_UNBONDING_SECONDS, type Deployment } from "../../scripts/deploy/settings.ts";

const PAUSER_ROLE = 2n;

describe("a recorded deployment", () => {
  let folder: string;
  const chains: LocalChain[] = [];
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "conclave-recorded-"));
  });
  after(async () => {
    await Promise.all(chains.map((chain) => chain.stop()));
    await rm(folder, { recursive: true });
  });

  interface Deployed {
    readonly client: PublicClient;
    readonly deployment: Deployment;
    /** Hashes of the chain's transactions, by block. */
    readonly sent: readonly Hex[];
  }
  const deployOn = async (chain: LocalChain, epochBlocks = 32): Promise<Deployed> => {
    const account = privateKeyToAccount(chain.accounts[0]!.privateKey);
    const terms = { token: null, minStake: 1n, maxStake: 16n, unbondingDelaySeconds: MIN_UNBONDING_SECONDS };
    const options = { ...terms, rpcUrl: chain.rpcUrl, account, epochBlocks, prices: FREE } as const;
    const deployment = await deployRecorded({ ...options, buildProfile: "default" }, folder);
    const client = createPublicClient({ transport: http(chain.rpcUrl) });
    const last = Number(await client.getBlockNumber());
    const blocks = await Promise.all(
      Array.from({ length: last }, (_, index) => client.getBlock({ blockNumber: BigInt(index + 1) })),
    );
    return { client, deployment, sent: blocks.flatMap(({ transactions }) => transactions) };
  };
  const onFreshChain = async (options: LocalChainOptions = {}, epochBlocks?: number): Promise<Deployed> => {
    const chain = await startLocalChain(options);
    chains.push(chain);
    return deployOn(chain, epochBlocks);
  };
  const recordings = (): readonly string[] => globSync("*/*.json", { cwd: folder });
  const recordedHashes = async (): Promise<readonly Hex[]> => {
    const [name = ""] = recordings();
    const { transactions } = JSON.parse(await readFile(join(folder, name), "utf8")) as { transactions: Hex[] };
    return transactions.map((raw) => keccak256(raw));
  };

  it("gives a second chain what Ignition gave the first", async () => {
    const first = await onFreshChain();
    const second = await onFreshChain();
    assert.deepEqual(second.deployment, first.deployment);
    const hashes = await recordedHashes();
    assert.ok(hashes.length > 6);
    assert.deepEqual(second.sent, hashes);
    assert.ok(!first.sent.some((hash) => hashes.includes(hash)), "the first chain has what was recorded, not replayed");
    for (const name of ["token", "accessManager", "registry", "oracle", "settlement", "slasher"] as const) {
      const address = first.deployment[name];
      const [code, same] = await Promise.all([first.client.getCode({ address }), second.client.getCode({ address })]);
      assert.ok(code !== undefined && code.length > 100, name);
      assert.equal(same, code, name);
      // The access manager's holds the times at which roles were granted.
      if (name === "accessManager") continue;
      const [proof, other] = await Promise.all(
        [first, second].map(({ client }) => client.getProof({ address, storageKeys: [] })),
      );
      assert.equal(other?.storageHash, proof?.storageHash, name);
    }
    const [account] = chains[0]!.accounts;
    for (const role of [0n, PAUSER_ROLE]) {
      const args = [role, account!.address] as const;
      const call = { address: second.deployment.accessManager, abi: accessManagerAbi, functionName: "hasRole", args };
      assert.deepEqual(await second.client.readContract(call as never), [true, 0]);
    }
  });

  it("fits a chain that makes blocks by itself and is as high as it likes", async () => {
    const chain = await startLocalChain({ blockTimeSeconds: 1 });
    chains.push(chain);
    await chain.nextEpoch(500);
    const { deployment, sent } = await deployOn(chain);
    assert.ok(deployment.deploymentBlock >= 500);
    assert.deepEqual(sent, await recordedHashes());
  });

  it("is of its settings alone", async () => {
    assert.equal(recordings().length, 1);
    const { client, deployment } = await onFreshChain({}, 48);
    const call = { address: deployment.registry, abi: agentRegistryAbi, functionName: "epochBlocks" };
    assert.equal(Number(await client.readContract(call as never)), 48);
    assert.equal(recordings().length, 2);
  });

  it("refuses an account that has sent something: all addresses would be others", async () => {
    await assert.rejects(deployOn(chains[0]!), /has sent \d+ transactions; use `deploy`/);
  });

  it("is made again if its file is no JSON, and named by an error if the chain refuses it", async () => {
    const name = recordings().find((one) => one !== "") ?? "";
    const file = join(folder, name);
    const text = await readFile(file, "utf8");
    await writeFile(file, text.slice(0, -9));
    await onFreshChain({}, 32);
    await onFreshChain({}, 48);
    assert.deepEqual(Object.keys(JSON.parse(await readFile(file, "utf8")) as object), ["deployment", "transactions"]);
    for (const one of recordings()) await writeFile(join(folder, one), text.replace(/"0x02[0-9a-f]{9}/, '"0x02'));
    await assert.rejects(
      onFreshChain(),
      /Deploy from a recording: transaction 0 of .*\.json was refused \(.*delete the file/s,
    );
  });
});
