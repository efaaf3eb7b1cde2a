import { parseSettings, SettingsError, type Settings } from "./settings.ts";

/** Where settings come from: the user's own go before those that are served with the dashboard. */
export interface Found {
  readonly settings: Settings | null;
  readonly source: "own" | "served" | "none";
  /** Why the served settings cannot be used: an error, or the status that the server answers with; null if they can. */
  readonly failure: unknown;
  /** What is served and cannot be used; undefined if that is nothing. */
  readonly given: unknown;
}

const KEY = "conclave.settings";
/** How long the server of the page may take. */
export const MOST_SECONDS = 10;

export async function findSettings(signal: AbortSignal): Promise<Found> {
  const settings = ownSettings();
  if (settings !== null) return { settings, source: "own", failure: null, given: undefined };
  let given: unknown;
  try {
    const patience = AbortSignal.any([signal, AbortSignal.timeout(MOST_SECONDS * 1_000)]);
    const response = await fetch("config.json", { signal: patience, cache: "no-store" });
    if (!response.ok) return none(response.status);
    given = await response.json();
    return { settings: parseSettings(given), source: "served", failure: null, given };
  } catch (error) {
    signal.throwIfAborted();
    return none(error, given);
  }
}

function none(failure: unknown, given?: unknown): Found {
  return { settings: null, source: "none", failure, given };
}

function ownSettings(): Settings | null {
  try {
    const text = localStorage.getItem(KEY);
    return text === null ? null : parseSettings(JSON.parse(text));
  } catch {
    // Another version wrote it, or somebody edited it by hand: the form asks again.
    return null;
  }
}

/** Throws SettingsError if the browser keeps nothing: its storage is full or forbidden. */
export function keepSettings(settings: Settings): void {
  try {
    localStorage.setItem(KEY, JSON.stringify(settings));
  } catch {
    throw new SettingsError("storage", "This browser keeps nothing; free its storage or allow it, and save again");
  }
}

export function forgetSettings(): void {
  localStorage.removeItem(KEY);
}
