import { runCli } from "./run-cli.ts";

const interrupted = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    // A second signal ends the process at once.
    if (interrupted.signal.aborted) process.exit(130);
    interrupted.abort(new Error(`stopped by ${signal}`));
  });
}

process.exitCode = await runCli(process.argv.slice(2), {
  stdout: (text) => void process.stdout.write(text),
  stderr: (text) => void process.stderr.write(text),
  environment: process.env,
  cwd: process.cwd(),
  signal: interrupted.signal,
});
