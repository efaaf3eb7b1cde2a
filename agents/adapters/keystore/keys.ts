import { inspect } from "node:util";

import { hkdf } from "@noble/hashes/hkdf.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { keccak_256 } from "@noble/hashes/sha3.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import { privateKeyToAccount, type PrivateKeyAccount } from "viem/accounts";

import { signDigest } from "../../core/encoding/digest.ts";
import { secp256k1 } from "../../core/encoding/secp256k1.ts";
import type { Address, Digest, Hex } from "../../core/types.ts";
import type { Signer } from "../../ports/signer.ts";

/** An agent's key in its three uses. The key is not a property: printing, serialising or spreading this shows the address only. */
export interface Keys extends Signer {
  /** 32 bytes for libp2p's `privateKeyFromRaw`: the peer id derives from the same key. Keep them nowhere. */
  libp2pPrivateKey(): Uint8Array;
  /** Pays gas. */
  viemAccount(): PrivateKeyAccount;
}

const DERIVE_SALT = utf8ToBytes("conclave/derived-secret/1");

/** `privateKey` is 32 bytes, in [1, n); throws a RangeError that does not show them. */
export function keysFromPrivateKey(privateKey: Uint8Array): Keys {
  const secret = Uint8Array.from(privateKey);
  const publicKey = secp256k1.publicKey(secret);
  const address: Address = toHex(keccak_256(publicKey).slice(12)) as Address;
  const redacted = (): string => `Keys { address: ${address}, privateKey: [hidden] }`;
  let account: PrivateKeyAccount | null = null;

  const keys: Keys = {
    address,
    publicKey,
    sign: (digest: Digest): Hex => signDigest(digest, secret),
    deriveSecret: (purpose) => hkdf(sha256, secret, DERIVE_SALT, utf8ToBytes(purpose), 32),
    libp2pPrivateKey: () => Uint8Array.from(secret),
    viemAccount: () => (account ??= privateKeyToAccount(toHex(secret))),
  };
  const hidden = { toJSON: () => ({ address }), toString: redacted, [inspect.custom]: redacted };
  for (const key of Reflect.ownKeys(hidden)) {
    Object.defineProperty(keys, key, { value: hidden[key as keyof typeof hidden], enumerable: false });
  }
  return Object.freeze(keys);
}

function toHex(bytes: Uint8Array): Hex {
  return `0x${bytesToHex(bytes)}`;
}
