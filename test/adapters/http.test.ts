import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { gathered } from "../../agents/adapters/http.ts";

/** Gives every chunk in the same memory, as a view of a larger buffer. */
async function* inOnePlace(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  const place = new Uint8Array(size);
  for (let at = 0; at < bytes.length; at += size) {
    const piece = bytes.subarray(at, at + size);
    place.set(piece);
    yield place.subarray(0, piece.length);
  }
}

describe("gathering what a server sends", () => {
  for (const [length, size] of [
    [0, 1],
    [1, 1],
    [4097, 4096],
    [10_000, 7],
    [10_000, 10_000],
    [1_000_000, 60_000],
  ] as const)
    it(`copies ${length} bytes that come ${size} at a time, and keeps no chunk`, async () => {
      const bytes = Uint8Array.from({ length }, (_, at) => at % 251);
      const whole = await gathered(inOnePlace(bytes, size));
      assert.ok(Buffer.from(bytes).equals(whole));
      assert.equal(whole.buffer.byteLength, length);
    });
});
