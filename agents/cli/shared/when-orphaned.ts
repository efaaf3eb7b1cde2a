const CHECK_MS = 500;

/** Tells once when the parent is gone, however it ended. Keeps no process alive. */
export function whenOrphaned(tell: () => void): void {
  const parent = process.ppid;
  const check = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(check);
    tell();
  }, CHECK_MS).unref();
}
