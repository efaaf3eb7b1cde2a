import { cidString } from "../../core/codec.ts";
import { ConclaveError } from "../../core/errors.ts";
import type { Digest } from "../../core/types.ts";
import type { ContentStore } from "../../ports/content-store.ts";
import { delay } from "../chain/retry.ts";
import { boundedBody, retryAfterMs } from "../http.ts";
import { blockMissing, MAX_BLOCK_BYTES, verifiedBlock } from "./block.ts";

const TIMEOUT_MS = 30_000;
/** After 429 and 503. */
const TRIES = 5;
const LONGEST_WAIT_MS = 30_000;

/** Blocks from a trustless gateway, which is not trusted with the hash. */
export function createGatewaySource(gateway: string): Pick<ContentStore, "get"> {
  const base = gateway.replace(/\/+$/, "");
  return {
    async get(digest, signal) {
      for (let left = TRIES; ; left--) {
        const response = await ask(base, digest, signal);
        if (response.ok) return verifiedBlock(digest, await bodyOf(response, digest));
        await response.body?.cancel();
        if (response.status === 404 || response.status === 410) throw blockMissing(digest, TIMEOUT_MS);
        if (left === 1 || (response.status !== 429 && response.status !== 503))
          throw failed(base, digest, `it answers ${response.status}`);
        await delay(Math.min(retryAfterMs(response.headers) || 1_000, LONGEST_WAIT_MS), signal);
      }
    },
  };
}

async function ask(base: string, digest: Digest, signal: AbortSignal | undefined): Promise<Response> {
  const patience = AbortSignal.any([AbortSignal.timeout(TIMEOUT_MS), ...(signal === undefined ? [] : [signal])]);
  const headers = { accept: "application/vnd.ipld.raw" };
  try {
    return await fetch(`${base}/ipfs/${cidString(digest)}?format=raw`, { headers, signal: patience });
  } catch (error) {
    if (patience.aborted) throw blockMissing(digest, TIMEOUT_MS, error);
    throw failed(base, digest, error instanceof Error ? error.message : String(error), error);
  }
}

/** Reads no more than a block may have. */
async function bodyOf(response: Response, digest: Digest): Promise<Uint8Array> {
  const cid = cidString(digest);
  const message = `Restore block ${cid}: the gateway sends more than ${MAX_BLOCK_BYTES} bytes`;
  const tooLong = (): ConclaveError => new ConclaveError("BLOCK_INVALID", message, { cid, maxBytes: MAX_BLOCK_BYTES });
  return Uint8Array.from(await boundedBody(response, MAX_BLOCK_BYTES, tooLong));
}

function failed(base: string, digest: Digest, what: string, cause?: unknown): ConclaveError {
  const origin = URL.canParse(base) ? new URL(base).origin : "an invalid URL";
  const message = `Check the gateway ${origin}: ${what.slice(0, 200)}`;
  return new ConclaveError("NETWORK_FAILED", message, { cid: cidString(digest) }, cause);
}
