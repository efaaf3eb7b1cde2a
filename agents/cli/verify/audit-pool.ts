import { Worker } from "node:worker_threads";
import PQueue from "p-queue";
import type { Certificate, Digest } from "../../core/types.ts";
import type { VerifyOptions, VerifyReport } from "../../node/audit/report.ts";
import { verifyRequest } from "../../node/audit/verify.ts";
import type { Subject } from "../../node/audit/audit.ts";
import type { TranscriptSource } from "../../adapters/ipfs/transcript-source.ts";
import { createRoom } from "./audit-room.ts";
import {
  inBatches,
  sentError,
  valueOf,
  type Delivered,
  type FromAuditor,
  type Settled,
  type ToAuditor,
} from "../../node/audit/thread-messages.ts";

/** Threads that verify while this thread fetches. With one job, this thread does both. */
export interface AuditPool {
  /** Verifies a subject on the least busy of the `jobs` threads. */
  verify(subject: Subject): Promise<VerifyReport>;
  close(): Promise<void>;
}

export interface AuditSources {
  readonly chain: Pick<VerifyOptions["chain"], "domain" | "certificate">;
  /** Opens a source of the blocks of one transcript, which holds at most `maxBytes` that nobody has asked for. */
  readonly openTranscript: (maxBytes: number) => TranscriptSource;
  readonly signal: AbortSignal;
}

/** Requests that one thread verifies side by side: while one waits for blocks, another keeps it busy. */
const PER_THREAD = 4;
/** Largest size of a small transcript; most have a hundredth of it. */
const SMALL_BYTES = 8 << 20;

export async function createAuditPool(
  jobs: number,
  sources: AuditSources,
  smallBytes = SMALL_BYTES,
): Promise<AuditPool> {
  const room = createRoom(smallBytes);
  const enter = (): UnderWay => {
    const visitor = room.enter();
    const blocks = sources.openTranscript(smallBytes);
    return {
      async get(digest, signal) {
        const bytes = await blocks.get(digest, signal);
        await visitor.take(bytes.length, signal);
        return bytes;
      },
      async leave() {
        visitor.leave();
        await blocks.close();
      },
    };
  };
  const auditors: readonly Verifier[] =
    jobs === 1
      ? [new Here(enter, sources.signal)]
      : Array.from({ length: jobs }, () => new Auditor(enter, sources.signal));
  await Promise.all(auditors.map((auditor) => auditor.ready));
  const closed = new AbortController();
  const signal = AbortSignal.any([sources.signal, closed.signal]);
  const queue = new PQueue({ concurrency: jobs * PER_THREAD });
  return {
    async verify({ requestId, events, committed }) {
      // Requests that wait in the queue are read from the chain together, so that one HTTP request brings many.
      const signatures = await sources.chain.certificate(committed.transactionHash, requestId, signal);
      return queue.add(() => {
        signal.throwIfAborted();
        const least = auditors.reduce((found, one) => (one.load < found.load ? one : found));
        return least.verify({ requestId, events, signatures, domain: sources.chain.domain });
      });
    },
    async close() {
      closed.abort();
      await Promise.all(auditors.map((auditor) => auditor.close()));
    },
  };
}

/** A transcript under way. */
interface UnderWay {
  /** Fetches a block once there is room for it. */
  get(digest: Digest, signal: AbortSignal): Promise<Uint8Array>;
  leave(): Promise<void>;
}

/** What a thread needs of the chain. */
interface Verification extends Pick<Subject, "requestId" | "events"> {
  readonly signatures: Certificate["signatures"] | null;
  readonly domain: VerifyOptions["chain"]["domain"];
}

interface Verifier {
  readonly ready: Promise<void>;
  /** How many it has under way. */
  readonly load: number;
  verify(asked: Verification): Promise<VerifyReport>;
  close(): Promise<void>;
}

/** The thread that fetches also verifies: where there is one only, to hand it the blocks takes longer than to check them. */
class Here implements Verifier {
  readonly ready: Promise<void> = Promise.resolve();
  readonly load = 0;
  readonly #enter: () => UnderWay;
  readonly #closed = new AbortController();
  readonly #signal: AbortSignal;
  readonly #running = new Set<Promise<unknown>>();

  constructor(enter: () => UnderWay, signal: AbortSignal) {
    this.#enter = enter;
    this.#signal = AbortSignal.any([signal, this.#closed.signal]);
  }

  async verify(asked: Verification): Promise<VerifyReport> {
    const report = this.#verify(asked);
    this.#running.add(report);
    try {
      return await report;
    } finally {
      this.#running.delete(report);
    }
  }

  /** Ends what is under way, so that nothing fetches or reports after the pool. */
  async close(): Promise<void> {
    this.#closed.abort();
    await Promise.allSettled(this.#running);
  }

  async #verify({ requestId, events, signatures, domain }: Verification): Promise<VerifyReport> {
    const signal = this.#signal;
    const underWay = this.#enter();
    try {
      return await verifyRequest({
        chain: { domain, requestEvents: async () => events, certificate: async () => signatures },
        store: { get: (digest, ended = signal) => underWay.get(digest, ended) },
        requestId,
        signal,
      });
    } finally {
      await underWay.leave();
    }
  }
}

class Auditor implements Verifier {
  readonly ready: Promise<void>;
  readonly #worker = new Worker(new URL("./audit-worker.ts", import.meta.url));
  readonly #enter: () => UnderWay;
  readonly #signal: AbortSignal;
  readonly #underWay = new Map<number, UnderWay>();
  readonly #reports = new Map<number, (settled: Settled<VerifyReport>) => void>();
  readonly #calls = new Map<number, AbortController>();
  // A worker thread has no origin, unlike a window.
  // eslint-disable-next-line unicorn/require-post-message-target-origin
  readonly #send = inBatches<ToAuditor>((messages) => this.#worker.postMessage(messages), setImmediate);
  #tasks = 0;

  constructor(enter: () => UnderWay, signal: AbortSignal) {
    this.#enter = enter;
    this.#signal = signal;
    const started = Promise.withResolvers<void>();
    this.ready = started.promise;
    this.#worker.on("message", (messages: readonly FromAuditor[]) => {
      for (const message of messages)
        if (message.kind === "ready") started.resolve();
        else this.#hear(message);
    });
    const fail = (error: Error): void => {
      started.reject(error);
      for (const settle of this.#reports.values()) settle({ error: sentError(error) });
      this.#reports.clear();
    };
    this.#worker.on("error", fail);
    this.#worker.on("exit", () => fail(new Error("a verifying thread ended")));
  }

  get load(): number {
    return this.#reports.size;
  }

  async verify(asked: Verification): Promise<VerifyReport> {
    const id = this.#tasks++;
    const underWay = this.#enter();
    this.#underWay.set(id, underWay);
    const settled = await new Promise<Settled<VerifyReport>>((resolve) => {
      this.#reports.set(id, resolve);
      this.#send({ kind: "verify", id, ...asked, tellsProgress: false });
    });
    this.#underWay.delete(id);
    await underWay.leave();
    return valueOf(settled);
  }

  async close(): Promise<void> {
    for (const call of this.#calls.values()) call.abort();
    await this.#worker.terminate();
  }

  #hear(message: Exclude<FromAuditor, { kind: "ready" }>): void {
    switch (message.kind) {
      case "call":
        void this.#answer(message);
        return;
      case "forget":
        this.#calls.get(message.call)?.abort();
        return;
      case "report":
        this.#reports.get(message.id)?.(message.settled);
        this.#reports.delete(message.id);
        return;
      case "progress":
        throw new Error("a verifying thread told how far it is, which nobody asked for");
    }
  }

  async #answer({ call, id, digest }: Extract<FromAuditor, { kind: "call" }>): Promise<void> {
    const forgotten = new AbortController();
    this.#calls.set(call, forgotten);
    const signal = AbortSignal.any([this.#signal, forgotten.signal]);
    const answer: Delivered = await this.#fetch(id, digest, signal).then(
      (value) => ({ value }),
      (error: unknown) => ({ error: sentError(error) }),
    );
    this.#calls.delete(call);
    if (!forgotten.signal.aborted) this.#send({ kind: "answer", call, answer });
  }

  async #fetch(id: number, digest: Digest, signal: AbortSignal): Promise<Uint8Array> {
    const underWay = this.#underWay.get(id);
    if (underWay === undefined) throw new Error("a verifying thread asks for a block after its report");
    return underWay.get(digest, signal);
  }
}
