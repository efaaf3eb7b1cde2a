import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

const root = join(import.meta.dirname, "../..");
const execute = promisify(execFile);
/** The model of certify. */
export const MODEL = join(root, "docs/spec/certify.qnt");

/** Steps of a run: enough for three ballots. */
export const STEPS = 140;

export interface QuintResult {
  readonly code: number;
  readonly output: string;
}

/** Runs a command of Quint with its own evaluator, which needs nothing that npm does not bring. */
export async function quint(command: string, ...args: readonly string[]): Promise<QuintResult> {
  const evaluator = command === "typecheck" ? [] : ["--backend", "typescript"];
  const program = join(root, "node_modules/@informalsystems/quint/dist/src/cli.js");
  try {
    const { stdout, stderr } = await execute(process.execPath, [program, command, ...args, ...evaluator], {
      maxBuffer: 1 << 28,
    });
    return { code: 0, output: stdout + stderr };
  } catch (error) {
    const { code, stdout = "", stderr = "" } = error as { code?: number; stdout?: string; stderr?: string };
    return { code: code ?? 1, output: stdout + stderr };
  }
}

export interface RunOptions {
  readonly seed: number;
  readonly runs: number;
  /** Most steps of a run. */
  readonly steps: number;
  readonly more?: readonly string[];
}

/**
 * Lets Quint play seeded runs of a model, which is a file, and check its invariant `safe` after each step. Returns what Quint says where
 * the invariant breaks, else null. Throws what Quint says of a model that it cannot run.
 */
export async function violationIn(file: string, { seed, runs, steps, more = [] }: RunOptions): Promise<string | null> {
  const counts = ["--seed", String(seed), "--max-samples", String(runs), "--max-steps", String(steps)];
  const { code, output } = await quint("run", file, "--invariant", "safe", ...counts, ...more);
  // It stands on stderr: Quint ends before a pipe has taken all of a long run.
  if (output.includes("error: Invariant violated")) return output;
  if (code !== 0) throw new Error(output);
  return null;
}
