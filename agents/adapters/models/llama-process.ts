import { fork, type ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";

import { engineEnvironment } from "./llama-environment.ts";
import type {
  EngineFacts,
  FromWorker,
  ToWorker,
  Unloadable,
  Answered,
  WorkerAsk,
  WorkerOptions,
} from "./llama-messages.ts";

/** How a worker process ended, or failed to start. */
export type WorkerFailure =
  | { readonly kind: "unloadable"; readonly what: Unloadable; readonly reason: string }
  | { readonly kind: "died"; readonly reason: string };

/** A call that the worker did not answer. `died`: the process has ended. */
export interface CallFailure {
  readonly why: Extract<FromWorker, { kind: "failed" }>["why"] | "died";
  readonly reason: string;
}

export interface LlamaProcess {
  readonly pid: number;
  /** Resolves once the model is loaded, or with what prevented it. */
  readonly loaded: Promise<({ readonly kind: "ready" } & EngineFacts) | WorkerFailure>;
  /** Resolves with the reason once the process has ended. */
  readonly ended: Promise<string>;
  /** Asks the worker. Never rejects; after an abort it resolves once the generation has really stopped. */
  ask(ask: WorkerAsk, signal: AbortSignal, onToken: (text: string) => void): Promise<Answered | CallFailure>;
  kill(): void;
}

interface Call {
  readonly settle: (result: Answered | CallFailure) => void;
  readonly onToken: (text: string) => void;
}

/**
 * Environment of the worker. GGML_NO_BACKTRACE: native code that aborts would start a debugger to print where.
 * UV_THREADPOOL_SIZE: node-llama-cpp samples the sequences of a batch on libuv's threads, and the first of them sorts
 * the batch's outputs without a lock, so that two at the same time swap tokens of two seats (3.21.1, short answers: 8
 * of 1,000 with four sequences, 60 to 110 with eight; 3.22 has a lock, but our registry has it only for Linux). With
 * one thread they take turns.
 */
const WORKER_ENVIRONMENT = { GGML_NO_BACKTRACE: "1", UV_THREADPOOL_SIZE: "1" };
/**
 * Native code that does not stop within this time after an abort counts as hung. It stops after a batch, and one batch
 * of 512 tokens may take a large model, or a busy machine, more than a minute. To end it early would cost every other
 * call in it, and the time to load it again.
 */
const ABORT_GRACE_MS = 120_000;
const STDERR_BYTES = 2000;

export function startLlamaProcess(options: WorkerOptions, abortGraceMs = ABORT_GRACE_MS): LlamaProcess {
  const child = fork(fileURLToPath(new URL("./llama-worker.ts", import.meta.url)), [], {
    execArgv: [],
    env: { ...engineEnvironment(process.env), ...WORKER_ENVIRONMENT },
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
  const stderr = tailOf(child);
  const calls = new Map<number, Call>();
  let lastId = 0;
  let end: string | null = null;
  let isHung = false;
  const loaded = Promise.withResolvers<Awaited<LlamaProcess["loaded"]>>();
  const ended = Promise.withResolvers<string>();

  const finish = (how: string): void => {
    if (end !== null) return;
    end = `${how}${stderr() === "" ? "" : `: ${stderr()}`}`;
    loaded.resolve({ kind: "died", reason: end });
    for (const call of calls.values()) call.settle({ why: "died", reason: `the model process ended (${how})` });
    calls.clear();
    ended.resolve(end);
  };
  child.on("error", (error) => finish(`not started, ${error.message}`));
  child.on("exit", (code, signal) => {
    const how = signal === null ? `exit ${code}` : signal;
    finish(isHung ? `${how}, by this agent: it did not stop within ${abortGraceMs / 1000} s of an abort` : how);
  });
  child.on("message", (message: FromWorker) => {
    if (message.kind === "ready" || message.kind === "unloadable") return loaded.resolve(message);
    const call = calls.get(message.id);
    if (message.kind === "token") return call?.onToken(message.text);
    calls.delete(message.id);
    return call?.settle(message.kind === "answer" ? message : { why: message.why, reason: message.reason });
  });
  const send = (message: ToWorker): void => {
    // A send to a process that just died fails; its exit settles the call.
    if (child.connected) child.send(message, () => {});
  };
  send({ kind: "load", options });

  return {
    pid: child.pid ?? -1,
    loaded: loaded.promise,
    ended: ended.promise,
    kill: () => void child.kill("SIGKILL"),
    async ask(ask, signal, onToken) {
      if (end !== null) return { why: "died", reason: `the model process ended (${end})` };
      const id = ++lastId;
      const { promise, resolve } = Promise.withResolvers<Answered | CallFailure>();
      calls.set(id, { settle: resolve, onToken });
      let grace: NodeJS.Timeout | undefined;
      const abort = (): void => {
        send({ kind: "abort", id });
        grace = setTimeout(() => {
          isHung = true;
          child.kill("SIGKILL");
        }, abortGraceMs);
      };
      signal.addEventListener("abort", abort, { once: true });
      send({ kind: "ask", id, ask });
      if (signal.aborted) abort();
      try {
        return await promise;
      } finally {
        signal.removeEventListener("abort", abort);
        clearTimeout(grace);
      }
    },
  };
}

/** Returns the end of what the native library wrote before it died, in one line. */
function tailOf(child: ChildProcess): () => string {
  let tail = "";
  child.stderr?.setEncoding("utf8").on("data", (chunk: string) => {
    tail = (tail + chunk).slice(-STDERR_BYTES);
  });
  return () => tail.trim().split("\n").at(-1)?.slice(0, 300) ?? "";
}
