import { execFileSync } from "node:child_process";
import { availableParallelism, cpus } from "node:os";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");

/** How figures came about, for whoever wants them again. */
export interface Provenance {
  readonly command: string;
  readonly commit: string;
  readonly machine: string;
  readonly models: readonly string[];
  readonly seconds: number;
}

/** Of a run of `npm run <script> -- <argv>` that ends now. */
export function provenanceOf(
  script: string,
  argv: readonly string[],
  models: Provenance["models"],
  seconds: number,
): Provenance {
  return {
    command: [`npm run ${script} --`, ...argv].join(" "),
    commit: commitOf(),
    machine: `${availableParallelism()} of ${cpus().length} cores (${cpus()[0]?.model ?? "unknown"})`,
    models,
    seconds,
  };
}

export function provenanceText({ command, commit, machine, models, seconds }: Provenance): string {
  return [
    `\`${command}\``,
    "",
    `* commit ${commit}, ${machine}, ${Math.round(seconds)} s`,
    ...models.map((model) => `* model: ${model}`),
  ].join("\n");
}

function commitOf(): string {
  const git = (...words: readonly string[]): string =>
    execFileSync("git", words, { cwd: root, encoding: "utf8" }).trim();
  const isChanged = git("status", "--porcelain", "--untracked-files=no") !== "";
  return `${git("rev-parse", "--short", "HEAD")}${isChanged ? " with changes" : ""}`;
}
