import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRequire } from "node:module";
import { after, before, describe, it } from "node:test";
import { text } from "node:stream/consumers";

import { accessManagerAbi } from "@conclave/contracts/abi";
import { createPublicClient, createWalletClient, http, pad, parseEther, toHex, zeroAddress } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { receiptOf } from "../../agents/adapters/chain/receipt.ts";
import { createOperatorActions } from "../../agents/adapters/chain/operator.ts";
import { createChainReader } from "../../agents/adapters/chain/reader.ts";
import type { Address, AgentId } from "../../agents/core/types.ts";
import { maskImmutables, type ImmutableReferences } from "../../agents/adapters/artifacts/artifacts.ts";
import { main } from "../../scripts/deploy/command.ts";
import { commandLine, type Flags } from "../../scripts/deploy/flags.ts";
import { readEpochBlocks } from "../../scripts/deploy/epoch.ts";
import { readPrices } from "../../scripts/deploy/price-options.ts";
import type { Step } from "../../scripts/deploy/plan.ts";
import type { Verification } from "../../scripts/deploy/verification.ts";
import { deploy, planDeployment } from "../../scripts/deploy/deployment.ts";
import { MIN_UNBONDING_SECONDS, type Deployment } from "../../scripts/deploy/settings.ts";
import { DEFAULT_PRICES } from "../../scripts/deploy/prices.ts";
import { withRpcServer, type RpcCall } from "../support/rpc-server.ts";
import { startLocalChain, type LocalChain } from "../../devnet/local-chain.ts";
import { rejects } from "./chain.suite.ts";
import { until } from "../support/until.ts";

const script = join(import.meta.dirname, "..", "..", "scripts", "deploy.ts");

const terms = {
  token: null,
  minStake: 1n,
  maxStake: 16n,
  unbondingDelaySeconds: MIN_UNBONDING_SECONDS,
  epochBlocks: 32,
  prices: DEFAULT_PRICES,
  buildProfile: "default",
} as const;

interface SolcInput {
  readonly settings: Readonly<Record<string, unknown>>;
}

interface SolcOutput {
  readonly contracts: Readonly<
    Record<
      string,
      Readonly<
        Record<
          string,
          {
            readonly evm: {
              readonly deployedBytecode: { readonly object: string; readonly immutableReferences: ImmutableReferences };
            };
          }
        >
      >
    >
  >;
}

const everyRun = ["--network", "custom", "--profile", "default", "--json"];

const solc = createRequire(import.meta.url)("solc") as { compile(input: string): string; version(): string };

describe("deploy", () => {
  let chain: LocalChain;
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "conclave-deploy-"));
    chain = await startLocalChain();
    delete process.env["CONCLAVE_DEPLOYER_KEY"];
    for (const name of ["CONCLAVE_RPC", "SEPOLIA_RPC_URL"]) process.env[name] = chain.rpcUrl;
    await writeFile(join(folder, "key.env"), `CONCLAVE_DEPLOYER_KEY=${chain.accounts[3]?.privateKey}\n`);
  });
  after(async () => {
    await chain.stop();
    await rm(folder, { recursive: true });
  });

  interface Ended {
    readonly code: number;
    readonly stdout: string;
    readonly stderr: string;
  }
  /** Runs the command in this process. */
  const run = async (...args: readonly string[]): Promise<Ended> => {
    let [stdout, stderr] = ["", ""];
    const code = await main([...everyRun, ...args], {
      stdout: { write: (printed) => (stdout += printed) },
      stderr: { write: (printed) => (stderr += printed) },
    });
    return { code, stdout, stderr };
  };
  /** Runs it in a process of its own. */
  const runAt = async (rpcUrl: string, ...args: readonly string[]): Promise<Ended> => {
    const env = { ...process.env, CONCLAVE_RPC: rpcUrl };
    const child = spawn(process.execPath, [script, ...everyRun, ...args], { env, stdio: ["ignore", "pipe", "pipe"] });
    const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
    return { code: code as number, stdout, stderr };
  };
  const codeOf = ({ stdout }: { readonly stdout: string }): unknown =>
    (JSON.parse(stdout) as { readonly error: { readonly code: string } }).error.code;

  it("writes addresses that a reader accepts, and never overwrites them", async () => {
    const file = join(folder, "out.json");
    const args = ["--test-token", "--key-file", join(folder, "key.env"), "--out", file];
    const admin = chain.accounts[4]?.address ?? "0x";
    const first = await runAt(chain.rpcUrl, ...args, "--admin", admin);
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
    const client = createPublicClient({ transport: http(chain.rpcUrl) });
    const manager = { address: deployment.accessManager, abi: accessManagerAbi } as const;
    const hasAdmin = async (account: Address) =>
      client.readContract({ ...manager, functionName: "hasRole", args: [0n, account] });
    assert.deepEqual(await hasAdmin(admin as Address), [true, 48 * 3600], "what it decides waits for two days");
    assert.deepEqual(await hasAdmin(chain.accounts[3]!.address), [false, 0], "the deployer has no say");

    const second = await run(...args);
    assert.equal(second.code, 2);
    assert.equal(codeOf(second), "USAGE");
    assert.deepEqual(JSON.parse(await readFile(file, "utf8")), deployment);
  });

  it("writes compiler inputs from which anybody can reproduce the code on the chain", async () => {
    const deployment = JSON.parse(await readFile(join(folder, "out.json"), "utf8")) as Deployment;
    const place = join(folder, "out", "verification");
    const readVerification = async (name: string): Promise<Verification> =>
      JSON.parse(await readFile(join(place, `${name}.json`), "utf8")) as Verification;
    const client = createPublicClient({ transport: http(chain.rpcUrl) });
    for (const [name, address] of Object.entries({
      ConclaveAccessManager: deployment.accessManager,
      AgentRegistry: deployment.registry,
      DecisionOracle: deployment.oracle,
      Settlement: deployment.settlement,
      Slasher: deployment.slasher,
    })) {
      const { compilerVersion, address: stated } = await readVerification(name);
      assert.deepEqual([stated, compilerVersion], [address, `v${solc.version().replace(".Emscripten.clang", "")}`]);
    }
    // One contract is enough, because compiling takes long.
    const { standardInput, contract, constructorArguments } = await readVerification("Slasher");
    const [file = "", contractName = ""] = contract.split(/:(?=\w+$)/);
    const input = JSON.parse(await readFile(join(place, standardInput), "utf8")) as SolcInput;
    const outputSelection = { [file]: { [contractName]: ["evm.deployedBytecode"] } };
    const only = { ...input, settings: { ...input.settings, outputSelection } };
    const output = JSON.parse(solc.compile(JSON.stringify(only))) as SolcOutput;
    const { object, immutableReferences } = output.contracts[file]![contractName]!.evm.deployedBytecode;
    const code = (await client.getCode({ address: deployment.slasher })) ?? "0x";
    assert.ok(code.length > 2_000);
    assert.equal(maskImmutables(code, immutableReferences), `0x${object}`);
    assert.notEqual(code, `0x${object}`);
    assert.equal(constructorArguments, pad(deployment.registry));
  });

  it("shows in a dry run what a real run does, and sends nothing", async () => {
    const file = join(folder, "dry.json");
    const args = ["--test-token", "--key-file", join(folder, "key.env"), "--out", file];
    const client = createPublicClient({ transport: http(chain.rpcUrl) });
    const block = await client.getBlockNumber();
    const dry = await run(...args, "--dry-run");
    assert.equal(dry.code, 0, dry.stderr);
    assert.equal(await client.getBlockNumber({ cacheTime: 0 }), block);
    const { steps, deployment } = JSON.parse(dry.stdout) as { steps: Step[]; deployment: Deployment };
    const created = steps.filter(({ action }) => action === "create").map(({ contract }) => contract);
    assert.deepEqual(created, ["TestToken", "ConclaveAccessManager", "AgentRegistry", "DecisionOracle", "Slasher"]);
    const [bound] = steps[2]!.args as [Record<string, unknown>];
    assert.deepEqual([bound["oracle"], bound["slasher"]], [deployment.oracle, deployment.slasher]);
    const done = await run(...args);
    assert.equal(done.code, 0, done.stderr);
    assert.deepEqual(JSON.parse(done.stdout), { ...deployment, deploymentBlock: Number(block) });
  });

  it("continues at the same addresses after it was killed at any point", async () => {
    const account = privateKeyToAccount(chain.accounts[5]!.privateKey);
    const directory = join(folder, "killed");
    const stops = ["AgentRegistry", "Slasher", "grantRole"];
    const options = { ...terms, rpcUrl: chain.rpcUrl, account, directory };
    const expected = (await planDeployment(options)).deployment;
    for (const stop of stops) {
      const progress = (line: string): void => {
        if (line.includes(stop)) throw new Error("killed");
      };
      await assert.rejects(deploy({ ...options, progress }), /killed/);
    }
    // Cuts the journal to that of a process that died after it sent a transaction but before it noted that.
    const journal = join(directory, "journal.jsonl");
    const file = await readFile(journal, "utf8");
    const lines = file.split("\n");
    const sent = lines.findLastIndex((line) => line.includes('"TRANSACTION_SEND"'));
    await writeFile(journal, `${lines.slice(0, sent).join("\n")}\n`);
    const lost: string[] = [];
    assert.deepEqual(await deploy({ ...options, progress: (line) => lost.push(line) }), expected);
    assert.ok(lost.length <= 2, lost.join());
    const client = createPublicClient({ transport: http(chain.rpcUrl) });
    for (const address of [expected.registry, expected.oracle, expected.slasher])
      assert.ok((await client.getCode({ address })) !== undefined);
    // A second run sends nothing.
    const nonce = await client.getTransactionCount({ address: account.address });
    assert.deepEqual(await deploy(options), expected);
    assert.equal(await client.getTransactionCount({ address: account.address }), nonce);
  });

  it("stops before it binds the registry to lost addresses or to other terms", async () => {
    const account = privateKeyToAccount(chain.accounts[6]!.privateKey);
    const options = { ...terms, rpcUrl: chain.rpcUrl, account, directory: join(folder, "moved") };
    const progress = (line: string): void => {
      if (line.includes("AgentRegistry")) throw new Error("killed");
    };
    await assert.rejects(deploy({ ...options, progress }), /killed/);
    const chainOf = createPublicClient({ transport: http(chain.rpcUrl) });
    const wallet = createWalletClient({ transport: http(chain.rpcUrl), account });
    const hash = await wallet.sendTransaction({ to: account.address, chain: null });
    await receiptOf(chainOf, hash);
    const error = await rejects(deploy(options), "DEPLOYMENT_UNFINISHED");
    assert.match(error.message, /sent something else/);
    await rejects(
      deploy({ ...options, account: privateKeyToAccount(chain.accounts[7]!.privateKey) }),
      "DEPLOYMENT_UNFINISHED",
    );
    for (const broken of ["", "{}", '{"deployer":"0x12","nonce":-1,"block":0}']) {
      await writeFile(join(folder, "moved", "start.json"), broken);
      assert.match((await rejects(deploy(options), "DEPLOYMENT_UNFINISHED")).message, /start\.json .*--reset/);
    }
  });

  it("says that the account cannot pay, and continues once it can", async () => {
    const account = privateKeyToAccount(`0x${"5a".repeat(32)}`);
    const options = { ...terms, rpcUrl: chain.rpcUrl, account, directory: join(folder, "poor") };
    const error = await rejects(deploy(options), "DEPLOYMENT_UNFINISHED");
    assert.match(error.message, /[Ii]nsufficient funds|gas/);
    const owner = privateKeyToAccount(chain.accounts[8]!.privateKey);
    const wallet = createWalletClient({ transport: http(chain.rpcUrl), account: owner });
    const client = createPublicClient({ transport: http(chain.rpcUrl) });
    const hash = await wallet.sendTransaction({ to: account.address, value: parseEther("10"), chain: null });
    await receiptOf(client, hash);
    const { slasher } = await deploy(options);
    assert.ok((await client.getCode({ address: slasher })) !== undefined);
  });

  it("names the missing field", async () => {
    const elsewhere = ["--out", join(folder, "none.json")];
    assert.equal(codeOf(await run(...elsewhere)), "USAGE");
    assert.equal(codeOf(await run(...elsewhere, "--test-token")), "USAGE");
    assert.equal(codeOf(await run(...elsewhere, "--token", `0x${"12".repeat(20)}`)), "CHAIN_NO_CONTRACT");
    assert.equal(codeOf(await run(...elsewhere, "--test-token", "--network", "nowhere")), "USAGE");
    assert.equal(codeOf(await run(...elsewhere, "--test-token", "--network", "sepolia")), "CHAIN_WRONG_ID");
    const unset = await run(...elsewhere, "--test-token", "--network", "mainnet");
    assert.equal(codeOf(unset), "CONFIG_MISSING");
    assert.match(unset.stdout, /takes its URL from MAINNET_RPC_URL, which is not set/);
    assert.match(
      (await run(...elsewhere, "--network", "nowhere")).stdout,
      /--network .+nowhere.+ is unknown; choose one of /,
    );
    assert.equal((await run("--private-key", "0x1")).code, 2);
    const { oracle } = JSON.parse(await readFile(join(folder, "out.json"), "utf8")) as Deployment;
    const noToken = await run(...elsewhere, "--token", oracle);
    assert.equal(codeOf(noToken), "USAGE");
    assert.match(noToken.stdout, /does not say its decimals/);
    // An unset variable gives an empty value, which must not become a delay.
    const admin = [
      "--test-token",
      "--admin",
      `0x${"12".repeat(20)}`,
      "--dry-run",
      "--key-file",
      join(folder, "key.env"),
    ];
    assert.equal(codeOf(await run(...elsewhere, ...admin, "--governance-hours", "")), "USAGE");
    for (const flag of ["--admin", "--treasury", "--token"]) {
      const token = flag === "--token" ? [] : ["--test-token"];
      assert.equal(codeOf(await run(...elsewhere, ...token, flag, zeroAddress, "--dry-run")), "USAGE", flag);
    }
    // A delay below a second is rounded up to a second, not down to zero.
    const short = await run(...elsewhere, ...admin, "--governance-hours", "0.0001");
    const { steps } = JSON.parse(short.stdout) as { steps: Step[] };
    const granted = steps.filter(({ functionName }) => functionName === "grantRole").map(({ args }) => args[2]);
    assert.deepEqual(granted.map(Number), [0, 1]);
  });

  it("refuses answers that nobody is paid for, off local chains", () => {
    const pricesOf = (chainId: number, ...args: readonly string[]) => {
      const command = commandLine().parse(["--network", "custom", ...args], { from: "user" });
      return readPrices(command.opts<Flags>(), 18, chainId);
    };
    assert.deepEqual(pricesOf(1), DEFAULT_PRICES);
    for (const [flag, usual] of [
      ["--unit-price", "0.025"],
      ["--native-unit-price", "0.00001"],
    ] as const) {
      const rule = `${flag} is 0, so nobody is paid for answers: give a price above 0, leave it out for ${usual}, or deploy to a local chain (1337, 31337)`;
      assert.throws(() => pricesOf(1, flag, "0"), { code: "USAGE", message: `Correct the command line: ${rule}` });
      for (const local of [1_337, 31_337]) pricesOf(local, flag, "0");
    }
  });

  it("refuses epochs in which a committee has less time than the shortest request, off local chains", async () => {
    const epochOf = (chainId: number, blockSeconds: number, flag?: string, historyCode = "0x60") =>
      withRpcServer(
        ({ method, params }) => {
          if (method === "eth_getCode") return { result: historyCode };
          const number = params?.[0] === "latest" ? 5_000 : Number(params?.[0]);
          return { result: { number: toHex(number), timestamp: toHex(number * blockSeconds), transactions: [] } };
        },
        (rpcUrl) => readEpochBlocks(flag, createPublicClient({ transport: http(rpcUrl) }), chainId),
      );
    assert.equal(await epochOf(1, 12), 7_200);
    assert.equal(await epochOf(31_337, 12), 64);
    assert.equal(await epochOf(31_337, 12, "25"), 25);
    assert.equal(await epochOf(1, 12, "134"), 134);
    const rule = (least: number, seconds: string): string =>
      `Correct the command line: --epoch-blocks is at least ${least} on this chain: a block takes ${seconds} seconds, and a committee must have the 30 minutes of the shortest request`;
    await assert.rejects(epochOf(1, 12, "133"), { code: "USAGE", message: rule(134, "12.0") });
    await assert.rejects(epochOf(1, 2, "883"), { code: "USAGE", message: rule(884, "2.0") });
    // Without EIP-2935 a seed ends with its block's hash, 256 blocks later, however long the epoch is.
    assert.equal(await epochOf(1, 8, "7200", "0x"), 7_200);
    for (const [seconds, needed] of [
      [7, 258],
      [2, 900],
    ] as const)
      await assert.rejects(epochOf(1, seconds, "7200", "0x"), {
        code: "USAGE",
        message: `Correct the command line: --network names a chain that serves the hashes of its latest 256 blocks alone, but committees need ${needed}: a block takes ${seconds}.0 seconds, and a committee must have the 30 minutes of the shortest request; choose another chain, such as one with EIP-2935`,
      });
    assert.equal(await epochOf(1, 7, "7200"), 7_200);
    for (const flag of ["", "24", "7201", "64.5", "many"])
      await assert.rejects(epochOf(1, 12, flag), {
        code: "USAGE",
        message: "Correct the command line: --epoch-blocks is a whole number from 25 to 7200",
      });
  });

  it("refuses a chain without randomness before it needs a key", async () => {
    const arbitrum = ({ method }: RpcCall): object => {
      assert.equal(method, "eth_chainId");
      return { result: "0xa4b1" };
    };
    const args = ["--token", `0x${"12".repeat(20)}`, "--out", join(folder, "arbitrum.json")];
    const refused = await withRpcServer(arbitrum, (rpcUrl) => runAt(rpcUrl, ...args));
    assert.deepEqual([codeOf(refused), refused.code], ["CHAIN_NO_BEACON", 1]);
    assert.match(refused.stdout, /chain 42161: .* always 1, .* choose another chain with --network/);
  });

  it("works where the pending block has no randomness, as on Geth", async () => {
    const account = privateKeyToAccount(chain.accounts[9]!.privateKey);
    const geth = async (call: RpcCall): Promise<object> => {
      if (call.method === "eth_call" && call.params?.[1] === "pending")
        return { error: { code: 3, message: "execution reverted: ChainHasNoBeacon" } };
      const headers = { "content-type": "application/json" };
      const answer = await fetch(chain.rpcUrl, {
        method: "POST",
        body: JSON.stringify({ jsonrpc: "2.0", ...call }),
        headers,
      });
      return (await answer.json()) as object;
    };
    const { slasher } = await withRpcServer(geth, (rpcUrl) => deploy({ ...terms, rpcUrl, account }));
    const client = createPublicClient({ transport: http(chain.rpcUrl) });
    assert.ok((await client.getCode({ address: slasher })) !== undefined);
  });

  it("explains why a number is no private key, and never shows the number", async () => {
    // The second is the order of the curve.
    for (const key of ["f".repeat(64), "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141"]) {
      await writeFile(join(folder, "bad.env"), `CONCLAVE_DEPLOYER_KEY=0x${key}\n`);
      const refused = await run("--test-token", "--key-file", join(folder, "bad.env"));
      assert.deepEqual([codeOf(refused), refused.code], ["USAGE", 2]);
      assert.doesNotMatch(refused.stdout + refused.stderr, new RegExp(`${key}|${BigInt(`0x${key}`)}`));
    }
  });

  it("works on Hardhat's chain, where the platform has no anvil", async () => {
    const hardhat = await startLocalChain({ engine: "hardhat", blockTimeSeconds: 0.2 });
    try {
      const account = privateKeyToAccount(hardhat.accounts[0]?.privateKey ?? "0x");
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
