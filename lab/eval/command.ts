import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { replaceSection } from "../shared/generated-section.ts";
import { provenanceOf, type Provenance } from "../shared/provenance.ts";
import { createAnswerBook, type AnswerBook } from "./answer-book.ts";
import type { Cell, Evaluation, Posed, Trial } from "./evaluate.ts";
import { openJsonLines } from "./json-lines.ts";
import { learn } from "./lessons.ts";
import { greedyOf, openVariants } from "./models.ts";
import { optionsFrom, type Options } from "./options.ts";
import { questionsOf } from "./question.ts";
import { reportText } from "./report.ts";
import { runEvaluation, type Progress } from "./run.ts";
import { independenceOf, pooled, summarize } from "./summary.ts";
import { findingsOf } from "./targets.ts";

const root = join(import.meta.dirname, "../..");
const resultsPath = join(root, "lab/results.md");
const PROGRESS_MS = 10_000;

/** Runs the study and returns the exit code. Throws CommanderError, USAGE, and what opening a model throws. */
export async function main(argv: readonly string[]): Promise<number> {
  const options = optionsFrom(argv);
  const variants = await openVariants([...options.variants, ...greedyOf(options.variants)], options.jobs);
  const book = createAnswerBook(variants, options.cache);
  try {
    await evaluateAndTell(options, book, argv);
  } finally {
    await book.close();
  }
  return 0;
}

async function evaluateAndTell(options: Options, book: AnswerBook, argv: readonly string[]): Promise<void> {
  const started = performance.now();
  const elapsed = (): number => (performance.now() - started) / 1000;
  const evaluation = await prepare(options, book);
  const told = teller(elapsed, book);
  const trials = openJsonLines<Trial>(options.cache === null ? null : join(dirname(options.cache), "trials.jsonl"));
  const cells = await runEvaluation(evaluation, trials, createTimeLimit(options.limitSeconds, elapsed), told);
  tellRest(evaluation, cells);
  const provenance = provenanceOf("eval", argv, options.seeds, book, elapsed());
  const text = reportText(cells, provenance);
  if (options.section !== null) {
    const before = readFileSync(resultsPath, "utf8");
    writeFileSync(resultsPath, replaceSection(before, `eval ${options.section}`, text));
    process.stderr.write(`${relative(process.cwd(), resultsPath)} is written\n`);
  }
  process.stdout.write(options.json ? `${JSON.stringify(asJson(cells, evaluation, provenance))}\n` : `${text}\n`);
}

/**
 * Returns a function, called when a round begins, that is true if another round as long as the longest so far would
 * end after the limit.
 */
function createTimeLimit(limitSeconds: number | null, elapsed: () => number): () => boolean {
  let longest = 0;
  let before = elapsed();
  return () => {
    const now = elapsed();
    longest = Math.max(longest, now - before);
    before = now;
    return limitSeconds !== null && now + longest > limitSeconds;
  };
}

function asJson(cells: readonly Cell[], { lessons }: Evaluation, provenance: Provenance): object {
  const all = pooled(cells);
  const together = all.map(summarize);
  return {
    provenance,
    lessons: { ...lessons, questions: lessons.questions.size },
    findings: findingsOf(together),
    together,
    committees: independenceOf(all),
    summaries: cells.map(summarize),
    cells: cells.map(({ method, ...cell }) => ({ ...cell, method: method.id })),
  };
}

/** Asks the models what has to be known of them before, and draws the questions: each seed has an equal part. */
async function prepare(options: Options, book: AnswerBook): Promise<Evaluation> {
  const { suites, variants, seeds, questions: count } = options;
  const models = variants.length;
  const lessons = await learn(book, models, suites, options.seatings.includes("calibrated"));
  const each = Math.ceil(count / seeds.length);
  const questions = suites.flatMap((suite) => {
    const drawn = seeds.map((seed) =>
      // A few more than are needed, as some may be those of the lessons or of another seed.
      questionsOf(suite, each + Math.ceil(each / 10) + lessons.questions.size, seed).map((question) => ({
        question,
        seed,
      })),
    );
    const seen = new Set(lessons.questions);
    const bySeed = drawn.map((own) =>
      own.filter(({ question }) => !seen.has(question.text) && seen.add(question.text)),
    );
    return Array.from({ length: each }, (_, index) => bySeed.map((own) => own[index] as Posed))
      .flat()
      .slice(0, count);
  });
  process.stderr.write(
    `${count} questions of each suite; right of ${lessons.questions.size} others: ${lessons.sampledRight.join(", ")} sampled, ${lessons.greedyRight.join(", ")} greedy\n`,
  );
  return { ...options, book, models, lessons, questions };
}

function teller(elapsed: () => number, { asked }: AnswerBook): (progress: Progress) => void {
  let told = -PROGRESS_MS;
  return ({ done, rounds, trials, kept }) => {
    if (performance.now() - told < PROGRESS_MS) return;
    told = performance.now();
    const left = done === 0 ? "" : `, at most ${duration((elapsed() * (rounds - done)) / done)} to go`;
    process.stderr.write(
      `${duration(elapsed())}: ${done} of ${rounds} questions of each suite${left}; ${trials} trials, ${kept} of them kept from earlier runs, ${asked.calls} calls made\n`,
    );
  };
}

function tellRest({ questions }: Evaluation, cells: readonly Cell[]): void {
  const asked = new Set(cells.flatMap(({ trials }) => trials.map(({ question }) => question))).size;
  if (asked < questions.length)
    process.stderr.write(`${asked} of ${questions.length} questions are done: the same command goes on\n`);
}

function duration(seconds: number): string {
  return seconds < 120 ? `${Math.ceil(seconds)} s` : `${Math.ceil(seconds / 60)} min`;
}
