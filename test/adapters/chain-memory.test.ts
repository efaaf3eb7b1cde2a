import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { withCache } from "viem";
import { connect } from "../../agents/adapters/chain/connection.ts";
import type { Address } from "../../agents/core/types.ts";
import { withRpcServer, type RpcCall } from "../support/rpc-server.ts";

const [oracle, registry] = [`0x${"0a".repeat(20)}`, `0x${"0b".repeat(20)}`] as [Address, Address];
const RESULTS: Readonly<Record<string, string>> = {
  eth_chainId: "0x7a69",
  eth_getCode: "0x01",
  eth_blockNumber: "0x2a",
};

describe("a connection to a chain", () => {
  it("leaves no block number behind in viem, whose cache never forgets the client of a call", async () => {
    const answer = ({ method }: RpcCall): object => ({ result: RESULTS[method] });
    await withRpcServer(answer, async (rpcUrl) => {
      const connection = await connect({ rpcUrl, chainId: 31_337, oracle, registry });
      const { uid, head } = await connection.call("Read the head", undefined, async (client) => ({
        uid: client.uid,
        head: await client.getBlockNumber(),
      }));
      assert.equal(head, 42n);
      const kept = await withCache(() => Promise.resolve(null), { cacheKey: `blockNumber.${uid}` });
      assert.equal(kept, null);
    });
  });
});
