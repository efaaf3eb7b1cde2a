import { globSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import assert from "node:assert/strict";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseEther } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { createChainReader } from "../../agents/adapters/chain/reader.ts";
import { createChainWriter } from "../../agents/adapters/chain/writer.ts";
import { createKeystore, openKeystore } from "../../agents/adapters/keystore/keystore.ts";
import { runCli } from "../../agents/cli/run-cli.ts";
import { bytesToHex } from "../../agents/core/encoding/bytes.ts";
import type { Address, Request, RequestId, SeatInfo } from "../../agents/core/types.ts";
import { openBank, type Bank } from "../../devnet/world/bank.ts";
import { deployRecorded } from "../../devnet/recorded-deployment.ts";
import { MIN_UNBONDING_SECONDS, type Deployment } from "../../scripts/deploy/settings.ts";
import { FREE } from "../../scripts/deploy/prices.ts";
import { startLocalChain, type LocalChain } from "../../devnet/local-chain.ts";
import { certify } from "../adapters/chain-questions.ts";
import { completion, reply, startOpenAiServer } from "../adapters/fixtures/openai-server.ts";
import { truthful } from "./world.ts";
import { until } from "../support/until.ts";

export const PASSWORD = "correct horse battery staple";
/** Password of the operator's keystore that `agent init` makes. */
export const OPERATOR_PASSWORD = "another horse, another battery";
/** A committee has to decide in its epoch or the next: a busy machine has 80 s at least. */
const EPOCH_BLOCKS = 160;
const BLOCK_SECONDS = 0.5;
/** Throw-away keys open at once: that of the product takes a third of a second for each command. */
const SCRYPT_N = 1 << 12;

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Failure {
  readonly exit: number;
  readonly code: string;
  readonly message: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface ConfigJson {
  readonly chain: Readonly<Record<string, unknown>>;
  readonly [key: string]: unknown;
}

type Json = Readonly<Record<string, unknown>>;

/** Runs the command line inside this process. */
export interface Cli {
  /** Folder in which the commands run. */
  readonly folder: string;
  /** All that any command printed, to look for secrets in. */
  readonly printed: string[];
  run(
    args: readonly string[],
    options?: { readonly environment?: Record<string, string>; readonly signal?: AbortSignal },
  ): Promise<Ran>;
  /** Runs a command with --json and parses stdout. */
  json(...args: string[]): Promise<{ readonly code: number; readonly value: Json }>;
  /** Runs a command that must fail, and returns its error. */
  failure(...args: string[]): Promise<Failure>;
}

/**
 * Command line against a local chain and a model server that answers "yes", or A and C to a question of policies. Its
 * folder holds deployment.json.
 */
export interface CliWorld extends Cli {
  readonly chain: LocalChain;
  readonly deployment: Deployment;
  readonly bank: Bank;
  /** Makes an agent's folder with a config that suits a test, and returns the signer's address. */
  init(name: string): Promise<Address>;
  editConfig(name: string, change: (config: ConfigJson) => ConfigJson): Promise<void>;
  /** Makes, funds and registers an agent of that name, and waits until it can be drawn. */
  enlist(name: string, stake: string): Promise<Address>;
  /** Asks a question for an agent, whose key pays, and waits for the committee; `decide` signs for the agents of these names. */
  ask(name: string): Promise<{
    readonly request: Request;
    readonly committee: readonly SeatInfo[];
    readonly decide: (names: readonly string[]) => Promise<void>;
  }>;
  /** Moves the chain's clock. */
  passTime(seconds: number): Promise<void>;
  close(): Promise<void>;
}

export function createCli(folder: string): Cli {
  const printed: string[] = [];
  const run: Cli["run"] = async (args, options = {}) => {
    const out: string[] = [];
    const err: string[] = [];
    const code = await runCli(args, {
      stdout: (text) => void out.push(text),
      stderr: (text) => void err.push(text),
      environment: {
        CONCLAVE_PASSWORD: PASSWORD,
        CONCLAVE_OPERATOR_PASSWORD: OPERATOR_PASSWORD,
        ...options.environment,
      },
      cwd: folder,
      signal: options.signal ?? new AbortController().signal,
      scryptN: SCRYPT_N,
    });
    const ran = { code, stdout: out.join(""), stderr: err.join("") };
    printed.push(ran.stdout, ran.stderr);
    return ran;
  };
  const json: Cli["json"] = async (...args) => {
    const { code, stdout } = await run([...args, "--json"]);
    return { code, value: JSON.parse(stdout) as Json };
  };
  return {
    folder,
    printed,
    run,
    json,
    async failure(...args) {
      const { code: exit, value } = await json(...args);
      assert.ok("error" in value, JSON.stringify(value));
      return { exit, ...(value["error"] as Omit<Failure, "exit">) };
    },
  };
}

export async function startCliWorld(): Promise<CliWorld> {
  const chain = await startLocalChain({ blockTimeSeconds: BLOCK_SECONDS });
  const owner = privateKeyToAccount(chain.accounts[0]!.privateKey);
  const deployment = await deployRecorded({
    rpcUrl: chain.rpcUrl,
    account: owner,
    token: null,
    minStake: parseEther("10"),
    maxStake: parseEther("160"),
    unbondingDelaySeconds: MIN_UNBONDING_SECONDS,
    epochBlocks: EPOCH_BLOCKS,
    prices: FREE,
    buildProfile: "default",
  });
  const bank = openBank(chain, deployment.token, owner);
  const folder = await mkdtemp(join(tmpdir(), "conclave-cli-"));
  await writeFile(join(folder, "deployment.json"), JSON.stringify({ ...deployment, rpcUrl: chain.rpcUrl }));
  const model = await startOpenAiServer(async ({ body }, response) => {
    const user = body.messages.findLast(({ role }) => role === "user")?.content ?? "";
    const truth = user.includes("\nform: the letters of all policies") ? "A,C" : "yes";
    const script = truthful(truth);
    const fields = await script({ user } as Parameters<typeof script>[0], new AbortController().signal);
    // The answer is not the canonical text, because models give a set in any order.
    const answered = "answer" in fields && fields["answer"] === "A,C" ? { ...fields, answer: "c), A" } : fields;
    const written = { ...answered, derived: truth };
    const { properties } = body.response_format.json_schema.schema;
    const wanted = Object.entries(written).filter(([name]) => name in properties);
    reply(response, 200, completion(JSON.stringify(Object.fromEntries(wanted))));
  });
  const cli = createCli(folder);
  const { json } = cli;

  const editConfig: CliWorld["editConfig"] = async (name, change) => {
    const path = join(folder, name, "conclave.json");
    await writeFile(path, JSON.stringify(change(JSON.parse(await readFile(path, "utf8")) as ConfigJson)));
  };

  const address = ["--model-url", model.url, "--model-name", "truthful", "--listen", "/ip4/127.0.0.1/tcp/0"];
  const init = agentFolders(cli, address, (config) => ({
    ...config,
    chain: { ...config.chain, pollIntervalMs: 250 },
    timing: {
      phaseMs: 60_000,
      graceMs: 5_000,
      certifyMs: 3_000,
      certifyDeltaMs: 500,
      relayStaggerMs: 1_000,
      settleBatchMs: 1_000,
    },
  }));

  const nextEpoch = (): Promise<void> => chain.nextEpoch(EPOCH_BLOCKS);

  return {
    chain,
    deployment,
    bank,
    ...cli,
    init,
    editConfig,
    async enlist(name, stake) {
      const signer = await init(name);
      await bank.fund(signer, parseEther("200"));
      const { code } = await json("agent", "register", "--dir", name, "--stake", stake);
      assert.equal(code, 0);
      await nextEpoch();
      return signer;
    },
    async ask(name) {
      await nextEpoch();
      const terms = ["--kind", "boolean", "--fee", "1"];
      const { code, value } = await json("request", "--dir", name, "--question", "Is 17 prime?", ...terms);
      assert.equal(code, 0, JSON.stringify(value));
      const source = { ...deployment, rpcUrl: chain.rpcUrl, deploymentBlock: BigInt(deployment.deploymentBlock) };
      const reader = await createChainReader({ ...source, finalityDepth: 0, pollIntervalMs: 100 });
      const requestId = BigInt(String(value["requestId"])) as RequestId;
      const [event] = await reader.requestEvents(requestId);
      assert.ok(event?.kind === "requested");
      const { request, round, seedBlock } = event;
      const awaited = { round, attempt: 0, seedBlock, past: [] };
      await until(async () => (await reader.head()).number > seedBlock);
      const committee = await reader.committee(request, awaited);
      const attempt = { domain: reader.domain, request, attempt: 0, committee };
      const decide = async (names: readonly string[]): Promise<void> => {
        const keys = await Promise.all(names.map((one) => openKeystore(join(folder, one, "keystore.json"), PASSWORD)));
        const writer = await createChainWriter({ ...source, account: owner });
        assert.notEqual(await writer.commit(request, awaited, certify(keys, attempt, {})), "already");
      };
      return { request, committee, decide };
    },
    async passTime(seconds) {
      await rpc(chain.rpcUrl, "evm_increaseTime", [seconds]);
      await rpc(chain.rpcUrl, "evm_mine", []);
    },
    async close() {
      await model.close();
      await chain.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/**
 * Returns a function that makes an agent's folder and returns the signer's address. `agent init` makes the first config;
 * the others are the same. Each folder gets one new key, for signer and operator.
 */
export function agentFolders(
  cli: Cli,
  flags: readonly string[],
  suited: (config: ConfigJson) => ConfigJson = (config) => config,
): (name: string) => Promise<Address> {
  const configOf = async (name: string): Promise<string> => {
    const init = ["agent", "init", "--dir", name, "--deployment", "deployment.json", ...flags];
    const { code, value } = await cli.json(...init);
    assert.equal(code, 0, JSON.stringify(value));
    assert.match(String(value["signer"]), /^0x[0-9a-f]{40}$/);
    const path = join(cli.folder, name, "conclave.json");
    const { operatorKeystore: _, ...config } = JSON.parse(await readFile(path, "utf8")) as ConfigJson;
    return JSON.stringify(suited(config));
  };
  let config: Promise<string> | null = null;
  return async (name) => {
    const text = await (config ??= configOf(name));
    const folder = join(cli.folder, name);
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, "conclave.json"), text);
    const keystore = join(folder, "keystore.json");
    await rm(keystore, { force: true });
    return (await createKeystore(keystore, PASSWORD, { scryptN: SCRYPT_N })).address;
  };
}

async function rpc(url: string, method: string, params: readonly unknown[]): Promise<void> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  const response = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body });
  assert.ok(response.ok);
}

/** Asserts that no command printed a key or password of the world. */
export async function assertNoSecrets({ printed, folder }: Cli): Promise<void> {
  const all = printed.join("\n").toLowerCase();
  assert.ok(all.length > 2_000);
  for (const file of globSync("*/keystore.json", { cwd: folder })) {
    const keys = await openKeystore(join(folder, file), PASSWORD);
    assert.ok(!all.includes(bytesToHex(keys.libp2pPrivateKey()).slice(2)), file);
  }
  for (const password of [PASSWORD, OPERATOR_PASSWORD]) assert.ok(!all.includes(password));
}

/** TR6: asserts that verify refutes nothing about a request without a decision. */
export async function assertUndecided(cli: Cli, id: string): Promise<void> {
  const source = ["--deployment", "deployment.json", "--store", "."];
  const { code, stdout } = await cli.run(["verify", id, ...source]);
  assert.equal(code, 1);
  const lines = [
    `request +${id}`,
    "verdict +UNDECIDED: there is no decision to verify",
    "reason +it has no decision that stands",
    `way out +nothing is refuted: conclave decision ${id} says whether one is to come; then verify again`,
  ];
  assert.match(stdout, new RegExp(`^${lines.join("\n")}\n$`));
  const { value } = await cli.json("verify", id, ...source);
  assert.deepEqual([value["ok"], (value["failure"] as { readonly kind: string }).kind], [false, "undecided"]);
  const pinned = await cli.failure("pin", id, ...source);
  assert.deepEqual([pinned.exit, pinned.code], [2, "USAGE"]);
  assert.match(pinned.message, /it has no decision that stands.*nothing was pinned/);
}
