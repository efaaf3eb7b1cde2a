// One file of the library: its index has the whole of Bitcoin Cash.
import { instantiateSecp256k1 } from "@bitauth/libauth/build/lib/crypto/secp256k1.js";
import type { Curve } from "../../core/encoding/curve.ts";

/** libsecp256k1 in WebAssembly; null where that is not allowed. */
export async function loadWasm(): Promise<Curve | null> {
  try {
    return curveOf(await instantiateSecp256k1());
  } catch {
    return null;
  }
}

type Library = Awaited<ReturnType<typeof instantiateSecp256k1>>;

function curveOf(library: Library): Curve {
  return {
    name: "wasm",
    publicKey: (secret) => bytesOf(library.derivePublicKeyUncompressed(secret)).subarray(1),
    sign(digest, secret) {
      const signed = library.signMessageHashRecoverableCompact(secret, digest);
      if (typeof signed === "string") throw new RangeError(signed);
      const result = new Uint8Array(65);
      result.set(signed.signature);
      result[64] = signed.recoveryId;
      return result;
    },
    recover(digest, rs, recovery) {
      const publicKey = library.recoverPublicKeyUncompressed(rs, recovery, digest);
      return typeof publicKey === "string" ? null : publicKey.subarray(1);
    },
  };
}

/** The library returns what went wrong as text. */
function bytesOf(result: Uint8Array | string): Uint8Array {
  if (typeof result === "string") throw new RangeError(result);
  return result;
}
