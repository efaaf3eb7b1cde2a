import assert from "node:assert/strict";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it, type TestContext } from "node:test";
import { readCar, writeCar } from "../../agents/adapters/ipfs/car.ts";
import { cidOf, MAX_BLOCK_BYTES } from "../../agents/adapters/ipfs/block.ts";
import { createFolderContentStore } from "../../agents/adapters/ipfs/folder-content-store.ts";
import { startGateway } from "../../agents/adapters/ipfs/gateway.ts";
import type { HttpServer } from "../../agents/adapters/http-server.ts";
import { createGatewaySource } from "../../agents/adapters/ipfs/gateway-source.ts";
import { createKuboContentStore } from "../../agents/adapters/ipfs/kubo-content-store.ts";
import { createTranscriptSource } from "../../agents/adapters/ipfs/transcript-source.ts";
import { LocalBlocks } from "../../agents/adapters/ipfs/local-blocks.ts";
import { cidString } from "../../agents/core/encoding/cid.ts";
import type { Digest } from "../../agents/core/types.ts";
import type { ContentStore } from "../../agents/ports/content-store.ts";
import { until } from "../support/until.ts";
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

  it("serves a stored block as raw bytes when a parameter or a header asks for it", async () => {
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
    ] as const) {
      const answer = await ask(path, init);
      assert.equal(answer.status, status, path);
      // A page of another origin can tell a refusal from a network that is down.
      assert.equal(answer.headers.get("access-control-allow-origin"), "*", path);
    }
  });

  it("ends the connection at a missing block, so that nobody takes a part of the DAG for the whole", async () => {
    const missing = freshBlock();
    const top = freshBlock(missing.digest);
    await store.put(top.bytes);
    await assert.rejects(async () => (await ask(`/ipfs/${cidString(top.digest)}?format=car`)).arrayBuffer());
  });

  it("limits requests per address and answers at the same time", async () => {
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

  it("gives CARs at most half of its answers, so that stalled readers leave the other half to blocks", async () => {
    const limits = { requests: 100, concurrency: 4 };
    const big = { has: async () => true, get: async () => new Uint8Array(MAX_BLOCK_BYTES) };
    const never = { has: async () => true, get: () => new Promise<Uint8Array>(() => {}) };
    let current: Pick<ContentStore, "get" | "has"> = never;
    const switched = { has: () => current.has(diamond[0]!), get: () => current.get(diamond[0]!) };
    const shared = await startGateway({ store: switched, host: "127.0.0.1", port: 0, limits });
    const leaving = new AbortController();
    try {
      const url = `${shared.url}/ipfs/${cidString(diamond[0]!)}`;
      const cars = Array.from({ length: 4 }, () => fetch(`${url}?format=car`, { signal: leaving.signal }));
      const statuses = await Promise.all(cars.map(async (car) => (await car).status));
      assert.deepEqual(
        statuses.toSorted((a, b) => a - b),
        [200, 200, 503, 503],
      );
      current = big;
      for (let count = 0; count < 5; count++) {
        const raw = await fetch(`${url}?format=raw`);
        assert.deepEqual([raw.status, (await raw.arrayBuffer()).byteLength], [200, MAX_BLOCK_BYTES]);
      }
    } finally {
      leaving.abort();
      await shared.close();
    }
  });

  it("fails with an error of its own when the port is taken", async () => {
    const { port } = new URL(gateway.url);
    const taken = startGateway({ store, host: "127.0.0.1", port: Number(port) });
    await assert.rejects(taken, { code: "NETWORK_FAILED" });
  });
});

describe("AV3: blocks from a gateway", () => {
  const { bytes, digest } = freshBlock();

  /** Starts a gateway that gives these answers in order and repeats the last one for ever. */
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

  it("are checked, and asked for again while the gateway is busy", async () => {
    assert.deepEqual(Buffer.from(await fetched([{ status: 200, body: bytes }])), Buffer.from(bytes));
    const busy = await fetched([{ status: 429 }, { status: 503 }, { status: 200, body: bytes }]);
    assert.deepEqual(Buffer.from(busy), Buffer.from(bytes));
  });

  it("fail with different errors when wrong, too long, missing, or when the gateway fails or is absent", async () => {
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

  it("fail when a gateway breaks off or stalls within a block; no redirect is followed", async () => {
    const asked: (string | undefined)[] = [];
    const serve = async (answer: (response: ServerResponse, base: string) => void): Promise<string> => {
      const server = createServer(({ url }, response) => {
        asked.push(url);
        answer(response, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
      });
      await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
      servers.push(server);
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    };
    const servers: Server[] = [];
    try {
      const cut = await serve((response) => {
        response.writeHead(200, { "content-length": bytes.length }).write(bytes.subarray(0, 3));
        setTimeout(() => response.destroy(), 50);
      });
      await assert.rejects(createGatewaySource(cut).get(digest), { code: "NETWORK_FAILED" });
      const stalled = await serve((response) => void response.writeHead(200).write(bytes.subarray(0, 3)));
      const given = createGatewaySource(stalled).get(digest, AbortSignal.timeout(300));
      await assert.rejects(given, { code: "BLOCK_MISSING" });
      asked.length = 0;
      const leading = await serve((response, base) => {
        response.writeHead(asked.length === 1 ? 302 : 200, { location: `${base}/inside` }).end(bytes);
      });
      const error = { code: "NETWORK_FAILED", message: /it redirects \(302\)/ };
      await assert.rejects(createGatewaySource(leading).get(digest), error);
      assert.equal(asked.length, 1);
    } finally {
      for (const server of servers) {
        server.closeAllConnections();
        server.close();
      }
    }
  });

  it("AV5: are asked for with user and password of the URL in a header; no error shows them", async () => {
    const said: (string | undefined)[] = [];
    const server = createServer(({ headers }, response) => {
      said.push(headers.authorization);
      response.writeHead(200).end(bytes);
    });
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    const place = `user:p%40ss-word@127.0.0.1:${(server.address() as AddressInfo).port}`;
    try {
      await createGatewaySource(`http://${place}/`).get(digest);
    } finally {
      server.closeAllConnections();
      server.close();
    }
    assert.deepEqual(said, [`Basic ${Buffer.from("user:p@ss-word").toString("base64")}`]);
    for (const store of [createGatewaySource(`http://${place}`), createKuboContentStore({ url: `http://${place}` })])
      await assert.rejects(store.get(digest), (error: Error) => {
        assert.doesNotMatch(`${error.message} ${JSON.stringify(error)}`, /p%40ss|p@ss/);
        return (error as { code?: string }).code === "NETWORK_FAILED";
      });
  });
});

describe("the blocks of a transcript from a gateway", () => {
  let folder: string;
  let store: ContentStore;
  let blocks: readonly Digest[];
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "conclave-transcript-"));
    store = await createFolderContentStore(folder);
    blocks = await putDiamond(store);
  });
  after(async () => {
    await store.close();
    await rm(folder, { recursive: true });
  });

  interface Served {
    readonly url: string;
    /** Formats that were asked for. */
    readonly asked: string[];
  }

  /** Serves the store's blocks, some of them changed or missing; `car` answers for CARs in the gateway's place. */
  async function serve(
    context: TestContext,
    change: (digest: Digest, bytes: Uint8Array) => Uint8Array | null = (_, bytes) => bytes,
    car?: (response: ServerResponse, pass: () => void) => unknown,
  ): Promise<Served> {
    const get = async (digest: Digest): Promise<Uint8Array> =>
      change(digest, await store.get(digest)) ?? Promise.reject(new Error("it is gone"));
    const has = async (digest: Digest): Promise<boolean> => change(digest, await store.get(digest)) !== null;
    const behind = await startGateway({ store: { get, has }, host: "127.0.0.1", port: 0 });
    const asked: string[] = [];
    const server = createServer((request, response) => {
      const format = new URL(`http://x${request.url}`).searchParams.get("format") ?? "";
      asked.push(format);
      const pass = (): void => void passOn(`${behind.url}${request.url}`, response).catch(() => response.destroy());
      if (format === "car" && car !== undefined) void car(response, pass);
      else pass();
    });
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    context.after(async () => {
      server.closeAllConnections();
      server.close();
      await behind.close();
    });
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
  }

  async function passOn(url: string, response: ServerResponse): Promise<void> {
    const answer = await fetch(url);
    response.writeHead(answer.status);
    for await (const chunk of answer.body ?? []) response.write(chunk);
    response.end();
  }

  async function allFrom(url: string): Promise<readonly Uint8Array[]> {
    const source = createTranscriptSource(url);
    const [root = assert.fail(), ...others] = blocks;
    return [await source.get(root), ...(await Promise.all(others.map((digest) => source.get(digest))))];
  }

  it("come all at once, by one request", async (context) => {
    const { url, asked } = await serve(context);
    const wanted = await Promise.all(blocks.map((digest) => store.get(digest)));
    assert.deepEqual(
      (await allFrom(url)).map((bytes) => Buffer.from(bytes)),
      wanted.map((bytes) => Buffer.from(bytes)),
    );
    assert.deepEqual(asked, ["car"]);
  });

  it("come all at once from a gateway that was busy first", async (context) => {
    let isBusy = true;
    const { url, asked } = await serve(context, undefined, (response, pass) => {
      if (isBusy) response.writeHead(503, { "retry-after": "0.01" }).end();
      else pass();
      isBusy = false;
    });
    assert.equal((await allFrom(url)).length, 4);
    assert.deepEqual(asked, ["car", "car"]);
  });

  it("come one by one after as much of the CAR as there is room for", async (context) => {
    let came = 0;
    const { url, asked } = await serve(context, undefined, async (response) => {
      let sent = 0;
      // The header, and then a block each. One leaves when all before it have come, so that none is read with the one after it.
      for await (const chunk of writeCar(blocks[0]!, (digest) => store.get(digest))) {
        await until(() => came >= sent - 1 || response.destroyed);
        response.write(chunk);
        sent += 1;
      }
      response.end();
    });
    const held = await Promise.all(blocks.slice(0, -1).map((digest) => store.get(digest)));
    // The header and the CIDs of three blocks have 173 bytes.
    const source = createTranscriptSource(
      url,
      held.reduce((sum, { length }) => sum + length, 200),
    );
    await Promise.all(blocks.map((digest) => source.get(digest).then(() => (came += 1))));
    assert.deepEqual(asked, ["car", "raw"]);
  });

  it("end when the source is closed, so that nothing comes for nobody", async (context) => {
    const left = Promise.withResolvers<void>();
    const { url } = await serve(context, undefined, (response) => {
      response.on("close", () => left.resolve());
      response.writeHead(200).flushHeaders();
    });
    const source = createTranscriptSource(url);
    const given = source.get(blocks[0]!);
    setTimeout(() => void source.close(), 50);
    await assert.rejects(given, { name: "AbortError" });
    await left.promise;
  });

  it("come one by one where the gateway has no CARs or breaks off", async (context) => {
    const without = await serve(context, undefined, (response) => response.writeHead(406).end());
    assert.equal((await allFrom(without.url)).length, 4);
    assert.deepEqual(without.asked, ["car", "raw", "raw", "raw", "raw"]);
    const cut = await serve(context, undefined, (response) => {
      response.writeHead(200).write("nonsense");
      setTimeout(() => response.destroy(), 20);
    });
    assert.equal((await allFrom(cut.url)).length, 4);
  });

  it("are named if one is missing or wrong, whatever else came", async (context) => {
    const [, , third = assert.fail()] = blocks;
    const missing = await serve(context, (digest, bytes) => (digest === third ? null : bytes));
    await assert.rejects(allFrom(missing.url), { code: "BLOCK_MISSING", message: new RegExp(cidString(third)) });
    const wrong = await serve(context, (digest, bytes) => (digest === third ? bytes.with(3, 0xff) : bytes));
    await assert.rejects(allFrom(wrong.url), { code: "BLOCK_INVALID", message: new RegExp(cidString(third)) });
  });

  it("end with the signal, while the CAR stands still", async (context) => {
    const { url } = await serve(context, undefined, (response) => response.writeHead(200).flushHeaders());
    const reason = new Error("the page is left");
    const left = new AbortController();
    const [root = assert.fail()] = blocks;
    const given = createTranscriptSource(url).get(root, left.signal);
    setTimeout(() => left.abort(reason), 50);
    await assert.rejects(given, reason);
  });
});
