// Loaded into every process that runs tests: it tells the runner its process ID, and at its end how much CPU time the process and its
// children took.
import { readFileSync, writeSync } from "node:fs";
import { isMainThread } from "node:worker_threads";

const MICROSECONDS_PER_TICK = 10_000;

if (isMainThread && /\.test\.ts$|testing\/group\.ts$|hardhat$/.test(process.argv[1] ?? "")) {
  tell("pid", process.pid);
  process.on("exit", () => {
    const { user, system } = process.cpuUsage();
    tell("cpu", user + system + ofChildren());
  });
}

function tell(name: string, value: number): void {
  try {
    writeSync(1, `\u0000${name} ${value}\u0000\n`);
  } catch {
    // The runner is gone: nobody wants to know.
  }
}

/** Microseconds of the children that have ended, and of theirs; 0 where the system has no /proc. */
function ofChildren(): number {
  try {
    const stat = readFileSync("/proc/self/stat", "utf8");
    const [user, system] = stat
      .slice(stat.lastIndexOf(")") + 2)
      .split(" ")
      .slice(13, 15)
      .map(Number) as [number, number];
    return (user + system) * MICROSECONDS_PER_TICK;
  } catch {
    return 0;
  }
}
