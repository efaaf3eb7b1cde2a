import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { describe, it } from "node:test";
import { encodeAbiParameters } from "viem";
import { openSourceReader } from "../../agents/adapters/source-reader/reader.ts";
import { sha256, utf8 } from "../../agents/core/encoding/bytes.ts";
import { cidString } from "../../agents/core/encoding/cid.ts";
import { encode } from "../../agents/core/encoding/codec.ts";
import { ConclaveError } from "../../agents/core/errors.ts";
import { decodeSnapshot } from "../../agents/core/sources/snapshot.ts";
import type { Source } from "../../agents/core/sources/source.ts";
import { documentBlock } from "../../agents/core/sources/named.ts";
import type { Digest } from "../../agents/core/types.ts";
import type { SourceReader } from "../../agents/ports/source-reader.ts";
import { configFor, guardedDialler, sourceOf, withPages } from "../support/pages.ts";
import { withRpcServer, type RpcCall } from "../support/rpc-server.ts";

const TEXT = "The total is 65.";
const document = documentBlock(TEXT) as Uint8Array;
const CALL = `eip155:10:0x${"ab".repeat(20)}:f()(string)@5`;

/** One world for every kind of source; nothing answers while it is `stuck`. */
async function withReader(
  use: (reader: SourceReader, world: { stuck: boolean }) => Promise<void>,
  blocks: readonly Uint8Array[] = [document],
): Promise<void> {
  const world = { stuck: false };
  const wait = new Promise<never>(() => undefined);
  const answer = (call: RpcCall): Promise<object> | object => {
    if (world.stuck) return wait;
    if (call.method === "eth_chainId") return { result: "0xa" };
    if (call.method === "eth_call") return { result: encodeAbiParameters([{ type: "string" }], [TEXT]) };
    return { result: { number: "0x5", transactions: [] } };
  };
  const page = (_: unknown, response: ServerResponse): void => {
    if (!world.stuck) response.writeHead(200, { "content-type": "text/plain" }).end(TEXT);
  };
  const get = async (digest: Digest, signal?: AbortSignal): Promise<Uint8Array> => {
    if (world.stuck)
      await new Promise((_, reject) => signal?.addEventListener("abort", () => reject(new Error("late"))));
    const found = blocks.find((block) => sha256(block) === digest);
    if (found === undefined) throw new ConclaveError("BLOCK_MISSING", "nobody has it");
    return found;
  };
  await withPages(page, (port) =>
    withRpcServer(answer, async (url) => {
      const config = { ...configFor(port), rpcUrls: { "10": url } };
      await use(await openSourceReader({ config, store: { get }, dialler: guardedDialler() }), world);
    }),
  );
}

const KINDS = [
  ["a document", cidString(sha256(document))],
  ["a page", "https://pages.test/"],
  ["a call", CALL],
] as const;

describe("the source reader", () => {
  it("EV14: documents that nobody has do not keep others from one that is there", async () => {
    const missing = ["a", "b", "c", "d"].map((text) => cidString(sha256(documentBlock(text) as Uint8Array)));
    const get = async (digest: Digest, signal?: AbortSignal): Promise<Uint8Array> => {
      if (digest === sha256(document)) return document;
      return new Promise((_, reject) => signal?.addEventListener("abort", () => reject(new Error("late"))));
    };
    const reader = await openSourceReader({ config: configFor(1), store: { get } });
    const ended = new AbortController();
    const waiting = missing.map((text) => reader.read(sourceOf(text), ended.signal).catch(() => null));
    const found = reader.read(sourceOf(cidString(sha256(document))), ended.signal);
    const first = await Promise.race([found, waiting[0]]);
    ended.abort();
    await Promise.all(waiting);
    assert.equal(first?.kind, "read");
  });

  for (const [what, text] of KINDS) {
    it(`EV7, EV8: ${what} gives a snapshot that its block holds and its digest names`, async () => {
      await withReader(async (reader) => {
        const reading = await reader.read(sourceOf(text), new AbortController().signal);
        assert.equal(reading.kind, "read");
        assert.equal(reading.digest, sha256(reading.block));
        assert.deepEqual(decodeSnapshot(reading.block), reading.snapshot);
        assert.deepEqual([reading.snapshot.source, reading.snapshot.text], [text, TEXT]);
        const again = await reader.read(sourceOf(text), new AbortController().signal);
        assert.equal(again.kind === "read" && again.digest, reading.digest);
      });
    });

    it(`EV12: ${what} that does not come ends with the signal's reason once that aborts`, async () => {
      await withReader(async (reader, world) => {
        world.stuck = true;
        const stop = new AbortController();
        const reading = reader.read(sourceOf(text), stop.signal);
        const reason = new Error("the seat has enough");
        setTimeout(() => stop.abort(reason), 20);
        await assert.rejects(reading, reason);
        await assert.rejects(reader.read(sourceOf(text), AbortSignal.abort(reason)), reason);
      });
    });
  }

  it("EV13: a document that nobody has, and a block that is no document, have their reasons", async () => {
    const other = encode({ a: 1 });
    await withReader(
      async (reader) => {
        const signal = new AbortController().signal;
        const missing = await reader.read(sourceOf(cidString(sha256(utf8("missing")))), signal);
        assert.equal(missing.kind === "failed" && missing.reason, "not-found");
        const odd = await reader.read(sourceOf(cidString(sha256(other))), signal);
        assert.equal(odd.kind === "failed" && odd.reason, "not-text");
      },
      [other],
    );
  });

  it("EV12, SG8: a store that fails says nothing of a document, which may be there", async () => {
    const failed = new ConclaveError("NETWORK_FAILED", "Check the Kubo node", {});
    const reader = await openSourceReader({ config: configFor(1), store: { get: () => Promise.reject(failed) } });
    const reading = await reader.read(sourceOf(cidString(sha256(document))), new AbortController().signal);
    assert.equal(reading.kind === "failed" && reading.reason, "unreachable");
  });

  it("EV14: reads two pages of one host at one time, and another host's meanwhile", async () => {
    const waiting: ServerResponse[] = [];
    let most = 0;
    const handler = (request: { readonly headers: { readonly host?: string } }, response: ServerResponse): void => {
      const answer = (): void => void response.writeHead(200, { "content-type": "text/plain" }).end("in");
      if (request.headers.host === "moved.test") {
        // Comes only if it does not wait for the first host's readings.
        for (const one of waiting.splice(0)) one.emit("go");
        return answer();
      }
      waiting.push(response);
      most = Math.max(most, waiting.length);
      response.once("go", answer);
    };
    await withPages(handler as never, async (port) => {
      const get = (): Promise<Uint8Array> => Promise.reject(new Error("none"));
      const reader = await openSourceReader({ config: configFor(port), store: { get }, dialler: guardedDialler() });
      const signal = new AbortController().signal;
      const read = (source: Source): Promise<unknown> => reader.read(source, signal);
      const first = [1, 2, 3, 4].map((index) => read(sourceOf(`https://pages.test/${index}`)));
      for (let left = first.length; left > 0;) {
        await new Promise((resolve) => setTimeout(resolve, 50));
        if (waiting.length < Math.min(2, left)) continue;
        left -= waiting.length;
        await read(sourceOf("https://moved.test/"));
      }
      await Promise.all(first);
      assert.equal(most, 2);
    });
  });

  it("EV6: a certificate file that cannot be read stops the reader at its start", async () => {
    const config = { ...configFor(1), hosts: { "a.test": { address: "127.0.0.1", port: 1, ca: "/no/such.pem" } } };
    const opened = openSourceReader({ config, store: { get: () => Promise.reject(new Error("none")) } });
    await assert.rejects(opened, { code: "CONFIG_INVALID", message: /sources\.hosts\.a\.test\.ca/ });
  });
});
