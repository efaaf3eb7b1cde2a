import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync, readFileSync } from "node:fs";
import { chmod, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { it } from "node:test";
import { EXIT_INTERRUPTED } from "../../scripts/shared/interrupt.ts";

/** Fifty requests take more. */
const MOST_SECONDS = 2;

const lab = join(import.meta.dirname, "../../lab/main.ts");

for (const [signal, line, requests] of [
  ["SIGTERM", "playing 2000 requests", 2_000],
  ["SIGINT", "starting PostgreSQL and graph-node", 4],
  ["SIGTERM", "graph-node has indexed block", 4],
] as const)
  it(`subgraph:bench ends at ${signal} after "${line}", and leaves nothing behind`, async () => {
    const folder = await mkdtemp(join(tmpdir(), "conclave-bench-"));
    try {
      // PostgreSQL runs as another user, who has to get through.
      await chmod(folder, 0o711);
      const child = spawn(process.execPath, [lab, "subgraph", "bench", "--requests", String(requests)], {
        stdio: ["ignore", "ignore", "pipe"],
        env: { ...process.env, TMPDIR: folder },
      });
      const before: string[] = [];
      const after: string[] = [];
      /** Seconds of processor time, from the signal on. */
      const used: number[] = [];
      let isSent = false;
      createInterface({ input: child.stderr }).on("line", (said) => {
        (isSent ? after : before).push(said);
        if (isSent || !said.includes(line)) return;
        isSent = child.kill(signal);
        used.push(secondsOf(child.pid));
      });
      const watch = setInterval(() => used.length > 0 && used.push(secondsOf(child.pid)), 100);
      const [code] = (await once(child, "close")) as [number | null];
      clearInterval(watch);
      assert.ok(isSent, before.join("\n"));
      assert.ok(Math.max(...used) - (used[0] ?? 0) < MOST_SECONDS, used.join(" "));
      assert.deepEqual([code, after], [EXIT_INTERRUPTED, ["stopped by a signal"]]);
      const left = await readdir(folder);
      assert.deepEqual(
        left.filter((name) => name.startsWith("conclave-")),
        [],
      );
      assert.deepEqual(
        commandLines().filter((one) => one.includes(folder)),
        [],
      );
    } finally {
      await rm(folder, { recursive: true });
    }
  });

/** The processor time that a process has used, in seconds; 0 once it has ended. */
function secondsOf(pid = 0): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /, "")
      .split(" ");
    return (Number(fields[11]) + Number(fields[12])) / 100;
  } catch {
    return 0;
  }
}

/** The command lines of all processes. */
function commandLines(): readonly string[] {
  return globSync("/proc/[0-9]*/cmdline").flatMap((file) => {
    try {
      return [readFileSync(file, "utf8")];
    } catch {
      // It has ended meanwhile.
      return [];
    }
  });
}
