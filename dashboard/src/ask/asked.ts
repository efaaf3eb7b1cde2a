/** Where the chain was when this browser asked: a page that is loaded again goes on from there, without a search. */

const KEY = "conclave.asked";
const MOST = 100;

type Cursors = Readonly<Record<string, string>>;

/** @param oracle tells requests of several deployments apart */
export function keepCursor(oracle: string, requestId: bigint, cursor: string): void {
  const kept = Object.entries(cursors()).slice(1 - MOST);
  try {
    localStorage.setItem(KEY, JSON.stringify({ ...Object.fromEntries(kept), [nameOf(oracle, requestId)]: cursor }));
  } catch {
    // The storage is full or forbidden. The question is asked and paid: that must not look like a failure, or it is paid twice.
  }
}

export function cursorOf(oracle: string, requestId: bigint): string | null {
  return cursors()[nameOf(oracle, requestId)] ?? null;
}

function nameOf(oracle: string, requestId: bigint): string {
  return `${oracle}/${requestId}`;
}

function cursors(): Cursors {
  try {
    const read: unknown = JSON.parse(localStorage.getItem(KEY) ?? "{}");
    return read !== null && typeof read === "object" ? (read as Cursors) : {};
  } catch {
    return {};
  }
}
