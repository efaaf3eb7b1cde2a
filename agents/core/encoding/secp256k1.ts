import { curve as fastest } from "#secp256k1";
import type { Curve } from "./curve.ts";

/** Signatures of the curve of Ethereum. All bounds are checked here, so that no library decides what is a signature. */
export interface Secp256k1 {
  /** Which library computes. */
  readonly library: string;
  /** 32 bytes in [1, n). */
  isSecretKey(secret: Uint8Array): boolean;
  /** Uncompressed without prefix, 64 bytes. Throws a RangeError, which does not show it, when it is no secret key. */
  publicKey(secret: Uint8Array): Uint8Array;
  /** r, s and 27 or 28: 65 bytes, the same for the same digest and key (RFC 6979), s low. Throws as `publicKey` does. */
  sign(digest: Uint8Array, secret: Uint8Array): Uint8Array;
  /** The public key of who signed, as above; null for everything that `sign` cannot have made. */
  recover(digest: Uint8Array, signature: Uint8Array): Uint8Array | null;
}

const ORDER = bytes("fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141");
/** The highest s of OpenZeppelin's ECDSA: half the order, rounded down. */
const HALF_ORDER = bytes("7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0");
const WORD = 32;
const SIGNATURE_BYTES = 65;
/** What Ethereum adds to the recovery bit. */
const V_OFFSET = 27;

export function createSecp256k1(curve: Curve): Secp256k1 {
  const requireSecret = (secret: Uint8Array): void => {
    if (!isSecretKey(secret)) throw new RangeError("the private key is not 32 bytes in [1, n)");
  };
  return {
    library: curve.name,
    isSecretKey,
    publicKey(secret) {
      requireSecret(secret);
      return curve.publicKey(secret);
    },
    sign(digest, secret) {
      requireSecret(secret);
      if (digest.length !== WORD) throw new RangeError(`a digest of ${digest.length} bytes is not one of 32`);
      const signature = curve.sign(reduced(digest), secret);
      signature[SIGNATURE_BYTES - 1] = V_OFFSET + (signature[SIGNATURE_BYTES - 1] as number);
      return signature;
    },
    recover(digest, signature) {
      if (digest.length !== WORD || signature.length !== SIGNATURE_BYTES) return null;
      const recovery = (signature[SIGNATURE_BYTES - 1] as number) - V_OFFSET;
      if (recovery !== 0 && recovery !== 1) return null;
      const inRange =
        !isZero(signature, 0) &&
        !isZero(signature, WORD) &&
        compareWord(signature, 0, ORDER) < 0 &&
        compareWord(signature, WORD, HALF_ORDER) <= 0;
      return inRange ? curve.recover(reduced(digest), signature.subarray(0, 2 * WORD), recovery) : null;
    },
  };
}

/** That of the platform. */
export const secp256k1: Secp256k1 = createSecp256k1(fastest);

function isSecretKey(secret: Uint8Array): boolean {
  return secret.length === WORD && !isZero(secret, 0) && compareWord(secret, 0, ORDER) < 0;
}

/** RFC 6979 hashes the digest modulo n into the nonce; old libraries hash it as it is. */
function reduced(digest: Uint8Array): Uint8Array {
  if (compareWord(digest, 0, ORDER) < 0) return digest;
  const result = new Uint8Array(WORD);
  let borrow = 0;
  for (let index = WORD - 1; index >= 0; index -= 1) {
    const difference = (digest[index] as number) - (ORDER[index] as number) - borrow;
    borrow = difference < 0 ? 1 : 0;
    result[index] = difference & 0xff;
  }
  return result;
}

function isZero(data: Uint8Array, start: number): boolean {
  for (let index = start; index < start + WORD; index += 1) if (data[index] !== 0) return false;
  return true;
}

/** Compares the big-endian word that begins at `start` with another: negative if it is below, 0 if they are equal. */
function compareWord(data: Uint8Array, start: number, other: Uint8Array): number {
  for (let index = 0; index < WORD; index += 1) {
    const difference = (data[start + index] as number) - (other[index] as number);
    if (difference !== 0) return difference;
  }
  return 0;
}

function bytes(hex: string): Uint8Array {
  return Uint8Array.from(hex.matchAll(/../g), ([pair]) => Number.parseInt(pair, 16));
}
