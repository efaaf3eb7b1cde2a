import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import * as dagCbor from "@ipld/dag-cbor";
import { CID } from "multiformats/cid";
import { sha256 } from "multiformats/hashes/sha2";
import { createUnsafe } from "multiformats/block";
import { cidString } from "../../agents/core/encoding/cid.ts";
import { sha256 as digestOf } from "../../agents/core/encoding/bytes.ts";

/**
 * NOT Kubo: an HTTP server on 127.0.0.1 over a Map that answers the few RPC routes our adapter calls in Kubo's words. It
 * tests our side of the wire; `npm run test:kubo` runs the same suite against the real one.
 */
export interface KuboLoopback {
  readonly url: string;
  /** Blocks by CID. */
  readonly blocks: Map<string, Uint8Array>;
  /** Names of pins by CID; "" for a pin without a name. */
  readonly pins: Map<string, string>;
  readonly requests: string[];
  keep(bytes: Uint8Array): void;
  holds(bytes: Uint8Array): boolean;
  close(): Promise<void>;
}

class RpcError extends Error {}

export async function startKuboLoopback(): Promise<KuboLoopback> {
  const blocks = new Map<string, Uint8Array>();
  const pins = new Map<string, string>();
  const requests: string[] = [];

  async function find(url: URL): Promise<Uint8Array> {
    const cid = url.searchParams.get("arg") ?? "";
    const bytes = blocks.get(cid);
    if (bytes !== undefined) return bytes;
    if (url.searchParams.get("offline") === "true") {
      throw new RpcError(`block was not found locally (offline): ipld: could not find ${cid}`);
    }
    await sleep(Number.parseInt(url.searchParams.get("timeout") ?? "60000", 10), undefined, { ref: false });
    throw new RpcError("context deadline exceeded");
  }

  async function pinBelow(cid: string, url: URL): Promise<void> {
    const target = new URL(url);
    target.searchParams.set("arg", cid);
    const bytes = await find(target);
    for (const [, link] of createUnsafe({ cid: CID.parse(cid), bytes, codec: dagCbor }).links()) {
      await pinBelow(link.toString(), url);
    }
  }

  const routes: Record<string, (url: URL, request: IncomingMessage) => Promise<object | Uint8Array>> = {
    async "block/put"(url, request) {
      assert.equal(url.searchParams.get("mhtype"), "sha2-256");
      assert.equal(url.searchParams.get("format"), "dag-cbor");
      const bytes = await readUpload(request);
      const cid = CID.createV1(dagCbor.code, await sha256.digest(bytes)).toString();
      if (!blocks.has(cid)) blocks.set(cid, bytes);
      return { Key: cid, Size: bytes.length };
    },
    "block/get": (url) => find(url),
    async "block/stat"(url) {
      return { Key: url.searchParams.get("arg"), Size: (await find(url)).length };
    },
    async "block/rm"(url) {
      assert.equal(url.searchParams.get("force"), "true");
      const cid = url.searchParams.get("arg") ?? "";
      if (pins.has(cid)) return { Hash: cid, Error: "pinned: recursive" };
      blocks.delete(cid);
      return { Hash: cid };
    },
    async "pin/add"(url) {
      assert.equal(url.searchParams.get("recursive"), "true");
      const root = url.searchParams.get("arg") ?? "";
      await pinBelow(root, url);
      pins.set(root, url.searchParams.get("name") ?? "");
      return { Pins: [root] };
    },
    async "pin/rm"(url) {
      const root = url.searchParams.get("arg") ?? "";
      if (!pins.delete(root)) throw new RpcError("not pinned or pinned indirectly");
      return { Pins: [root] };
    },
    async "pin/ls"(url) {
      assert.equal(url.searchParams.get("type"), "recursive");
      assert.equal(url.searchParams.get("names"), "true");
      const root = url.searchParams.get("arg");
      if (root !== null && !pins.has(root)) throw new RpcError(`path '${root}' is not pinned recursively`);
      const part = url.searchParams.get("name") ?? "";
      const found = [...pins].filter(([cid, name]) => (root === null || cid === root) && name.includes(part));
      return Buffer.from(found.map(([Cid, Name]) => `${JSON.stringify({ Cid, Type: "recursive", Name })}\n`).join(""));
    },
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", "http://loopback");
    requests.push(`${request.method ?? ""} ${url.pathname}`);
    try {
      const route = routes[url.pathname.replace("/api/v0/", "")];
      assert.ok(route !== undefined && request.method === "POST", `unexpected ${url.pathname}`);
      const result = await route(url, request);
      const isBlock = result instanceof Uint8Array;
      response.setHeader("content-type", isBlock ? "application/octet-stream" : "application/json");
      response.end(isBlock ? result : `${JSON.stringify(result)}\n`);
    } catch (error) {
      response.statusCode = 500;
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ Message: (error as Error).message, Code: 0, Type: "error" }));
    }
  }

  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    blocks,
    pins,
    requests,
    keep: (bytes) => void blocks.set(cidString(digestOf(bytes)), bytes),
    holds: (bytes) => blocks.has(cidString(digestOf(bytes))),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => void server.close(resolve));
    },
  };
}

async function readUpload(request: IncomingMessage): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of request) chunks.push(chunk as Uint8Array);
  const type = request.headers["content-type"] ?? "";
  const form = await new Response(Buffer.concat(chunks), { headers: { "content-type": type } }).formData();
  const [file] = [...form.values()];
  assert.ok(file instanceof File, "no file in the upload");
  return new Uint8Array(await file.arrayBuffer());
}
