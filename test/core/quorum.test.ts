import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  exceeds,
  faultTolerance,
  holdsHonest,
  isMajority,
  isSupermajority,
  quorumOf,
} from "../../agents/core/quorum.ts";

describe("quorum", () => {
  it("agrees with plain counting for every weight of every total up to 200", () => {
    for (let total = 1; total <= 200; total += 1) {
      for (let weight = 0; weight <= total; weight += 1) {
        assert.equal(isSupermajority(weight, total), weight + weight + weight > total + total);
        assert.equal(isMajority(weight, total), weight + weight > total);
        assert.equal(holdsHonest(weight, total), weight + weight + weight > total);
      }
    }
  });

  it("tolerates f = the largest integer with 3f < n", () => {
    for (let seats = 1; seats <= 200; seats += 1) {
      let faults = 0;
      while (3 * (faults + 1) < seats) faults += 1;
      assert.equal(faultTolerance(seats), faults);
      // One vote per seat: the honest alone are a supermajority, and what holds an honest seat is f + 1 votes.
      assert.equal(isSupermajority(seats - faults, seats), true);
      assert.equal(isSupermajority(2 * faults, seats), false);
      assert.equal(holdsHonest(faults, seats), false);
      assert.equal(holdsHonest(Math.floor(seats / 3) + 1, seats), true);
      // Two supermajorities share more than f seats.
      const quorum = quorumOf(seats);
      assert.equal(isSupermajority(quorum, seats) && !isSupermajority(quorum - 1, seats), true);
      assert.ok(2 * quorum - seats > faults);
    }
  });

  it("is strict at equality", () => {
    assert.equal(isSupermajority(2, 3), false);
    assert.equal(isMajority(1, 2), false);
    assert.equal(holdsHonest(1, 3), false);
    assert.equal(exceeds(0, 0, 1, 2), false);
  });

  it("neither overflows nor rounds", () => {
    const total = 3n * 10n ** 30n;
    assert.equal(isSupermajority(2n * 10n ** 30n, total), false);
    assert.equal(isSupermajority(2n * 10n ** 30n + 1n, total), true);
    // 2/3 of this total is not a double.
    assert.equal(isSupermajority(6_004_799_503_160_661, Number.MAX_SAFE_INTEGER), true);
    assert.equal(isSupermajority(6_004_799_503_160_660, Number.MAX_SAFE_INTEGER), false);
    const large = fc.bigInt(-(2n ** 300n), 2n ** 300n);
    fc.assert(
      fc.property(large, large, fc.bigInt(1n, 2n ** 64n), (part, total_, scale) => {
        assert.equal(exceeds(part, total_, 2, 3), exceeds(part * scale, total_ * scale, 2, 3));
        assert.equal(exceeds(part, total_, 2, 3) && exceeds(total_, part, 3, 2), false);
      }),
    );
  });

  it("throws on a total that is no number of seats, or no integer", () => {
    for (const seats of [0, -1, 1.5, Number.NaN, Infinity]) assert.throws(() => faultTolerance(seats), RangeError);
    assert.throws(() => isMajority(0.5, 1), RangeError);
  });
});
