// Runs `conclave verify` in a process of its own, as an auditor would.
import { execFile } from "node:child_process";
import { join } from "node:path";
import type { RequestId } from "../../agents/core/types.ts";

export interface Verified {
  readonly ok: boolean;
  /** Deliberation rounds in the transcript; under hashgraph, events of the seat that said most. */
  readonly rounds: number;
}

const cli = join(import.meta.dirname, "../../agents/cli/main.ts");

export async function verify(requestId: RequestId, deploymentFile: string, signal: AbortSignal): Promise<Verified> {
  const args = [cli, "verify", requestId.toString(), "--deployment", deploymentFile, "--json"];
  const { stdout, stderr } = await run(args, signal);
  const report = parse(stdout);
  if (report === null) throw new Error(`Verify request ${requestId}: no report. ${stderr}`);
  return { ok: report.ok === true, rounds: report.rounds ?? 0 };
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
