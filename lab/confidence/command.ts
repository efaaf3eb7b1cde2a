import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { BACKING_VERSION } from "../../agents/core/phases/backing-steps.ts";
import { limits } from "../../agents/core/limits.ts";
import { answerOptions, between, toolCommand } from "../../scripts/shared/arguments.ts";
import { createAnswerBook } from "../eval/answer-book.ts";
import { DEFAULT_MODELS, openVariants, variantSpecOf } from "../eval/models.ts";
import { writeSections } from "../shared/generated-section.ts";
import { readDecisions, recordDecisions } from "./record.ts";
import { stepsOf } from "./fit.ts";
import { confidenceTables, splitOf, stepsModule } from "./report.ts";

const DATA = join(import.meta.dirname, "decisions.csv");
const MODULE = join(import.meta.dirname, "../../agents/core/phases/backing-steps.ts");

interface Flags {
  readonly record?: true;
  readonly write?: true;
  readonly data: string;
  readonly questions: number;
  readonly seed: number;
  readonly seats: number;
  readonly models: string;
  readonly jobs: number;
  readonly cache: string | false;
}

const NOTES = `
Without a flag it prints the table of the certificates' confidence (CF9 of docs/spec/confidence.md), made of the decisions in --data, and
how well it keeps on those that are held out: the table is made of the decisions of the least seed, all others are held out.

--record lets the protocols that use the table decide questions of --seed in committees of --seats, by real models, and adds the decisions
to --data. It goes on where it was stopped. --write puts the table into agents/core/phases/backing-steps.ts and docs/spec/confidence.md.

A new table, for other models or questions:
  npm run lab -- confidence --record --data my.csv --seed 1 --seats 7 --questions 200
  npm run lab -- confidence --record --data my.csv --seed 2 --seats 7 --questions 200
  npm run lab -- confidence --data my.csv --write
Then raise BACKING_VERSION and the protocols' versions (test/core/versions.test.ts).
`;

/** Runs the study and returns the exit code. Throws CommanderError, USAGE, and what opening a model throws. */
export async function main(argv: readonly string[]): Promise<number> {
  const flags = answerOptions(
    toolCommand("confidence")
      .description("How often decisions are right, by what stands behind them.")
      .option("--record", "decide questions and add the decisions to the data")
      .option("--write", "write the table into the core and the docs")
      .option("--data <file>", "the recorded decisions", DATA)
      .option("--questions <n>", "questions to record", between(1, 10_000), 200)
      .option("--seed <n>", "draws the questions to record", between(0, 0x7fff_ffff), 1)
      .option("--seats <n>", "committee size to record", between(limits.minCommittee, limits.maxCommittee), 4)
      .option("--models <list>", "GGUF files, each file@temperature, that sit in turn", DEFAULT_MODELS),
  )
    .addHelpText("after", NOTES)
    .parse(argv, { from: "user" })
    .opts<Flags>();
  if (flags.record === true) await record(flags);
  else report(flags);
  return 0;
}

async function record({ models, jobs, cache, data, seed, questions, seats }: Flags): Promise<void> {
  const specs = models.split(",").map((text) => variantSpecOf("models", text));
  const book = createAnswerBook(await openVariants(specs, jobs), cache === false ? null : cache);
  try {
    await recordDecisions(book, { path: data, seed, count: questions, seats }, (done) => {
      if (done % 10 === 0 || done === questions)
        process.stderr.write(`${done} of ${questions} questions, ${book.asked.calls} calls made\n`);
    });
  } finally {
    await book.close();
  }
}

function report({ data, write }: Flags): void {
  const decisions = readDecisions(data);
  const tables = confidenceTables(decisions);
  process.stdout.write(`${tables}\n`);
  if (write !== true) return;
  writeFileSync(MODULE, stepsModule(stepsOf(splitOf(decisions).fitted), BACKING_VERSION));
  writeSections("docs/spec/confidence.md", { confidence: tables }, { check: false, study: "confidence" });
}
