// When requests were asked, decided and paid, as an outsider sees it on the chain.
import { setTimeout as sleep } from "node:timers/promises";
import { decisionOracleAbi } from "@conclave/contracts/abi";
import { createPublicClient, http } from "viem";
import type { RequestId } from "../../agents/core/types.ts";
import type { ChaosWorld } from "../world.ts";

/** Moments on the clock of `performance.now`; null until the event is seen. */
export interface Seen {
  readonly askedMs: number;
  readonly committedMs: number | null;
  /** The fee is given out, or went back. */
  readonly paidMs: number | null;
}

export interface Watch {
  seen(requestId: RequestId): Seen | null;
  close(): Promise<void>;
}

/** Every moment is late by up to this, and the differences of moments hardly. */
export const POLL_MS = 100;
/** Blocks that are read again at each look: while anvil mines one, it may not have its events yet. */
const AGAIN_BLOCKS = 4n;

/** Looks at the chain until it is closed. A look that fails is made again. */
export function watchRequests({ chain, deployment }: Pick<ChaosWorld, "chain" | "deployment">): Watch {
  const client = createPublicClient({ transport: http(chain.rpcUrl), cacheTime: 0 });
  const moments = new Map<RequestId, Seen>();
  const closing = new AbortController();
  let next = BigInt(deployment.deploymentBlock);

  async function look(): Promise<void> {
    const toBlock = await client.getBlockNumber();
    const fromBlock = next > AGAIN_BLOCKS ? next - AGAIN_BLOCKS : 0n;
    const events = await client.getContractEvents({
      address: deployment.oracle,
      abi: decisionOracleAbi,
      fromBlock,
      toBlock,
      strict: true,
    });
    const nowMs = performance.now();
    for (const event of events) {
      if (!("requestId" in event.args)) continue;
      const requestId = event.args.requestId as RequestId;
      const seen = moments.get(requestId) ?? { askedMs: nowMs, committedMs: null, paidMs: null };
      const isPaid = event.eventName === "DecisionSettled" || event.eventName === "FeeRefunded";
      moments.set(requestId, {
        ...seen,
        committedMs: seen.committedMs ?? (event.eventName === "DecisionCommitted" ? nowMs : null),
        paidMs: seen.paidMs ?? (isPaid ? nowMs : null),
      });
    }
    next = toBlock + 1n;
  }

  async function follow(): Promise<void> {
    while (!closing.signal.aborted) {
      await look().catch(() => undefined);
      await sleep(POLL_MS, undefined, { signal: closing.signal }).catch(() => undefined);
    }
  }

  const following = follow();
  return {
    seen: (requestId) => moments.get(requestId) ?? null,
    async close() {
      closing.abort();
      await following;
    },
  };
}
