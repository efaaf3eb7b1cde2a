// `conclave verify` in a process of its own: what an auditor would run.
import { execFile } from "node:child_process";
import { join } from "node:path";
import type { RequestId } from "../../agents/core/types.ts";

export interface Verified {
  readonly ok: boolean;
  /** Deliberation rounds in the transcript. */
  readonly rounds: number;
}

const cli = join(import.meta.dirname, "..", "..", "agents", "cli", "main.ts");

export function verify(requestId: RequestId, deploymentFile: string, signal: AbortSignal): Promise<Verified> {
  return new Promise((resolve, reject) => {
    const args = [cli, "verify", requestId.toString(), "--deployment", deploymentFile, "--json"];
    execFile(process.execPath, args, { signal }, (error, stdout, stderr) => {
      try {
        const report = JSON.parse(stdout) as { readonly ok?: boolean; readonly rounds?: number };
        resolve({ ok: report.ok === true, rounds: report.rounds ?? 0 });
      } catch (cause) {
        reject(error ?? new Error(`Verify request ${requestId}: no report. ${stderr}`, { cause }));
      }
    });
  });
}
