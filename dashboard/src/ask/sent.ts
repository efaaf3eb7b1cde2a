import { ConclaveError, type Ask, type Asked, type Conclave } from "../../../sdk/src/index.ts";
import type { Settings } from "../settings/settings.ts";
import { keepAt, keptAt } from "../shared/kept.ts";

/** The transactions that asked and are not mined yet: a page that is loaded again goes on waiting for them. */

const KEY = "conclave.sent";
const MOST = 20;
const HASH = /^0x[0-9a-f]{64}$/;

/** What was sent may be mined nevertheless. */
const MAYBE_MINED: ReadonlySet<string> = new Set(["CHAIN_TIMEOUT", "CHAIN_UNREACHABLE"]);

type Hash = `0x${string}`;

/** Asks, and keeps the transaction until its end is known. */
export async function askKept(conclave: Conclave, settings: Settings, request: Ask): Promise<Asked> {
  const sent: Hash[] = [];
  const forget = (): void => sent.forEach((hash) => forgetSent(settings, hash));
  const onSent = (hash: Hash): void => {
    sent.push(hash);
    keepAt("localStorage", KEY, [...all(), nameOf(settings, hash)].slice(-MOST));
  };
  try {
    const asked = await conclave.ask({ ...request, onSent });
    forget();
    return asked;
  } catch (error) {
    const isOpen = error instanceof ConclaveError && MAYBE_MINED.has(error.code);
    if (!isOpen) forget();
    throw error;
  }
}

export function forgetSent(settings: Settings, hash: Hash): void {
  const name = nameOf(settings, hash);
  keepAt(
    "localStorage",
    KEY,
    all().filter((one) => one !== name),
  );
}

/** Returns the oldest one that this deployment was asked by. */
export function sentTo(settings: Settings): Hash | null {
  const place = nameOf(settings, "0x").slice(0, -2);
  const hashes = all()
    .filter((one) => one.startsWith(place))
    .map((one) => one.slice(place.length));
  return hashes.find((hash): hash is Hash => HASH.test(hash)) ?? null;
}

function nameOf({ chainId, oracle }: Settings, hash: Hash): string {
  return `${chainId}/${oracle}/${hash}`;
}

function all(): readonly string[] {
  const read = keptAt("localStorage", KEY);
  return Array.isArray(read) ? read.filter((one): one is string => typeof one === "string") : [];
}
