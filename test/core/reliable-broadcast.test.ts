import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, it } from "node:test";
import { deliveredBy, vouchForm, vouchedFor, type Heard } from "../../agents/core/phases/reliable-broadcast.ts";
import type { Digest, Value } from "../../agents/core/types.ts";
import { attemptOf } from "../support/core/committee.ts";
import { assertAtMost } from "../support/assertions.ts";

const digest = (name: number): Digest => `0x${name.toString(16).padStart(64, "0")}` as Digest;
const X = digest(1);
const Y = digest(2);
const faultsOf = (n: number): number => Math.floor((n - 1) / 3);
/** What one seat says of broadcaster 0 only. */
const of0 = (n: number, one: Digest | null): Heard => Array.from({ length: n }, (_, seat) => (seat === 0 ? one : null));
const times = (n: number, count: number, one: Digest | null): Heard[] =>
  Array.from({ length: count }, () => of0(n, one));

describe("reliable broadcast", () => {
  it("L06: a seat vouches if more than 2/3 echo or more than 1/3 vouch; it delivers if more than 2/3 vouch", () => {
    for (let n = 4; n <= 64; n++) {
      const quorum = Math.floor((2 * n) / 3) + 1;
      assert.equal(vouchedFor(n, times(n, quorum, X), [])[0], X);
      assert.equal(vouchedFor(n, times(n, quorum - 1, X), [])[0], null);
      const amplify = Math.floor(n / 3) + 1;
      assert.equal(vouchedFor(n, [], times(n, amplify, X))[0], X);
      assert.equal(vouchedFor(n, [], times(n, amplify - 1, X))[0], null);
      assert.equal(deliveredBy(n, times(n, quorum, X))[0], X);
      assert.equal(deliveredBy(n, times(n, quorum - 1, X))[0], null);
    }
  });

  it("L06 validity: a message that an honest seat sent to all is delivered, whatever f seats echo and vouch for", () => {
    for (const n of [4, 7, 10, 13, 64]) {
      const f = faultsOf(n);
      const lies = times(n, f, Y);
      const vouched = vouchedFor(n, [...lies, ...times(n, n - f, X)], lies);
      assert.equal(vouched[0], X);
      assert.equal(deliveredBy(n, [...lies, ...times(n, n - f, vouched[0])])[0], X);
    }
  });

  it("L06 L10 agreement: a fork is never delivered twice: with f liars two digests never both find quorums, however the honest split", () => {
    const scenario = fc.integer({ min: 4, max: 20 }).chain((n) =>
      fc.record({
        n: fc.constant(n),
        // What each honest seat held of the fork when it echoed.
        held: fc.array(fc.constantFrom(X, Y, null), { minLength: n - faultsOf(n), maxLength: n - faultsOf(n) }),
        // Hostile seats may tell every honest seat something else: here all echo and vouch for both.
        hostile: fc.constantFrom(X, Y),
      }),
    );
    fc.assert(
      fc.property(scenario, ({ n, held, hostile }) => {
        const f = faultsOf(n);
        const honestEchoes = held.map((one) => of0(n, one));
        // Seat by seat, the liars side with X towards some and with Y towards others.
        const vouches = held.map((_, seat) => {
          const side = (seat % 2 === 0) === (hostile === X) ? X : Y;
          return vouchedFor(n, [...honestEchoes, ...times(n, f, side)], times(n, f, side));
        });
        const said = new Set(vouches.map(([one]) => one).filter((one) => one !== null));
        assertAtMost(said.size, 1);
        const outcomes = [X, Y].map((side) => deliveredBy(n, [...vouches, ...times(n, f, side)])[0]);
        assertAtMost(new Set(outcomes.filter((one) => one !== null)).size, 1);
      }),
      { numRuns: 500 },
    );
  });

  it("L10: broadcasts run side by side: statements on one do not touch another", () => {
    const heard: Heard = [X, Y, null, X];
    assert.deepEqual(deliveredBy(4, [heard, heard, heard]), heard);
    assert.deepEqual(deliveredBy(4, [heard, heard, [Y, Y, Y, null]]), [null, Y, null, null]);
  });

  it("delivery does not depend on the order of the messages", () => {
    const heard = fc.array(fc.constantFrom(X, Y, null), { minLength: 7, maxLength: 7 });
    fc.assert(
      fc.property(
        fc
          .array(heard, { maxLength: 7 })
          .chain((all) => fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length }))),
        ([all, shuffled]) => {
          assert.deepEqual(deliveredBy(7, shuffled), deliveredBy(7, all));
        },
      ),
    );
  });

  it("an ECHO or READY of another length, or with anything but digests, is malformed", () => {
    const form = vouchForm("echo", 10);
    const attempt = attemptOf(4);
    const body = { heard: [X, null, Y, null] };
    assert.deepEqual(form.decode(attempt, form.encode(body)), body);
    const bad: readonly Value[] = [
      { heard: [null, null, null] },
      { heard: [null, null, null, null, null] },
      { heard: [null, null, null, new Uint8Array(31)] },
      { heard: [null, null, null, "x"] },
      { heard: null },
      { heard: [null, null, null, null], more: 1 },
      {},
    ];
    for (const value of bad) assert.equal(form.decode(attempt, value), null);
  });
});
