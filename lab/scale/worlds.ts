// Runs committees of the real runtime in virtual time, in a process of its own:
//   node worlds.ts <n> <seeds> <network> [quantiles of a delay in ms, as JSON]
import { installHooks } from "../../sim/hooks.ts";
import type { SeatIndex } from "../../agents/core/types.ts";
import type { NetworkName, Spread, WorldFigures } from "./inputs.ts";

installHooks({ realSignatures: false, mutant: null });
// Imported only now, so that everything goes through the hooks.
const { createPlan } = await import("../../sim/plan.ts");
const { createRandom } = await import("../../sim/random.ts");
const { runWorld } = await import("../../sim/world.ts");
const { timingConfigSchema } = await import("../../agents/node/config.ts");
const { JITTER, REGIONS, halfTripMs } = await import("./assumptions.ts");

type Delay = (from: SeatIndex, to: SeatIndex) => number;

const [size, count, network, quantiles = "[]"] = process.argv.slice(2);
const n = Number(size);
const seeds = Array.from({ length: Number(count) }, (_, index) => index + 1);
process.stdout.write(JSON.stringify(await figuresOf(n, seeds, network as NetworkName)));

async function figuresOf(seats: number, worlds: readonly number[], name: NetworkName): Promise<WorldFigures> {
  const runs: Run[] = [];
  for (const seed of worlds) runs.push(await runOne(seats, seed, name === "wan" ? wide(seed) : measured(seed)));
  const mean = (of: (one: Run) => number): number =>
    Math.round(runs.reduce((sum, one) => sum + of(one), 0) / runs.length);
  return {
    n: seats,
    network: name,
    seeds: worlds.length,
    firstMs: spreadOf(runs.map(({ first }) => first)),
    lastMs: spreadOf(runs.map(({ last }) => last)),
    frames: mean(({ frames }) => frames),
    bytes: mean(({ bytes }) => bytes),
    storeBytes: mean(({ storeBytes }) => storeBytes),
    journalBytes: mean(({ journalBytes }) => journalBytes),
  };
}

interface Run {
  readonly first: number;
  readonly last: number;
  readonly frames: number;
  readonly bytes: number;
  readonly storeBytes: number;
  readonly journalBytes: number;
}

async function runOne(seats: number, seed: number, delayMs: Delay): Promise<Run> {
  const plan = createPlan(
    {
      protocol: "mbft",
      n: seats,
      byzantine: 0,
      faults: [],
      byzantineKinds: [],
      kind: "boolean",
      errorPpm: 0,
      sources: [],
    },
    seed,
  );
  const trace = await runWorld({ ...plan, timing: timingConfigSchema.parse({}), thinkMs: 0, delayMs });
  const certified = trace.seats.map(({ certificates }) => certificates[0]?.at ?? Infinity).toSorted((a, b) => a - b);
  const perSeat = (of: (seat: (typeof trace.seats)[number]) => number): number =>
    trace.seats.reduce((sum, seat) => sum + of(seat), 0) / seats;
  return {
    first: certified[0] as number,
    last: certified.at(-1) as number,
    frames: trace.sent.frames,
    bytes: trace.sent.bytes,
    storeBytes: perSeat((seat) => seat.storeBytes),
    journalBytes: perSeat((seat) => seat.journalBytes),
  };
}

/** Draws from the delays that were measured. */
function measured(seed: number): Delay {
  const random = createRandom(seed, "loopback");
  const delays = JSON.parse(quantiles) as readonly number[];
  return () => random.pick(delays);
}

/** Every seat lies in a region by chance. */
function wide(seed: number): Delay {
  const random = createRandom(seed, "regions");
  const regions = Array.from({ length: n }, () => random.below(REGIONS));
  return (from, to) =>
    halfTripMs(regions[from] as number, regions[to] as number) * (1 + (JITTER * random.below(1_000)) / 1_000);
}

function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  return { median: Math.round(sorted[sorted.length >> 1] as number), worst: Math.round(sorted.at(-1) as number) };
}
