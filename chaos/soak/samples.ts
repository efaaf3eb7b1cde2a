// What an agent's process and its folder take.
import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { ChaosAgent } from "../agents.ts";

/** Resources of a process: a new life begins anew. */
export const OF_PROCESS = ["rssMegabytes", "descriptors", "threads"] as const;
/** Resources of a folder, which outlives processes. */
export const OF_FOLDER = ["folderMegabytes", "blocksMegabytes", "journalsMegabytes"] as const;
export type Resource = (typeof OF_PROCESS)[number] | (typeof OF_FOLDER)[number];

export interface Sample extends Readonly<Record<Resource, number>> {
  /** Hours since the load began. */
  readonly hours: number;
  readonly agent: number;
  /** Number of the process. */
  readonly life: number;
  /** Processor time of the process so far. */
  readonly cpuSeconds: number;
}

const MEGA = 1e6;
/** The kernel counts processor time in hundredths of a second on every Linux of this architecture. */
const TICKS_PER_SECOND = 100;

/** Returns null if the agent does not run. Only Linux has what it reads. */
export async function sampleAgent(
  { pids, lives, directory }: Pick<ChaosAgent, "pids" | "lives" | "directory">,
  agent: number,
  hours: number,
): Promise<Sample | null> {
  const [id] = pids();
  if (id === undefined) return null;
  try {
    const [status, stat, descriptors, sizes] = await Promise.all([
      readFile(`/proc/${id}/status`, "utf8"),
      readFile(`/proc/${id}/stat`, "utf8"),
      readdir(`/proc/${id}/fd`),
      sizesIn(join(directory, "data")),
    ]);
    const field = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(status)?.[1]);
    // After the name of the program, which may have blanks: the 12th and 13th fields.
    const times = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return {
      hours,
      agent,
      life: lives(),
      cpuSeconds: (Number(times[11]) + Number(times[12])) / TICKS_PER_SECOND,
      rssMegabytes: (field("VmRSS") * 1024) / MEGA,
      descriptors: descriptors.length,
      threads: field("Threads"),
      folderMegabytes: (sizes.get(".") ?? 0) / MEGA,
      blocksMegabytes: (sizes.get("ipfs") ?? 0) / MEGA,
      journalsMegabytes: (sizes.get("journals") ?? 0) / MEGA,
    };
  } catch (error) {
    // It has ended meanwhile.
    if (["ENOENT", "ESRCH"].includes((error as NodeJS.ErrnoException).code ?? "")) return null;
    throw error;
  }
}

/** Bytes on the disk of a folder (".") and of each folder in it. */
async function sizesIn(folder: string): Promise<ReadonlyMap<string, number>> {
  const { stdout } = await promisify(execFile)("du", ["--block-size=1", "--max-depth=1", "."], { cwd: folder }).catch(
    // A file that is removed meanwhile makes du fail after it has printed.
    (error: unknown) => error as { readonly stdout: string },
  );
  const lines = stdout.trim().split("\n");
  return new Map(lines.map((line) => [line.split("\t")[1]?.replace("./", "") ?? "", Number.parseInt(line)]));
}
