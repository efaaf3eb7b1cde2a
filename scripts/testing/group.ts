// Runs test files in one process, one after the other: node group.ts <file>...
// A process of its own costs each file a fifth of a second, and a whole second where it loads viem.
import { resolve } from "node:path";
import { describe } from "node:test";

// A suite for each file keeps its hooks apart from those of other files.
for (const file of process.argv.slice(2))
  describe(file, async () => {
    await import(resolve(file));
  });
