/**
 * The arithmetic of secp256k1 behind the signatures. Several libraries do it; the slowest takes 25 times as long as the
 * fastest. package.json (`imports`, "#secp256k1") says which one a platform gets. Nobody calls it but secp256k1.ts,
 * which lets only inputs through whose result is the same in all of them: secret keys in [1, n), digests in [0, n), r
 * in [1, n), s in [1, n/2], v 0 or 1.
 */
export interface Curve {
  /** "native", "wasm" or "noble"; in the simulator "simulated". */
  readonly name: string;
  /** Uncompressed, without the prefix: x and y, 64 bytes. */
  publicKey(secret: Uint8Array): Uint8Array;
  /** r, s and the recovery bit in one: 65 bytes. RFC 6979 with SHA-256 and no extra entropy; s is low. */
  sign(digest: Uint8Array, secret: Uint8Array): Uint8Array;
  /** The public key as above; null when no point of the curve has x = r, or the key would be the point at infinity. */
  recover(digest: Uint8Array, rs: Uint8Array, recovery: 0 | 1): Uint8Array | null;
}
