import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { text } from "node:stream/consumers";

import { privateKeyToAccount } from "viem/accounts";
import { createOperatorActions } from "../../agents/adapters/chain/operator.ts";
import { createChainReader } from "../../agents/adapters/chain/reader.ts";
import type { AgentId } from "../../agents/core/types.ts";
import { MIN_UNBONDING_SECONDS, deploy, type Deployment } from "../../scripts/lib/deploy.ts";
import { startLocalChain, type LocalChain } from "../../scripts/lib/local-chain.ts";
import { rejects, until } from "./chain.suite.ts";

const script = join(import.meta.dirname, "..", "..", "scripts", "deploy.ts");

describe("deploy", () => {
  let chain: LocalChain;
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "conclave-deploy-"));
    chain = await startLocalChain();
    await writeFile(join(folder, "key.env"), `CONCLAVE_DEPLOYER_KEY=${chain.accounts[3]?.privateKey}\n`);
  });
  after(async () => {
    await chain.stop();
    await rm(folder, { recursive: true });
  });

  const run = async (
    ...args: readonly string[]
  ): Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }> => {
    const { CONCLAVE_DEPLOYER_KEY: _, ...env } = process.env;
    const usual = ["--rpc", chain.rpcUrl, "--profile", "default", "--json"];
    const child = spawn(process.execPath, [script, ...usual, ...args], { env, stdio: ["ignore", "pipe", "pipe"] });
    const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
    return { code: code as number, stdout, stderr };
  };
  const codeOf = ({ stdout }: { readonly stdout: string }): unknown =>
    (JSON.parse(stdout) as { readonly error: { readonly code: string } }).error.code;

  it("writes addresses that a reader accepts, and never overwrites them", async () => {
    const file = join(folder, "out.json");
    const args = ["--test-token", "--key-file", join(folder, "key.env"), "--out", file];
    const first = await run(...args, "--admin", chain.accounts[4]?.address ?? "");
    assert.equal(first.code, 0, first.stderr);
    const deployment = JSON.parse(await readFile(file, "utf8")) as Deployment;
    assert.deepEqual(JSON.parse(first.stdout), deployment);
    const { chainId, oracle, registry, deploymentBlock } = deployment;
    const reader = await createChainReader({
      rpcUrl: chain.rpcUrl,
      chainId,
      oracle,
      registry,
      deploymentBlock: BigInt(deploymentBlock),
      finalityDepth: 0,
      pollIntervalMs: 100,
    });
    assert.deepEqual(await reader.agents(), []);

    const second = await run(...args);
    assert.equal(second.code, 2);
    assert.equal(codeOf(second), "USAGE");
    assert.deepEqual(JSON.parse(await readFile(file, "utf8")), deployment);
  });

  it("says what is missing", async () => {
    const elsewhere = ["--out", join(folder, "none.json")];
    assert.equal(codeOf(await run(...elsewhere)), "USAGE");
    assert.equal(codeOf(await run(...elsewhere, "--test-token")), "USAGE");
    assert.equal(codeOf(await run(...elsewhere, "--token", `0x${"12".repeat(20)}`)), "CHAIN_NO_CONTRACT");
    assert.equal((await run("--private-key", "0x1")).code, 2);
  });

  it("works on Hardhat's chain, where the platform has no anvil", async () => {
    const hardhat = await startLocalChain({ engine: "hardhat", blockTimeSeconds: 0.2 });
    try {
      const account = privateKeyToAccount(hardhat.accounts[0]?.privateKey ?? "0x");
      const terms = {
        token: null,
        minStake: 1n,
        maxStake: 16n,
        unbondingDelaySeconds: MIN_UNBONDING_SECONDS,
        epochBlocks: 8,
        buildProfile: "default",
      } as const;
      const { oracle, registry } = await deploy({ rpcUrl: hardhat.rpcUrl, account, ...terms });
      const options = { rpcUrl: hardhat.rpcUrl, chainId: hardhat.chainId, oracle, registry };
      const operator = await createOperatorActions({ ...options, account, receiptPollMs: 50 });
      await rejects(operator.bond(1 as AgentId, 1n), "STAKE_MISSING");
      await rejects(operator.startUnbonding(1 as AgentId, 1n), "AGENT_NOT_REGISTERED", "UnknownAgent");
      const reader = await createChainReader({ ...options, finalityDepth: 1, pollIntervalMs: 50 });
      const { number } = await reader.head();
      await until(async () => (await reader.head()).number > number);
    } finally {
      await hardhat.stop();
    }
  });
});
