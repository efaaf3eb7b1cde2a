import { writeSections } from "../shared/generated-section.ts";
import { randaoTables } from "./table.ts";
import { toolCommand } from "../../scripts/shared/arguments.ts";

/** Writes the computed tables of docs/adr/007-seed-from-prevrandao.md. */
export async function main(argv: readonly string[]): Promise<number> {
  const { check = false } = toolCommand("randao")
    .description("Computes what a proposer gains by withholding blocks, and writes the tables of ADR 7.")
    .option("--check", "write nothing; exit code 1 if the tables differ from what is computed")
    .addHelpText("after", "\nExample:\n  npm run lab -- randao --check\n")
    .parse(argv, { from: "user" })
    .opts<{ readonly check?: true }>();
  const sections = { randao: randaoTables() };
  return writeSections("docs/adr/007-seed-from-prevrandao.md", sections, { check, study: "randao" });
}
