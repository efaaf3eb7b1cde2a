import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { globSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { base32upper } from "multiformats/bases/base32";
import * as dagCbor from "@ipld/dag-cbor";
import { CID } from "multiformats/cid";
import { sha256 as sha256Hasher } from "multiformats/hashes/sha2";
import { createSystemClock } from "../../agents/adapters/clock/system-clock.ts";
import { cidOf, MAX_BLOCK_BYTES, MAX_PINNED_BLOCKS, MAX_PINNED_BYTES } from "../../agents/adapters/ipfs/block.ts";
import { createHeliaContentStore } from "../../agents/adapters/ipfs/helia-content-store.ts";
import { createKuboContentStore } from "../../agents/adapters/ipfs/kubo-content-store.ts";
import { walkDag } from "../../agents/adapters/ipfs/walk.ts";
import { createLibp2pNetwork, type Libp2pNetwork } from "../../agents/adapters/libp2p/network.ts";
import { createMemoryContentHub, createMemoryContentStore, createMemoryPins } from "../support/memory/content-store.ts";
import { encodeBlock } from "../../agents/core/encoding/codec.ts";
import { sha256 } from "../../agents/core/encoding/bytes.ts";
import type { Digest } from "../../agents/core/types.ts";
import type { ContentStore } from "../../agents/ports/content-store.ts";
import { contentStoreSuite, freshBlock, type ContentWorld } from "./content-store.suite.ts";
import { startKuboLoopback } from "./kubo-loopback.ts";
import { peerOf, signerKey } from "./network.suite.ts";
import { until } from "../support/until.ts";

contentStoreSuite("memory", createMemoryWorld, { exchange: true, durable: true });
contentStoreSuite("Helia with bitswap", createHeliaWorld, { exchange: true, durable: true });
contentStoreSuite("Kubo client against a loopback stand-in", createKuboLoopbackWorld, {
  exchange: false,
  durable: true,
  collectsItself: true,
});

async function createMemoryWorld(): Promise<ContentWorld> {
  const clock = createSystemClock();
  const hub = createMemoryContentHub();
  const disks = [0, 1].map(() => ({ blocks: new Map<Digest, Uint8Array>(), pins: createMemoryPins() }));
  const opened: ContentStore[] = [];
  return {
    async open(node, getTimeoutMs = 60_000, owner = "seat") {
      const store = createMemoryContentStore({ clock, hub, getTimeoutMs, owner, ...disks[node] });
      opened.push(store);
      return store;
    },
    async damage(node, digest, bytes) {
      disks[node]?.blocks.set(digest, bytes);
    },
    async dispose() {
      for (const store of opened) await store.close();
    },
  };
}

async function createHeliaWorld(): Promise<ContentWorld> {
  const directory = await mkdtemp(join(tmpdir(), "conclave-helia-"));
  const networks: Libp2pNetwork[] = await Promise.all(
    [0, 1].map((agent) => createLibp2pNetwork({ privateKey: signerKey(agent) })),
  );
  for (const [i, network] of networks.entries()) {
    network.setPeers(networks.flatMap((other, j) => (i === j ? [] : [peerOf(j, other)])));
  }
  await until(() => networks.every((network) => network.connected().length === 1));
  const opened: ContentStore[] = [];
  return {
    async open(node, getTimeoutMs = 60_000, owner = "seat") {
      const network = networks[node] ?? assert.fail(`no node ${node}`);
      const store = await createHeliaContentStore({
        libp2p: network.libp2p,
        path: join(directory, `${node}`),
        getTimeoutMs,
        owner,
      });
      opened.push(store);
      return store;
    },
    async damage(node, digest, bytes) {
      const name = base32upper.encode(cidOf(digest).multihash.bytes);
      const [file] = globSync(join(directory, `${node}`, "blocks", "*", `${name}.data`));
      await writeFile(file ?? assert.fail("no such block file"), bytes);
    },
    async dispose() {
      for (const store of opened) await store.close();
      for (const network of networks) await network.close();
      await rm(directory, { recursive: true });
    },
  };
}

async function createKuboLoopbackWorld(): Promise<ContentWorld> {
  const server = await startKuboLoopback();
  return {
    open: async (_, timeoutMs = 60_000, owner = "seat") =>
      createKuboContentStore({ url: server.url, timeoutMs, owner }),
    async damage(_, digest, bytes) {
      server.blocks.set(cidOf(digest).toString(), bytes);
    },
    dispose: () => server.close(),
  };
}

describe("content store: walking a DAG", () => {
  it("visits shared blocks once, however many paths lead to them", async () => {
    const blocks = new Map<Digest, Uint8Array>();
    let top = freshBlock();
    blocks.set(top.digest, top.bytes);
    // 2^60 paths.
    for (let i = 0; i < 60; i++) {
      top = freshBlock(top.digest, top.digest);
      blocks.set(top.digest, top.bytes);
    }
    let visits = 0;
    for await (const { depth } of walkDag(top.digest, async (digest) => blocks.get(digest) ?? assert.fail())) {
      assert.equal(depth, visits++);
    }
    assert.equal(visits, 61);
  });

  it("refuses more bytes than a transcript may have, no matter how few blocks hold them", async () => {
    const leaf = dagCbor.encode(new Uint8Array(MAX_BLOCK_BYTES - 5));
    const children = Array.from({ length: 2_000 }, (_, i) => sha256(Uint8Array.of(i, i >> 8)));
    const wide = encodeBlock(children.map((link) => ({ link })));
    const root = sha256(wide);
    let bytes = 0;
    const walk = async (): Promise<void> => {
      for await (const { block } of walkDag(root, async (digest) => (digest === root ? wide : leaf)))
        bytes += block.bytes.length;
    };
    await assert.rejects(walk, { code: "BLOCK_INVALID" });
    assert.ok(bytes > MAX_PINNED_BYTES - MAX_BLOCK_BYTES && bytes <= MAX_PINNED_BYTES, `${bytes} bytes`);
  });

  it("refuses too many blocks, other codecs and malformed dag-cbor", async () => {
    const children = Array.from({ length: MAX_PINNED_BLOCKS }, (_, i) => sha256(Uint8Array.of(i, i >> 8, i >> 16)));
    const wide = encodeBlock(children.map((link) => ({ link })));
    const raw = CID.createV1(0x55, await sha256Hasher.digest(Uint8Array.of(1)));
    for (const bytes of [wide, dagCbor.encode({ raw }), Uint8Array.of(0xff, 0x00), Uint8Array.of()]) {
      const root = sha256(bytes);
      const walk = async (): Promise<void> => {
        for await (const _ of walkDag(root, async () => bytes)) continue;
      };
      await assert.rejects(walk, { code: "BLOCK_INVALID" });
    }
  });
});

describe("content store: Kubo client", () => {
  it("tells an absent or failing node from an absent block", async () => {
    const server = await startKuboLoopback();
    const { bytes, digest } = freshBlock();
    const store = createKuboContentStore({ url: `${server.url}/wrong`, timeoutMs: 60_000 });
    await assert.rejects(store.get(digest), { code: "NETWORK_FAILED" });
    await assert.rejects(store.has(digest), { code: "NETWORK_FAILED" });
    await server.close();
    const gone = createKuboContentStore({ url: server.url, timeoutMs: 60_000 });
    for (const method of ["get", "has", "pin", "isPinned"] as const) {
      await assert.rejects(gone[method](digest), { code: "NETWORK_FAILED" }, method);
    }
    await assert.rejects(gone.put(bytes), { code: "NETWORK_FAILED" });
  });
});

describe("content store: Helia node", () => {
  it("leaves nothing behind that keeps a process alive", async () => {
    const directory = await mkdtemp(join(tmpdir(), "conclave-helia-exit-"));
    const script = `
      import { createLibp2pNetwork } from "./agents/adapters/libp2p/network.ts";
      import { createHeliaContentStore } from "./agents/adapters/ipfs/helia-content-store.ts";
      import { sha256 } from "./agents/core/encoding/bytes.ts";
      import { signerKey } from "./test/adapters/network.suite.ts";
      const network = await createLibp2pNetwork({ privateKey: signerKey(0) });
      const store = await createHeliaContentStore({ libp2p: network.libp2p, path: ${JSON.stringify(directory)}, getTimeoutMs: 60_000 });
      const digest = await store.put(Uint8Array.of(0xa0));
      await store.pin(digest);
      store.get(sha256(Uint8Array.of(1))).catch((error) => console.log(error.code));
      await store.close();
      await network.close();
    `;
    try {
      const child = spawnSync(process.execPath, ["--input-type=module-typescript", "-e", script], {
        timeout: 240_000,
        encoding: "utf8",
      });
      assert.deepEqual([child.status, child.stdout], [0, "BLOCK_MISSING\n"], child.stderr);
    } finally {
      await rm(directory, { recursive: true });
    }
  });
});
