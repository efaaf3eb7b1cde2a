import { readCar } from "../../../agents/adapters/ipfs/car.ts";
import { blockMissing, verifiedBlock } from "../../../agents/adapters/ipfs/block.ts";
import { createTranscriptSource } from "../../../agents/adapters/ipfs/transcript-source.ts";
import { cidString } from "../../../agents/core/encoding/cid.ts";
import { ConclaveError as CoreError, messageOf } from "../../../agents/core/errors.ts";
import type { Digest } from "../../../agents/core/types.ts";
import type { ContentStore } from "../../../agents/ports/content-store.ts";
import { shown } from "../arguments.ts";

/** Where the blocks of a transcript come from. None is trusted: every hash is checked. */
export type BlockSource =
  /** The URL of a trustless gateway, such as an agent's or one of IPFS. */
  | { readonly gateway: string }
  /** A CAR file, as `conclave pin export` writes it. */
  | { readonly car: Uint8Array | AsyncIterable<Uint8Array> }
  /** Returns the bytes of a block; null if they are not to be had. */
  | { readonly get: (cid: string, signal: AbortSignal) => Promise<Uint8Array | null> };

type Store = Pick<ContentStore, "get">;

export function isSource(value: unknown): value is BlockSource {
  if (typeof value !== "object" || value === null) return false;
  if ("gateway" in value) return typeof value.gateway === "string" && URL.canParse(value.gateway);
  if (!("car" in value)) return "get" in value && typeof value.get === "function";
  const { car } = value;
  return typeof car === "object" && car !== null && (car instanceof Uint8Array || Symbol.asyncIterator in car);
}

/** Creates a store that asks one source after the other. */
export function storeOf(sources: BlockSource | readonly BlockSource[]): Store {
  const stores = [sources].flat().map(oneStore);
  const [first, ...others] = stores;
  if (first === undefined)
    throw new CoreError("USAGE", "Verify: blocks is an empty list; name a gateway, a CAR or a function", {
      field: "blocks",
    });
  return others.length === 0 ? first : inTurn(stores);
}

function oneStore(source: BlockSource): Store {
  if ("gateway" in source) return createTranscriptSource(source.gateway);
  return "car" in source ? carStore(source.car) : functionStore(source.get);
}

/**
 * Asks the stores one after the other, first the one that answered last: whoever holds one block of a transcript mostly holds all. Throws
 * what the last one threw.
 */
function inTurn(all: readonly Store[]): Store {
  let stores = all;
  return {
    async get(digest, signal) {
      let failure: unknown = blockMissing(digest, 0);
      for (const store of stores)
        try {
          const bytes = verifiedBlock(digest, await store.get(digest, signal));
          stores = [store, ...all.filter((other) => other !== store)];
          return bytes;
        } catch (error) {
          signal?.throwIfAborted();
          if (!(error instanceof CoreError)) throw error;
          failure = error;
        }
      throw failure;
    },
  };
}

function functionStore(get: Extract<BlockSource, { get: unknown }>["get"]): Store {
  return {
    async get(digest, signal = new AbortController().signal) {
      let bytes: Uint8Array | null;
      try {
        bytes = await get(cidString(digest), signal);
      } catch (error) {
        signal.throwIfAborted();
        const reason = messageOf(error);
        throw new CoreError(
          "NETWORK_FAILED",
          `Fetch block ${cidString(digest)}: the source failed: ${reason}`,
          {},
          error,
        );
      }
      if (bytes === null) throw blockMissing(digest, 0);
      if (bytes instanceof Uint8Array) return bytes;
      const given = shown(bytes);
      throw new CoreError("NETWORK_FAILED", `Fetch block ${cidString(digest)}: the source gave ${given}, not bytes`);
    },
  };
}

/** Reads the file once. What stands before a failure of the file stays usable, so that the first bad block is named. */
function carStore(car: Uint8Array | AsyncIterable<Uint8Array>): Store {
  let reading: Promise<Contents> | null = null;
  return {
    async get(digest) {
      reading ??= readContents(car instanceof Uint8Array ? one(car) : car);
      const { blocks, failure } = await reading;
      const bytes = blocks.get(digest);
      if (bytes !== undefined) return bytes;
      if (failure === null) throw blockMissing(digest, 0);
      throw new CoreError("BLOCK_INVALID", failure.message, { cid: cidString(digest) }, failure);
    },
  };
}

interface Contents {
  readonly blocks: ReadonlyMap<Digest, Uint8Array>;
  readonly failure: CoreError | null;
}

async function readContents(source: AsyncIterable<Uint8Array>): Promise<Contents> {
  const blocks = new Map<Digest, Uint8Array>();
  try {
    const car = await readCar(source);
    for await (const { digest, bytes } of car.blocks) blocks.set(digest, bytes);
    return { blocks, failure: null };
  } catch (error) {
    if (error instanceof CoreError) return { blocks, failure: error };
    throw error;
  }
}

async function* one(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
