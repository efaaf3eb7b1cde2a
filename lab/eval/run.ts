import { createHash } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import PQueue from "p-queue";
import { cellsOf, type CellKey } from "./conditions.ts";
import { tryQuestion, type Cell, type Evaluation, type Posed, type Trial } from "./evaluate.ts";
import type { JsonLines } from "./json-lines.ts";
import type { Suite } from "./suites.ts";

export interface Progress {
  /** Number of finished rounds of one question per suite, and of all rounds. */
  readonly done: number;
  readonly rounds: number;
  readonly trials: number;
  /** Number of trials that were kept from an earlier run. */
  readonly kept: number;
}

/** Trials under way at a time: while one deliberates, others keep the models busy. No round begins while as many wait. */
const AT_ONCE = 8;

/**
 * Runs all cells question by question, so that a run that the clock stops has the same questions in every cell. A round of one question
 * per suite begins before the one before it has ended. `isOver` is asked before each further round, except the first; what has begun
 * ends. A trial that `book` holds is not run again.
 */
export async function runEvaluation(
  evaluation: Evaluation,
  book: JsonLines<Trial>,
  isOver: () => boolean,
  onProgress: (progress: Progress) => void,
): Promise<readonly Cell[]> {
  const bySuite = Map.groupBy(evaluation.questions, ({ question }) => question.suite);
  const suites: readonly Suite[] = [...bySuite.keys()];
  const cells = cellsOf(evaluation, suites).map((cell) => ({ ...cell, trials: [] as Trial[] }));
  const rounds = Math.max(...[...bySuite.values()].map(({ length }) => length));
  const origin = originOf(evaluation);
  const queue = new PQueue({ concurrency: AT_ONCE });
  let [trials, kept] = [0, 0];
  const ended = { well: 0, badly: 0 };
  const begun: Promise<unknown>[] = [];
  for (let round = 0; round < rounds && ended.badly === 0 && (round === 0 || !isOver()); round++) {
    const tries = cells.map(async (cell) => {
      const posed = bySuite.get(cell.suite)?.[round];
      if (posed === undefined || round % cell.every !== 0) return;
      const key = keyOf(origin, cell, posed);
      const known = book.get(key);
      const trial = known ?? (await queue.add(async () => await tryQuestion(evaluation, cell, posed)));
      if (trial === null) return;
      if (known === undefined) book.set(key, trial);
      else kept += 1;
      cell.trials[round] = trial;
      trials += 1;
      onProgress({ done: ended.well, rounds, trials, kept });
    });
    const all = Promise.all(tries);
    all.then(
      () => (ended.well += 1),
      () => {
        ended.badly += 1;
        queue.clear();
      },
    );
    begun.push(all);
    await queue.onSizeLessThan(AT_ONCE);
  }
  await Promise.all(begun);
  return cells
    .map((cell) => ({ ...cell, trials: cell.trials.filter(() => true) }))
    .filter(({ trials: { length } }) => length > 0);
}

const root = join(import.meta.dirname, "../..");
/** What a trial depends on: the rules, the worlds in which they run, and this study. */
const SOURCES = ["agents/{core,node,adapters/models}/**/*.ts", "sim/**/*.ts", "lab/eval/**/*.ts"];

/** Everything that all trials of an evaluation depend on; a change of any rule makes another. */
function originOf({ book, lessons, badness, models }: Evaluation): string {
  const hash = createHash("sha256");
  for (const path of globSync(SOURCES, { cwd: root }).toSorted())
    hash.update(path).update(readFileSync(join(root, path)));
  const { greedyRight, skills, curves } = lessons;
  hash.update(JSON.stringify([book.variants.map(({ key }) => key), models, badness, greedyRight, skills, curves]));
  return hash.digest("hex");
}

function keyOf(origin: string, { suite, condition, method }: CellKey, { question, seed }: Posed): string {
  const parts = [origin, suite, condition, method.id, question.text, seed];
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}
