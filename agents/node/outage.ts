import { messageOf } from "../core/errors.ts";
import type { Log } from "../ports/log.ts";

/** Tells a log of a failure that recurs: one line when it begins and one when it has ended. */
export interface Outage {
  failed(error: unknown): void;
  ended(): void;
}

export function createOutage(log: Log, words: { readonly began: string; readonly ended: string }): Outage {
  let failures = 0;
  return {
    failed(error) {
      failures++;
      if (failures === 1) log.warn({ error: messageOf(error) }, words.began);
    },
    ended() {
      if (failures > 0) log.info({ failures }, words.ended);
      failures = 0;
    },
  };
}
