// Fuzzes one target in a thread of its own, whose memory is bounded. The input at work stands in shared memory, so that a thread that
// hangs or dies leaves it behind.
import { parentPort, workerData } from "node:worker_threads";
import { messageOf } from "../../agents/core/errors.ts";
import { createRandom } from "../../sim/random.ts";
import { createReached, startCoverage } from "./coverage.ts";
import { mutate } from "./mutate.ts";

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
  /** Characters of code that inputs reached. */
  readonly characters: number;
  /** Inputs that reached new code, without those of the corpus. */
  readonly kept: readonly Uint8Array[];
  /** The first input that broke a promise; null if none did. */
  readonly failure: { readonly input: Uint8Array; readonly reason: string } | null;
}

const HEAD_BYTES = 8;
/** Inputs between two looks at what was reached: a look costs as much as many inputs. */
const INPUTS_PER_LOOK = 128;
const task = workerData as FuzzTask;
const takeRan = startCoverage();
const { createTargets } = await import("./targets.ts");
const { targets, close } = await createTargets(task.folder);
const target = targets[task.target];
if (target === undefined) throw new Error(`Fuzz: the target ${task.target} is unknown`);
const head = new Uint32Array(task.shared, 0, HEAD_BYTES / 4);
const body = new Uint8Array(task.shared, HEAD_BYTES);
const random = createRandom(task.seed, task.target);
const corpus = [...target.samples, ...task.corpus];
const kept: Uint8Array[] = [];
const reached = createReached();
let executions = 0;
let failure: FuzzResult["failure"] = null;

// What ran while the decoders were loaded is no input's.
takeRan();
await play(task.only ?? corpus);
reached.add(takeRan());
if (task.only === null) await search();
await close();
// A thread has no origin, unlike a window.
// eslint-disable-next-line unicorn/require-post-message-target-origin
parentPort?.postMessage({ executions, characters: reached.characters, kept, failure } satisfies FuzzResult);

/** Changes inputs until the time is over; those that reach new code are changed further. */
async function search(): Promise<void> {
  const end = performance.now() + task.milliseconds;
  let left = task.most;
  while (left > 0 && performance.now() < end) {
    await keepNew(Array.from({ length: Math.min(left, INPUTS_PER_LOOK) }, () => mutate(pick(), random, pick())));
    if (failure !== null) return;
    left -= INPUTS_PER_LOOK;
  }
}

/** Runs inputs, and if they reach new code, finds by halving which of them do. */
async function keepNew(inputs: readonly Uint8Array[]): Promise<void> {
  await play(inputs);
  const ran = takeRan();
  if (failure !== null || !reached.lacks(ran)) return;
  const middle = inputs.length >> 1;
  if (middle === 0) kept.push(...inputs);
  else for (const half of [inputs.slice(0, middle), inputs.slice(middle)]) await keepNew(half);
  // Some of it no input reaches by itself.
  reached.add(ran);
}

/** Half of the time one of the inputs that were kept. */
function pick(): Uint8Array {
  return random.pick(kept.length > 0 && random.chance(500_000) ? kept : corpus);
}

/** Runs inputs up to the first that breaks a promise. */
async function play(inputs: readonly Uint8Array[]): Promise<void> {
  for (const input of inputs) {
    if (failure !== null) return;
    body.set(input);
    head[1] = input.length;
    Atomics.add(head, 0, 1);
    executions++;
    try {
      await target?.run(input);
    } catch (error) {
      failure = { input, reason: error instanceof Error ? `${error.name}: ${error.message}` : messageOf(error) };
    }
  }
}
