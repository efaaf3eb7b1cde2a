import type { CanonicalAnswer } from "../../answer.ts";
import { answerClasses } from "../../equivalence.ts";
import { expOfNegative, lnOfRatio } from "../../fixed-point.ts";
import { candidatesOf, type Candidate } from "../../proposals.ts";
import { faultTolerance } from "../../quorum.ts";
import type { RoundBook } from "../../round-book.ts";
import { ONE_PPM, type Assurance, type Attempt, type Ppm, type SeatIndex } from "../../types.ts";

/** BA4: the integer x stands for x / 2^BITS nats. */
export const BITS = 64;

/** BA6: what the most confident report may weigh at most: as one that is seven tenths sure. */
const CAP_TIER = 700_000;

/** BA8: least posterior. */
const THETA: Readonly<Record<Assurance, Ppm>> = { normal: 900_000 as Ppm, high: 980_000 as Ppm };

/** BA9: least Bayes factor beyond what f seats can bring. */
const FACTOR = 3n;

/** An answer somebody gave, and how much speaks for it. */
export interface Hypothesis {
  readonly answer: CanonicalAnswer;
  /** Ascending. */
  readonly seats: readonly SeatIndex[];
  /** Log-likelihood against an answer that nobody gave, in nats of BITS fraction bits. */
  readonly evidence: bigint;
}

export interface Belief {
  /** In the canonical order of their outcomes. */
  readonly hypotheses: readonly Hypothesis[];
  /** K: the hypotheses, answers that nobody gave, and "none of these". */
  readonly size: number;
  /** The one with the most evidence; null when none, or two, have it. */
  readonly top: Hypothesis | null;
  /** Of `top`; 0 without one. */
  readonly posterior: Ppm;
  /** ln of the Bayes factor of `top` over the next; 0 without one. */
  readonly margin: bigint;
  readonly needed: { readonly posterior: Ppm; readonly margin: bigint };
}

/** BA5: ln(tau (K - 1) / (1 - tau)), between 0 and the cap, tempered by reputation. */
export function evidenceOf(tier: Ppm, reputation: Ppm, size: number): bigint {
  const cap = capOf(size);
  const plain = lnOfOdds(tier, size);
  const bounded = plain < 0n ? 0n : plain > cap ? cap : plain;
  return (bounded * BigInt(reputation)) / BigInt(ONE_PPM);
}

/** BA6. */
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

/** BA9: the most that any f seats can bring, and a factor on top of it. */
export function neededMargin(attempt: Attempt, size: number): bigint {
  const { committee } = attempt;
  const heaviest = committee
    .map(({ reputation }) => reputation)
    .toSorted((a, b) => b - a)
    .slice(0, faultTolerance(committee.length));
  const weight = heaviest.reduce((sum, reputation) => sum + BigInt(reputation), 0n);
  return (capOf(size) * weight) / BigInt(ONE_PPM) + lnOfRatio(FACTOR, 1n, BITS);
}

/** BA2 to BA9: what the reports of a complete round come to. A pure function of the message set: no order enters it. */
export function beliefOf(book: RoundBook): Belief {
  const { attempt } = book;
  const reports = candidatesOf(book, "closed");
  const classes = answerClasses(book, reports, "closed");
  const size = Math.max(classes.length, 2) + 1;
  const hypotheses = classes.map(({ representative, seats }): Hypothesis => ({
    answer: representative,
    seats,
    evidence: seats.reduce((sum, seat) => sum + reportedBy(attempt, reports, seat, size), 0n),
  }));
  const needed = {
    posterior: THETA[attempt.request.terms.assurance],
    margin: neededMargin(attempt, size),
  };
  return { hypotheses, size, needed, ...leading(hypotheses, size) };
}

/** BA3: a seat reports once, so it counts once. */
function reportedBy(attempt: Attempt, reports: readonly Candidate[], seat: SeatIndex, size: number): bigint {
  const report = reports.find((one) => one.seat === seat);
  const reputation = attempt.committee[seat]?.reputation;
  return report === undefined || reputation === undefined ? 0n : evidenceOf(report.tier, reputation, size);
}

/** BA7: the prior is the same for all K hypotheses; those that nobody gave stay at evidence 0. */
function leading(hypotheses: readonly Hypothesis[], size: number): Pick<Belief, "top" | "posterior" | "margin"> {
  const [first, second] = hypotheses.toSorted((a, b) =>
    a.evidence === b.evidence ? 0 : a.evidence < b.evidence ? 1 : -1,
  );
  // There are always unnamed hypotheses: K is at least one more than there are classes.
  const margin = first === undefined ? 0n : first.evidence - (second?.evidence ?? 0n);
  if (first === undefined || margin === 0n) return { top: null, posterior: 0 as Ppm, margin: 0n };
  const masses = hypotheses.map(({ evidence }) => expOfNegative(evidence - first.evidence, BITS));
  const unnamed = BigInt(size - hypotheses.length) * expOfNegative(-first.evidence, BITS);
  const total = masses.reduce((sum, mass) => sum + mass, unnamed);
  const posterior = Number((expOfNegative(0n, BITS) * BigInt(ONE_PPM)) / total) as Ppm;
  return { top: first, posterior, margin };
}

/** BA8, BA9: the answer that the belief commits to; null = Hung. */
export function committedBy({ top, posterior, margin, needed }: Belief): Hypothesis | null {
  return top !== null && posterior >= needed.posterior && margin >= needed.margin ? top : null;
}
