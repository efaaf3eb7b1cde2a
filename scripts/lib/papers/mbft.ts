import { readFileSync } from "node:fs";
import { mbft } from "../../../agents/core/protocols/mbft/index.ts";
import { mbftConfig } from "../../../agents/core/protocols/mbft/config.ts";
import { faultTolerance } from "../../../agents/core/quorum.ts";
import { attemptFor } from "../attacks/message-set.ts";
import { runMonteCarlo, type MonteCarloResult, type Shares } from "../attacks/monte-carlo.ts";
import { scriptedAttacks, type ScriptedAttack } from "../attacks/scripted.ts";
import { checkVectors, parseVectors } from "../conformance.ts";
import { fooledNeeded, isOrderBlind, missedEqualities, risingReputations, shrinkingWeights } from "./mbft-reference.ts";
import { percent, sized, verdictOf, type Chart, type Claim, type Setting, type Study, type Table } from "./study.ts";

const SIZES = [4, 7, 10, 13] as const;
const FOOLED = [0, 0.1, 0.2, 0.3, 0.4, 0.5] as const;
const COUNTERED = 0.5;
const SEATS = 7;
const TRIALS = { quick: 100, full: 500 };
const VECTORS = ["mbft-reference", "mbft-bayesian-reference"] as const;

export const mbftStudy: Study = {
  id: "mbft",
  paper: "Bhattacharya, Consensus-Driven Metacognition in Multi-Agent Systems (MBFT)",
  run(setting) {
    const liars = monteCarlo(setting);
    return Promise.resolve({
      claims: [...propositions(), ...others(scriptedAttacks())],
      tables: [fooledTable(), liarsTable(liars)],
      charts: [wrongChart(liars)],
    });
  },
};

/** Section IV; the reference is the published code's rules, bit for bit. */
function propositions(): readonly Claim[] {
  const needed = SIZES.map((seats) => fooledNeeded(seats));
  const { missed, of } = missedEqualities();
  const rising = risingReputations();
  const shrinking = shrinkingWeights();
  return [
    {
      paper: "Proposition 1: with f < n/3 and theta > f tauMax a proposal of a Byzantine seat is never committed",
      here: `the reference commits the liars' answer when ${needed.join(", ")} honest verifiers of ${SIZES.join(", ")} seats are fooled and the others find no counter-proof`,
      agrees: verdictOf(needed.every((count) => count === null)),
      why: "the proof assumes that honest verifiers reject every unsound proof; language models do not. MB1 states how many fooled ones theta bears and refuses a committee that bears none (test/core/mbft-mechanisms.test.ts, M14)",
    },
    {
      paper: "Proposition 2: a unanimous honest committee commits in round 0 if theta <= n tau",
      here: `at theta = n tau the reference fails in ${missed} of ${of} pairs of n = 1..31 and tau = .1, .2, .. 1`,
      agrees: missed === 0 ? "yes" : "in part",
      why: "it adds doubles; below equality it holds. Ours adds integers (MB1, MB14; test/core/mbft-rules.test.ts, MB14 and M15)",
    },
    {
      paper: "Proposition 3: reputations never rise",
      here: `in ${rising} of the published code's 120 scenarios one rises`,
      agrees: verdictOf(rising === 0),
      why: "it holds, and is what the vetoers below use: what honest leaders lose never comes back. Ours falls within a decision and recovers by a step per completed one (MB16, MB17; test/core/mbft-mechanisms.test.ts, M24)",
    },
    {
      paper: "Proposition 4: with equal tau the committed weight does not fall when n grows",
      here: `it falls at ${shrinking} of 63 steps from n = 1 to 64`,
      agrees: verdictOf(shrinking === 0),
      why: "it holds, and says nothing of answers being right; every further seat is also a further veto in the reference (test/core/mbft-mechanisms.test.ts, M17)",
    },
  ];
}

/** What sections I, III, V and VI promise. */
function others(attacks: readonly ScriptedAttack[]): readonly Claim[] {
  const attack = (id: string): ScriptedAttack => attacks.find((one) => one.id === id) as ScriptedAttack;
  const [vetoers, capture, honest, certain] = [
    "coordinated-vetoers",
    "reputation-capture",
    "honest-veto",
    "certain-liar",
  ].map(attack) as [ScriptedAttack, ScriptedAttack, ScriptedAttack, ScriptedAttack];
  const sides = ({ title, reference, sound }: ScriptedAttack): string =>
    `${title}: the reference ${reference.summary}; ours ${sound.summary}`;
  const vectors = conformance();
  return [
    {
      paper: "I: identical reports always yield identical commits",
      here: isOrderBlind()
        ? "the order of the list changes nothing"
        : "the same two agents in another order commit another value",
      agrees: verdictOf(isOrderBlind()),
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
    {
      paper: "VI: where tau is calibrated the Bayesian sibling is the right tool",
      here: sides(certain),
      agrees: certain.reference.value === certain.sound.value ? "yes" : "in part",
      why: "one seat whose tau is not calibrated is enough: a claim of certainty has no bound. Ours caps what a report may weigh (BA6, BA10; test/core/mbft-bayesian.test.ts, M29)",
    },
    {
      paper: "V: the published code does what the propositions say (23 tests pass)",
      here: `${vectors.matched} of ${vectors.of} recorded runs of the published code are reproduced by our reference mode`,
      agrees: verdictOf(vectors.matched === vectors.of),
      why: "our reference mode gives every recorded result of the published code bit for bit; the Python suite itself is not run here (test/core/mbft-reference.test.ts, M31)",
    },
  ];
}

function conformance(): { readonly matched: number; readonly of: number } {
  const results = VECTORS.flatMap((name) => {
    const path = new URL(`../../../test/vectors/${name}.json`, import.meta.url);
    const parsed = parseVectors(readFileSync(path, "utf8"));
    if (!parsed.ok) throw new Error(`${name}: it ${parsed.reason}`);
    return checkVectors(parsed.file);
  });
  return { matched: results.filter(({ differences }) => differences.length === 0).length, of: results.length };
}

function fooledTable(): Table {
  return {
    title: "Proposition 1: fooled honest verifiers that it takes to commit the liars' answer",
    note: "Computed. f liars propose it at tau 1; an honest verifier that is not fooled finds no counter-proof and abstains. The reference at the least theta that the proposition allows; ours by MB1, before accept quorum and counter-proofs.",
    head: ["n", "f", "reference", "ours: borne by theta (h)", "ours: needed at least"],
    rows: SIZES.map((seats) => {
      const { fooled } = mbftConfig(attemptFor(mbft.code, seats, "normal"));
      const needed = fooledNeeded(seats) ?? "never";
      return [seats, faultTolerance(seats), needed, fooled, fooled + 1].map(String);
    }),
  };
}

function monteCarlo(setting: Setting): readonly MonteCarloResult[] {
  const { seed, tell } = setting;
  const trials = sized(setting, TRIALS);
  return FOOLED.map((fooled) => {
    tell(`confident liars, p = ${fooled}: ${trials} decisions`);
    const row = { attack: "confident liars", seats: SEATS, fooled, countered: COUNTERED } as const;
    return runMonteCarlo(row, { trials, seed });
  });
}

const COLUMNS = [
  ["reference", "reference"],
  ["normal", "ours, normal assurance"],
  ["high", "ours, high assurance"],
] as const;

function liarsTable(rows: readonly MonteCarloResult[]): Table {
  const shown = ({ right, wrong, hung }: Shares): string =>
    `${[right, wrong, hung].map(({ share }) => percent(share)).join(" / ")} (wrong ${percent(wrong.low)} to ${percent(wrong.high)})`;
  return {
    title: "Safety when verifiers can be fooled: right / wrong / hung in %",
    note: `${rows[0]?.trials ?? 0} drawn decisions a row, the same draws on both sides, n = ${SEATS}, two confident liars, honest answers right with .8, an honest verifier is fooled by a wrong answer with p and else counters it with ${COUNTERED} (\`npm run attacks\`). Three rounds; in brackets Wilson's interval, 95 %.`,
    head: ["p", ...COLUMNS.map(([, name]) => name)],
    rows: rows.map(({ fooled, shares }) => [String(fooled), ...COLUMNS.map(([column]) => shown(shares[column]))]),
  };
}

function wrongChart(rows: readonly MonteCarloResult[]): Chart {
  return {
    file: "mbft-wrong",
    title: "MBFT: wrong decisions, two confident liars of seven",
    x: { title: "share of wrong answers that fool an honest verifier (p)", values: FOOLED },
    y: { title: "wrong decisions, %", most: 30 },
    lines: COLUMNS.map(([column, name]) => ({
      name,
      points: rows.map(({ fooled, shares }) => [fooled, 100 * shares[column].wrong.share]),
    })),
  };
}
