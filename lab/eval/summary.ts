import type { Cell, Mark, Trial } from "./evaluate.ts";
import { mean, meanOf, pairedDifference, shareOf, type Share } from "./statistics.ts";

/** A cell; all suites together make one, too. */
type Pooled = Omit<Cell, "suite"> & { readonly suite: Cell["suite"] | "all" };

/** The comparisons of a decision. */
export type Rival = "selfConsistency" | "bestSingle" | "bestGreedy";

/** Numbers of a cell; every share is of all its questions, hung ones included. */
export interface Summary {
  readonly suite: Pooled["suite"];
  readonly mix: Cell["mix"];
  readonly method: string;
  readonly source: Cell["method"]["source"];
  readonly byzantine: number;
  readonly questions: number;
  readonly accuracy: Share;
  /** Mean grade; policies only. */
  readonly graded: Share | null;
  readonly hung: Share;
  readonly wrong: Share;
  /** Mean costs of one question. */
  readonly calls: number;
  readonly failedCalls: number;
  readonly tokens: number;
  readonly criticalPath: number;
  /** Votes at the tokens of each question's decision, without bad seats. */
  readonly selfConsistency: Share;
  readonly selfConsistencySamples: number;
  /** The model of the mix that answers most of these very questions right, which favours this comparison. */
  readonly bestSingle: Share;
  /** One answer at temperature 0 of the model that gets most of them right, which favours this comparison, too. */
  readonly bestGreedy: Share;
  /** Accuracy minus that of each comparison, question by question. */
  readonly gains: Readonly<Record<Rival, Share>>;
}

/** Summarizes a cell with at least one trial. */
export function summarize({ suite, mix, method, byzantine, trials }: Pooled): Summary {
  const isRight = (mark: Mark): boolean => mark.status === "right";
  const countOf = (holds: (trial: Trial) => boolean): number => trials.filter(holds).length;
  const share = (holds: (trial: Trial) => boolean): Share => shareOf(countOf(holds), trials.length);
  const best = (marksOf: (trial: Trial) => readonly Mark[]): ((trial: Trial) => Mark) => {
    const models = marksOf(trials[0] as Trial).map((_, model) => (trial: Trial) => marksOf(trial)[model] as Mark);
    const hits = (markOf: (trial: Trial) => Mark): number => countOf((trial) => isRight(markOf(trial)));
    return models.reduce((one, other) => (hits(other) > hits(one) ? other : one));
  };
  const rivals: Readonly<Record<Rival, (trial: Trial) => Mark>> = {
    selfConsistency: (trial) => trial.selfConsistency,
    bestSingle: best(({ single }) => single),
    bestGreedy: best(({ greedy }) => greedy),
  };
  const gainOver = (rival: Rival): Share => {
    const gained = countOf((trial) => isRight(trial) && !isRight(rivals[rival](trial)));
    const lost = countOf((trial) => !isRight(trial) && isRight(rivals[rival](trial)));
    return pairedDifference(gained, lost, trials.length);
  };
  return {
    suite,
    mix,
    method: method.id,
    source: method.source,
    byzantine,
    questions: trials.length,
    accuracy: share(isRight),
    graded: suite === "policies" ? meanOf(trials.map(({ grade }) => grade)) : null,
    hung: share(({ status }) => status === "hung"),
    wrong: share(({ status }) => status === "wrong"),
    calls: mean(trials.map(({ calls }) => calls)),
    failedCalls: mean(trials.map(({ failedCalls }) => failedCalls)),
    tokens: mean(trials.map(({ tokens }) => tokens)),
    criticalPath: mean(trials.map(({ criticalPath }) => criticalPath)),
    selfConsistency: share((trial) => isRight(rivals.selfConsistency(trial))),
    selfConsistencySamples: mean(trials.map(({ selfConsistency }) => selfConsistency.samples)),
    bestSingle: share((trial) => isRight(rivals.bestSingle(trial))),
    bestGreedy: share((trial) => isRight(rivals.bestGreedy(trial))),
    gains: {
      selfConsistency: gainOver("selfConsistency"),
      bestSingle: gainOver("bestSingle"),
      bestGreedy: gainOver("bestGreedy"),
    },
  };
}

/** Pools the trials of all suites for every method and condition. */
export function pooled(cells: readonly Cell[]): readonly Pooled[] {
  const groups = Map.groupBy(cells, ({ mix, method, byzantine }) => `${mix} ${byzantine} ${method.id}`);
  return [...groups.values()].map((group) => ({
    ...(group[0] as Cell),
    suite: "all",
    trials: group.flatMap(({ trials }) => trials),
  }));
}
