import { expect } from "chai";
import { toUtf8Bytes } from "ethers";
import hre from "hardhat";

import { ask, termsFor } from "../support/contracts/course.ts";
import { Currency, packTerms } from "../support/contracts/typed-data.ts";
import { deployWorld, registerAgents, freeTokens, subscription } from "../support/contracts/world.ts";

const { ethers, networkHelpers } = await hre.network.create();
const { loadFixture, time } = networkHelpers;

const adminRole = 0n;
const delay = 48 * 3600;
const dearer = { ...freeTokens, unitPrice: 10n ** 15n };

/** Hands the access manager over as `npm run deploy -- --admin` does. */
async function governed() {
  const world = await deployWorld(ethers);
  await registerAgents(world, 6);
  const [deployer, admin, stranger] = await ethers.getSigners();
  await world.manager.grantRole(adminRole, admin!.address, delay);
  await world.manager.renounceRole(adminRole, deployer!.address);
  const manager = world.manager.connect(admin!);
  const raise = world.oracle.interface.encodeFunctionData("setPrices", [Currency.Token, dearer]);
  return { world, oracle: world.oracle, manager, admin: admin!, stranger: stranger!, raise };
}

describe("governance", () => {
  it("sets prices only after its delay, and then only for later requests", async () => {
    const { world, oracle, manager, admin, raise } = await loadFixture(governed);
    const terms = termsFor({ fee: 10n ** 18n });
    const cheap = packTerms({ ...terms, fee: 0n });
    const { id } = (await ask(world, terms)).request;
    await expect(oracle.connect(admin).setPrices(Currency.Token, dearer)).to.be.revertedWithCustomError(
      manager,
      "AccessManagerNotScheduled",
    );
    await manager.schedule(oracle.target, raise, 0);
    await time.increase(delay - 10);
    await expect(manager.execute(oracle.target, raise)).to.be.revertedWithCustomError(manager, "AccessManagerNotReady");
    await oracle.request(subscription, cheap, toUtf8Bytes("Is it?"));
    await time.increase(10);
    await manager.execute(oracle.target, raise);
    await expect(oracle.request(subscription, cheap, toUtf8Bytes("Is it?"))).to.be.revertedWithCustomError(
      oracle,
      "FeeTooLow",
    );
    expect((await oracle.priceListOf(Currency.Token, id >> 96n)) >> 160n).to.equal(0n, "the earlier request's list");
  });

  it("by other accounts sets nothing, schedules nothing and grants nothing", async () => {
    const { world, oracle, manager, stranger, raise } = await loadFixture(governed);
    const [deployer] = await ethers.getSigners();
    for (const nobody of [stranger, deployer!]) {
      await expect(oracle.connect(nobody).setPrices(Currency.Token, dearer)).to.be.revertedWithCustomError(
        oracle,
        "AccessManagedUnauthorized",
      );
      const asNobody = world.manager.connect(nobody);
      await expect(asNobody.schedule(oracle.target, raise, 0)).to.be.revertedWithCustomError(
        manager,
        "AccessManagerUnauthorizedCall",
      );
      await expect(asNobody.grantRole(adminRole, nobody.address, 0)).to.be.revertedWithCustomError(
        manager,
        "AccessManagerUnauthorizedAccount",
      );
    }
  });

  it("controls only the oracle", async () => {
    const { world } = await loadFixture(governed);
    for (const { interface: functions } of [world.registry, world.settlement, world.slasher])
      expect(functions.getFunction("authority")).to.equal(null);
    expect(world.oracle.interface.getFunction("authority")).not.to.equal(null);
  });
});
