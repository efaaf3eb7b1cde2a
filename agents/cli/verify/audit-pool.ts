import { Worker } from "node:worker_threads";
import type { VerifyOptions, VerifyReport } from "../../node/audit/report.ts";
import { verifyRequest } from "../../node/audit/verify.ts";
import type { Subject } from "../../node/audit/audit.ts";
import { createRoom, type Room, type Visitor } from "./audit-room.ts";
import {
  inBatches,
  sentError,
  valueOf,
  type Delivered,
  type FromAuditor,
  type Settled,
  type ToAuditor,
  type Wanted,
} from "./audit-messages.ts";

/** Threads that verify while this thread fetches. With one job, this thread does both. */
export interface AuditPool {
  /** Verifies a subject on the least busy of the `jobs` threads. */
  verify(subject: Subject): Promise<VerifyReport>;
  close(): Promise<void>;
}

export interface AuditSources {
  readonly chain: Pick<VerifyOptions["chain"], "domain" | "certificate">;
  readonly store: VerifyOptions["store"];
  readonly signal: AbortSignal;
}

/** Largest size of a small transcript; most have a hundredth of it. */
const SMALL_BYTES = 8 << 20;

export async function createAuditPool(
  jobs: number,
  sources: AuditSources,
  smallBytes = SMALL_BYTES,
): Promise<AuditPool> {
  const room = createRoom(smallBytes);
  const auditors: readonly Verifier[] =
    jobs === 1 ? [new Here(sources, room)] : Array.from({ length: jobs }, () => new Auditor(sources, room));
  await Promise.all(auditors.map((auditor) => auditor.ready));
  return {
    verify: (subject) =>
      auditors.reduce((least, one) => (one.load < least.load ? one : least)).verify(subject, sources.chain.domain),
    async close() {
      await Promise.all(auditors.map((auditor) => auditor.close()));
    },
  };
}

interface Verifier {
  readonly ready: Promise<void>;
  /** How many it has under way. */
  readonly load: number;
  verify(subject: Subject, domain: VerifyOptions["chain"]["domain"]): Promise<VerifyReport>;
  close(): Promise<void>;
}

/** The thread that fetches also verifies: where there is one only, to hand it the blocks takes longer than to check them. */
class Here implements Verifier {
  readonly ready: Promise<void> = Promise.resolve();
  readonly load = 0;
  readonly #sources: AuditSources;
  readonly #room: Room;
  readonly #closed = new AbortController();
  readonly #signal: AbortSignal;
  readonly #running = new Set<Promise<unknown>>();

  constructor(sources: AuditSources, room: Room) {
    this.#sources = sources;
    this.#room = room;
    this.#signal = AbortSignal.any([sources.signal, this.#closed.signal]);
  }

  async verify(subject: Subject): Promise<VerifyReport> {
    const report = this.#verify(subject);
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

  async #verify({ requestId, events }: Subject): Promise<VerifyReport> {
    const { chain, store } = this.#sources;
    const signal = this.#signal;
    const visitor = this.#room.enter();
    const get: AuditSources["store"]["get"] = async (digest, ended) => {
      const bytes = await store.get(digest, ended);
      await visitor.take(bytes.length, ended ?? signal);
      return bytes;
    };
    try {
      return await verifyRequest({
        chain: { domain: chain.domain, requestEvents: async () => events, certificate: chain.certificate },
        store: { get },
        requestId,
        signal,
      });
    } finally {
      visitor.leave();
    }
  }
}

class Auditor implements Verifier {
  readonly ready: Promise<void>;
  readonly #worker = new Worker(new URL("./audit-worker.ts", import.meta.url));
  readonly #sources: AuditSources;
  readonly #room: Room;
  readonly #closed = new AbortController();
  readonly #signal: AbortSignal;
  readonly #visitors = new Map<number, Visitor>();
  readonly #reports = new Map<number, (outcome: Settled<VerifyReport>) => void>();
  readonly #calls = new Map<number, AbortController>();
  // A worker thread has no origin, unlike a window.
  // eslint-disable-next-line unicorn/require-post-message-target-origin
  readonly #send = inBatches<ToAuditor>((messages) => this.#worker.postMessage(messages));
  #tasks = 0;

  constructor(sources: AuditSources, room: Room) {
    this.#sources = sources;
    this.#room = room;
    this.#signal = AbortSignal.any([sources.signal, this.#closed.signal]);
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

  async verify({ requestId, events }: Subject, domain: VerifyOptions["chain"]["domain"]): Promise<VerifyReport> {
    const id = this.#tasks++;
    const visitor = this.#room.enter();
    this.#visitors.set(id, visitor);
    const outcome = await new Promise<Settled<VerifyReport>>((resolve) => {
      this.#reports.set(id, resolve);
      this.#send({ kind: "verify", id, domain, requestId, events });
    });
    this.#visitors.delete(id);
    visitor.leave();
    return valueOf(outcome);
  }

  async close(): Promise<void> {
    this.#closed.abort();
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
        this.#reports.get(message.id)?.(message.outcome);
        this.#reports.delete(message.id);
    }
  }

  async #answer({ call, id, wanted }: Extract<FromAuditor, { kind: "call" }>): Promise<void> {
    const forgotten = new AbortController();
    this.#calls.set(call, forgotten);
    const answer: Delivered = await this.#fetch(id, wanted, forgotten.signal).then(
      (value) => ({ value }),
      (error: unknown) => ({ error: sentError(error) }),
    );
    this.#calls.delete(call);
    if (!forgotten.signal.aborted) this.#send({ kind: "answer", call, answer });
  }

  async #fetch(
    id: number,
    wanted: Wanted,
    forgotten: AbortSignal,
  ): Promise<Extract<Delivered, { value: unknown }>["value"]> {
    const { chain, store } = this.#sources;
    // One signal for all certificates, so that they travel together. Nobody forgets one.
    if (wanted.name === "certificate") return chain.certificate(wanted.transactionHash, wanted.requestId, this.#signal);
    const signal = AbortSignal.any([this.#signal, forgotten]);
    const bytes = await store.get(wanted.digest, signal);
    await this.#visitors.get(id)?.take(bytes.length, signal);
    return bytes;
  }
}
