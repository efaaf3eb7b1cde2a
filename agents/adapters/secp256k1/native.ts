import { createRequire } from "node:module";
import type { Curve } from "../../core/encoding/curve.ts";

/** What is used of the package `secp256k1`, libsecp256k1 behind Node-API: throws where there is no result. */
interface Bindings {
  publicKeyCreate(secret: Uint8Array, compressed: boolean): Uint8Array;
  ecdsaSign(digest: Uint8Array, secret: Uint8Array): { readonly signature: Uint8Array; readonly recid: number };
  ecdsaRecover(rs: Uint8Array, recovery: number, digest: Uint8Array, compressed: boolean): Uint8Array;
}

/** Null where the package has no binary for this platform, or could not be installed: it is optional. */
export function loadNative(): Curve | null {
  try {
    // Not its main file, which would silently take the curve of another library in JavaScript.
    return curveOf(createRequire(import.meta.url)("secp256k1/bindings.js") as Bindings);
  } catch {
    return null;
  }
}

function curveOf(bindings: Bindings): Curve {
  return {
    name: "native",
    publicKey: (secret) => bindings.publicKeyCreate(secret, false).subarray(1),
    sign(digest, secret) {
      const { signature, recid } = bindings.ecdsaSign(digest, secret);
      const result = new Uint8Array(65);
      result.set(signature);
      result[64] = recid;
      return result;
    },
    recover(digest, rs, recovery) {
      try {
        return bindings.ecdsaRecover(rs, recovery, digest, false).subarray(1);
      } catch {
        return null;
      }
    },
  };
}
