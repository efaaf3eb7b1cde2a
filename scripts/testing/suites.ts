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
  "subgraph",
  "kubo",
] as const;
export type Suite = (typeof suites)[number];

/** `quick`: before every commit. `standard`: `npm test`. `long`: what only `npm run test:long` and `.ci/run` run. */
export type Level = "quick" | "standard" | "long";

/** `computing` keeps a core busy; `waiting` mostly waits for real time; `alone` runs with no other of its lane. */
export type Lane = "computing" | "waiting" | "alone";

export const root = join(import.meta.dirname, "../..");

/** Suites that run only by name, with the reason. */
const byName: Partial<Record<Suite, string>> = {
  subgraph: "needs linux-x64 and a PostgreSQL of its own; .ci/run has a step for it",
  kubo: "needs Go; .ci/run has a step for it",
};

/** Files that only `npm run test:long` runs, with the reason. */
const longFiles: Readonly<Record<string, string>> = {};

/** Files and suites that `npm run test:quick` leaves out beside the long ones, with the reason. */
const slow: Readonly<Record<string, string>> = {};

/** One run of a runner: Node's on one file, or Hardhat's on all of the contracts' tests. */
export interface Job {
  readonly suite: Suite;
  /** From the repository's root; empty: every test of the contracts. */
  readonly files: readonly string[];
}

/** The files of a suite; none of `contracts`, where Hardhat finds them. */
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
  return suites
    .filter((suite) => byName[suite] === undefined)
    .flatMap((suite) => jobsOfSuite(suite))
    .filter((job) => levelOf(job) === level || (level === "standard" && levelOf(job) === "quick"));
}

export function laneOf({ suite }: Job): Lane {
  if (suite === "integration") return "waiting";
  // It starts a database and a graph-node.
  return suite === "subgraph" ? "alone" : "computing";
}

/** True if tests of the suite read the compiled contracts. */
export function needsContracts(suite: Suite): boolean {
  return suite !== "core" && suite !== "sim" && suite !== "models";
}

/** Every job of a suite, long ones included. */
export function jobsOfSuite(suite: Suite): readonly Job[] {
  if (suite === "contracts") return [{ suite, files: [] }];
  return filesOf(suite).map((file) => ({ suite, files: [file] }));
}

function levelOf({ suite, files }: Job): Level {
  const [file = ""] = files;
  if (longFiles[file] !== undefined) return "long";
  return slow[file] !== undefined || slow[folderOf(suite)] !== undefined ? "standard" : "quick";
}
