// The real Kubo, built from its Go module (`npm run test:kubo`), on a repository of its own that talks to this machine alone.
import assert from "node:assert/strict";
import { globSync } from "node:fs";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { base32upper } from "multiformats/bases/base32";
import { cidOf } from "../../agents/adapters/ipfs/block.ts";
import { createHeliaContentStore } from "../../agents/adapters/ipfs/helia-content-store.ts";
import { createKuboContentStore } from "../../agents/adapters/ipfs/kubo-content-store.ts";
import { createLibp2pNetwork } from "../../agents/adapters/libp2p/network.ts";
import { cidString } from "../../agents/core/encoding/cid.ts";
import { sha256 } from "../../agents/core/encoding/bytes.ts";
import type { Digest } from "../../agents/core/types.ts";
import { buildKubo } from "../../scripts/kubo/build.ts";
import { startKubo, type Kubo } from "../../scripts/kubo/daemon.ts";
import { contentStoreSuite, freshBlock, type ContentWorld } from "../adapters/content-store.suite.ts";
import { startPinningServer } from "../adapters/fixtures/pinning-server.ts";
import { signerKey } from "../adapters/network.suite.ts";
import {
  fromHere,
  startPinWorld,
  transcriptAt,
  type PinnedTranscript,
  type PinWorld,
} from "../integration/pin-world.ts";

let kubo: Kubo;

before(async () => {
  kubo = await startKubo(await buildKubo((line) => process.stderr.write(`${line}\n`)));
});

after(() => kubo.stop());

contentStoreSuite("the real Kubo", createKuboWorld, { exchange: false, durable: true, collectsItself: true });

async function createKuboWorld(): Promise<ContentWorld> {
  return {
    open: async (_, timeoutMs = 5_000, owner = "seat") => createKuboContentStore({ url: kubo.url, timeoutMs, owner }),
    damage: (_, digest, bytes) => damage(digest, bytes),
    dispose: async () => {},
  };
}

async function damage(digest: Digest, bytes: Uint8Array): Promise<void> {
  const name = base32upper.encode(cidOf(digest).multihash.bytes).slice(base32upper.prefix.length);
  const [file] = globSync(`blocks/*/${name}.data`, { cwd: kubo.repository });
  await writeFile(join(kubo.repository, file ?? assert.fail("no such block file")), bytes);
}

describe("content store: a pinned block that Kubo's disk broke", () => {
  it("is named with the way out", async () => {
    const store = createKuboContentStore({ url: kubo.url });
    const { bytes, digest } = freshBlock();
    await store.put(bytes);
    await store.pin(digest);
    await damage(digest, bytes.with(9, 0));
    await assert.rejects(store.put(bytes), { code: "STORE_INVALID", message: /repo verify --drop/ });
    await store.close();
  });
});

describe("transcripts and the real Kubo", () => {
  let world: PinWorld;
  let decided: PinnedTranscript;
  let cid: string;
  let id: string;
  let elsewhere: string;
  let cli: PinWorld["cli"];
  let far: PinWorld["far"];

  before(async () => {
    world = await startPinWorld(5);
    ({ elsewhere, cli, far } = world);
  });

  after(() => world.close());

  /** Chooses a decision for one test alone, whose blocks Kubo does not have. */
  function choose(index: number): void {
    decided = transcriptAt(world, index);
    ({ cid, id } = decided);
  }

  async function assertKept(): Promise<void> {
    const listed = (await kubo.ipfs("refs", "--recursive", "--unique", cid)).toString().trim().split("\n");
    const expected = decided.blocks.map((bytes) => cidString(sha256(bytes)));
    assert.deepEqual([cid, ...listed].toSorted(), expected.toSorted());
    for (const bytes of decided.blocks)
      assert.deepEqual(await kubo.ipfs("block", "get", cidString(sha256(bytes))), Buffer.from(bytes));
    const pins = (await kubo.ipfs("pin", "ls", "--type", "recursive", "--quiet")).toString().trim().split("\n");
    assert.ok(pins.includes(cid));
  }

  async function assertAbsent(): Promise<void> {
    await assert.rejects(kubo.ipfs("--offline", "block", "stat", cid), /not found|could not find/);
  }

  it("AV2: a transcript's CAR imported into Kubo gives the same CIDs, root and every block", async () => {
    choose(0);
    await assertAbsent();
    const exported = await cli.json("transcript", id, "--car", "out.car", ...fromHere);
    assert.equal(exported.code, 0);
    const said = (await kubo.ipfs("dag", "import", "--stats", join(world.folder, "out.car"))).toString();
    assert.match(said, new RegExp(`root.*${cid}`));
    assert.match(said, new RegExp(`^Imported ${decided.blocks.length} blocks`, "m"));
    await assertKept();
  });

  it("AV3: a transcript pinned into Kubo can be fetched from there and is proven", async () => {
    choose(1);
    await assertAbsent();
    const pinned = await cli.json("pin", id, "--into-kubo", kubo.url, ...fromHere);
    assert.deepEqual([pinned.code, pinned.value["cid"], pinned.value["blocks"]], [0, cid, decided.blocks.length]);
    await assertKept();
    const verified = await cli.json("verify", id, "--kubo", kubo.url, "--deployment", "deployment.json");
    assert.deepEqual([verified.code, verified.value["ok"]], [0, true]);
  });

  it("AV2: a CAR that Kubo exports is read as the same blocks under the same root", async () => {
    choose(2);
    const store = createKuboContentStore({ url: kubo.url });
    for (const bytes of decided.blocks) await store.put(bytes);
    await store.close();
    await writeFile(join(elsewhere, "kubo.car"), await kubo.ipfs("dag", "export", "--progress=false", cid));
    const { code, value } = await far.json("pin", "--car", "kubo.car", "--into", "kept");
    assert.deepEqual([code, value["cid"], value["blocks"]], [0, cid, decided.blocks.length]);
    assert.deepEqual(await readdir(join(elsewhere, "kept", "pins")), [cid]);
    const kept = ["--store", join(elsewhere, "kept"), "--deployment", "deployment.json"];
    const verified = await cli.json("verify", id, ...kept);
    assert.deepEqual([verified.code, verified.value["ok"]], [0, true]);
  });

  it("AV8: a pinning service on Kubo fetches a transcript by bitswap from the agent that is named as its origin", async () => {
    choose(3);
    await assertAbsent();
    const network = await createLibp2pNetwork({ privateKey: signerKey(0) });
    const agent = await createHeliaContentStore({ libp2p: network.libp2p, path: join(elsewhere, "helia") });
    const server = await startPinningServer("key");
    // The pinning service begins when it is first asked for the state of the pin.
    server.misbehave = async ({ method, url = "" }) => {
      const [asked] = server.pins;
      if (method !== "GET" || !url.includes("/pins/") || asked === undefined) return false;
      await kubo.ipfs("swarm", "connect", asked.pin.origins?.[0] ?? assert.fail());
      await kubo.ipfs("pin", "add", "--progress=false", asked.pin.cid);
      return false;
    };
    server.states = ["queued", "pinned"];
    try {
      for (const bytes of decided.blocks) await agent.put(bytes);
      const [address] = network.libp2p.getMultiaddrs();
      const services = { kubo: { endpoint: server.endpoint, apiKeyEnv: "KEY" } };
      await writeFile(join(elsewhere, "pinning.json"), JSON.stringify(services));
      const asked = ["pin", cid, "--peer", String(address), "--into", "asked", "--service", "kubo"];
      const { code, stderr } = await far.run(asked, { environment: { KEY: "key" } });
      assert.equal(code, 0, stderr);
    } finally {
      await server.close();
      await agent.close();
      await network.close();
    }
    await assertKept();
  });

  it("AV5: Kubo's own gateway is read like ours, block by block and as a CAR", async () => {
    choose(4);
    await assertAbsent();
    const store = createKuboContentStore({ url: kubo.url });
    for (const bytes of decided.blocks) await store.put(bytes);
    await store.close();
    const { code, value } = await far.json("pin", cid, "--gateway", kubo.gatewayUrl, "--into", "read");
    assert.deepEqual([code, value["blocks"]], [0, decided.blocks.length]);
    const car = await fetch(`${kubo.gatewayUrl}/ipfs/${cid}?format=car`);
    await writeFile(join(elsewhere, "gateway.car"), Buffer.from(await car.arrayBuffer()));
    const imported = await far.json("pin", "--car", "gateway.car", "--into", "imported");
    assert.deepEqual([imported.code, imported.value["cid"], imported.value["blocks"]], [0, cid, decided.blocks.length]);
  });
});
