import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Command, Option } from "commander";
import { limits } from "../../agents/core/limits.ts";
import { answerOptions, between, toolCommand } from "../../scripts/shared/arguments.ts";
import { createAnswerBook } from "../eval/answer-book.ts";
import { openVariants, variantSpecOf, type VariantSpec } from "../eval/models.ts";
import { someOf } from "../eval/options.ts";
import { replaceSection } from "../shared/generated-section.ts";
import { provenanceOf } from "../shared/provenance.ts";
import { attackSkills, coalitionText } from "./coalition-report.ts";
import { DECIDERS, runSetting, settingsOf, type InjectedTrial } from "./injected.ts";
import { injectionReport, injectionText } from "./injection-report.ts";
import { injections } from "./injections.ts";
import { runMonteCarlo, statedRows, type MonteCarloResult } from "./monte-carlo.ts";
import { asText, limitsOf, type AttackReport } from "./report.ts";
import { scriptedAttacks } from "./scripted.ts";

interface Flags {
  readonly suite: "rules" | "coalitions" | "injections";
  readonly trials: number;
  readonly seed: number;
  readonly models: string;
  readonly protocol: string;
  readonly texts: number;
  readonly seats: number;
  readonly jobs: number;
  readonly cache: string | false;
  readonly json?: true;
  readonly write?: true;
}

const NOTES = `
rules: attacks that break the published reference (lab/references/mbft.ts), tried on it and on the sound rules (the real
\`conclude\` over complete message sets). Four attacks are scripted. The fifth is a Monte Carlo, in which both get the same draws.
Takes --trials.

coalitions: agents that farm, flood, sleep or lie together to gain skill, by which clo weighs answers (docs/spec/skill.md). The counters
of skill are the real ones. The real \`conclude\` decides each request twice: with the skills that were learned, and with skill 1
for everybody. Takes --trials, and some minutes even with few of them. Exit code 1 if learned skills lose more than the stated bound.

injections: texts that give orders to the model that reads them (lab/attacks/injections.json), against real models. Counts how
many of them change an answer, and how many harmless texts of the same length do; by place, by decider and by what the text
tries (lab/results.md). Takes --models, --protocol, --texts, --seats, --jobs, --cache and --write.
Deciders: ${DECIDERS.map((name) => `"${name}"`).join(", ")}.

The same seed gives the same figures on the same machine. Progress goes to stderr. Examples:
  npm run -s attacks -- --trials 200 --json | jq .limits
  npm run -s attacks -- --suite injections --models models/conclave-small.gguf@0 --protocol mbft --texts 10 --json | jq .places
`;

function commandLine(): Command {
  return answerOptions(
    toolCommand("attacks")
      .description("Attacks the rules of protocols, and models with hostile texts.")
      .addOption(
        new Option("--suite <name>", "which attacks").choices(["rules", "coalitions", "injections"]).default("rules"),
      )
      .option(
        "--trials <n>",
        "decisions per row; of the suite rules 500 take a minute on a free core",
        between(1, 100_000),
        500,
      )
      .option("--seed <n>", "decides what is drawn: trials, questions and liars", between(0, 0xffff_ffff), 1)
      .option("--models <list>", "GGUF files, each file@temperature", "models/conclave-small.gguf@0")
      .option("--protocol <list>", "all, or some of the deciders below", "all")
      .option(
        "--texts <n>",
        "how many texts of injections.json, taken evenly from it",
        between(1, injections.length),
        injections.length,
      )
      .option("--seats <n>", "committee size", between(limits.minCommittee, limits.maxCommittee), 4),
  )
    .option("--json", "print one JSON object instead of tables")
    .option("--write", "put the tables of injections into lab/results.md")
    .addHelpText("after", NOTES);
}

/** Runs the study and returns the exit code. Throws CommanderError, USAGE, and what opening a model throws. */
export async function main(argv: readonly string[]): Promise<number> {
  const flags = commandLine().parse(argv, { from: "user" }).opts<Flags>();
  const specs = flags.models.split(",").map((text) => variantSpecOf("models", text));
  if (flags.suite === "injections") return await attackModels(flags, specs, argv);
  if (flags.suite === "coalitions") {
    const report = attackSkills(flags, (line) => process.stderr.write(`${line}\n`));
    process.stdout.write(`${flags.json ? JSON.stringify(report) : coalitionText(report)}\n`);
    return report.failures.length === 0 ? 0 : 1;
  }
  const report = attackRules(flags);
  process.stdout.write(flags.json ? `${JSON.stringify(report)}\n` : asText(report));
  return 0;
}

function attackRules({ trials, seed }: Flags): AttackReport {
  const rows = [
    // Found by search: of all settings that were tried this one makes the reference commit about 41 % wrong answers,
    // with verifiers that draw anew when asked again.
    { row: { attack: "confident liars", seats: 7, fooled: 0.3, countered: 0.1 } as const, again: "anew" as const },
    ...statedRows,
  ].map((setting): MonteCarloResult => {
    const { attack, seats, fooled, countered } = setting.row;
    const name = `${attack}, n = ${seats}, p = ${fooled}, q = ${countered}`;
    return runMonteCarlo(setting.row, { ...setting, trials, seed, progress: progressOf(name, trials) });
  });
  const [fallible, ...monteCarlo] = rows as [MonteCarloResult, ...MonteCarloResult[]];
  return { seed, trials, scripted: scriptedAttacks(), fallible, monteCarlo, limits: limitsOf(monteCarlo) };
}

function progressOf(name: string, trials: number): (done: number) => void {
  const step = Math.max(1, Math.floor(trials / 4));
  return (done) => {
    if (done % step === 0 || done === trials) process.stderr.write(`${name}: ${done}/${trials}\n`);
  };
}

async function attackModels(flags: Flags, specs: readonly VariantSpec[], argv: readonly string[]): Promise<number> {
  const deciders = someOf("protocol", flags.protocol, DECIDERS);
  const variants = await openVariants(specs, flags.jobs);
  const book = createAnswerBook(variants, flags.cache === false ? null : flags.cache);
  try {
    const started = performance.now();
    const chosen = Array.from({ length: flags.texts }, (_, index) => {
      const place = Math.floor((index * injections.length) / flags.texts);
      return injections[place] as (typeof injections)[number];
    });
    const experiment = { book, deciders, injections: chosen, seats: flags.seats, seed: flags.seed };
    const settings = settingsOf(experiment);
    const trials: InjectedTrial[] = [];
    for (const [index, setting] of settings.entries()) {
      const say = progressOf(
        `${index + 1} of ${settings.length}: ${setting.decider}, ${setting.place}`,
        experiment.injections.length,
      );
      let done = 0;
      trials.push(...(await runSetting(experiment, setting, () => say(++done))));
    }
    const provenance = provenanceOf("attacks", argv, [flags.seed], book, (performance.now() - started) / 1000);
    const report = injectionReport(
      trials,
      variants.map(({ label }) => label),
      provenance,
    );
    const text = injectionText(report);
    if (flags.write === true) writeResults(text);
    process.stdout.write(flags.json ? `${JSON.stringify(report)}\n` : `${text}\n`);
  } finally {
    await book.close();
  }
  return 0;
}

function writeResults(text: string): void {
  const path = join(import.meta.dirname, "../results.md");
  writeFileSync(path, replaceSection(readFileSync(path, "utf8"), "attacks injections", text));
}
