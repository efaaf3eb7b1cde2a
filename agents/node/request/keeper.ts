import { messageOf } from "../../core/errors.ts";
import { compareHex, sha256, utf8 } from "../../core/encoding/bytes.ts";
import type { Address, AgentId, RequestId } from "../../core/types.ts";
import type { AgentRecord, ChainReader, ChainWriter, Receipt } from "../../ports/chain.ts";
import { type Clock, sleep } from "../../ports/clock.ts";
import {
  awaitedOf,
  dueOf,
  isFinal,
  isPaid,
  isWaiting,
  lastRound,
  type Progress,
  type Due,
} from "../../core/request/progress.ts";
import type { Log } from "../../ports/log.ts";
import type { Network } from "../../ports/network.ts";
import type { Signer } from "../../ports/signer.ts";
import type { AgentTiming } from "../config.ts";
import { persistently } from "../persist.ts";
import { isPaidRefusal, MOST_PAID_REFUSALS } from "./paid.ts";
import { createSettler, type Unsettled } from "./settler.ts";

export interface KeeperPorts {
  readonly chain: ChainReader;
  readonly writer: ChainWriter;
  readonly clock: Clock;
  readonly signer: Signer;
  readonly network: Pick<Network, "connected">;
  readonly log: Log;
}

/**
 * Does what the contract leaves to anybody, in a staggered order (SE9): it replaces silent committees, makes decisions
 * final, ends requests that nobody answers in time, and settles those with several rounds or an appeal period, many in
 * one transaction. The contract pays the caller of each, and refuses none that is due.
 */
export interface Keeper {
  /**
   * SE20: wakes the own agent, which sleeps, once it reaches a peer: who reaches nobody would only miss more seats. The agent's account
   * pays the gas. A failure is logged, since an agent that sleeps still does the rest.
   */
  wake(agentId: AgentId): Promise<void>;
  agents(active: readonly AgentRecord[]): void;
  /** Keeps a request from its first event until everything is paid. `at` is the block of the event. */
  see(progress: Progress, at: bigint): void;
  /** Tells that the chain has another block, whose time may end a pause (SE25). */
  block(): void;
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
  /** SE28: refusals that this agent has paid for. */
  paid: number;
}

/** What is done for one request alone. */
type Step = Exclude<Due, "settle">;

/** Each tick asks the chain once, for all open requests together. */
const TICK_MS = 500;
/**
 * A keeper's turn, in turns of a relayer: by default 15 seconds, more than a block takes. So the block has what the agent
 * before has sent, and nobody pays for the same again. Askers wait for relayers, and hardly for keepers.
 */
const TURN_STAGGERS = 3;

export function createKeeper(
  ports: KeeperPorts,
  timing: Pick<AgentTiming, "relayStaggerMs" | "settleBatchMs">,
  lifetime: AbortSignal,
): Keeper {
  const kept = new Map<RequestId, KeptRequest>();
  const turnMs = TURN_STAGGERS * timing.relayStaggerMs;
  const { place, rankOf } = createTurns(ports.signer.address);
  let ticking = false;
  const { next: nextRing, ring } = createBell(lifetime);

  const tick = async (): Promise<void> => {
    const head = await ports.chain.head(lifetime);
    const now = ports.clock.now();
    for (const [id, entry] of kept) if (isSpent(entry) && isFinal(entry.progress)) kept.delete(id);
    const entries = [...kept.values()].filter((entry) => !isSpent(entry));
    for (const entry of entries) {
      const { progress } = entry;
      const action = dueOf(progress, head);
      const { attempt } = progress;
      // In another attempt it is another action, with turns of its own.
      const isSame = entry.due?.action === action && entry.due?.attempt === attempt;
      if (!isSame) entry.due = action === null ? null : { action, attempt, since: now };
      if (action === null || entry.due === null || entry.busy || action === "settle") continue;
      if (now - entry.due.since >= rankOf(String(progress.request.id)) * turnMs) void act(entry, action);
    }
    void settle(entries.flatMap(unsettledOf), now);
  };

  const act = async (entry: KeptRequest, action: Step): Promise<void> => {
    const { progress } = entry;
    entry.busy = true;
    try {
      await perform(ports, progress, action, lifetime);
    } catch (error) {
      refused(error, entry);
    } finally {
      postpone(entry, action);
      entry.busy = false;
    }
  };

  /** Waits for the event to arrive; after a failure everybody has another turn. */
  const postpone = (entry: KeptRequest, action: Due): void => {
    entry.due = { action, attempt: entry.progress.attempt, since: ports.clock.now() + turnMs };
  };

  const { warn, refused } = createComplaints(ports.log, lifetime);
  const onFailed = (requestId: RequestId, error: unknown): void => {
    const entry = kept.get(requestId);
    if (entry === undefined) return warn(error, requestId);
    refused(error, entry);
    postpone(entry, "settle");
  };
  const onDone = (requestId: RequestId): void => void kept.delete(requestId);
  const settle = createSettler({ ...ports, rankOf, onDone, onFailed }, { ...timing, turnMs }, lifetime);

  const run = async (): Promise<void> => {
    if (ticking) return;
    ticking = true;
    while (kept.size > 0 && !lifetime.aborted) {
      const next = nextRing();
      await persistently(ports, lifetime, tick).catch((error: unknown) => warn(error, null));
      // What waits may do so for a month: it costs a call for each block, and none for each tick.
      if ([...kept.values()].every(isResting)) await next;
      await sleep(ports.clock, TICK_MS, lifetime).catch(() => undefined);
    }
    ticking = false;
  };

  return {
    wake: createWaker(ports, lifetime),
    agents: place,
    block: ring,
    see(progress, at) {
      const { id } = progress.request;
      const entry = kept.get(id);
      if (isPaid(progress)) kept.delete(id);
      else if (entry === undefined) kept.set(id, { progress, at, due: null, busy: false, paid: 0 });
      else Object.assign(entry, { progress, at });
      ring();
      void run();
    },
    unsettled(since) {
      return [...kept].filter(([, { progress, at }]) => isFinal(progress) && at >= since).map(([id]) => id);
    },
  };
}

/** Says what could not be done, and counts what it has cost. */
function createComplaints(log: Log, lifetime: AbortSignal) {
  const warn = (error: unknown, requestId: RequestId | null): void => {
    const facts = { requestId: requestId?.toString(), error: messageOf(error) };
    if (!lifetime.aborted) log.warn(facts, "could not do what is due; trying again");
  };
  const refused = (error: unknown, entry: KeptRequest): void => {
    const { id } = entry.progress.request;
    warn(error, id);
    if (!isPaidRefusal(error)) return;
    entry.paid++;
    if (entry.paid !== MOST_PAID_REFUSALS) return;
    log.error(
      { requestId: id.toString() },
      "paid for three refusals: leaves the request to others; does the node lie?",
    );
  };
  return { warn, refused };
}

/** Rings when there may be something to do: a request has moved on, the chain has another block, or the keeper ends. */
function createBell(lifetime: AbortSignal): { readonly next: () => Promise<void>; readonly ring: () => void } {
  let rung = Promise.withResolvers<void>();
  lifetime.addEventListener("abort", () => rung.resolve(), { once: true });
  const ring = (): void => {
    rung.resolve();
    rung = Promise.withResolvers<void>();
  };
  return { next: () => rung.promise, ring };
}

async function perform(ports: KeeperPorts, progress: Progress, due: Step, signal: AbortSignal): Promise<void> {
  const receipt = await submit(ports.writer, progress, due, signal);
  if (receipt === "already") return;
  const { transactionHash: transaction } = receipt;
  ports.log.info({ requestId: progress.request.id.toString(), attempt: progress.attempt, transaction }, messages[due]);
}

/** Wakes the own agent, one try at a time. */
function createWaker(ports: KeeperPorts, lifetime: AbortSignal): Keeper["wake"] {
  const { writer, network, clock, log } = ports;
  let waking = false;
  return async (agentId) => {
    if (waking) return;
    waking = true;
    try {
      while (network.connected().length === 0) await sleep(clock, TICK_MS, lifetime);
      await persistently(ports, lifetime, async () => void (await writer.wake(agentId, lifetime)));
      log.info({ agentId }, "woke the agent, which had missed three seats in a row: the next epoch draws it again");
    } catch (error) {
      const facts = { error: messageOf(error) };
      if (!lifetime.aborted) log.error(facts, "could not wake the agent: it will not be drawn; start it again");
    } finally {
      waking = false;
    }
  };
}

/** SE28: true if the request is left to others. No event tells that they have settled it, so a final one is forgotten. */
function isSpent({ paid }: KeptRequest): boolean {
  return paid >= MOST_PAID_REFUSALS;
}

/** True if the request waits (SE25) or is left to others, and nothing is due before the chain has another block. */
function isResting(entry: KeptRequest): boolean {
  const awaited = awaitedOf(entry.progress);
  return isSpent(entry) || (entry.due === null && awaited !== null && isWaiting(awaited));
}

/** Returns the request if its settlement is due. */
function unsettledOf({ progress, at, due }: KeptRequest): readonly Unsettled[] {
  return due?.action === "settle" ? [{ progress, at, since: due.since }] : [];
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

interface Turns {
  readonly place: (active: readonly AgentRecord[]) => void;
  /** Returns this agent's place, from 0, in the order that the key names. An agent that is not active comes last. */
  readonly rankOf: (key: string) => number;
}

/**
 * Orders the active agents on a circle, by a hash of their ids. The order that a key names begins at a hash of the key and
 * goes around the circle. So a turn takes one hash, however many agents there are.
 */
function createTurns(signer: Address): Turns {
  let count = 0;
  let own = -1;
  return {
    place(active) {
      const placed = active.map((agent) => ({ agent, hash: sha256(utf8(String(agent.agentId))) }));
      const circle = placed.toSorted((one, other) => compareHex(one.hash, other.hash));
      count = active.length;
      own = circle.findIndex(({ agent }) => agent.signer === signer);
    },
    rankOf(key) {
      if (own === -1) return count;
      const first = Number(BigInt(sha256(utf8(key))) % BigInt(count));
      return (own - first + count) % count;
    },
  };
}
