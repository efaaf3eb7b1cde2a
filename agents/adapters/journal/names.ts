import { ConclaveError } from "../../core/errors.ts";
import { journalWayOut } from "../../ports/journal.ts";

const NAME = /^[a-z0-9-]{1,80}$/u;

/** Checks a name. Names come from our own code; the check keeps paths out of them all the same. */
export function checkJournalName(name: string): void {
  if (!NAME.test(name))
    throw new RangeError(`a journal's name is [a-z0-9-]{1,80}, not ${JSON.stringify(name.slice(0, 100))}`);
}

export function locked(path: string): ConclaveError {
  return new ConclaveError("JOURNAL_LOCKED", `Open journal ${path} failed: it is open already; close it first`, {
    path,
  });
}

export function corrupt(path: string, offset: number, reason: string): ConclaveError {
  return new ConclaveError(
    "JOURNAL_CORRUPT",
    `Read journal ${path} failed at byte ${offset}: ${reason}; ${journalWayOut}`,
    { path, offset, reason },
  );
}
