import type { Digest } from "../core/types.ts";

/**
 * Content-addressed dag-cbor blocks (CIDv1, dag-cbor, sha2-256), local and from peers.
 * `put` and `get` check the hash; a block whose bytes do not match throws BLOCK_INVALID.
 */
export interface ContentStore {
  /** Stores a block durably and returns the sha2-256 digest of its bytes. */
  put(bytes: Uint8Array, signal?: AbortSignal): Promise<Digest>;
  /** Local first, then peers; throws BLOCK_MISSING when the signal aborts or nobody has it in time. */
  get(digest: Digest, signal?: AbortSignal): Promise<Uint8Array>;
  has(digest: Digest, signal?: AbortSignal): Promise<boolean>;
  /**
   * Reads every block below the root, then pins the root for the owner of this store, so that collection keeps it and peers can
   * fetch it. Idempotent.
   */
  pin(root: Digest, signal?: AbortSignal): Promise<void>;
  /** Whoever's pin it is. */
  isPinned(root: Digest, signal?: AbortSignal): Promise<boolean>;
  close(): Promise<void>;
}

/** AV7: for whom a root is kept: for a seat, until the policy lets it go, or for an operator, until it is unpinned. */
export type PinOwner = "seat" | "operator";

export interface Pin {
  readonly root: Digest;
  /** Unix milliseconds. */
  readonly sinceMs: number;
}

/** A store from which something can be removed. */
export interface CollectedStore extends ContentStore, PinList {
  /** Ends this owner's pin; false when there was none. Blocks stay until they are swept. */
  unpin(root: Digest, signal?: AbortSignal): Promise<boolean>;
  /** Removes blocks below no root that is pinned, whoever pinned it. Nothing that is written or pinned meanwhile is lost. */
  sweep(sweep: Sweep, signal?: AbortSignal): Promise<Swept>;
}

/** What a look at a store that another process may write to can say. */
export interface PinList {
  /** This owner's pins. */
  pins(signal?: AbortSignal): Promise<readonly Pin[]>;
  /** What a sweep would remove if these pins of the owner were none. */
  wouldSweep(sweep: Sweep, without: ReadonlySet<Digest>, signal?: AbortSignal): Promise<Swept>;
}

export interface Sweep {
  /** Only blocks that nobody has stored since; Unix milliseconds. */
  readonly beforeMs: number;
  readonly maxBlocks: number;
}

export interface Swept {
  readonly blocks: number;
  readonly bytes: number;
  /** Whether there may be more to remove. */
  readonly more: boolean;
}
