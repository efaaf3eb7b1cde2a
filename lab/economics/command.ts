import { type Command, InvalidArgumentError } from "commander";

import { toJson } from "../../agents/cli/shared/output.ts";
import { between, toolCommand } from "../../scripts/shared/arguments.ts";
import { writeSections } from "../shared/generated-section.ts";
import { startProductionChain } from "../shared/production-chain.ts";
import { provenanceOf, provenanceText } from "../shared/provenance.ts";
import { MODEL_DOLLARS, SEATS_A_WEEK, SETTINGS, STAKE_TOKENS } from "./assumptions.ts";
import { openStudyChain } from "./chain.ts";
import { scaled, type Estimate } from "./estimate.ts";
import { EXCEPTIONS } from "./exceptions.ts";
import { failuresText, securedText, skillText, tablesText, unequalText, yearText } from "./report.ts";
import { conclude } from "./rows.ts";
import { skillRows } from "./skill.ts";
import { LONG, QUICK, study, type Findings } from "./study.ts";
import { yearRows } from "./year.ts";

interface Flags {
  readonly quick?: true;
  readonly seed: number;
  readonly modelCost: number;
  readonly write?: true;
  readonly json?: true;
}

function commandLine(): Command {
  return toolCommand("economics")
    .description(
      "Lets strategies earn and lose on the real contracts, in this process: seats, coalitions, relayers, askers, appellants, late stake. Exit code 1 if honest work is not the best reply, if an attack pays, or if a unit of money is not accounted for, unless docs/economics.md states it with its number.",
    )
    .option("--quick", "fewer and shorter lives: ten to twenty minutes instead of twenty to sixty")
    .option("--seed <number>", "the same seed gives the same lives", between(0, 999_999), 1)
    .option("--model-cost <dollars>", "what the model calls of a seat cost", amount, MODEL_DOLLARS)
    .option("--write", "write the tables into docs/economics.md")
    .option("--json", "print one JSON object instead of tables")
    .addHelpText("after", "\nExample:\n  npm run economics -- --quick --seed 1\n");
}

function amount(text: string): number {
  const value = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && value <= 1_000) return value;
  throw new InvalidArgumentError("An amount of dollars from 0 to 1,000 is needed, such as 0.02.");
}

/** Profit of a draw, to profit of 1,000 tokens of stake in a day. */
const ofStake = (profit: Estimate): Estimate => scaled(profit, ((SEATS_A_WEEK / 7) * 1_000) / STAKE_TOKENS);

/** Runs the study, prints what it found and returns the exit code. Throws CommanderError. */
export async function main(argv: readonly string[]): Promise<number> {
  const flags = commandLine().parse(argv, { from: "user" }).opts<Flags>();
  const progress = (line: string): void => void process.stderr.write(`${line}\n`);
  const began = performance.now();
  progress("compiling the contracts (production build); the first time takes a minute");
  const chain = await openStudyChain(await startProductionChain());
  const findings = await study(
    chain,
    {
      size: flags.quick === true ? QUICK : LONG,
      seed: flags.seed,
      settings: SETTINGS,
      modelDollars: flags.modelCost,
    },
    progress,
  );
  const seconds = (performance.now() - began) / 1000;
  const provenance = provenanceOf("economics", argv, [flags.seed], null, seconds);
  const sections = sectionsOf(findings, provenanceText(provenance));
  const arithmetic = {
    year: yearText(yearRows(flags.seed)),
    secured: securedText(),
    unequal: unequalText(),
    skill: skillText(skillRows(flags.seed)),
  };
  if (flags.json === true) console.log(toJson({ ...findings, ...conclude(findings.rows, EXCEPTIONS), provenance }));
  else console.log(Object.values({ ...sections, ...arithmetic }).join("\n\n"));
  if (flags.write === true) {
    const length = flags.quick === true ? "quick" : "long";
    const named = Object.fromEntries(Object.entries(sections).map(([name, text]) => [`${name}-${length}`, text]));
    writeSections("docs/economics.md", { ...named, ...arithmetic }, { check: false, study: "economics" });
  }
  return exitCodeFor(findings);
}

function sectionsOf(findings: Findings, provenance: string): Readonly<Record<"failures" | "tables", string>> {
  return { failures: failuresText(findings, EXCEPTIONS), tables: `${tablesText(findings, ofStake)}\n\n${provenance}` };
}

/** 1 if something does not hold that the docs do not state. */
export function exitCodeFor({ rows, faults }: Pick<Findings, "rows" | "faults">, exceptions = EXCEPTIONS): number {
  return faults.length > 0 || conclude(rows, exceptions).failures.length > 0 ? 1 : 0;
}
