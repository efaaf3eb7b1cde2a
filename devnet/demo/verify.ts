// Runs `conclave verify` and `conclave transcript` in processes of their own, as an auditor would.
import { execFile } from "node:child_process";
import { join } from "node:path";
import type { RequestId } from "../../agents/core/types.ts";

export interface Verified {
  readonly ok: boolean;
  /** Deliberation rounds in the transcript; under hashgraph, events of the seat that said most. */
  readonly rounds: number;
  /** The argument, as `conclave transcript` tells it. */
  readonly argument: string;
}

const cli = join(import.meta.dirname, "../../agents/cli/main.ts");

export async function verify(requestId: RequestId, deploymentFile: string, signal: AbortSignal): Promise<Verified> {
  const about = [requestId.toString(), "--deployment", deploymentFile];
  const [proof, told] = await Promise.all([
    run([cli, "verify", ...about, "--json"], signal),
    run([cli, "transcript", ...about], signal),
  ]);
  const report = parse(proof.stdout);
  if (report === null) throw new Error(`Verify request ${requestId}: no report. ${proof.stderr}`);
  if (told.stdout === "") throw new Error(`Read the transcript of request ${requestId}: it is empty. ${told.stderr}`);
  return { ok: report.ok === true, rounds: report.rounds ?? 0, argument: told.stdout };
}

/** A failed verification exits with 1 and still reports. */
function run(
  args: readonly string[],
  signal: AbortSignal,
): Promise<{ readonly stdout: string; readonly stderr: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, args, { signal }, (_, stdout, stderr) => resolve({ stdout, stderr }));
  });
}

function parse(text: string): { readonly ok?: boolean; readonly rounds?: number } | null {
  try {
    return JSON.parse(text) as { readonly ok?: boolean; readonly rounds?: number };
  } catch {
    return null;
  }
}
