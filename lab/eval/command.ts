import { readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { proposePrompt } from "../../agents/core/prompts/task-prompt.ts";
import { replaceSection } from "../shared/generated-section.ts";
import { provenanceOf, type Provenance } from "../shared/provenance.ts";
import { createAnswerBook, type AnswerBook } from "./answer-book.ts";
import { attemptFor } from "./attempt.ts";
import { estimateRound } from "./estimate.ts";
import type { Cell, Evaluation, Mix } from "./evaluate.ts";
import { greedyOf, openVariants } from "./models.ts";
import { optionsFrom, type Options } from "./options.ts";
import { createPanel } from "./panel.ts";
import { questionsOf } from "./question.ts";
import { reportText } from "./report.ts";
import { runEvaluation, type Progress } from "./run.ts";
import { pooled, summarize } from "./summary.ts";

const root = join(import.meta.dirname, "../..");
const resultsPath = join(root, "lab/results.md");
const PROGRESS_MS = 10_000;
const MOST_QUESTIONS = 400;
/** Number of answers that are timed before anything else. */
const TIMED = 16;

/** Runs the study and returns the exit code. Throws CommanderError, USAGE, and what opening a model throws. */
export async function main(argv: readonly string[]): Promise<number> {
  const options = optionsFrom(argv);
  const book = createAnswerBook(
    await openVariants([...options.variants, ...greedyOf(options.variants)], options.jobs),
    options.cache,
  );
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
  const cells = await runEvaluation(evaluation, createTimeLimit(options.limitSeconds, elapsed), teller(elapsed, book));
  const provenance = provenanceOf("eval", argv, options.seed, book, elapsed());
  const text = reportText(cells, provenance);
  if (options.section !== null) {
    const before = readFileSync(resultsPath, "utf8");
    writeFileSync(resultsPath, replaceSection(before, `eval ${options.section}`, text));
    process.stderr.write(`${relative(process.cwd(), resultsPath)} is written\n`);
  }
  process.stdout.write(options.json ? `${JSON.stringify(asJson(cells, provenance))}\n` : `${text}\n`);
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

function asJson(cells: readonly Cell[], provenance: Provenance): object {
  return {
    provenance,
    together: pooled(cells).map(summarize),
    summaries: cells.map(summarize),
    cells: cells.map(({ method, ...cell }) => ({ ...cell, method: method.id })),
  };
}

/**
 * Measures the models, and says how long the run will take. If the clock ends the run, there are more questions than
 * it can ask.
 */
async function prepare(options: Options, book: AnswerBook): Promise<Evaluation> {
  const { suites, methods, seats, byzantine, badness, assurance, seed } = options;
  const mixes = mixesOf(options.variants.length);
  const shape = { book, mixes, methods, seats, byzantine, badness, assurance, seed };
  const measured = await measure(options, book);
  const round = estimateRound(shape, suites.length, measured);
  const count = options.questions ?? MOST_QUESTIONS;
  const wanted =
    options.limitSeconds === null
      ? `${count} questions of each suite are at most about ${Math.ceil((count * round.tokens) / 1000)} thousand tokens, ${duration(count * round.seconds)}`
      : `a question of each suite takes at most about ${duration(round.seconds)}, and there are ${duration(options.limitSeconds)}`;
  const { tokensPerSecond, tokensPerCall } = measured;
  process.stderr.write(
    `${tokensPerSecond.toFixed(0)} tokens/s, ${tokensPerCall.toFixed(0)} tokens a first answer: ${wanted}\n`,
  );
  return { ...shape, questions: suites.flatMap((suite) => questionsOf(suite, count, seed)) };
}

/** The book has the models as given, then all of them at temperature 0. */
function mixesOf(models: number): readonly Mix[] {
  const all = Array.from({ length: models }, (_, index) => index);
  const alone: Mix = { name: "homogeneous", variants: [0], greedy: [models] };
  const mixed: Mix = { name: "heterogeneous", variants: all, greedy: all.map((index) => models + index) };
  return models === 1 ? [alone] : [alone, mixed];
}

/** Measures first answers without the book, which may have them already. */
async function measure(
  { suites, variants, seats, assurance, seed }: Options,
  book: AnswerBook,
): Promise<{ readonly tokensPerCall: number; readonly tokensPerSecond: number }> {
  const fresh = createAnswerBook(book.variants, null);
  const questions = suites.flatMap((suite) => questionsOf(suite, Math.ceil(TIMED / suites.length), seed));
  const started = performance.now();
  await Promise.all(
    questions.map(async (question, index) => {
      const panel = createPanel({ book: fresh, question, seed, variantOf: () => index % variants.length });
      await panel.ask(0, proposePrompt(attemptFor(question, 0, seats, assurance)).small);
    }),
  );
  const { calls, tokens } = fresh.asked;
  return { tokensPerCall: tokens / calls, tokensPerSecond: (1000 * tokens) / (performance.now() - started) };
}

function teller(elapsed: () => number, { asked }: AnswerBook): (progress: Progress) => void {
  let told = performance.now();
  return ({ done, trials }) => {
    if (performance.now() - told < PROGRESS_MS) return;
    told = performance.now();
    process.stderr.write(
      `${duration(elapsed())}: ${done} questions of each suite, ${trials} trials, ${asked.calls} calls made, ${asked.tokens} tokens\n`,
    );
  };
}

function duration(seconds: number): string {
  return seconds < 120 ? `${Math.ceil(seconds)} s` : `${Math.ceil(seconds / 60)} min`;
}
