import assert from "node:assert/strict";
import fc from "fast-check";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import {
  appealSizes,
  binomialTail,
  hypergeometricTail,
  seatsToBreak,
  showRatio,
  type Ratio,
} from "../complexity/committee-odds.ts";
import { assertAbove, assertBelow, assertClose } from "../../test/support/assertions.ts";
import { quorumOf } from "../../agents/core/quorum.ts";

const value = ({ numerator, denominator }: Ratio): number => Number((numerator * 10n ** 15n) / denominator) / 1e15;
const same = (a: Ratio, b: Ratio): boolean => a.numerator * b.denominator === b.numerator * a.denominator;
const ratio = (numerator: number, denominator: number): Ratio => ({
  numerator: BigInt(numerator),
  denominator: BigInt(denominator),
});

/** Every committee of n out of a pool, counted one by one. */
function countCommittees(pool: number, hostile: number, n: number, least: number): Ratio {
  let hits = 0;
  let all = 0;
  for (let set = 0; set < 2 ** pool; set++) {
    const members = Array.from({ length: pool }, (_, agent) => agent).filter((agent) => ((set >> agent) & 1) === 1);
    if (members.length !== n) continue;
    all += 1;
    if (members.filter((agent) => agent < hostile).length >= least) hits += 1;
  }
  return ratio(hits, all);
}

/** Every sequence of n independent seats over a pool with replacement. */
function countSequences(n: number, least: number, hostile: number, pool: number): Ratio {
  let hits = 0;
  for (let code = 0; code < pool ** n; code++) {
    let found = 0;
    for (let rest = code, seat = 0; seat < n; seat++, rest = Math.floor(rest / pool))
      if (rest % pool < hostile) found++;
    if (found >= least) hits += 1;
  }
  return ratio(hits, pool ** n);
}

describe("committee odds", () => {
  it("without replacement: equal to counting all committees", () => {
    for (const pool of [5, 9, 12])
      for (let hostile = 0; hostile <= pool; hostile += 2)
        for (const n of [1, 4, 5])
          for (let least = 0; least <= n; least++)
            assert.equal(
              same(hypergeometricTail(pool, hostile, n, least), countCommittees(pool, hostile, n, least)),
              true,
            );
  });

  it("from many agents: equal to counting all sequences", () => {
    for (const [hostile, pool] of [
      [1, 5],
      [1, 4],
      [2, 6],
    ] as const)
      for (const n of [1, 4, 5, 7])
        for (let least = 0; least <= n + 1; least++)
          assert.equal(
            same(binomialTail(n, least, ratio(hostile, pool)), countSequences(n, least, hostile, pool)),
            true,
          );
  });

  it("the binomial is the limit of the hypergeometric, and above it beyond the mean", () => {
    const limit = binomialTail(13, 5, ratio(1, 4));
    const pools = [40, 400, 4_000, 40_000].map((pool) => value(hypergeometricTail(pool, pool / 4, 13, 5)));
    for (const [index, odds] of pools.entries()) {
      assertBelow(odds, value(limit));
      assertAbove(odds, pools[index - 1] ?? 0);
    }
    assertClose(pools[3], value(limit), 1e-4);
  });

  it("tails: certain at 0, impossible beyond n, falling in between", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 101 }), fc.integer({ min: 1, max: 99 }), (n, percent) => {
        const share = ratio(percent, 100);
        assert.equal(value(binomialTail(n, 0, share)), 1);
        assert.equal(binomialTail(n, n + 1, share).numerator, 0n);
        const tails = Array.from({ length: n + 1 }, (_, least) => binomialTail(n, least, share).numerator);
        for (let least = 1; least <= n; least++) assert.equal(tails[least]! < tails[least - 1]!, true);
      }),
      { numRuns: 40 },
    );
  });

  it("a known value: 4 seats, a fifth hostile: 1 - .8^4 - 4 x .2 x .8^3", () => {
    assert.equal(showRatio(binomialTail(4, 2, ratio(1, 5))), ".181");
    assert.equal(same(binomialTail(4, 2, ratio(1, 5)), ratio(1808, 10_000)), true);
  });

  it("thresholds: f + 1 is the first number that n = 3f + 1 does not bear, and more than 2/3 is a quorum", () => {
    for (let n = 1; n <= 101; n++) {
      assert.equal(3 * (seatsToBreak(n) - 1) < n && 3 * seatsToBreak(n) >= n, true);
      assert.equal(3 * quorumOf(n) > 2 * n && 3 * (quorumOf(n) - 1) <= 2 * n, true);
    }
  });

  it("appeals: each committee has twice as many seats and one", () => {
    assert.deepEqual(appealSizes(4, 2), [4, 9, 19]);
    assert.deepEqual(appealSizes(13, 2), [13, 27, 55]);
  });

  it("how often liars hang one of the two committees that could overturn theirs: docs/spec/security.md", () => {
    const page = readFileSync(new URL("../../docs/spec/security.md", import.meta.url), "utf8");
    /** P(one of the committees hangs or stays silent, and no retry is left); all committees share the retries. */
    const fails = ([n, ...later]: readonly number[], retries: number, share: Ratio): number => {
      if (n === undefined) return 0;
      const hangs = value(binomialTail(n, n - quorumOf(n) + 1, share));
      const again = retries === 0 ? 1 : fails([n, ...later], retries - 1, share);
      return hangs * again + (1 - hangs) * fails(later, retries, share);
    };
    const columns = [
      [4, [0, 1, 2, 3]],
      [7, [0, 1]],
      [13, [0, 1]],
    ] as const;
    for (const [who, share] of [
      ["a fifth", ratio(1, 5)],
      ["a third", ratio(1, 3)],
    ] as const) {
      const cells = columns.flatMap(([first, allowed]) =>
        allowed.map((retries) => {
          const percent = 100 * fails(appealSizes(first, 2).slice(1), retries, share);
          return `${percent.toFixed(percent < 1 ? 1 : 0)} %`;
        }),
      );
      assert.ok(page.includes(`| ${who} of the stake | ${cells.join(" | ")} |`), cells.join(" | "));
    }
  });

  it("shows three significant digits, rounded to nearest", () => {
    const shown: readonly (readonly [number, number, string])[] = [
      [0, 7, "0"],
      [7, 7, "1"],
      [1, 2, ".500"],
      [1808, 10_000, ".181"],
      [9996, 10_000, "1.00"],
      [1, 999, ".00100"],
      [1, 3_000, "3.33e-4"],
      [1, 30_000_000, "3.33e-8"],
      [9_999, 100_000_000, "1.00e-4"],
    ];
    for (const [numerator, denominator, text] of shown) assert.equal(showRatio(ratio(numerator, denominator)), text);
  });
});
