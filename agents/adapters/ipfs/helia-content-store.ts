import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { withBitswap } from "@helia/bitswap";
import { withLibp2p } from "@helia/libp2p";
import * as dagCbor from "@ipld/dag-cbor";
import type { Libp2p } from "@libp2p/interface";
import { FsDatastore } from "datastore-fs";
import {
  type BlockBroker,
  createHeliaLight,
  type GraphNode,
  type Helia,
  type GraphWalkerFactory,
  type Pins,
} from "helia";
import { ConclaveError } from "../../core/errors.ts";
import type { CID } from "multiformats/cid";
import type { Digest } from "../../core/types.ts";
import type { ContentStore } from "../../ports/content-store.ts";
import { blockMissing, cidOf, digestOfBlock, MAX_BLOCK_BYTES, verifiedBlock } from "./block.ts";
import { isSound } from "./folder-content-store.ts";
import { LocalBlocks } from "./local-blocks.ts";
import { walkDag } from "./walk.ts";

/** A want may get lost, and bitswap asks only who is connected at that time. */
const FIRST_TRY_MS = 1_000;
const LONGEST_TRY_MS = 8_000;
/** Longer than bitswap's debounce, or the new want would be taken for the one just cancelled. */
const BETWEEN_TRIES_MS = 150;
const BITSWAP_MESSAGE_BYTES = 4 * MAX_BLOCK_BYTES;

export interface HeliaContentStoreOptions {
  /** The agent's node, running; its lifetime stays the caller's. Close the store first. */
  readonly libp2p: Libp2p;
  /** Directory of its own. */
  readonly path: string;
  /** How long `get` waits for peers when its signal does not end it earlier. */
  readonly getTimeoutMs?: number;
}

/** IPFS inside the agent: blocks in files, bitswap with connected peers, no gateways, no routing, no discovery. */
export async function createHeliaContentStore(options: HeliaContentStoreOptions): Promise<ContentStore> {
  const { getTimeoutMs = 30_000 } = options;
  const local = new LocalBlocks(path.join(options.path, "blocks"));
  const datastore = new FsDatastore(path.join(options.path, "pins"));
  await local.open();
  await datastore.open();
  const { helia, announce } = assemble(options.libp2p, local, datastore);
  await helia.start();
  const closing = new AbortController();
  let closed: Promise<void> | null = null;

  async function get(digest: Digest, signal?: AbortSignal): Promise<Uint8Array> {
    const deadline = AbortSignal.any([
      AbortSignal.timeout(getTimeoutMs),
      closing.signal,
      ...(signal === undefined ? [] : [signal]),
    ]);
    for (let tryMs = FIRST_TRY_MS; ; tryMs = Math.min(2 * tryMs, LONGEST_TRY_MS)) {
      if (deadline.aborted) throw blockMissing(digest, getTimeoutMs, deadline.reason);
      const held = await local.read(digest);
      if (held !== null) return held;
      try {
        const attempt = AbortSignal.any([deadline, AbortSignal.timeout(tryMs)]);
        return verifiedBlock(digest, await collect(helia.blockstore.get(cidOf(digest), { signal: attempt })));
      } catch (error) {
        if (error instanceof ConclaveError) throw error;
        if (deadline.aborted) throw blockMissing(digest, getTimeoutMs, error);
      }
      await pause(BETWEEN_TRIES_MS, deadline);
    }
  }

  return {
    async put(bytes, signal) {
      signal?.throwIfAborted();
      const digest = digestOfBlock(bytes);
      const cid = cidOf(digest);
      // Also mends a block that broke on disk.
      if (!(await isSound(local, digest))) {
        await local.put(cid, bytes);
        await announce(cid);
      }
      await local.flush(cid);
      return digest;
    },
    get,
    has: (digest) => local.has(cidOf(digest)),
    async pin(root, signal) {
      const fetchAndFlush = async (digest: Digest): Promise<Uint8Array> => {
        const bytes = await get(digest, signal);
        await local.flush(cidOf(digest));
        return bytes;
      };
      if (await hasPin(helia.pins, root)) for await (const _ of walkDag(root, fetchAndFlush)) continue;
      else await addPin(helia.pins, root, fetchAndFlush);
    },
    isPinned: (root) => hasPin(helia.pins, root),
    close() {
      closing.abort(new Error("content store closed"));
      closed ??= stop();
      return closed;
    },
  };

  async function stop(): Promise<void> {
    await helia.stop();
    await datastore.close();
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

/** Helia announces before it stores, too early for peers that wait: we store first and announce ourselves. */
function assemble(libp2p: Libp2p, local: LocalBlocks, datastore: FsDatastore): Assembly {
  const brokers: BlockBroker[] = [];
  const light = createHeliaLight({ blockstore: local, datastore, codecs: [dagCbor] });
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

/** Pins recursively. The pin itself is written last, so that an interrupted one does not count. */
async function addPin(pins: Pins, root: Digest, get: (digest: Digest) => Promise<Uint8Array>): Promise<void> {
  const walker: GraphWalkerFactory = () => ({
    walk: <T>() => walkDag(root, get) as AsyncGenerator<GraphNode<T>>,
  });
  try {
    // The iterator must be drained for the pin to be written.
    for await (const _ of pins.add(cidOf(root), { walker })) continue;
  } catch (error) {
    if (!isNamed(error, "AlreadyPinnedError")) throw error;
  }
}

async function hasPin(pins: Pins, root: Digest): Promise<boolean> {
  try {
    await pins.get(cidOf(root));
    return true;
  } catch (error) {
    if (isNamed(error, "NotFoundError")) return false;
    throw error;
  }
}

function pause(durationMs: number, signal: AbortSignal): Promise<void> {
  return sleep(durationMs, undefined, { signal }).catch(() => undefined);
}

function isNamed(error: unknown, name: string): boolean {
  return error instanceof Error && error.name === name;
}
