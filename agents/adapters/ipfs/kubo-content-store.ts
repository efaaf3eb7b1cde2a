import type { KuboRPCClient } from "kubo-rpc-client";
import { cidString } from "../../core/codec.ts";
import type { Digest } from "../../core/types.ts";
import type { ContentStore } from "../../ports/content-store.ts";
import { cidOf, digestOfBlock, verifiedBlock } from "./block.ts";
import { createKuboRpc, isMissing, messageOf, OFFLINE, storeSoundly, type CallOptions } from "./kubo-rpc.ts";
import { walkDag } from "./walk.ts";

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
  const { url, headers, timeoutMs = 30_000 } = options;
  const rpc = createKuboRpc(url, headers, timeoutMs);

  async function get(digest: Digest, signal?: AbortSignal): Promise<Uint8Array> {
    const bytes = await rpc.call(digest, signal, (client, call) => client.block.get(cidOf(digest), call));
    return verifiedBlock(digest, bytes);
  }

  return {
    async put(bytes, signal) {
      const digest = digestOfBlock(bytes);
      await storeSoundly(rpc, digest, bytes, signal);
      return digest;
    },
    get,
    async has(digest, signal) {
      try {
        await rpc.call(digest, signal, (client, call) => client.block.stat(cidOf(digest), { ...call, ...OFFLINE }));
        return true;
      } catch (error) {
        if (isMissing(error, signal)) return false;
        throw error;
      }
    },
    async pin(root, signal) {
      // Kubo does not check hashes when it reads its disk, nor does it bound the DAG.
      for await (const _ of walkDag(root, (digest) => get(digest, signal))) continue;
      await rpc.call(root, signal, (client, call) => client.pin.add(cidOf(root), { ...call, recursive: true }));
    },
    isPinned: (root, signal) => rpc.call(root, signal, (client, call) => hasPin(client, root, call)),
    close: async () => rpc.close(),
  };
}

async function hasPin(client: KuboRPCClient, root: Digest, call: CallOptions): Promise<boolean> {
  try {
    for await (const pin of client.pin.ls({ ...call, paths: cidOf(root), type: "recursive" })) {
      if (pin.cid.toString() === cidString(root)) return true;
    }
    return false;
  } catch (error) {
    if (NOT_PINNED.test(messageOf(error))) return false;
    throw error;
  }
}
