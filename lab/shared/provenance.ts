import { execFileSync } from "node:child_process";
import { availableParallelism, cpus } from "node:os";
import { join } from "node:path";
import type { AnswerBook } from "../eval/answer-book.ts";

const root = join(import.meta.dirname, "../..");

/** How figures were made, for readers who want to make them again. */
export interface Provenance {
  readonly command: string;
  readonly seeds: readonly number[];
  readonly commit: string;
  readonly machine: string;
  readonly models: readonly string[];
  readonly seconds: number;
  /** Answers of models that this run made; others may have been kept from earlier runs. */
  readonly asked?: number;
}

/** Describes a run of `npm run <script> -- <argv>` that ends now; `book`: null if no model was asked. */
export function provenanceOf(
  script: string,
  argv: readonly string[],
  seeds: readonly number[],
  book: AnswerBook | null,
  seconds: number,
): Provenance {
  return {
    command: [`npm run ${script} --`, ...argv.map(shellWord)].join(" "),
    seeds,
    commit: commitOf(),
    machine: `${availableParallelism()} of ${cpus().length} cores (${cpus()[0]?.model ?? "unknown"})`,
    models: (book?.variants ?? []).map(({ label, key }) => `${label} (${key})`),
    seconds,
    ...(book === null ? {} : { asked: book.asked.calls }),
  };
}

export function provenanceText({ command, seeds, commit, machine, models, seconds, asked }: Provenance): string {
  return [
    `\`${command}\``,
    "",
    `* seed${seeds.length > 1 ? "s" : ""} ${seeds.join(", ")}, commit ${commit}, ${machine}, ${Math.round(seconds)} s`,
    ...models.map((model) => `* model: ${model}`),
    ...(asked === undefined
      ? []
      : [`* ${asked} answers of models were made in these seconds; others, if any, were kept by earlier runs`]),
  ].join("\n");
}

/** Quotes one argument for a POSIX shell, only if necessary. */
function shellWord(text: string): string {
  return /^[\w./:,=@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

function commitOf(): string {
  const git = (...words: readonly string[]): string =>
    execFileSync("git", words, { cwd: root, encoding: "utf8" }).trim();
  const isChanged = git("status", "--porcelain", "--untracked-files=no") !== "";
  return `${git("rev-parse", "--short", "HEAD")}${isChanged ? " with changes" : ""}`;
}
