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
import { cidOf, SHA2_256_CODE, verifiedBlock } from "./block.ts";

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
    const cid = cidOf(digest);
    if (!(await this.#files.has(cid))) return null;
    return verifiedBlock(digest, await collect(this.#files.get(cid)));
  }

  override has(cid: CID, options?: AbortOptions): Promise<boolean> {
    return this.#files.has(cid, options);
  }

  override put(cid: CID, bytes: InputPair["bytes"], options?: AbortOptions): Promise<CID> {
    return this.#files.put(cid, bytes, options);
  }

  override async *get(cid: CID, options?: AbortOptions): AsyncGenerator<Uint8Array> {
    const bytes = await collect(this.#files.get(cid, options));
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
}

/** Joins the chunks of one block. */
export async function collect(chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for await (const part of chunks) parts.push(part);
  const [only] = parts;
  return only !== undefined && parts.length === 1 ? Uint8Array.from(only) : Uint8Array.from(Buffer.concat(parts));
}

async function flushPath(target: string): Promise<void> {
  const handle = await open(target, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
