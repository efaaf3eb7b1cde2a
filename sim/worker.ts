import { parentPort, workerData } from "node:worker_threads";
import type * as Checkers from "./checkers/index.ts";
import { PRISTINE, installHooks } from "./hooks.ts";
import type { Mutant } from "./mutant.ts";
import type { SimOptions } from "./options.ts";

/** What a worker is asked: these seeds of this kind of world. */
export interface Task {
  readonly id: number;
  readonly options: SimOptions;
  readonly seeds: readonly number[];
}

export interface WorkerData {
  readonly realSignatures: boolean;
  readonly mutant: Mutant | null;
}

const port = parentPort;
if (port === null) throw new Error("Start the simulator with `npm run sim`; this file is its worker");
installHooks(workerData as WorkerData);
// Only now: whatever this loads goes through the hooks.
const { runSeed } = await import("./batch.ts");
// The judge is never the accused: with a planted bug it loads its own, sound copy of the core.
const judging = (workerData as WorkerData).mutant === null ? "./checkers/index.ts" : `./checkers/index.ts${PRISTINE}`;
const { judge } = (await import(judging)) as typeof Checkers;
port.on("message", (task: Task) => {
  void serve(task);
});

async function serve({ id, options, seeds }: Task): Promise<void> {
  try {
    const results = [];
    for (const seed of seeds) results.push(await runSeed(options, seed, judge));
    port?.postMessage({ id, results });
  } catch (error) {
    port?.postMessage({ id, error });
  }
}
port.postMessage({ id: -1, results: [] });
