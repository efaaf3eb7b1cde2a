import { parseSettings, SettingsError, type Settings } from "./settings.ts";

/** Where settings come from: the user's own go before those that are served with the dashboard. */
export interface Found {
  readonly settings: Settings | null;
  readonly source: "own" | "served" | "none";
  /** Why the served settings cannot be used; null if they can, or if there are none. */
  readonly problem: string | null;
}

const KEY = "conclave.settings";

export async function findSettings(signal: AbortSignal): Promise<Found> {
  const own = ownSettings();
  if (own !== null) return { settings: own, source: "own", problem: null };
  return servedSettings(signal);
}

async function servedSettings(signal: AbortSignal): Promise<Found> {
  try {
    const response = await fetch("config.json", { signal, cache: "no-store" });
    if (!response.ok) return { settings: null, source: "none", problem: null };
    return { settings: parseSettings(await response.json()), source: "served", problem: null };
  } catch (error) {
    signal.throwIfAborted();
    // A page that was opened from a folder cannot fetch, which is no problem.
    if (error instanceof TypeError) return { settings: null, source: "none", problem: null };
    const why =
      error instanceof SyntaxError
        ? "the server sends no JSON there, so it may have no such file. Put one there, or fill in this form."
        : (error as Error).message;
    const problem = `config.json beside this page: ${why}`;
    return { settings: null, source: "none", problem };
  }
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
