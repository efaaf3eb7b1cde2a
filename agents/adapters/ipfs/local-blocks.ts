import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { open } from "node:fs/promises";
import path from "node:path";
import { BaseBlockstore } from "blockstore-core/base";
import { FsBlockstore } from "blockstore-fs";
import { NextToLast } from "blockstore-fs/sharding";
import { type AbortOptions, NotFoundError } from "@libp2p/interface";
import type { InputPair, Pair } from "interface-blockstore";
import type { CID } from "multiformats/cid";
import { bytesToHex, sha256 } from "../../core/digest.ts";
import type { Digest } from "../../core/types.ts";
import { cidOf, MAX_BLOCK_BYTES, SHA2_256_CODE, verifiedBlock } from "./block.ts";

/**
 * Blocks in files. What a disk made up is never handed on: `read` throws BLOCK_INVALID for it, and to Helia, which would
 * serve it to peers, it does not exist.
 */
export class LocalBlocks extends BaseBlockstore {
  readonly #files: FsBlockstore;
  readonly #sharding = new NextToLast();

  constructor(location: string) {
    super();
    this.#files = new FsBlockstore(location, { shardingStrategy: this.#sharding });
  }

  open(): Promise<void> {
    return this.#files.open();
  }

  /** The block of a digest, null when it is not here. Throws BLOCK_INVALID when its bytes have changed. */
  async read(digest: Digest): Promise<Uint8Array | null> {
    const bytes = readBounded(this.#pathOf(cidOf(digest)));
    return bytes === null ? null : verifiedBlock(digest, bytes);
  }

  override has(cid: CID, options?: AbortOptions): Promise<boolean> {
    return this.#files.has(cid, options);
  }

  override put(cid: CID, bytes: InputPair["bytes"], options?: AbortOptions): Promise<CID> {
    return this.#files.put(cid, bytes, options);
  }

  override async *get(cid: CID, options?: AbortOptions): AsyncGenerator<Uint8Array> {
    options?.signal?.throwIfAborted();
    const bytes = readBounded(this.#pathOf(cid));
    if (bytes === null) throw new NotFoundError(`Block ${cid.toString()} is not here`);
    // Files are found by multihash, whatever codec a peer's CID claims.
    const matches = cid.multihash.code === SHA2_256_CODE && sha256(bytes) === bytesToHex(cid.multihash.digest);
    if (!matches) throw new NotFoundError(`Block ${cid.toString()} is broken`);
    yield bytes;
  }

  override async delete(cid: CID, options?: AbortOptions): Promise<void> {
    await this.#files.delete(cid, options);
  }

  override async *getAll(options?: AbortOptions): AsyncGenerator<Pair> {
    yield* this.#files.getAll(options);
  }

  /** Resolves once the block survives a power failure, too. */
  async flush(cid: CID): Promise<void> {
    const { dir, file } = this.#sharding.encode(cid);
    for (const target of [path.join(dir, file), dir, "."]) await flushPath(path.join(this.#files.path, target));
  }

  #pathOf(cid: CID): string {
    const { dir, file } = this.#sharding.encode(cid);
    return path.join(this.#files.path, dir, file);
  }
}

/**
 * Null where there is no such file. Of one that is too long for a block it is just too long. Synchronous: to read so little takes
 * less than to hand it to a thread and be woken by it, four times for each file.
 */
function readBounded(file: string): Uint8Array | null {
  const descriptor = openIfThere(file);
  if (descriptor === null) return null;
  try {
    const bytes = new Uint8Array(Math.min(fstatSync(descriptor).size, MAX_BLOCK_BYTES + 1));
    return bytes.subarray(0, readSync(descriptor, bytes));
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

async function flushPath(target: string): Promise<void> {
  const handle = await open(target, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
