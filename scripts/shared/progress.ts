const started = Date.now();

/** Prints a line of progress to stderr, after the seconds since the start of the program. */
export function progress(line: string): void {
  process.stderr.write(`${((Date.now() - started) / 1000).toFixed(1).padStart(6)} s  ${line}\n`);
}
