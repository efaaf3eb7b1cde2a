import { hashTypedData, toHex } from "viem";
import type { Address, Digest, Hex } from "../../core/types.ts";
import type { Signer } from "../../ports/signer.ts";

export interface PossessionTerms {
  readonly chainId: number;
  readonly registry: Address;
  /** The account that registers the key; a signature for one operator does not work for another. */
  readonly operator: Address;
}

/** Returns the EIP-712 digest of `Possession(address operator,bytes publicKey)` in the registry's domain. */
export function possessionDigest({ chainId, registry, operator }: PossessionTerms, publicKey: Uint8Array): Digest {
  return hashTypedData({
    domain: { name: "ConclaveRegistry", version: "1", chainId, verifyingContract: registry },
    types: {
      Possession: [
        { name: "operator", type: "address" },
        { name: "publicKey", type: "bytes" },
      ],
    },
    primaryType: "Possession",
    message: { operator, publicKey: toHex(publicKey) },
  }) as Digest;
}

/** Proves to the registry that whoever registers the signer's key holds it. */
export function provePossession(signer: Signer, terms: PossessionTerms): Hex {
  return signer.sign(possessionDigest(terms, signer.publicKey));
}
