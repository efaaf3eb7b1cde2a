import type { Suite } from "../eval/suites.ts";
import type { Deliberated } from "./deliberations.ts";
import { mean } from "simple-statistics";
import { shareOf } from "../eval/statistics.ts";
import { comparisonOf, percent, verdictOf, type Claim, type Comparison } from "./study.ts";

/** The paper's cut-off; a deliberation that hangs counts as one more turn. */
export const CUT_OFF = 10;
/** Figures of one deliberation. */
export interface Turns {
  readonly seats: number;
  readonly ratio: number;
  readonly suite: Suite;
  readonly status: Deliberated["status"];
  /** True if one greedy call of the same model is right. */
  readonly greedyIsRight: boolean;
  /** Reflection turns until the decision; one more than the cut-off if it hung. */
  readonly turns: number;
  /** Share of seats that are right at the start of each turn. */
  readonly accuracy: readonly number[];
}

/** Size of a transcript with that many utterances. */
export interface Block {
  readonly utterances: number;
  readonly bytes: number;
  readonly rootBytes: number;
}

/** Share that "most cases" means. */
const MOST = 0.8;
/** Largest distance of bytes from a straight line, as a share, that is called linear. */
const LINEAR = 0.05;
/** Rounding error of means of shares. */
const ROUNDING = 1e-9;

export interface UnanimousFigures {
  readonly ratios: readonly Turns[];
  readonly bySize: readonly Turns[];
  readonly arithmetic: readonly Turns[];
  readonly blocks: readonly Block[];
}

export function unanimousClaims({ ratios, bySize, arithmetic, blocks }: UnanimousFigures): readonly Claim[] {
  return [
    accuracyClaim(comparisonsOf({ ratios, bySize, arithmetic })),
    ...ratioClaims(ratios),
    ...sizeClaims(bySize),
    ...restClaims(arithmetic, blocks),
  ];
}

/** Compares every committee once; one of the sizes is that of the ratios. */
export function comparisonsOf({
  ratios,
  bySize,
  arithmetic,
}: Pick<UnanimousFigures, "ratios" | "bySize" | "arithmetic">): readonly Comparison[] {
  const groups = Map.groupBy(
    [...ratios, ...bySize.filter(({ seats }) => ratios.every((one) => one.seats !== seats)), ...arithmetic],
    ({ suite, seats, ratio }) => `${suite}, ${seats} seats, prompt ratio ${ratio}`,
  );
  return [...groups].map(([who, rows]) => comparisonOf(who, rows));
}

function accuracyClaim(comparisons: readonly Comparison[]): Claim {
  const kept = comparisons.filter(({ right, greedyRight }) => right >= greedyRight);
  const better = kept.filter(({ right, greedyRight }) => right > greedyRight);
  return {
    paper: "I: several models that deliberate improve accuracy",
    here: `of ${comparisons.length} committees ${better.length} decide more questions right than one greedy call of the same model, ${comparisons.length - kept.length} fewer, the others as many`,
    agrees: better.length === 0 ? "no" : kept.length === comparisons.length ? "yes" : "in part",
    why: "all seats hold the file of the greedy call, sampled so that they differ: what deliberation gains stands against what sampling loses",
  };
}

function ratioClaims(all: readonly Turns[]): readonly Claim[] {
  const at = (ratio: number): readonly Turns[] => all.filter((one) => one.ratio === ratio);
  const known = [...new Set(all.map(({ ratio }) => ratio))];
  const means = known.map((ratio) => mean(at(ratio).map(({ turns }) => turns)));
  const [first, last] = [means[0] as number, means.at(-1) as number];
  const isFalling = means.slice(1).every((turns, index) => turns <= (means[index] as number));
  const whole = at(1);
  const wrong = known.map((ratio) => at(ratio).filter(({ status }) => status === "wrong").length);
  const low = wrong.slice(0, 2).reduce((sum, count) => sum + count, 0);
  const high = wrong.slice(2).reduce((sum, count) => sum + count, 0);
  return [
    {
      paper: "Table III: the more agents reason step by step, the fewer turns",
      here: `mean turns ${means.map((turns) => turns.toFixed(2)).join(", ")} at prompt ratio ${known.join(", ")}`,
      agrees: last >= first ? "no" : isFalling ? "yes" : "in part",
      why: "here an agent that does not reason gives its first answer without a derivation; from the first reflection on all derive, as in the paper",
    },
    {
      paper: "Table III: with prompt ratio 1 every question takes one turn",
      here: `turns ${whole.map(({ turns }) => turns).join(" ")}`,
      agrees: verdictOf(whole.every(({ turns }) => turns <= 1)),
      why: "our rules decide in turn 0 when the first answers agree already (UN9); a model that errs at random can differ again in any turn",
    },
    {
      paper: "Table III: with ratio 0 or .25 some agreements are wrong (2 of 10), with more none",
      here: `${low} wrong at the two lowest ratios, ${high} at the others`,
      agrees: low > 0 && high === 0 ? "yes" : low > high ? "in part" : "no",
      why: "unanimity is no proof: agents that err alike agree on the error",
    },
  ];
}

function sizeClaims(all: readonly Turns[]): readonly Claim[] {
  const sizes = [...new Set(all.map(({ seats }) => seats))];
  const bySize = sizes.map((seats) => all.filter((one) => one.seats === seats));
  const means = bySize.map((rows) => mean(rows.map(({ turns }) => turns)));
  const isRising = means.slice(1).every((turns, index) => turns > (means[index] as number));
  const early = all.filter(({ turns }) => turns <= 3).length / all.length;
  return [
    {
      paper: "XII-C: two or three turns suffice for unanimity in most cases",
      here: `${percent(early)} % of the questions are decided by turn 3`,
      agrees: verdictOf(early >= MOST),
      why: `from ${percent(MOST)} % on it is called most; the paper's Fig. 8 is in seconds for three agents, fewer than a committee here has`,
    },
    {
      paper: "XII-D: more agents need more turns",
      here: `mean turns ${means.map((turns) => turns.toFixed(2)).join(", ")} with ${sizes.join(", ")} agents`,
      agrees: verdictOf(isRising),
      why: "unanimity of more agents is harder; but ours excludes hold-outs that repeat themselves or were heard (UN7, UN8), and a larger committee bears more of them",
    },
    improvementClaim(sizes.map((seats, index) => ({ seats, rows: bySize[index] as readonly Turns[] }))),
  ];
}

/** Judges each size by itself, turn by turn: a rise from the first to the last turn may hide a fall between them. */
function improvementClaim(sizes: readonly { readonly seats: number; readonly rows: readonly Turns[] }[]): Claim {
  const courses = sizes.map(({ seats, rows }) => {
    const turns = Math.max(...rows.map(({ accuracy }) => accuracy.length));
    const shares = Array.from({ length: turns }, (_, turn) => accuracyAt(rows, turn));
    const falls = shares.slice(1).filter((share, turn) => share < (shares[turn] as number) - ROUNDING).length;
    return { seats, shares, falls, gain: (shares.at(-1) as number) - (shares[0] as number) };
  });
  // If all seats are right at first, none can get better.
  const open = courses.filter(({ shares }) => (shares[0] as number) < 1);
  const better = open.filter(({ gain }) => gain > ROUNDING);
  const isSteady = better.length === open.length && open.every(({ falls }) => falls === 0);
  return {
    paper: "Fig. 9: agents get better from turn to turn",
    here: courses
      .map(
        ({ seats, shares, falls }) =>
          `${seats} agents: ${shares.map(percent).join(", ")} % right, ${falls} of ${shares.length - 1} turns down`,
      )
      .join("; "),
    agrees: open.length === 0 ? "not redone" : better.length === 0 ? "no" : isSteady ? "yes" : "in part",
    why: "they see each other's answers and arguments, wrong ones, too; a plain vote of the first answers gains much of the same (see above, self-consistency)",
  };
}

function restClaims(arithmetic: readonly Turns[], blocks: readonly Block[]): readonly Claim[] {
  const { share, interval } = shareOf(arithmetic.filter(({ status }) => status === "right").length, arithmetic.length);
  const off = deviation(blocks);
  const [first, last] = [blocks[0], blocks.at(-1)] as [Block, Block];
  const slope = (last.bytes - first.bytes) / Math.max(1, last.utterances - first.utterances);
  return [
    {
      paper: "XII-E: 77.4 % of arithmetic problems are solved",
      here: `${percent(share)} % (${interval.map(percent).join(" to ")})`,
      agrees: "not redone",
      why: "Llama 3.1 70B on another set of problems: the two numbers have nothing in common but the protocol",
    },
    {
      paper: "Table II: block size grows linearly with the utterances (112 bytes each)",
      here: `${slope.toFixed(0)} bytes each, at most ${percent(off)} % off a straight line`,
      // Any two sizes lie on a line.
      agrees: blocks.length < 3 ? "not redone" : verdictOf(slope > 0 && off <= LINEAR),
      why: `up to ${percent(LINEAR)} % is called linear; ours are signed and hold answer, argument and what the seat had seen, so they are larger`,
    },
    {
      paper: "Table II: building a block takes 7 to 9 ms, whatever its size",
      here: "one SHA-256 per utterance and one for the root",
      agrees: "not redone",
      why: "the machine is shared, so times would say nothing; the number of hashes grows with the utterances",
    },
  ];
}

/** Returns the largest distance of any size from the line between the first and the last, as a share of that line. */
export function deviation(blocks: readonly Block[]): number {
  const [first, last] = [blocks[0], blocks.at(-1)] as [Block, Block];
  const slope = (last.bytes - first.bytes) / Math.max(1, last.utterances - first.utterances);
  return Math.max(
    ...blocks.map(({ utterances, bytes }) => {
      const straight = first.bytes + slope * (utterances - first.utterances);
      return Math.abs(bytes - straight) / straight;
    }),
  );
}

/** Returns the mean share of right seats after that many turns. */
export function accuracyAt(rows: readonly Turns[], turn: number): number {
  return mean(rows.map(({ accuracy }) => accuracy[Math.min(turn, accuracy.length - 1)] as number));
}
