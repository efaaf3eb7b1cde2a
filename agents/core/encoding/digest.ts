import { keccak_256 } from "@noble/hashes/sha3.js";
import type { Address, Digest, Hex } from "../types.ts";
import { bytesToHex, hexToBytes, isHex } from "./bytes.ts";
import { secp256k1 } from "./secp256k1.ts";

/** @param publicKey uncompressed without prefix, 64 bytes */
export function publicKeyToAddress(publicKey: Uint8Array): Address {
  if (publicKey.length !== 64) throw new RangeError(`publicKeyToAddress: ${publicKey.length} bytes are not 64`);
  return bytesToHex(keccak_256(publicKey).subarray(12)) as Address;
}

/** Who signed; null for a malformed signature, a high s, or a v other than 27 and 28 (as the contract's verifier). */
export function recoverSigner(digest: Digest, signature: Hex): Address | null {
  if (!isHex(signature, 65)) return null;
  const publicKey = secp256k1.recover(hexToBytes(digest), hexToBytes(signature));
  return publicKey === null ? null : publicKeyToAddress(publicKey);
}

/** The signature that `recoverSigner` takes. Throws a RangeError when the key is not 32 bytes in [1, n). */
export function signDigest(digest: Digest, secret: Uint8Array): Hex {
  return bytesToHex(secp256k1.sign(hexToBytes(digest), secret));
}
