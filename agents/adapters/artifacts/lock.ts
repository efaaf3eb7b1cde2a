// A lock between processes: a folder whose time stamp the owner refreshes while it works.
import { mkdir, rmdir, stat, utimes } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

export interface LockTiming {
  /** Time between two signs of life of the owner. */
  readonly beatMs: number;
  /**
   * An owner that is silent for this long counts as dead and loses its lock. This is many heartbeats, because a busy
   * machine delays them.
   */
  readonly staleMs: number;
  readonly pollMs: number;
}

const usual: LockTiming = { beatMs: 5_000, staleMs: 60_000, pollMs: 250 };

/** Waits for the lock for as long as its owner works. */
export async function withLock<T>(path: string, work: () => Promise<T>, timing: LockTiming = usual): Promise<T> {
  await take(path, timing);
  const beat = setInterval(() => {
    const now = new Date();
    void utimes(path, now, now).catch(() => undefined);
  }, timing.beatMs);
  try {
    return await work();
  } finally {
    clearInterval(beat);
    await rmdir(path);
  }
}

async function take(path: string, { staleMs, pollMs }: LockTiming): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  let lastSign = NaN;
  // Counted in checks, not in time: while this machine sleeps, the owner cannot beat either.
  let silentLooks = 0;
  for (;;) {
    try {
      return await mkdir(path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
    const sign = await stat(path).then(
      ({ mtimeMs }) => mtimeMs,
      () => NaN,
    );
    silentLooks = sign === lastSign ? silentLooks + 1 : 0;
    lastSign = sign;
    if (silentLooks * pollMs > staleMs) await rmdir(path).catch(() => undefined);
    else await sleep(pollMs);
  }
}
