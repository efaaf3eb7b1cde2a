import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { lastHeadFor, oldestSeedAt } from "../../agents/adapters/chain/committee.ts";

describe("SE8: how long a seed can be proven", () => {
  it("until the end of the epoch after its own, or as long as the chain serves its hash", () => {
    assert.equal(lastHeadFor(250n, { epochBlocks: 100n, hashes: 8_191n }), 399n);
    assert.equal(lastHeadFor(250n, { epochBlocks: 7_200n, hashes: 256n }), 506n);
    assert.equal(lastHeadFor(7_000n, { epochBlocks: 50_400n, hashes: 8_191n }), 15_191n);
  });

  it("the last head is the last one whose oldest seed is not younger", () => {
    fc.assert(
      fc.property(
        fc.bigInt(0n, 100_000n),
        fc.bigInt(1n, 10_000n),
        fc.constantFrom(256n, 8_191n),
        (seedBlock, epochBlocks, hashes) => {
          const window = { epochBlocks, hashes };
          const last = lastHeadFor(seedBlock, window);
          assert.ok(oldestSeedAt(last, window) <= seedBlock);
          assert.ok(oldestSeedAt(last + 1n, window) > seedBlock);
        },
      ),
    );
  });
});
