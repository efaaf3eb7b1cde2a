import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";

import type { GgufHeader } from "./gguf.ts";
import { engineEnvironment } from "./llama-environment.ts";
import { startLlamaProcess } from "./llama-process.ts";
import { loadError } from "./llama-supervisor.ts";
import { modelFailed } from "./output.ts";
import type { EngineReport } from "./engine-report.ts";

const PROBE_CONTEXT = 128;

/**
 * Loads a file in its own process, as cheaply as possible: on the CPU, for one short sequence. False if the signal
 * aborts before. Throws MODEL_FILE_BROKEN if the loader refuses the file or dies on it, and MODEL_FAILED (crashed).
 */
export async function probeFile(
  path: string,
  { prompt, contextLength, parameters }: GgufHeader,
  thinkingTokens: number,
  descriptor: string,
  signal: AbortSignal,
): Promise<boolean> {
  const contextSize = Math.min(PROBE_CONTEXT, contextLength ?? PROBE_CONTEXT);
  const process = startLlamaProcess({
    path,
    sequences: 1,
    threads: 1,
    gpu: false,
    temperature: 0,
    contextSize,
    prompt,
    thinkingTokens,
    parameters,
  });
  const stop = (): void => process.kill();
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  const loaded = await process.loaded;
  signal.removeEventListener("abort", stop);
  stop();
  await process.ended;
  if (loaded.kind === "ready") return true;
  if (signal.aborted) return false;
  throw loadError(path, descriptor, loaded, 1);
}

/** Loads the engine in its own process, since native code may die. Throws MODEL_FAILED (crashed). */
export async function probeEngine(signal: AbortSignal): Promise<EngineReport> {
  const worker = fileURLToPath(new URL("./llama-probe-worker.ts", import.meta.url));
  const env = engineEnvironment(process.env);
  const child = fork(worker, [], { execArgv: [], env, stdio: ["ignore", "ignore", "ignore", "ipc"], signal });
  const { promise, resolve, reject } = Promise.withResolvers<EngineReport>();
  child.on("message", (report: EngineReport) => resolve(report));
  const dead = (how: string): void =>
    reject(modelFailed("node-llama-cpp", "crashed", `the engine does not load (${how})`));
  child.on("error", (error) => dead(error.message));
  child.on("exit", (code, ended) => dead(ended ?? `exit ${code}`));
  return await promise;
}
