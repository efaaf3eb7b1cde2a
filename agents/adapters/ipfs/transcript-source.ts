import { cidString } from "../../core/encoding/codec.ts";
import type { Digest } from "../../core/types.ts";
import type { ContentStore } from "../../ports/content-store.ts";
import { boundedChunks, credentialsApart } from "../http.ts";
import { readCar } from "./car.ts";
import { createGatewaySource } from "./gateway-source.ts";

/** What is kept of a CAR; blocks that come after it are asked for one by one. */
const MAX_BYTES = 67_108_864;
/** A CAR of which nothing comes for this long is given up. */
const STALLED_MS = 10_000;

/**
 * Creates a source of the blocks of one transcript from a trustless gateway. It asks for the DAG below the first block that is wanted, as
 * one CAR, and for each block alone that this does not bring: not every gateway has CARs, and one that lacks a block ends its CAR.
 */
export function createTranscriptSource(gateway: string): Pick<ContentStore, "get"> {
  const single = createGatewaySource(gateway);
  let car: Arriving | null = null;
  return {
    async get(digest, signal) {
      car ??= new Arriving(gateway, digest, signal);
      return (await car.get(digest, signal)) ?? single.get(digest, signal);
    },
  };
}

/** The blocks of a CAR, while it comes. Their hashes are checked. */
class Arriving {
  readonly #blocks = new Map<Digest, Uint8Array>();
  /** Those that wait for a block. */
  readonly #waiting = new Set<() => void>();
  #isOver = false;

  constructor(gateway: string, root: Digest, signal: AbortSignal | undefined) {
    void this.#read(gateway, root, signal)
      // Whatever is wrong with it, each block can be asked for alone, and that names the one at fault.
      .catch(() => undefined)
      .finally(() => {
        this.#isOver = true;
        this.#tell();
      });
  }

  /** Returns the block as soon as it has come; null if it does not come. */
  async get(digest: Digest, signal: AbortSignal | undefined): Promise<Uint8Array | null> {
    for (;;) {
      const bytes = this.#blocks.get(digest);
      if (bytes !== undefined || this.#isOver) return bytes ?? null;
      signal?.throwIfAborted();
      await this.#change(signal);
    }
  }

  async #read(gateway: string, root: Digest, signal: AbortSignal | undefined): Promise<void> {
    const { url, headers } = credentialsApart(gateway);
    const stalled = new AbortController();
    let timer = setTimeout(() => stalled.abort(), STALLED_MS);
    try {
      const response = await fetch(`${url.replace(/\/+$/, "")}/ipfs/${cidString(root)}?format=car&dag-scope=all`, {
        headers: { ...headers, accept: "application/vnd.ipld.car" },
        signal: AbortSignal.any([stalled.signal, ...(signal === undefined ? [] : [signal])]),
        // A redirect could lead to anything that this machine can reach.
        redirect: "manual",
      });
      if (!response.ok) {
        await response.body?.cancel();
        return;
      }
      const tooLong = (): Error => new Error("the CAR is longer than what is kept");
      const { blocks } = await readCar(boundedChunks(response, MAX_BYTES, tooLong));
      for await (const { digest, bytes } of blocks) {
        clearTimeout(timer);
        timer = setTimeout(() => stalled.abort(), STALLED_MS);
        this.#blocks.set(digest, bytes);
        this.#tell();
      }
    } finally {
      clearTimeout(timer);
    }
  }

  #tell(): void {
    for (const one of this.#waiting) one();
    this.#waiting.clear();
  }

  /** Waits for the next block, for the end, or for the signal. */
  async #change(signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const changed = (): void => resolve();
    this.#waiting.add(changed);
    signal?.addEventListener("abort", changed, { once: true });
    await promise;
    signal?.removeEventListener("abort", changed);
  }
}
