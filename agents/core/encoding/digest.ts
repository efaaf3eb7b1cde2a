import { secp256k1 } from "@noble/curves/secp256k1.js";
import { keccak_256 } from "@noble/hashes/sha3.js";
import type { Address, Digest, Hex } from "../types.ts";
import { bytesToHex, hexToBytes, isHex } from "./bytes.ts";

/** @param publicKey uncompressed without prefix, 64 bytes */
export function publicKeyToAddress(publicKey: Uint8Array): Address {
  if (publicKey.length !== 64) throw new RangeError(`publicKeyToAddress: ${publicKey.length} bytes are not 64`);
  return bytesToHex(keccak_256(publicKey).subarray(12)) as Address;
}

/** Who signed; null for a malformed signature, a high s, or a v other than 27 and 28 (as the contract's verifier). */
export function recoverSigner(digest: Digest, signature: Hex): Address | null {
  if (!isHex(signature, 65)) return null;
  const bytes = hexToBytes(signature);
  const v = bytes[64];
  if (v !== 27 && v !== 28) return null;
  try {
    const parsed = secp256k1.Signature.fromBytes(bytes.subarray(0, 64), "compact");
    if (parsed.hasHighS()) return null;
    const point = parsed.addRecoveryBit(v - 27).recoverPublicKey(hexToBytes(digest));
    return publicKeyToAddress(point.toBytes(false).subarray(1));
  } catch {
    // r or s out of range, or r not on the curve.
    return null;
  }
}
