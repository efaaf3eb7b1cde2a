import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";

import { modelFailed } from "./output.ts";

/** What the embedded engine finds on this machine. */
export interface EngineReport {
  /** `cpu`, or what the model's layers are put on. */
  readonly backend: "cpu" | "cuda" | "vulkan" | "metal";
  readonly devices: readonly string[];
  readonly vramBytes: number;
  readonly cores: number;
  /** Backends whose drivers are installed, whether or not this checkout has their builds of the engine. */
  readonly drivers: readonly ("cuda" | "vulkan" | "metal")[];
}

/** Loads the engine in a process of its own, since native code may die. Throws MODEL_FAILED (crashed). */
export async function probeEngine(signal: AbortSignal): Promise<EngineReport> {
  const worker = fileURLToPath(new URL("llama-probe-worker.ts", import.meta.url));
  const child = fork(worker, [], { execArgv: [], stdio: ["ignore", "ignore", "ignore", "ipc"], signal });
  const { promise, resolve, reject } = Promise.withResolvers<EngineReport>();
  child.on("message", (report: EngineReport) => resolve(report));
  const dead = (how: string): void =>
    reject(modelFailed("node-llama-cpp", "crashed", `the engine does not load (${how})`));
  child.on("error", (error) => dead(error.message));
  child.on("exit", (code, ended) => dead(ended ?? `exit ${code}`));
  return await promise;
}
