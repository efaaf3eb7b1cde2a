import { closeSync, fsync, openSync, readSync } from "node:fs";
import { readdir, stat, unlink, utimes } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { BaseBlockstore } from "blockstore-core/base";
import { FsBlockstore } from "blockstore-fs";
import { NextToLast } from "blockstore-fs/sharding";
import { type AbortOptions, NotFoundError } from "@libp2p/interface";
import type { InputPair, Pair } from "interface-blockstore";
import { base32upper } from "multiformats/bases/base32";
import type { CID } from "multiformats/cid";
import { bytesToHex } from "../../core/encoding/bytes.ts";
import { ConclaveError } from "../../core/errors.ts";
import type { Digest } from "../../core/types.ts";
import { sha256 } from "#sha256";
import { cidOf, MAX_BLOCK_BYTES, SHA2_256_CODE, verifiedBlock } from "./block.ts";

/** Blocks remembered as flushed; beyond this number all are flushed again. */
const MAX_FLUSHED = 65_536;
const EXTENSION = ".data";

/**
 * Blocks in files. Damaged blocks are never handed on: `read` throws BLOCK_INVALID, and for Helia, which would serve
 * them to peers, they do not exist. A block's time stamp says when it was stored last.
 */
export class LocalBlocks extends BaseBlockstore {
  readonly #files: FsBlockstore;
  readonly #sharding = new NextToLast({ extension: EXTENSION });
  readonly #flushed = new Set<string>();
  readonly #flushFolder = sharedFlushes();
  /** Writers of a block; it is not removed while there are any. */
  readonly #writers = new Map<string, number>();
  /** Removals that run, by block; a writer of the block waits for its removal. */
  readonly #removals = new Map<string, Promise<number>>();

  constructor(location: string) {
    super();
    this.#files = new FsBlockstore(location, { shardingStrategy: this.#sharding });
  }

  open(): Promise<void> {
    return this.#files.open();
  }

  /** Returns the block of a digest; null if it is not here. Throws BLOCK_INVALID if its bytes have changed. */
  async read(digest: Digest): Promise<Uint8Array | null> {
    const bytes = this.readUnchecked(digest);
    return bytes === null ? null : verifiedBlock(digest, bytes);
  }

  /** As `read`, for those who check the hash themselves. A block that is too long is cut off, so its hash is another. */
  readUnchecked(digest: Digest): Uint8Array | null {
    return readBounded(this.#pathOf(cidOf(digest)));
  }

  override has(cid: CID, options?: AbortOptions): Promise<boolean> {
    return this.#files.has(cid, options);
  }

  override put(cid: CID, bytes: InputPair["bytes"], options?: AbortOptions): Promise<CID> {
    const key = keyOf(cid);
    return this.#writing(key, () => {
      this.#flushed.delete(key);
      return this.#files.put(cid, bytes, options);
    });
  }

  /** Stores a block so that it survives a power failure, and repairs a broken one. True if it was not here before. */
  store(digest: Digest, bytes: Uint8Array): Promise<boolean> {
    const cid = cidOf(digest);
    return this.#writing(digest, async () => {
      const isNew = !(await this.#isSound(digest));
      if (isNew) await this.put(cid, bytes);
      else await utimes(this.#pathOf(cid), new Date(), new Date());
      await this.flush(digest);
      return isNew;
    });
  }

  override async *get(cid: CID, options?: AbortOptions): AsyncGenerator<Uint8Array> {
    options?.signal?.throwIfAborted();
    const bytes = readBounded(this.#pathOf(cid));
    if (bytes === null) throw new NotFoundError(`Block ${cid.toString()} is not here`);
    // Files are found by multihash, whichever codec a peer's CID claims.
    const matches = cid.multihash.code === SHA2_256_CODE && sha256(bytes) === keyOf(cid);
    if (!matches) throw new NotFoundError(`Block ${cid.toString()} is broken`);
    yield bytes;
  }

  override async delete(cid: CID, options?: AbortOptions): Promise<void> {
    this.#flushed.delete(keyOf(cid));
    await this.#files.delete(cid, options);
  }

  override async *getAll(options?: AbortOptions): AsyncGenerator<Pair> {
    yield* this.#files.getAll(options);
  }

  /** Resolves once the block survives even a power failure. */
  async flush(digest: Digest): Promise<void> {
    if (this.#flushed.has(digest)) return;
    const file = this.#pathOf(cidOf(digest));
    await Promise.all([flushPath(file), this.#flushFolder(path.dirname(file)), this.#flushFolder(this.#files.path)]);
    if (this.#flushed.size >= MAX_FLUSHED) this.#flushed.clear();
    this.#flushed.add(digest);
  }

  /** Lists the blocks here, by the names of their files. */
  async *stored(): AsyncGenerator<Digest> {
    for (const shard of await readdir(this.#files.path, { withFileTypes: true })) {
      if (!shard.isDirectory()) continue;
      for (const name of await readdir(path.join(this.#files.path, shard.name))) {
        const digest = digestOfName(name);
        if (digest !== null) yield digest;
      }
    }
  }

  /**
   * Returns the size of a block that nobody has stored since the time (Unix milliseconds); null if there is no such
   * block.
   */
  async bytesIfOlder(digest: Digest, beforeMs: number): Promise<number | null> {
    const found = await stat(this.#pathOf(cidOf(digest))).catch(absent);
    return found === null || found.mtimeMs >= beforeMs ? null : found.size;
  }

  /** Removes such a block and returns its size; null if it stays. */
  async removeIfOlder(digest: Digest, beforeMs: number): Promise<number | null> {
    if (this.#writers.has(digest)) return null;
    const removal = this.#remove(digest, beforeMs);
    this.#removals.set(digest, removal);
    try {
      const bytes = await removal;
      return bytes < 0 ? null : bytes;
    } finally {
      this.#removals.delete(digest);
    }
  }

  /** Resolves once the running removals are over. */
  async removed(): Promise<void> {
    await Promise.allSettled(this.#removals.values());
  }

  async #remove(digest: Digest, beforeMs: number): Promise<number> {
    const bytes = await this.bytesIfOlder(digest, beforeMs);
    if (bytes === null) return -1;
    this.#flushed.delete(digest);
    await unlink(this.#pathOf(cidOf(digest)));
    return bytes;
  }

  async #writing<T>(key: string, work: () => Promise<T>): Promise<T> {
    this.#writers.set(key, (this.#writers.get(key) ?? 0) + 1);
    try {
      await this.#removals.get(key)?.catch(() => undefined);
      return await work();
    } finally {
      const left = (this.#writers.get(key) ?? 1) - 1;
      if (left === 0) this.#writers.delete(key);
      else this.#writers.set(key, left);
    }
  }

  async #isSound(digest: Digest): Promise<boolean> {
    try {
      return (await this.read(digest)) !== null;
    } catch (error) {
      if (error instanceof ConclaveError && error.code === "BLOCK_INVALID") return false;
      throw error;
    }
  }

  #pathOf(cid: CID): string {
    const { dir, file } = this.#sharding.encode(cid);
    return path.join(this.#files.path, dir, file);
  }
}

function keyOf(cid: CID): string {
  return bytesToHex(cid.multihash.digest);
}

/** Returns the digest in a file's name; null for other files. */
function digestOfName(name: string): Digest | null {
  if (!name.endsWith(EXTENSION) || !/^B[A-Z2-7]+$/.test(name.slice(0, -EXTENSION.length))) return null;
  const multihash = base32upper.decode(name.slice(0, -EXTENSION.length));
  const fits = multihash.length === 34 && multihash[0] === SHA2_256_CODE && multihash[1] === 32;
  return fits ? (bytesToHex(multihash.subarray(2)) as Digest) : null;
}

function absent(error: unknown): null {
  if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
  throw error;
}

/** What one read takes; a block that is longer by a byte is too long. */
const scratch = new Uint8Array(MAX_BLOCK_BYTES + 1);

/**
 * Reads a file; null if it does not exist. It reads one byte more than a block may have, so that a longer file is noticed.
 * Synchronous, since so short a read costs less than a round trip to a thread, four times for each file.
 */
function readBounded(file: string): Uint8Array | null {
  const descriptor = openIfThere(file);
  if (descriptor === null) return null;
  try {
    return scratch.slice(0, readSync(descriptor, scratch));
  } finally {
    closeSync(descriptor);
  }
}

function openIfThere(file: string): number | null {
  try {
    return openSync(file, "r");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

/** Flushes a file, or a folder, whose names are then durable. Opening takes no thread: it costs less than a round trip to one. */
export async function flushPath(target: string): Promise<void> {
  const descriptor = openSync(target, "r");
  try {
    await promisify(fsync)(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Flushes folders, one flush of a folder at a time: all who come while one runs share the next, which begins after they came.
 * The blocks of a transcript come together and lie in one folder.
 */
export function sharedFlushes(flush = flushPath): (folder: string) => Promise<void> {
  const running = new Map<string, Promise<void>>();
  const next = new Map<string, Promise<void>>();
  const begin = (folder: string): Promise<void> => {
    next.delete(folder);
    const flushing = flush(folder).finally(() => {
      if (running.get(folder) === flushing) running.delete(folder);
    });
    running.set(folder, flushing);
    return flushing;
  };
  return (folder) => {
    const waiting =
      next.get(folder) ??
      Promise.resolve(running.get(folder))
        .catch(() => undefined)
        .then(() => begin(folder));
    next.set(folder, waiting);
    return waiting;
  };
}
