import { hashMessage, hashTypedData, keccak256, parseSignature, serializeTransaction, type LocalAccount } from "viem";
import { toAccount } from "viem/accounts";
import type { Digest, Hex } from "../../core/types.ts";
import type { Signer } from "../../ports/signer.ts";

/** Lets a signer pay for transactions; the key stays in the signer's adapter. */
export function accountOf(signer: Signer): LocalAccount {
  const sign = (digest: Hex): Hex => signer.sign(digest as Digest);
  return toAccount({
    address: signer.address,
    sign: async ({ hash }) => sign(hash),
    signMessage: async ({ message }) => sign(hashMessage(message)),
    signTypedData: async (typedData) => sign(hashTypedData(typedData)),
    signTransaction: async (transaction, options) => {
      const serialize = options?.serializer ?? serializeTransaction;
      return serialize(transaction, parseSignature(sign(keccak256(await serialize(transaction)))));
    },
  });
}
