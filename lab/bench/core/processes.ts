import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { ConclaveError } from "../../../agents/core/errors.ts";
import type { ReferenceScenario } from "../../references/mbft.ts";
import type { Goal } from "../../../sim/step-decision.ts";
import type { Workload } from "./workloads.ts";

const run = promisify(execFile);
const folder = import.meta.dirname;
/** File that `reference.py` loads from a checkout. */
const ENGINE = join("src", "core", "protocol.py");

export interface PythonRate {
  readonly engine: "port" | "published";
  readonly python: string;
  readonly value: string | null;
  readonly rounds: number;
  readonly decisionsPerSecond: number;
}

/** Measures the reference in Python: the published engine in the folder `published`, or our port of its rules. */
export async function measurePython(
  scenario: ReferenceScenario,
  seconds: number,
  published: string | null,
): Promise<PythonRate> {
  if (published !== null && !existsSync(join(published, ENGINE)))
    throw new ConclaveError(
      "USAGE",
      `Give --published a checkout of the published repository: ${join(published, ENGINE)} is not there`,
      { field: "published", value: published },
    );
  const options = published === null ? [] : ["--published", published];
  const stdout = await python(["--seconds", String(seconds), ...options], JSON.stringify(scenario));
  return JSON.parse(stdout) as PythonRate;
}

/** Returns how many cases of a vector file the port gets right. */
export async function checkPort(vectors: string): Promise<{ readonly right: number; readonly cases: number }> {
  return JSON.parse(await python(["--check", vectors], "")) as { right: number; cases: number };
}

async function python(options: readonly string[], input: string): Promise<string> {
  const started = run("python3", [join(folder, "reference.py"), ...options]);
  // A process that did not start takes no input.
  started.child.stdin?.on("error", () => undefined).end(input);
  try {
    return (await started).stdout;
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === "ENOENT";
    throw isMissing
      ? new ConclaveError("CONFIG_MISSING", "Install python3: the reference in Python cannot run without it", {}, error)
      : error;
  }
}

export interface SeatsRate {
  readonly decisionsPerSecond: number;
  readonly inputs: number;
  readonly messages: number;
  readonly modelCalls: number;
}

export async function measureSeats(
  workload: Workload,
  goal: Goal,
  seconds: number,
  signatures: boolean,
): Promise<SeatsRate> {
  const hook = signatures ? [] : ["--import", join(folder, "../../shared/no-signatures.ts")];
  const { stdout } = await run(process.execPath, [
    ...hook,
    join(folder, "seats-process.ts"),
    workload.id,
    goal,
    String(seconds),
    ...(signatures ? ["verify"] : []),
  ]);
  return JSON.parse(stdout) as SeatsRate;
}
