// Runs test files in one process, one after the other: node group.ts <file>...
// Alone a file costs up to 3 s of processor time more: to load viem, libp2p and Helia, to compile them, to derive keys.
import { resolve } from "node:path";
import { before, describe } from "node:test";

let loaded: Promise<unknown> = Promise.resolve();

// A suite for each file keeps its hooks apart from those of other files. They load one after the other: a module that two of them wait
// for would register the tests of one in the suite of the other.
for (const file of process.argv.slice(2))
  void describe(file, async () => {
    loaded = loaded.then(() => import(resolve(file)));
    await loaded;
  });

// Modules that load keep the thread busy: tests that measure time begin after them.
before(async () => void (await loaded));
