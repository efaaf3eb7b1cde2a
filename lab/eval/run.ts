import PQueue from "p-queue";
import { cellsOf, tryQuestion, type Cell, type Evaluation, type Trial } from "./evaluate.ts";
import type { Suite } from "./question.ts";

export interface Progress {
  /** Number of finished questions of each suite. */
  readonly done: number;
  readonly trials: number;
}

/** Trials under way at a time: while one deliberates, the votes of others keep the models busy. */
const AT_ONCE = 8;

/**
 * Runs all cells question by question, so that a run that the clock stops has the same questions in every cell.
 * `isOver` is asked before each further round of one question per suite, except the first.
 */
export async function runEvaluation(
  evaluation: Evaluation,
  isOver: () => boolean,
  onProgress: (progress: Progress) => void,
): Promise<readonly Cell[]> {
  const bySuite = Map.groupBy(evaluation.questions, ({ suite }) => suite);
  const suites: readonly Suite[] = [...bySuite.keys()];
  const cells = cellsOf(evaluation, suites).map((cell) => ({ ...cell, trials: [] as Trial[] }));
  const rounds = Math.max(...[...bySuite.values()].map(({ length }) => length));
  const queue = new PQueue({ concurrency: AT_ONCE });
  let trials = 0;
  for (let round = 0; round < rounds && (round === 0 || !isOver()); round++) {
    const tries = cells.map(async (cell) => {
      const question = bySuite.get(cell.suite)?.[round];
      if (question === undefined) return;
      const trial = await queue.add(async () => await tryQuestion(evaluation, cell, question));
      if (trial === null) return;
      cell.trials.push(trial);
      onProgress({ done: round, trials: ++trials });
    });
    await Promise.all(tries);
  }
  return cells.filter((cell) => cell.trials.length > 0);
}
