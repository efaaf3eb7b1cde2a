// Runs test files in one process, one after the other: node group.ts <file>...
// Alone a file costs up to 3 s of processor time more: to load viem, libp2p and Helia, to compile them, to derive keys.
import { resolve } from "node:path";
import { before, describe } from "node:test";

/** Modules that load keep the thread busy, and tests that measure time must not run then. */
const loading: Promise<unknown>[] = [];
before(async () => void (await Promise.all(loading)));

// A suite for each file keeps its hooks apart from those of other files.
for (const file of process.argv.slice(2))
  void describe(file, async () => {
    const load = import(resolve(file));
    loading.push(load);
    await load;
  });
