import { ConclaveError, messageOf } from "../core/errors.ts";
import { cidString } from "../core/encoding/cid.ts";
import { limits } from "../core/limits.ts";
import { describedBy } from "../core/encoding/transcript.ts";
import type { Digest, RequestId } from "../core/types.ts";
import type { ChainReader, EquivocationProof } from "../ports/chain.ts";
import { type Clock, sleep } from "../ports/clock.ts";
import type { CollectedStore, ContentStore, Pin, PinList, Swept } from "../ports/content-store.ts";
import { recordOf } from "../core/request/progress.ts";
import { isDecided, isFinalState, isPaidOut } from "../core/request/state.ts";
import { heldSeat, type EvidenceStore, type UnreadableProof } from "../ports/evidence.ts";
import type { Log } from "../ports/log.ts";

/** AV10: the ports that assessing the pins of seats needs. */
export interface CollectionPorts {
  readonly store: Pick<ContentStore, "get" | "has"> & PinList;
  readonly chain: Pick<ChainReader, "domain" | "requestState" | "requestEvents" | "head">;
  readonly evidence: Pick<EvidenceStore, "list">;
  /** True if the chain has slashed for the proof. */
  readonly isConsumed: (proof: EquivocationProof, signal?: AbortSignal) => Promise<boolean>;
  readonly clock: Pick<Clock, "now">;
}

export interface CollectorPorts extends CollectionPorts {
  readonly store: CollectedStore;
}

/** Reasons why a pin stays. */
const REASONS = ["young", "undecided", "provisional", "unsettled", "evidence", "elsewhere", "unreadable"] as const;
export type Reason = (typeof REASONS)[number];

export interface Collectable extends Pin {
  readonly requestId: RequestId;
  readonly attempt: number;
}

export interface Collected {
  /** Transcripts that are over: they are unpinned, or a preview would unpin them. */
  readonly over: readonly Collectable[];
  readonly kept: Readonly<Record<Reason, number>>;
  /** Evidence that cannot be read; transcripts of its requests are kept. */
  readonly unreadable: readonly UnreadableProof[];
  readonly swept: Swept;
  /** True if another pass may find more. */
  readonly more: boolean;
}

/** Bounds of one pass. */
export interface PassLimits {
  /** Pins older than the window that a pass looks at. Each costs a read, and each request a call to the chain. */
  readonly looks: number;
  readonly blocks: number;
}

const usual: PassLimits = { looks: 256, blocks: 10_000 };
const DAY_SECONDS = 86_400;

/**
 * Least number of days that a transcript is kept: the longest appeal period plus the unbonding delay, until whose end a
 * stake answers for what its committee signed.
 */
export function leastRetentionDays(unbondingDelaySeconds: number): number {
  return Math.ceil((limits.maxDurationSeconds + unbondingDelaySeconds) / DAY_SECONDS);
}

/**
 * Returns how long transcripts are kept: `retentionDays`, or twice the minimum if it is undefined. Throws CONFIG_INVALID,
 * which names field, value and minimum.
 */
export function retentionMs(retentionDays: number | undefined, unbondingDelaySeconds: number, path: string): number {
  const minimum = leastRetentionDays(unbondingDelaySeconds);
  const days = retentionDays ?? 2 * minimum;
  if (days > minimum) return days * DAY_SECONDS * 1_000;
  const field = "collection.retentionDays";
  const parts = `the longest appeal period (${limits.maxDurationSeconds / DAY_SECONDS} days) and this deployment's unbonding delay (${unbondingDelaySeconds / DAY_SECONDS} days)`;
  throw new ConclaveError(
    "CONFIG_INVALID",
    `Check ${path} failed at ${field}: ${days} is too short: transcripts must be kept longer than ${minimum} days, the sum of ${parts}; raise it, or leave it out`,
    { path, field, value: days, minimum },
  );
}

/**
 * Returns the time before which a pin is old. A clock that runs ahead of the chain does not count: it would drop
 * transcripts while stake can still be slashed by them.
 */
async function oldBefore({ chain, clock }: CollectionPorts, windowMs: number, signal: AbortSignal): Promise<number> {
  const { timestamp } = await chain.head(signal);
  return Math.min(clock.now(), timestamp * 1_000) - windowMs;
}

/** Returns what a collection of all pins would do now, and changes nothing. */
export async function previewCollection(
  ports: CollectionPorts,
  windowMs: number,
  signal: AbortSignal,
): Promise<Collected> {
  const beforeMs = await oldBefore(ports, windowMs, signal);
  const assessed = await assess(ports, await ports.store.pins(signal), beforeMs, signal);
  const without = new Set(assessed.over.map(({ root }) => root));
  const swept = await ports.store.wouldSweep({ beforeMs, maxBlocks: Number.MAX_SAFE_INTEGER }, without, signal);
  return { ...assessed, swept, more: false };
}

/** Collects in bounded passes; each continues where the one before stopped. */
export interface Collector {
  pass(signal: AbortSignal): Promise<Collected>;
}

export function createCollector(ports: CollectorPorts, windowMs: number, bounds: PassLimits = usual): Collector {
  const { store } = ports;
  /** The pin that was looked at last. */
  let last: Digest | null = null;
  return {
    async pass(signal) {
      const beforeMs = await oldBefore(ports, windowMs, signal);
      const pins = (await store.pins(signal)).toSorted((a, b) => (a.root < b.root ? -1 : 1));
      const old = pins.filter(({ sinceMs }) => sinceMs < beforeMs);
      const rest = old.filter(({ root }) => last === null || root > last);
      const looked = rest.slice(0, bounds.looks);
      last = rest.length > looked.length ? (looked.at(-1)?.root ?? null) : null;
      const assessed = await assess(ports, looked, beforeMs, signal);
      for (const { root } of assessed.over) await store.unpin(root, signal);
      const swept = await store.sweep({ beforeMs, maxBlocks: bounds.blocks }, signal);
      const kept = { ...assessed.kept, young: pins.length - old.length };
      return { ...assessed, kept, swept, more: last !== null || swept.more };
    },
  };
}

/** Runs a pass now and after every interval until the signal aborts. The next pass tries again what failed. */
export async function collectEvery(
  collector: Collector,
  { clock, log, intervalMs }: { readonly clock: Clock; readonly log: Log; readonly intervalMs: number },
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      const { over, kept, unreadable, swept } = await collector.pass(signal);
      for (const { path, requestId } of unreadable)
        log.warn(
          { path, requestId: String(requestId) },
          "cannot read evidence: the transcripts of its request are kept",
        );
      const unpinned = over.map(({ root }) => cidString(root));
      if (unpinned.length > 0 || swept.blocks > 0)
        log.info({ unpinned, kept, ...swept }, "collected transcripts that are over");
    } catch (error) {
      if (!signal.aborted) log.warn({ error: messageOf(error) }, "could not collect transcripts");
    }
    await sleep(clock, intervalMs, signal).catch(() => undefined);
  }
}

/**
 * AV10: keeps a transcript while its request is undecided, provisional or unsettled, or while a proof waits for its
 * slash.
 */
async function assess(
  ports: CollectionPorts,
  pins: readonly Pin[],
  beforeMs: number,
  signal: AbortSignal,
): Promise<Pick<Collected, "over" | "kept" | "unreadable">> {
  const kept = Object.fromEntries(REASONS.map((reason) => [reason, 0])) as Record<Reason, number>;
  const over: Collectable[] = [];
  const known = new Map<RequestId, Promise<Reason | null>>();
  for (const pin of pins) {
    const found = pin.sinceMs >= beforeMs ? "young" : await attemptOf(ports, pin, signal);
    if (typeof found === "string") {
      kept[found] += 1;
      continue;
    }
    const holding = known.get(found.requestId) ?? holdingBack(ports, found.requestId, signal);
    known.set(found.requestId, holding);
    const reason = await holding;
    if (reason === null) over.push(found);
    else kept[reason] += 1;
  }
  return { over, kept, unreadable: (await ports.evidence.list()).unreadable };
}

/** Returns the attempt that the transcript's root names; the seat checked that before it pinned the root. */
async function attemptOf(
  { store, chain: { domain } }: CollectionPorts,
  pin: Pin,
  signal: AbortSignal,
): Promise<Collectable | Reason> {
  // A damaged root is kept for somebody who can repair it; nothing is fetched.
  const rootBlock = (await store.has(pin.root, signal)) ? await store.get(pin.root, signal).catch(() => null) : null;
  const described = rootBlock === null ? null : describedBy(rootBlock);
  if (described === null) return "unreadable";
  const { chainId, oracle, requestId, attempt } = described;
  return chainId === domain.chainId && oracle === domain.oracle ? { ...pin, requestId, attempt } : "elsewhere";
}

/** Returns why the request's transcripts must stay; null if nothing holds them back. */
async function holdingBack(
  { chain, evidence, isConsumed }: CollectionPorts,
  requestId: RequestId,
  signal: AbortSignal,
): Promise<Reason | null> {
  const state = await chain.requestState(requestId, signal);
  if (!isFinalState(state)) return isDecided(state) ? "provisional" : "undecided";
  if (!isPaidOut(state)) return "unsettled";
  const { proofs, unreadable } = await evidence.list();
  // The unreadable proof may name a fault that a stake still answers for.
  if (unreadable.some((one) => one.requestId === requestId)) return "evidence";
  const about = proofs.filter(({ request }) => request.id === requestId);
  if (about.length === 0) return null;
  const record = recordOf(await chain.requestEvents(requestId, signal));
  // The record is final: what it does not show now, nobody will ever prove.
  for (const proof of about)
    if (heldSeat(proof, record) !== null && !(await isConsumed(proof, signal))) return "evidence";
  return null;
}
