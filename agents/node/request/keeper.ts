import { messageOf } from "../../core/errors.ts";
import { compareHex, concat, sha256, utf8 } from "../../core/encoding/bytes.ts";
import type { AgentId, Address, Digest, RequestId } from "../../core/types.ts";
import type { AgentRecord, ChainReader, ChainWriter, Receipt } from "../../ports/chain.ts";
import { type Clock, sleep } from "../../ports/clock.ts";
import {
  dueOf,
  isFinal,
  lastRound,
  roundsOf,
  witnessOf,
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
 * Does what the contract leaves to anybody, in a staggered order (SE9): draws committees, calls others for silent ones, makes
 * decisions final, ends what nobody answers in time, and settles: all pay waits for that, and so do all reputation changes.
 */
export interface Keeper {
  agents(active: readonly AgentRecord[]): void;
  /** A request is kept from its first event until it is refunded or settled. `at`: the block of the event that led here. */
  see(progress: Progress, at: bigint): void;
  /** The requests that became final in this block or later and that nobody has settled yet, as far as this agent knows. */
  unsettled(since: bigint): readonly RequestId[];
}

interface KeptRequest {
  progress: Progress;
  /** Block of its last event. */
  at: bigint;
  /** What is due, and since when (unix ms). */
  due: { readonly action: string; readonly since: number } | null;
  busy: boolean;
}

/** One look at the chain per tick, whatever the number of open requests. */
const TICK_MS = 500;

export function createKeeper(ports: KeeperPorts, staggerMs: number, lifetime: AbortSignal): Keeper {
  const kept = new Map<RequestId, KeptRequest>();
  let active: readonly AgentRecord[] = [];
  let ticking = false;
  /** One after the other: nobody waits for it, and whoever reads the chain from its beginning finds them all settled. */
  let settling = false;

  const tick = async (): Promise<void> => {
    const head = await ports.chain.head(lifetime);
    const now = ports.clock.now();
    for (const entry of kept.values()) {
      const { progress } = entry;
      const due = dueOf(progress, head);
      const action = due === null ? null : nameOf(due, progress);
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
      // Until the event arrives, or for another turn of everybody after a failure.
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
    ports.log.warn({ requestId: requestId?.toString(), error: messageOf(error) }, "keeping failed; trying again");
  };

  return {
    agents(records) {
      active = records;
    },
    see(progress, at) {
      const { id } = progress.request;
      const entry = kept.get(id);
      if (progress.stage.kind === "refunded") kept.delete(id);
      else if (entry === undefined) kept.set(id, { progress, at, due: null, busy: false });
      else Object.assign(entry, { progress, at });
      void run();
    },
    unsettled(since) {
      return [...kept].filter(([, { progress, at }]) => isFinal(progress) && at >= since).map(([id]) => id);
    },
  };
}

/** The same action in another place of the course is another one, with a turn of its own for everybody. */
function nameOf(due: Due, progress: Progress): string {
  const place = progress.stage.kind === "requested" ? ` ${progress.stage.seedBlock}` : "";
  return `${due} ${progress.attempt}${place}`;
}

async function perform(ports: KeeperPorts, progress: Progress, due: Due, signal: AbortSignal): Promise<void> {
  const receipt = await submit(ports.writer, progress, due, signal);
  if (receipt === "already") return;
  const { transactionHash: transaction } = receipt;
  ports.log.info({ requestId: progress.request.id.toString(), attempt: progress.attempt, transaction }, messages[due]);
}

const messages: Readonly<Record<Due, string>> = {
  draw: "drew the committee",
  replace: "called another committee for a silent one",
  refund: "refunded an expired request",
  fallBack: "made the decision before an unanswered attempt final",
  finalize: "made a decision final",
  settle: "settled the request",
};

async function submit(
  writer: ChainWriter,
  progress: Progress,
  due: Due,
  signal: AbortSignal,
): Promise<Receipt | "already"> {
  const { request, round, attempt, past, stage } = progress;
  const [witness, last, before, rounds] = [witnessOf(progress), lastRound(progress), past.at(-1), roundsOf(progress)];
  if (due === "draw" && stage.kind === "requested")
    return writer.draw(request, { round, attempt, seedBlock: stage.seedBlock, past }, signal);
  if (due === "replace" && witness !== null) return writer.replace(request, round, attempt, witness, signal);
  if (due === "refund" && witness !== null) return writer.refund(request, round, witness, signal);
  if (due === "fallBack" && witness !== null && before !== undefined)
    return writer.fallBack(request, round, witness, before, signal);
  if (due === "settle" && rounds !== null) return writer.settle(request, rounds, signal);
  if (due === "finalize" && last !== null) return writer.finalize(request, last, signal);
  throw new RangeError(`submit: ${due} is not due while the request is ${stage.kind}`);
}

/** Position of this agent in the order of keeping one request: by sha256(requestId, agentId). */
function rankOf(active: readonly AgentRecord[], self: Address, requestId: RequestId): number {
  const key = (agentId: AgentId): Digest => sha256(concat(utf8(`${requestId}.`), utf8(String(agentId))));
  const order = active.toSorted((a, b) => compareHex(key(a.agentId), key(b.agentId)));
  const rank = order.findIndex((agent) => agent.signer === self);
  return rank < 0 ? order.length : rank;
}
