// Runs test files in one process, one after the other: node group.ts <file>...
// Alone a file costs up to 3 s of processor time more: to load viem, libp2p and Helia, to compile them, to derive keys.
import { resolve } from "node:path";
import { describe } from "node:test";

// A suite for each file keeps its hooks apart from those of other files.
for (const file of process.argv.slice(2))
  void describe(file, async () => {
    await import(resolve(file));
  });
