import { keepAt, keptAt } from "../shared/kept.ts";

/** Where the chain was when this browser asked: a page that is loaded again goes on from there, without a search. */

const KEY = "conclave.asked";
const MOST = 100;

type Cursors = Readonly<Record<string, string>>;

/** @param oracle tells requests of several deployments apart */
export function keepCursor(oracle: string, requestId: bigint, cursor: string): void {
  const kept = Object.entries(cursors()).slice(1 - MOST);
  keepAt("localStorage", KEY, { ...Object.fromEntries(kept), [nameOf(oracle, requestId)]: cursor });
}

export function cursorOf(oracle: string, requestId: bigint): string | null {
  return cursors()[nameOf(oracle, requestId)] ?? null;
}

function nameOf(oracle: string, requestId: bigint): string {
  return `${oracle}/${requestId}`;
}

function cursors(): Cursors {
  const read = keptAt("localStorage", KEY);
  return read !== null && typeof read === "object" ? (read as Cursors) : {};
}
