import { mean } from "simple-statistics";
import { calibrationError } from "../../agents/cli/calibrate/measure.ts";
import type { Ppm } from "../../agents/core/types.ts";
import type { CellKey } from "./conditions.ts";
import type { Cell, Rival, Rivals, Trial } from "./evaluate.ts";
import type { Mark } from "./mark.ts";
import {
  correlationOf,
  effectiveVotes,
  meanOf,
  pairedDifference,
  shareOf,
  type Pairs,
  type Share,
} from "./statistics.ts";

/** A cell; all suites together make one, too. */
export type Pooled = Omit<Cell, "suite"> & { readonly suite: Cell["suite"] | "all" };

/** A rival's accuracy, and the decision's lead over it. */
export interface Lead extends Pairs {
  readonly accuracy: Share;
  readonly difference: Share;
}

/** Numbers of a cell; every share is of all its questions, hung ones included. */
export interface Summary extends Pick<CellKey, "condition"> {
  readonly suite: Pooled["suite"];
  readonly method: string;
  readonly source: CellKey["method"]["source"];
  readonly questions: number;
  readonly accuracy: Share;
  /** The least and the greatest accuracy of a seed's questions. */
  readonly seeds: readonly [least: number, most: number];
  /** Mean grade; sets of policies only. */
  readonly graded: Share | null;
  /** After one retry, and before it. */
  readonly hung: Share;
  readonly hungAtFirst: Share;
  readonly wrong: Share;
  /** Mean costs of one question. */
  readonly calls: number;
  readonly failedCalls: number;
  readonly tokens: number;
  readonly criticalPath: number;
  readonly samples: number;
  readonly rivals: Rivals<Lead>;
  /** Expected calibration error of the certificates' confidence; null without certificates. */
  readonly calibrationError: number | null;
  readonly coverage: readonly Covered[];
}

/** The surest decisions, as many as make `share` of all questions; `wrong` of them: null if fewer are decided. */
export interface Covered {
  readonly share: number;
  readonly wrong: number | null;
}

export const COVERAGES = [0.5, 0.6, 0.7, 0.8, 0.9, 1] as const;
const GRADED: readonly Pooled["suite"][] = ["policies", "selections"];

const isRight = ({ status }: Mark): boolean => status === "right";

/** Summarizes a cell with at least one trial. */
export function summarize({ suite, condition, method, trials }: Pooled): Summary {
  const share = (holds: (trial: Trial) => boolean): Share => shareOf(trials.filter(holds).length, trials.length);
  const bySeed = [...Map.groupBy(trials, ({ seed }) => seed).values()].map((own) => mean(own.map(rightness)));
  const leadOver = (rival: Rival): Lead => {
    const rivalIsRight = (trial: Trial): boolean => isRight(trial.rivals[rival]);
    const pairs: Pairs = {
      gained: trials.filter((trial) => isRight(trial) && !rivalIsRight(trial)).length,
      lost: trials.filter((trial) => !isRight(trial) && rivalIsRight(trial)).length,
      trials: trials.length,
    };
    return { ...pairs, accuracy: share(rivalIsRight), difference: pairedDifference(pairs) };
  };
  const certified = trials.flatMap((trial) =>
    trial.confidence === null ? [] : [{ confidence: trial.confidence, right: isRight(trial) }],
  );
  return {
    suite,
    condition,
    method: method.id,
    source: method.source,
    questions: trials.length,
    accuracy: share(isRight),
    seeds: [Math.min(...bySeed), Math.max(...bySeed)],
    graded: GRADED.includes(suite) ? meanOf(trials.map(({ grade }) => grade)) : null,
    hung: share(({ status }) => status === "hung"),
    hungAtFirst: share(({ isRetried }) => isRetried),
    wrong: share(({ status }) => status === "wrong"),
    calls: mean(trials.map(({ calls }) => calls)),
    failedCalls: mean(trials.map(({ failedCalls }) => failedCalls)),
    tokens: mean(trials.map(({ tokens }) => tokens)),
    criticalPath: mean(trials.map(({ criticalPath }) => criticalPath)),
    samples: mean(trials.map(({ samples }) => samples)),
    rivals: {
      selfConsistency: leadOver("selfConsistency"),
      bestSingle: leadOver("bestSingle"),
      bestGreedy: leadOver("bestGreedy"),
      vote: leadOver("vote"),
      counting: leadOver("counting"),
      greedySeat: leadOver("greedySeat"),
      honestSeat: leadOver("honestSeat"),
    },
    calibrationError: certified.length === 0 ? null : calibrationError(certified),
    coverage: COVERAGES.map((part) => ({ share: part, wrong: wrongOfSurest(certified, part * trials.length) })),
  };
}

function rightness(trial: Trial): number {
  return Number(isRight(trial));
}

/** The share of wrong ones of the `wanted` surest; of equally sure ones each counts in part. */
function wrongOfSurest(
  certified: readonly { readonly confidence: Ppm; readonly right: boolean }[],
  wanted: number,
): number | null {
  if (certified.length === 0 || certified.length < wanted) return null;
  const blocks = [...Map.groupBy(certified, ({ confidence }) => confidence)].toSorted(([a], [b]) => b - a);
  let [taken, wrong] = [0, 0];
  for (const [, block] of blocks) {
    const part = Math.min(1, (wanted - taken) / block.length);
    wrong += part * block.filter(({ right }) => !right).length;
    taken += part * block.length;
    if (taken >= wanted) break;
  }
  return wrong / wanted;
}

/** Pools the trials of all suites for every method and condition. */
export function pooled(cells: readonly Cell[]): readonly Pooled[] {
  const groups = Map.groupBy(cells, ({ condition, method }) => JSON.stringify([condition, method.id]));
  return [...groups.values()].map((group) => ({
    ...(group[0] as Cell),
    suite: "all",
    trials: group.flatMap(({ trials }) => trials),
  }));
}

/** How much the seats of a committee err together, before they speak. */
export interface Independence extends Pick<CellKey, "condition"> {
  readonly questions: number;
  /** Mean accuracy of a seat's first answer. */
  readonly seat: number;
  /** Mean correlation of two seats' errors; null if they never or always err. */
  readonly correlation: number | null;
  readonly effective: number | null;
  /** Share of the questions on which all seats are wrong, and what it would be without correlation. */
  readonly allWrong: Share;
  readonly allWrongAlone: number;
}

/** One row for each committee; first answers hang neither on liars nor on assurance. */
export function independenceOf(together: readonly Pooled[]): readonly Independence[] {
  const ordinary = together.filter(
    ({ condition: { byzantine, assurance, seating } }) =>
      byzantine === 0 && assurance === "normal" && seating !== "calibrated",
  );
  const committees = Map.groupBy(ordinary, ({ condition }) => JSON.stringify(condition));
  return [...committees.values()].map((group) => {
    const { condition, trials } = group.reduce((a, b) => (b.trials.length > a.trials.length ? b : a));
    const rows = trials.map(({ seatsRight }) => seatsRight);
    const correlation = correlationOf(rows);
    const accuracies = Array.from({ length: condition.seats }, (_, seat) => mean(rows.map((row) => Number(row[seat]))));
    return {
      condition,
      questions: rows.length,
      seat: mean(accuracies),
      correlation,
      effective: correlation === null ? null : effectiveVotes(condition.seats, correlation),
      allWrong: shareOf(rows.filter((row) => !row.includes(true)).length, rows.length),
      allWrongAlone: accuracies.reduce((all, accuracy) => all * (1 - accuracy), 1),
    };
  });
}
