import { ConclaveError, type Ask, type Asked, type Conclave } from "../../../sdk/src/index.ts";
import type { Settings } from "../settings/settings.ts";
import { keepAt, keptAt } from "../shared/kept.ts";

/**
 * The transactions that asked and are not mined yet: a page that is loaded again goes on waiting for them, and so does every other tab.
 * Which of them a tab does not wait for is its own matter.
 */

const KEY = "conclave.sent";
const LEFT_KEY = "conclave.sent.left";
const MOST = 20;
/** Characters of the question that are kept. */
export const MOST_SENT = 300;
const HASH = /^0x[0-9a-f]{64}$/;
const ADDRESS = /^0x[0-9a-f]{40}$/;

/** What `asked` and `ask` say of a transaction that can ask nothing any more, where the contract names no reason. */
const REFUSALS: ReadonlySet<string> = new Set(["WALLET_REJECTED", "BALANCE_TOO_LOW"]);

/** A question on its way to the chain. */
export interface Sent {
  readonly hash: `0x${string}`;
  /** The account that pays. */
  readonly account: string;
  /** The question, which may be cut. */
  readonly question: string;
}

/** What is kept: others of this origin may write there, too. */
interface Kept extends Sent {
  readonly deployment: string;
}

/** Asks, and keeps the transaction until its end is known. */
export async function askKept(conclave: Conclave, settings: Settings, request: Ask): Promise<Asked> {
  const sent: Sent[] = [];
  const forget = (): void => sent.forEach(({ hash }) => forgetSent(hash));
  const onSent = (hash: Sent["hash"]): void => {
    const { account } = conclave.actions;
    const one = { hash, account, question: request.question.slice(0, MOST_SENT) };
    sent.push(one);
    keepAt("localStorage", KEY, [...all(), { ...one, deployment: nameOf(settings) }].slice(-MOST));
  };
  try {
    const asked = await conclave.ask({ ...request, onSent });
    forget();
    return asked;
  } catch (error) {
    if (isRefused(error)) forget();
    throw error;
  }
}

/** True if the transaction reverted, or the wallet replaced it: it asks nothing any more. All else may pass. */
export function isRefused(error: unknown): boolean {
  return error instanceof ConclaveError && ("error" in error.data || REFUSALS.has(error.code));
}

/** Drops a transaction whose end is known. */
export function forgetSent(hash: string): void {
  keepAt(
    "localStorage",
    KEY,
    all().filter((one) => one.hash !== hash),
  );
}

/** Lets this tab wait for a transaction no longer; others go on. */
export function leaveSent(hash: string): void {
  keepAt("sessionStorage", LEFT_KEY, [...left(), hash].slice(-MOST));
}

/** Returns the oldest one that this deployment was asked by and this tab waits for. */
export function sentTo(settings: Settings): Sent | null {
  const gone = left();
  const place = nameOf(settings);
  return all().find(({ deployment, hash }) => deployment === place && !gone.includes(hash)) ?? null;
}

function nameOf({ chainId, oracle }: Settings): string {
  return `${chainId}/${oracle}`;
}

function all(): readonly Kept[] {
  return listAt("localStorage", KEY).filter(isKept);
}

function left(): readonly unknown[] {
  return listAt("sessionStorage", LEFT_KEY);
}

function listAt(...where: Parameters<typeof keptAt>): readonly unknown[] {
  const read = keptAt(...where);
  return Array.isArray(read) ? read : [];
}

function isKept(value: unknown): value is Kept {
  const { hash, account, question, deployment } = (value ?? {}) as Readonly<Record<string, unknown>>;
  const texts = [hash, account, question, deployment];
  return texts.every((text) => typeof text === "string") && HASH.test(String(hash)) && ADDRESS.test(String(account));
}
