// The door of the lab: npm run lab -- STUDY [options]. The old names (npm run eval, bench:gas, ...) lead through it, too.
import type { Command } from "commander";
import { ConclaveError } from "../agents/core/errors.ts";
import { exitCodeOf, toolCommand } from "../scripts/shared/arguments.ts";
import { STUDIES, studyOf } from "./studies.ts";

const NAME_WIDTH = Math.max(...STUDIES.map(({ name }) => name.length)) + 2;

function commandLine(): Command {
  const list = STUDIES.map(({ name, shows }) => `  ${name.padEnd(NAME_WIDTH)}${shows}`);
  return toolCommand("lab")
    .description(
      "Runs one study of the lab. `npm run lab -- STUDY --help` explains it; lab/results.md has the results.",
    )
    .argument("<study...>", "one of those below, then its own options")
    .addHelpText("after", `\nStudies:\n${list.join("\n")}`)
    .addHelpText("after", "\nExample:\n  npm run lab -- attacks --trials 100 --json")
    .addHelpText("after", "\nExit codes: 0 as expected, 1 the study found what must not happen, 2 it could not run.");
}

async function main(words: readonly string[]): Promise<number> {
  const found = studyOf(words);
  if (found !== null) return (await found.study.load()).main(found.options);
  const { args } = commandLine().parse(words, { from: "user" });
  const study = args.join(" ");
  const known = STUDIES.map(({ name }) => name).join(", ");
  throw new ConclaveError("USAGE", `Choose a study instead of ${JSON.stringify(study)}: ${known}`, { study });
}

const words = process.argv.slice(2);
process.exitCode = await exitCodeOf(words, () => main(words), studyOf(words)?.study.name.split(" "));
