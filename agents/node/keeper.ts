import { compareHex, concat, sha256, utf8 } from "../core/digest.ts";
import type { AgentId, Address, Digest, Request, RequestId } from "../core/types.ts";
import type { AgentRecord, ChainReader, ChainWriter, RefundWitness } from "../ports/chain.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { Signer } from "../ports/signer.ts";
import { sleep } from "../relayer/relayer.ts";

export interface KeeperPorts {
  readonly chain: ChainReader;
  readonly writer: ChainWriter;
  readonly clock: Clock;
  readonly signer: Signer;
  readonly log: Log;
}

/** Does what the contract leaves to anybody: draws committees and refunds expired requests, in a staggered order. */
export interface Keeper {
  agents(active: readonly AgentRecord[]): void;
  requested(request: Request, seedBlock: bigint): void;
  reseeded(requestId: RequestId, seedBlock: bigint): void;
  drawn(requestId: RequestId, attempt: number, committeeHash: Digest): void;
  settled(requestId: RequestId): void;
}

interface Kept {
  readonly request: Request;
  witness: RefundWitness;
  /** What is due, and since when (unix ms). */
  due: { readonly action: string; readonly since: number } | null;
  busy: boolean;
}

/** One look at the chain per tick, whatever the number of open requests. */
const TICK_MS = 500;

export function createKeeper(ports: KeeperPorts, staggerMs: number, lifetime: AbortSignal): Keeper {
  const kept = new Map<RequestId, Kept>();
  let active: readonly AgentRecord[] = [];
  let ticking = false;

  const tick = async (): Promise<void> => {
    const head = await ports.chain.head(lifetime);
    const now = ports.clock.now();
    for (const entry of kept.values()) {
      const action = dueAction(entry, head);
      entry.due = action === null ? null : entry.due?.action === action ? entry.due : { action, since: now };
      if (entry.due === null || entry.busy) continue;
      if (now - entry.due.since >= rankOf(active, ports.signer.address, entry.request.id) * staggerMs)
        void act(entry, entry.due.action);
    }
  };

  const act = async (entry: Kept, action: string): Promise<void> => {
    entry.busy = true;
    try {
      await perform(ports, entry, action, lifetime);
    } catch (error) {
      warn(error, entry.request.id);
    } finally {
      // Until the event arrives, or for another turn of everybody after a failure.
      entry.due = { action, since: ports.clock.now() + staggerMs };
      entry.busy = false;
    }
  };

  const run = async (): Promise<void> => {
    if (ticking) return;
    ticking = true;
    while (kept.size > 0 && !lifetime.aborted) {
      await tick().catch((error: unknown) => warn(error, null));
      await sleep(ports.clock, TICK_MS, lifetime).catch(() => undefined);
    }
    ticking = false;
  };

  const warn = (error: unknown, requestId: RequestId | null): void => {
    if (lifetime.aborted) return;
    ports.log.warn(
      { requestId: requestId?.toString(), error: error instanceof Error ? error.message : String(error) },
      "keeping failed; trying again",
    );
  };

  return {
    agents(records) {
      active = records;
    },
    requested(request, seedBlock) {
      kept.set(request.id, { request, witness: { kind: "requested", seedBlock }, due: null, busy: false });
      void run();
    },
    reseeded(requestId, seedBlock) {
      const entry = kept.get(requestId);
      if (entry !== undefined) entry.witness = { kind: "requested", seedBlock };
    },
    drawn(requestId, attempt, committeeHash) {
      const entry = kept.get(requestId);
      if (entry !== undefined) entry.witness = { kind: "drawn", attempt, committeeHash };
    },
    settled(requestId) {
      kept.delete(requestId);
    },
  };
}

/** What the request needs now, or null. */
function dueAction(
  entry: Kept,
  head: { readonly number: bigint; readonly timestamp: number },
): "refund" | `draw ${bigint}` | null {
  if (head.timestamp > entry.request.terms.deadline) return "refund";
  if (entry.witness.kind === "requested" && head.number > entry.witness.seedBlock)
    return `draw ${entry.witness.seedBlock}`;
  return null;
}

async function perform(ports: KeeperPorts, entry: Kept, action: string, signal: AbortSignal): Promise<void> {
  const { request, witness } = entry;
  const requestId = request.id.toString();
  if (action === "refund") {
    const receipt = await ports.writer.refund(request, witness, signal);
    if (receipt !== "already")
      ports.log.info({ requestId, transaction: receipt.transactionHash }, "refunded an expired request");
  } else if (witness.kind === "requested") {
    const receipt = await ports.writer.draw(request, witness.seedBlock, signal);
    if (receipt !== "already")
      ports.log.info({ requestId, transaction: receipt.transactionHash }, "drew the committee");
  }
}

/** Position of this agent in the order of keeping one request: by sha256(requestId, agentId). */
function rankOf(active: readonly AgentRecord[], self: Address, requestId: RequestId): number {
  const key = (agentId: AgentId): Digest => sha256(concat(utf8(`${requestId}.`), utf8(String(agentId))));
  const order = active.toSorted((a, b) => compareHex(key(a.agentId), key(b.agentId)));
  const rank = order.findIndex((agent) => agent.signer === self);
  return rank < 0 ? order.length : rank;
}
