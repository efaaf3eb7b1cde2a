// Writes the computed tables of docs/spec/complexity.md, after comparing the formulas with measured runs.
//   node scripts/bootstrap.mjs lab/complexity/main.ts           writes them
//   node scripts/bootstrap.mjs lab/complexity/main.ts --check   exits 1 when they are not what is computed
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { replaceSection } from "../shared/generated-section.ts";
import { oddsTables } from "./odds-table.ts";

const help = `Usage: node scripts/bootstrap.mjs lab/complexity/main.ts [--check] [--help]

Compares the formulas of docs/spec/complexity.md with measured runs, and writes its computed tables.

  --check  writes nothing; exits 1 when the tables are not what is computed`;
const { values } = parseArgs({
  options: { check: { type: "boolean", default: false }, help: { type: "boolean", default: false } },
});
if (values.help) {
  process.stdout.write(`${help}\n`);
  process.exit(0);
}

// In this order: the stand-in for signatures, then the core.
await import("../shared/no-signatures.ts");
const { costTables } = await import("./table.ts");

const path = join(import.meta.dirname, "../../docs/spec/complexity.md");

const before = readFileSync(path, "utf8");
const after = replaceSection(replaceSection(before, "costs", costTables()), "committee-odds", oddsTables());
if (before === after) {
  process.stderr.write("docs/spec/complexity.md is up to date.\n");
} else if (values.check) {
  process.stderr.write(
    "docs/spec/complexity.md is not what is computed: run node scripts/bootstrap.mjs lab/complexity/main.ts\n",
  );
  process.exitCode = 1;
} else {
  writeFileSync(path, after);
  process.stderr.write("docs/spec/complexity.md is written.\n");
}
