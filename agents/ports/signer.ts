import type { Address, Digest, Hex } from "../core/types.ts";

/** The agent's hot key. The key itself never leaves the adapter. */
export interface Signer {
  readonly address: Address;
  /** Uncompressed without prefix, 64 bytes. */
  readonly publicKey: Uint8Array;
  /** Returns 65 bytes r, s (low), v (27 or 28); deterministic (RFC 6979). */
  sign(digest: Digest): Hex;
  /**
   * Returns 32 bytes derived from the key for one purpose. The same purpose gives the same bytes; they reveal nothing
   * of the key.
   */
  deriveSecret(purpose: string): Uint8Array;
}
