import { Worker } from "node:worker_threads";
import { once } from "node:events";
import type { SeedResult } from "./batch.ts";
import type { SimOptions } from "./options.ts";
import type { Batch, WorkerData } from "./worker.ts";

/** Threads that run worlds, each with its own copy of the core. */
export interface Pool {
  /** Returns results in the order of the seeds. Stops early once `enough` returns true. */
  run(
    options: SimOptions,
    seeds: readonly number[],
    enough?: (results: readonly SeedResult[]) => boolean,
  ): Promise<readonly SeedResult[]>;
  close(): Promise<void>;
}

interface Reply {
  readonly id: number;
  readonly results?: readonly SeedResult[];
  readonly error?: Error;
}

/** Seeds that a worker gets at once: few, so that a run ends soon after `enough`. A world costs far more than a message. */
const SEEDS_PER_TASK = 2;

export async function createPool(jobs: number, data: WorkerData): Promise<Pool> {
  const workers = await Promise.all(Array.from({ length: jobs }, () => startWorker(data)));
  let nextId = 0;

  const ask = async (worker: Worker, options: SimOptions, seeds: readonly number[]): Promise<readonly SeedResult[]> => {
    const batch: Batch = { id: nextId++, options, seeds };
    // A thread has no origin, unlike a window.
    // eslint-disable-next-line unicorn/require-post-message-target-origin
    worker.postMessage(batch);
    const reply = await replyOf(worker);
    if (reply.error !== undefined) throw reply.error;
    return reply.results ?? [];
  };

  return {
    async run(options, seeds, enough = () => false) {
      const results: SeedResult[] = [];
      let next = 0;
      let isEnough = false;
      const work = async (worker: Worker): Promise<void> => {
        while (next < seeds.length && !isEnough) {
          const batch = seeds.slice(next, next + SEEDS_PER_TASK);
          next += batch.length;
          results.push(...(await ask(worker, options, batch)));
          isEnough ||= enough(results);
        }
      };
      await Promise.all(workers.map(work));
      return results.toSorted((a, b) => a.seed - b.seed);
    },
    async close() {
      await Promise.all(workers.map((worker) => worker.terminate()));
    },
  };
}

async function startWorker(data: WorkerData): Promise<Worker> {
  const worker = new Worker(new URL("./worker.ts", import.meta.url), { workerData: data });
  await replyOf(worker);
  return worker;
}

/** Rejects if the worker dies first. */
async function replyOf(worker: Worker): Promise<Reply> {
  const ended = new AbortController();
  const died = once(worker, "exit", { signal: ended.signal }).then(([code]) => {
    throw new Error(`a simulator thread ended with code ${code}`);
  });
  died.catch(() => {});
  try {
    const [reply] = (await Promise.race([once(worker, "message", { signal: ended.signal }), died])) as [Reply];
    return reply;
  } finally {
    ended.abort();
  }
}
