import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { runMonteCarlo, statedRows, wilson } from "../attacks/monte-carlo.ts";
import { drawAt } from "../attacks/random.ts";
import { playReference } from "../attacks/reference.ts";
import { scriptedAttacks } from "../attacks/scripted.ts";
import { playSound } from "../attacks/sound.ts";
import { faultlessTrial, trialOf, type Role, type Setting } from "../attacks/trial.ts";
import {
  assertAbove,
  assertAtLeast,
  assertBelow,
  assertClose,
  assertExcludes,
  assertFields,
  assertIncludes,
} from "../../test/support/assertions.ts";
import { tool } from "../../test/support/tool.ts";

const lab = tool("lab/main.ts");
const attacks = (...words: readonly string[]) => lab("attacks", ...words);
const attack = (id: string) => scriptedAttacks().find((one) => one.id === id)!;
const honest = (count: number): readonly Role[] => Array.from({ length: count }, () => "honest");
const liars: Setting = {
  attack: "confident liars",
  seats: 7,
  fooled: 0.3,
  countered: 0.1,
  again: "same",
  judges: "informed",
};

describe("attacks on the reference and on the sound rules", () => {
  it("M22: two coordinated vetoers of seven stall the reference for good; the sound rules count the others and decide at once", () => {
    const { reference, sound } = attack("coordinated-vetoers");
    assertFields(reference, { value: null, rounds: 100 });
    assertBelow(Math.max(...reference.reputations.slice(2)), 1e-3);
    // The stealth vetoer never led while honest reputation lasted, so it kept its veto.
    assert.equal(playReference(faultlessTrial(["sacrificial", "stealth", ...honest(5)]), 8).finalReputation["a1"], 1);
    assertFields(sound, { value: "yes", rounds: 1 });
    // MB20: nobody is asked about a counter-proof. PY5 takes a step from the one that was wrong and sure.
    assert.deepEqual(sound.reputations, [0.8, 1, 1, 1, 1, 1, 1]);
  });

  it("M23: a seat that accuses and then proposes the truth leads the reference for ever; under the sound rules it takes nothing from anybody", () => {
    const { reference, sound } = attack("reputation-capture");
    assert.deepEqual(reference.reputations, [0.5, 0.5, 0.5, 1]);
    assert.equal(sound.value, "yes");
    assert.deepEqual(sound.reputations, [1, 1, 1, 1]);
  });

  it("one honest but wrong low-tier seat costs the reference two leaders, and the sound rules nothing", () => {
    const { reference, sound } = attack("honest-veto");
    assertFields(reference, { value: "yes", rounds: 3 });
    assert.equal(reference.reputations.filter((rho) => rho < 1).length, 2);
    assertFields(sound, { value: "yes", rounds: 1 });
  });

  it("M29: one liar that claims certainty beats nine in the Bayesian reference, but not under the sound rules", () => {
    const { reference, sound } = attack("certain-liar");
    assert.equal(reference.value, "no");
    assert.equal(sound.value, "yes");
  });

  it("without attackers both sides decide rightly at once", () => {
    const roles: readonly Role[] = ["honest", "honest", "honest", "honest"];
    assertFields(playReference(faultlessTrial(roles)), { value: "yes", rounds: 1 });
    assertFields(playSound(faultlessTrial(roles)).high, { value: "yes", single: "yes", rounds: 1 });
  });

  it("both sides see the same draws: the same seats of a trial are right", () => {
    for (let seed = 0; seed < 50; seed++) {
      const trial = trialOf(liars, seed);
      const { history } = playReference(trial);
      // The first leader is a liar; in the reference the seats that hold its answer or are fooled accept it.
      const accepting = history[0]?.votes.filter(([, weight]) => weight > 0).map(([voter]) => Number(voter.slice(1)));
      const expected = [1, 2, 3, 4, 5, 6].filter(
        (seat) => trial.answer(seat, 0) === "no" || trial.verdict(seat, "no", 0) === "for",
      );
      assert.deepEqual(accepting, expected);
    }
  });

  it("a Monte Carlo is a function of its seed, and its shares add up", () => {
    const { row } = statedRows[0]!;
    const run = (seed: number) => runMonteCarlo(row, { trials: 40, seed });
    assert.deepEqual(run(1), run(1));
    assert.notDeepEqual(run(1), run(2));
    for (const { right, wrong, hung } of Object.values(run(1).shares))
      assertClose(right.share + wrong.share + hung.share, 1, 1e-9);
  });

  it("the sound rules beat the reference in every row with n = 7, within the noise of 200 trials", () => {
    for (const { row, stated } of statedRows.filter((one) => one.row.seats === 7)) {
      const { shares } = runMonteCarlo(row, { trials: 200, seed: 7, stated });
      assertAbove(shares.normal.right.low, shares.reference.right.share);
      // The first Monte Carlo's figure for one round at normal assurance: the first of "right wrong hung".
      const found = Number(stated.normal.split(" ")[0]);
      assertBelow(shares["normal, one round"].right.low - 0.05, found);
      assertAbove(shares["normal, one round"].right.high + 0.05, found);
    }
  });

  it("Wilson's interval, by known values", () => {
    const interval = wilson(8, 10);
    assertClose(interval.low, 0.4902, 1e-4);
    assertClose(interval.high, 0.9433, 1e-4);
    assertFields(wilson(0, 100), { share: 0, low: 0 });
  });

  it("draws are uniform, and one place tells nothing about the next", () => {
    const draws = Array.from({ length: 20_000 }, (_, index) => drawAt(3, index % 7, index));
    const mean = draws.reduce((sum, draw) => sum + draw, 0) / draws.length;
    const product = draws.reduce((sum, draw, index) => sum + draw * (draws[index + 1] ?? draws[0]!), 0) / draws.length;
    assertClose(mean, 0.5, 0.01);
    assertClose(product, 0.25, 0.01);
    assertAtLeast(Math.min(...draws), 0);
    assertBelow(Math.max(...draws), 1);
  });

  it("the command prints JSON with every row and names where the sound rules are still bad", async () => {
    const { out } = await attacks("--json", "--trials", "5");
    const report = JSON.parse(out) as { scripted: object[]; monteCarlo: object[]; limits: string[]; trials: number };
    assert.equal(report.trials, 5);
    assert.equal(report.scripted.length, 4);
    assert.equal(report.monteCarlo.length, 6);
    assertIncludes(report.limits.join(" "), "fooled");
  });

  for (const args of [["--trials", "0"], ["--trials", "1e3"], ["--seed", "-1"], ["--unknown"]])
    it(`refuses ${args.join(" ")} with exit code 2`, async () => {
      const { code, err } = await attacks(...args);
      assert.equal(code, 2);
      assertExcludes(err, "    at ");
    });
});
