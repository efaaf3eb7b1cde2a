// What a request secures (docs/spec/security.md).
import { isSupermajority, quorumOf } from "../../core/quorum.ts";
import type { Ppm, Terms } from "../../core/types.ts";
import type { AgentRecord } from "../../ports/chain.ts";
import { formatAmount, type Unit } from "../shared/arguments.ts";
import { percent, printable, type Row } from "../shared/output.ts";
import { OVERTURN_SLASH_PPM, sliceOf } from "../shared/slice.ts";
import { KNOWS_TOYS } from "../shared/toy-questions.ts";
import { captureOf, captureRows, type Capture, type CaptureTerms } from "./capture.ts";

const ONE = 1_000_000n;

export interface Security {
  /** Seats that must agree on a wrong answer, and whose signatures certify it. */
  readonly quorum: number;
  /** How many of these signatures must be of seats that lied: honest seats sign, too, and whoever relays chooses the signatures. */
  readonly own: number;
  /** What so many seats lose together on average; 0 if the request is not secured. */
  readonly value: bigint;
  /** What they lose if the agents with the least stake were drawn. */
  readonly leastValue: bigint;
  /** The part of the value that is the operators' own at least: delegators, who do not choose the answer, may lose the rest. */
  readonly operatorsValue: bigint;
  readonly capture: readonly Capture[];
  /** Who holds most of the draw's weight; null if the request is not secured. Nothing proves what operators declare (ADR 19). */
  readonly concentration: { readonly operators: Holding; readonly models: Holding } | null;
}

interface Holding {
  /** How many hold the weight. */
  readonly holders: number;
  /** The part of the largest. */
  readonly largest: Ppm;
}

/**
 * SC7: what liars have at stake if the first committee certifies a wrong answer.
 * @param prices `appealUnit`: price of a unit of pay of the committees that appeals call, 0 if the request is not secured; `minStake`: what
 * the operator of an agent that is drawn holds of its stake at least (ST5)
 */
export function securityOf(
  terms: CaptureTerms & Pick<Terms, "security">,
  agents: readonly AgentRecord[],
  { appealUnit, minStake }: { readonly appealUnit: bigint; readonly minStake: bigint },
): Security {
  const { committeeSize, security } = terms;
  const quorum = quorumOf(committeeSize);
  const own = ownSeatsOf(committeeSize);
  const drawn = agents.filter(({ active }) => active);
  const weights = drawn.map(({ stake, reputation, proven }) => stake * BigInt(reputation) * (proven ? 2n : 1n));
  const capture = captureOf(terms, weights);
  if (security === "none" || drawn.length === 0)
    return { quorum, own, value: 0n, leastValue: 0n, operatorsValue: 0n, capture, concentration: null };
  const total = sumOf(weights);
  const holdingBy = (holder: (agent: AgentRecord) => string): Holding => {
    const held = new Map<string, bigint>();
    for (const [index, agent] of drawn.entries())
      held.set(holder(agent), (held.get(holder(agent)) ?? 0n) + (weights[index] ?? 0n));
    const largest = [...held.values()].reduce((most, weight) => (weight > most ? weight : most), 0n);
    return { holders: held.size, largest: Number((largest * ONE) / total) as Ppm };
  };
  const slices = drawn.map(({ stake }) => sliceOf(stake, appealUnit));
  /** What so many drawn seats lose together on average. */
  const onAverage = (losses: readonly bigint[]): bigint =>
    (sumOf(losses.map((loss, index) => loss * (weights[index] ?? 0n))) * BigInt(own)) / total;
  // SC3: a slice takes the same part of what is bonded and of what leaves, which only delegators may have.
  const ownParts = drawn.map(({ stake, unbonding }) => {
    const held = stake + unbonding;
    const slice = sliceOf(held, appealUnit);
    return held > minStake ? (slice * minStake) / held : slice;
  });
  const least = slices.toSorted((a, b) => (a < b ? -1 : 1)).slice(0, own);
  return {
    quorum,
    own,
    value: onAverage(slices),
    leastValue: sumOf(least),
    operatorsValue: onAverage(ownParts),
    capture,
    concentration: { operators: holdingBy(({ operator }) => operator), models: holdingBy(({ model }) => model) },
  };
}

const sumOf = (amounts: readonly bigint[]): bigint => amounts.reduce((sum, amount) => sum + amount, 0n);

/** SC7: how many of the signatures on a lie must be of a quorum of liars, where all other seats sign it, too. */
export function ownSeatsOf(size: number): number {
  return 2 * quorumOf(size) - size;
}

export function securityRows({ committeeSize, security }: Terms, found: Security, stakeToken: Unit): Row[] {
  const { quorum, own, value, leastValue, operatorsValue, capture, concentration } = found;
  const secures =
    security === "none"
      ? "0: no stake stands behind the answer"
      : `${formatAmount(value, stakeToken)}: ${quorum} of ${committeeSize} seats must agree on an answer, and each whose signature is sent loses ${percent(Number(OVERTURN_SLASH_PPM))} of its stake, at most a hundred times what a seat of the next committee earns, if two larger committees overturn it. Seats that disagreed sign, too, so a quorum that lies loses it for ${own} of its own seats at least; ${formatAmount(leastValue, stakeToken)} where the least stakes sit`;
  return [
    ["secures", secures],
    ...(security === "none" ? [] : [["own", ownText(operatorsValue, stakeToken)] as const]),
    ...captureRows(capture),
    ...(concentration === null ? [] : [["concentrated", concentrationText(concentration)] as const]),
  ];
}

function ownText(operatorsValue: bigint, stakeToken: Unit): string {
  return `${formatAmount(operatorsValue, stakeToken)} of it is the operators' own at least. Their delegators may lose the rest, and a bribe need not make up for that`;
}

function concentrationText({ operators, models }: NonNullable<Security["concentration"]>): string {
  const part = ({ holders, largest }: Holding, holder: string): string =>
    `${percent(largest)} of the weight at the largest of ${holders} ${holder}`;
  return `${part(operators, "operators")}, ${part(models, "declared models")}; nothing proves that two of them are not one`;
}

/**
 * Says that more than 2/3 of the agents that are or will be drawn state one model, whose errors they share: a committee can then decide by it
 * alone. Null if they do not.
 */
export function sharedModel(agents: readonly Pick<AgentRecord, "active" | "asleep" | "model">[]): string | null {
  const awake = agents.filter(({ active, asleep }) => active && !asleep);
  const [largest] = [...Map.groupBy(awake, ({ model }) => model)].toSorted(([, a], [, b]) => b.length - a.length);
  const [model, { length: count }] = largest ?? ["", []];
  if (count < 2 || !isSupermajority(count, awake.length)) return null;
  const who = count === awake.length ? `all ${count}` : `${count} of ${awake.length}`;
  return `${who} agents that are active and awake state the model ${printable(model)}: they err alike, and their agreement says little`;
}

/** The names under which the models of this repository's models/ are registered. */
const TOY_MODEL = /^conclave-(small|tiny|lean|slim)@/;

/** Warns of agents whose model knows toy questions only; null if there are none. */
export function toyModel(agents: readonly Pick<AgentRecord, "active" | "asleep" | "model">[]): string | null {
  const awake = agents.filter(({ active, asleep }) => active && !asleep);
  const toys = awake.filter(({ model }) => TOY_MODEL.test(model)).length;
  if (toys === 0) return null;
  return `${toys} of ${awake.length} agents that are active and awake state a small model of Conclave's repository, which ${KNOWS_TOYS}`;
}
