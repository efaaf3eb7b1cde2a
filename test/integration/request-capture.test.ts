import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { captureOf, captureRows, unequalWeights, type CaptureTerms } from "../../agents/cli/request/capture.ts";
import { chanceInLargeRegistry, chanceOfSeats, type Weights } from "../../agents/cli/request/seat-odds.ts";
import { securityOf } from "../../agents/cli/request/security.ts";
import { defaultTerms } from "../../agents/core/request/terms.ts";
import { ONE_PPM } from "../../agents/core/types.ts";
import type { AgentRecord } from "../../agents/ports/chain.ts";
import { binomialTail, hypergeometricTail, type Ratio } from "../../lab/complexity/committee-odds.ts";
import { createRandom, type Random } from "../../sim/random.ts";
import { assertAtMost, assertBelow, assertClose } from "../support/assertions.ts";

const agentsOf = (count: number, weight: number): readonly number[] => Array.from({ length: count }, () => weight);
const numberOf = ({ numerator, denominator }: Ratio): number => Number(numerator) / Number(denominator);
const assertNear = (actual: number, expected: number, part: number, what: string): void =>
  assertClose(actual / expected, 1, part, what);

/** A fifth of the weight in fifty light agents, against twenty that weigh ten times as much. */
const unequal: Weights = { own: agentsOf(50, 1), others: agentsOf(20, 10) };

/** The exact odds where all own agents have one weight and all others one: seat for seat, by how many of them sit. */
function chanceOfTwoClasses({ own, others }: Weights, n: number, least: number): number {
  const [weight = 0, otherWeight = 0] = [own[0], others[0]];
  /** By the number of own seats. */
  let chances = [1];
  for (let seats = 0; seats < n; seats++) {
    const next = Array.from({ length: seats + 2 }, () => 0);
    for (const [seated, chance] of chances.entries()) {
      if (chance === 0) continue;
      const left = (own.length - seated) * weight;
      const part = left / (left + (others.length - seats + seated) * otherWeight);
      next[seated + 1] = (next[seated + 1] ?? 0) + chance * part;
      next[seated] = (next[seated] ?? 0) + chance * (1 - part);
    }
    chances = next;
  }
  return chances.slice(least).reduce((sum, chance) => sum + chance, 0);
}

/** How many of n seats are own agents', drawn one after the other. */
function drawnSeats({ own, others }: Weights, n: number, random: Random): number {
  const left = [
    ...own.map((weight) => ({ weight, isOwn: true })),
    ...others.map((weight) => ({ weight, isOwn: false })),
  ];
  let seats = 0;
  for (let seat = 0; seat < n; seat++) {
    let ticket = (random.below(2 ** 32) / 2 ** 32) * left.reduce((sum, { weight }) => sum + weight, 0);
    const index = left.findIndex(({ weight }) => (ticket -= weight) < 0);
    const [drawn] = left.splice(index, 1);
    if (drawn?.isOwn === true) seats += 1;
  }
  return seats;
}

describe("odds of seats, drawn by weight without replacement", () => {
  it("are the hypergeometric ones for equal weights, down to the last agent", () => {
    for (const [agents, hostile] of [
      [75, 15],
      [40, 13],
      [13, 6],
    ] as const)
      for (const n of [1, 4, 7, 13])
        for (let least = 1; least <= Math.min(n, hostile); least++) {
          const found = chanceOfSeats({ own: agentsOf(hostile, 3), others: agentsOf(agents - hostile, 3) }, n, least);
          const expected = numberOf(hypergeometricTail(agents, hostile, n, least));
          assertNear(found, expected, 1e-6, `${agents}, ${hostile}, ${n}, ${least}`);
        }
  });

  it("are nearly the binomial ones among thousands of equal agents", () => {
    const many: Weights = { own: agentsOf(2_000, 1), others: agentsOf(8_000, 1) };
    for (const [n, least] of [
      [4, 3],
      [13, 9],
      [63, 21],
    ] as const) {
      const expected = numberOf(binomialTail(n, least, { numerator: 1n, denominator: 5n }));
      assertNear(chanceInLargeRegistry(0.2, n, least), expected, 1e-9, `${n}, ${least}`);
      assertNear(chanceOfSeats(many, n, least), expected, 0.03, `${n}, ${least}`);
    }
  });

  it("are those of the exact draw where few heavy agents stand against many light ones", () => {
    assertNear(chanceOfSeats(unequal, 13, 9), 2.0e-4, 0.01, "13 seats are held");
    assertNear(chanceOfSeats(unequal, 27, 19), 4.68e-8, 0.01, "27 seats are held");
    assertNear(chanceOfSeats(unequal, 27, 9), 0.74, 0.01, "27 seats are silenced");
    const turned: Weights = { own: unequal.others, others: unequal.own };
    for (const weights of [unequal, turned, { ...unequal, others: agentsOf(20, 1_000) }])
      for (const n of [1, 4, 13, 27, 55, 69])
        for (
          let least = Math.max(1, n - weights.others.length + 1);
          least <= Math.min(n, weights.own.length);
          least++
        ) {
          const expected = chanceOfTwoClasses(weights, n, least);
          assertNear(chanceOfSeats(weights, n, least), expected, 1e-6, `${n} seats, ${least} of them`);
        }
  });

  it("are those of seeded draws from agents that all differ", () => {
    const random = createRandom(1, "unequal registry");
    const draws = 20_000;
    const mixed: Weights = {
      own: Array.from({ length: 30 }, (_, index) => 1 + index / 10),
      others: Array.from({ length: 12 }, (_, index) => 3 + index ** 2 / 4),
    };
    const seats = Array.from({ length: draws }, () => drawnSeats(mixed, 11, random));
    for (const least of [3, 5, 6, 7, 8]) {
      const chance = chanceOfSeats(mixed, 11, least);
      const found = seats.filter((count) => count >= least).length / draws;
      assertClose(found, chance, 4 * Math.sqrt((chance * (1 - chance)) / draws), `${least} seats`);
    }
  });

  it("are certain, or impossible, where too few others, or too few own agents, are there", () => {
    assert.equal(chanceOfSeats({ own: agentsOf(10, 1), others: agentsOf(4, 9) }, 7, 3), 1);
    assert.equal(chanceOfSeats({ own: agentsOf(2, 9), others: agentsOf(9, 1) }, 7, 3), 0);
  });

  it("take a fraction of a second for 5,000 agents that all differ, and 63 seats", () => {
    const all = Array.from({ length: 5_000 }, (_, index) => 1 + index / 100);
    const began = performance.now();
    assertBelow(chanceOfSeats({ own: all.slice(0, 2_200), others: all.slice(2_200) }, 63, 43), 1e-6);
    assertAtMost(performance.now() - began, 1_000);
  });
});

describe("odds of a request's committees", () => {
  const terms = (change: Partial<CaptureTerms> = {}): CaptureTerms =>
    defaultTerms({ protocol: 1, assurance: "high", ...change });
  const bigints = (...groups: readonly (readonly [count: number, weight: bigint])[]): readonly bigint[] =>
    groups.flatMap(([count, weight]) => Array.from({ length: count }, () => weight * 10n ** 24n));
  const heavyAndLight = bigints([20, 10n], [50, 1n]);

  it("SC7: a fifth and a third decide as often as they hold a quorum, at normal assurance a majority, under a chair that chair", () => {
    const oneIn = (change: Partial<CaptureTerms>): readonly number[] =>
      captureOf(terms(change), []).map(({ probability }) => Math.round(1 / probability));
    assert.deepEqual(oneIn({ committeeSize: 4 }), [37, 9]);
    assert.deepEqual(oneIn({ committeeSize: 13 }), [6024, 122]);
    assert.deepEqual(oneIn({ committeeSize: 4, assurance: "normal" }), [37, 9]);
    assert.deepEqual(oneIn({ committeeSize: 13, assurance: "normal" })[0], 143);
    const chaired = { committeeSize: 13, assurance: "normal", protocol: 8, appeals: 1 } as const;
    for (const { share, probability, last } of captureOf(terms(chaired), heavyAndLight))
      assert.deepEqual([probability, last?.probability], [share / ONE_PPM, share / ONE_PPM]);
    assert.equal(chanceInLargeRegistry(1, 4, 3), 1);
  });

  it("SC7: who holds a share has the lightest agents that have at most that much, and the committees are drawn from all", () => {
    const [fifth, third] = captureOf(terms({ committeeSize: 13, appeals: 1 }), heavyAndLight);
    assert.deepEqual([fifth?.seats, fifth?.last?.seats], [13, 27]);
    for (const [found, n, least] of [
      [fifth?.probability, 13, 9],
      [fifth?.silence, 13, 5],
      [fifth?.last?.probability, 27, 19],
      [fifth?.last?.silence, 27, 9],
    ] as const)
      assertNear(found ?? 0, chanceOfSeats(unequal, n, least), 1e-9, `${n} seats, ${least} of them`);
    // 33 % are 82.5 of 250: all light agents and three heavy ones.
    const [light, heavy] = [agentsOf(50, 1), agentsOf(20, 10)];
    const more = chanceOfSeats({ own: [...light, ...heavy.slice(0, 3)], others: heavy.slice(3) }, 13, 9);
    assertNear(third?.probability ?? 0, more, 1e-9, "a third");
    // Order does not matter, and without appeals no other committee can follow.
    assert.deepEqual(captureOf(terms({ committeeSize: 13, appeals: 1 }), heavyAndLight.toReversed())[0], fifth);
    assert.equal(captureOf(terms(), heavyAndLight)[0]?.last, null);
  });

  it("SC7: the odds are those of a large registry where no agent has so little, or too few agents or more than ten thousand are there", () => {
    const large = captureOf(terms(), []);
    assert.deepEqual(captureOf(terms(), bigints([10_001, 1n])), large);
    assert.notDeepEqual(captureOf(terms(), bigints([10_000, 1n])), large);
    assert.deepEqual(captureOf(terms(), bigints([4, 1n]))[0], large[0]);
    // A fifth of five agents is one, which holds no quorum of four seats; the committee after two appeals has more seats than that.
    const [fifth] = captureOf(terms({ appeals: 2 }), bigints([5, 1n]));
    assert.deepEqual([fifth?.probability, fifth?.silence], [0, 0]);
    assert.deepEqual(fifth?.last, captureOf(terms({ appeals: 2 }), [])[0]?.last);
  });

  it("SC7: the agents that count are active; reputation and proof weigh, whether the request is secured or not", () => {
    const agent = { stake: 100n, unbonding: 0n, reputation: ONE_PPM, proven: true, active: true, operator: "0xa" };
    const registry = [
      ...Array.from({ length: 20 }, () => ({ ...agent, stake: 500n })),
      ...Array.from({ length: 25 }, () => ({ ...agent, proven: false })),
      ...Array.from({ length: 25 }, () => ({ ...agent, reputation: ONE_PPM / 2 })),
      { ...agent, stake: 1n, active: false },
    ] as AgentRecord[];
    for (const security of ["none", "secured"] as const) {
      const asked = defaultTerms({ protocol: 1, assurance: "high", security, committeeSize: 13, appeals: 2 });
      const { capture } = securityOf(asked, registry, { appealUnit: 1n, minStake: 1n });
      assertNear(capture[0]?.probability ?? 0, chanceOfSeats(unequal, 13, 9), 1e-9, security);
    }
  });

  it("are said in two lines, the last committee's beside the first one's", () => {
    const equal = bigints([40, 1n]);
    assert.deepEqual(captureRows(captureOf(terms(), equal)), [
      ["captured", "by who holds 20.00 % of the weight: once in 49, 33.00 % of the weight: once in 11"],
      ["silenced", "by who holds 20.00 % of the weight: 17.23 %, 33.00 % of the weight: 39.19 %"],
    ]);
    const [captured, silenced] = captureRows(captureOf(terms({ committeeSize: 13, appeals: 1 }), heavyAndLight));
    assert.match(
      captured?.[1] ?? "",
      /weight: once in 4,998 \(the last committee, 27 seats: once in 21,366,\d{3}\), 33/,
    );
    assert.match(silenced?.[1] ?? "", /weight: 17.13 % \(the last committee, 27 seats: 74.01 %\), 33/);
    const [, appealed] = captureOf(terms({ appeals: 2 }), equal).map((one) => captureRows([one])[0]?.[1]);
    assert.match(appealed ?? "", /19 seats: once in 443,507\)$/);
    const never = captureRows(captureOf(terms({ committeeSize: 13 }), equal))[0]?.[1];
    assert.match(never ?? "", /20.00 % of the weight: never/);
    const rare = captureRows(captureOf(terms({ committeeSize: 63 }), bigints([5_000, 1n])))[0]?.[1];
    assert.match(rare ?? "", /20.00 % of the weight: less than once in a trillion/);
  });

  it("are warned of where few heavy agents make them ten times as bad as those of a large registry", () => {
    const warningOf = (weights: readonly bigint[], change: Partial<CaptureTerms>): string | null =>
      unequalWeights(terms(change), captureOf(terms(change), weights));
    assert.equal(warningOf(heavyAndLight, { committeeSize: 13 }), null);
    assert.match(
      warningOf(heavyAndLight, { committeeSize: 13, appeals: 1 }) ?? "",
      /silences a committee of 27 seats \(74.01 %; once in 1\d where many/,
    );
    assert.equal(warningOf(bigints([5_000, 1n]), { committeeSize: 13, appeals: 1 }), null);
    assert.equal(warningOf([], { committeeSize: 13, appeals: 1 }), null);
    const fewer = bigints([6, 40n], [60, 1n]);
    assert.match(
      warningOf(fewer, { committeeSize: 13 }) ?? "",
      /^few heavy agents .* holds 20.00 % of the weight in the lightest captures a committee of 13 seats \(once in \d+; once in 6,024 where/,
    );
    assert.match(warningOf(fewer, { appeals: 2 }) ?? "", /a committee of 19 seats/);
    // The chair's odds are its share.
    const chaired = { assurance: "normal", protocol: 8 } as const;
    assert.equal(warningOf(fewer, { ...chaired, committeeSize: 4 }), null);
    assert.match(
      warningOf(fewer, { ...chaired, committeeSize: 13 }) ?? "",
      /silences a committee of 13 seats \(100.00 %/,
    );
  });
});
