import { privateKeyFromRaw, publicKeyFromRaw } from "@libp2p/crypto/keys";
import type { PeerId, PrivateKey, Secp256k1PrivateKey } from "@libp2p/interface";
import { peerIdFromPublicKey as peerIdFromLibp2pKey } from "@libp2p/peer-id";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { publicKeyToAddress } from "../../core/encoding/digest.ts";
import { ConclaveError } from "../../core/errors.ts";
import type { Address } from "../../core/types.ts";

const PUBLIC_KEY_BYTES = 64;
const PRIVATE_KEY_BYTES = 32;
const UNCOMPRESSED = 0x04;

/** Returns an agent's peer id, from its signer's uncompressed public key (64 bytes); null if that is no curve point. */
export function peerIdFromPublicKey(publicKey: Uint8Array): PeerId | null {
  if (publicKey.length !== PUBLIC_KEY_BYTES) return null;
  try {
    const point = secp256k1.Point.fromBytes(Uint8Array.of(UNCOMPRESSED, ...publicKey));
    return peerIdFromLibp2pKey(publicKeyFromRaw(point.toBytes(true)));
  } catch {
    return null;
  }
}

/** Returns the Ethereum address behind a peer id; null for peers whose key is not secp256k1. */
export function addressOfPeerId(peerId: PeerId): Address | null {
  return peerId.type === "secp256k1" ? addressOfCompressed(peerId.publicKey.raw) : null;
}

/** Returns the Ethereum address of an identity from `identityFromSignerKey`. */
export function addressOfIdentity(identity: Secp256k1PrivateKey): Address {
  return addressOfCompressed(identity.publicKey.raw);
}

/** Returns the agent's signer key as a libp2p identity. Throws CONFIG_INVALID for any other key than secp256k1. */
export function identityFromSignerKey(key: Uint8Array | PrivateKey): Secp256k1PrivateKey {
  const identity = key instanceof Uint8Array ? parseKey(key) : key;
  if (identity.type !== "secp256k1") {
    throw new ConclaveError("CONFIG_INVALID", "Use the signer's secp256k1 key as the network identity", {
      type: identity.type,
    });
  }
  return identity;
}

function parseKey(key: Uint8Array): PrivateKey {
  if (key.length !== PRIVATE_KEY_BYTES || !secp256k1.utils.isValidSecretKey(key)) {
    throw new ConclaveError("CONFIG_INVALID", "Use a 32-byte secp256k1 key as the network identity");
  }
  return privateKeyFromRaw(key);
}

function addressOfCompressed(publicKey: Uint8Array): Address {
  return publicKeyToAddress(secp256k1.Point.fromBytes(publicKey).toBytes(false).subarray(1));
}
