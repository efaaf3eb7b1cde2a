import { Worker, type WorkerOptions } from "node:worker_threads";
import type { Extraction, ExtractionJob } from "./extraction.ts";
import { ReadingError } from "./failure.ts";

/** EV10: bounds of the thread; a body that needs more is not read. */
const LIMITS: NonNullable<WorkerOptions["resourceLimits"]> = {
  maxOldGenerationSizeMb: 160,
  maxYoungGenerationSizeMb: 32,
  stackSizeMb: 4,
};

/** EV14: bytes outside the heap, which V8 does not bound: decompressed streams of a PDF. */
const MAX_BUFFERS = 100_000_000;
const WATCH_MS = 10;

/** EV10: makes the text of a body in a thread of its own, which ends with it. Throws a ReadingError, or the signal's reason. */
export async function extract(
  job: ExtractionJob,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<{ title: string; text: string }> {
  const worker = new Worker(new URL("./extract-worker.ts", import.meta.url), {
    workerData: job,
    resourceLimits: LIMITS,
    env: {},
  });
  const { promise, resolve, reject } = Promise.withResolvers<Extraction>();
  const inTime = AbortSignal.timeout(timeoutMs);
  const ended = AbortSignal.any([signal, inTime]);
  const stop = (): void => reject(ended.reason as Error);
  ended.addEventListener("abort", stop, { once: true });
  worker.once("message", resolve);
  worker.once("error", (error: unknown) => reject(failureOfThread(error)));
  const measure = async (): Promise<void> => {
    if ((await buffersOf(worker)) > MAX_BUFFERS)
      reject(new ReadingError("too-large", `the text takes more than ${MAX_BUFFERS} bytes of buffers`));
  };
  const watch = setInterval(() => void measure(), WATCH_MS);
  worker.once("exit", () => reject(new ReadingError("unreachable", "the thread that makes the text ended")));
  try {
    const made = await promise;
    if ("reason" in made) throw new ReadingError(made.reason, made.detail);
    return made;
  } catch (error) {
    signal.throwIfAborted();
    if (inTime.aborted) throw new ReadingError("timeout", `the text is not made within ${timeoutMs} ms`);
    throw error;
  } finally {
    clearInterval(watch);
    ended.removeEventListener("abort", stop);
    await worker.terminate();
  }
}

/** 0 before the thread runs and after its end. */
async function buffersOf(worker: Worker): Promise<number> {
  return worker.getHeapStatistics().then(
    ({ external_memory: bytes }) => bytes,
    () => 0,
  );
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
