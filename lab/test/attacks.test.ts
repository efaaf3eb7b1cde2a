import { expect } from "chai";
import { execFileSync, spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, it } from "node:test";
import { runMonteCarlo, statedRows, wilson } from "../attacks/monte-carlo.ts";
import { drawAt } from "../attacks/random.ts";
import { playReference } from "../attacks/reference.ts";
import { scriptedAttacks } from "../attacks/scripted.ts";
import { playSound } from "../attacks/sound.ts";
import { faultlessTrial, trialOf, type Role, type Setting } from "../attacks/trial.ts";

const root = join(import.meta.dirname, "../..");
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
  it("M22: two coordinated vetoers of seven stall the reference for good; sound decides at once and slashes them", () => {
    const { reference, sound } = attack("coordinated-vetoers");
    expect(reference).to.include({ value: null, rounds: 100 });
    expect(Math.max(...reference.reputations.slice(2))).to.be.below(1e-3);
    // Before honest reputation is gone the stealth vetoer never led, so it kept its veto.
    expect(playReference(faultlessTrial(["sacrificial", "stealth", ...honest(5)]), 8).finalReputation["a1"]).to.equal(
      1,
    );
    expect(sound).to.include({ value: "yes", rounds: 1 });
    expect(sound.reputations).to.deep.equal([0.8, 0.8, 1, 1, 1, 1, 1]);
  });

  it("M23: who accuses and then proposes the truth leads the reference for ever; sound slashes it every time", () => {
    const { reference, sound } = attack("reputation-capture");
    expect(reference.reputations).to.deep.equal([0.5, 0.5, 0.5, 1]);
    expect(sound.value).to.equal("yes");
    expect(sound.reputations.slice(0, 3)).to.deep.equal([1, 1, 1]);
    expect(sound.reputations[3]).to.be.closeTo(0.8 ** 7, 1e-4);
  });

  it("one honest but wrong low-tier seat costs the reference two leaders, sound nothing", () => {
    const { reference, sound } = attack("honest-veto");
    expect(reference).to.include({ value: "yes", rounds: 3 });
    expect(reference.reputations.filter((rho) => rho < 1).length).to.equal(2);
    expect(sound).to.include({ value: "yes", rounds: 1 });
  });

  it("M29: one liar that claims certainty beats nine in the Bayesian reference, and not in sound mode", () => {
    const { reference, sound } = attack("certain-liar");
    expect(reference.value).to.equal("no");
    expect(sound.value).to.equal("yes");
  });

  it("without attackers both sides decide rightly at once", () => {
    const roles: readonly Role[] = ["honest", "honest", "honest", "honest"];
    expect(playReference(faultlessTrial(roles))).to.include({ value: "yes", rounds: 1 });
    expect(playSound(faultlessTrial(roles)).high).to.include({ value: "yes", single: "yes", rounds: 1 });
  });

  it("both sides see the same draws: the right holders of a trial are the same", () => {
    for (let seed = 0; seed < 50; seed++) {
      const trial = trialOf(liars, seed);
      const { history } = playReference(trial);
      // The first leader is a liar; who accepts it in the reference is who holds its answer, or is fooled.
      const accepting = history[0]?.votes.filter(([, weight]) => weight > 0).map(([voter]) => Number(voter.slice(1)));
      const expected = [1, 2, 3, 4, 5, 6].filter(
        (seat) => trial.answer(seat, 0) === "no" || trial.verdict(seat, "no", 0) === "for",
      );
      expect(accepting).to.deep.equal(expected);
    }
  });

  it("a Monte Carlo is a function of its seed, and its shares add up", () => {
    const { row } = statedRows[0]!;
    const run = (seed: number) => runMonteCarlo(row, { trials: 40, seed });
    expect(run(1)).to.deep.equal(run(1));
    expect(run(1)).to.not.deep.equal(run(2));
    for (const { right, wrong, hung } of Object.values(run(1).shares))
      expect(right.share + wrong.share + hung.share).to.be.closeTo(1, 1e-9);
  });

  it("sound beats the reference in every row of the design notes' table with n = 7, within the noise of 200 trials", () => {
    for (const { row, stated } of statedRows.filter((one) => one.row.seats === 7)) {
      const { shares } = runMonteCarlo(row, { trials: 200, seed: 7, stated });
      expect(shares.normal.right.low).to.be.above(shares.reference.right.share);
      // One round at normal assurance, as in the notes: first figure of "right wrong hung".
      const noted = Number(stated.normal.split(" ")[0]);
      expect(shares["normal, one round"].right.low - 0.05).to.be.below(noted);
      expect(shares["normal, one round"].right.high + 0.05).to.be.above(noted);
    }
  });

  it("Wilson's interval, by known values", () => {
    const interval = wilson(8, 10);
    expect(interval.low).to.be.closeTo(0.4902, 1e-4);
    expect(interval.high).to.be.closeTo(0.9433, 1e-4);
    expect(wilson(0, 100)).to.include({ share: 0, low: 0 });
  });

  it("draws are uniform, and one place tells nothing about the next", () => {
    const draws = Array.from({ length: 20_000 }, (_, index) => drawAt(3, index % 7, index));
    const mean = draws.reduce((sum, draw) => sum + draw, 0) / draws.length;
    const product = draws.reduce((sum, draw, index) => sum + draw * (draws[index + 1] ?? draws[0]!), 0) / draws.length;
    expect(mean).to.be.closeTo(0.5, 0.01);
    expect(product).to.be.closeTo(0.25, 0.01);
    expect(Math.min(...draws)).to.be.at.least(0);
    expect(Math.max(...draws)).to.be.below(1);
  });

  it("the command prints JSON with every row and says where sound is still bad", () => {
    const output = execFileSync(process.execPath, ["lab/attacks/main.ts", "--json", "--trials", "5"], {
      cwd: root,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
    const report = JSON.parse(output) as { scripted: object[]; monteCarlo: object[]; limits: string[]; trials: number };
    expect(report.trials).to.equal(5);
    expect(report.scripted.length).to.equal(4);
    expect(report.monteCarlo.length).to.equal(6);
    expect(report.limits.join(" ")).to.contain("fooled");
  });

  for (const args of [["--trials", "0"], ["--trials", "1e3"], ["--seed", "-1"], ["--unknown"]])
    it(`refuses ${args.join(" ")} with exit code 2`, () => {
      const run = spawnSync(process.execPath, ["lab/attacks/main.ts", ...args], { cwd: root, encoding: "utf8" });
      expect(run.status).to.equal(2);
      expect(run.stderr).to.not.contain("    at ");
    });
});
