import { withBitswap } from "@helia/bitswap";
import { withLibp2p } from "@helia/libp2p";
import * as dagCbor from "@ipld/dag-cbor";
import type { Libp2p } from "@libp2p/interface";
import { type BlockBroker, createHeliaLight, type Helia } from "helia";
import { ConclaveError } from "../../core/errors.ts";
import type { CID } from "multiformats/cid";
import type { Digest } from "../../core/types.ts";
import type { CollectedStore, PinOwner } from "../../ports/content-store.ts";
import { sleepUnlessEnded } from "../chain/backoff.ts";
import { blockMissing, cidOf, digestOfBlock, MAX_BLOCK_BYTES, verifiedBlock } from "./block.ts";
import { openKeptFolder } from "./kept-folder.ts";
import type { LocalBlocks } from "./local-blocks.ts";

/** Time of the first try: a want may get lost, and bitswap asks only peers that are connected at that time. */
const FIRST_TRY_MS = 1_000;
const LONGEST_TRY_MS = 8_000;
/** Sleep between tries, longer than bitswap's debounce, so that a new want is not taken for the one just cancelled. */
const BETWEEN_TRIES_MS = 150;
const BITSWAP_MESSAGE_BYTES = 4 * MAX_BLOCK_BYTES;

export interface HeliaContentStoreOptions {
  /** The agent's running node, which the caller stops after it has closed the store. */
  readonly libp2p: Libp2p;
  /** The store's own directory. */
  readonly path: string;
  /** How long `get` waits for peers, unless its signal ends it earlier. */
  readonly getTimeoutMs?: number;
  readonly owner?: PinOwner;
}

/**
 * Creates IPFS inside the agent: blocks and pins in files, bitswap with connected peers; no gateways, no routing, no
 * discovery. Throws STORE_LOCKED.
 */
export async function createHeliaContentStore(options: HeliaContentStoreOptions): Promise<CollectedStore> {
  const { getTimeoutMs = 30_000, owner = "seat" } = options;
  const folder = await openKeptFolder(options.path, owner, true);
  const { local } = folder;
  const { helia, announce } = assemble(options.libp2p, local);
  await helia.start();
  const closing = new AbortController();
  let closed: Promise<void> | null = null;

  async function get(digest: Digest, signal?: AbortSignal): Promise<Uint8Array> {
    const ended = AbortSignal.any([
      AbortSignal.timeout(getTimeoutMs),
      closing.signal,
      ...(signal === undefined ? [] : [signal]),
    ]);
    for (let tryMs = FIRST_TRY_MS; ; tryMs = Math.min(2 * tryMs, LONGEST_TRY_MS)) {
      if (ended.aborted) throw blockMissing(digest, getTimeoutMs, ended.reason);
      const held = await local.read(digest);
      if (held !== null) return held;
      try {
        const endedTry = AbortSignal.any([ended, AbortSignal.timeout(tryMs)]);
        return verifiedBlock(digest, await collect(helia.blockstore.get(cidOf(digest), { signal: endedTry })));
      } catch (error) {
        if (error instanceof ConclaveError) throw error;
        if (ended.aborted) throw blockMissing(digest, getTimeoutMs, error);
      }
      await sleepUnlessEnded(BETWEEN_TRIES_MS, ended);
    }
  }

  return {
    ...folder,
    async put(bytes, signal) {
      signal?.throwIfAborted();
      const digest = digestOfBlock(bytes);
      if (await local.store(digest, bytes)) await announce(cidOf(digest));
      return digest;
    },
    get,
    has: (digest) => local.has(cidOf(digest)),
    pin: (root, signal) => folder.pin(root, (digest) => get(digest, signal)),
    close() {
      closing.abort(new Error("content store closed"));
      closed ??= stop();
      return closed;
    },
  };

  async function stop(): Promise<void> {
    await helia.stop();
    folder.close();
  }
}

/** Joins the chunks of one block. */
async function collect(chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for await (const part of chunks) parts.push(part);
  const [only] = parts;
  return only !== undefined && parts.length === 1 ? Uint8Array.from(only) : Uint8Array.from(Buffer.concat(parts));
}

interface Assembly {
  readonly helia: Helia;
  /** Sends a block to the peers that wait for it. */
  readonly announce: (cid: CID) => Promise<void>;
}

/**
 * Assembles Helia's parts. Helia announces a block before it stores it, too early for waiting peers, so we store first
 * and announce ourselves.
 */
function assemble(libp2p: Libp2p, local: LocalBlocks): Assembly {
  const brokers: BlockBroker[] = [];
  const light = createHeliaLight({ blockstore: local, codecs: [dagCbor] });
  const addBlockBroker = light.addBlockBroker.bind(light);
  light.addBlockBroker = (broker) => {
    if (typeof broker !== "function") brokers.push(broker);
    addBlockBroker(broker);
  };
  const helia = withBitswap(withLibp2p(light, libp2p), {
    maxIncomingMessageSize: BITSWAP_MESSAGE_BYTES,
    maxOutgoingMessageSize: BITSWAP_MESSAGE_BYTES / 2,
    doNotResendBlockWindow: FIRST_TRY_MS / 2,
  });
  return {
    helia,
    async announce(cid) {
      for (const broker of brokers) await broker.announce?.(cid);
    },
  };
}
