// The project's configuration with other texts in place of some contracts: `hardhat --config` with CONCLAVE_INSTRUMENTED set to
// a folder whose sources.json has the texts. Builds and caches stay in that folder. Used by coverage.ts and mutate.ts.
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { defineConfig } from "hardhat/config";
import type { HardhatPlugin } from "hardhat/types/plugins";

import base from "../../hardhat.config.ts";

const folder = process.env["CONCLAVE_INSTRUMENTED"];
if (folder === undefined) throw new Error("Set CONCLAVE_INSTRUMENTED to the folder of sources.json");
const sources = JSON.parse(readFileSync(join(folder, "sources.json"), "utf8")) as Record<string, string>;
const root = join(import.meta.dirname, "../..");
/** One profile; its type allows several. */
const solidityTests = (base.test?.solidity ?? {}) as { readonly invariant?: object };
const instrument: HardhatPlugin = {
  id: "conclave-instrument",
  hookHandlers: {
    solidity: () =>
      Promise.resolve({
        default: () =>
          Promise.resolve({
            preprocessProjectFileBeforeBuilding: (context, name, path, content, version, next) => {
              const own = path.startsWith(`${root}/`) ? sources[path.slice(root.length + 1)] : undefined;
              return next(context, name, path, own ?? content, version);
            },
            preprocessSolcInputBeforeBuilding: (context, input, next) => {
              const added = Object.entries(sources).filter(([file]) => file.startsWith("__"));
              for (const [file, content] of added) input.sources[file] = { content };
              return next(context, input);
            },
          }),
      }),
  },
};

export default defineConfig({
  ...base,
  plugins: [...(base.plugins ?? []), instrument],
  paths: { ...base.paths, artifacts: join(folder, "artifacts"), cache: join(folder, "cache") },
  // Hardhat's own probes would stand beside ours.
  coverage: { skipFiles: ["contracts/**"] },
  networks: {
    default: {
      type: "edr-simulated",
      chainType: "l1",
      hardfork: "osaka",
      allowUnlimitedContractSize: true,
      transactionGasCap: false,
      // Fixed as in the project's own, and more: the switches take gas, and an estimate is too low where what a call pays depends on its gas.
      gas: 60_000_000,
    },
  },
  test: {
    // Explaining a long walk takes memory, shortening it takes time: with 1,000 attempts a trial lasted more than nine minutes, with 64 one.
    solidity: { ...solidityTests, invariant: { ...solidityTests.invariant, shrinkRunLimit: 64 } },
  },
});
