import { readFile } from "node:fs/promises";

/** Returns the most memory that a process held, in bytes; null where the system does not say (only Linux does). */
export async function peakMemory(pid: number): Promise<number | null> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  const [, kibibytes] = /^VmHWM:\s+(\d+) kB$/mu.exec(status) ?? [];
  return kibibytes === undefined ? null : Number(kibibytes) * 1024;
}
