import { cellsOf, tryQuestion, type Cell, type Evaluation, type Trial } from "./evaluate.ts";
import type { Suite } from "./question.ts";

export interface Progress {
  /** Questions of each suite that are done, of how many. */
  readonly done: number;
  readonly of: number;
  readonly trials: number;
}

/**
 * All cells, question by question, so that a run that is stopped by the clock has the same questions in every cell: `isOver` is asked before
 * each further round of one question per suite, the first excepted.
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
  let trials = 0;
  for (let round = 0; round < rounds && (round === 0 || !isOver()); round++) {
    for (const cell of cells) {
      const question = bySuite.get(cell.suite)?.[round];
      const trial = question === undefined ? null : await tryQuestion(evaluation, cell, question);
      if (trial === null) continue;
      cell.trials.push(trial);
      onProgress({ done: round, of: rounds, trials: ++trials });
    }
  }
  return cells.filter((cell) => cell.trials.length > 0);
}
