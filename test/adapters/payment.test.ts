import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { decodeFunctionData, type TransactionReceipt } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { tokenAbi } from "@conclave/contracts/abi";
import type { Client, Connection } from "../../agents/adapters/chain/connection.ts";
import { pay } from "../../agents/adapters/chain/payment.ts";
import type { Sender } from "../../agents/adapters/chain/transactions.ts";
import { ConclaveError } from "../../agents/core/errors.ts";
import type { Address } from "../../agents/core/types.ts";

const account = privateKeyToAccount(`0x${"11".repeat(32)}`);
const address = (byte: string): Address => `0x${byte.repeat(20)}` as Address;
const [token, spender] = [address("aa"), address("cc")];
const payment = {
  token,
  spender,
  amount: 5n,
  missing: "STAKE_MISSING",
  doing: "Bond stake of agent 1",
  plain: "0x1234",
  permitted: null,
} as const;

/** A token without permits, and a contract that refuses as long as `refusing` says so. */
function world() {
  let allowance = 0n;
  const state = { refusing: true, sent: [] as string[] };
  const client = {
    readContract: async ({ functionName }: { readonly functionName: string }) =>
      functionName === "balanceOf" ? 100n : allowance,
  } as unknown as Client;
  const connection = { call: (_doing, _signal, action) => action(client) } as Pick<Connection, "call"> as Connection;
  const send = async ({ to, data, doing }: Parameters<Sender["send"]>[0]) => {
    state.sent.push(doing);
    if (to === token) {
      const { args } = decodeFunctionData({ abi: tokenAbi, data });
      assert.equal(args?.[0]?.toString().toLowerCase(), spender);
      allowance = args[1] as bigint;
    } else if (state.refusing) throw new ConclaveError("CHAIN_REVERTED", `${doing}: the contract refused`);
    return {} as TransactionReceipt;
  };
  return { state, allowance: () => allowance, pay: () => pay(connection, { account, send }, payment) };
}

describe("a payment with a token that has no permits", () => {
  it("approves exactly the amount; if the call fails the next try uses that approval", async () => {
    const { state, allowance, pay: again } = world();
    await assert.rejects(again(), { code: "CHAIN_REVERTED" });
    assert.equal(allowance(), 5n);
    // Nothing was approved this time.
    await assert.rejects(again(), { code: "CHAIN_REVERTED" });
    state.refusing = false;
    await again();
    const bond = "Bond stake of agent 1";
    assert.deepEqual(state.sent, [`Approve 5 of token ${token}`, bond, bond, bond]);
  });
});
