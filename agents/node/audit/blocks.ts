import { sha256 } from "../../core/encoding/bytes.ts";
import { cidString } from "../../core/encoding/cid.ts";
import { ConclaveError } from "../../core/errors.ts";
import type { Digest } from "../../core/types.ts";
import { Failed, type VerifyOptions, type VerifyStep } from "./report.ts";

export type Fetched = { readonly bytes: Uint8Array } | { readonly error: unknown };

/** Fetches a block. Never rejects, so that a fetch that nobody awaits any more cannot end the process. */
export async function fetchBlock({ store }: VerifyOptions, digest: Digest, signal: AbortSignal): Promise<Fetched> {
  try {
    return { bytes: await store.get(digest, signal) };
  } catch (error) {
    return { error: signal.aborted ? signal.reason : error };
  }
}

/**
 * Returns the block's bytes after it has checked their hash, since the store is not trusted. Throws what ends the
 * audit.
 */
export function requireBlock(step: VerifyStep, digest: Digest, fetched: Fetched): Uint8Array {
  if ("error" in fetched) {
    const { error } = fetched;
    if (error instanceof ConclaveError && error.code === "BLOCK_MISSING")
      throw new Failed(step, `missing block: ${whyMissing(error)}`, digest, "unavailable");
    if (error instanceof ConclaveError && error.code === "BLOCK_INVALID")
      throw new Failed(step, `hash mismatch: ${whatCame(error)}`, digest, "broken");
    throw error;
  }
  const actual = sha256(fetched.bytes);
  if (actual === digest) return fetched.bytes;
  throw new Failed(step, `hash mismatch: ${bytesOf(cidString(actual))}`, digest, "broken");
}

/** Whoever reports the failure names the block that was wanted. */
function whatCame({ data, message }: ConclaveError): string {
  return typeof data["actualCid"] === "string" ? bytesOf(data["actualCid"]) : message;
}

function bytesOf(cid: string): string {
  return `its bytes are those of ${cid}`;
}

/** A source that answers at once has no timeout. */
function whyMissing({ data }: ConclaveError): string {
  return data["timeoutMs"] === 0 ? "the source does not hold it" : "nobody delivered it in time";
}
