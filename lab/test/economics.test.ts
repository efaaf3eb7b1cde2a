import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { network } from "hardhat";
import type { HardhatEthers } from "@nomicfoundation/hardhat-ethers/types";
import { GAS_LEVELS, HONEST_CERTAINTY, PRICES, SETTINGS } from "../economics/assumptions.ts";
import { openStudyChain, type StudyChain } from "../economics/chain.ts";
import { exitCodeFor, main } from "../economics/command.ts";
import { odds } from "../economics/coalition.ts";
import { play } from "../economics/episodes.ts";
import { certain, estimateOf, stratified, sum } from "../economics/estimate.ts";
import { faultsBetween, readLedger } from "../economics/ledger.ts";
import { playLife, seatsMissed } from "../economics/lives.ts";
import { failuresText, unequalText } from "../economics/report.ts";
import { conclude, resultOf, type Row } from "../economics/rows.ts";
import { hypergeometricTail, seatsToBreak } from "../complexity/committee-odds.ts";
import {
  APPELLANTS_REWARD,
  DRAWS,
  SECURED,
  bondsToLast,
  certaintyOf,
  costOfOwn,
  gainOfChange,
  holds,
  paidBack,
  securityOf,
  slicesOf,
} from "../economics/security.ts";
import { skillRows, WEEKLY_REQUESTS } from "../economics/skill.ts";
import { CHANGES, POLICIES, study, type Options } from "../economics/study.ts";
import { UNEQUAL, UNEQUAL_SEATS } from "../economics/unequal.ts";
import { liveYear, type Career, type YearPolicy } from "../economics/year.ts";
import { createRandom } from "../../sim/random.ts";
import { assertAbove, assertAtMost, assertBelow, assertClose } from "../../test/support/assertions.ts";

const [smallest, usual] = SETTINGS as readonly [(typeof SETTINGS)[number], (typeof SETTINGS)[number]];

function row(change: Partial<Row> = {}): Row {
  const gain = { mean: 2, low: 1, high: 3 };
  const known = { strategy: "robs", setting: smallest.name, gwei: 0.5, group: "others" } as const;
  return { kind: "attack", ...known, profit: gain, gain, ...change };
}

describe("economics: what the study concludes", () => {
  it("an attack pays, and a duty fails, only beyond doubt", () => {
    assert.equal(resultOf(row()), "fails");
    assert.equal(resultOf(row({ gain: { mean: 2, low: -1, high: 5 } })), "undecided");
    assert.equal(resultOf(row({ gain: { mean: -2, low: -3, high: -1 } })), "holds");
    assert.equal(resultOf(row({ kind: "duty" })), "holds");
    assert.equal(resultOf(row({ kind: "duty", gain: { mean: -2, low: -3, high: -1 } })), "fails");
    assert.equal(resultOf(row({ gain: certain(0) })), "holds");
  });

  it("a planted attack that pays ends with exit code 1 and is said; one that is stated with its number does not", () => {
    const found = { rows: [row()], faults: [] };
    assert.equal(exitCodeFor(found, []), 1);
    assert.match(
      failuresText(found, []),
      /Not stated in the docs: robs\.\*\* 2\.0 \[1\.0, 3\.0\] \(n = 4, K = 0; 0\.5 gwei\)/,
    );
    // The whole interval, from 1 on, has to be above the limit.
    const stated = { strategies: ["robs"], most: 1, says: "It is known." };
    assert.equal(exitCodeFor(found, [stated]), 0);
    assert.match(failuresText(found, [stated]), /It is known\. 2\.0 .+ A run fails if it is above 1 beyond doubt\.$/m);
    assert.equal(exitCodeFor(found, [{ ...stated, most: 0.99 }]), 1);
    assert.equal(exitCodeFor(found, [{ ...stated, most: 2, isOfGas: true }]), 0);
    assert.equal(exitCodeFor(found, [{ ...stated, most: 1.98, isOfGas: true }]), 1);
    const loss = { rows: [row({ kind: "duty", gain: { mean: -2, low: -3, high: -1 } })], faults: [] };
    assert.equal(exitCodeFor(loss, [stated]), 0);
    assert.equal(exitCodeFor(loss, [{ ...stated, most: 0.99 }]), 1);
    assert.equal(exitCodeFor(found, [{ ...stated, gwei: [5] }]), 1);
    assert.equal(exitCodeFor(found, [{ ...stated, settings: [usual.name] }]), 1);
    assert.equal(conclude([], [stated]).idle.length, 1);
  });

  it("money that is not accounted for ends with exit code 1", () => {
    assert.equal(exitCodeFor({ rows: [], faults: ["1 token unit is nobody's"] }, []), 1);
    assert.equal(exitCodeFor({ rows: [], faults: [] }, []), 0);
  });

  it("refuses bad options, and says what is wanted", async () => {
    await assert.rejects(main(["--seed", "1000000"]), /from 0 to 999999/);
    await assert.rejects(main(["--model-cost", "cheap"]), /amount of dollars/);
    await assert.rejects(main(["--nonsense"]), /unknown option/);
  });
});

describe("economics: the arithmetic", () => {
  it("an interval holds the mean; strata count by how often they occur", () => {
    assert.deepEqual(estimateOf([1, 1, 1]), certain(1));
    const { mean, low, high } = estimateOf([1, 2, 3]);
    assertClose(mean, 2, 1e-9);
    assertClose(high - low, (2 * 4.303) / Math.sqrt(3), 1e-3);
    const both = stratified([
      { probability: 0.1, values: [10, 10] },
      { probability: 0.2, values: [5, 5] },
    ]);
    assertClose(both.mean, 2, 1e-9);
  });

  it("the odds of all numbers of seats sum to 1", () => {
    for (const share of [0.2, 1 / 3, 0.4])
      assertClose(sum(Array.from({ length: 8 }, (_, k) => odds(7, k, share))), 1, 1e-9);
  });

  it("a fall of a fifth costs some two and a half seats, and no reputation more than a new agent's", () => {
    assert.equal(seatsMissed(1), 0);
    assertClose(seatsMissed(0.8), 2.87, 0.01);
    assert.equal(seatsMissed(0.1), 16);
  });

  it("an appeal pays from loss / (loss + win) on; a fee is found from which a sure appellant gains", () => {
    // Seven seats at the quote: the reward is 17.5 cents, and the bond 75. Gas costs a cent.
    const cheap = certaintyOf(16.5, -76, usual);
    assertClose(cheap.least!, 76 / 92.5, 1e-9);
    assert.equal(cheap.fee, 1);
    const dear = certaintyOf(-20, -112.5, usual);
    assert.equal(dear.least, null);
    const win = 17.5 * dear.fee - 37.5;
    const loss = 75 * Math.min(2, dear.fee) + 37.5;
    assertClose(HONEST_CERTAINTY * win, (1 - HONEST_CERTAINTY) * loss, 1e-6);
  });

  it("bribes for the first committee of a secured request cost what the seats lose whose signatures they need; for the last, only bonds", () => {
    const [four] = SECURED;
    assert.deepEqual([slicesOf(4), slicesOf(13, 60), four!.slices, four!.leastSlices], [10, 15, 10, 10]);
    // Committees of 9 and 19, two units of 2.5 cents a seat.
    assert.deepEqual([four!.setting, four!.last], ["n = 4, K = 2", 19]);
    assertClose(four!.bonds, 1.4, 1e-9);
    assertClose(bondsToLast({ committeeSize: 4, appeals: 0 }), 0, 1e-9);
  });

  it("SC4: both appellants get 0.05 tokens, less than what an asker with half of the seats cannot get back of the pay", () => {
    assert.equal(APPELLANTS_REWARD, 0.05);
    const changing = { committeeSize: 4, appeals: 2 };
    assertClose(gainOfChange(1.4, changing, 0), 0.05 - 1.4, 1e-9);
    // Its seats get 240 shares each, half of the others 30.
    assertClose(gainOfChange(1.4, changing, 0.5), 0.05 - 1.4 / 17, 1e-9);
  });

  it("an asker that gains by both appeals ends with exit code 1", () => {
    for (const { strategy } of CHANGES) assert.equal(exitCodeFor({ rows: [row({ strategy })], faults: [] }), 1);
  });

  it("light agents get the seats for which no heavy one is left: a small registry's committees after appeals are silenced by a fifth", () => {
    assert.deepEqual(UNEQUAL_SEATS, [4, 7, 13, 19, 27]);
    const [small, , many, equal, large] = UNEQUAL;
    assertClose(small!.silences.at(-1), 0.74, 0.005);
    assertClose(1e4 * small!.holds[2]!, 2, 0.01);
    for (const [index, n] of UNEQUAL_SEATS.entries()) {
      const exact = hypergeometricTail(75, 15, n, seatsToBreak(n));
      assertClose(equal!.silences[index], Number(exact.numerator) / Number(exact.denominator), 1e-6);
      assertBelow(equal!.silences[index], large!.silences[index]!);
      assertClose(many!.silences[index]! / large!.silences[index]!, 1, 0.2);
    }
    assert.match(unequalText(), /^\| 20 x 1,000 against 50 x 100 \| 20 % \| holds \| once in 36 \|/m);
  });

  it("whoever holds all committees holds the first; what somebody appeals against costs more", () => {
    const costs = { decided: 1, hung: 0.8, unanswered: 0.1, appealed: 2 };
    for (const { first, all, unchallenged, challenged } of securityOf(usual, costs).coalitions) {
      assertAbove(first, all);
      assertAbove(challenged, unchallenged);
    }
  });

  it("a decision of its own costs what others are paid until it has one; half of that if they hang, and less where it knows the answer", () => {
    // Without gas a request of 4 seats costs 8 units, a hung one 4.
    const [unit, n] = [Number(PRICES.token.unitPrice) / 1e18, 4];
    const costs = { decided: 8 * unit, hung: 4 * unit, unanswered: 1 };
    const [decided, hung, unsure, shown] = DRAWS.map((draw) => costOfOwn(n, 0.2, draw, costs)) as [
      number,
      number,
      number,
      number,
    ];
    assertClose(decided / hung, 2, 1e-9);
    const others = sum([0, 1, 2].map((k) => (n - k) * odds(n, k, 0.2)));
    assertClose(decided, (2 * unit * others) / holds(n, 0.2), 1e-9);
    // Of four seats one is its own, and one other reads: of 8 units that one has a ninth. Two of its own take all.
    const lost = 4 * unit * odds(n, 0, 0.2) + (8 / 9) * unit * odds(n, 1, 0.2);
    assertClose(shown, lost / holds(n, 0.2), 1e-9);
    assertBelow(shown, unsure);
    assertBelow(unsure, hung);
    // Gas of its own committee is paid once, that of others as often as they are drawn.
    const dear = { decided: 8 * unit + 0.3, hung: 4 * unit + 0.3, unanswered: 1 };
    assertClose(costOfOwn(n, 1, "hung", dear), 0.3, 1e-9);
    // Two seats of four keep it silent, for gas.
    const silenced = decided - costOfOwn(n, 0.2, "decided", { ...costs, unanswered: 0.01 });
    assertClose(silenced, ((4 * unit - 0.01) * odds(n, 2, 0.2)) / holds(n, 0.2), 1e-9);
  });
});

describe("economics: skill", () => {
  it("whoever asks requests of its own pays for them, and gets no more for it than the lies that skill adds", () => {
    const rows = skillRows(1, 2);
    assert.equal(rows.length, 12);
    for (const { seats, share, strategy, own, cost, added, worthFrom } of rows) {
      assertAbove(own, 0);
      assertAtMost(own, strategy === "farms" ? 60 : 200);
      // Others have the other seats, but may earn nothing by them.
      assertAbove(cost, 0);
      assertBelow(cost, own * paidBack(seats, 1));
      const most = WEEKLY_REQUESTS * added.high;
      assert.ok(
        most > 0 ? Math.abs(worthFrom * most - cost) < 1e-9 : worthFrom === Number.POSITIVE_INFINITY,
        `${seats}, ${share}`,
      );
    }
  });
});

describe("economics: a year", () => {
  const career = { seats: 4, aWeek: 20, steps: 1 };
  const yearOf = (policy: YearPolicy, change: Partial<Career> = {}) =>
    liveYear(policy, { ...career, ...change }, createRandom(1, "year"));

  it("the same seed gives the same year; an honest one earns, and keeps most of its reputation", () => {
    assert.deepEqual(yearOf("honest"), yearOf("honest"));
    assertAbove(yearOf("honest").cents, 2);
    assertAbove(yearOf("honest").reputation, 0.8);
  });

  it("whoever hides what most do not say falls as often as whoever shows it, and earns no more", () => {
    assertAtMost(yearOf("wait").reputation, yearOf("bold").reputation + 0.05);
    assertAtMost(yearOf("wait").cents, yearOf("honest").cents);
  });

  it("a deeper fall makes whoever is always sure lose, and costs an honest agent a good part of its profit", () => {
    const deep = { steps: 2 };
    assertAbove(yearOf("honest", deep).cents, yearOf("bold", deep).cents);
    assertAbove(0.9 * yearOf("honest").cents, yearOf("honest", deep).cents);
  });
});

describe("economics: the chain", () => {
  async function chainFrom(initialDate: string): Promise<StudyChain> {
    const connection: object = await network.create({ override: { accounts: { count: 20 }, initialDate } });
    // The plugin adds `ethers` to the connection.
    return openStudyChain((connection as { ethers: HardhatEthers }).ethers);
  }

  let chain: StudyChain;
  before(async () => {
    chain = await chainFrom("2026-11-23T00:00:00Z");
  });

  it("a life accounts for every unit, burnt gas included; a unit that is missing is a fault", async () => {
    const { faults, seats, pay } = await playLife(chain, usual, "honest", 1, { chances: 3, isAudited: true });
    assert.deepEqual(faults, []);
    assertAbove(seats, 2);
    assertAbove(pay, 0);
    const [now] = [await readLedger(chain)];
    assert.deepEqual(await faultsBetween(chain.world, now, now), []);
    const robbed = { ...now, dust: now.dust + 20_000n };
    assert.equal((await faultsBetween(chain.world, now, robbed)).length, 1);
    const relayer = { ...now.parties["relayer"]!, coins: now.parties["relayer"]!.coins + 1n };
    const minted = { ...now, parties: { ...now.parties, relayer } };
    assert.equal((await faultsBetween(chain.world, now, minted)).length, 1);
  });

  it("the same seed gives the same life, on whatever day of the week falls are counted by (RE4)", async () => {
    const lived = async (on: StudyChain) => playLife(on, smallest, "sure", 7, { chances: 20, isAudited: false });
    const life = await lived(chain);
    assert.deepEqual(await lived(chain), life);
    assert.deepEqual(await lived(await chainFrom("2026-11-25T12:00:00Z")), life);
  });

  it("whoever is absent earns nothing, falls asleep, and its operator loses the reputation", async () => {
    const { pay, seats, isAsleep, reputation } = await playLife(chain, smallest, "absent", 1, {
      chances: 12,
      isAudited: false,
    });
    assert.deepEqual([pay, seats, isAsleep], [0, 3, true]);
    assertAtMost(reputation, 0.8);
  });

  it("a relayer is paid for a request, and pays for useless bytes", async () => {
    const { relayer } = await play(chain, smallest, "relay", 0.5, 1);
    assertAbove(relayer, 0);
    assertAbove(relayer, (await play(chain, smallest, "pad", 0.5, 1)).relayer);
  });

  it("SC4: an asker of secured questions whose answers change loses by both appeals, even with half of the stake and at the least gas price", async () => {
    const secured = SETTINGS.find(({ appeals }) => appeals === 2)!;
    const { asker, appellant } = await play(chain, secured, "overturned", GAS_LEVELS[0], 1);
    const spent = -asker - appellant;
    assertAbove(spent, 1.4);
    for (const { share } of CHANGES) assertAbove(0, gainOfChange(spent, secured, share));
  });

  it("where models cost more than seats earn, guessing pays: exit code 1", async () => {
    const size = { lives: 2, chances: 4, samples: 2, episodes: 2 };
    const options: Options = { size, seed: 1, settings: [smallest], modelDollars: 0.5 };
    const found = await study(chain, options, () => {});
    const guesses = found.rows.find(({ strategy }) => strategy === POLICIES.lazy)!;
    assert.equal(resultOf(guesses), "fails");
    assert.equal(exitCodeFor(found), 1);
    assert.deepEqual(found.faults, []);
  });
});
