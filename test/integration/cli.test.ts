import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync } from "node:fs";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { parseEther } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { openKeystore } from "../../agents/adapters/keystore/keystore.ts";
import { runCli } from "../../agents/cli/run-cli.ts";
import { cidString } from "../../agents/core/codec.ts";
import { bytesToHex, sha256 } from "../../agents/core/digest.ts";
import { limits } from "../../agents/core/limits.ts";
import type { Address } from "../../agents/core/types.ts";
import { openBank, type Bank } from "../../scripts/demo/bank.ts";
import { deploy, type Deployment } from "../../scripts/lib/deploy.ts";
import { startLocalChain, type LocalChain } from "../../scripts/lib/local-chain.ts";
import { completion, reply, startOpenAiServer } from "../adapters/fixtures/openai-server.ts";
import { truthful } from "./world.ts";

const PASSWORD = "correct horse battery staple";
const UNBONDING_SECONDS = 3;
const main = join(import.meta.dirname, "../../agents/cli/main.ts");

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

let chain: LocalChain;
let deployment: Deployment;
let bank: Bank;
let folder: string;
let model: Awaited<ReturnType<typeof startOpenAiServer>>;
/** All that any command printed, to look for secrets in. */
const printed: string[] = [];

before(async () => {
  chain = await startLocalChain({ blockTimeSeconds: 1 });
  const owner = privateKeyToAccount(chain.accounts[0]!.privateKey);
  deployment = await deploy({
    rpcUrl: chain.rpcUrl,
    account: owner,
    token: null,
    minStake: parseEther("10"),
    maxStake: parseEther("160"),
    unbondingDelaySeconds: UNBONDING_SECONDS,
    buildProfile: "default",
  });
  bank = openBank(chain, deployment.token, owner);
  folder = await mkdtemp(join(tmpdir(), "conclave-cli-"));
  await writeFile(join(folder, "deployment.json"), JSON.stringify({ ...deployment, rpcUrl: chain.rpcUrl }));
  const script = truthful("yes");
  model = await startOpenAiServer(({ body }, response) => {
    const user = body.messages.findLast(({ role }) => role === "user")?.content ?? "";
    const fields = script({ user } as never, new AbortController().signal);
    reply(response, 200, completion(JSON.stringify(fields)));
  });
});

after(async () => {
  await model.close();
  await chain.stop();
  await rm(folder, { recursive: true, force: true });
});

async function run(
  args: readonly string[],
  options: { readonly environment?: Record<string, string>; readonly signal?: AbortSignal } = {},
): Promise<Ran> {
  const out: string[] = [];
  const err: string[] = [];
  const code = await runCli(args, {
    stdout: (text) => void out.push(text),
    stderr: (text) => void err.push(text),
    environment: { CONCLAVE_PASSWORD: PASSWORD, ...options.environment },
    cwd: folder,
    signal: options.signal ?? new AbortController().signal,
  });
  const ran = { code, stdout: out.join(""), stderr: err.join("") };
  printed.push(ran.stdout, ran.stderr);
  return ran;
}

/** Runs with --json and gives what stdout holds. */
async function json(...args: string[]): Promise<{ readonly code: number; readonly value: Record<string, never> }> {
  const { code, stdout } = await run([...args, "--json"]);
  return { code, value: JSON.parse(stdout) as Record<string, never> };
}

/** The error of a command that must fail. */
async function failure(...args: string[]): Promise<{
  readonly exit: number;
  readonly code: string;
  readonly message: string;
  readonly data: Record<string, unknown>;
}> {
  const { code: exit, value } = await json(...args);
  assert.ok("error" in value, JSON.stringify(value));
  return { exit, ...(value["error"] as { code: string; message: string; data: Record<string, unknown> }) };
}

/** `init`, with a config that suits a test. */
async function init(name: string): Promise<string> {
  const address = ["--model-url", model.url, "--model-name", "truthful", "--listen", "/ip4/127.0.0.1/tcp/0"];
  const { code, value } = await json("agent", "init", "--dir", name, "--deployment", "deployment.json", ...address);
  assert.equal(code, 0);
  await editConfig(name, (config) => ({
    ...config,
    chain: { ...config.chain, pollIntervalMs: 100 },
    timing: { phaseMs: 10_000, graceMs: 1_000, certifyMs: 2_000, certifyDeltaMs: 500, relayStaggerMs: 1_000 },
  }));
  return value["signer"] as unknown as string;
}

interface ConfigJson {
  readonly chain: Record<string, unknown>;
  readonly [key: string]: unknown;
}

async function editConfig(name: string, change: (config: ConfigJson) => ConfigJson): Promise<void> {
  const path = join(folder, name, "conclave.json");
  await writeFile(path, JSON.stringify(change(JSON.parse(await readFile(path, "utf8")) as ConfigJson)));
}

/** An agent of that name, funded and registered. */
async function enlist(name: string, stake: string): Promise<string> {
  const signer = await init(name);
  await bank.fund(signer as Address, parseEther("200"));
  const { code } = await json("agent", "register", "--dir", name, "--stake", stake);
  assert.equal(code, 0);
  return signer;
}

describe("command line", () => {
  it("every command explains itself with an example", async () => {
    const commands = [
      ...["init", "register", "run", "status", "unstake", "withdraw", "claim"].map((name) => ["agent", name]),
      ["request"],
      ["decision"],
      ["verify"],
    ];
    for (const command of commands) {
      const { code, stdout } = await run([...command, "--help"]);
      assert.equal(code, 0);
      assert.match(stdout, new RegExp(`Example:\n {2}\\$ conclave ${command.join(" ")} `));
      assert.match(stdout, /--json/);
    }
  });

  it("usage errors end with 2, on one line with a way out, or as JSON", async () => {
    const plain = await run(["agent", "register"]);
    assert.equal(plain.code, 2);
    assert.match(plain.stderr, /^error USAGE: required option '--stake <amount>' not specified\nway out: .+\n$/);
    for (const args of [
      ["bogus"],
      ["agent"],
      ["agent", "bogus"],
      ["decision"],
      ["decision", "1", "2"],
      ["decision", "zero"],
      ["verify", "-1"],
    ]) {
      const { code } = await run(args);
      assert.equal(code, 2, args.join(" "));
    }
    assert.equal((await failure("decision", "zero")).code, "USAGE");
    assert.equal(
      (await failure("verify", "1", "--kubo", "http://127.0.0.1:1", "--store", ".", "--deployment", "deployment.json"))
        .code,
      "USAGE",
    );
  });

  it("init makes an encrypted key and a config that only the owner reads, and never overwrites", async () => {
    await init("fresh");
    for (const file of ["keystore.json", "conclave.json"]) {
      assert.equal((await stat(join(folder, "fresh", file))).mode & 0o777, 0o600);
    }
    const again = await failure("agent", "init", "--dir", "fresh", "--deployment", "deployment.json");
    assert.deepEqual([again.exit, again.code], [2, "CONFIG_INVALID"]);
    await rm(join(folder, "fresh", "conclave.json"));
    const key = await failure("agent", "init", "--dir", "fresh", "--deployment", "deployment.json");
    assert.deepEqual([key.exit, key.code], [1, "KEYSTORE_EXISTS"]);
    const none = await run(["agent", "init", "--dir", "other", "--deployment", "deployment.json"], {
      environment: { CONCLAVE_PASSWORD: "" },
    });
    assert.equal(none.code, 1);
    assert.match(none.stderr, /^error KEYSTORE_PASSWORD_MISSING: /);
  });

  it("config errors name the field and the value, but no secret", async () => {
    await init("crooked");
    const cases: readonly (readonly [Record<string, unknown>, RegExp])[] = [
      [{ listen: ["/ip4/1.2.3.4"] }, /listen\.0: "\/ip4\/1\.2\.3\.4" is wrong: expected a multiaddr/],
      [{ surprise: true }, /top level: .*"surprise"/],
      [{ chain: { rpcUrl: "sekret" } }, /chain\.rpcUrl: its value \(not shown\) is wrong/],
      [{ dataDir: 7 }, /dataDir: 7 is wrong/],
      [{ content: { kind: "floppy" } }, /content\.kind/],
    ];
    const path = join(folder, "crooked", "conclave.json");
    const good = JSON.parse(await readFile(path, "utf8")) as ConfigJson;
    for (const [changes, pattern] of cases) {
      await writeFile(path, JSON.stringify({ ...good, ...changes }));
      const { exit, code, message } = await failure("agent", "status", "--dir", "crooked");
      assert.deepEqual([exit, code], [2, "CONFIG_INVALID"]);
      assert.match(message, pattern);
      assert.doesNotMatch(message, /sekret/);
    }
    await writeFile(path, "{");
    assert.equal((await failure("agent", "status", "--dir", "crooked")).code, "CONFIG_INVALID");
    assert.equal((await failure("agent", "status", "--dir", "nowhere")).code, "CONFIG_MISSING");
    const bad = await failure(
      "agent",
      "init",
      "--dir",
      "new",
      "--deployment",
      "deployment.json",
      "--listen",
      "nonsense",
    );
    assert.match(bad.message, /listen\.0: "nonsense"/);
    assert.equal(
      (await failure("agent", "init", "--dir", "new", "--deployment", "absent.json")).code,
      "CONFIG_MISSING",
    );
    assert.equal((await failure("decision", "1")).code, "CONFIG_MISSING");
  });

  it("registers with a stake that suffices and an open key only", async () => {
    const signer = await init("poor");
    assert.deepEqual((await failure("agent", "status", "--dir", "poor")).code, "AGENT_NOT_REGISTERED");
    const register = ["agent", "register", "--dir", "poor", "--stake"];
    assert.match((await failure(...register, "9.5")).message, /^Stake 9\.5 \w+: the registry takes 10 \w+ to 160 /);
    const broke = await failure(...register, "10");
    assert.equal(broke.code, "STAKE_MISSING");
    assert.match(broke.message, new RegExp(`^Stake 10 \\w+: ${signer} holds 0 \\w+; send it 10 \\w+ more$`));
    assert.equal((await failure(...register, "ten")).code, "USAGE");
    await bank.mint(signer as Address, parseEther("50"));
    const wrong = await run([...register, "10"], { environment: { CONCLAVE_PASSWORD: "not the password" } });
    assert.equal(wrong.code, 1);
    assert.match(wrong.stderr, /^error KEYSTORE_PASSWORD_WRONG: /);
    assert.equal((await failure(...register, "12.5")).code, "BALANCE_TOO_LOW");
    await bank.fund(signer as Address, 0n);
    const { code, value } = await json(...register, "12.5");
    assert.deepEqual([code, value["stake"], value["model"]], [0, "12500000000000000000", "openai:truthful"]);
    assert.deepEqual([(await failure(...register, "12.5")).code], ["USAGE"]);
    const status = await json("agent", "status", "--dir", "poor");
    const { stake, active, operator, duties, reputation } = status.value;
    assert.deepEqual(
      { stake, active, operator, duties, reputation },
      { stake: "12500000000000000000", active: true, operator: signer, duties: [], reputation: 1_000_000 },
    );
    assert.match((await run(["agent", "status", "--dir", "poor"])).stdout, /^stake +12\.5 \w+$/m);
  });

  it("an operator's key of its own owns the stake; the agent's key alone moves nothing", async () => {
    const cold = await init("cold");
    await bank.fund(cold as Address, parseEther("20"));
    await init("hot");
    const operator = ["--operator-keystore", "cold/keystore.json", "--operator-password-file", "cold/password"];
    await writeFile(join(folder, "cold", "password"), `${PASSWORD}\n`);
    const { value } = await json("agent", "register", "--dir", "hot", "--stake", "10", ...operator);
    assert.equal(value["operator"], cold);
    const alone = await failure("agent", "unstake", "--dir", "hot", "--amount", "all");
    assert.deepEqual([alone.exit, alone.code], [2, "CONFIG_INVALID"]);
    assert.equal((await json("agent", "unstake", "--dir", "hot", "--amount", "all", ...operator)).code, 0);
  });

  it("unstakes, waits for the delay, withdraws", async () => {
    const dir = ["--dir", "poor"];
    assert.equal((await failure("agent", "withdraw", ...dir)).code, "STAKE_MISSING");
    const much = await failure("agent", "unstake", ...dir, "--amount", "13");
    assert.match(much.message, /^Unstake 13 \w+: the agent's stake is 12\.5 /);
    const some = await json("agent", "unstake", ...dir, "--amount", "2.5");
    assert.deepEqual([some.value["unbonding"], some.value["stake"]], ["2500000000000000000", "10000000000000000000"]);
    const early = await failure("agent", "withdraw", ...dir);
    assert.match(early.message, /^Withdraw 2\.5 \w+: it is bound until 20/);
    await sleep((UNBONDING_SECONDS + 2) * 1_000);
    const late = await json("agent", "withdraw", ...dir);
    assert.deepEqual([late.code, late.value["amount"]], [0, "2500000000000000000"]);
    assert.equal((await json("agent", "unstake", ...dir, "--amount", "all")).code, 0);
    const status = await json("agent", "status", ...dir);
    assert.deepEqual([status.value["active"], status.value["stake"]], [false, "0"]);
    assert.match((await run(["agent", "status", ...dir])).stdout, /not active/);
  });

  it("tells a wrong chain from an unreachable one", async () => {
    await init("lost");
    await editConfig("lost", (config) => ({ ...config, chain: { ...config.chain, chainId: 1 } }));
    const wrong = await failure("agent", "status", "--dir", "lost");
    assert.deepEqual(
      [wrong.exit, wrong.code, wrong.data],
      [1, "CHAIN_WRONG_ID", { expected: 1, found: chain.chainId }],
    );
    await editConfig("lost", (config) => ({
      ...config,
      chain: { ...config.chain, chainId: chain.chainId, rpcUrl: "http://127.0.0.1:1/v3/sekret" },
    }));
    const down = await failure("agent", "status", "--dir", "lost");
    assert.equal(down.code, "CHAIN_UNREACHABLE");
    assert.doesNotMatch(down.message, /sekret/);
    await editConfig("lost", (config) => ({
      ...config,
      chain: { ...config.chain, rpcUrl: chain.rpcUrl, oracle: `0x${"12".repeat(20)}` },
    }));
    assert.equal((await failure("agent", "run", "--dir", "lost")).code, "CHAIN_NO_CONTRACT");
    const flags = ["--deployment", "deployment.json", "--chain-id", "5"];
    assert.equal((await failure("decision", "1", ...flags)).code, "CHAIN_WRONG_ID");
    const explicit = ["--rpc", chain.rpcUrl, "--oracle", deployment.oracle, "--registry", deployment.registry];
    assert.equal((await failure("decision", "1", ...explicit)).code, "REQUEST_UNKNOWN");
  });

  it("checks a question before anything is paid", async () => {
    const ask = (...args: string[]) =>
      failure("request", "--dir", "poor", "--question", "Is 17 a prime number?", "--kind", "boolean", ...args);
    const unknown = await ask("--protocol", "paxos");
    assert.equal(unknown.code, "PROTOCOL_UNKNOWN");
    assert.match(unknown.message, /"paxos" is unknown; known are .*mbft/);
    const long = await failure(
      "request",
      "--dir",
      "poor",
      "--kind",
      "text",
      "--question",
      "é".repeat(limits.questionBytes / 2 + 1),
    );
    assert.deepEqual(
      [long.code, long.data],
      ["QUESTION_TOO_LONG", { bytes: limits.questionBytes + 2, maxBytes: limits.questionBytes }],
    );
    for (const [args, field] of [
      [["--options", "3"], "options"],
      [["--decimals", "2"], "decimals"],
      [["--tolerance", "1"], "tolerance"],
      [["--kind", "choice"], "options"],
      [["--kind", "number", "--decimals", "1", "--tolerance", "0.25"], "tolerance"],
      [["--question", ""], "question"],
      [["--deadline-in", "31d"], "deadline"],
      [[], "committee"],
    ] as const) {
      const { code, data } = await ask(...args);
      assert.deepEqual([code, data["field"]], ["TERMS_INVALID", field], args.join(" "));
    }
    for (const args of [
      ["--kind", "essay"],
      ["--committee", "3"],
      ["--fee", "1e3"],
      ["--deadline-in", "soon"],
      ["--assurance", "low"],
      ["--callback-gas", "9000000"],
    ]) {
      assert.equal((await ask(...args)).code, "USAGE", args.join(" "));
    }
  });

  it("asks, waits, shows, proves and claims, with four agents that really run", async () => {
    const names = ["a", "b", "c", "d"];
    for (const name of names) await enlist(name, "100");
    const stop = new AbortController();
    const agents = names.map((name) =>
      run(["agent", "run", "--dir", name, "--json", "--log-level", "error"], { signal: stop.signal }),
    );
    try {
      await Promise.race([
        waitForEndpoints(names),
        Promise.all(agents).then((ended) => assert.fail(JSON.stringify(ended))),
      ]);
      const fee = await failure("request", "--dir", "poor", "--question", "?", "--kind", "boolean", "--fee", "1000");
      assert.equal(fee.code, "BALANCE_TOO_LOW");
      assert.match(fee.message, /^Pay the fee of 1000 /);

      const asked = await run([
        "request",
        "--dir",
        "a",
        "--question",
        "Is 17 prime?\u001b[2J",
        "--kind",
        "boolean",
        "--fee",
        "4",
        "--wait",
      ]);
      assert.equal(asked.code, 0, asked.stderr);
      assert.match(asked.stderr, /requested[\s\S]*drawn[\s\S]*decided/);
      assert.match(asked.stdout, /^answer +yes$/m);
      assert.match(asked.stdout, /^question +Is 17 prime\?\\u001b\[2J$/m);

      const shown = await json("decision", "1", "--deployment", "deployment.json");
      const { status, answer, signers, seats, transcript, commitGas } = shown.value as Record<string, unknown> as {
        status: string;
        answer: string;
        signers: number[];
        seats: object[];
        transcript: string;
        commitGas: number;
      };
      assert.deepEqual(
        [status, answer, signers.length >= 3, seats.length, commitGas > 50_000],
        ["decided", "yes", true, 4, true],
      );

      const proof = await json("verify", "1", "--deployment", "deployment.json");
      assert.deepEqual([proof.code, proof.value["ok"], proof.value["root"]], [0, true, transcript]);
      await refutesFlippedBytes();

      const before = await balances("a");
      const claimed = await json("agent", "claim", "--dir", "a");
      assert.deepEqual(
        [claimed.code, claimed.value["requestIds"], BigInt(claimed.value["amount"]) > 0n],
        [0, ["1"], true],
      );
      assert.equal(await balances("a"), before + BigInt(claimed.value["amount"]));
      assert.deepEqual((await json("agent", "claim", "--dir", "a")).value["requestIds"], []);
    } finally {
      stop.abort(new Error("test is over"));
    }
    for (const { code, stdout } of await Promise.all(agents)) {
      assert.equal(code, 0);
      assert.match(stdout, /"event":"ready".*\n\{"event":"stopped"/);
    }
  });

  it("verify without any agent says that nobody answered", async () => {
    const { code } = await failure("verify", "1", "--deployment", "deployment.json");
    assert.equal(code, "NETWORK_FAILED");
    assert.equal(
      (await failure("verify", "1", "--deployment", "deployment.json", "--peer", "/ip4/127.0.0.1/tcp/1")).code,
      "USAGE",
    );
    const offline = await json("verify", "1", "--deployment", "deployment.json", "--store", "a/data/ipfs");
    assert.equal(offline.value["ok"], true);
  });

  it("as a process: exit codes, and SIGTERM ends an agent gracefully", async () => {
    assert.deepEqual(await exec(["nonsense"]), { code: 2, stdout: "" });
    const agent = spawn(process.execPath, [main, "agent", "run", "--dir", "a", "--json"], {
      cwd: folder,
      env: { ...process.env, CONCLAVE_PASSWORD: PASSWORD },
    });
    let stdout = "";
    agent.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
    agent.stderr.on("data", (chunk: Buffer) => printed.push(chunk.toString()));
    const exited = once(agent, "exit");
    while (!stdout.includes("ready"))
      await Promise.race([sleep(50), exited.then(([early]) => assert.fail(`ended with ${early}`))]);
    agent.kill("SIGTERM");
    const [code] = (await exited) as [number | null];
    assert.equal(code, 0);
    assert.match(stdout, /"event":"stopped"/);
    printed.push(stdout);
  });

  it("nothing printed ever held a key or a password", async () => {
    const all = printed.join("\n").toLowerCase();
    assert.ok(all.length > 5_000);
    for (const file of globSync("*/keystore.json", { cwd: folder })) {
      const keys = await openKeystore(join(folder, file), PASSWORD);
      assert.ok(!all.includes(bytesToHex(keys.libp2pPrivateKey()).slice(2)), file);
    }
    assert.ok(!all.includes(PASSWORD));
    assert.ok(!all.includes("not the password"));
  });
});

async function waitForEndpoints(names: readonly string[]): Promise<void> {
  for (const name of names) {
    for (;;) {
      const { value } = await json("agent", "status", "--dir", name);
      if ((value["endpoint"] as unknown as string[]).length > 0) break;
      await sleep(200);
    }
  }
}

async function balances(name: string): Promise<bigint> {
  const { value } = await json("agent", "status", "--dir", name);
  return BigInt(value["operatorTokens"]);
}

/** In the folder of one agent: each block of the transcript in turn. */
async function refutesFlippedBytes(): Promise<void> {
  const store = join("b", "data", "ipfs");
  const verify = () => json("verify", "1", "--deployment", "deployment.json", "--store", store);
  assert.equal((await verify()).value["ok"], true);
  const files = globSync("blocks/**/*", { cwd: join(folder, store), withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  assert.ok(files.length > 16, `${files.length} blocks`);
  let refuted = 0;
  for (const { parentPath, name } of files) {
    const path = join(parentPath, name);
    const bytes = await readFile(path);
    await writeFile(path, bytes.with(bytes.length - 1, bytes.at(-1)! ^ 1));
    const { code, value } = await verify();
    await writeFile(path, bytes);
    // The store also holds the blocks of the certification, which are no part of the transcript.
    if (code === 0) continue;
    refuted += 1;
    assert.equal((value["failure"] as unknown as { cid: string }).cid, cidString(sha256(bytes)));
  }
  const { messages } = (await verify()).value as unknown as { messages: number };
  assert.equal(refuted, messages + 1);
}

async function exec(args: readonly string[]): Promise<{ readonly code: number | null; readonly stdout: string }> {
  const child = spawn(process.execPath, [main, ...args], { cwd: folder, stdio: ["ignore", "pipe", "ignore"] });
  let stdout = "";
  child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, stdout };
}
