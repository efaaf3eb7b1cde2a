import { parentPort, workerData } from "node:worker_threads";
import type * as Checkers from "./checkers/index.ts";
import { PRISTINE, installHooks } from "./hooks.ts";
import type { Mutant } from "./mutant.ts";
import type { SimOptions } from "./options.ts";

/** A batch of a worker: these seeds of this kind of world. */
export interface Batch {
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
// Imported only now, so that everything it loads goes through the hooks.
const { runSeed } = await import("./batch.ts");
// With a planted fault the checkers load their own, sound copy of the core.
const checking = (workerData as WorkerData).mutant === null ? "./checkers/index.ts" : `./checkers/index.ts${PRISTINE}`;
const { violationsIn } = (await import(checking)) as typeof Checkers;
port.on("message", (batch: Batch) => {
  void serve(batch);
});

async function serve({ id, options, seeds }: Batch): Promise<void> {
  try {
    const results = [];
    for (const seed of seeds) results.push(await runSeed(options, seed, violationsIn));
    port?.postMessage({ id, results });
  } catch (error) {
    port?.postMessage({ id, error });
  }
}
port.postMessage({ id: -1, results: [] });
