import type { Digest } from "../../core/types.ts";
import type { CollectedStore, PinOwner, Swept } from "../../ports/content-store.ts";
import { cidOf, digestOfBlock, verifiedBlock } from "./block.ts";
import { createKuboPins } from "./kubo-pins.ts";
import { createKuboRpc, isMissing, OFFLINE, storeSoundly } from "./kubo-rpc.ts";
import { walkDag } from "./walk.ts";

/** Nothing is swept: the node itself collects unpinned blocks (`ipfs repo gc`). */
const NOTHING: Swept = { blocks: 0, bytes: 0, more: false };

export interface KuboContentStoreOptions {
  /**
   * RPC address, e.g. http://127.0.0.1:5001, or http://USER:PASSWORD@... Never expose it: whoever reaches it controls
   * the node.
   */
  readonly url: string;
  /** Timeout of a call, and of Kubo's search for a block. */
  readonly timeoutMs?: number;
  readonly owner?: PinOwner;
}

/**
 * Creates a store in an external Kubo node. Throws NETWORK_FAILED if the node is unreachable or fails, BLOCK_MISSING if
 * it neither has nor finds a block.
 */
export function createKuboContentStore(options: KuboContentStoreOptions): CollectedStore {
  const { url, timeoutMs = 30_000, owner = "seat" } = options;
  const rpc = createKuboRpc(url, timeoutMs);
  const pins = createKuboPins(rpc, owner, () => Date.now());

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
      await pins.add(root, signal);
    },
    isPinned: (root, signal) => pins.has(root, signal),
    unpin: (root, signal) => pins.remove(root, signal),
    pins: (signal) => pins.list(signal),
    wouldSweep: async () => NOTHING,
    sweep: async () => NOTHING,
    close: async () => rpc.close(),
  };
}
