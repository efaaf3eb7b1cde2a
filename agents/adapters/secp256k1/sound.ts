import type { Curve } from "../../core/encoding/curve.ts";

const SECRET = new Uint8Array(32).fill(0x11);
const DIGEST = new Uint8Array(32).fill(0x22);
/** r, s and the recovery bit of the one signature that RFC 6979 allows of this key on this digest. */
const SIGNATURE =
  "cfd18ee918d6729134adbc61212142cf71fcf186dfc3123cfca8f7062e0fad5a" +
  "703cc467d9857349ddb6e148bd1663f5050f3f6b9d788d64349c357f14eb4a5f" +
  "00";

/** The curve if it makes that signature and recovers its key; null if the binary is damaged or missing. */
export function sound(curve: Curve | null): Curve | null {
  try {
    if (curve === null) return null;
    const signature = curve.sign(DIGEST, SECRET);
    const recovered = curve.recover(DIGEST, signature.subarray(0, 64), 0);
    const isSound = hex(signature) === SIGNATURE && hex(recovered ?? []) === hex(curve.publicKey(SECRET));
    return isSound ? curve : null;
  } catch {
    return null;
  }
}

function hex(bytes: Iterable<number>): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
