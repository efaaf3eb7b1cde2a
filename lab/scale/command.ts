import { Option } from "commander";
import { toolCommand } from "../../scripts/shared/arguments.ts";
import { progress } from "../../scripts/shared/progress.ts";
import { writeSections } from "../shared/generated-section.ts";
import { ASSUMPTIONS } from "./assumptions.ts";
import { INPUTS_FILE, PARTS, readGas, readInputs, type Part } from "./inputs.ts";
import { limitsOf } from "./limits.ts";
import { measureInputs } from "./measure.ts";
import { demandsOf, scaleTables } from "./tables.ts";

interface Flags {
  readonly measure?: readonly Part[] | true;
  readonly write?: true;
  readonly check?: true;
  readonly json?: true;
}

const DOCUMENT = "docs/scale.md";

/** Computes what many agents need, and prints or writes it. Returns the exit code. */
export async function main(argv: readonly string[]): Promise<number> {
  const flags = toolCommand("scale")
    .description(
      `Computes what 10,000 agents and a decision a second ask of agents, networks, chains and stores, and what gives out first. It takes what was measured (${INPUTS_FILE}) and the gas of test/contracts/gas.json.`,
    )
    .addOption(
      new Option("--measure [parts...]", `measure anew, all in half an hour, and write ${INPUTS_FILE}`).choices(PARTS),
    )
    .option("--write", `write the tables of ${DOCUMENT}`)
    .option("--check", `write nothing; exit code 1 if the tables of ${DOCUMENT} differ from what is computed`)
    .option("--json", "print one JSON object")
    .addHelpText("after", "\nExample:\n  npm run -s lab -- scale --json\n")
    .parse(argv, { from: "user" })
    .opts<Flags>();
  if (flags.measure !== undefined) {
    await measureInputs(flags.measure === true ? PARTS : flags.measure, progress);
    if (flags.write === undefined) return 0;
  }
  const [inputs, gas] = [readInputs(), readGas()];
  const tables = scaleTables(inputs, gas);
  if (flags.write || flags.check)
    return writeSections(DOCUMENT, tables, { check: flags.check ?? false, study: "scale --write" });
  const demands = demandsOf(inputs, gas).map((demand) => ({ ...demand, limits: limitsOf(inputs, demand) }));
  const report = { inputs, assumptions: ASSUMPTIONS, demands };
  process.stdout.write(flags.json ? `${JSON.stringify(report)}\n` : `${Object.values(tables).join("\n\n")}\n`);
  return 0;
}
