import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { fromRlp, keccak256, type Hex } from "viem";
import { encodeHeader, readHeader, type RawBlock } from "../../agents/adapters/chain/header.ts";
import type { Connection } from "../../agents/adapters/chain/connection.ts";
import { ConclaveError } from "../../agents/core/errors.ts";
import { startLocalChain, type LocalChain } from "../../devnet/local-chain.ts";

const emptyTrie = "0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421";

/** Block 0 of Ethereum's main network: it has a difficulty and a nonce, but no field of later forks. */
const genesis: RawBlock = {
  hash: "0xd4e56740f876aef8c010b86a40d5f56745a118d0906a34e69aec8c0db1cb8fa3",
  parentHash: `0x${"00".repeat(32)}`,
  sha3Uncles: "0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347",
  miner: `0x${"00".repeat(20)}`,
  stateRoot: "0xd7f8974fb5ac78d9ac099b9ad5018bedc2ce0a72dad1827a1709da30580f0544",
  transactionsRoot: emptyTrie,
  receiptsRoot: emptyTrie,
  logsBloom: `0x${"00".repeat(256)}`,
  difficulty: "0x400000000",
  number: "0x0",
  gasLimit: "0x1388",
  gasUsed: "0x0",
  timestamp: "0x0",
  extraData: "0x11bbe8db4e347b4e8c937c1c8370e4b5ed33adb3db69cbdb7a38e1e50b1b82fa",
  mixHash: `0x${"00".repeat(32)}`,
  nonce: "0x0000000000000042",
};

async function call(chain: LocalChain, method: string, params: readonly unknown[]): Promise<unknown> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  const answer = await fetch(chain.rpcUrl, { method: "POST", headers: { "content-type": "application/json" }, body });
  return ((await answer.json()) as { readonly result: unknown }).result;
}

function unknownHeader(block: RawBlock): ConclaveError {
  try {
    encodeHeader(block);
  } catch (error) {
    assert.ok(error instanceof ConclaveError);
    assert.equal(error.code, "CHAIN_HEADER_UNKNOWN");
    return error;
  }
  return assert.fail("it was encoded");
}

describe("block headers", () => {
  it("hash to the known hash of Ethereum's first block", () => {
    const members = fromRlp(encodeHeader(genesis));
    assert.equal(members.length, 15);
    assert.deepEqual([members[7], members[8], members[13]], ["0x0400000000", "0x", genesis["mixHash"]]);
  });

  it("are not sent if they do not yield the block's hash; the error names the block and both hashes", () => {
    for (const change of [
      { timestamp: "0x1" },
      { extraData: undefined },
      { mixHash: 7 },
      { gasLimit: "5000" },
      { requestsHash: `0x${"01".repeat(32)}` },
      { hash: null },
    ]) {
      const block: RawBlock = { ...genesis, ...change };
      const { message, data } = unknownHeader(block);
      assert.ok(message.includes(`block 0x0`) && message.includes(String(data["actual"])), message);
      assert.ok(
        message.includes(String(block["hash"])) && (data["actual"] !== genesis["hash"]) === !("hash" in change),
      );
    }
  });

  it("are empty for a block that the node does not have", async () => {
    const connection = { call: async () => null } as unknown as Connection;
    assert.equal(await readHeader(connection, 5n), "0x");
  });

  for (const engine of ["anvil", "hardhat"] as const) {
    describe(`of ${engine}`, () => {
      let chain: LocalChain;
      before(async () => {
        chain = await startLocalChain({ engine });
      });
      after(() => chain.stop());

      it("are those that it hashes", async () => {
        const minted = engine === "anvil" ? "anvil_mine" : "hardhat_mine";
        for (let block = 0; block < 3; block += 1) await call(chain, minted, ["0x1"]);
        const seen = new Set<unknown>();
        for (const number of ["0x1", "0x2", "0x3"]) {
          const block = (await call(chain, "eth_getBlockByNumber", [number, false])) as RawBlock;
          const header = encodeHeader(block);
          const members = fromRlp(header) as readonly Hex[];
          assert.equal(members.length, 21);
          assert.equal(members[13], block["mixHash"]);
          assert.equal(keccak256(header), block["hash"]);
          seen.add(block["mixHash"]);
        }
        assert.equal(seen.size, 3);
      });
    });
  }
});
