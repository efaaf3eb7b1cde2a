// What `npm run chaos` does to the chain.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  createPublicClient,
  createTestClient,
  createWalletClient,
  http,
  parseGwei,
  publicActions,
  zeroAddress,
  type TransactionReceipt,
} from "viem";
import { privateKeyToAccount, type PrivateKeyAccount } from "viem/accounts";
import { receiptOf } from "../../agents/adapters/chain/receipt.ts";
import type { Address, Hex } from "../../agents/core/types.ts";
import { createChainFaults } from "../../chaos/chain-faults.ts";
import { startMiner } from "../../chaos/miner.ts";
import { startLocalChain } from "../../devnet/local-chain.ts";
import { assertAtLeast, assertBelow } from "../support/assertions.ts";

describe("a chain in chaos", () => {
  it("blocks are replaced, and what was in them comes back or is lost; its clock jumps; gas is dear, and cheap again", async () => {
    const chain = await startLocalChain({ engine: "anvil" });
    const [asker, other] = chain.accounts.map(({ privateKey }) => privateKeyToAccount(privateKey));
    assert.ok(asker !== undefined && other !== undefined);
    const client = createPublicClient({ transport: http(chain.rpcUrl), cacheTime: 0 });
    // Each transaction has a block of its own.
    const faults = createChainFaults(chain.rpcUrl, asker.address.toLowerCase() as Address, {
      alone: (action) => action(),
    });
    /** Resolves when it is mined. */
    const send = async (account: PrivateKeyAccount): Promise<TransactionReceipt> => {
      const wallet = createWalletClient({ account, transport: http(chain.rpcUrl) });
      return receiptOf(client, await wallet.sendTransaction({ chain: null, to: other.address, value: 1n }));
    };
    const isMined = (hash: Hex): Promise<boolean> =>
      client.getTransactionReceipt({ hash }).then(
        () => true,
        () => false,
      );
    const baseFee = async (): Promise<bigint> => {
      const { blockNumber } = await send(asker);
      return (await client.getBlock({ blockNumber })).baseFeePerGas ?? 0n;
    };
    try {
      for (const [kept, survives] of [
        ["all", true],
        ["asks", false],
      ] as const) {
        const own = await send(asker);
        const foreign = await send(other);
        await faults.reorganize(2, kept);
        const { hash } = await client.getBlock({ blockNumber: foreign.blockNumber });
        assert.notEqual(hash, foreign.blockHash);
        for (const { transactionHash } of survives ? [own, foreign] : [own]) await receiptOf(client, transactionHash);
        assert.equal(await isMined(foreign.transactionHash), survives, kept);
      }
      const { timestamp } = await client.getBlock();
      await faults.jump(4_000);
      assertAtLeast(Number((await client.getBlock()).timestamp - timestamp), 4_000);
      await faults.priceGas(50);
      assert.equal(await baseFee(), parseGwei("50"));
      await faults.priceGas(null);
      // The next block was still to be as dear.
      await baseFee();
      assertBelow(Number(await baseFee()), Number(parseGwei("50")));
    } finally {
      faults.close();
      await chain.stop();
    }
  });

  it("no block is made while blocks are replaced, which would leave anvil with two chains", async () => {
    const chain = await startLocalChain({ engine: "anvil" });
    const client = createTestClient({ mode: "anvil", transport: http(chain.rpcUrl), cacheTime: 0 }).extend(
      publicActions,
    );
    const miner = await startMiner(chain.rpcUrl);
    const faults = createChainFaults(chain.rpcUrl, zeroAddress as Address, miner);
    const done = new AbortController();
    const mine = async (): Promise<void> => {
      while (!done.signal.aborted) await miner.alone(() => client.mine({ blocks: 1 }));
    };
    try {
      await miner.alone(() => chain.nextEpoch(10));
      const mining = Promise.all([mine(), mine()]);
      for (let reorganizations = 0; reorganizations < 50; reorganizations++) await faults.reorganize(5, "all");
      done.abort();
      await mining;
      await miner.stop();
      const blocks = await Promise.all(
        Array.from({ length: Number(await client.getBlockNumber()) + 1 }, (_, index) =>
          client.getBlock({ blockNumber: BigInt(index) }),
        ),
      );
      for (const [index, { hash }] of blocks.slice(0, -1).entries())
        assert.equal(blocks[index + 1]?.parentHash, hash, `the parent of block ${index + 1}`);
    } finally {
      done.abort();
      faults.close();
      await miner.stop();
      await chain.stop();
    }
  });
});
