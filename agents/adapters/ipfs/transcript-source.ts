import type { Digest } from "../../core/types.ts";
import type { ContentStore } from "../../ports/content-store.ts";
import { boundedChunks } from "../http.ts";
import { readCar } from "./car.ts";
import { askGateway, askUnlessBusy, createGatewaySource, placeOf, type Place, type Said } from "./gateway-source.ts";

/** What is kept of a CAR, unless the caller has less room; blocks that come after it are asked for one by one. */
const MAX_BYTES = 67_108_864;
/** A CAR of which no block comes for this long, or up to twice as long, is given up. */
const STALLED_MS = 10_000;

/** The blocks of one transcript. */
export type TranscriptSource = Pick<ContentStore, "get" | "close">;

/**
 * Creates a source of the blocks of one transcript from a trustless gateway. It asks for the DAG below the first block that is wanted, as
 * one CAR, and for each block alone that this does not bring: not every gateway has CARs, and one that lacks a block ends its CAR.
 * Closing it ends the CAR.
 * @param maxBytes how much of the CAR is kept
 */
export function createTranscriptSource(gateway: string, maxBytes = MAX_BYTES): TranscriptSource {
  const single = createGatewaySource(gateway);
  const closed = new AbortController();
  let car: Arriving | null = null;
  return {
    async get(digest, signal) {
      const held = car?.held(digest);
      if (held !== undefined) return held;
      const ended = AbortSignal.any([closed.signal, ...(signal === undefined ? [] : [signal])]);
      car ??= new Arriving(placeOf(gateway), digest, maxBytes, ended);
      return (await car.get(digest, ended)) ?? single.get(digest, ended);
    },
    close: async () => closed.abort(),
  };
}

/** The blocks of a CAR, while it comes. Their hashes are checked. */
class Arriving {
  readonly #blocks = new Map<Digest, Uint8Array>();
  /** Who waits, by block: a transcript has thousands, so that not everybody is woken for each. */
  readonly #waiting = new Map<Digest, (() => void)[]>();
  readonly #maxBytes: number;
  #isOver = false;

  constructor(place: Place, root: Digest, maxBytes: number, signal: AbortSignal) {
    this.#maxBytes = maxBytes;
    void askUnlessBusy(() => this.#read(place, root, signal), signal)
      // Whatever is wrong with it, each block can be asked for alone, and that names the one at fault.
      .catch(() => undefined)
      .finally(() => {
        this.#isOver = true;
        for (const digest of this.#waiting.keys()) this.#tell(digest);
      });
  }

  held(digest: Digest): Uint8Array | undefined {
    return this.#blocks.get(digest);
  }

  /** Returns the block as soon as it has come; null if it does not come. Rejects with the signal. */
  async get(digest: Digest, signal: AbortSignal): Promise<Uint8Array | null> {
    if (!this.#isOver && this.held(digest) === undefined) await this.#arrival(digest, signal);
    return this.held(digest) ?? null;
  }

  async #read(place: Place, root: Digest, signal: AbortSignal): Promise<Said<null>> {
    const stalled = new AbortController();
    let before = this.#blocks.size;
    const timer = setInterval(() => {
      if (before === this.#blocks.size) stalled.abort();
      before = this.#blocks.size;
    }, STALLED_MS);
    try {
      return await askGateway(place, root, "car", AbortSignal.any([stalled.signal, signal]), async (response) => {
        const tooLong = (): Error => new Error("the CAR is longer than what is kept");
        const { blocks } = await readCar(boundedChunks(response, this.#maxBytes, tooLong));
        for await (const { digest, bytes } of blocks) {
          this.#blocks.set(digest, bytes);
          this.#tell(digest);
        }
        return null;
      });
    } finally {
      clearInterval(timer);
    }
  }

  #tell(digest: Digest): void {
    for (const one of this.#waiting.get(digest) ?? []) one();
    this.#waiting.delete(digest);
  }

  /** Waits for a block or for the end; rejects with the signal. */
  async #arrival(digest: Digest, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.set(digest, [...(this.#waiting.get(digest) ?? []), resolve]);
    const leave = (): void => reject(signal.reason as Error);
    signal.addEventListener("abort", leave, { once: true });
    try {
      await promise;
    } finally {
      signal.removeEventListener("abort", leave);
    }
  }
}
