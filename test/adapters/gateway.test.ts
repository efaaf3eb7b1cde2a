import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { readCar } from "../../agents/adapters/ipfs/car.ts";
import { cidOf } from "../../agents/adapters/ipfs/block.ts";
import { createFolderContentStore } from "../../agents/adapters/ipfs/folder-content-store.ts";
import { startGateway } from "../../agents/adapters/ipfs/gateway.ts";
import type { HttpServer } from "../../agents/adapters/http-server.ts";
import { createGatewaySource } from "../../agents/adapters/ipfs/gateway-source.ts";
import { LocalBlocks } from "../../agents/adapters/ipfs/local-blocks.ts";
import { cidString } from "../../agents/core/codec.ts";
import type { Digest } from "../../agents/core/types.ts";
import type { ContentStore } from "../../agents/ports/content-store.ts";
import { contentStoreSuite, freshBlock, putDiamond } from "./content-store.suite.ts";

contentStoreSuite(
  "folder",
  async () => {
    const folder = await mkdtemp(join(tmpdir(), "conclave-folder-"));
    return {
      open: (node, _, owner = "operator") => createFolderContentStore(join(folder, String(node)), owner),
      async damage(node, digest, bytes) {
        const blocks = new LocalBlocks(join(folder, String(node), "blocks"));
        await blocks.open();
        await blocks.put(cidOf(digest), bytes);
      },
      dispose: () => rm(folder, { recursive: true }),
    };
  },
  { exchange: false, durable: true, alone: true },
);

describe("AV5: the trustless gateway", () => {
  let folder: string;
  let store: ContentStore;
  let gateway: HttpServer;
  let diamond: readonly Digest[];

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "conclave-gateway-"));
    store = await createFolderContentStore(folder);
    gateway = await startGateway({ store, host: "127.0.0.1", port: 0 });
    diamond = await putDiamond(store);
  });

  after(async () => {
    await gateway.close();
    await store.close();
    await rm(folder, { recursive: true });
  });

  function ask(path: string, init: RequestInit = {}): Promise<Response> {
    return fetch(`${gateway.url}${path}`, init);
  }

  it("serves a block that it holds as raw bytes, by parameter or header", async () => {
    const [root = "0x" as Digest] = diamond;
    const cid = cidString(root);
    for (const answer of [
      await ask(`/ipfs/${cid}?format=raw`),
      await ask(`/ipfs/${cid}`, { headers: { accept: "application/vnd.ipld.raw" } }),
    ]) {
      assert.equal(answer.status, 200);
      assert.equal(answer.headers.get("content-type"), "application/vnd.ipld.raw");
      assert.match(answer.headers.get("cache-control") ?? "", /immutable/);
      assert.equal(answer.headers.get("x-content-type-options"), "nosniff");
      assert.deepEqual(Buffer.from(await answer.arrayBuffer()), Buffer.from(await store.get(root)));
    }
    const tag = (await ask(`/ipfs/${cid}?format=raw`, { method: "HEAD" })).headers.get("etag") ?? "";
    const cached = await ask(`/ipfs/${cid}?format=raw`, { headers: { "if-none-match": tag } });
    assert.equal(cached.status, 304);
  });

  it("serves the DAG below a root as a CAR, or its block alone", async () => {
    const [root = "0x" as Digest] = diamond;
    const whole = await ask(`/ipfs/${cidString(root)}?format=car`);
    assert.match(whole.headers.get("content-type") ?? "", /^application\/vnd\.ipld\.car; version=1/);
    const { root: found, blocks } = await readCar(whole.body!);
    assert.equal(found, root);
    const digests: Digest[] = [];
    for await (const { digest } of blocks) digests.push(digest);
    assert.deepEqual(digests, diamond);
    const one = await ask(`/ipfs/${cidString(root)}?format=car&dag-scope=block`);
    assert.ok((await one.arrayBuffer()).byteLength < 400);
  });

  it("fetches nothing, writes nothing and serves nothing else", async () => {
    const absent = cidString(freshBlock().digest);
    const held = cidString(diamond[0]!);
    for (const [path, init, status] of [
      [`/ipfs/${absent}?format=raw`, {}, 404],
      [`/ipfs/${held}`, {}, 406],
      [`/ipfs/${held}?format=tar`, {}, 406],
      [`/ipfs/${held}/messages/0?format=raw`, {}, 400],
      ["/ipfs/QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWnPbdG?format=raw", {}, 400],
      ["/ipfs/..%2f..%2fetc%2fpasswd?format=raw", {}, 400],
      ["/", {}, 400],
      [`/ipfs/${held}?format=raw`, { method: "POST", body: "x" }, 405],
    ] as const)
      assert.equal((await ask(path, init)).status, status, path);
  });

  it("a block below the root that is missing ends the connection: no part is taken for the whole", async () => {
    const missing = freshBlock();
    const top = freshBlock(missing.digest);
    await store.put(top.bytes);
    await assert.rejects(async () => (await ask(`/ipfs/${cidString(top.digest)}?format=car`)).arrayBuffer());
  });

  it("bounds requests by address, and answers under way", async () => {
    const slow = Promise.withResolvers<Uint8Array>();
    const stalled = { has: async () => true, get: () => slow.promise };
    const limits = { requests: 4, windowMs: 60_000, concurrency: 2 };
    const bounded = await startGateway({ store: stalled, host: "127.0.0.1", port: 0, limits });
    try {
      const url = `${bounded.url}/ipfs/${cidString(diamond[0]!)}?format=raw`;
      const waiting = [fetch(url), fetch(url)];
      // Both are under way once the third is turned away.
      let third = await fetch(url);
      if (third.status === 200) third = await fetch(url);
      assert.equal(third.status, 503);
      await fetch(url);
      const fifth = await fetch(url);
      assert.deepEqual([fifth.status, fifth.headers.get("retry-after")], [429, "60"]);
      slow.resolve(Uint8Array.of(0xa0));
      for (const answer of waiting) assert.equal((await answer).status, 200);
    } finally {
      await bounded.close();
    }
  });

  it("a port that is taken is an error of its own", async () => {
    const { port } = new URL(gateway.url);
    const taken = startGateway({ store, host: "127.0.0.1", port: Number(port) });
    await assert.rejects(taken, { code: "NETWORK_FAILED" });
  });
});

describe("AV3: blocks from a gateway", () => {
  const { bytes, digest } = freshBlock();

  /** Answers in order, the last one for ever. */
  async function withServer<T>(
    answers: readonly { readonly status: number; readonly body?: Uint8Array }[],
    action: (url: string) => Promise<T>,
  ): Promise<T> {
    let count = 0;
    const server = createServer((_, response) => {
      const { status, body } = answers[Math.min(count++, answers.length - 1)]!;
      response.writeHead(status, { "retry-after": "0" }).end(body);
    });
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    try {
      return await action(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  }

  const fetched = (answers: Parameters<typeof withServer>[0]): Promise<Uint8Array> =>
    withServer(answers, (url) => createGatewaySource(`${url}/`).get(digest));

  it("are checked, and waited for while the gateway is busy", async () => {
    assert.deepEqual(Buffer.from(await fetched([{ status: 200, body: bytes }])), Buffer.from(bytes));
    const busy = await fetched([{ status: 429 }, { status: 503 }, { status: 200, body: bytes }]);
    assert.deepEqual(Buffer.from(busy), Buffer.from(bytes));
  });

  it("wrong, too long, missing, failing and absent are told apart", async () => {
    const cases = [
      [[{ status: 200, body: bytes.with(3, 0xff) }], "BLOCK_INVALID"],
      [[{ status: 200, body: new Uint8Array(1 << 20) }], "BLOCK_INVALID"],
      [[{ status: 404 }], "BLOCK_MISSING"],
      [[{ status: 500 }], "NETWORK_FAILED"],
      [[{ status: 503 }], "NETWORK_FAILED"],
    ] as const;
    for (const [answers, code] of cases) await assert.rejects(fetched(answers), { code });
    await assert.rejects(createGatewaySource("http://127.0.0.1:1").get(digest), { code: "NETWORK_FAILED" });
  });
});
