import { commands as product, type CommandGroup } from "./commands.ts";
import { runCli } from "./run-cli.ts";
import type { CommandEntry } from "./shared/command.ts";

/** Runs the command line of this process, and sets its exit code. Ends the process at the second signal. */
export async function runProcess(commands: readonly (CommandGroup | CommandEntry)[] = product): Promise<void> {
  const interrupted = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.on(signal, () => {
      // A second signal ends the process at once.
      if (interrupted.signal.aborted) process.exit(130);
      interrupted.abort(new Error(`stopped by ${signal}`));
    });
  }
  const host = {
    stdout: (text: string) => void process.stdout.write(text),
    stderr: (text: string) => void process.stderr.write(text),
    environment: process.env,
    cwd: process.cwd(),
    signal: interrupted.signal,
  };
  process.exitCode = await runCli(process.argv.slice(2), host, commands);
}
