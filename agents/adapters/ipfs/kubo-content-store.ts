import { create, type KuboRPCClient } from "kubo-rpc-client";
import { cidString } from "../../core/codec.ts";
import { ConclaveError } from "../../core/errors.ts";
import type { Digest } from "../../core/types.ts";
import type { ContentStore } from "../../ports/content-store.ts";
import { blockMissing, cidOf, digestOfBlock, verifiedBlock } from "./block.ts";
import { walkDag } from "./walk.ts";

/** Kubo answers a time-out itself; when it does not even do that, it is gone. */
const GRACE_MS = 2_000;
const ABSENT = /not found|could not find|context deadline exceeded|request timed out|deadline has elapsed/i;
const NOT_PINNED = /not pinned/i;

export interface KuboContentStoreOptions {
  /** RPC address, e.g. http://127.0.0.1:5001. Never expose it: whoever reaches it owns the node. */
  readonly url: string;
  /** E.g. { authorization: "Bearer …" }. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Per call, and how long Kubo looks for a block. */
  readonly timeoutMs?: number;
}

/** An external Kubo node. NETWORK_FAILED when it is unreachable or fails, BLOCK_MISSING when it has and finds no block. */
export function createKuboContentStore(options: KuboContentStoreOptions): ContentStore {
  const { timeoutMs = 30_000 } = options;
  const client = create({ url: options.url, headers: { ...options.headers } });
  const closing = new AbortController();

  /** One RPC call about one block. */
  async function call<T>(
    digest: Digest,
    signal: AbortSignal | undefined,
    request: (call: CallOptions) => Promise<T>,
  ): Promise<T> {
    const caller = AbortSignal.any([closing.signal, ...(signal === undefined ? [] : [signal])]);
    try {
      return await request({
        signal: AbortSignal.any([caller, AbortSignal.timeout(timeoutMs + GRACE_MS)]),
        timeout: timeoutMs,
      });
    } catch (error) {
      if (error instanceof ConclaveError) throw error;
      if (caller.aborted || ABSENT.test(messageOf(error))) throw blockMissing(digest, timeoutMs, error);
      throw new ConclaveError(
        "NETWORK_FAILED",
        `Check the Kubo node at ${originOf(options.url)}: ${messageOf(error)}`,
        { cid: cidString(digest) },
        error,
      );
    }
  }

  async function get(digest: Digest, signal?: AbortSignal): Promise<Uint8Array> {
    return verifiedBlock(digest, await call(digest, signal, (rpc) => client.block.get(cidOf(digest), rpc)));
  }

  return {
    async put(bytes, signal) {
      const digest = digestOfBlock(bytes);
      const stored = await call(digest, signal, (rpc) =>
        client.block.put(bytes, { ...rpc, format: "dag-cbor", mhtype: "sha2-256", version: 1 }),
      );
      if (stored.toString() === cidString(digest)) return digest;
      throw new ConclaveError(
        "BLOCK_INVALID",
        `Check the Kubo node at ${originOf(options.url)}: it stored ${stored.toString()} for ${cidString(digest)}`,
        {
          cid: cidString(digest),
          actualCid: stored.toString(),
        },
      );
    },
    get,
    async has(digest, signal) {
      try {
        await call(digest, signal, (rpc) => client.block.stat(cidOf(digest), { ...rpc, ...OFFLINE }));
        return true;
      } catch (error) {
        if (error instanceof ConclaveError && error.code === "BLOCK_MISSING" && signal?.aborted !== true) return false;
        throw error;
      }
    },
    async pin(root, signal) {
      // Kubo does not check hashes when it reads its disk, nor does it bound the DAG.
      for await (const _ of walkDag(root, (digest) => get(digest, signal))) continue;
      await call(root, signal, (rpc) => client.pin.add(cidOf(root), { ...rpc, recursive: true }));
    },
    isPinned: (root, signal) => call(root, signal, (rpc) => hasPin(client, root, rpc)),
    async close() {
      closing.abort(new Error("content store closed"));
    },
  };
}

interface CallOptions {
  readonly signal: AbortSignal;
  readonly timeout: number;
}

/** A parameter of every Kubo call that the client passes on but does not declare. */
const OFFLINE: object = { offline: true };

async function hasPin(client: KuboRPCClient, root: Digest, rpc: CallOptions): Promise<boolean> {
  try {
    for await (const pin of client.pin.ls({ ...rpc, paths: cidOf(root), type: "recursive" })) {
      if (pin.cid.toString() === cidString(root)) return true;
    }
    return false;
  } catch (error) {
    if (NOT_PINNED.test(messageOf(error))) return false;
    throw error;
  }
}

function messageOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).slice(0, 200);
}

/** Without credentials that an operator may have put in the URL. */
function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : "an invalid URL";
}
