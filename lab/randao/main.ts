// Writes the computed tables of docs/adr/007-seed-from-prevrandao.md.
//   node scripts/bootstrap.mjs lab/randao/main.ts
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { replaceSection } from "../shared/generated-section.ts";
import { randaoTables } from "./table.ts";

const path = join(import.meta.dirname, "../../docs/adr/007-seed-from-prevrandao.md");
writeFileSync(path, replaceSection(readFileSync(path, "utf8"), "randao", randaoTables()));
