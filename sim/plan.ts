import { isSameAnswer, canonicalAnswer } from "../agents/core/request/answer.ts";
import { CERTIFICATE, PRECOMMIT, PREVOTE, PROPOSE } from "../agents/core/seat/certify/messages.ts";
import { ConclaveError } from "../agents/core/errors.ts";
import type { Protocol, Timing } from "../agents/core/protocol.ts";
import { protocolById } from "../agents/core/protocols/index.ts";
import { ANSWER_KINDS, ONE_PPM } from "../agents/core/types.ts";
import type {
  Address,
  AgentId,
  AnswerKind,
  Attempt,
  Ppm,
  RequestId,
  SeatIndex,
  SeatInfo,
  Skill,
  Terms,
} from "../agents/core/types.ts";
import { sourcesOf } from "../agents/core/sources/named.ts";
import { planSources, sourceNames, type SourcesPlan } from "./sources.ts";
import { phasesOf } from "./phases.ts";
import { BYZANTINE_KINDS, invalid, type ByzantineKind, type Fault, type SimOptions } from "./options.ts";
import { createRandom, type Random } from "./random.ts";
import { scheduleOf, type TwinsPlan } from "./twins.ts";
import { simSigner } from "./signer.ts";
import { defaultTerms } from "../agents/core/request/terms.ts";
import { KIND_RULES, usesTerm } from "../agents/core/request/kinds.ts";

/** One crash: the process dies after a number of effects, for some time. */
export interface CrashPlan {
  /** Effects, counted from the start of the process. */
  readonly afterEffects: number;
  readonly downMs: number;
  /** Number of records not yet durable that survive; the others are lost. */
  readonly survivingTail: number;
}

export interface PartitionPlan {
  readonly from: number;
  readonly until: number;
  /** Seats on one side. */
  readonly side: ReadonlySet<SeatIndex>;
  /** A seat that the partition does not concern. */
  readonly except?: SeatIndex;
}

/** Frames that an adversary on the links picks out; a null field matches any. */
export interface Target {
  readonly phase: number | null;
  readonly from: SeatIndex | null;
  readonly to: SeatIndex | null;
  readonly dropPpm: number;
}

/** Rates at which a frame suffers before the network heals, parts per million. */
export interface LinkPlan {
  readonly dropPpm: number;
  /** Frames lost on purpose, beside those lost by chance. */
  readonly targets: readonly Target[];
  /** Rate for messages that certify; others are lost a quarter as often. */
  readonly stormPpm: number;
  readonly delayPpm: number;
  readonly delayMs: number;
  readonly reorderPpm: number;
  readonly duplicatePpm: number;
}

/** SM6: rate at which a model call of an honest seat fails, parts per million. */
export interface ModelPlan {
  readonly failPpm: number;
  readonly errorPpm: number;
}

/** Everything that a seed decides before the world starts to move. */
export interface Plan {
  readonly seed: number;
  readonly protocol: Protocol;
  readonly attempt: Attempt;
  readonly timing: Timing;
  readonly truth: string;
  /** Wrong answers; liars agree on the first ones. */
  readonly lies: readonly string[];
  /** Text by which liars prove the first of them; if absent, words without content. */
  readonly lieProof?: string;
  /** SM8: the pages that the question names; absent: it names none. */
  readonly sources?: SourcesPlan;
  /** Blocks that every seat's store holds from the start: the documents that the question names. */
  readonly documents?: readonly Uint8Array[];
  readonly byzantine: ReadonlyMap<SeatIndex, ByzantineKind>;
  /** SM3: Virtual time from which links are reliable and no process dies any more. */
  readonly healAt: number;
  readonly faults: readonly Fault[];
  readonly latencyMs: number;
  /** Delay of a frame or block between two seats, in place of `latencyMs`. */
  readonly delayMs?: (from: SeatIndex, to: SeatIndex) => number;
  readonly thinkMs: number;
  readonly links: LinkPlan;
  readonly model: ModelPlan;
  /** P8; absent = no bound. */
  readonly tokensPerRequest?: number;
  readonly partitions: readonly PartitionPlan[];
  /** SM11; absent: no seat has two instances by a schedule. */
  readonly twins?: TwinsPlan;
  readonly crashes: ReadonlyMap<SeatIndex, readonly CrashPlan[]>;
  /** SM5: Speed of each seat's timers, parts per million of true time. */
  readonly speedPpm: readonly number[];
}

const TIMING: Timing = { phaseMs: 4_000, graceMs: 300, certifyMs: 800, certifyDeltaMs: 200 };
const MOST_CRASHES_PER_SEAT = 3;
/** Slowest and fastest timers under skew. */
export const SKEW_PPM = { slowest: 800_000, fastest: 1_250_000 } as const;

export function createPlan({ twins, ...options }: SimOptions, seed: number): Plan {
  const plan = drawPlan(options, seed);
  if (twins === undefined) return plan;
  const schedule = scheduleOf(twins, plan.attempt.committee.length, seed);
  return {
    ...plan,
    byzantine: new Map([[schedule.seat, "twin"]]),
    healAt: twins.windows * twins.windowMs,
    faults: ["partition"],
    partitions: schedule.windows.map(({ from, until, apart }) => ({ from, until, side: apart, except: schedule.seat })),
    twins: schedule,
  };
}

function drawPlan(options: SimOptions, seed: number): Plan {
  const random = createRandom(seed, "plan");
  const protocol = protocolById(options.protocol);
  if (protocol === null)
    throw new ConclaveError(
      "PROTOCOL_UNKNOWN",
      `Choose a known protocol: ${JSON.stringify(options.protocol)} is unknown`,
      {
        field: "protocol",
        value: options.protocol,
      },
    );
  const attempt = attemptFor(options, protocol, random.fork("attempt"));
  const seats = attempt.committee.map((_, seat) => seat as SeatIndex);
  const order = random.fork("byzantine").shuffled(seats);
  const byzantine = new Map(
    order.slice(0, options.byzantine).map((seat) => [seat, kindOf(options, random.fork(`kind ${seat}`))]),
  );
  const faults = faultsOf(options, random);
  const honest = seats.filter((seat) => !byzantine.has(seat));
  const has = (fault: Fault): boolean => faults.includes(fault);
  const healAt = faults.length === 0 ? 0 : random.fork("heal").between(has("storm") ? 8_000 : 1_000, 16_000);
  const { truth, lies } = answersFor(attempt.request.terms, random.fork("truth"));
  const named = sourcesOf(attempt.request.question);
  const world = { faults: options.sources, attempt, order, truth, lies, phaseMs: TIMING.phaseMs };
  return {
    seed,
    protocol,
    attempt,
    timing: TIMING,
    truth,
    lies,
    ...(named.length > 0 && { sources: planSources(named, world, random.fork("sources")) }),
    byzantine,
    healAt,
    faults,
    latencyMs: random.fork("latency").pick([1, 5, 20, 60]),
    thinkMs: random.fork("thinking").pick([5, 50, 500, 1_500]),
    links: linksOf(has, seats, phasesOf(protocol, attempt), random),
    model: {
      failPpm: has("model") ? random.fork("model").pick([20_000, 100_000]) : 0,
      errorPpm: options.errorPpm,
    },
    partitions: has("partition") ? partitionsFor(seats, healAt, random.fork("partition")) : [],
    crashes: has("crash") ? crashesFor(honest, random.fork("crash")) : new Map(),
    speedPpm: speedsFor(seats, has("skew"), random.fork("skew")),
  };
}

/**
 * Returns the first allowed kind in an order of the seat's own. Forbidding a kind that no seat has therefore changes
 * nothing.
 */
function kindOf({ byzantineKinds }: SimOptions, random: Random): ByzantineKind {
  return random.shuffled(BYZANTINE_KINDS).find((kind) => byzantineKinds.includes(kind)) as ByzantineKind;
}

/**
 * Draws the faults of a seed. Each seed suffers from some of them only, because all together would hide what a few
 * show. Each fault draws for itself, so forbidding one that does not strike changes nothing. A single allowed fault
 * always strikes.
 */
function faultsOf({ faults }: SimOptions, random: Random): readonly Fault[] {
  return faults.length === 1
    ? faults
    : faults.filter((fault) => random.fork(`fault ${fault}`).chance(FAULT_PPM[fault]));
}

function linksOf(
  has: (fault: Fault) => boolean,
  seats: readonly SeatIndex[],
  phases: readonly number[],
  random: Random,
): LinkPlan {
  const ppm = (fault: Fault, choices: readonly number[]): number => (has(fault) ? random.fork(fault).pick(choices) : 0);
  return {
    dropPpm: ppm("drop", [10_000, 100_000, 400_000]),
    targets: has("drop") ? targetsFor(seats, phases, random.fork("targets")) : [],
    stormPpm: ppm("storm", [300_000, 450_000, 600_000]),
    delayPpm: ppm("delay", [50_000, 300_000]),
    delayMs: random.fork("delay time").pick([200, 2_000, 6_000]),
    reorderPpm: ppm("reorder", [100_000, 500_000]),
    duplicatePpm: ppm("duplicate", [50_000, 300_000]),
  };
}

const FAULT_PPM: Readonly<Record<Fault, number>> = {
  drop: 400_000,
  delay: 500_000,
  reorder: 500_000,
  duplicate: 500_000,
  partition: 400_000,
  crash: 500_000,
  skew: 500_000,
  model: 250_000,
  storm: 200_000,
};

/** The certify phases. */
const CERTIFYING = [PROPOSE, PREVOTE, PRECOMMIT, CERTIFICATE, CERTIFICATE];

/** `phases`: those of the deliberation. */
function targetsFor(seats: readonly SeatIndex[], phases: readonly number[], random: Random): readonly Target[] {
  return Array.from({ length: random.below(4) }, () => ({
    phase: random.chance(800_000) ? random.pick(random.chance(450_000) ? CERTIFYING : phases) : null,
    from: random.chance(300_000) ? random.pick(seats) : null,
    to: random.chance(300_000) ? random.pick(seats) : null,
    dropPpm: random.pick([500_000, 900_000, 1_000_000]),
  }));
}

function partitionsFor(seats: readonly SeatIndex[], healAt: number, random: Random): readonly PartitionPlan[] {
  return Array.from({ length: random.between(1, 2) }, () => {
    const from = random.below(healAt);
    const until = Math.min(healAt, from + random.between(200, 8_000));
    return { from, until, side: new Set(seats.filter(() => random.chance(500_000))) };
  });
}

function crashesFor(honest: readonly SeatIndex[], random: Random): ReadonlyMap<SeatIndex, readonly CrashPlan[]> {
  const victims = random.shuffled(honest).slice(0, random.between(1, honest.length));
  return new Map(
    victims.map((seat) => [
      seat,
      Array.from({ length: random.between(1, MOST_CRASHES_PER_SEAT) }, () => ({
        afterEffects: random.between(1, random.pick([10, 60, 200])),
        downMs: random.pick([1, 50, 1_000, 5_000]),
        survivingTail: random.below(3),
      })),
    ]),
  );
}

function speedsFor(seats: readonly SeatIndex[], skewed: boolean, random: Random): readonly number[] {
  return seats.map(() => (skewed ? random.between(SKEW_PPM.slowest, SKEW_PPM.fastest) : 1_000_000));
}

/** SM7. Throws TERMS_INVALID if the protocol takes no such committee or kind. */
function attemptFor(options: SimOptions, protocol: Protocol, random: Random): Attempt {
  const kinds = random
    .fork("kind")
    .shuffled(ANSWER_KINDS)
    .filter((kind) => (options.kind ?? kind) === kind);
  const assurances = random.fork("assurance").shuffled(["normal", "high"] as const);
  const hasFullReputation = random.fork("reputation").chance(500_000);
  const committee = Array.from({ length: options.n }, (_, seat): SeatInfo => ({
    agentId: (seat + 1) as AgentId,
    signer: simSigner(seat).address,
    reputation: (hasFullReputation ? ONE_PPM : random.fork(`seat ${seat}`).between(700_000, ONE_PPM)) as Ppm,
    skill: random.fork(`skill ${seat}`).between(1, 3) as Skill,
  }));
  const questionOf = (kind: AnswerKind): string => {
    const named = options.sources.length === 0 ? [] : sourceNames(kind, random.fork("sources"));
    return ["What holds?", ...named.map((name) => `source: ${name}`)].join("\n");
  };
  const id = BigInt(random.between(1, 0x7fff_ffff)) as RequestId;
  let refused = "";
  for (const kind of kinds)
    for (const assurance of assurances) {
      const terms = termsFor(kind, protocol, options.n, assurance, random.fork("terms"));
      const attempt: Attempt = {
        domain: { chainId: 31_337, oracle: `0x${"0a".repeat(20)}` as Address },
        request: { id, consumer: `0x${"0c".repeat(20)}` as Address, terms, question: questionOf(kind) },
        attempt: 0,
        committee,
      };
      const reason = protocol.refuseRequest(attempt);
      if (reason === null) return attempt;
      refused = reason;
    }
  throw invalid("n", options.n, `protocol ${protocol.id} refuses the attempt: ${refused}; change --n or --kind`);
}

function termsFor(
  kind: AnswerKind,
  protocol: Protocol,
  committeeSize: number,
  assurance: Terms["assurance"],
  random: Random,
): Terms {
  return defaultTerms({
    fee: 1_000n,
    tolerance: usesTerm(kind, "tolerance") ? BigInt(random.pick([0, 10])) : 0n,
    committeeSize,
    assurance,
    ...KIND_RULES[kind].samples.terms,
    kind,
    protocol: protocol.code,
  });
}

function answersFor(terms: Terms, random: Random): { readonly truth: string; readonly lies: readonly string[] } {
  const all = KIND_RULES[terms.kind].samples.valid((least, most) => random.between(least, most));
  const [truth = "", ...lies] = random.shuffled(all);
  return { truth, lies };
}

/** True if a text is an answer that agrees with another one under the terms. */
export function agrees(terms: Terms, text: string, other: string): boolean {
  const a = canonicalAnswer({ terms, question: "" }, text);
  const b = canonicalAnswer({ terms, question: "" }, other);
  return a !== null && b !== null && isSameAnswer(terms, a, b);
}
