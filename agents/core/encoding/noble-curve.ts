import { secp256k1 } from "@noble/curves/secp256k1.js";
import type { Curve } from "./curve.ts";

/** The slowest curve, which needs nothing but JavaScript: every platform has it. */
export const curve: Curve = {
  name: "noble",
  publicKey: (secret) => secp256k1.getPublicKey(secret, false).slice(1),
  sign(digest, secret) {
    const [recovery, ...rs] = secp256k1.sign(digest, secret, { prehash: false, format: "recovered" });
    return Uint8Array.of(...rs, recovery as number);
  },
  recover(digest, rs, recovery) {
    try {
      const signature = secp256k1.Signature.fromBytes(rs, "compact").addRecoveryBit(recovery);
      return signature.recoverPublicKey(digest).toBytes(false).slice(1);
    } catch {
      return null;
    }
  },
};
