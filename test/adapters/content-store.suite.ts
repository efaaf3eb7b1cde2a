import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { cidString, encodeBlock } from "../../agents/core/codec.ts";
import { bytesToHex, sha256 } from "../../agents/core/digest.ts";
import { ConclaveError } from "../../agents/core/errors.ts";
import { limits } from "../../agents/core/limits.ts";
import type { Digest } from "../../agents/core/types.ts";
import type { ContentStore } from "../../agents/ports/content-store.ts";

/** The stores of one test: nodes 0, 1 ... are connected with each other, node by node closed and opened again. */
export interface ContentWorld {
  open(node: number, getTimeoutMs?: number): Promise<ContentStore>;
  /** Replaces the bytes of a stored block behind the store's back. */
  readonly damage?: (node: number, digest: Digest, bytes: Uint8Array) => Promise<void>;
  dispose(): Promise<void>;
}

export interface ContentSuiteOptions {
  /** Whether one node fetches from another. */
  readonly exchange: boolean;
  /** Whether a store opened again still holds what it held. */
  readonly durable: boolean;
  /** Asks nobody, so that it need not wait for an answer. */
  readonly alone?: true;
}

/** A block that nobody has stored before. */
export function freshBlock(...links: readonly Digest[]): { readonly bytes: Uint8Array; readonly digest: Digest } {
  const bytes = encodeBlock({ nonce: Uint8Array.from(randomBytes(16)), links: links.map((link) => ({ link })) });
  return { bytes, digest: sha256(bytes) };
}

/** root -> (left, right) -> leaf, shared by both. */
export async function putDiamond(store: ContentStore): Promise<readonly Digest[]> {
  const leaf = freshBlock();
  const left = freshBlock(leaf.digest);
  const right = freshBlock(leaf.digest);
  const root = freshBlock(left.digest, right.digest);
  for (const { bytes } of [leaf, left, right, root]) await store.put(bytes);
  return [root, left, right, leaf].map(({ digest }) => digest);
}

function names(code: string, digest: Digest): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof ConclaveError);
    assert.deepEqual([error.code, error.data["cid"]], [code, cidString(digest)]);
    assert.ok(error.message.includes(cidString(digest)));
    return true;
  };
}

export function contentStoreSuite(
  name: string,
  createWorld: () => Promise<ContentWorld>,
  options: ContentSuiteOptions,
): void {
  function test(title: string, body: (world: ContentWorld) => Promise<void>): void {
    it(title, async () => {
      const world = await createWorld();
      try {
        await body(world);
      } finally {
        await world.dispose();
      }
    });
  }

  describe(`content store: ${name}`, () => {
    test("gives back what was put, under its digest, and puts twice", async (world) => {
      const store = await world.open(0);
      const { bytes, digest } = freshBlock();
      assert.equal(await store.has(digest), false);
      assert.equal(await store.put(bytes), digest);
      assert.equal(await store.put(bytes), digest);
      assert.equal(await store.has(digest), true);
      const read = await store.get(digest);
      assert.equal(Buffer.compare(read, bytes), 0);
      read.fill(0);
      assert.equal(Buffer.compare(await store.get(digest), bytes), 0);
    });

    test("stores the longest block and refuses a longer one", async (world) => {
      const store = await world.open(0);
      const longest = encodeBlock(Uint8Array.from(randomBytes(limits.rootBytes - 5)));
      assert.equal(longest.length, limits.rootBytes);
      const digest = await store.put(longest);
      assert.equal(Buffer.compare(await store.get(digest), longest), 0);
      await assert.rejects(store.put(new Uint8Array(limits.rootBytes + 1)), { code: "BLOCK_INVALID" });
    });

    test("names a block that nobody has, after the time-out or when the signal aborts", async (world) => {
      const impatient = await world.open(0, 300);
      const { digest } = freshBlock();
      const startedAt = performance.now();
      await assert.rejects(impatient.get(digest), names("BLOCK_MISSING", digest));
      const waitedMs = performance.now() - startedAt;
      assert.ok(waitedMs >= (options.alone === true ? 0 : 290) && waitedMs < 3_000, `${waitedMs} ms`);
      await impatient.close();
      const patient = await world.open(0, 60_000);
      await assert.rejects(patient.get(digest, AbortSignal.timeout(100)), names("BLOCK_MISSING", digest));
      await assert.rejects(patient.get(digest, AbortSignal.abort()), names("BLOCK_MISSING", digest));
    });

    test("pins a DAG recursively and more than once", async (world) => {
      const store = await world.open(0);
      const [root = assert.fail(), left = assert.fail()] = await putDiamond(store);
      assert.equal(await store.isPinned(root), false);
      await store.pin(root);
      await store.pin(root);
      assert.deepEqual([await store.isPinned(root), await store.isPinned(left)], [true, false]);
    });

    test("does not count a pin of which a block is missing", async (world) => {
      const store = await world.open(0, 300);
      const absent = freshBlock();
      const root = freshBlock(absent.digest);
      await store.put(root.bytes);
      await assert.rejects(store.pin(root.digest), { code: "BLOCK_MISSING" });
      assert.equal(await store.isPinned(root.digest), false);
      await store.put(absent.bytes);
      await store.pin(root.digest);
      assert.equal(await store.isPinned(root.digest), true);
    });

    test("ends what still waits when it closes, and closes twice", async (world) => {
      const store = await world.open(0, 60_000);
      const { digest } = freshBlock();
      const waiting = assert.rejects(store.get(digest), names("BLOCK_MISSING", digest));
      await sleep(20);
      await Promise.all([store.close(), store.close()]);
      await waiting;
    });

    if (options.durable) durabilityTests(test);
    if (options.exchange) exchangeTests(test);
  });
}

type Test = (title: string, body: (world: ContentWorld) => Promise<void>) => void;

function durabilityTests(test: Test): void {
  test("keeps blocks and pins when it is closed and opened again", async (world) => {
    const store = await world.open(0);
    const digests = await putDiamond(store);
    const [root = assert.fail()] = digests;
    await store.pin(root);
    await store.close();
    const again = await world.open(0, 300);
    for (const digest of digests) assert.equal(sha256(await again.get(digest)), digest);
    assert.equal(await again.isPinned(root), true);
  });

  test("names a block with other bytes, in reads and in pins, and mends it by a put", async (world) => {
    const store = await world.open(0, 300);
    const damage = world.damage ?? assert.fail("this world cannot damage blocks");
    const child = freshBlock();
    const root = freshBlock(child.digest);
    for (const { bytes } of [child, root]) await store.put(bytes);
    const flipped = Uint8Array.from(child.bytes);
    flipped[8] = (flipped[8] ?? 0) ^ 1;
    for (const broken of [flipped, new Uint8Array(), new Uint8Array(2 * limits.rootBytes)]) {
      await damage(0, child.digest, broken);
      await assert.rejects(store.get(child.digest), names("BLOCK_INVALID", child.digest));
      await assert.rejects(store.pin(root.digest), names("BLOCK_INVALID", child.digest));
      assert.equal(await store.isPinned(root.digest), false);
      await store.put(child.bytes);
      assert.equal(Buffer.compare(await store.get(child.digest), child.bytes), 0);
    }
    await store.pin(root.digest);
  });
}

function exchangeTests(test: Test): void {
  test("fetches from a connected node, keeps the block and serves it on", async (world) => {
    const [a, b] = await Promise.all([world.open(0), world.open(1)]);
    const { bytes, digest } = freshBlock();
    await a.put(bytes);
    assert.equal(await b.has(digest), false);
    assert.equal(Buffer.compare(await b.get(digest), bytes), 0);
    assert.equal(await b.has(digest), true);
    await a.close();
    assert.equal(Buffer.compare(await b.get(digest), bytes), 0);
  });

  test("waits for a block that another node gets later", async (world) => {
    const [a, b] = await Promise.all([world.open(0), world.open(1)]);
    const { bytes, digest } = freshBlock();
    const waiting = b.get(digest);
    await sleep(300);
    await a.put(bytes);
    assert.equal(Buffer.compare(await waiting, bytes), 0);
  });

  test("pins a DAG that only another node holds", async (world) => {
    const [a, b] = await Promise.all([world.open(0), world.open(1)]);
    const digests = await putDiamond(a);
    const [root = assert.fail()] = digests;
    await b.pin(root);
    assert.equal(await b.isPinned(root), true);
    for (const digest of digests) assert.equal(await b.has(digest), true);
  });

  test("is not shaken by two gets of one block of which one gives up", async (world) => {
    const [a, b] = await Promise.all([world.open(0), world.open(1)]);
    const { bytes, digest } = freshBlock();
    const patient = b.get(digest);
    await assert.rejects(b.get(digest, AbortSignal.timeout(100)), { code: "BLOCK_MISSING" });
    await sleep(200);
    await a.put(bytes);
    assert.equal(bytesToHex(await patient), bytesToHex(bytes));
  });
}
