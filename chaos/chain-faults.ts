// What breaks on the chain itself, for everybody: reorganizations, a clock that jumps, dear gas.
import { createTestClient, parseGwei, publicActions, type Hex } from "viem";
import type { Address } from "../agents/core/types.ts";
import type { KEPT } from "./manifest.ts";
import { BLOCK_MS, patient, type Miner } from "./miner.ts";

export type Kept = (typeof KEPT)[number];

export interface ChainFaults {
  /**
   * Replaces the newest blocks by others. The asker's transactions come back into later blocks, at the lowest base fee of those replaced;
   * those of others come back before them, or are lost for good.
   */
  reorganize(blocks: number, kept: Kept): Promise<void>;
  /** Lets so many seconds pass on the chain at once. */
  jump(seconds: number): Promise<void>;
  /** Keeps the base fee of blocks by time at so many gwei; null lets it fall again, an eighth each empty block. */
  priceGas(gwei: number | null): Promise<void>;
  close(): void;
}

interface Returning {
  readonly transactions: readonly (readonly Hex[])[];
  readonly baseFeePerGas: bigint;
}

const PRICE_EVERY_MS = BLOCK_MS / 2;

/** Faults of an anvil chain, between the blocks of its miner. */
export function createChainFaults(rpcUrl: string, asker: Address, miner: Pick<Miner, "alone">): ChainFaults {
  const client = createTestClient({ mode: "anvil", transport: patient(rpcUrl), cacheTime: 0 }).extend(publicActions);
  let timer: NodeJS.Timeout | undefined;
  let pricing: Promise<void> = Promise.resolve();
  const price = (gwei: number): Promise<void> =>
    client.setNextBlockBaseFeePerGas({ baseFeePerGas: parseGwei(String(gwei)) });

  /** What comes back of the newest blocks: signed transactions, oldest first, those of others and the asker's; and the lowest base fee. */
  async function returning(blocks: number, kept: Kept): Promise<Returning> {
    const head = Number(await client.getBlockNumber());
    const numbers = Array.from({ length: blocks }, (_, index) => BigInt(head - blocks + 1 + index));
    const found = await Promise.all(
      numbers.map((blockNumber) => client.getBlock({ blockNumber, includeTransactions: true })),
    );
    const all = found.flatMap(({ transactions }) => transactions);
    const asks = all.filter(({ from }) => from === asker);
    const others = kept === "all" ? all.filter(({ from }) => from !== asker) : [];
    const signed = ({ hash }: { readonly hash: Hex }): Promise<Hex> =>
      client.request<{ Method: "eth_getRawTransactionByHash"; Parameters: [Hex]; ReturnType: Hex }>({
        method: "eth_getRawTransactionByHash",
        params: [hash],
      });
    return {
      transactions: await Promise.all([others, asks].map((some) => Promise.all(some.map(signed)))),
      baseFeePerGas: found.map((block) => block.baseFeePerGas ?? 0n).reduce((a, b) => (a < b ? a : b)),
    };
  }

  async function reorganize(blocks: number, kept: Kept): Promise<void> {
    const { transactions, baseFeePerGas } = await returning(blocks, kept);
    await client.request<{ Method: "anvil_reorg"; Parameters: [number, []]; ReturnType: null }>({
      method: "anvil_reorg",
      params: [blocks, []],
    });
    for (const some of transactions) {
      await client.setNextBlockBaseFeePerGas({ baseFeePerGas });
      for (const serializedTransaction of some)
        // One whose nonce another one has taken meanwhile is lost.
        await client.sendRawTransaction({ serializedTransaction }).catch(() => undefined);
      await client.mine({ blocks: 1 });
    }
  }

  return {
    reorganize: (blocks, kept) => miner.alone(() => reorganize(blocks, kept)),
    jump: (seconds) =>
      miner.alone(async () => {
        await client.increaseTime({ seconds });
        await client.mine({ blocks: 1 });
      }),
    async priceGas(gwei) {
      clearInterval(timer);
      timer = undefined;
      await pricing;
      if (gwei === null) return;
      await price(gwei);
      timer = setInterval(() => void (pricing = price(gwei).catch(() => undefined)), PRICE_EVERY_MS);
    },
    close: () => clearInterval(timer),
  };
}
