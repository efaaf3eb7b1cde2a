// Makes the blocks of an anvil chain, by time alone. anvil itself would begin a block while it is taking others back, and is then left
// with a chain that contradicts itself: https://github.com/foundry-rs/foundry/pull/16711
import { setTimeout as sleep } from "node:timers/promises";
import PQueue from "p-queue";
import { createTestClient, http, type HttpTransport } from "viem";

/** The 256 blocks in which a seed is known last two minutes. */
export const BLOCK_MS = 500;
/** A block of a long chain takes some seconds on a busy machine. */
const CALL_MS = 300_000;

export interface Miner {
  /** Runs an action while no block is being made; what it makes itself apart. An action must not call this. */
  alone<Result>(action: () => Promise<Result>): Promise<Result>;
  /** Idempotent. No action that was begun before runs any more when this resolves. */
  stop(): Promise<void>;
}

/** Waits for the chain: a call that is given up and made again would make a block beside its first one. */
export function patient(rpcUrl: string): HttpTransport {
  return http(rpcUrl, { retryCount: 0, timeout: CALL_MS });
}

/** Takes mining over from anvil: transactions wait for the next block. No transaction may be on its way yet. */
export async function startMiner(rpcUrl: string): Promise<Miner> {
  const client = createTestClient({ mode: "anvil", transport: patient(rpcUrl), cacheTime: 0 });
  await client.setAutomine(false);
  const queue = new PQueue({ concurrency: 1 });
  const stopped = new AbortController();
  const mining = (async () => {
    while (!stopped.signal.aborted) {
      const waited = sleep(BLOCK_MS, undefined, { signal: stopped.signal }).catch(() => undefined);
      // Whoever uses the chain sees if it is gone.
      await queue.add(() => client.mine({ blocks: 1 })).catch(() => undefined);
      await waited;
    }
  })();
  return {
    alone: (action) => queue.add(action),
    async stop() {
      stopped.abort();
      await mining;
      await queue.onIdle();
    },
  };
}
