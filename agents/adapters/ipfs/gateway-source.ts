import { cidString } from "../../core/encoding/cid.ts";
import { ConclaveError, messageOf } from "../../core/errors.ts";
import type { Digest } from "../../core/types.ts";
import type { ContentStore } from "../../ports/content-store.ts";
import { sleep } from "../chain/backoff.ts";
import { boundedBody, credentialsApart, retryAfterMs } from "../http.ts";
import { blockMissing, MAX_BLOCK_BYTES, verifiedBlock } from "./block.ts";

const TIMEOUT_MS = 30_000;
/** Tries after 429 and 503. */
const TRIES = 5;
const LONGEST_WAIT_MS = 30_000;

/** Creates a source of blocks from a trustless gateway. Its hashes are checked, and its redirects are not followed. */
export function createGatewaySource(gateway: string): Pick<ContentStore, "get"> {
  const place = placeOf(gateway);
  return {
    async get(digest, signal) {
      const said = await askUnlessBusy(() => askBlock(place, digest, signal), signal);
      if ("given" in said) return verifiedBlock(digest, said.given);
      if (said.status === 404 || said.status === 410) throw blockMissing(digest, 0);
      if (said.status >= 300 && said.status < 400)
        throw failed(
          place,
          digest,
          `it redirects (${said.status}), and redirects are not followed; name the gateway that it redirects to`,
        );
      throw failed(place, digest, `it answers ${said.status}`);
    },
  };
}

/** Where a gateway is, and what is said to it each time. */
export interface Place {
  readonly base: string;
  readonly headers: Readonly<Record<string, string>>;
}

export function placeOf(gateway: string): Place {
  const { url, headers } = credentialsApart(gateway);
  return { base: url.replace(/\/+$/, ""), headers };
}

/** What was asked for, or the status of a refusal. */
export type Said<T> = { readonly given: T } | { readonly status: number; readonly retryAfterMs: number };

/** Asks again while the gateway is busy, when it wants, within bounds. Returns its last answer; rejects with the signal. */
export async function askUnlessBusy<T>(ask: () => Promise<Said<T>>, signal: AbortSignal | undefined): Promise<Said<T>> {
  for (let left = TRIES; ; left--) {
    const said = await ask();
    if ("given" in said || left === 1 || (said.status !== 429 && said.status !== 503)) return said;
    await sleep(Math.min(said.retryAfterMs || 1_000, LONGEST_WAIT_MS), signal);
  }
}

/** Asks for a block, or for the DAG below it as a CAR, and reads the answer. Rejects with what `fetch` and `read` reject with. */
export async function askGateway<T>(
  { base, headers }: Place,
  digest: Digest,
  format: "raw" | "car",
  signal: AbortSignal,
  read: (response: Response) => Promise<T>,
): Promise<Said<T>> {
  const query = format === "car" ? "format=car&dag-scope=all" : "format=raw";
  const response = await fetch(`${base}/ipfs/${cidString(digest)}?${query}`, {
    headers: { ...headers, accept: `application/vnd.ipld.${format}` },
    signal,
    // A browser would keep wrong bytes for good, as blocks are immutable, and give them again once the gateway is repaired.
    cache: "no-store",
    // A redirect could lead to anything that this machine can reach.
    redirect: "manual",
  });
  if (response.ok) return { given: await read(response) };
  await response.body?.cancel();
  return { status: response.status, retryAfterMs: retryAfterMs(response.headers) };
}

/** Makes one try, up to the last byte of the block. */
async function askBlock(place: Place, digest: Digest, signal: AbortSignal | undefined): Promise<Said<Uint8Array>> {
  const patience = AbortSignal.any([AbortSignal.timeout(TIMEOUT_MS), ...(signal === undefined ? [] : [signal])]);
  try {
    return await askGateway(place, digest, "raw", patience, (response) => bodyOf(response, digest));
  } catch (error) {
    if (error instanceof ConclaveError) throw error;
    if (patience.aborted) throw blockMissing(digest, TIMEOUT_MS, error);
    throw failed(place, digest, messageOf(error), error);
  }
}

/** Reads no more bytes than a block may have. */
async function bodyOf(response: Response, digest: Digest): Promise<Uint8Array> {
  const cid = cidString(digest);
  const message = `Restore block ${cid}: the gateway sends more than ${MAX_BLOCK_BYTES} bytes`;
  const tooLong = (): ConclaveError => new ConclaveError("BLOCK_INVALID", message, { cid, maxBytes: MAX_BLOCK_BYTES });
  return boundedBody(response, MAX_BLOCK_BYTES, tooLong);
}

function failed({ base }: Pick<Place, "base">, digest: Digest, what: string, cause?: unknown): ConclaveError {
  const origin = URL.canParse(base) ? new URL(base).origin : "an invalid URL";
  const message = `Check the gateway ${origin}: ${what.slice(0, 200)}`;
  return new ConclaveError("NETWORK_FAILED", message, { cid: cidString(digest) }, cause);
}
