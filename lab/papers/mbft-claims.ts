import type { ScriptedAttack } from "../attacks/scripted.ts";
import { RIGHT } from "../attacks/trial.ts";
import type { Calibrated, Misses } from "./mbft-reference.ts";
import { percent, verdictOf, type Claim } from "./study.ts";

/** Figures of the published rules and of ours. */
export interface MbftFigures {
  readonly sizes: readonly number[];
  /** For each size, the number of fooled honest verifiers that makes the liars' answer commit; null: no number does. */
  readonly fooled: readonly (number | null)[];
  /** Unanimous honest committees that fail in round 0, with theta at n tau (here) and just below it (next). */
  readonly atEquality: Misses;
  readonly belowEquality: Misses;
  /** Recorded scenarios in which a reputation rises. */
  readonly rising: Misses;
  /** Steps of n at which the committed weight falls. */
  readonly shrinking: Misses;
  readonly isOrderBlind: boolean;
  readonly attacks: readonly ScriptedAttack[];
  readonly calibrated: readonly Calibrated[];
  /** Recorded runs of the published code that our reference mode does not reproduce. */
  readonly recordings: Misses;
}

export function mbftClaims(figures: MbftFigures): readonly Claim[] {
  return [...propositions(figures), ...promises(figures), ...bayesianClaims(figures), publishedCode(figures)];
}

/** Section IV. */
function propositions({ sizes, fooled, atEquality, belowEquality, rising, shrinking }: MbftFigures): readonly Claim[] {
  return [
    {
      paper: "Proposition 1: with f < n/3 and theta > f tauMax a proposal of a Byzantine seat is never committed",
      here: `the reference commits the liars' answer when ${fooled.map((count) => count ?? "never so many").join(", ")} honest verifiers of ${sizes.join(", ")} seats are fooled and the others find no counter-proof`,
      agrees: verdictOf(fooled.every((count) => count === null)),
      why: "the proof assumes that honest verifiers reject every unsound proof; language models do not. MB1 states how many fooled ones theta bears and refuses a committee that bears none (test/core/mbft-mechanisms.test.ts, M14)",
    },
    {
      paper: "Proposition 2: a unanimous honest committee commits in round 0 if theta <= n tau",
      here: `of ${atEquality.of} pairs of n = 1..31 and tau = .1, .2, .. 1 the reference fails in ${atEquality.missed} at theta = n tau, in ${belowEquality.missed} just below it`,
      agrees: belowEquality.missed > 0 ? "no" : atEquality.missed > 0 ? "in part" : "yes",
      why: "it adds doubles, so that a sum may lie below the equal product. Ours adds integers (MB1, MB14; test/core/mbft-rules.test.ts, MB14 and M15)",
    },
    {
      paper: "Proposition 3: reputations never rise",
      here: `in ${rising.missed} of the published code's ${rising.of} scenarios one rises`,
      agrees: verdictOf(rising.missed === 0),
      why: "what honest leaders lose never comes back, which the vetoers of section I use. Ours falls within a decision and recovers by a step per completed one (MB16, MB17; test/core/mbft-mechanisms.test.ts, M24)",
    },
    {
      paper: "Proposition 4: with equal tau the committed weight does not fall when n grows",
      here: `it falls at ${shrinking.missed} of ${shrinking.of} steps from n = 1 to ${shrinking.of + 1}`,
      agrees: verdictOf(shrinking.missed === 0),
      why: "it says nothing of answers being right; every further seat is also a further veto in the reference (test/core/mbft-mechanisms.test.ts, M17)",
    },
  ];
}

/** Sections I, III and IV. */
function promises({ isOrderBlind, attacks }: MbftFigures): readonly Claim[] {
  const [vetoers, capture, honest] = ["coordinated-vetoers", "reputation-capture", "honest-veto"].map((id) =>
    attackOf(attacks, id),
  ) as [ScriptedAttack, ScriptedAttack, ScriptedAttack];
  return [
    {
      paper: "I: identical reports always yield identical commits",
      here: isOrderBlind
        ? "the order of the list changes nothing"
        : "the same two agents in another order commit another value",
      agrees: verdictOf(isOrderBlind),
      why: "ties go to the first of the list, which every node would have to hold alike. Ours breaks them by a hash (MB7; test/core/mbft-mechanisms.test.ts, M05)",
    },
    {
      paper: "I, IV: liveness claims are mechanically checkable; the view change finds a leader that commits",
      here: sides(vetoers),
      agrees: verdictOf(vetoers.reference.value !== null),
      why: "liveness is proved for honest committees only. Ours verifies all answers at once and judges counter-proofs (MB8, MB10, MB11; test/core/mbft-rules.test.ts, M22)",
    },
    {
      paper: "I: only un-slashed agents can block, so agents that were faulty keep their voice and lose the veto",
      here: sides(capture),
      agrees: verdictOf((capture.reference.reputations.at(-1) ?? 0) < 1),
      why: "a leader is slashed for being accused, an accuser for nothing. Ours slashes the author of a refuted counter-proof (MB16; test/core/mbft-rules.test.ts, M23)",
    },
    {
      paper: "I, III: a rejection needs a constructed counter-proof, not a dip in confidence",
      here: sides(honest),
      agrees: verdictOf(honest.reference.reputations.slice(1).every((rho) => rho === 1)),
      why: "the published code takes any negative vote for a counter-proof and judges none. Ours counts a rejection only if the others uphold its counter-proof (MB5, MB11, MB13; test/core/mbft-rules.test.ts, M07)",
    },
  ];
}

/** Sections I and VI. */
function bayesianClaims({ calibrated, attacks }: MbftFigures): readonly Claim[] {
  const certain = attackOf(attacks, "certain-liar");
  const isBetter = ({ bayesian, discrete }: Calibrated): boolean => bayesian.right >= discrete.right;
  const keepsWord = ({ bayesian: { right, wrong }, promised }: Calibrated): boolean =>
    wrong <= promised * (right + wrong);
  const good = calibrated.filter((one) => isBetter(one) && keepsWord(one)).length;
  const shown = ({ taus, bayesian, discrete }: Calibrated): string =>
    `tau ${taus.join(" ")}: ${[bayesian, discrete].map(({ right, wrong, hung }) => [right, wrong, hung].map(percent).join(" / ")).join(" against ")}`;
  return [
    {
      paper: "VI: where tau is calibrated the Bayesian sibling is the right tool",
      here: `independent seats that are right as often as they say, Bayesian against discrete reference, right / wrong / hung in %: ${calibrated.map(shown).join("; ")}`,
      agrees: good === calibrated.length ? "yes" : good > 0 ? "in part" : "no",
      why: "all outcomes are counted. It is the right tool where it is right at least as often as the discrete rules, and of its commits no more are wrong than its least posterior allows. It counts the same reports again in every round, so that doubt wears off; ours counts each once (BA3; test/core/mbft-bayesian.test.ts, BA3)",
    },
    {
      paper: "I: continuous schemes silently amplify miscalibrated overconfidence",
      here: sides(certain),
      agrees: verdictOf(certain.reference.value !== RIGHT),
      why: "one seat that claims certainty outweighs nine. Ours caps what a report may weigh (BA6, BA10; test/core/mbft-bayesian.test.ts, M29)",
    },
  ];
}

function publishedCode({ recordings: { missed, of } }: MbftFigures): Claim {
  return {
    paper: "V: the published code does what the propositions say (23 tests pass)",
    here: `its Python suite is not run here; our reference mode gives ${of - missed} of ${of} recorded runs of that code bit for bit`,
    agrees: "not redone",
    why: "that shows that the reference of the lines above is the published code, not that the code does what it promises: see those lines (lab/test/mbft-reference.test.ts, M31)",
  };
}

function attackOf(attacks: readonly ScriptedAttack[], id: string): ScriptedAttack {
  return attacks.find((one) => one.id === id) as ScriptedAttack;
}

function sides({ title, reference, sound }: ScriptedAttack): string {
  return `${title}: the reference ${reference.summary}; ours ${sound.summary}`;
}
