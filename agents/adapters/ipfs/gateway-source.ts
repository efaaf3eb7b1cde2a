import { cidString } from "../../core/encoding/codec.ts";
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
  const { url, headers } = credentialsApart(gateway);
  const place = { base: url.replace(/\/+$/, ""), headers: { ...headers, accept: "application/vnd.ipld.raw" } };
  return {
    async get(digest, signal) {
      for (let left = TRIES; ; left--) {
        const said = await ask(place, digest, signal);
        if ("bytes" in said) return verifiedBlock(digest, said.bytes);
        if (said.status === 404 || said.status === 410) throw blockMissing(digest, 0);
        if (said.status >= 300 && said.status < 400)
          throw failed(
            place,
            digest,
            `it redirects (${said.status}), and redirects are not followed; name the gateway that it redirects to`,
          );
        if (left === 1 || (said.status !== 429 && said.status !== 503))
          throw failed(place, digest, `it answers ${said.status}`);
        await sleep(Math.min(said.retryAfterMs || 1_000, LONGEST_WAIT_MS), signal);
      }
    },
  };
}

interface Place {
  readonly base: string;
  readonly headers: Readonly<Record<string, string>>;
}

type Said = { readonly bytes: Uint8Array } | { readonly status: number; readonly retryAfterMs: number };

/** Makes one try, up to the last byte of the block. */
async function ask({ base, headers }: Place, digest: Digest, signal: AbortSignal | undefined): Promise<Said> {
  const patience = AbortSignal.any([AbortSignal.timeout(TIMEOUT_MS), ...(signal === undefined ? [] : [signal])]);
  try {
    // A redirect could lead to anything that this machine can reach.
    const init = { headers, signal: patience, redirect: "manual" } as const;
    const response = await fetch(`${base}/ipfs/${cidString(digest)}?format=raw`, init);
    if (response.ok) return { bytes: await bodyOf(response, digest) };
    await response.body?.cancel();
    return { status: response.status, retryAfterMs: retryAfterMs(response.headers) };
  } catch (error) {
    if (error instanceof ConclaveError) throw error;
    if (patience.aborted) throw blockMissing(digest, TIMEOUT_MS, error);
    throw failed({ base }, digest, messageOf(error), error);
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
