import PQueue from "p-queue";
import { ConclaveError } from "../../agents/core/errors.ts";
import type { Protocol } from "../../agents/core/protocol.ts";
import { saidNonAnswer } from "../../agents/core/request/non-answers.ts";
import { documentBlock } from "../../agents/core/sources/named.ts";
import type { Assurance, Decision, Ppm, SeatIndex } from "../../agents/core/types.ts";
import type { Model } from "../../agents/ports/model.ts";
import { callsBehind } from "../../sim/batch.ts";
import { forget } from "../../sim/fast/memo.ts";
import type { ForeignModels } from "../../sim/model.ts";
import type { ByzantineKind } from "../../sim/options.ts";
import type { Plan } from "../../sim/plan.ts";
import type { SourcesPlan } from "../../sim/sources.ts";
import { honestSeats, type Trace } from "../../sim/trace.ts";
import { runWorld } from "../../sim/world.ts";
import { attemptFor, type AttemptPart } from "./attempt.ts";
import type { Asked } from "./panel.ts";
import type { Pages } from "./families/drawn.ts";
import { pageName, type Question } from "./question.ts";

/** Result of a method for one question. */
export interface Result {
  readonly status: "decided" | "hung";
  /** Canonical answer, also that there is none; null if hung. */
  readonly answer: string | null;
  /** The certificate's confidence; null without one. */
  readonly confidence: Ppm | null;
  /** Longest chain of model calls behind it. */
  readonly criticalPath: number;
}

/**
 * How a seat misbehaves: the simulator's ways, and a liar that brings a wrong proof for a wrong answer, and counters
 * with it.
 */
export type Badness = ByzantineKind | "confident";

export interface Committee extends AttemptPart {
  readonly seats: number;
  readonly bad: ReadonlyMap<SeatIndex, Badness>;
  /** Honest seats that are shown a poisoned source. */
  readonly misled: ReadonlySet<SeatIndex>;
  readonly assurance: Assurance;
}

/** Much longer than any call takes in virtual time, so that only seats that should be late are late. */
const TIMING = { phaseMs: 60_000, graceMs: 5_000, certifyMs: 5_000, certifyDeltaMs: 1_000 };
export const THINK_MS = 100;
const LATENCY_MS = 5;

/**
 * Lets a committee of real seats decide the question: the core, the runtime and certification, in the simulator's
 * virtual time.
 */
export async function deliberate(
  protocol: Protocol,
  question: Question,
  committee: Committee,
  panel: Asked,
  seed: number,
): Promise<Result> {
  return resultOf(await deliberation(planFor(protocol, question, committee, seed), panel));
}

/** Runs one world at a time, because the memory of its seats (memo.ts) belongs to one world. */
const worlds = new PQueue({ concurrency: 1 });

/** What the study reads from a run. */
export async function deliberation(plan: Plan, panel: Asked): Promise<Trace> {
  return await worlds.add(async () => {
    forget();
    return await runWorld(plan, null, foreignModels(panel));
  });
}

/** The pages of a question: a misled seat is shown the poisoned ones. */
function shownTo({ right, poisoned }: Pages, { seats, misled }: Committee): SourcesPlan {
  const all = Array.from({ length: seats }, (_, seat) => seat as SeatIndex);
  const pages = right.map((text, place) => ({
    name: pageName(place),
    fault: "poisoned" as const,
    texts: all.map((seat) => (misled.has(seat) ? (poisoned[place] as string) : text)),
    latenciesMs: all.map(() => 0),
    absence: "not-found" as const,
  }));
  return { pages, fooled: misled, isDivided: false };
}

/** The plan of a calm world: nothing fails except what should. */
export function planFor(protocol: Protocol, question: Question, committee: Committee, seed: number): Plan {
  const { seats, bad, assurance } = committee;
  const isConfident = [...bad.values()].includes("confident");
  const nothing = { dropPpm: 0, stormPpm: 0, delayPpm: 0, delayMs: 0, reorderPpm: 0, duplicatePpm: 0 };
  return {
    seed,
    protocol,
    attempt: attemptFor(question, protocol.code, seats, assurance, committee),
    timing: TIMING,
    truth: question.truth,
    lies: [question.lie.answer],
    ...(question.pages !== undefined && { sources: shownTo(question.pages, committee) }),
    documents: (question.documents ?? []).map((text) => documentBlock(text) as Uint8Array),
    ...(isConfident ? { lieProof: question.lie.proof } : {}),
    byzantine: new Map([...bad].map(([seat, kind]) => [seat, kind === "confident" ? "lying" : kind])),
    healAt: 0,
    faults: [],
    latencyMs: LATENCY_MS,
    thinkMs: THINK_MS,
    links: { ...nothing, targets: [] },
    model: { failPpm: 0, errorPpm: 0 },
    partitions: [],
    crashes: new Map(),
    speedPpm: Array.from({ length: seats }, () => 1_000_000),
  };
}

/**
 * The panel as models of a world. Real time passes while virtual time stands still, and every answer takes the same
 * virtual time.
 */
function foreignModels(panel: Asked): ForeignModels {
  let working = 0;
  let wake = (): void => {};
  let failure: Error | null = null;
  const finish = (): void => {
    working -= 1;
    if (working === 0) wake();
  };
  return {
    of: (seat, clock): Model => ({
      descriptor: "panel",
      prompts: panel.prompts ?? "small",
      async ask(request) {
        working += 1;
        // Before anything else: answers arrive in the order of the questions, in whatever order they were made.
        const arrival = new Promise<void>((resolve) => void clock.schedule(THINK_MS, resolve));
        const answer = await panel
          .ask(seat, request)
          .catch((error: unknown) => {
            failure ??= error instanceof Error ? error : new Error(String(error));
            return { kind: "failed", reason: "crashed" } as const;
          })
          .finally(finish);
        await arrival;
        if (answer.kind === "failed")
          throw new ConclaveError("MODEL_FAILED", `Ask a model failed (${answer.reason})`, { kind: answer.reason });
        return { ...answer, firstTokenMs: 0, durationMs: 0 };
      },
      async close() {},
    }),
    async idle() {
      if (working > 0) await new Promise<void>((resolve) => (wake = resolve));
      if (failure !== null) throw failure;
    },
  };
}

function resultOf(trace: Trace): Result {
  const { status, answer, confidence, transcript } = certifiedIn(trace);
  const criticalPath = callsBehind(trace, transcript);
  if (status === "hung") return { status, answer: null, confidence: null, criticalPath };
  const said = status === "decided" ? answer : saidNonAnswer(status).text;
  return { status: "decided", answer: said, confidence, criticalPath };
}

/**
 * The decision that the honest seats certified. Throws for a seat without a certificate and for two certified answers: both would be bugs,
 * and neither is a result.
 */
export function certifiedIn(trace: Trace): Decision {
  const honest = honestSeats(trace);
  const certified = honest.flatMap(({ certificates }) => certificates[0]?.certificate ?? []);
  const [first] = certified;
  const name = `${trace.protocol.id}, seed ${trace.seed}, ${JSON.stringify(trace.attempt.request.question)}`;
  if (first === undefined || certified.length < honest.length) throw new Error(`no certificate: ${name}`);
  if (certified.some(({ decision }) => decision.transcript !== first.decision.transcript))
    throw new Error(`two certificates: ${name}`);
  return first.decision;
}
