// Writes the typed client of the subgraph from its queries and its schema.
//   node scripts/queries.ts           writes the file
//   node scripts/queries.ts --check   exits 1 when it is not what they yield
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { generateQueries } from "./subgraph/codegen.ts";

const check = process.argv.includes("--check");
for (const [path, text] of Object.entries(await generateQueries())) {
  const target = join(import.meta.dirname, "..", path);
  if (!check) writeFileSync(target, text);
  else if (!existsSync(target) || readFileSync(target, "utf8") !== text) {
    console.error(`${path} is out of date: run \`node scripts/queries.ts\`.`);
    process.exitCode = 1;
  }
}
