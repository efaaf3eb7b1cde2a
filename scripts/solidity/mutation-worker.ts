// A process that keeps Hardhat and the contract tests loaded, and runs one test at a time on the requested mutant.
// mutation-run.ts starts it with hardhat.config.ts as the configuration; with HARDHAT_COVERAGE it also reports which
// switches a test reads.
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";

import type { NetworkHelpers } from "@nomicfoundation/hardhat-network-helpers/types";
import hre from "hardhat";
import type { NetworkConnection } from "hardhat/types/network";
import Mocha from "mocha";

import { mostBytes, tooMuchMemory } from "./mutation-protocol.ts";
import type { Answer, Ask } from "./mutation-protocol.ts";

type Chain = NetworkConnection & { readonly networkHelpers: NetworkHelpers };

interface MochaFile {
  readonly mocha: Mocha;
  readonly tests: readonly string[];
  /** Chains that the file made when it was loaded, with a snapshot of each. */
  readonly chains: { readonly chain: Chain; start: unknown }[];
  mutant: number | undefined;
}

const root = join(import.meta.dirname, "../..");
const mochaFiles = new Map<string, MochaFile>();
const chains: Chain[] = [];
let active = 0;
/** Made by Hardhat when it measures coverage. */
const coverage = (hre as { readonly _coverage?: { readonly data: Map<string, number>; disableReport(): void } })
  ._coverage;
coverage?.disableReport();

hre.hooks.registerHandlers("network", {
  newConnection: async (context, next) => {
    const chain = await next(context);
    await chain.provider.request({ method: "hardhat_setCoinbase", params: [coinbaseOf(active)] });
    chains.push(chain as unknown as Chain);
    return chain;
  },
});
setInterval(() => {
  if (process.memoryUsage.rss() > mostBytes) process.exit(tooMuchMemory);
}, 250).unref();
// A test that was given up may still fail: that is ignored.
process.on("unhandledRejection", () => undefined);
process.on("message", (ask: Ask) => {
  void answer(ask).then((reply) => process.send!(reply));
});

async function answer(ask: Ask): Promise<Answer> {
  if (ask.test === undefined) {
    return { tests: (await loadMocha(ask.file)).tests, failures: [], hits: [], bytes: 0 };
  }
  coverage?.data.clear();
  active = ask.mutant;
  const failures = await (ask.file.endsWith(".ts") ? runMocha(ask, ask.test) : runSolidity(ask));
  const hits = [...(coverage?.data.keys() ?? [])].map((tag) => Number(`0x${tag}`));
  return { tests: [], failures, hits, bytes: process.memoryUsage.rss() };
}

const coinbaseOf = (mutant: number): string => `0x${mutant.toString(16).padStart(40, "0")}`;

async function loadMocha(file: string): Promise<MochaFile> {
  const known = mochaFiles.get(file);
  if (known !== undefined) return known;
  // The asking process limits the time.
  const mocha = new Mocha({ timeout: 0, bail: true, reporter: Mocha.reporters.Base }).cleanReferencesAfterRun(false);
  mocha.addFile(join(root, file));
  const before = chains.length;
  await mocha.loadFilesAsync();
  const tests: string[] = [];
  mocha.suite.eachTest((test) => tests.push(test.fullTitle()));
  const own = chains.slice(before).map(async (chain) => ({ chain, start: await snapshot(chain) }));
  const loaded = { mocha, tests, chains: await Promise.all(own), mutant: undefined };
  mochaFiles.set(file, loaded);
  return loaded;
}

function snapshot(chain: Chain): Promise<unknown> {
  return chain.provider.request({ method: "evm_snapshot" });
}

async function runMocha({ file, mutant }: Ask, test: string): Promise<readonly string[]> {
  const loaded = await loadMocha(file);
  // Fixtures serve one mutant; while reads are counted, each test makes its own.
  if (loaded.mutant !== mutant || coverage !== undefined) await reset(loaded, mutant);
  loaded.mocha.grep(new RegExp(`^${RegExp.escape(test)}$`));
  const failures: string[] = [];
  await new Promise<void>((settle) => {
    const runner = loaded.mocha.run(() => {
      runner.dispose();
      settle();
    });
    runner.on("fail", (_, error) => failures.push(String(error)));
  });
  return failures;
}

async function reset(loaded: MochaFile, mutant: number): Promise<void> {
  for (const own of loaded.chains) {
    await own.chain.provider.request({ method: "evm_revert", params: [own.start] });
    own.start = await snapshot(own.chain);
    own.chain.networkHelpers.clearSnapshots();
    await own.chain.provider.request({ method: "hardhat_setCoinbase", params: [coinbaseOf(mutant)] });
  }
  loaded.mutant = mutant;
}

interface SolidityResult {
  readonly suiteResults: readonly {
    readonly testResults: readonly { readonly status: string; readonly name: string; readonly reason?: string }[];
  }[];
}

async function runSolidity({ file, without = [], prefix = "", mutant }: Ask): Promise<readonly string[]> {
  Object.assign(hre.config.test.solidity.profiles["default"]!, { coinbase: coinbaseOf(mutant) });
  const grepExclude = without.length === 0 ? undefined : `^(${without.join("|")})\\b`;
  const task = hre.tasks.getTask(["test", "solidity"]);
  const result = (await task.run({ testFiles: [file], noCompile: true, grep: `^${prefix}`, grepExclude })) as
    | { readonly success: true; readonly value: SolidityResult }
    | { readonly success: false; readonly error: SolidityResult };
  const { suiteResults } = result.success ? result.value : result.error;
  const all = suiteResults.flatMap(({ testResults }) => testResults);
  if (all.length === 0) throw new Error(`Cannot find a test in ${file}`);
  const failures = all
    .filter(({ status }) => status === "Failure")
    .map(({ name, reason = "no reason" }) => `${name.replace(/\(.*/, "")}: ${stripVTControlCharacters(reason)}`);
  return result.success || failures.length > 0 ? failures : ["the run"];
}
