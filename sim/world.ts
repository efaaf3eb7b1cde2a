import { createMemoryClock } from "../agents/adapters/memory/clock.ts";
import { createMemoryHub } from "../agents/adapters/memory/network.ts";
import { faultTolerance } from "../agents/core/quorum.ts";
import { seatsOf } from "../agents/core/seat/order.ts";
import type { Digest, SeatIndex } from "../agents/core/types.ts";
import { dueAt } from "./bound.ts";
import { createLinks } from "./links.ts";
import type { ForeignModels } from "./model.ts";
import type { Plan } from "./plan.ts";
import { createRandom } from "./random.ts";
import { createRecorder, type Recorder, type Tell } from "./recorder.ts";
import { createSeat, type SimSeat, type World } from "./seat.ts";
import type { SeatTrace, Trace } from "./trace.ts";
import { createWatch } from "./watch.ts";

/** A world with more instants than this is taken to run in circles. */
const MOST_INSTANTS = 400_000;
/** Seats do not begin at the same moment. */
const START_SPREAD_MS = 100;

/** Runs one world from its plan until every honest seat has a certificate, or until its time is over. */
export async function runWorld(
  plan: Plan,
  onLine: ((line: string) => void) | null = null,
  models: ForeignModels | null = null,
): Promise<Trace> {
  const random = createRandom(plan.seed, "world");
  const clock = createMemoryClock();
  const tell: Tell = (describe) => onLine?.(`${clock.now()} ${describe()}`);
  const recorder = createRecorder(plan.attempt.committee.length, () => clock.now(), tell);
  const latency = random.fork("latency");
  const seatOf = new Map(plan.attempt.committee.map(({ signer }, seat) => [signer, seat as SeatIndex]));
  const hub = createMemoryHub({
    clock,
    latencyMs: (from, to) =>
      plan.delayMs?.(seatOf.get(from) as SeatIndex, seatOf.get(to) as SeatIndex) ?? 1 + latency.below(plan.latencyMs),
  });
  let failure: Error | null = null;
  const links = createLinks(plan, clock, random.fork("links"), recorder);
  const world: World = {
    plan,
    clock,
    hub,
    links,
    content: {
      holders: new Map(),
      reaches: (from, to) => !links.isCut(from, to),
      latencyMs: () => 1 + latency.below(2 * plan.latencyMs),
    },
    random,
    recorder,
    watch: createWatch(),
    models,
    fail: (error) => {
      failure ??= error;
    },
  };
  const seats = seatsOf(plan.attempt).map((seat) => createSeat(world, seat));
  const starts = random.fork("starts");
  for (const one of seats) clock.schedule(starts.below(START_SPREAD_MS), () => one.start());
  const due = dueAt(plan);
  let instants = 0;
  let pending = 0;
  const isOver = (): boolean => {
    if (failure !== null) throw failure;
    pending = Math.max(pending, clock.pending);
    return clock.nextAt === null || clock.nextAt > due || ++instants > MOST_INSTANTS || isCertified(plan, recorder);
  };
  await new Promise<void>((resolve, reject) => {
    /** Runs one instant of virtual time. Between two instants every promise that can settle has settled. */
    const instant = (): void => {
      try {
        if (isOver()) return resolve();
        clock.advance((clock.nextAt ?? clock.now()) - clock.now());
        setImmediate(models === null ? instant : () => void models.idle().then(instant, reject));
      } catch (error) {
        reject(error);
      }
    };
    setImmediate(instant);
  });
  return traceOf({ world, seats, endedAt: clock.now(), due, instants, pending });
}

function isCertified(plan: Plan, recorder: Recorder): boolean {
  return recorder.seats.every(({ certificates }, seat) => certificates.length > 0 || plan.byzantine.has(seat as never));
}

interface Ended {
  readonly world: World;
  readonly seats: readonly SimSeat[];
  readonly endedAt: number;
  readonly due: number;
  readonly instants: number;
  readonly pending: number;
}

function traceOf({ world, seats, endedAt, due, instants, pending }: Ended): Trace {
  const { plan, recorder } = world;
  const contested = recorder.contested();
  const traced: SeatTrace[] = [];
  for (const one of seats) {
    const recorded = recorder.seats[one.seat];
    if (recorded === undefined) throw new Error(`seat ${one.seat} was not recorded`);
    const byzantine = plan.byzantine.get(one.seat) ?? null;
    traced.push({
      seat: one.seat,
      byzantine,
      certificates: recorded.certificates,
      evidence: recorded.evidence,
      conflicts: recorded.conflicts,
      inTime: world.watch.inTime(one.seat),
      answers: recorded.answers,
      approved: recorded.approved,
      read: recorded.read,
      shown: recorded.shown,
      journalBytes: one.journalBytes(),
      storeBytes: [...one.blocks.values()].reduce((sum, bytes) => sum + bytes.length, 0),
      backlog: one.backlog(),
      silent: one.silent(),
      took: contested.size === 0 || byzantine !== null ? new Map() : one.took(contested),
      modelCalls: recorded.modelCalls,
    });
  }
  const honestStores = seats.filter(({ seat }) => !plan.byzantine.has(seat)).map(({ blocks }) => blocks);
  const block = (digest: Digest): Uint8Array | null =>
    honestStores.map((blocks) => blocks.get(digest)).find((bytes) => bytes !== undefined) ?? null;
  return {
    seed: plan.seed,
    protocol: plan.protocol,
    attempt: plan.attempt,
    timing: plan.timing,
    truth: plan.truth,
    tolerable: plan.byzantine.size <= faultTolerance(plan.attempt.committee.length),
    truthful: plan.model.errorPpm === 0 && plan.sources?.isDivided !== true,
    sources: plan.sources ?? null,
    faults: plan.faults,
    healAt: plan.healAt,
    endedAt,
    dueAt: due,
    seats: traced,
    messages: recorder.messages,
    block,
    depths: world.watch.depths,
    instants,
    sent: { frames: recorder.frames, bytes: recorder.bytes },
    pending,
    counts: recorder.counts(),
    hash: recorder.hash(),
  };
}
