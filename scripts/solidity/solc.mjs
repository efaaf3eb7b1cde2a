#!/usr/bin/env node
// The npm compiler in the clothes of the native one, for tools that start `solc`: --version and --standard-json.
// Plain JavaScript: such tools start it with whatever Node is on the path. Files come from the working folder and node_modules.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const solc = createRequire(import.meta.url)("solc");

/** Imports are named as Hardhat names them: "contracts/A.sol" of the project, "@scope/package/B.sol" of a package. */
function findImport(name) {
  for (const base of [".", "node_modules"]) {
    try {
      return { contents: readFileSync(join(base, name), "utf8") };
    } catch {
      // The next place may have it.
    }
  }
  return { error: `Cannot find ${name}` };
}

if (process.argv.includes("--version")) console.log(`solc, npm package\nVersion: ${solc.version()}`);
else if (process.argv.includes("--standard-json"))
  process.stdout.write(solc.compile(readFileSync(0, "utf8"), { import: findImport }));
else throw new Error("Start with --version or --standard-json");
