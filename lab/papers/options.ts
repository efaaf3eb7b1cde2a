import { Argument } from "commander";
import { answerOptions, between, toolCommand } from "../../scripts/shared/arguments.ts";
import { variantSpecOf, type VariantSpec } from "../eval/models.ts";
import { STUDIES } from "./studies.ts";
import type { Study } from "./study.ts";

export interface PaperOptions {
  readonly study: Study;
  readonly isQuick: boolean;
  /** Null: the study's own size. */
  readonly size: number | null;
  readonly seed: number;
  readonly jobs: number;
  /** Null: nowhere. */
  readonly cache: string | null;
  readonly model: VariantSpec;
  readonly json: boolean;
  /** True if lab/results.md and lab/plots get the results. */
  readonly writes: boolean;
}

interface Flags {
  readonly quick?: true;
  readonly size?: number;
  readonly seed: number;
  readonly jobs: number;
  readonly cache: string | false;
  readonly model: string;
  readonly json?: true;
  readonly write?: true;
}

const NOTES = `
Papers:
${STUDIES.map(({ id, paper }) => `  ${id.padEnd(12)}${paper}`).join("\n")}

Progress goes to stderr, tables or one JSON object to stdout. Answers of models are kept in --cache.

Example:
  npm run papers -- mbft --quick --json
`;

/** Reads the options. Throws CommanderError or USAGE. */
export function paperOptionsFrom(argv: readonly string[]): PaperOptions {
  const ids = STUDIES.map(({ id }) => id);
  const command = answerOptions(
    toolCommand("papers")
      .description("Makes the tables and figures of a paper again, with our protocols and models (lab/results.md).")
      .addArgument(new Argument("<paper>", "one of those below").choices(ids))
      .option("--quick", "fewer questions and trials: less than three minutes on an idle core")
      .option("--size <n>", "questions of each suite, worlds, or drawn decisions of a row", between(1, 10_000))
      .option("--seed <n>", "draws questions, bad seats and samples", between(0, 2 ** 31 - 1), 1)
      .option("--model <file>", "a GGUF file, file@temperature", "models/conclave-small.gguf@2"),
  )
    .option("--json", "print one JSON object instead of tables")
    .option("--write", "put the tables into lab/results.md and the plots into lab/plots")
    .addHelpText("after", NOTES)
    .parse(argv, { from: "user" });
  const { quick, size = null, seed, jobs, cache, model, json = false, write = false } = command.opts<Flags>();
  return {
    study: STUDIES.find(({ id }) => id === command.args[0]) as Study,
    isQuick: quick === true,
    size,
    seed,
    jobs,
    cache: cache === false ? null : cache,
    model: variantSpecOf("model", model),
    json,
    writes: write,
  };
}
