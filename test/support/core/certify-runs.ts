// Runs of docs/spec/certify.qnt by Quint's simulator, and runs of the core that Quint checks against it.
import { copyFile, mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { MODEL, STEPS, violationIn } from "../../../scripts/spec/quint.ts";
import { createRandom, type Random } from "../../../sim/random.ts";
import {
  CoreSeat,
  MODEL_SEATS,
  type ModelArrival,
  type ModelMessage,
  type ModelPhase,
  type ModelRoot,
  type ModelSeat,
} from "./certify-model.ts";

/** Ballots in which the Byzantine seat speaks. */
const LAST_BALLOT = 3;

type Held = "A" | "B";

/** One step of a run, with what it left. */
interface ModelState {
  readonly faulty: number;
  readonly seats: ReadonlyMap<number, ModelSeat>;
  readonly own: ReadonlyMap<number, readonly ModelMessage[]>;
  readonly happened:
    | ({ readonly seat: number } & ModelArrival)
    | { readonly seat: number; readonly kind: "init" }
    | { readonly seat: number; readonly kind: "lie" };
}

export type ModelRun = readonly ModelState[];

export interface Simulated {
  /** What Quint says, if an invariant breaks. */
  readonly violation: string | null;
  readonly runs: readonly ModelRun[];
}

/** Lets Quint play seeded runs of a model, which is a file. */
export async function simulate(
  file: string,
  {
    seed,
    runs,
    steps = STEPS,
    actions = [],
  }: {
    readonly seed: number;
    readonly runs: number;
    readonly steps?: number;
    /** Options that name other actions than `init` and `step`. */
    readonly actions?: readonly string[];
  },
): Promise<Simulated> {
  const folder = await mkdtemp(join(tmpdir(), "conclave-model-"));
  try {
    const traces = ["--n-traces", String(runs), "--out-itf", join(folder, "{seq}.json")];
    const violation = await violationIn(file, { seed, runs, steps, more: [...traces, ...actions] });
    const files = (await readdir(folder)).toSorted();
    return {
      violation,
      runs: await Promise.all(files.map(async (name) => readRun(await readFile(join(folder, name), "utf8")))),
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function readRun(text: string): ModelRun {
  const { states } = JSON.parse(text, plain) as { readonly states: ModelRun };
  return states;
}

/** Reads Quint's Informal Trace Format: numbers, sets (here sorted) and maps are objects with one marked name. */
function plain(_: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if ("#bigint" in value) return Number(value["#bigint"]);
  if ("#set" in value) return (value["#set"] as (number | string)[]).toSorted(ascending);
  return "#map" in value ? new Map(value["#map"] as [unknown, unknown][]) : value;
}

function ascending(a: number | string, b: number | string): number {
  return a < b ? -1 : 1;
}

/** Lets seats of the core take what happened in a run of the model; says where they first differ from it, or null. */
export function differenceIn(run: ModelRun): string | null {
  const [first, ...steps] = run;
  const core = new Map([...first!.seats].map(([seat, { holds }]) => [seat, new CoreSeat(seat, holds as Held)]));
  let before = first!;
  for (const [index, after] of steps.entries()) {
    const { happened } = after;
    if (happened.kind !== "lie" && happened.kind !== "init") {
      const seat = core.get(happened.seat)!;
      const queue = before.own.get(happened.seat)!.slice(happened.kind === "own" ? 1 : 0);
      const own = [...queue, ...seat.take(happened)];
      const left = { ...seat.told(), own };
      const wanted = { ...told(after.seats.get(happened.seat)!), own: after.own.get(happened.seat)! };
      if (!isDeepStrictEqual(left, wanted)) return differenceText(index + 1, happened, left, wanted);
    }
    before = after;
  }
  return null;
}

function differenceText(step: number, happened: object, core: Left, model: Left): string {
  return `step ${step}, ${JSON.stringify(happened)}:\nthe core:  ${JSON.stringify(core)}\nthe model: ${JSON.stringify(model)}`;
}

function told({
  inTime,
  holds,
  ballot,
  step,
  locked,
  valid,
  good,
  bad,
  loadingFrom,
  running,
  decided,
}: ModelSeat): ModelSeat {
  return { inTime, holds, ballot, step, locked, valid, good, bad, loadingFrom, running, decided };
}

/** Plays seeded runs of the core, and lets a model, which is a file, do the same; says where it first does not, or null. */
export async function refusalOf(seeds: readonly number[], model = MODEL): Promise<string | null> {
  const folder = await mkdtemp(join(tmpdir(), "conclave-model-"));
  try {
    const file = join(folder, "core.qnt");
    const script = seeds.flatMap(coreRun);
    await copyFile(model, join(folder, "certify.qnt"));
    await writeFile(file, scriptText(script));
    const [played] = (
      await simulate(file, {
        seed: 1,
        runs: 1,
        steps: script.length - 1,
        actions: ["--init", "first", "--step", "another"],
      })
    ).runs;
    for (const [index, { seat, arrival, left }] of script.entries()) {
      const state = played?.[index];
      if (state === undefined) return `step ${index}: the model refuses ${JSON.stringify(arrival)} at seat ${seat}`;
      if (left === null) continue;
      const is = { ...told(state.seats.get(seat)!), own: state.own.get(seat)! };
      if (!isDeepStrictEqual(is, left)) return differenceText(index, arrival, left, is);
    }
    return null;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

type Left = ModelSeat & { readonly own: readonly ModelMessage[] };

/** What happens in a run of the core, and what it leaves at the seat. `init`: a new committee, whose Byzantine seat is `seat`. */
interface ScriptStep {
  readonly seat: number;
  readonly arrival:
    | ModelArrival
    | { readonly kind: "lie"; readonly message: ModelMessage }
    | { readonly kind: "init"; readonly held: readonly Held[] };
  readonly left: Left | null;
}

function scriptText(script: readonly ScriptStep[]): string {
  return `module core {
  import certify.* from "./certify"
  pure def said(phase: str, ballot: int, seat: int, root: str, valid: int, signers: Set[int]): Message =
    { phase: phase, ballot: ballot, seat: seat, root: root, valid: valid, signers: signers }
  pure def happens(kind: str, seat: int, timer: str, message: Message): Event = { kind: kind, seat: seat, timer: timer, message: message }
  pure val SCRIPT: List[Event] = List(
    ${script.map(({ seat, arrival }) => eventText(seat, arrival)).join(",\n    ")}
  )
  var at: int
  /// In the event that makes a committee, \`signers\` are the seats that hold all messages.
  action play(event: Event): bool =
    if (event.kind == "init") initWith(event.seat, SEATS.mapBy(s => if (event.message.signers.contains(s)) "A" else "B"))
    else if (event.kind == "start") begin(event.seat)
    else if (event.kind == "learn") learn(event.seat)
    else if (event.kind == "loaded") finishLoading(event.seat)
    else if (event.kind == "own") takeOwn(event.seat)
    else if (event.kind == "message") receive(event.seat, event.message)
    else if (event.kind == "elapsed") timeOut(event.seat, event.timer)
    else lie(event.message)
  action first = all { play(SCRIPT[0]), at' = 0 }
  action another = all { at + 1 < SCRIPT.length(), play(SCRIPT[at + 1]), at' = at + 1 }
}
`;
}

/** A seeded run of the core. */
function coreRun(seed: number): readonly ScriptStep[] {
  const random = createRandom(seed, "certify");
  const faulty = random.below(MODEL_SEATS);
  const held = Array.from({ length: MODEL_SEATS }, () => random.pick<Held>(["A", "B"]));
  const seats = held.map((holds, seat) => ({ seat, core: new CoreSeat(seat, holds), own: [] as ModelMessage[] }));
  const honest = seats.filter(({ seat }) => seat !== faulty);
  const sent: ModelMessage[] = [];
  const steps: ScriptStep[] = [{ seat: faulty, arrival: { kind: "init", held }, left: null }];
  while (steps.length < STEPS) {
    const open = honest.filter(({ core }) => !core.done);
    if (open.length === 0) break;
    if (random.chance(80_000)) {
      const message = lieOf(random, faulty, sent);
      if (message === null || isSaid(sent, message)) continue;
      sent.push(message);
      steps.push({ seat: faulty, arrival: { kind: "lie", message }, left: null });
      continue;
    }
    const { seat, core, own } = open.find((one) => one.own.length > 0) ?? random.pick(open);
    const arrival = own[0] === undefined ? arrivalAt(random, core, sent) : ({ kind: "own", message: own[0] } as const);
    if (arrival === null) continue;
    const said = core.take(arrival);
    if (arrival.kind === "own") own.shift();
    own.push(...said);
    sent.push(...said.filter((message) => !isSaid(sent, message)));
    steps.push({ seat, arrival, left: { ...core.told(), own: [...own] } });
  }
  return steps;
}

function arrivalAt(random: Random, core: CoreSeat, sent: readonly ModelMessage[]): ModelArrival | null {
  const { inTime, holds, ballot } = core.told();
  if (inTime === "none" && random.chance(300_000)) return { kind: "start" };
  if (core.loads && random.chance(500_000)) return { kind: "loaded" };
  if (holds === "B" && random.chance(20_000)) return { kind: "learn" };
  if (core.waitsFor.length > 0 && random.chance(120_000)) return { kind: "elapsed", timer: random.pick(core.waitsFor) };
  const ofBallot = sent.filter((message) => message.ballot === ballot);
  const some = ofBallot.length > 0 && random.chance(850_000) ? ofBallot : sent;
  return some.length === 0 ? null : { kind: "message", message: random.pick(some) };
}

function lieOf(random: Random, faulty: number, sent: readonly ModelMessage[]): ModelMessage | null {
  const phase = random.pick<ModelPhase>(["PROPOSE", "PREVOTE", "PRECOMMIT", "CERTIFICATE"]);
  const ballot = random.between(0, LAST_BALLOT);
  const isVote = phase === "PREVOTE" || phase === "PRECOMMIT";
  const named = random.pick<ModelRoot>(isVote ? ["A", "B", "bad", "nil"] : ["A", "B", "bad"]);
  const valid = phase === "PROPOSE" ? random.between(-1, ballot - 1) : -1;
  const signed = sent.filter((one) => one.phase === "PRECOMMIT" && one.ballot === ballot && one.root === named);
  const signers = [...new Set([faulty, ...signed.map(({ seat }) => seat)])].toSorted((a, b) => a - b).slice(0, 3);
  if (phase === "CERTIFICATE" && signers.length < 3) return null;
  return { phase, ballot, seat: faulty, root: named, valid, signers: phase === "CERTIFICATE" ? signers : [] };
}

function isSaid(sent: readonly ModelMessage[], message: ModelMessage): boolean {
  return sent.some((one) => isDeepStrictEqual(one, message));
}

function eventText(seat: number, arrival: ScriptStep["arrival"]): string {
  const timer = arrival.kind === "elapsed" ? arrival.timer : "none";
  const whole = arrival.kind === "init" ? arrival.held.flatMap((holds, one) => (holds === "A" ? [one] : [])) : [];
  const none: ModelMessage = { phase: "PROPOSE", ballot: 0, seat: 0, root: "nil", valid: -1, signers: whole };
  const message = "message" in arrival ? arrival.message : none;
  return `happens("${arrival.kind}", ${seat}, "${timer}", ${messageText(message)})`;
}

function messageText({ phase, ballot, seat, root: named, valid, signers }: ModelMessage): string {
  return `said("${phase}", ${ballot}, ${seat}, "${named}", ${valid}, Set(${signers.join()}))`;
}
