import { hash } from "node:crypto";

/**
 * Stands in for Keccak-256 inside the simulator's workers: SHA3-256 differs from it in its padding only and the engine has it
 * natively. Digests differ from those on a chain, nothing else does.
 */
export function keccak_256(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(hash("sha3-256", bytes, "buffer"));
}
