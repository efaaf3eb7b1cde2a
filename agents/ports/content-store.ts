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
  /** Pins the DAG below the root recursively, so that garbage collection keeps it and peers can fetch it. Idempotent. */
  pin(root: Digest, signal?: AbortSignal): Promise<void>;
  isPinned(root: Digest, signal?: AbortSignal): Promise<boolean>;
  close(): Promise<void>;
}
