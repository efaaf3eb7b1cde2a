import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { domainSeparator } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import type { Client, Connection } from "../../agents/adapters/chain/connection.ts";
import { signPermit, type Permit } from "../../agents/adapters/chain/token.ts";
import type { Address } from "../../agents/core/types.ts";

const account = privateKeyToAccount(`0x${"11".repeat(32)}`);
const address = (byte: string): Address => `0x${byte.repeat(20)}` as Address;
const [token, valuable, spender] = [address("aa"), address("bb"), address("cc")];
const CHAIN = 31_337;

/** Asks for a permit of `token`, which states this domain for its permits. */
function permitWith(chainId: number, verifyingContract: Address): Promise<Permit | null> {
  const domain = { name: "Token", version: "1", chainId, verifyingContract };
  const answers: Readonly<Record<string, unknown>> = {
    eip712Domain: ["0x0f", domain.name, domain.version, BigInt(chainId), verifyingContract, `0x${"00".repeat(32)}`, []],
    DOMAIN_SEPARATOR: domainSeparator({ domain }),
    nonces: 0n,
  };
  const client = {
    readContract: async ({ functionName }: { readonly functionName: string }) => answers[functionName],
    getBlock: async () => ({ timestamp: 1_700_000_000n }),
  } as unknown as Client;
  const connection = {
    domain: { chainId: CHAIN, oracle: address("dd") },
    call: (_doing, _signal, action) => action(client),
  } as Pick<Connection, "domain" | "call"> as Connection;
  return signPermit(connection, account, token, spender, 5n);
}

describe("a permit", () => {
  it("is signed for the token that is paid, on the chain of the deployment", async () => {
    assert.equal((await permitWith(CHAIN, token))?.value, 5n);
  });

  it("is not signed for another token, or another chain, that the token or the node names", async () => {
    assert.equal(await permitWith(CHAIN, valuable), null);
    assert.equal(await permitWith(1, token), null);
  });
});
