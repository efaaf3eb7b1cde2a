// Keeps requests open for as long as it is told, breaks a little, and looks at what the agents take.
import { appendFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { makeFolderOf } from "../../agents/cli/shared/folder.ts";
import type { RequestStatus } from "../../agents/core/request/events.ts";
import { protocols } from "../../agents/core/protocols/index.ts";
import { examine, type Examination } from "../examine.ts";
import { copyJournals } from "../journals.ts";
import { SOURCE_PROTOCOLS } from "../manifest.ts";
import { perturb } from "../perturb.ts";
import { ended, keep, PROGRESS_MS } from "../run.ts";
import type { Asked, ChaosWorld } from "../world.ts";
import { mildChaos } from "./mild.ts";
import { sampleAgent, type Sample } from "./samples.ts";
import { POLL_MS, watchRequests, type Seen, type Watch } from "./watch.ts";

export interface SoakPlan {
  readonly minutes: number;
  readonly seed: number;
  /** Requests that are open at once. */
  readonly open: number;
  readonly out: string;
  readonly tell: (line: string) => void;
  readonly signal: AbortSignal;
}

/** A request with its moments and its end. */
export interface Ended extends Asked, Seen {
  readonly status: RequestStatus;
}

export interface Soaked {
  readonly requests: readonly Ended[];
  readonly samples: readonly Sample[];
  readonly perturbations: number;
  /** How long the load lasted. */
  readonly loadMs: number;
  readonly examination: Examination;
}

/** The journals of a request last for seconds. */
const COPY_MS = 1_000;
const SAMPLE_MS = 30_000;
/** Samples that a short soak has, too. */
const LEAST_SAMPLES = 50;
/** Requests from one line about them to the next. */
const TELL_EACH = 25;

export async function soak(world: ChaosWorld, plan: SoakPlan): Promise<Soaked> {
  const { minutes, seed, out, tell, signal } = plan;
  const copies = join(out, "journals");
  await makeFolderOf("--out", copies);
  const loadMs = minutes * 60_000;
  const perturbations = mildChaos(seed, loadMs);
  const watching = new AbortController();
  const watch = watchRequests(world);
  const copied = copyJournals(world.agents, copies, COPY_MS, watching.signal);
  try {
    const startMs = performance.now();
    const sampling = sampleAll(world, startMs, loadMs, join(out, "samples.jsonl"), signal);
    const [asked, , samples] = await Promise.all([
      load(world, watch, plan, startMs + loadMs),
      perturb(world, perturbations, tell, signal),
      sampling,
    ]);
    tell(`the load ends after ${asked.length} requests`);
    await ended(world, asked, PROGRESS_MS, plan);
    const last = await world.ask("mbft");
    await ended(world, [last], PROGRESS_MS, plan);
    // The watch may be a look behind.
    await sleep(2 * POLL_MS);
    watching.abort();
    await copied;
    tell("examines everything");
    const examination = await examine(
      world,
      { asked, last, misled: [], equivocators: [], slashed: [], copies },
      signal,
    );
    if (examination.findings.length > 0) await keep(world, out, examination);
    const requests: Ended[] = [];
    for (const one of asked) {
      const seen = watch.seen(one.requestId);
      if (seen === null) throw new Error(`Request ${one.requestId} was asked, and no event says so`);
      requests.push({ ...one, ...seen, status: (await world.reader.requestState(one.requestId, signal)).status });
    }
    return { requests, samples, perturbations: perturbations.length, loadMs, examination };
  } finally {
    watching.abort();
    await copied;
    await watch.close();
  }
}

/** Asks until the time is over: as soon as one of the open requests has ended, the next one. */
async function load(
  world: ChaosWorld,
  watch: Watch,
  { open, tell, signal }: Pick<SoakPlan, "open" | "tell" | "signal">,
  untilMs: number,
): Promise<readonly Asked[]> {
  const asked: Asked[] = [];
  let count = 0;
  const askOnAndOn = async (): Promise<void> => {
    while (performance.now() < untilMs) {
      const index = count++;
      const { id } = protocols[index % protocols.length] as (typeof protocols)[number];
      // Every second time that it is its turn.
      const hasSource = SOURCE_PROTOCOLS.includes(id) && Math.floor(index / protocols.length) % 2 === 1;
      const one = await world.ask(id, hasSource);
      asked.push(one);
      if (asked.length % TELL_EACH === 0) tell(`${asked.length} requests`);
      while ((watch.seen(one.requestId)?.paidMs ?? null) === null && performance.now() < untilMs)
        await sleep(POLL_MS, undefined, { signal });
    }
  };
  await Promise.all(Array.from({ length: open }, askOnAndOn));
  return asked;
}

/** Samples all agents until the time is over, and writes each sample down. */
async function sampleAll(
  { agents }: ChaosWorld,
  startMs: number,
  loadMs: number,
  file: string,
  signal: AbortSignal,
): Promise<readonly Sample[]> {
  const everyMs = Math.min(SAMPLE_MS, loadMs / LEAST_SAMPLES);
  const samples: Sample[] = [];
  await writeFile(file, "");
  for (let dueMs = startMs + everyMs; dueMs <= startMs + loadMs; dueMs += everyMs) {
    await sleep(Math.max(0, dueMs - performance.now()), undefined, { signal });
    const hours = (performance.now() - startMs) / 3_600_000;
    for (const [index, agent] of agents.entries()) {
      const sample = await sampleAgent(agent, index, hours);
      if (sample === null) continue;
      samples.push(sample);
      await appendFile(file, `${JSON.stringify(sample)}\n`);
    }
  }
  return samples;
}
