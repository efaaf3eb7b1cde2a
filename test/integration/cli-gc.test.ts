import assert from "node:assert/strict";
import { existsSync, globSync } from "node:fs";
import { readFile, readdir, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { parseEther } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { createFolderContentStore } from "../../agents/adapters/ipfs/folder-content-store.ts";
import { keystoreAddress } from "../../agents/cli/shared/keys.ts";
import { cidString } from "../../agents/core/encoding/cid.ts";
import { openBank } from "../../devnet/world/bank.ts";
import { startDecidedChain, type Decided, type DecidedChain } from "../../devnet/decided-chain.ts";
import { startKuboLoopback, type KuboLoopback } from "../adapters/kubo-loopback.ts";
import { createCli, type Cli, type ConfigJson } from "./cli-world.ts";
import { until } from "../support/until.ts";

let world: DecidedChain;
let cli: Cli;
let kubo: KuboLoopback;
/** A settled decision, and a provisional one. */
let settled: Decided;
let provisional: Decided;

before(async () => {
  world = await startDecidedChain(2, { lastIsProvisional: true });
  [settled = assert.fail(), provisional = assert.fail()] = world.decisions;
  cli = createCli(world.folder);
  kubo = await startKuboLoopback();
});

after(async () => {
  await kubo.close();
  await world.close();
});

function cidOf({ certificate }: Decided): string {
  return cidString(certificate.decision.transcript);
}

async function editConfig(name: string, change: (config: ConfigJson) => object): Promise<void> {
  const path = join(world.folder, name, "conclave.json");
  await writeFile(path, JSON.stringify(change(JSON.parse(await readFile(path, "utf8")) as ConfigJson)));
}

/** Makes an agent that pinned both transcripts a hundred days ago. */
async function createAgent(name: string, ...flags: readonly string[]): Promise<string> {
  const { code } = await cli.run(["agent", "init", "--dir", name, "--deployment", "deployment.json", ...flags]);
  assert.equal(code, 0);
  return join(world.folder, name, "data", "ipfs");
}

async function fill(folder: string): Promise<void> {
  const store = await createFolderContentStore(folder, "seat");
  for (const { blocks, certificate } of [settled, provisional]) {
    for (const bytes of blocks) await store.put(bytes);
    await store.pin(certificate.decision.transcript);
  }
  await store.close();
  const longAgo = new Date(Date.now() - 100 * 86_400_000);
  for (const file of globSync(["seat-pins/*", "blocks/*/*"], { cwd: folder }))
    await utimes(join(folder, file), longAgo, longAgo);
}

async function isProven({ attempt }: Decided, folder: string): Promise<boolean> {
  const id = String(attempt.request.id);
  return (await cli.json("verify", id, "--deployment", "deployment.json", "--store", folder)).code === 0;
}

describe("AV10: conclave gc", () => {
  it("removes old transcripts that are over; --dry-run shows them first, even while an agent runs", async () => {
    const folder = await createAgent("keeper");
    await fill(folder);
    const holder = await createFolderContentStore(folder, "seat");
    const preview = await cli.json("gc", "--dir", "keeper", "--dry-run");
    const locked = await cli.failure("gc", "--dir", "keeper");
    await holder.close();
    assert.deepEqual([locked.code, locked.data["path"]], ["STORE_LOCKED", folder]);
    assert.equal(await isProven(settled, folder), true);
    const collected = await cli.json("gc", "--dir", "keeper");
    for (const [{ code, value }, dryRun] of [
      [preview, true],
      [collected, false],
    ] as const) {
      assert.deepEqual([code, value["dryRun"], value["retentionDays"]], [0, dryRun, 46]);
      const [only, ...others] = value["unpinned"] as readonly Record<string, unknown>[];
      assert.deepEqual([only?.["cid"], only?.["requestId"]], [cidOf(settled), String(settled.attempt.request.id)]);
      assert.deepEqual([others, value["blocks"]], [[], settled.blocks.length]);
      const { provisional: waiting, ...rest } = value["kept"] as Record<string, number>;
      assert.deepEqual([waiting, [...new Set(Object.values(rest))]], [1, [0]]);
    }
    assert.deepEqual([await isProven(settled, folder), await isProven(provisional, folder)], [false, true]);
    const text = await cli.run(["gc", "--dir", "keeper"]);
    assert.match(text.stdout, /kept +1 provisional\nremoved +0 blocks, 0 bytes/);
  });

  it("refuses a window that is too short, with field, value and minimum, and a missing store", async () => {
    await createAgent("hasty");
    await editConfig("hasty", (config) => ({ ...config, collection: { retentionDays: 23 } }));
    const path = join(world.folder, "hasty", "conclave.json");
    const short = await cli.failure("gc", "--dir", "hasty");
    assert.deepEqual(short.data, { path, field: "collection.retentionDays", value: 23, minimum: 23 });
    assert.equal(short.code, "CONFIG_INVALID");
    const run = await cli.failure("agent", "run", "--dir", "hasty");
    assert.deepEqual([run.code, run.data["field"]], ["CONFIG_INVALID", "collection.retentionDays"]);
    for (const collection of [{ retentionDays: 0 }, { retentionDays: "30" }, { intervalMinutes: 0 }, { days: 30 }]) {
      await editConfig("hasty", (config) => ({ ...config, collection }));
      const { code, data } = await cli.failure("gc", "--dir", "hasty");
      assert.equal(code, "CONFIG_INVALID", JSON.stringify(collection));
      assert.match(String(data["field"]), /^collection/);
    }
    await editConfig("hasty", (config) => ({ ...config, collection: { retentionDays: 24 } }));
    for (const flags of [[], ["--dry-run"]]) {
      const { code, message } = await cli.failure("gc", "--dir", "hasty", ...flags);
      assert.deepEqual([code, /nothing is kept there; correct --dir/.test(message)], ["CONFIG_INVALID", true]);
    }
    assert.equal(existsSync(join(world.folder, "hasty", "data", "ipfs")), false);
  });

  it("ends the seat's pin in a Kubo node, but not the pins of operators and other programs, and removes no blocks", async () => {
    await createAgent("kubo", "--kubo", kubo.url);
    const longAgo = Date.now() - 100 * 86_400_000;
    for (const { blocks, certificate } of [settled, provisional]) {
      for (const bytes of blocks) kubo.keep(bytes);
      kubo.pins.set(cidString(certificate.decision.transcript), `conclave seat:${longAgo}`);
    }
    const source = ["--store", ".", "--deployment", "deployment.json"];
    const id = String(settled.attempt.request.id);
    assert.equal((await cli.run(["pin", id, "--into-kubo", kubo.url, ...source])).code, 0);
    assert.match(kubo.pins.get(cidOf(settled)) ?? "", new RegExp(`^conclave seat:${longAgo} operator:\\d+$`));
    const { value } = await cli.json("gc", "--dir", "kubo");
    assert.equal((value["unpinned"] as readonly unknown[]).length, 1);
    assert.match(kubo.pins.get(cidOf(settled)) ?? "", /^conclave operator:\d+$/);
    assert.equal(kubo.pins.get(cidOf(provisional)), `conclave seat:${longAgo}`);
    for (const bytes of settled.blocks) assert.equal(kubo.holds(bytes), true);

    assert.equal((await cli.json("unpin", cidOf(settled), "--from-kubo", kubo.url)).code, 0);
    assert.equal(kubo.pins.has(cidOf(settled)), false);
    for (const name of ["", "somebody's", `conclave seat:${longAgo}`]) {
      kubo.pins.set(cidOf(settled), name);
      assert.equal((await cli.failure("unpin", cidOf(settled), "--from-kubo", kubo.url)).code, "PIN_UNKNOWN", name);
      assert.equal(kubo.pins.get(cidOf(settled)), name);
    }
  });
});

describe("AV7: conclave unpin", () => {
  it("ends a pin of `conclave pin`; gc --from then removes its blocks and no others", async () => {
    const source = ["--store", ".", "--deployment", "deployment.json"];
    for (const { attempt } of [settled, provisional])
      assert.equal((await cli.run(["pin", String(attempt.request.id), "--into", "pins", ...source])).code, 0);
    const nothing = await cli.json("gc", "--from", "pins");
    assert.deepEqual(nothing.value, { dryRun: false, blocks: 0, bytes: 0 });

    const { code, stdout } = await cli.run(["unpin", cidOf(settled), "--from", "pins"]);
    assert.equal(code, 0);
    assert.match(stdout, /stay until: conclave gc --from pins/);
    assert.equal(await isProven(settled, join(world.folder, "pins")), true);
    for (const dryRun of [true, false]) {
      const { value } = await cli.json("gc", "--from", "pins", ...(dryRun ? ["--dry-run"] : []));
      assert.deepEqual([value["dryRun"], value["blocks"]], [dryRun, settled.blocks.length]);
      assert.equal(await isProven(settled, join(world.folder, "pins")), dryRun);
    }
    assert.equal(await isProven(provisional, join(world.folder, "pins")), true);
  });

  it("refuses a wrong CID, an unknown pin, a missing folder, a folder in use and a wrong URL", async () => {
    const unknown = await cli.failure("unpin", cidOf(settled), "--from", "pins");
    assert.deepEqual([unknown.code, unknown.data["cid"]], ["PIN_UNKNOWN", cidOf(settled)]);
    assert.equal((await cli.failure("unpin", "bafynonsense")).code, "USAGE");
    for (const command of [["unpin", cidOf(settled)], ["gc"]]) {
      const { code, data } = await cli.failure(...command, "--from", "nowhere");
      assert.deepEqual([code, data["option"]], ["CONFIG_INVALID", "--from"]);
    }
    assert.equal((await cli.failure("unpin", cidOf(settled), "--from-kubo", "kubo")).code, "USAGE");
    const holder = await createFolderContentStore(join(world.folder, "pins"));
    const source = ["--store", ".", "--deployment", "deployment.json"];
    for (const args of [
      ["unpin", cidOf(provisional), "--from", "pins"],
      ["gc", "--from", "pins"],
      ["pin", String(settled.attempt.request.id), "--into", "pins", ...source],
    ])
      assert.equal((await cli.failure(...args)).code, "STORE_LOCKED", args[0]);
    assert.equal((await cli.json("gc", "--from", "pins", "--dry-run")).code, 0);
    await holder.close();
  });
});

describe("AV10: an agent that runs", () => {
  it("collects old transcripts that are over by itself, keeps young ones, and frees its store at the end", async () => {
    const model = ["--model-url", "http://127.0.0.1:1/v1", "--model-name", "none"];
    const folder = await createAgent("running", ...model);
    await fill(folder);
    const store = await createFolderContentStore(folder, "seat");
    const young = provisional.certificate.decision.transcript;
    await store.pin(young);
    await store.close();
    const owner = privateKeyToAccount((world.chain.accounts[0] ?? assert.fail()).privateKey);
    const bank = openBank(world.chain, world.deployment.token, owner);
    for (const keystore of ["keystore.json", "operator.json"])
      await bank.fund(await keystoreAddress(join(world.folder, "running", keystore)), parseEther("2"));
    assert.equal((await cli.run(["agent", "register", "--dir", "running", "--stake", "1"])).code, 0);

    const stop = new AbortController();
    const args = ["agent", "run", "--dir", "running", "--json", "--log-level", "error"];
    const running = cli.run(args, { signal: stop.signal });
    try {
      await until(async () => !(await isProven(settled, folder)));
      assert.deepEqual(await readdir(join(folder, "seat-pins")), [cidString(young)]);
      assert.equal(await isProven(provisional, folder), true);
    } finally {
      stop.abort();
      assert.equal((await running).code, 0);
    }
    await (await createFolderContentStore(folder, "seat")).close();
  });
});
