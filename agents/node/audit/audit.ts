import type { RequestId } from "../../core/types.ts";
import type { ChainEvent, CommittedDecision } from "../../core/request/events.ts";
import type { ChainReader } from "../../ports/chain.ts";
import { applyEvent, isFinal, type Progress } from "../../core/request/progress.ts";
import type { VerifyReport } from "./report.ts";
import { standingCommit } from "./standing-decision.ts";

/** One decision to be verified, with all events of its request. */
export interface Subject {
  readonly requestId: RequestId;
  readonly events: readonly ChainEvent[];
  readonly committed: CommittedDecision;
}

export interface AuditOptions {
  /** The reader, which follows the chain from the audit's first block. */
  readonly chain: Pick<ChainReader, "follow">;
  /** The last block to audit, which is already at finality depth. */
  readonly last: bigint;
  readonly includes: (requestId: RequestId) => boolean;
  /** True if the subject was verified before, e.g. by an interrupted run. */
  readonly isKnown: (subject: Subject) => boolean;
  /** Verifies one subject. An error that is no verdict ends the audit. */
  readonly verify: (subject: Subject, signal: AbortSignal) => Promise<VerifyReport>;
  readonly onReport: (subject: Subject, report: VerifyReport) => Promise<void>;
  /** Receives the block up to which the chain was read: at each event, and after each part. */
  readonly onBlock?: (block: bigint) => void;
  readonly onTrouble?: (error: Error) => void;
  /** Subjects verified at the same time. */
  readonly concurrency: number;
  readonly signal: AbortSignal;
}

export interface AuditCounts {
  /** Included requests that were asked in the part of the chain that was read. */
  readonly requests: number;
  readonly known: number;
  /** Requests without a standing decision, so that there is nothing to verify. */
  readonly undecided: number;
  /** Requests that have events in that part but were asked before it, or whose question cannot be read. */
  readonly partial: number;
}

interface Followed {
  progress: Progress | null;
  readonly events: ChainEvent[];
}

/**
 * TR6: verifies every standing decision among the included requests. It reads the events once, in order, and holds a
 * request in memory until it is final. Reading waits while `concurrency` requests are being verified.
 */
export async function audit(options: AuditOptions): Promise<AuditCounts> {
  const { chain, last, signal } = options;
  const open = new Map<RequestId, Followed>();
  const counts = { requests: 0, known: 0, undecided: 0, partial: 0 };
  const leaving = new AbortController();
  const ended = AbortSignal.any([signal, leaving.signal]);
  const verifications = new Verifications(options);

  const close = async (requestId: RequestId, { progress, events }: Followed): Promise<void> => {
    open.delete(requestId);
    if (progress === null) {
      counts.partial += 1;
      return;
    }
    counts.requests += 1;
    const committed = standingCommit(progress, events);
    const subject = committed === null ? null : { requestId, events, committed };
    if (subject === null) counts.undecided += 1;
    else if (options.isKnown(subject)) counts.known += 1;
    else await verifications.start(subject);
  };
  const onBatch: Parameters<ChainReader["follow"]>[1] = async ({ events, cursor }) => {
    for (const event of events) {
      if (event.blockNumber > last) continue;
      options.onBlock?.(event.blockNumber);
      const followed = record(open, options, event);
      if (followed !== null && followed[1].progress !== null && isFinal(followed[1].progress)) await close(...followed);
    }
    verifications.throwTrouble();
    options.onBlock?.(cursor.blockNumber);
    if (cursor.blockNumber >= last) leaving.abort();
  };
  await chain.follow(null, onBatch, ended, options.onTrouble);
  signal.throwIfAborted();
  for (const followed of open) await close(...followed);
  await verifications.finish();
  return counts;
}

/** Adds an event to its request; null if that request is not included. */
function record(
  open: Map<RequestId, Followed>,
  { includes }: AuditOptions,
  event: ChainEvent,
): readonly [RequestId, Followed] | null {
  if (event.kind === "agentsChanged") return null;
  const requestId = event.kind === "requested" ? event.request.id : event.requestId;
  if (!includes(requestId)) return null;
  const followed = open.get(requestId) ?? { progress: null, events: [] };
  open.set(requestId, followed);
  followed.progress = applyEvent(followed.progress, event);
  // A request without its first event cannot be verified: it is only counted.
  if (followed.progress !== null) followed.events.push(event);
  return [requestId, followed];
}

/** Verifies at most `concurrency` subjects at a time. The next call throws the first error that is no verdict. */
class Verifications {
  readonly #options: AuditOptions;
  readonly #running = new Set<Promise<void>>();
  readonly #failing = new AbortController();
  readonly #signal: AbortSignal;
  #trouble: { readonly error: unknown } | null = null;

  constructor(options: AuditOptions) {
    this.#options = options;
    this.#signal = AbortSignal.any([options.signal, this.#failing.signal]);
  }

  /** Resolves once the verification has begun. */
  async start(subject: Subject): Promise<void> {
    while (this.#running.size >= this.#options.concurrency && this.#trouble === null) await Promise.race(this.#running);
    this.throwTrouble();
    const work: Promise<void> = this.#verify(subject).finally(() => this.#running.delete(work));
    this.#running.add(work);
  }

  async finish(): Promise<void> {
    await Promise.all(this.#running);
    this.throwTrouble();
  }

  async #verify(subject: Subject): Promise<void> {
    try {
      await this.#options.onReport(subject, await this.#options.verify(subject, this.#signal));
    } catch (error) {
      this.#trouble ??= { error };
      this.#failing.abort(error);
    }
  }

  throwTrouble(): void {
    if (this.#trouble !== null) throw this.#trouble.error;
  }
}
