import { ConclaveError } from "../../core/errors.ts";
import { sleepUnlessEnded } from "../chain/backoff.ts";
import { brokenFile } from "./gguf.ts";
import type { EngineFacts, WorkerOptions } from "./llama-messages.ts";
import { startLlamaProcess, type LlamaProcess, type WorkerFailure } from "./llama-process.ts";
import { closed, modelFailed } from "./output.ts";

/** Keeps one worker process with a loaded model alive. */
export interface Supervisor {
  /** Returns the process with the loaded model; waits while it is started again. */
  process(): Promise<LoadedProcess>;
  /** Notes an answer: the next crash is the first in a row. */
  succeeded(): void;
  closed(): boolean;
  close(): Promise<void>;
}

export interface LoadedProcess extends LlamaProcess {
  readonly facts: EngineFacts;
}

const FIRST_SLEEP_MS = 200;
const LONGEST_SLEEP_MS = 30_000;
/** Times in a row that the loader may die on a file before the file counts as broken. */
const LOAD_TRIES = 2;
const LOAD_TIMEOUT_MS = 600_000;

/**
 * Keeps a process running. A first process that does not load is an error; one that dies later is started again,
 * without limit. The sleep before it doubles with each crash without an answer in between, up to LONGEST_SLEEP_MS.
 */
export function supervise(
  options: WorkerOptions,
  descriptor: string,
  checkFile: () => Promise<void>,
  onStart: (pid: number) => void,
  onEnd: (reason: string) => void,
): Supervisor {
  const closing = new AbortController();
  let crashes = 0;
  let latest: LlamaProcess | null = null;

  const load = async (): Promise<LoadedProcess> => {
    for (let tries = 1; ; tries++) {
      if (closing.signal.aborted) throw closed(descriptor);
      if (latest !== null) await checkFile();
      latest = startLlamaProcess(options);
      onStart(latest.pid);
      const process = latest;
      const timer = setTimeout(() => process.kill(), LOAD_TIMEOUT_MS);
      const loaded = await process.loaded;
      clearTimeout(timer);
      if (loaded.kind === "ready") return watched({ ...process, facts: loaded });
      process.kill();
      await process.ended;
      if (closing.signal.aborted) continue;
      if (loaded.kind === "unloadable" || tries >= LOAD_TRIES) throw loadError(options.path, descriptor, loaded, tries);
      await sleepUnlessEnded(FIRST_SLEEP_MS, closing.signal);
    }
  };

  const backoff = async (): Promise<void> => {
    await sleepUnlessEnded(Math.min(FIRST_SLEEP_MS * 2 ** crashes++, LONGEST_SLEEP_MS), closing.signal);
  };

  /**
   * Starts the next process when this one has ended. Calls wait for the first try; if it fails, calls fail until a try
   * succeeds.
   */
  const watched = (process: LoadedProcess): LoadedProcess => {
    const restart = async (): Promise<void> => {
      const reason = await process.ended;
      if (closing.signal.aborted) return;
      onEnd(reason);
      current = backoff().then(load);
      while (!(await isLoaded(current)) && !closing.signal.aborted) {
        await backoff();
        current = load();
      }
    };
    void restart();
    return process;
  };

  let current = load();
  void isLoaded(current);
  return {
    process: async () => await current,
    succeeded: () => void (crashes = 0),
    closed: () => closing.signal.aborted,
    async close() {
      closing.abort();
      latest?.kill();
      await current.then(async (process) => await process.ended).catch(() => {});
    },
  };
}

async function isLoaded(process: Promise<LoadedProcess>): Promise<boolean> {
  return await process.then(
    () => true,
    () => false,
  );
}

/** Returns MODEL_FILE_BROKEN, or MODEL_FAILED if the file is not at fault. */
export function loadError(path: string, descriptor: string, failure: WorkerFailure, tries: number): ConclaveError {
  if (failure.kind === "died") {
    const times = tries === 1 ? "" : ` ${tries} times`;
    return brokenFile(path, `the loader died on it${times} (${failure.reason})`);
  }
  if (failure.what === "model") return brokenFile(path, failure.reason);
  if (failure.what === "thoughts") {
    const message = `Load model ${path} failed: ${failure.reason}; remove model.thinkingTokens from the config, or choose a model that thinks`;
    return new ConclaveError("CONFIG_INVALID", message, { path, field: "model.thinkingTokens" });
  }
  const wayOut = failure.what === "engine" ? "reinstall node-llama-cpp" : "lower contextSize or sequences";
  return modelFailed(descriptor, "crashed", `${failure.reason}; ${wayOut}`);
}
