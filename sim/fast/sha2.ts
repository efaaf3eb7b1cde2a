import { hash } from "node:crypto";

/** The same function as @noble/hashes/sha2.js, by the engine's native code. */
export function sha256(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(hash("sha256", bytes, "buffer"));
}
