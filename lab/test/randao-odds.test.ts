import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { replaceSection } from "../shared/generated-section.ts";
import { anyOf, blocksPerGain, secondsToRun, withWithholding } from "../randao/odds.ts";
import { randaoTables } from "../randao/table.ts";
import { assertAbove, assertClose } from "../../test/support/assertions.ts";

/** mulberry32 */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let word = Math.imul(state ^ (state >>> 15), 1 | state);
    word = (word + Math.imul(word ^ (word >>> 7), 61 | word)) ^ word;
    return ((word ^ (word >>> 14)) >>> 0) / 2 ** 32;
  };
}

const q = 0.15;
const p = 0.3;
const trials = 200_000;

describe("odds of a proposer over prevrandao", () => {
  it("with one block to come follow from leaving out unsuitable blocks, slot by slot", () => {
    const random = generator(1);
    let [suited, withheld] = [0, 0];
    for (let trial = 0; trial < trials; trial++) {
      for (;;) {
        const isOwn = random() < p;
        const suits = random() < q;
        if (suits) suited += 1;
        if (suits || !isOwn) break;
        withheld += 1;
      }
    }
    const expected = withWithholding(q, p, 1);
    assertClose(expected, q / (1 - p * (1 - q)), 1e-12);
    assertClose(suited / trials, expected, 0.004);
    assertClose(withheld / trials / (expected - q), blocksPerGain(q), 0.2);
  });

  it("with two blocks to come follow from the best pair in each run", () => {
    const random = generator(2);
    let suited = 0;
    for (let trial = 0; trial < trials; trial++) if (playTwo(random)) suited += 1;
    assertClose(suited / trials, withWithholding(q, p, 2), 0.004);
  });

  it("are fair without proposers, and grow with their share", () => {
    for (const blocks of [1, 2, 5, 31]) {
      assertClose(withWithholding(q, 0, blocks), q, 1e-12);
      let before = q;
      for (const share of [0.1, 0.2, 0.3, 0.4, 0.5]) {
        const odds = withWithholding(q, share, blocks);
        assertAbove(odds, before);
        before = odds;
      }
    }
  });

  it("of one of several draws, and the wait for a run of slots", () => {
    assertClose(anyOf(0.5, 3), 0.875, 1e-12);
    assertClose(anyOf(1e-18, 2), 2e-18, 1e-30);
    // Two heads of a fair coin take six throws.
    assertClose(secondsToRun(0.5, 2), 72, 1e-9);
  });

  it("equal the tables of ADR 7", () => {
    const document = readFileSync(join(import.meta.dirname, "../../docs/adr/007-seed-from-prevrandao.md"), "utf8");
    assert.equal(replaceSection(document, "randao", randaoTables()), document);
  });
});

/**
 * Two blocks to come: a run of k slots knows k (k - 1) / 2 pairs. Otherwise the attacker publishes one block or none,
 * and an honest block follows.
 */
function playTwo(random: () => number): boolean {
  let run = 0;
  while (random() < p) run += 1;
  for (let pair = 0; pair < (run * (run - 1)) / 2; pair++) if (random() < q) return true;
  // Waiting leaves one block to come, which is better than an honest last one.
  for (;;) {
    if (random() >= p) return random() < q;
    if (random() < q) return true;
  }
}
