import { readFileSync } from "node:fs";
import { mbft } from "../../agents/core/protocols/mbft/index.ts";
import { mbftConfig } from "../../agents/core/protocols/mbft/config.ts";
import { faultTolerance } from "../../agents/core/quorum.ts";
import { attemptFor } from "../../test/support/message-set.ts";
import { runMonteCarlo, type MonteCarloResult, type Shares } from "../attacks/monte-carlo.ts";
import { scriptedAttacks } from "../attacks/scripted.ts";
import { checkVectors, parseVectors } from "../conformance/conformance.ts";
import { mbftClaims, type MbftFigures } from "./mbft-claims.ts";
import {
  LEAST,
  calibratedSeats,
  fooledNeeded,
  isOrderBlind,
  missedCommits,
  risingReputations,
  shrinkingWeights,
  type Misses,
} from "./mbft-reference.ts";
import { percent, sized, type Chart, type Setting, type Study, type Table } from "./study.ts";

const SIZES = [4, 7, 10, 13] as const;
const FOOLED = [0, 0.1, 0.2, 0.3, 0.4, 0.5] as const;
const COUNTERED = 0.5;
const SEATS = 7;
const TRIALS = { quick: 100, full: 500 };
/** Committees whose seats are right as often as they say: alike, unlike, and few that are hardly better than chance. */
const CALIBRATED = [
  [0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8],
  [0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9],
  [0.55, 0.6, 0.6, 0.7],
] as const;
const VECTORS = ["mbft-reference", "mbft-bayesian-reference"] as const;

export const mbftStudy: Study = {
  id: "mbft",
  paper: "Bhattacharya, Consensus-Driven Metacognition in Multi-Agent Systems (MBFT)",
  run(setting) {
    const liars = monteCarlo(setting);
    return Promise.resolve({
      claims: mbftClaims(figures()),
      comparisons: [],
      tables: [fooledTable(), liarsTable(liars)],
      charts: [wrongChart(liars)],
    });
  },
};

function figures(): MbftFigures {
  return {
    sizes: SIZES,
    fooled: SIZES.map(fooledNeeded),
    atEquality: missedCommits(0),
    belowEquality: missedCommits(LEAST),
    rising: risingReputations(),
    shrinking: shrinkingWeights(),
    isOrderBlind: isOrderBlind(),
    attacks: scriptedAttacks(),
    calibrated: CALIBRATED.map(calibratedSeats),
    recordings: unmatchedRecordings(),
  };
}

function unmatchedRecordings(): Misses {
  const results = VECTORS.flatMap((name) => {
    const path = new URL(`../../test/vectors/${name}.json`, import.meta.url);
    const parsed = parseVectors(readFileSync(path, "utf8"));
    if (!parsed.ok) throw new Error(`${name}: it ${parsed.reason}`);
    return checkVectors(parsed.file);
  });
  return { missed: results.filter(({ differences }) => differences.length > 0).length, of: results.length };
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
