import type { Band } from "../references/agreement.ts";
import type { Suite } from "../eval/suites.ts";
import type { Deliberated } from "./deliberations.ts";
import { mean } from "simple-statistics";
import { comparisonOf, percent, verdictOf, type Claim, type Comparison } from "./study.ts";

/** A mode of the paper with its figures in Table II, for n seats. */
export interface Mode {
  readonly id: string;
  readonly requests: string;
  readonly requestsOf: (n: number) => number;
  /** Latency in L; a synthesis takes as long as any call. */
  readonly latency: number;
}

export const MODES: readonly Mode[] = [
  { id: "council", requests: "n + 1", requestsOf: (n) => n + 1, latency: 2 },
  // One seat drafts, one converges: k = n - 2 review.
  { id: "adversarial", requests: "k + 2", requestsOf: (n) => n, latency: 3 },
  { id: "debate", requests: "3n + 1", requestsOf: (n) => 3 * n + 1, latency: 4 },
];

/** One question in one mode. */
export interface Run {
  readonly mode: string;
  readonly seats: number;
  readonly requests: number;
  readonly criticalPath: number;
  /** Virtual time in units of one call. */
  readonly virtual: number;
  /** Tokens, in those of one first answer to the same question. */
  readonly tokens: number;
}

export interface Trajectory {
  readonly suite: Suite;
  /** Readings after the answers, the critiques and the replies, in percent. */
  readonly readings: readonly [number, number, number];
  /** True if the first answers differ. */
  readonly isContested: boolean;
  readonly band: Band;
  readonly status: Deliberated["status"];
  /** True if one greedy call of the same model is right. */
  readonly greedyIsRight: boolean;
}

/** Largest distance, as a share, from the paper's tokens at which a mode agrees with it. */
const NEAR = 0.25;
/** Powers of n that count as quadratic. */
const QUADRATIC = [1.5, 2.5] as const;

export function deepthnkrClaims(runs: readonly Run[], trajectories: readonly Trajectory[]): readonly Claim[] {
  return [...costClaims(runs), ...meterClaims(trajectories)];
}

/** Table II and Fig. 9. */
function costClaims(runs: readonly Run[]): readonly Claim[] {
  const modeOf = ({ mode }: Run) => MODES.find(({ id }) => id === mode) as (typeof MODES)[number];
  const exact = runs.filter((run) => run.requests === modeOf(run).requestsOf(run.seats)).length;
  const timely = runs.filter((run) => run.criticalPath === modeOf(run).latency).length;
  const shared = MODES.filter(({ id }) => id !== "debate");
  const ratios = shared.map(({ id, requestsOf }) => {
    return mean(runs.filter(({ mode }) => mode === id).map(({ tokens, seats }) => tokens / requestsOf(seats)));
  });
  const near = ratios.filter((ratio) => Math.abs(ratio - 1) <= NEAR).length;
  return [
    {
      paper: "Table II: exactly n + 1, k + 2 and 3n + 1 requests",
      here: `${exact} of ${runs.length} decisions made exactly so many`,
      agrees: verdictOf(exact === runs.length),
      why: "as long as no chair fails and every member answers (CH5, DB4)",
    },
    {
      paper: "Table II, Fig. 9: basic council 2 L, adversarial 3 L, debate 4 L, however many members",
      here: `${timely} of ${runs.length} decisions have so many calls one after the other`,
      agrees: verdictOf(timely === runs.length),
      why: "members work side by side (T11); commitments, reveals and the certificate come on top and are in the virtual time",
    },
    {
      paper: "Table II: tokens about (n + 1) T in the council, (k + 2) T in the adversarial one",
      here: `tokens are ${ratios.map((ratio) => ratio.toFixed(2)).join(", ")} of that (${shared.map(({ id }) => id).join(", ")})`,
      agrees: near === ratios.length ? "yes" : near > 0 ? "in part" : "no",
      why: `within ${percent(NEAR)} % is called about. Later prompts hold the others' texts, so calls differ in length; with answers as short as here the prompts count most`,
    },
    overheadClaim(runs.filter(({ mode }) => mode === "debate")),
  ];
}

/**
 * Judges what a debate takes beyond 3n + 1 first answers, and the power of n by which that grows from the least to
 * the largest committee.
 */
function overheadClaim(debates: readonly Run[]): Claim {
  const sizes = [...new Set(debates.map(({ seats }) => seats))].toSorted((a, b) => a - b);
  const overheads = sizes.map((n) => {
    return mean(debates.filter(({ seats }) => seats === n).map(({ tokens }) => tokens)) - (3 * n + 1);
  });
  const [least, most] = [overheads[0] as number, overheads.at(-1) as number];
  const power = Math.log(most / least) / Math.log((sizes.at(-1) as number) / (sizes[0] as number));
  const isOver = overheads.every((overhead) => overhead > 0);
  const isQuadratic = power >= QUADRATIC[0] && power <= QUADRATIC[1];
  return {
    paper: "Table II: tokens of a debate about (3n + 1) T and a quadratic overhead",
    here: `${overheads.map((overhead) => overhead.toFixed(1)).join(", ")} T beyond that with ${sizes.join(", ")} members${isOver && sizes.length > 1 ? `, which grows as n to the power of ${power.toFixed(1)}` : ""}`,
    agrees: sizes.length < 2 ? "not redone" : !isOver ? "no" : isQuadratic ? "yes" : "in part",
    why: `a power of ${QUADRATIC.join(" to ")} is called quadratic; the second and the third round's prompts hold the others' texts`,
  };
}

/** VII and Fig. 5. */
function meterClaims(all: readonly Trajectory[]): readonly Claim[] {
  const calm = meanReadings(all.filter(({ isContested }) => !isContested));
  const contested = meanReadings(all.filter(({ isContested }) => isContested));
  const shown = (readings: readonly number[] | null): string =>
    readings === null ? "no such question" : readings.map((reading) => reading.toFixed(0)).join(", ");
  const accepted = all.filter(({ band }) => band === "accept");
  const others = all.filter(({ band }) => band !== "accept");
  const at = (readings: readonly number[], round: number): number => readings[round] as number;
  const [inAccepted, inOthers] = [accepted, others].map((rows) => comparisonOf("", rows)) as [Comparison, Comparison];
  const shareIn = (count: number, { questions }: Comparison): number => count / Math.max(1, questions);
  const isTelling = shareIn(inAccepted.right, inAccepted) > shareIn(inOthers.right, inOthers);
  return [
    {
      paper: "VII-B: on uncontested questions agreement is 80 % or more and rises a little to round 3",
      here: `${shown(calm)} where the first answers are the same`,
      agrees: calm === null ? "not redone" : at(calm, 0) < 80 ? "no" : at(calm, 2) >= at(calm, 0) ? "yes" : "in part",
      why: "the lexical meter compares words, not meaning; the paper's compares embeddings of short forms",
    },
    {
      paper: "VII-B: on contested questions it begins between 10 and 40 % and drops with the critiques",
      here: `${shown(contested)} where the first answers differ`,
      agrees:
        contested === null
          ? "not redone"
          : at(contested, 1) < at(contested, 0)
            ? at(contested, 0) >= 10 && at(contested, 0) <= 40
              ? "yes"
              : "in part"
            : "no",
      why: "critiques of the embedded model have a fixed form (`so 63, answered 53`), so that their words are alike whatever they say",
    },
    {
      paper: "VII-C: above 70 % after round 3 the synthesis may be relied on",
      here: [inAccepted, inOthers]
        .map((one, index) => {
          const [chair, greedy] = [one.right, one.greedyRight].map((count) => percent(shareIn(count, one)));
          return `chair right in ${chair} % of ${one.questions} ${index === 0 ? "such debates" : "others"}, one greedy call in ${greedy} %`;
        })
        .join("; "),
      agrees:
        accepted.length === 0 || others.length === 0
          ? "not redone"
          : !isTelling
            ? "no"
            : inAccepted.right >= inAccepted.greedyRight
              ? "yes"
              : "in part",
      why: "a signal, never a certificate (AG5): members that err alike agree, too",
    },
    {
      paper: "VIII: microservices or monolith, three frontier models: 19, 16, 16 %, principled non-convergence",
      here: "nothing",
      agrees: "not redone",
      why: "the models are not to be had offline, and the question has no known answer",
    },
  ];
}

/** Returns mean readings; null without rows. */
export function meanReadings(rows: readonly Trajectory[]): readonly number[] | null {
  return rows.length === 0
    ? null
    : [0, 1, 2].map((round) => mean(rows.map(({ readings }) => readings[round] as number)));
}
