import { setTimeout as sleep } from "node:timers/promises";

/** Less than a test may take (scripts/testing/run-job.ts), so that what did not happen is named. */
const PATIENCE_MS = 600_000;

/** Polls until the condition gives a value. The limit only names what never happens: a machine may be slow, or busy. */
export async function until<T>(condition: () => Promise<T> | T, patienceMs = PATIENCE_MS): Promise<NonNullable<T>> {
  for (const end = Date.now() + patienceMs; ;) {
    const value = await condition();
    if (value !== null && value !== undefined && value !== false) return value;
    if (Date.now() > end) throw new Error(`waited ${patienceMs / 1_000} s in vain for ${condition.toString()}`);
    await sleep(20);
  }
}
