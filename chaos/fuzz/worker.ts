// Fuzzes one target in a thread of its own, whose memory is bounded. The input at work stands in shared memory, so that a thread that
// hangs or dies leaves it behind.
import { parentPort, workerData } from "node:worker_threads";
import { messageOf } from "../../agents/core/errors.ts";
import { createRandom } from "../../sim/random.ts";
import { mutate } from "./mutate.ts";
import { createTargets } from "./targets.ts";

export interface FuzzTask {
  readonly target: string;
  readonly seed: number;
  readonly milliseconds: number;
  /** Most inputs that are drawn. */
  readonly most: number;
  /** Files go here. */
  readonly folder: string;
  /** Inputs of the corpus. */
  readonly corpus: readonly Uint8Array[];
  /** Runs these inputs and no others. */
  readonly only: readonly Uint8Array[] | null;
  /** Number of inputs begun (u32), length of the one at work (u32), its bytes. */
  readonly shared: SharedArrayBuffer;
}

export interface FuzzResult {
  readonly executions: number;
  /** The first input that broke a promise; null if none did. */
  readonly failure: { readonly input: Uint8Array; readonly reason: string } | null;
}

const HEAD_BYTES = 8;
const task = workerData as FuzzTask;
const { targets, close } = await createTargets(task.folder);
const target = targets[task.target];
if (target === undefined) throw new Error(`Fuzz: the target ${task.target} is unknown`);
const head = new Uint32Array(task.shared, 0, HEAD_BYTES / 4);
const body = new Uint8Array(task.shared, HEAD_BYTES);
const random = createRandom(task.seed, task.target);
const known = [...target.samples, ...task.corpus];

function* inputs(): Generator<Uint8Array> {
  if (task.only !== null) return yield* task.only;
  yield* known;
  const end = performance.now() + task.milliseconds;
  for (let left = task.most; left > 0 && performance.now() < end; left--)
    yield mutate(random.pick(known), random, random.pick(known));
}

let executions = 0;
let failure: FuzzResult["failure"] = null;
for (const input of inputs()) {
  body.set(input);
  head[1] = input.length;
  Atomics.add(head, 0, 1);
  executions++;
  try {
    await target.run(input);
  } catch (error) {
    failure = { input, reason: error instanceof Error ? `${error.name}: ${error.message}` : messageOf(error) };
    break;
  }
}
await close();
// A thread has no origin, unlike a window.
// eslint-disable-next-line unicorn/require-post-message-target-origin
parentPort?.postMessage({ executions, failure } satisfies FuzzResult);
