import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { audit } from "../scenario/audit.ts";
import { LEAST_OPERATORS, accountsFor, openEconomy, type Economy } from "../scenario/economy.ts";
import { ALL_FATES } from "../scenario/play.ts";
import { playScenario, type Played } from "../scenario/scenario.ts";
import { startProductionChain } from "../shared/production-chain.ts";
import { createRandom } from "../../sim/random.ts";
import { assertIncludes } from "../../test/support/assertions.ts";

describe("scenario: a life of the fewest operators", () => {
  let economy: Economy;
  let played: Played;
  before(async () => {
    const random = createRandom(1, "scenario");
    const ethers = await startProductionChain(accountsFor(LEAST_OPERATORS));
    economy = await openEconomy(ethers, LEAST_OPERATORS, random.fork("economy"));
    played = await playScenario(economy, ALL_FATES.length, random.fork("life"), () => {});
  });

  it("has each fate, and each event", () => {
    assert.deepEqual(played.fates, Object.fromEntries(ALL_FATES.map((fate) => [fate, 1])));
    const missing = Object.entries(played.events).filter(([, count]) => count === 0);
    assert.deepEqual(missing, []);
  });

  it("accounts for every unit, and names one that nobody owns", async () => {
    assert.deepEqual((await audit(economy)).faults, []);
    const { token, registry } = economy.world;
    await token.transfer(registry.target, 1n);
    assertIncludes((await audit(economy)).faults.join("; "), "the registry's tokens");
  });
});
