import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LOSS_BOUND } from "../attacks/coalition-report.ts";
import { playCoalition, STRATEGIES, type CoalitionResult, type Strategy } from "../attacks/coalitions.ts";

const play = (strategy: Strategy): CoalitionResult =>
  playCoalition({ strategy, share: 0.3, seats: 7, assurance: "normal", weeks: 6, requests: 20, seed: 1 });

describe("coalitions", () => {
  const results = Object.fromEntries(STRATEGIES.map((strategy) => [strategy, play(strategy)])) as Readonly<
    Record<Strategy, CoalitionResult>
  >;

  it("the same plan gives the same figures", () => {
    assert.deepEqual(play("farms"), results.farms);
  });

  it("a coalition that farms has skill, and one that always lies has none", () => {
    assert.ok(results.farms.skills.coalition > 2.8 && results.farms.farmed > 0);
    assert.ok(results.lies.skills.coalition < results.lies.skills.honest);
    assert.equal(results.lies.farmed, 0);
  });

  it("a coalition that lies after the first round alone does less harm, and keeps the skill of honest agents", () => {
    assert.ok(results.turns.counting > results.lies.counting);
    assert.ok(results.turns.skills.coalition >= results.turns.skills.honest);
  });

  it("a flood takes more requests than a farm, and honest agents lose more skill by it", () => {
    assert.ok(results.floods.farmed > results.farms.farmed);
    assert.ok(results.floods.skills.honest < results.farms.skills.honest);
  });

  it("skill costs no more than the stated bound in these plays, and gains against plain liars", () => {
    for (const { gain } of Object.values(results)) assert.ok(gain.mean >= -LOSS_BOUND);
    assert.ok(results.lies.gain.mean >= 0);
  });
});
