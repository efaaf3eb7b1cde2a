/** Exit code of a program that a signal ended. */
export const EXIT_INTERRUPTED = 130;

/** Aborts on SIGINT, SIGTERM and SIGHUP, so that what was started can be stopped in order. */
export function abortOnSignals(): AbortController {
  const abort = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => abort.abort());
  return abort;
}
