import { ConclaveError } from "../../core/errors.ts";
import { hasNoCredentials } from "../api-key.ts";
import { isLoopback } from "../http-server.ts";
import { bodyText, connectionFailure } from "../http.ts";

/** An answer to a request for a file, after all redirects. */
export interface OpenedFile {
  readonly response: Response;
  /** The sha256 that the server states for a file; null if it states none. */
  readonly stated: string | null;
}

/** A failure that another try may not meet. */
export class Interrupted extends Error {
  readonly retryAfterMs: number;

  constructor(reason: string, retryAfterMs = 0) {
    super(reason);
    this.retryAfterMs = retryAfterMs;
  }
}

const REDIRECTS = [301, 302, 303, 307, 308];
const MAX_REDIRECTS = 8;
const MAX_PAGE_BYTES = 1 << 22;
/** How Hugging Face states the digest of a file, before it redirects to where the bytes are. */
const STATED = "x-linked-etag";

/**
 * Requests a file and follows redirects. Each place on the way must be https, or http on this machine. Only the first
 * server gets the key. Throws MODEL_PULL_FAILED, and Interrupted if the connection failed.
 */
export async function openFile(
  url: string,
  authorization: string | undefined,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<OpenedFile> {
  let at = url;
  let stated: string | null = null;
  for (let hops = 0; hops <= MAX_REDIRECTS; hops++) {
    const isFirst = new URL(at).origin === new URL(url).origin;
    const key = authorization !== undefined && isFirst ? { authorization } : {};
    const all = { "accept-encoding": "identity", ...headers, ...key };
    const response = await fetch(at, { headers: all, redirect: "manual", signal }).catch((error: unknown) => {
      throw new Interrupted(connectionFailure(error));
    });
    stated ??= /^"?([0-9a-f]{64})"?$/u.exec(response.headers.get(STATED) ?? "")?.[1] ?? null;
    if (!REDIRECTS.includes(response.status)) return { response, stated };
    await response.body?.cancel();
    const next = URL.parse(response.headers.get("location") ?? "", at)?.href ?? "";
    const wrong = checkUrl(next);
    if (wrong !== null)
      throw pullFailed(url, `it redirects to ${shownUrl(next)}, and ${wrong}`, "give the URL of another server");
    at = next;
  }
  throw pullFailed(url, `it redirects more than ${MAX_REDIRECTS} times`, "give the URL of another server");
}

/** Returns a page that says where a file is. `way`: what to do if it does not come. Throws MODEL_PULL_FAILED. */
export async function readPage(
  url: string,
  authorization: string | undefined,
  headers: Readonly<Record<string, string>>,
  way: string,
  signal: AbortSignal,
): Promise<string> {
  try {
    const { response } = await openFile(url, authorization, headers, signal);
    const body = await bodyText(response, MAX_PAGE_BYTES, () => pullFailed(url, "its answer is too long", way));
    if (!response.ok) throw pullFailed(url, `the server answers ${response.status}`, way);
    return body;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ConclaveError) throw error;
    throw pullFailed(url, error instanceof Interrupted ? error.message : connectionFailure(error), way, error);
  }
}

/** Says why nothing is fetched from a URL; null if it is all right. */
export function checkUrl(url: string): string | null {
  const parsed = URL.parse(url);
  if (parsed === null) return "that is no URL";
  const host = parsed.hostname.replaceAll(/[[\]]/gu, "");
  if (parsed.protocol !== "https:" && !(parsed.protocol === "http:" && isLoopback(host)))
    return "only https is taken, or http on this machine";
  return hasNoCredentials(url) ? null : "it holds a user or password";
}

/** Returns a URL without what may be secret in it: a user, a password, a signature in the query. */
export function shownUrl(url: string): string {
  const parsed = URL.parse(url);
  if (parsed === null) return url.includes("@") ? "(not shown)" : url;
  return `${parsed.protocol}//${parsed.host}${parsed.pathname}`;
}

export function pullFailed(url: string, reason: string, way: string, cause?: unknown): ConclaveError {
  const place = shownUrl(url);
  return new ConclaveError(
    "MODEL_PULL_FAILED",
    `Pull ${place} failed: ${reason}; ${way}`,
    { url: place, reason },
    cause,
  );
}
