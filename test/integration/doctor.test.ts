import assert from "node:assert/strict";
import { rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { once } from "node:events";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { privateKeyToAccount } from "viem/accounts";
import type { Check } from "../../agents/cli/doctor-checks.ts";
import { MIN_UNBONDING_SECONDS, deploy } from "../../scripts/lib/deploy.ts";
import { startCliWorld, type CliWorld } from "./cli-world.ts";

const EMPTY = `0x${"12".repeat(20)}`;

describe("conclave doctor", () => {
  let world: CliWorld;
  before(async () => {
    world = await startCliWorld();
    await world.enlist("sound", "20");
  });
  after(() => world.close());

  /** The findings by name, after the command ended as they demand. */
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
    assert.deepEqual(levels(checks, "warn"), ["administration"], "the deployer is a single key");
    for (const name of [
      "node",
      "deployment file",
      "chain",
      "bindings",
      "pausing",
      "tokens",
      "keystore",
      "gas",
      "model",
    ])
      assert.equal(checks.get(name)?.level, "ok", name);
    for (const name of ["registry", "oracle", "slasher", "accessManager"])
      assert.match(checks.get(`code of ${name}`)?.message ?? "", /is the default build/);
    assert.match(checks.get("registration")?.message ?? "", /is active; the operator's stake is 20 /);
    assert.match(checks.get("pausing")?.message ?? "", new RegExp(world.chain.accounts[0]!.address));
    const plain = await world.run(["doctor", ...agent]);
    assert.equal(plain.code, 0);
    assert.match(plain.stdout, /^ok {4}node: Node \d+.*\n/);
    assert.match(plain.stdout, /warn {2}administration: .*\n {6}way out: make a timelock/);
  });

  it("looks at a deployment alone", async () => {
    const checks = await examine("--deployment", "deployment.json");
    assert.deepEqual(levels(checks, "fail"), []);
    assert.equal(checks.get("slasher")?.level, "ok");
    assert.equal(checks.has("keystore"), false);
    const file = { ...world.deployment, rpcUrl: world.chain.rpcUrl, slasher: EMPTY };
    await writeFile(join(world.folder, "elsewhere.json"), JSON.stringify(file));
    for (const source of [[], ["--dir", "sound"]]) {
      const mistaken = await examine(...source, "--deployment", "elsewhere.json");
      assert.deepEqual(levels(mistaken, "fail"), ["slasher"]);
      assert.match(mistaken.get("slasher")?.message ?? "", new RegExp(`is ${world.deployment.slasher}, ${EMPTY} in`));
    }
  });

  it("wrong chain, no node, no contract", async () => {
    const wrong = await examine(...agent, "--chain-id", "5");
    assert.match(wrong.get("chain")?.message ?? "", /CHAIN_WRONG_ID.* serves chain 31337, but chain 5/);
    assert.equal(wrong.has("bindings"), false, "what it says of another chain would mislead");
    const silent = await examine(...agent, "--rpc", "http://127.0.0.1:1");
    assert.match(silent.get("chain")?.message ?? "", /CHAIN_UNREACHABLE/);
    const nothing = await examine(...agent, "--oracle", EMPTY);
    assert.deepEqual(levels(nothing, "fail"), ["oracle"]);
    assert.match(nothing.get("oracle")?.message ?? "", /CHAIN_NO_CONTRACT/);
  });

  it("an oracle of another deployment, and other code than ours", async () => {
    const foreign = await deploy({
      rpcUrl: world.chain.rpcUrl,
      account: privateKeyToAccount(world.chain.accounts[9]!.privateKey),
      token: world.deployment.token,
      minStake: 1n,
      maxStake: 16n,
      unbondingDelaySeconds: MIN_UNBONDING_SECONDS,
      epochBlocks: 32,
      buildProfile: "default",
    });
    const checks = await examine("--deployment", "deployment.json", "--oracle", foreign.oracle);
    assert.deepEqual(levels(checks, "fail"), ["bindings"]);
    assert.match(
      checks.get("bindings")?.message ?? "",
      new RegExp(`the registry is bound to oracle ${world.deployment.oracle}`),
    );
    await rpc("anvil_setCode", [foreign.slasher, "0x600160005260206000f3"]);
    await writeFile(join(world.folder, "foreign.json"), JSON.stringify({ ...foreign, rpcUrl: world.chain.rpcUrl }));
    const changed = await examine("--deployment", "foreign.json");
    assert.equal(changed.get("code of slasher")?.level, "fail");
    assert.equal(changed.get("code of registry")?.level, "ok");
    const other = await examine("--dir", "sound", "--deployment", "foreign.json");
    assert.match(other.get("deployment file")?.message ?? "", /oracle is 0x.* in the config, 0x.* in the file/);
  });

  it("a key that is not registered and has no gas", async () => {
    await world.init("fresh");
    const checks = await examine("--dir", "fresh", "--profile", "default");
    assert.deepEqual(levels(checks, "fail"), ["registration", "gas"]);
    assert.match(checks.get("registration")?.message ?? "", /AGENT_NOT_REGISTERED/);
    assert.match(checks.get("gas")?.message ?? "", /has 0 coins/);
    await rpc("anvil_setBalance", [await world.init("poor"), `0x${(10n ** 15n).toString(16)}`]);
    assert.notEqual((await examine("--dir", "poor", "--profile", "default")).get("gas")?.level, "ok");
  });

  it("too little stake", async () => {
    await world.enlist("thin", "12");
    assert.equal((await world.json("agent", "unstake", "--dir", "thin", "--amount", "5")).code, 0);
    const checks = await examine("--dir", "thin", "--profile", "default");
    assert.match(checks.get("registration")?.message ?? "", /the operator's stake is 7 .* at least 10 /);
  });

  it("keystore, port, content store and model", async () => {
    await world.enlist("broken", "20");
    const taken = createServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    const { port } = taken.address() as { port: number };
    await world.editConfig("broken", (config) => ({
      ...config,
      listen: [`/ip4/127.0.0.1/tcp/${port}`],
      announce: [`/ip4/127.0.0.1/tcp/${port}`, "/ip4/127.0.0.1/tcp/1"],
      content: { kind: "kubo", url: "http://127.0.0.1:1" },
      model: { kind: "llama", path: "nowhere.gguf" },
    }));
    const args = ["--dir", "broken", "--profile", "default"];
    const checks = await examine(...args);
    assert.deepEqual(levels(checks, "fail"), ["content store", "model"]);
    assert.equal(checks.get(`port /ip4/127.0.0.1/tcp/${port}`)?.level, "warn");
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

  const rpc = async (method: string, params: readonly unknown[]): Promise<void> => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const headers = { "content-type": "application/json" };
    const response = await fetch(world.chain.rpcUrl, { method: "POST", headers, body });
    assert.ok(response.ok);
  };
});
