import type { Digest } from "../core/types.ts";

/**
 * Store of content-addressed dag-cbor blocks (CIDv1, dag-cbor, sha2-256), its own and those of peers. `put` and `get`
 * check the hash; bytes that do not match throw BLOCK_INVALID.
 */
export interface ContentStore {
  /** Stores a block durably and returns the sha2-256 digest of its bytes. */
  put(bytes: Uint8Array, signal?: AbortSignal): Promise<Digest>;
  /**
   * Returns a block from this store, else from peers. Throws BLOCK_MISSING if the signal aborts or nobody delivers in
   * time.
   */
  get(digest: Digest, signal?: AbortSignal): Promise<Uint8Array>;
  has(digest: Digest, signal?: AbortSignal): Promise<boolean>;
  /**
   * Reads every block below the root, then pins the root for the owner of this store, so that collection keeps it and
   * peers can fetch it. Idempotent.
   */
  pin(root: Digest, signal?: AbortSignal): Promise<void>;
  /** True if any owner has pinned the root. */
  isPinned(root: Digest, signal?: AbortSignal): Promise<boolean>;
  close(): Promise<void>;
}

/** AV7: owner of a pin. A seat's pin stays until the retention policy ends it, an operator's until it is unpinned. */
export type PinOwner = "seat" | "operator";

export interface Pin {
  readonly root: Digest;
  /** Unix milliseconds. */
  readonly sinceMs: number;
}

/** A store from which pins and blocks can be removed. */
export interface CollectedStore extends ContentStore, PinList {
  /** Ends this owner's pin; false if it had none. Blocks stay until they are swept. */
  unpin(root: Digest, signal?: AbortSignal): Promise<boolean>;
  /** Removes blocks that are below no pinned root of any owner. Blocks that are written or pinned meanwhile stay. */
  sweep(sweep: Sweep, signal?: AbortSignal): Promise<Swept>;
}

/** What can be read from a store that another process may write to. */
export interface PinList {
  /** This owner's pins. */
  pins(signal?: AbortSignal): Promise<readonly Pin[]>;
  /** Returns what a sweep would remove without these pins of the owner. */
  wouldSweep(sweep: Sweep, without: ReadonlySet<Digest>, signal?: AbortSignal): Promise<Swept>;
}

export interface Sweep {
  /** Only blocks that nobody has stored since this time (Unix milliseconds). */
  readonly beforeMs: number;
  readonly maxBlocks: number;
}

export interface Swept {
  readonly blocks: number;
  readonly bytes: number;
  /** True if there may be more to remove. */
  readonly more: boolean;
}
