#!/usr/bin/env node
// Plain JavaScript that any Node can read, so that an old one says what it lacks. MINIMUM is put in by the build,
// and lost-reader.mjs beside this file.
const [wanted, found] = ["MINIMUM", process.versions.node].map((version) => version.split(".").map(Number));
if (found[0] < wanted[0] || (found[0] === wanted[0] && found[1] < wanted[1])) {
  process.stderr.write(
    `conclave: Node MINIMUM or newer is needed, this is ${process.versions.node}. Install Node 24.\n`,
  );
  process.exit(1);
}
for (const file of ["lost-reader.mjs", "cli.js"]) await import(new URL(file, import.meta.url).href);
