import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as dagCbor from "@ipld/dag-cbor";
import { CID } from "multiformats/cid";
import { varint } from "multiformats";
import { identity } from "multiformats/hashes/identity";
import { sha256, sha512 } from "multiformats/hashes/sha2";
import { cidOf, MAX_BLOCK_BYTES, MAX_PINNED_BYTES } from "../../agents/adapters/ipfs/block.ts";
import { readCar, writeCar } from "../../agents/adapters/ipfs/car.ts";
import { ConclaveError } from "../../agents/core/errors.ts";
import type { Digest } from "../../agents/core/types.ts";
import { freshBlock } from "./content-store.suite.ts";

const leaf = freshBlock();
const left = freshBlock(leaf.digest);
const right = freshBlock(leaf.digest);
const root = freshBlock(left.digest, right.digest);
const all = new Map([root, left, right, leaf].map(({ digest, bytes }) => [digest, bytes]));

async function get(digest: Digest): Promise<Uint8Array> {
  return all.get(digest) ?? assert.fail("no such block");
}

async function written(): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of writeCar(root.digest, get)) parts.push(part);
  return Buffer.concat(parts);
}

function section(cid: CID, bytes: Uint8Array): Uint8Array {
  const length = cid.bytes.length + bytes.length;
  return Buffer.concat([varint.encodeTo(length, new Uint8Array(varint.encodingLength(length))), cid.bytes, bytes]);
}

function header(value: unknown): Uint8Array {
  const bytes = dagCbor.encode(value);
  return Buffer.concat([Uint8Array.of(bytes.length), bytes]);
}

const ours = header({ roots: [cidOf(root.digest)], version: 1 });

async function* inPieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function read(source: AsyncIterable<Uint8Array>): Promise<readonly Digest[]> {
  const { root: found, blocks } = await readCar(source);
  assert.equal(found, root.digest);
  const digests: Digest[] = [];
  for await (const { digest, bytes } of blocks) {
    assert.deepEqual(Buffer.from(bytes), Buffer.from(all.get(digest) ?? assert.fail()));
    digests.push(digest);
  }
  return digests;
}

async function faultOf(...parts: readonly Uint8Array[]): Promise<unknown> {
  try {
    await read(inPieces(Buffer.concat(parts), 1_000));
  } catch (error) {
    assert.ok(error instanceof ConclaveError, String(error));
    return error.code === "CAR_INVALID" ? error.data["kind"] : error.code;
  }
  return null;
}

describe("AV2: CARs", () => {
  it("reads what was written in chunks of any size: parents first, each block once", async () => {
    const car = await written();
    for (const size of [1, 7, 100_000])
      assert.deepEqual(
        await read(inPieces(car, size)),
        [root, left, right, leaf].map(({ digest }) => digest),
      );
  });

  it("have the form of the CAR specification: a header with roots and version, then length, CID, bytes", async () => {
    const expected = [ours, ...[root, left, right, leaf].map(({ digest, bytes }) => section(cidOf(digest), bytes))];
    assert.deepEqual(await written(), Buffer.concat(expected));
  });

  it("are refused by the name of the fault: header, version, hash function, codec, hash, foreign block, early end", async () => {
    const good = section(cidOf(root.digest), root.bytes);
    const long = await sha512.digest(root.bytes);
    const raw = CID.createV1(0x55, cidOf(leaf.digest).multihash);
    const stranger = freshBlock();
    const cases: readonly (readonly [string, readonly Uint8Array[]])[] = [
      ["header", []],
      ["header", [Uint8Array.of(5, 1, 2, 3, 4, 5)]],
      ["header", [new TextEncoder().encode("PK: a file of another kind")]],
      ["header", [Uint8Array.of(0x89, 0x50, 0x4e, 0x47)]],
      ["version", [header({ version: 2 })]],
      ["header", [header({ roots: [], version: 1 })]],
      ["header", [header({ roots: [cidOf(root.digest), cidOf(leaf.digest)], version: 1 })]],
      ["hash-function", [header({ roots: [CID.createV1(dagCbor.code, long)], version: 1 })]],
      ["hash-function", [ours, good, section(CID.createV1(dagCbor.code, long), root.bytes)]],
      [
        "hash-function",
        [ours, section(CID.createV1(dagCbor.code, identity.digest(Uint8Array.of(0xa0))), new Uint8Array())],
      ],
      ["codec", [ours, good, section(raw, leaf.bytes)]],
      ["hash", [ours, section(cidOf(root.digest), root.bytes.with(5, 0))]],
      ["foreign", [ours, good, section(cidOf(stranger.digest), stranger.bytes)]],
      ["foreign", [ours, section(cidOf(leaf.digest), leaf.bytes), good]],
      ["incomplete", [ours, good]],
      ["incomplete", [ours]],
      ["truncated", [ours, good.subarray(0, -1)]],
      ["truncated", [ours, Uint8Array.of(0x80)]],
      ["too-long", [ours, new Uint8Array(10).fill(0xff)]],
      ["too-long", [ours, Uint8Array.of(0)]],
      ["too-long", [ours, Uint8Array.of(0x81, 0)]],
    ];
    for (const [kind, parts] of cases) assert.equal(await faultOf(...parts), kind);
    assert.equal(await faultOf(await written()), null);
  });

  it("are refused if a section claims gigabytes, before these are read; repeated blocks are not kept", async () => {
    let pulled = 0;
    async function* endless(...start: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
      for (const part of start) yield part;
      const chunk = new Uint8Array(65_536).fill(0xa0);
      for (;;) {
        pulled += chunk.length;
        yield chunk;
      }
    }
    const length = 5 * 2 ** 30;
    const claim = varint.encodeTo(length, new Uint8Array(varint.encodingLength(length)));
    await assert.rejects(read(endless(ours, claim)), { code: "CAR_INVALID" });
    const most = MAX_BLOCK_BYTES + 64;
    const widest = varint.encodeTo(most, new Uint8Array(varint.encodingLength(most)));
    await assert.rejects(read(endless(ours, widest, cidOf(root.digest).bytes)), { code: "CAR_INVALID" });
    assert.ok(pulled <= 2 * MAX_BLOCK_BYTES, `${pulled} bytes pulled`);

    const repeated = section(cidOf(root.digest), root.bytes);
    async function* repeating(): AsyncGenerator<Uint8Array> {
      yield await written();
      for (let count = 0; count < 2_000; count++) yield repeated;
    }
    assert.equal((await read(repeating())).length, 4);

    pulled = 0;
    const longest = dagCbor.encode(new Uint8Array(MAX_BLOCK_BYTES - 5));
    const cid = CID.createV1(dagCbor.code, await sha256.digest(longest));
    const same = section(cid, longest);
    async function* repeatingLong(): AsyncGenerator<Uint8Array> {
      yield header({ roots: [cid], version: 1 });
      for (; pulled < 2 * MAX_PINNED_BYTES; pulled += same.length) yield same;
    }
    const readAll = async (): Promise<void> => {
      for await (const _ of (await readCar(repeatingLong())).blocks) continue;
    };
    await assert.rejects(readAll, { code: "CAR_INVALID" });
    assert.ok(pulled > MAX_PINNED_BYTES && pulled < 1.1 * MAX_PINNED_BYTES, `${pulled} bytes pulled`);
  });
});
