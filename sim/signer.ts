import { concat, hexToBytes, sha256, utf8, word } from "../agents/core/encoding/bytes.ts";
import { publicKeyToAddress, signDigest } from "../agents/core/encoding/digest.ts";
import { secp256k1 } from "../agents/core/encoding/secp256k1.ts";
import type { Digest } from "../agents/core/types.ts";
import type { Signer } from "../agents/ports/signer.ts";

const signers = new Map<number, Signer>();

/** The key of a simulated agent: the same in every world. */
export function simSigner(index: number): Signer {
  const known = signers.get(index);
  if (known !== undefined) return known;
  const secret = hexToBytes(sha256(concat(utf8("conclave simulated agent"), word(BigInt(index)))));
  const publicKey = secp256k1.publicKey(secret);
  const signer: Signer = {
    address: publicKeyToAddress(publicKey),
    publicKey,
    sign: (digest: Digest) => signDigest(digest, secret),
    deriveSecret: (purpose) => hexToBytes(sha256(concat(secret, utf8(purpose)))),
  };
  signers.set(index, signer);
  return signer;
}
