import { Worker, type WorkerOptions } from "node:worker_threads";
import type { Extraction, ExtractionJob } from "./extraction.ts";
import { ReadingError } from "./failure.ts";

/** EV10: bounds of the thread; a body that needs more is not read. */
const LIMITS: NonNullable<WorkerOptions["resourceLimits"]> = {
  maxOldGenerationSizeMb: 160,
  maxYoungGenerationSizeMb: 8,
  stackSizeMb: 4,
};

/** EV14: bytes of the whole process. Beside the heap, streams of a PDF that decompress take buffers, which V8 does not bound. */
const MAX_RESIDENT = 300_000_000;
const WATCH_MS = 10;

/** EV14: makes the text of a body in a bounded thread, which ends with it. Never rejects. */
export async function extractInThread(job: ExtractionJob): Promise<Extraction> {
  const worker = new Worker(new URL("./extract-worker.ts", import.meta.url), {
    workerData: job,
    resourceLimits: LIMITS,
    env: {},
  });
  const { promise, resolve, reject } = Promise.withResolvers<Extraction>();
  worker.once("message", resolve);
  worker.once("error", (error: unknown) => reject(failureOfThread(error)));
  const measure = (): void => {
    if (process.memoryUsage.rss() > MAX_RESIDENT)
      reject(new ReadingError("too-large", `the text takes more than ${MAX_RESIDENT} bytes to make`));
  };
  const watch = setInterval(measure, WATCH_MS);
  worker.once("exit", () => reject(new ReadingError("unreachable", "the thread that makes the text ended")));
  try {
    return await promise;
  } catch (error) {
    const { reason, message } = error as ReadingError;
    return { reason, detail: message };
  } finally {
    clearInterval(watch);
    await worker.terminate();
  }
}

/** Codes of errors of the machine, such as no thread or no file any more. They say nothing about the source. */
const LOCAL = /^(?:ERR_WORKER_.*|ERR_MODULE_.*|E[A-Z0-9]+)$/;

/** EV12: what ended the thread. */
export function failureOfThread(error: unknown): ReadingError {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === "ERR_WORKER_OUT_OF_MEMORY")
    return new ReadingError("too-large", `the text takes more than ${LIMITS.maxOldGenerationSizeMb} MiB to make`);
  return LOCAL.test(code ?? "")
    ? new ReadingError("unreachable", `no thread makes the text (${code})`)
    : new ReadingError("undecodable", `the text cannot be made (${code ?? message})`);
}
