import assert from "node:assert/strict";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { once } from "node:events";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { createPublicClient, createWalletClient, encodeFunctionData, http, toFunctionSelector, type Hex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { accessManagerAbi, agentRegistryAbi, decisionOracleAbi } from "@conclave/contracts/abi";
import { receiptOf } from "../../agents/adapters/chain/receipt.ts";
import { LAYOUTS } from "../../agents/core/encoding/layouts.ts";
import { packWord } from "../../agents/core/encoding/words.ts";
import type { Address } from "../../agents/core/types.ts";
import type { Check } from "../../agents/cli/doctor/checks.ts";
import { deployRecorded } from "../../devnet/recorded-deployment.ts";
import { MIN_UNBONDING_SECONDS } from "../../scripts/deploy/settings.ts";
import { FREE } from "../../scripts/deploy/prices.ts";
import { startCliWorld, type CliWorld } from "./cli-world.ts";

const EMPTY = `0x${"12".repeat(20)}`;

describe("conclave doctor", () => {
  let world: CliWorld;
  before(async () => {
    world = await startCliWorld();
    await world.enlist("sound", "20");
  });
  after(() => world.close());

  /** Findings by name; checks that the exit code fits them. */
  const examine = async (...args: readonly string[]): Promise<ReadonlyMap<string, Check>> => {
    const { code, value } = await world.json("doctor", ...args);
    assert.ok("checks" in value, JSON.stringify(value));
    const checks = value["checks"] as readonly Check[];
    const failed = checks.some(({ level }) => level === "fail");
    assert.deepEqual([code, value["ok"]], failed ? [1, false] : [0, true]);
    for (const { level, way } of checks) assert.equal(way === undefined, level === "ok");
    return new Map(checks.map((check) => [check.name, check]));
  };
  const levels = (checks: ReadonlyMap<string, Check>, level: Check["level"]): readonly string[] =>
    [...checks.values()].filter((check) => check.level === level).map(({ name }) => name);
  const agent = ["--dir", "sound", "--profile", "default"];

  it("finds nothing wrong with a sound agent and its deployment", async () => {
    const checks = await examine("--dir", "sound", "--deployment", "deployment.json");
    assert.deepEqual(levels(checks, "fail"), []);
    // The deployer is a single key, and everything is free.
    assert.deepEqual(levels(checks, "warn"), ["administration", "prices in tokens", "prices in coins"]);
    assert.match(checks.get("signatures")?.message ?? "", /^secp256k1 by (native|wasm) on \w+-\w+$/);
    for (const name of [
      "node",
      "signatures",
      "deployment file",
      "chain",
      "bindings",
      "pausing",
      "pricing",
      "tokens",
      "keystore",
      "gas",
      "model",
    ])
      assert.equal(checks.get(name)?.level, "ok", name);
    for (const name of ["registry", "oracle", "settlement", "slasher", "accessManager"])
      assert.match(checks.get(`code of ${name}`)?.message ?? "", /is the default build/);
    assert.match(checks.get("registration")?.message ?? "", /is active; the operator's stake is 20 /);
    const owner = world.chain.accounts[0]!.address;
    assert.match(
      checks.get("pausing")?.message ?? "",
      new RegExp(`can be paused by ${owner} .*; that ends by ${owner} `),
    );
    assert.match(checks.get("pricing")?.message ?? "", new RegExp(`are set by ${owner} `));
    assert.match(
      checks.get("prices in coins")?.message ?? "",
      /^open, list 0: 0 coins a unit of pay, 1 coins for a coin of gas at up to 0 gwei, 0\.00 % to the treasury; a question to 4 seats costs at least 0 coins; nothing is paid for answers \(the unit price is 0\) and for gas \(its rate or its cap is 0\)$/,
    );
    const plain = await world.run(["doctor", "--dir", "sound"]);
    assert.match(plain.stdout, /^ok +code of oracle: is the default build$/m);
    assert.equal(plain.code, 0);
    assert.match(plain.stdout, /^ok {4}node: Node \d+.*\n/);
    assert.match(plain.stdout, /warn {2}administration: .*\n {6}way out: make a timelock/);
  });

  it("looks at a deployment alone", async () => {
    const checks = await examine("--deployment", "deployment.json");
    assert.deepEqual(levels(checks, "fail"), []);
    const names = ["settlement", "slasher", "accessManager", "token"] as const;
    for (const name of names) assert.equal(checks.get(name)?.level, "ok", name);
    assert.equal(checks.has("keystore"), false);
    const wrong = Object.fromEntries(names.map((name) => [name, EMPTY]));
    const file = { ...world.deployment, rpcUrl: world.chain.rpcUrl, ...wrong };
    await writeFile(join(world.folder, "elsewhere.json"), JSON.stringify(file));
    for (const source of [[], ["--dir", "sound"]]) {
      const mistaken = await examine(...source, "--deployment", "elsewhere.json");
      assert.deepEqual(levels(mistaken, "fail"), [...names]);
      for (const name of names)
        assert.match(mistaken.get(name)?.message ?? "", new RegExp(`is ${world.deployment[name]}, ${EMPTY} in`));
    }
  });

  it("fails on a deployment block that is still to come", async () => {
    const file = { ...world.deployment, rpcUrl: world.chain.rpcUrl, deploymentBlock: 999_999 };
    await writeFile(join(world.folder, "early.json"), JSON.stringify(file));
    const checks = await examine("--deployment", "early.json");
    assert.deepEqual(levels(checks, "fail"), ["deployment block"]);
    assert.match(
      checks.get("deployment block")?.message ?? "",
      /^deploymentBlock 999999 is to come: the chain is at \d+$/,
    );
  });

  it("finds the only deployment file by itself, and reports its build and facts that no config holds", async () => {
    const folder = join(world.folder, "deployments");
    await mkdir(folder);
    try {
      const file = { ...world.deployment, rpcUrl: world.chain.rpcUrl, slasher: EMPTY };
      await writeFile(join(folder, "31337.json"), JSON.stringify(file));
      const checks = await examine();
      assert.deepEqual(levels(checks, "fail"), ["slasher"]);
      assert.match(checks.get("code of oracle")?.message ?? "", /is the default build/);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  /** Sends a transaction of the deployment's owner and waits until it is mined. */
  const mined = async (call: { readonly to: Address; readonly data: Hex }): Promise<void> => {
    const account = privateKeyToAccount(world.chain.accounts[0]!.privateKey);
    const transport = http(world.chain.rpcUrl);
    const hash = await createWalletClient({ transport, account }).sendTransaction({ ...call, chain: null });
    const { status } = await receiptOf(createPublicClient({ transport }), hash);
    assert.equal(status, "success");
  };

  it("SE18: reports the price list in force of each currency, and a pause in one", async () => {
    const to = world.deployment.oracle;
    const abi = decisionOracleAbi;
    const coins = [1] as const;
    await mined({ to, data: encodeFunctionData({ abi, functionName: "pauseRequests", args: coins }) });
    const paused = await examine(...agent);
    assert.deepEqual(levels(paused, "warn"), ["administration", "prices in tokens", "prices in coins"]);
    assert.match(paused.get("prices in coins")?.message ?? "", /^paused, no new requests are taken; list 0: /);
    await mined({ to, data: encodeFunctionData({ abi, functionName: "unpauseRequests", args: coins }) });

    const dear = { unitPrice: 5n * 10n ** 17n, gasRate: 10n ** 18n, gasPriceCap: 20n * 10n ** 9n, treasuryPpm: 50_000 };
    const free = { unitPrice: 0n, gasRate: 0n, gasPriceCap: 0n, treasuryPpm: 0 };
    await mined({ to, data: encodeFunctionData({ abi, functionName: "setPrices", args: [0, dear] }) });
    const priced = (await examine(...agent)).get("prices in tokens");
    assert.equal(priced?.level, "ok");
    // The fee covers 8 units, and the gas of a commit that pays its seats: 65,000 + 35,000 + 4 x 16,000.
    assert.match(
      priced.message,
      /^open, list 1: 0\.5 \w+ a unit of pay, 1 \w+ for a coin of gas at up to 20 gwei, 5\.00 % to the treasury; a question to 4 seats costs at least 4\.00456 \w+$/,
    );
    for (const [change, unpaid] of [
      [{ gasRate: 0n }, /; nothing is paid for gas \(its rate or its cap is 0\)$/],
      [{ gasPriceCap: 0n }, /; nothing is paid for gas \(its rate or its cap is 0\)$/],
      [{ unitPrice: 0n }, /; nothing is paid for answers \(the unit price is 0\)$/],
    ] as const) {
      const args = [0, { ...dear, ...change }] as const;
      await mined({ to, data: encodeFunctionData({ abi, functionName: "setPrices", args }) });
      const found = (await examine(...agent)).get("prices in tokens");
      assert.equal(found?.level, "warn");
      assert.match(found.message, unpaid);
    }
    await mined({ to, data: encodeFunctionData({ abi, functionName: "setPrices", args: [0, free] }) });
  });

  it("reports who may set prices, pause and resume: everybody, nobody, or the holders of a role", async () => {
    const { oracle, accessManager: to } = world.deployment;
    const giveTo = (role: bigint, signature: string): Promise<void> => {
      const args = [oracle, [toFunctionSelector(signature)], role] as const;
      const data = encodeFunctionData({ abi: accessManagerAbi, functionName: "setTargetFunctionRole", args });
      return mined({ to, data });
    };
    const [pause, unpause] = ["pauseRequests(uint8)", "unpauseRequests(uint8)"] as const;
    const setPrices = "setPrices(uint8,(uint80,uint80,uint64,uint24))";
    const [administrators, pausers, nobody, everybody] = [0n, 2n, 99n, 2n ** 64n - 1n];
    for (const [signature, usual, role, name, level, pattern] of [
      [pause, pausers, nobody, "pausing", "warn", /^nobody can pause/],
      [unpause, pausers, nobody, "pausing", "warn", /and nobody can end that$/],
      [pause, pausers, everybody, "pausing", "fail", /^anybody can pause/],
      [unpause, pausers, everybody, "pausing", "fail", /^anybody can end a pause/],
      [setPrices, administrators, nobody, "pricing", "ok", /^prices stay: nobody can set them$/],
      [setPrices, administrators, everybody, "pricing", "fail", /^anybody can set prices$/],
    ] as const) {
      await giveTo(role, signature);
      const found = (await examine(...agent)).get(name);
      assert.equal(found?.level, level, `${signature} ${role}`);
      assert.match(found.message, pattern);
      await giveTo(usual, signature);
    }
  });

  it("fails on a wrong chain, a missing node and a missing contract", async () => {
    const wrong = await examine(...agent, "--chain-id", "5");
    assert.match(wrong.get("chain")?.message ?? "", /CHAIN_WRONG_ID.* serves chain 31337, but chain 5/);
    assert.equal(wrong.has("bindings"), false, "what it says of another chain would mislead");
    const silent = await examine(...agent, "--rpc", "http://127.0.0.1:1");
    assert.match(silent.get("chain")?.message ?? "", /CHAIN_UNREACHABLE/);
    const nothing = await examine(...agent, "--oracle", EMPTY);
    assert.deepEqual(levels(nothing, "fail"), ["oracle"]);
    assert.match(nothing.get("oracle")?.message ?? "", /CHAIN_NO_CONTRACT/);
  });

  it("fails on an oracle of another deployment, and on other code than ours", async () => {
    const foreign = await deployRecorded({
      rpcUrl: world.chain.rpcUrl,
      account: privateKeyToAccount(world.chain.accounts[9]!.privateKey),
      token: world.deployment.token,
      minStake: 1n,
      maxStake: 16n,
      unbondingDelaySeconds: MIN_UNBONDING_SECONDS,
      epochBlocks: 32,
      prices: FREE,
      buildProfile: "default",
    });
    const checks = await examine("--deployment", "deployment.json", "--oracle", foreign.oracle);
    assert.deepEqual(levels(checks, "fail"), ["settlement", "accessManager", "bindings"]);
    assert.match(
      checks.get("bindings")?.message ?? "",
      new RegExp(`the registry is bound to oracle ${world.deployment.oracle}`),
    );
    for (const contract of [foreign.slasher, foreign.settlement])
      await rpc("anvil_setCode", [contract, "0x600160005260206000f3"]);
    await writeFile(join(world.folder, "foreign.json"), JSON.stringify({ ...foreign, rpcUrl: world.chain.rpcUrl }));
    const changed = await examine("--deployment", "foreign.json");
    for (const name of ["settlement", "slasher"]) assert.equal(changed.get(`code of ${name}`)?.level, "fail");
    assert.match(changed.get("bindings")?.message ?? "", /the settlement is bound to oracle 0x0+1, not /);
    assert.equal(changed.get("code of registry")?.level, "ok");
    const other = await examine("--dir", "sound", "--deployment", "foreign.json");
    assert.match(other.get("deployment file")?.message ?? "", /oracle is 0x.* in the config, 0x.* in the file/);
  });

  it("fails on a key that is not registered and has no gas", async () => {
    await world.init("fresh");
    const checks = await examine("--dir", "fresh", "--profile", "default");
    assert.deepEqual(levels(checks, "fail"), ["registration", "gas"]);
    assert.match(checks.get("registration")?.message ?? "", /AGENT_NOT_REGISTERED/);
    assert.equal(checks.get("registration")?.way, "run: conclave agent register --stake AMOUNT --dir fresh");
    assert.match(checks.get("gas")?.message ?? "", /has 0 coins/);
    await rpc("anvil_setBalance", [await world.init("poor"), `0x${(10n ** 15n).toString(16)}`]);
    assert.notEqual((await examine("--dir", "poor", "--profile", "default")).get("gas")?.level, "ok");
  });

  it("LV4: says that nobody can watch, unless the config has a live stream", async () => {
    const off = (await examine(...agent)).get("live stream");
    assert.equal(off?.level, "ok");
    assert.match(off.message, /^off: nobody can watch/);
    await world.editConfig("sound", (config) => ({
      ...config,
      live: { port: 0, host: "0.0.0.0", public: true, origins: ["*"] },
    }));
    const open = (await examine(...agent)).get("live stream");
    assert.equal(open?.level, "ok");
    assert.match(
      open.message,
      /^0\.0\.0\.0:0 shows the committees live to everybody who reaches it, and in browsers to any page$/,
    );
    await world.editConfig("sound", ({ live: _, ...config }) => config);
  });

  it("AV10: fails on a retention window that is not longer than appeals and unbonding", async () => {
    for (const [collection, level, pattern] of [
      [{}, "ok", /^transcripts are kept for 46 days, longer than the 23 of /],
      [{ retentionDays: 24 }, "ok", /^transcripts are kept for 24 days/],
      [
        { retentionDays: 23 },
        "fail",
        /CONFIG_INVALID.*retentionDays: 23 is too short: transcripts must be kept longer than 23 days/,
      ],
    ] as const) {
      await world.editConfig("sound", (config) => ({ ...config, collection }));
      const found = (await examine(...agent)).get("retention");
      assert.equal(found?.level, level, JSON.stringify(collection));
      assert.match(found.message, pattern);
    }
    await world.editConfig("sound", (config) => ({ ...config, collection: {} }));
    assert.equal((await examine("--deployment", "deployment.json")).has("retention"), false);
    assert.equal((await examine(...agent, "--rpc", "http://127.0.0.1:1")).has("retention"), false);
  });

  it("SC3: warns of a stake that a slice takes below the least, and fails on too little", async () => {
    await world.enlist("thin", "11");
    const registration = async () => (await examine("--dir", "thin", "--profile", "default")).get("registration");
    assert.equal((await registration())?.level, "ok");
    assert.equal((await world.json("agent", "unstake", "--dir", "thin", "--amount", "0.5")).code, 0);
    const warned = await registration();
    assert.equal(warned?.level, "warn");
    assert.match(warned?.message ?? "", /the operator's stake is 10\.5 .* which a slice .* would take it below/);
    assert.match(warned?.way ?? "", /^raise it to 10\.625 /);
    assert.equal((await world.json("agent", "stake", "0.125", "--dir", "thin")).code, 0);
    assert.equal((await registration())?.level, "ok");
    assert.equal((await world.json("agent", "unstake", "--dir", "thin", "--amount", "0.125")).code, 0);
    assert.equal((await world.json("agent", "unstake", "--dir", "thin", "--amount", "3.5")).code, 0);
    assert.match((await registration())?.message ?? "", /the operator's stake is 7 .* at least 10 /);
  });

  it("SE20: warns of an agent that missed its last seats, and fails on one that sleeps", async () => {
    const signer = await world.enlist("idle", "20");
    const args = ["--dir", "idle", "--profile", "default"];
    const attendance = async () => (await examine(...args)).get("attendance");
    const { code, value } = await world.json("agent", "status", "--dir", "idle");
    assert.deepEqual([code, value["misses"], value["signer"]], [0, 0, signer]);
    const agentId = BigInt(String(value["agentId"]));
    assert.equal((await attendance())?.message, `agent ${agentId} did not miss its last seat`);
    for (const [misses, level, pattern] of [
      [1, "warn", /missed 1 seats in a row: after 3 it sleeps$/],
      [2, "warn", /missed 2 seats in a row: after 3 it sleeps$/],
      [3, "fail", /missed 3 seats in a row and sleeps: it is not drawn$/],
    ] as const) {
      await missSeat(agentId);
      const found = await attendance();
      assert.deepEqual([found?.level, pattern.test(found?.message ?? "")], [level, true], `${misses}`);
    }
    assert.equal((await examine(...args)).get("registration")?.level, "ok", "it sleeps, and keeps its stake");
  });

  it("RW6: warns of the operator's stake that nobody lets earn", async () => {
    await world.enlist("rich", "20");
    const args = ["--dir", "rich", "--profile", "default"];
    const earning = async () => (await examine(...args)).get("earning");
    assert.equal((await earning())?.message, "all shares of the operator earn");
    const { value } = await world.json("agent", "status", "--dir", "rich");
    assert.equal((await world.json("delegate", String(value["agentId"]), "5", "--dir", "rich")).code, 0);
    const early = await earning();
    assert.equal(early?.level, "ok");
    assert.match(early.message, /^\d+ shares of the operator do not earn yet, and may from .* on$/);
    await world.passTime(14 * 86_400);
    const due = await earning();
    assert.equal(due?.level, "warn");
    assert.match(due.message, /^\d+ shares of the operator do not earn yet, and may since /);
  });

  it("fails on a public chain without a beacon, and on prices of 0 there", async () => {
    for (const [chainId, beacon] of [
      [10, "fail"],
      [5, "ok"],
    ] as const) {
      await rpc("anvil_setChainId", [chainId]);
      try {
        const checks = await examine(...agent, "--chain-id", String(chainId));
        assert.equal(checks.get("beacon")?.level, beacon, JSON.stringify([...checks.values()]));
        if (beacon === "fail") assert.match(checks.get("beacon")?.message ?? "", /^CHAIN_NO_BEACON: an OP Stack chain/);
        for (const currency of ["tokens", "coins"])
          assert.equal(checks.get(`prices in ${currency}`)?.level, "fail", currency);
      } finally {
        await rpc("anvil_setChainId", [31_337]);
      }
    }
  });

  it("fails on a bad keystore, port, content store or model", async () => {
    await world.enlist("broken", "20");
    const taken = createServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    const { port } = taken.address() as { port: number };
    await world.editConfig("broken", (config) => ({
      ...config,
      listen: [`/ip4/127.0.0.1/tcp/${port}`],
      announce: [`/ip4/127.0.0.1/tcp/${port}`, "/ip4/127.0.0.1/tcp/1"],
      live: { port, origins: ["https://page.example"] },
      content: { kind: "kubo", url: "http://127.0.0.1:1" },
      model: { kind: "llama", path: "nowhere.gguf" },
    }));
    const args = ["--dir", "broken", "--profile", "default"];
    const checks = await examine(...args);
    assert.deepEqual(levels(checks, "fail"), ["content store", "model"]);
    assert.equal(checks.get(`port /ip4/127.0.0.1/tcp/${port}`)?.level, "warn");
    const live = checks.get("live stream");
    assert.equal(live?.level, "warn");
    assert.match(
      live.message,
      /shows the committees live to programs on this machine, and in browsers to https:\/\/page\.example; the port is in use/,
    );
    assert.equal(checks.get(`announced /ip4/127.0.0.1/tcp/${port}`)?.level, "ok");
    assert.equal(checks.get("announced /ip4/127.0.0.1/tcp/1")?.level, "warn");
    assert.match(checks.get("model")?.message ?? "", /MODEL_FILE_MISSING/);
    taken.close();

    await writeFile(join(world.folder, "broken", "nowhere.gguf"), "not a model");
    await writeFile(join(world.folder, "wrong.txt"), "not the password");
    const worse = await examine(...args, "--password-file", "wrong.txt");
    assert.match(worse.get("model")?.message ?? "", /MODEL_FILE_BROKEN/);
    assert.match(worse.get("keystore")?.message ?? "", /KEYSTORE_PASSWORD_WRONG/);
    await rm(join(world.folder, "broken", "keystore.json"));
    assert.match((await examine(...args)).get("keystore")?.message ?? "", /KEYSTORE_MISSING/);
  });

  /** Lets the registry hear from the oracle that an agent missed a seat. */
  const missSeat = async (agentId: bigint): Promise<void> => {
    const { oracle, registry } = world.deployment;
    const service = packWord(LAYOUTS.service, { agentId, steps: 0n, missed: 1n, answered: 0n, agreed: 0n, earned: 0n });
    const data = encodeFunctionData({ abi: agentRegistryAbi, functionName: "recordServices", args: [0, [service]] });
    await rpc("anvil_setBalance", [oracle, "0xde0b6b3a7640000"]);
    await rpc("anvil_impersonateAccount", [oracle]);
    await rpc("eth_sendTransaction", [{ from: oracle, to: registry, data }]);
    await rpc("anvil_stopImpersonatingAccount", [oracle]);
  };

  const rpc = async (method: string, params: readonly unknown[]): Promise<void> => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const headers = { "content-type": "application/json" };
    const response = await fetch(world.chain.rpcUrl, { method: "POST", headers, body });
    assert.ok(response.ok);
    const answer = (await response.json()) as object;
    assert.ok(!("error" in answer), JSON.stringify(answer));
  };
});
