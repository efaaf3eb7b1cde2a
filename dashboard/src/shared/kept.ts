/** What a browser keeps for this page. Others of its origin can write there, and it may be full or forbidden: nothing may rest on it. */
export type Place = "localStorage" | "sessionStorage";

/** Returns what was kept, as anybody may have written it; null if there is nothing that can be read. */
export function keptAt(place: Place, key: string): unknown {
  try {
    return JSON.parse(globalThis[place].getItem(key) ?? "null");
  } catch {
    return null;
  }
}

/** Keeps a value, or nothing if it is null. */
export function keepAt(place: Place, key: string, value: unknown): void {
  try {
    if (value === null) globalThis[place].removeItem(key);
    else globalThis[place].setItem(key, JSON.stringify(value));
  } catch {
    // Whoever asked has paid: that must not look like a failure, or it is paid twice.
  }
}
