// Loaded into every process that runs a test file: it tells the runner how much CPU time the file took.
import { writeSync } from "node:fs";
import { isMainThread } from "node:worker_threads";

if (isMainThread && process.argv[1]?.endsWith(".test.ts") === true)
  process.on("exit", () => {
    const { user, system } = process.cpuUsage();
    try {
      writeSync(1, `\u0000cpu ${user + system}\u0000\n`);
    } catch {
      // The runner is gone: nobody wants to know.
    }
  });
