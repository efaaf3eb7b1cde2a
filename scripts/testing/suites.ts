// The test suites, and which files `npm run test:quick` and `npm test` leave out.
import { existsSync, globSync } from "node:fs";
import { join } from "node:path";

export const suites = [
  "core",
  "adapters",
  "sim",
  "lab",
  "models",
  "contracts",
  "integration",
  "packages",
  "page",
  "subgraph",
  "kubo",
  "public-model",
] as const;
export type Suite = (typeof suites)[number];

/** `quick`: before every commit. `standard`: `npm test`. `long`: what only `npm run test:long` and `.ci/run` run. */
export type Level = "quick" | "standard" | "long";

/** `computing` keeps a core busy; `waiting` mostly waits for real time; `alone` runs with no other of its lane. */
export const lanes = ["computing", "waiting", "alone"] as const;
export type Lane = (typeof lanes)[number];

export const root = join(import.meta.dirname, "../..");

/** Suites that run only by name, with the reason. */
const byName: Partial<Record<Suite, string>> = {
  subgraph: "needs linux-x64 and a PostgreSQL of its own; .ci/run has a step for it",
  "public-model": "needs a model from a Python package index; .ci/run has a step for it",
  kubo: "needs a Kubo, which is built with Go; .ci/run has a step for it",
  page: "needs a Chromium and a built page; .ci/run has a step for it",
  packages: "installs packages from npm's registry into empty projects; .ci/run has a step for it",
};

/** Files that only `npm run test:long` runs, or for Solidity a step of `.ci/run`, with the reason. `npm test` has to end within eight minutes on two cores. */
const longFiles: Readonly<Record<string, string>> = {
  "lab/test/attacks-models.test.ts": "asks the embedded model",
  "lab/test/attacks.test.ts": "plays every attack of the published reference",
  "lab/test/coalitions.test.ts": "plays coalitions",
  "lab/test/complexity-runs.test.ts": "measures every protocol, by the command and in seeded worlds",
  "lab/test/economics.test.ts": "lets strategies live on a chain",
  "lab/test/eval-models.test.ts": "decides seeded questions with every model in models/",
  "lab/test/eval-rivals.test.ts": "plays as many liars as each protocol bears",
  "lab/test/injections-runs.test.ts": "plays the whole corpus of hostile texts in every place of every protocol",
  "lab/test/papers-runs.test.ts": "plays every study of the papers",
  "lab/test/papers.test.ts": "starts commands",
  "test/adapters/doctor-model.test.ts": "asks the embedded model",
  "test/adapters/model-llama-process.test.ts": "ends the embedded model's process in many ways, and starts it again",
  "test/adapters/source-memory.test.ts": "starts a process for each hostile page",
  "test/contracts/BookInvariants.t.sol": "walks through lives of agents",
  "test/contracts/DrawDistribution.t.sol": "draws 100,000 seats",
  "test/contracts/Invariants.t.sol": "walks through whole lives of requests",
  "test/contracts/RewardsInvariants.t.sol": "walks through rewards",
  "test/contracts/StakeInvariants.t.sol": "walks through stake",
  "test/contracts/draw-cost.test.ts": "measures draws from large registries",
  "test/contracts/every-course.test.ts": "plays every course with two appeals",
  "test/contracts/paid-cost.test.ts": "measures commits and settlements of many sizes",
  "test/contracts/settle-cost.test.ts": "measures settlements of many sizes",
  "test/core/certify-model-runs.test.ts": "lets Quint simulate its model many times, with planted faults",
  "test/core/certify-model.test.ts": "lets Quint simulate its model",
  "test/core/hashgraph-claims.test.ts": "plays whole committees under attack",
  "test/core/hashgraph-run.test.ts": "plays whole committees, many times",
  "test/core/hashgraph.test.ts": "orders thousands of random events",
  "test/core/leaderless-run.test.ts": "plays whole committees",
  "test/core/non-answers-run.test.ts": "plays whole committees of every protocol that reads sources",
  "test/core/pay.test.ts": "plays whole committees of every protocol",
  "test/core/sources-run.test.ts": "plays whole committees of every protocol that reads sources",
  "test/core/unanimous-run.test.ts": "plays whole committees",
  "test/core/wbft-run.test.ts": "plays whole committees",
  "test/integration/cli-car.test.ts": "sends 340 MB to a command; car.test.ts reads short CARs",
  "test/integration/cli-sources.test.ts": "lets agents decide from each kind of source",
  "test/integration/dev.test.ts": "starts and stops local worlds of `conclave dev`",
  "test/integration/doctor.test.ts": "examines agents with each fault, each by a process of its own",
  "test/integration/full-disk.test.ts": "starts networks whose disks are full",
  "test/integration/keeper-batch.test.ts": "waits for the turns of keepers",
  "test/integration/keeper-restart.test.ts": "waits for the turns of keepers, and restarts them",
  "test/integration/wake.test.ts": "lets an agent miss three seats",
  "test/models/calibrate.test.ts": "asks models hundreds of questions to calibrate them",
  "test/models/conclave-small.test.ts": "asks the model hundreds of held-out questions",
  "test/sim/mutants.test.ts": "hunts every planted fault through seeded worlds, up to 10,000 each",
  "test/sim/simulator.test.ts": "plays seeded worlds; command.test.ts plays a few",
  "test/sim/twins-runs.test.ts": "plays every schedule of twins for every protocol; twins.test.ts plays two protocols",
  "test/sim/twins.test.ts": "plays every schedule of twins of two protocols",
  "test/sim/worlds-runs.test.ts": "plays many seeds of every fault, misdeed and protocol",
};

/** Files and suites that `npm run test:quick` leaves out beside the long ones, with the reason. */
const slow: Readonly<Record<string, string>> = {
  "test/contracts": "takes a minute; run `npm run test:contracts` when you change a contract",
  "test/integration": "starts whole networks of agents",
  "test/packages": "packs, installs and bundles packages",
  "test/models": "asks the models in models/",
  "test/sim/command.test.ts": "starts the simulator's command many times",
  "test/core/adversarial.test.ts": "plays whole committees under attack",
  "test/core/contract-tools.test.ts": "compiles the contracts with their planted faults",
  "test/core/council.test.ts": "plays whole committees",
  "test/core/data.test.ts": "plays whole committees that read numbers from sources",
  "test/core/hang-reasons.test.ts": "plays whole committees that hang",
  "test/core/hashgraph-liveness.test.ts": "plays whole committees",
  "test/adapters/secp256k1.test.ts": "compares libraries on thousands of signatures",
  "test/adapters/source-text.test.ts": "starts a thread for each page",
  "test/adapters/source-search.test.ts": "starts a process for each search",
  "test/adapters/beacon.test.ts": "starts a chain",
  "test/adapters/chain-batch.test.ts": "starts a chain",
  "test/adapters/chain-certificates.test.ts": "starts a chain",
  "test/adapters/chain-header.test.ts": "starts chains of both engines",
  "test/adapters/chain-money.test.ts": "starts a chain",
  "test/adapters/chain-questions-raw.test.ts": "starts a chain",
  "test/adapters/chain-stall.test.ts": "starts a chain",
  "test/adapters/chain-viem.test.ts": "starts a chain for each group of tests",
  "test/adapters/chain.test.ts": "starts a chain for each group of tests",
  "test/adapters/content-store.test.ts": "starts IPFS nodes",
  "test/adapters/deploy.test.ts": "starts chains",
  "test/adapters/recorded-deployment.test.ts": "starts chains",
  "test/adapters/metrics.test.ts": "asks the embedded model, and ends its process",
  "test/adapters/model-forms.test.ts": "asks the embedded model, and its parser about thousands of texts",
  "test/adapters/model-llama-answer.test.ts": "asks the embedded model",
  "test/adapters/model-llama-thinking.test.ts": "asks the embedded model",
  "test/adapters/model-llama.test.ts": "asks the embedded model",
  "test/adapters/network.test.ts": "starts libp2p nodes and waits for time-outs",
  "lab/test/bench-committee.test.ts": "asks the embedded model",
  "lab/test/conformance.test.ts": "starts commands",
  "lab/test/gas-all-in.test.ts": "starts a chain",
  "lab/test/gas-floor.test.ts": "starts a chain",
  "lab/test/long-texts.test.ts": "asks the embedded model",
  "lab/test/prompt-sets.test.ts": "plays questions of every kind under every protocol",
  "lab/test/eval-runs.test.ts": "plays whole committees of every protocol",
};

/** Files that wait for real time as the whole suite integration does. */
const waitingFiles: readonly string[] = [
  "test/adapters/content-store.test.ts",
  "test/adapters/gateway.test.ts",
  "test/adapters/lock.test.ts",
  "test/adapters/model-openai-servers.test.ts",
  "test/adapters/model-openai.test.ts",
  "test/adapters/model-pull.test.ts",
  "test/adapters/network.test.ts",
  "test/adapters/pinning-service.test.ts",
  "test/adapters/subgraph.test.ts",
];

/** How many quick files of one suite and lane run in one process. What starts chains, worlds or models has a process of its own. */
const FILES_IN_A_GROUP = 8;

/** One run of a runner: Node's on a file or a group of files, or Hardhat's on all of the contracts' tests. */
export interface Job {
  readonly suite: Suite;
  /** From the repository's root; none: every test of the contracts. */
  readonly files: readonly string[];
}

/** Returns a suite's files; none for `contracts`: Hardhat finds those. */
export function filesOf(suite: Suite): readonly string[] {
  return suite === "contracts" ? [] : globSync(`${folderOf(suite)}/**/*.test.ts`, { cwd: root }).toSorted();
}

export function folderOf(suite: Suite): string {
  return suite === "lab" ? "lab/test" : `test/${suite}`;
}

/** Everything that a level runs. */
export function jobsOf(level: Level): readonly Job[] {
  for (const path of Object.keys({ ...longFiles, ...slow }))
    if (!existsSync(join(root, path))) throw new Error(`Remove ${path} from scripts/testing/suites.ts: it is gone`);
  return suites.filter((suite) => byName[suite] === undefined).flatMap((suite) => jobsOfSuite(suite, level));
}

/** A job's name: its files, or for the contracts, which are many, the suite. */
export function nameOf({ suite, files }: Job): string {
  return suite === "contracts" ? suite : files.join();
}

export function laneOf({ suite, files }: Job): Lane {
  if (suite === "integration" || files.some((file) => waitingFiles.includes(file))) return "waiting";
  // It starts a database and a graph-node.
  return suite === "subgraph" ? "alone" : "computing";
}

/** True if tests of the suite read the compiled contracts. */
export function needsContracts(suite: Suite): boolean {
  return !["core", "sim", "models", "public-model"].includes(suite);
}

/** The jobs of a suite at a level; all of them, if none is named. */
export function jobsOfSuite(suite: Suite, wanted?: Level): readonly Job[] {
  const isWanted = (job: Job): boolean => {
    const level = levelOf(job);
    return wanted === undefined || level === wanted || (wanted === "standard" && level === "quick");
  };
  if (suite === "contracts") return contractJobs(wanted);
  const jobs = filesOf(suite)
    .map((file): Job => ({ suite, files: [file] }))
    .filter(isWanted);
  const alike = Map.groupBy(jobs, (job) => (levelOf(job) === "quick" ? laneOf(job) : nameOf(job)));
  return [...alike.values()].flatMap((group) => {
    const all = group.flatMap(({ files }) => files);
    const starts = Array.from({ length: Math.ceil(all.length / FILES_IN_A_GROUP) }, (_, at) => at * FILES_IN_A_GROUP);
    return starts.map((start): Job => ({ suite, files: all.slice(start, start + FILES_IN_A_GROUP) }));
  });
}

/** One run of Hardhat. A step of `.ci/run` plays all Solidity tests with all runs, so `test:long` has none. */
function contractJobs(wanted: Level | undefined): readonly Job[] {
  const suite = "contracts";
  if (wanted === undefined) return [{ suite, files: [] }];
  const files = globSync(`${folderOf(suite)}/*{.t.sol,.test.ts}`, { cwd: root })
    .filter((file) => levelOf({ suite, files: [file] }) === wanted && !(wanted === "long" && file.endsWith(".sol")))
    .toSorted();
  return files.length === 0 ? [] : [{ suite, files }];
}

/** A guess for a job that never ran in this checkout. */
export function guessSeconds(job: Job): number {
  if (job.suite === "contracts") return 60;
  return (levelOf(job) === "quick" ? 2 : 20) * job.files.length;
}

function levelOf({ suite, files }: Job): Level {
  const [file = ""] = files;
  if (longFiles[file] !== undefined) return "long";
  return slow[file] !== undefined || slow[folderOf(suite)] !== undefined ? "standard" : "quick";
}
