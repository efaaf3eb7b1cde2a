import { messageOf } from "../../core/errors.ts";
import { compareHex, concat, sha256, utf8 } from "../../core/encoding/bytes.ts";
import type { AgentId, Address, Digest, RequestId } from "../../core/types.ts";
import type { AgentRecord, ChainReader, ChainWriter, Receipt } from "../../ports/chain.ts";
import { type Clock, sleep } from "../../ports/clock.ts";
import {
  awaitedOf,
  dueOf,
  isFinal,
  isPaid,
  lastRound,
  roundsOf,
  type Progress,
  type Due,
} from "../../core/request/progress.ts";
import type { Log } from "../../ports/log.ts";
import type { Signer } from "../../ports/signer.ts";

export interface KeeperPorts {
  readonly chain: ChainReader;
  readonly writer: ChainWriter;
  readonly clock: Clock;
  readonly signer: Signer;
  readonly log: Log;
}

/**
 * Does what the contract leaves to anybody, in a staggered order (SE9): it replaces silent committees, makes decisions
 * final, ends requests that nobody answers in time, and settles those with several rounds or an appeal period. The
 * contract pays the caller of each, and refuses none that is due.
 */
export interface Keeper {
  /**
   * Wakes the own agent if it sleeps: who starts it shows that it lives. The agent's account pays the gas. A failure
   * is logged, since an agent that sleeps still does the rest.
   */
  wake(): Promise<void>;
  agents(active: readonly AgentRecord[]): void;
  /** Keeps a request from its first event until everything is paid. `at` is the block of the event. */
  see(progress: Progress, at: bigint): void;
  /**
   * Returns the requests that became final in this block or later and that, as far as this agent knows, nobody has
   * settled.
   */
  unsettled(since: bigint): readonly RequestId[];
}

interface KeptRequest {
  progress: Progress;
  /** Block of the last event. */
  at: bigint;
  /** The action that is due, and since when (Unix milliseconds). */
  due: { readonly action: string; readonly since: number } | null;
  busy: boolean;
}

/** Each tick asks the chain once, for all open requests together. */
const TICK_MS = 500;

export function createKeeper(ports: KeeperPorts, staggerMs: number, lifetime: AbortSignal): Keeper {
  const kept = new Map<RequestId, KeptRequest>();
  let active: readonly AgentRecord[] = [];
  let ticking = false;
  /**
   * Settles one request at a time: nobody waits for it, and an agent that reads the chain from its beginning finds all old requests settled.
   */
  let settling = false;

  const tick = async (): Promise<void> => {
    const head = await ports.chain.head(lifetime);
    const now = ports.clock.now();
    for (const entry of kept.values()) {
      const { progress } = entry;
      const due = dueOf(progress, head);
      // In another attempt it is another action, with turns of its own.
      const action = due === null ? null : `${due} ${progress.attempt}`;
      entry.due = action === null ? null : entry.due?.action === action ? entry.due : { action, since: now };
      if (due === null || entry.due === null || entry.busy || (due === "settle" && settling)) continue;
      if (now - entry.due.since >= rankOf(active, ports.signer.address, progress.request.id) * staggerMs)
        void act(entry, due, entry.due.action);
    }
  };

  const act = async (entry: KeptRequest, due: Due, action: string): Promise<void> => {
    const { progress } = entry;
    entry.busy = true;
    if (due === "settle") settling = true;
    try {
      await perform(ports, progress, due, lifetime);
      if (due === "settle") kept.delete(progress.request.id);
    } catch (error) {
      warn(error, progress.request.id);
    } finally {
      // Waits for the event to arrive; after a failure everybody has another turn.
      entry.due = { action, since: ports.clock.now() + staggerMs };
      entry.busy = false;
      if (due === "settle") settling = false;
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
      { requestId: requestId?.toString(), error: messageOf(error) },
      "could not do what is due; trying again",
    );
  };

  return {
    async wake() {
      try {
        const own = await ports.chain.agentBySigner(ports.signer.address, lifetime);
        if (own?.asleep !== true) return;
        await ports.writer.wake(own.agentId, lifetime);
        ports.log.info({ agentId: own.agentId }, "woke the agent: it can be drawn again from the next epoch on");
      } catch (error) {
        if (!lifetime.aborted)
          ports.log.error(
            { error: messageOf(error) },
            "could not wake the agent: it will not be drawn; start it again",
          );
      }
    },
    agents(records) {
      active = records;
    },
    see(progress, at) {
      const { id } = progress.request;
      const entry = kept.get(id);
      if (isPaid(progress)) kept.delete(id);
      else if (entry === undefined) kept.set(id, { progress, at, due: null, busy: false });
      else Object.assign(entry, { progress, at });
      void run();
    },
    unsettled(since) {
      return [...kept].filter(([, { progress, at }]) => isFinal(progress) && at >= since).map(([id]) => id);
    },
  };
}

async function perform(ports: KeeperPorts, progress: Progress, due: Due, signal: AbortSignal): Promise<void> {
  const receipt = await submit(ports.writer, progress, due, signal);
  if (receipt === "already") return;
  const { transactionHash: transaction } = receipt;
  ports.log.info({ requestId: progress.request.id.toString(), attempt: progress.attempt, transaction }, messages[due]);
}

const messages: Readonly<Record<Due, string>> = {
  replace: "replaced a silent committee",
  refund: "refunded an expired request",
  fallBack: "ended a request whose last attempt nobody answered",
  finalize: "made a decision final",
  settle: "settled the request",
};

async function submit(
  writer: ChainWriter,
  progress: Progress,
  due: Due,
  signal: AbortSignal,
): Promise<Receipt | "already"> {
  const { request, stage } = progress;
  const [awaited, last, rounds] = [awaitedOf(progress), lastRound(progress), roundsOf(progress)];
  if (due === "replace" && awaited !== null) return writer.replace(request, awaited, signal);
  if (due === "refund" && awaited !== null) return writer.refund(request, awaited, signal);
  if (due === "fallBack" && awaited !== null) return writer.fallBack(request, awaited, signal);
  if (due === "settle" && rounds !== null) return writer.settle(request, rounds, signal);
  if (due === "finalize" && last !== null) return writer.finalize(request, last, signal);
  throw new RangeError(`submit: ${due} is not due while the request is ${stage.kind}`);
}

/** Returns this agent's turn to keep the request: agents are ordered by sha256(requestId, agentId). */
function rankOf(active: readonly AgentRecord[], self: Address, requestId: RequestId): number {
  const key = (agentId: AgentId): Digest => sha256(concat(utf8(`${requestId}.`), utf8(String(agentId))));
  const order = active.toSorted((a, b) => compareHex(key(a.agentId), key(b.agentId)));
  const rank = order.findIndex((agent) => agent.signer === self);
  return rank < 0 ? order.length : rank;
}
