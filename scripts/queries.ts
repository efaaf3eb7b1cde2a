// Writes the typed client of the subgraph from its queries and its schema.
//   npm run generate     writes the file, and the other generated ones
//   npm run check        exits 1 if it differs from what they yield
import { writeOrCheck } from "./shared/generated-files.ts";
import { generateQueries } from "./subgraph/codegen.ts";

writeOrCheck(await generateQueries(), "scripts/queries.ts");
