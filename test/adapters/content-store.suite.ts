import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { cidString } from "../../agents/core/encoding/cid.ts";
import { encodeBlock } from "../../agents/core/encoding/codec.ts";
import { bytesToHex, sha256 } from "../../agents/core/encoding/bytes.ts";
import { ConclaveError } from "../../agents/core/errors.ts";
import { limits } from "../../agents/core/limits.ts";
import type { Digest } from "../../agents/core/types.ts";
import type { CollectedStore, ContentStore, PinOwner } from "../../agents/ports/content-store.ts";

/** The stores of one test: nodes 0, 1 ... are connected with each other, and each can be closed and opened again. */
export interface ContentWorld {
  open(node: number, getTimeoutMs?: number, owner?: PinOwner): Promise<CollectedStore>;
  /** Replaces the bytes of a stored block behind the store's back. */
  readonly damage?: (node: number, digest: Digest, bytes: Uint8Array) => Promise<void>;
  dispose(): Promise<void>;
}

export interface ContentSuiteOptions {
  /** Whether one node fetches from another. */
  readonly exchange: boolean;
  /** Whether a store opened again still holds what it held. */
  readonly durable: boolean;
  /** True if the store asks nobody, so that the test need not wait for an answer. */
  readonly alone?: true;
  /** True if the node behind the store removes blocks itself. */
  readonly collectsItself?: true;
}

/** Longer than any call takes that is answered. */
const PATIENT_MS = 60_000;

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
    test("gives a block back under its digest, also if it was put twice", async (world) => {
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
      assert.ok(waitedMs >= (options.alone === true ? 0 : 290) && waitedMs < 30_000, `${waitedMs} ms`);
      await impatient.close();
      const patient = await world.open(0, PATIENT_MS);
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

    test("does not keep a pin if one of its blocks is missing", async (world) => {
      const store = await world.open(0, 2_000);
      const absent = freshBlock();
      const root = freshBlock(absent.digest);
      await store.put(root.bytes);
      await assert.rejects(store.pin(root.digest), { code: "BLOCK_MISSING" });
      assert.equal(await store.isPinned(root.digest), false);
      await store.put(absent.bytes);
      await store.pin(root.digest);
      assert.equal(await store.isPinned(root.digest), true);
    });

    test("ends waiting calls when it closes, and may be closed twice", async (world) => {
      const store = await world.open(0, PATIENT_MS);
      const { digest } = freshBlock();
      const waiting = assert.rejects(store.get(digest), names("BLOCK_MISSING", digest));
      await sleep(20);
      await Promise.all([store.close(), store.close()]);
      await waiting;
    });

    ownerTests(test);
    if (options.collectsItself === true) unsweptTest(test);
    else sweepTests(test);
    if (options.durable) durabilityTests(test);
    if (options.exchange) exchangeTests(test);
  });
}

type Test = (title: string, body: (world: ContentWorld) => Promise<void>) => void;

/** A time by which every block stored so far is old. */
function allOld(): number {
  return Date.now() + 1_000;
}

function ownerTests(test: Test): void {
  test("AV7: ends its own pins, never the other owner's", async (world) => {
    const operator = await world.open(0, PATIENT_MS, "operator");
    const [root = assert.fail()] = await putDiamond(operator);
    await operator.pin(root);
    const pin = (await operator.pins()).find((one) => one.root === root) ?? assert.fail("no pin");
    assert.ok(Math.abs(Date.now() - pin.sinceMs) < 60_000, `since ${pin.sinceMs}`);
    await operator.close();

    const seat = await world.open(0, PATIENT_MS, "seat");
    const isListed = async (store: CollectedStore): Promise<boolean> =>
      (await store.pins()).some((one) => one.root === root);
    assert.deepEqual([await isListed(seat), await seat.isPinned(root)], [false, true]);
    assert.equal(await seat.unpin(root), false);
    await seat.pin(root);
    assert.equal(await isListed(seat), true);
    assert.equal(await seat.unpin(root), true);
    assert.deepEqual([await isListed(seat), await seat.isPinned(root), await seat.unpin(root)], [false, true, false]);
    await seat.close();

    const again = await world.open(0, PATIENT_MS, "operator");
    assert.equal(await isListed(again), true);
    assert.equal(await again.unpin(root), true);
    assert.deepEqual([await again.isPinned(root), await again.unpin(root)], [false, false]);
  });
}

function unsweptTest(test: Test): void {
  test("AV7: removes no block, because the node does that itself", async (world) => {
    const store = await world.open(0);
    const { bytes, digest } = freshBlock();
    await store.put(bytes);
    const nothing = { blocks: 0, bytes: 0, more: false };
    assert.deepEqual(await store.wouldSweep({ beforeMs: allOld(), maxBlocks: 9 }, new Set()), nothing);
    assert.deepEqual(await store.sweep({ beforeMs: allOld(), maxBlocks: 9 }), nothing);
    assert.equal(await store.has(digest), true);
  });
}

function sweepTests(test: Test): void {
  test("AV7: sweeps blocks below no pin; shared blocks stay while one root is kept", async (world) => {
    const store = await world.open(0);
    const [shared, own, other, loose] = [freshBlock(), freshBlock(), freshBlock(), freshBlock()] as const;
    const first = freshBlock(shared.digest, own.digest);
    const second = freshBlock(shared.digest, other.digest);
    for (const { bytes } of [shared, own, other, loose, first, second]) await store.put(bytes);
    for (const { digest } of [first, second]) await store.pin(digest);
    const sweep = { beforeMs: allOld(), maxBlocks: 100 };
    const expected = { blocks: 1, bytes: loose.bytes.length, more: false };
    assert.deepEqual(await store.wouldSweep(sweep, new Set()), expected);
    assert.equal(await store.has(loose.digest), true);
    assert.deepEqual(await store.sweep(sweep), expected);
    assert.equal(await store.has(loose.digest), false);

    const freed = { blocks: 2, bytes: first.bytes.length + own.bytes.length, more: false };
    assert.deepEqual(await store.wouldSweep(sweep, new Set([first.digest])), freed);
    assert.equal(await store.unpin(first.digest), true);
    assert.deepEqual(await store.sweep(sweep), freed);
    const here = await Promise.all([first, own, shared, second, other].map(({ digest }) => store.has(digest)));
    assert.deepEqual(here, [false, false, true, true, true]);
    await store.pin(second.digest);
    assert.deepEqual(await store.sweep(sweep), { blocks: 0, bytes: 0, more: false });
  });

  test("AV7: keeps what the other owner pinned", async (world) => {
    const operator = await world.open(0, PATIENT_MS, "operator");
    const digests = await putDiamond(operator);
    await operator.pin(digests[0] ?? assert.fail());
    await operator.close();
    const seat = await world.open(0, PATIENT_MS, "seat");
    const { blocks } = await seat.sweep({ beforeMs: allOld(), maxBlocks: 100 });
    assert.equal(blocks, 0);
    for (const digest of digests) assert.equal(await seat.has(digest), true);
  });

  test("AV7: leaves young blocks, and removes no more than its limit", async (world) => {
    const store = await world.open(0);
    const blocks = Array.from({ length: 5 }, () => freshBlock());
    for (const { bytes } of blocks) await store.put(bytes);
    assert.equal((await store.sweep({ beforeMs: Date.now() - 60_000, maxBlocks: 9 })).blocks, 0);
    const seen: unknown[] = [];
    for (let pass = 0; pass < 3; pass++) {
      const { blocks: taken, more } = await store.sweep({ beforeMs: allOld(), maxBlocks: 2 });
      seen.push([taken, more]);
    }
    assert.deepEqual(seen, [
      [2, true],
      [2, true],
      [1, false],
    ]);
  });

  test("AV7: loses no block that is stored or pinned while it sweeps", async (world) => {
    const store = await world.open(0, 300);
    const blocks = Array.from({ length: 40 }, () => freshBlock());
    const root = freshBlock(...blocks.slice(20).map(({ digest }) => digest));
    for (const { bytes } of [...blocks, root]) await store.put(bytes);
    await sleep(20);
    const beforeMs = Date.now();
    await sleep(20);
    const stored = async (): Promise<void> => {
      for (const { bytes } of blocks.slice(0, 20)) await store.put(bytes);
    };
    const pinned = store.pin(root.digest).then(
      () => true,
      () => false,
    );
    await Promise.all([store.sweep({ beforeMs, maxBlocks: 100 }), stored()]);
    for (const { digest } of blocks.slice(0, 20)) assert.equal(await store.has(digest), true);
    // A pin either fails because a block is gone already, or keeps all of its blocks.
    if (!(await pinned)) return;
    for (const { digest } of [root, ...blocks.slice(20)]) assert.equal(await store.has(digest), true);
  });
}

function durabilityTests(test: Test): void {
  test("keeps blocks and pins when it is closed and opened again", async (world) => {
    const store = await world.open(0);
    const digests = await putDiamond(store);
    const [root = assert.fail()] = digests;
    await store.pin(root);
    await store.close();
    const again = await world.open(0);
    for (const digest of digests) assert.equal(sha256(await again.get(digest)), digest);
    assert.equal(await again.isPinned(root), true);
  });

  test("names a damaged block in reads and pins; a put repairs it", async (world) => {
    const store = await world.open(0);
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

  test("finishes one of two gets of the same block when the other gives up", async (world) => {
    const [a, b] = await Promise.all([world.open(0), world.open(1)]);
    const { bytes, digest } = freshBlock();
    const patient = b.get(digest);
    await assert.rejects(b.get(digest, AbortSignal.timeout(100)), { code: "BLOCK_MISSING" });
    await sleep(200);
    await a.put(bytes);
    assert.equal(bytesToHex(await patient), bytesToHex(bytes));
  });
}
