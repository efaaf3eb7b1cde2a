import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Extraction, ExtractionJob } from "./extraction.ts";
import { ReadingError } from "./failure.ts";

/** EV10: makes the text of a body in a process of its own, which ends with it. Throws a ReadingError, or the signal's reason. */
export async function extract(
  job: ExtractionJob,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<{ title: string; text: string }> {
  signal.throwIfAborted();
  const child = fork(fileURLToPath(new URL("./extract-process.ts", import.meta.url)), [], {
    execArgv: [],
    env: {},
    serialization: "advanced",
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });
  const { promise, resolve, reject } = Promise.withResolvers<Extraction>();
  const inTime = AbortSignal.timeout(timeoutMs);
  const ended = AbortSignal.any([signal, inTime]);
  const stop = (): void => reject(ended.reason as Error);
  ended.addEventListener("abort", stop, { once: true });
  child.once("message", resolve);
  child.once("error", (error) => reject(unmade(error.message)));
  child.once("exit", (code, killedBy) => reject(failureOfEnd(killedBy ?? `exit ${code}`)));
  // A process that does not start for want of descriptors has no channel, and a send to one that just ended fails: what happened to it
  // settles the reading.
  if (child.connected) child.send(job, () => {});
  try {
    const made = await promise;
    if ("reason" in made) throw new ReadingError(made.reason, made.detail);
    return made;
  } catch (error) {
    signal.throwIfAborted();
    if (inTime.aborted) throw new ReadingError("timeout", `the text is not made within ${timeoutMs} ms`);
    throw error;
  } finally {
    ended.removeEventListener("abort", stop);
    child.kill("SIGKILL");
  }
}

/** Signals by which V8 ends a process that asks for more memory than it may have. */
const OUT_OF_MEMORY = new Set(["SIGABRT", "SIGTRAP", "SIGILL"]);

/** EV12: what ended the process. */
function failureOfEnd(how: string): ReadingError {
  return OUT_OF_MEMORY.has(how)
    ? new ReadingError("too-large", `the text takes more memory than it may (${how})`)
    : unmade(how);
}

function unmade(how: string): ReadingError {
  return new ReadingError("unreachable", `no process makes the text (${how})`);
}
