// Runs commands one after the other, for the npm scripts that are several: node scripts/bootstrap.mjs scripts/steps.ts COMMAND... --
// npm appends what the script is given. None of the commands could take it, so it is refused before the first one starts.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { scriptCommand } from "./shared/arguments.ts";
import { EXIT_INTERRUPTED } from "./shared/interrupt.ts";

const words = process.argv.slice(2);
const end = words.indexOf("--");
const steps = words.slice(0, end);
scriptCommand(
  process.env["npm_lifecycle_event"] ?? "steps",
  `Takes no options and no arguments. Runs in turn, until one fails:\n${steps.map((step) => `  ${step}`).join("\n")}`,
).parse(words.slice(end + 1), { from: "user" });

let child: ChildProcess | null = null;
let isStopped = false;
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
  process.on(signal, () => {
    isStopped = true;
    // Ctrl-C reaches the child by itself; a second SIGINT would read as "at once".
    if (signal !== "SIGINT" || !process.stdin.isTTY) child?.kill(signal);
  });
for (const step of steps) {
  const [command = "", ...args] = step.split(" ");
  // A shell would not pass signals on; Windows starts npm and the tools by one alone.
  child = spawn(command, args, { shell: process.platform === "win32", stdio: "inherit" });
  const [code] = (await once(child, "exit")) as [number | null];
  process.exitCode = isStopped ? EXIT_INTERRUPTED : (code ?? EXIT_INTERRUPTED);
  if (process.exitCode !== 0) break;
}
