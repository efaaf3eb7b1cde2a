import { ConclaveError, messageOf } from "../../core/errors.ts";
import { compareHex, concat, sha256, utf8 } from "../../core/encoding/bytes.ts";
import type { Digest, RequestId } from "../../core/types.ts";
import type { AgentRecord, BatchOutcome, ChainReader, ChainWriter, FinalRequest, Receipt } from "../../ports/chain.ts";
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
import type { AgentTiming } from "../config.ts";

export interface KeeperPorts {
  readonly chain: ChainReader;
  readonly writer: ChainWriter;
  readonly clock: Clock;
  readonly signer: Signer;
  readonly log: Log;
}

/**
 * Does what the contract leaves to anybody, in a staggered order (SE9): it replaces silent committees, makes decisions
 * final, ends requests that nobody answers in time, and settles those with several rounds or an appeal period, many in
 * one transaction. The contract pays the caller of each, and refuses none that is due.
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
  /** The action that is due, in this attempt, and since when (Unix milliseconds). */
  due: { readonly action: Due; readonly attempt: number; readonly since: number } | null;
  busy: boolean;
}

/** What is done for one request alone. */
type Step = Exclude<Due, "settle">;

/** Each tick asks the chain once, for all open requests together. */
const TICK_MS = 500;
/** Most requests that are settled in one go. */
const SETTLED_AT_ONCE = 20;
/** Final requests whose last events lie in the same so many blocks are settled by the agents in the same order, so that one of them can settle all together. */
const SETTLED_BLOCKS = 50n;

export function createKeeper(
  ports: KeeperPorts,
  { relayStaggerMs: staggerMs, settleBatchMs }: Pick<AgentTiming, "relayStaggerMs" | "settleBatchMs">,
  lifetime: AbortSignal,
): Keeper {
  const kept = new Map<RequestId, KeptRequest>();
  let active: readonly AgentRecord[] = [];
  let ticking = false;
  /** True while requests are being settled: an agent that reads the chain from its beginning finds all old requests settled, and asks for a few at a time. */
  let settling = false;

  const tick = async (): Promise<void> => {
    const head = await ports.chain.head(lifetime);
    const now = ports.clock.now();
    for (const entry of kept.values()) {
      const { progress } = entry;
      const action = dueOf(progress, head);
      const { attempt } = progress;
      // In another attempt it is another action, with turns of its own.
      const isSame = entry.due?.action === action && entry.due?.attempt === attempt;
      if (!isSame) entry.due = action === null ? null : { action, attempt, since: now };
      if (action === null || entry.due === null || entry.busy || action === "settle") continue;
      if (now - entry.due.since >= rankOf(String(progress.request.id)) * staggerMs) void act(entry, action);
    }
    if (!settling) void settleDue(now);
  };

  const act = async (entry: KeptRequest, action: Step): Promise<void> => {
    const { progress } = entry;
    entry.busy = true;
    try {
      await perform(ports, progress, action, lifetime);
    } catch (error) {
      warn(error, progress.request.id);
    } finally {
      postpone(entry, action);
      entry.busy = false;
    }
  };

  /** Settles what is due in this agent's turn, together with what became final at about the same time. */
  const settleDue = async (now: number): Promise<void> => {
    const due = [...kept.values()].filter((one) => one.due?.action === "settle" && one.due.since <= now);
    const ranks = new Map<bigint, number>();
    const hasTurn = (entry: KeptRequest): boolean => {
      const waitedMs = now - (entry.due?.since ?? now) - settleBatchMs;
      if (waitedMs < 0) return false;
      const period = periodOf(entry);
      const rank = ranks.get(period) ?? rankOf(`settle ${period}`);
      ranks.set(period, rank);
      return waitedMs >= rank * staggerMs;
    };
    const periods = new Set(due.filter(hasTurn).map(periodOf));
    const batch = due.filter((entry) => periods.has(periodOf(entry))).slice(0, SETTLED_AT_ONCE);
    if (batch.length === 0) return;
    settling = true;
    try {
      const outcomes = await ports.writer.settleAll(batch.map(finalRequestOf), lifetime);
      for (const [index, entry] of batch.entries()) settled(entry, outcomes[index] as BatchOutcome);
    } catch (error) {
      warn(error, null);
      for (const entry of batch) postpone(entry, "settle");
    } finally {
      settling = false;
    }
  };

  const settled = (entry: KeptRequest, outcome: BatchOutcome): void => {
    const { id } = entry.progress.request;
    if (outcome instanceof ConclaveError) {
      warn(outcome, id);
      postpone(entry, "settle");
      return;
    }
    kept.delete(id);
    if (outcome !== "already")
      ports.log.info({ requestId: String(id), transaction: outcome.transactionHash }, "settled the request");
  };

  /** Waits for the event to arrive; after a failure everybody has another turn. */
  const postpone = (entry: KeptRequest, action: Due): void => {
    entry.due = { action, attempt: entry.progress.attempt, since: ports.clock.now() + staggerMs };
  };

  /** Returns this agent's turn for what the key names: agents are ordered by sha256(key, agentId). */
  const rankOf = (key: string): number => {
    const hashOf = ({ agentId }: AgentRecord): Digest => sha256(concat(utf8(`${key}.`), utf8(String(agentId))));
    const self = active.find(({ signer }) => signer === ports.signer.address);
    if (self === undefined) return active.length;
    const own = hashOf(self);
    return active.filter((other) => compareHex(hashOf(other), own) < 0).length;
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

async function perform(ports: KeeperPorts, progress: Progress, due: Step, signal: AbortSignal): Promise<void> {
  const receipt = await submit(ports.writer, progress, due, signal);
  if (receipt === "already") return;
  const { transactionHash: transaction } = receipt;
  ports.log.info({ requestId: progress.request.id.toString(), attempt: progress.attempt, transaction }, messages[due]);
}

/** Returns the number of the fifty blocks in which the request became final. */
function periodOf({ at }: KeptRequest): bigint {
  return at / SETTLED_BLOCKS;
}

function finalRequestOf({ progress }: KeptRequest): FinalRequest {
  const { request, stage } = progress;
  const rounds = roundsOf(progress);
  if (rounds === null) throw new RangeError(`finalRequestOf: request ${request.id} is ${stage.kind}`);
  return { request, rounds };
}

const messages: Readonly<Record<Step, string>> = {
  replace: "replaced a silent committee",
  refund: "refunded an expired request",
  fallBack: "ended a request whose last attempt nobody answered",
  finalize: "made a decision final",
};

async function submit(
  writer: ChainWriter,
  progress: Progress,
  due: Step,
  signal: AbortSignal,
): Promise<Receipt | "already"> {
  const { request, stage } = progress;
  const [awaited, last] = [awaitedOf(progress), lastRound(progress)];
  if (due === "replace" && awaited !== null) return writer.replace(request, awaited, signal);
  if (due === "refund" && awaited !== null) return writer.refund(request, awaited, signal);
  if (due === "fallBack" && awaited !== null) return writer.fallBack(request, awaited, signal);
  if (due === "finalize" && last !== null) return writer.finalize(request, last, signal);
  throw new RangeError(`submit: ${due} is not due while the request is ${stage.kind}`);
}
