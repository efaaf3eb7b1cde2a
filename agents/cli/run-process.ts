import { commands as product, type CommandGroup, type TopCommand } from "./commands.ts";
import { runCli } from "./run-cli.ts";
import { whenOrphaned } from "./shared/when-orphaned.ts";

/** Within this time further signals are the same wish: Ctrl-C reaches the whole terminal, and npx may send it on as well. */
const ONE_WISH_MS = 1_000;

/**
 * Runs the command line of this process, and sets its exit code. Ends the process in order at a signal or, if npx or an npm script started
 * it, when its parent is gone; ends it at once at a signal after that.
 */
export async function runProcess(commands: readonly (CommandGroup | TopCommand)[] = product): Promise<void> {
  const interrupted = new AbortController();
  let stoppedAt = 0;
  const stop = (by: string): void => {
    if (interrupted.signal.aborted) return;
    stoppedAt = performance.now();
    interrupted.abort(new Error(`stopped by ${by}`));
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.on(signal, () => {
      if (interrupted.signal.aborted && performance.now() - stoppedAt > ONE_WISH_MS) process.exit(130);
      stop(signal);
    });
  }
  // npm sends a signal to its shell, which dies of SIGTERM without passing it on; dash waits through a SIGINT, and nothing tells us of that.
  if (process.env["npm_lifecycle_event"] !== undefined) whenOrphaned(() => stop("the end of npm"));
  const host = {
    stdout: (text: string) => void process.stdout.write(text),
    stderr: (text: string) => void process.stderr.write(text),
    environment: process.env,
    cwd: process.cwd(),
    signal: interrupted.signal,
  };
  process.exitCode = await runCli(process.argv.slice(2), host, commands);
}
