import type { CanonicalAnswer } from "../../request/kinds.ts";
import { answerClasses } from "../../phases/equivalence.ts";
import { expOfNegative, lnOfRatio } from "./fixed-point.ts";
import { candidatesOf, type Candidate } from "../../phases/proposals.ts";
import { percentText, shownAnswer } from "../../phases/reasons.ts";
import { faultTolerance, isMajority, isSupermajority } from "../../quorum.ts";
import type { RoundBook } from "../../phases/round-book.ts";
import { ONE_PPM, type Assurance, type Attempt, type Ppm, type SeatIndex } from "../../types.ts";

/** BA4: the integer x stands for x / 2^BITS nats. */
export const BITS = 64;

/** BA6: a report weighs at most as much as one that is seven tenths sure. */
const CAP_TIER = 700_000;

interface Demands {
  /** BA8: true if enough of all seats have reported. */
  readonly quorum: (reports: number, seats: number) => boolean;
  /** BA9: the least posterior that decides. */
  readonly posterior: Ppm;
  /** BA10: the least Bayes factor without the f heaviest reports. */
  readonly factor: bigint;
}

const DEMANDS: Readonly<Record<Assurance, Demands>> = {
  normal: { quorum: isMajority, posterior: 900_000 as Ppm, factor: 2n },
  high: { quorum: isSupermajority, posterior: 940_000 as Ppm, factor: 3n },
};

/** An answer that a seat gave, and the weight of evidence for it. */
export interface Hypothesis {
  readonly answer: CanonicalAnswer;
  /** The seats that gave it, ascending. */
  readonly seats: readonly SeatIndex[];
  /** Log-likelihood against an answer that nobody gave, in nats of BITS fraction bits. */
  readonly weight: bigint;
  /** The most of the weight that f of its seats can bring. */
  readonly doubtful: bigint;
}

export interface Belief {
  /** The hypotheses in the canonical order of their outcomes. */
  readonly hypotheses: readonly Hypothesis[];
  /** K: the hypotheses, answers that nobody gave, and "none of these". */
  readonly size: number;
  /** The hypothesis with the most weight; null without hypotheses, or if two tie. */
  readonly top: Hypothesis | null;
  /** Posterior of `top`; 0 without one. */
  readonly posterior: Ppm;
  /** ln of the Bayes factor of `top` over the next hypothesis; 0 without one. */
  readonly margin: bigint;
  /** True if enough seats reported. */
  readonly hasQuorum: boolean;
}

/** BA5: ln(tau (K - 1) / (1 - tau)), between 0 and the cap, tempered by reputation. */
export function weightOfReport(tier: Ppm, reputation: Ppm, size: number): bigint {
  const cap = capOf(size);
  const plain = lnOfOdds(tier, size);
  const bounded = plain < 0n ? 0n : plain > cap ? cap : plain;
  return (bounded * BigInt(reputation)) / BigInt(ONE_PPM);
}

/** BA6: the cap on the weight of one report. */
export function capOf(size: number): bigint {
  return lnOfOdds(CAP_TIER, size);
}

const oddsOf = new Map<string, bigint>();

function lnOfOdds(tier: number, size: number): bigint {
  const key = `${tier}.${size}`;
  const known = oddsOf.get(key) ?? lnOfRatio(BigInt(tier) * BigInt(size - 1), BigInt(ONE_PPM - tier), BITS);
  oddsOf.set(key, known);
  return known;
}

/** BA2 to BA8: the belief after the reports of a complete round. A pure function of the message set: no order enters it. */
export function beliefOf(book: RoundBook): Belief {
  const { attempt } = book;
  const reports = candidatesOf(book, "closed");
  const classes = answerClasses(book, reports, "closed");
  const size = Math.max(classes.length, 2) + 1;
  const faulty = faultTolerance(attempt.committee.length);
  const hypotheses = classes.map(({ representative, seats }): Hypothesis => {
    const weights = seats
      .map((seat) => reportedBy(attempt, reports, seat, size))
      .toSorted((a, b) => (a === b ? 0 : a < b ? 1 : -1));
    return { answer: representative, seats, weight: sum(weights), doubtful: sum(weights.slice(0, faulty)) };
  });
  const { quorum } = DEMANDS[attempt.request.terms.assurance];
  return {
    hypotheses,
    size,
    hasQuorum: quorum(reports.length, attempt.committee.length),
    ...leading(hypotheses, size),
  };
}

/** BA3: the weight of a seat's report. A seat reports once, so it counts once. */
function reportedBy(attempt: Attempt, reports: readonly Candidate[], seat: SeatIndex, size: number): bigint {
  const report = reports.find((one) => one.seat === seat);
  const reputation = attempt.committee[seat]?.reputation;
  return report === undefined || reputation === undefined ? 0n : weightOfReport(report.tier, reputation, size);
}

function sum(weights: readonly bigint[]): bigint {
  return weights.reduce((total, weight) => total + weight, 0n);
}

/** BA7: the prior is the same for all K hypotheses; hypotheses that nobody gave stay at weight 0. */
function leading(hypotheses: readonly Hypothesis[], size: number): Pick<Belief, "top" | "posterior" | "margin"> {
  const [first, second] = hypotheses.toSorted((a, b) => (a.weight === b.weight ? 0 : a.weight < b.weight ? 1 : -1));
  // There is always an unnamed hypothesis: K exceeds the number of classes by at least one.
  const margin = first === undefined ? 0n : first.weight - (second?.weight ?? 0n);
  if (first === undefined || margin === 0n) return { top: null, posterior: 0 as Ppm, margin: 0n };
  return { top: first, posterior: posteriorOf({ hypotheses, size }, first), margin };
}

/** BA7. */
function posteriorOf({ hypotheses, size }: Pick<Belief, "hypotheses" | "size">, one: Hypothesis): Ppm {
  const most = hypotheses.reduce((greatest, { weight }) => (weight > greatest ? weight : greatest), 0n);
  const mass = (weight: bigint): bigint => expOfNegative(weight - most, BITS);
  const unnamed = BigInt(size - hypotheses.length) * mass(0n);
  const total = sum(hypotheses.map(({ weight }) => mass(weight))) + unnamed;
  return Number((mass(one.weight) * BigInt(ONE_PPM)) / total) as Ppm;
}

/** BA15: the answer of more than 2/3 of all seats; null without one. */
export function countedIn({ hypotheses }: Belief, { committee }: Attempt): Hypothesis | null {
  return hypotheses.find(({ seats }) => isSupermajority(seats.length, committee.length)) ?? null;
}

/** PH14: the posterior of the leading answer beside the one that is needed, and what else the belief lacks. */
export function explainBelief(belief: Belief, { committee, request }: Attempt): readonly string[] {
  const { assurance } = request.terms;
  const demands = DEMANDS[assurance];
  if (!belief.hasQuorum) {
    const needed = assurance === "high" ? "more than 2/3" : "more than 1/2";
    return [`${reportsOf(belief)} of ${committee.length} seats gave an answer, ${needed} needed`];
  }
  const { top, posterior } = belief;
  if (top === null) return ["no answer has more weight of evidence than every other, nor than none of them"];
  const sure = `${shownAnswer(top.answer.text)}: posterior ${percentText(posterior)} of ${percentText(demands.posterior)} needed`;
  return leads(belief, top, demands)
    ? [sure]
    : [
        `${sure}; its lead over the next answer is too small without f of its reports (f = ${faultTolerance(committee.length)})`,
      ];
}

function reportsOf({ hypotheses }: Belief): number {
  return hypotheses.reduce((reports, { seats }) => reports + seats.length, 0);
}

/** BA10. */
function leads({ margin }: Belief, { doubtful }: Hypothesis, { factor }: Demands): boolean {
  return margin >= doubtful + lnOfRatio(factor, 1n, BITS);
}

/** BA8 to BA10: the answer that the belief decides; null = Hung. */
export function decidedBy(belief: Belief, assurance: Assurance): Hypothesis | null {
  const { top, posterior, hasQuorum } = belief;
  const demands = DEMANDS[assurance];
  if (top === null || !hasQuorum || posterior < demands.posterior) return null;
  return leads(belief, top, demands) ? top : null;
}
