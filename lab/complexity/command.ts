import { writeSections } from "../shared/generated-section.ts";
import { oddsTables } from "./odds-table.ts";
import { costTables } from "./table.ts";
import { toolCommand } from "../../scripts/shared/arguments.ts";

/** Compares the formulas of docs/spec/complexity.md with measured runs, and writes its computed tables. */
export async function main(argv: readonly string[]): Promise<number> {
  const { check = false } = toolCommand("complexity")
    .description("Compares the formulas of docs/spec/complexity.md with measured runs, and writes its computed tables.")
    .option("--check", "write nothing; exit code 1 if the tables differ from what is computed")
    .addHelpText("after", "\nExample:\n  npm run lab -- complexity --check\n")
    .parse(argv, { from: "user" })
    .opts<{ readonly check?: true }>();
  const sections = { costs: costTables(), "committee-odds": oddsTables() };
  return writeSections("docs/spec/complexity.md", sections, { check, study: "complexity" });
}
