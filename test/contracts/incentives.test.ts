import { expect } from "chai";
import { concat, toBeHex } from "ethers";
import hre from "hardhat";

import {
  appeal,
  ask,
  bondOf,
  commit,
  commitArgs,
  committedBy,
  decide,
  decisionFor,
  draw,
  fallBackArgs,
  hung,
  latestOf,
  no,
  passDeadline,
  priceGas,
  recordOf,
  replace,
  termsFor,
  unanswerable,
  type Asked,
  type Committed,
} from "../support/contracts/course.ts";
import { agentOf, Currency, packTerms, Status, type Terms } from "../support/contracts/typed-data.ts";
import {
  anyAmount,
  deployWorld,
  freeTokens,
  registerAgents,
  subscription,
  subscriptionFunds,
  type PriceTerms,
} from "../support/contracts/world.ts";
import { payGasOf, relayGasOf } from "./utils/money.ts";

const { ethers, networkHelpers } = await hre.network.create();
const { loadFixture } = networkHelpers;

const gwei = 10n ** 9n;
/** Modes of test/support/contracts/HostileConsumer.sol. */
const HostileMode = { BurnGas: 2 } as const;

/** Makes 24 agents. The deployer's subscription pays for requests, Mallory is the attacker, and Alice appeals. */
async function playground() {
  const world = await deployWorld(ethers);
  const { oracle, token, registry } = world;
  const [, operator, mallory, alice] = await ethers.getSigners();
  await token.mint(operator!.address, 10n ** 24n);
  await token.connect(operator!).approve(registry.target, 10n ** 24n);
  await registerAgents(world, 24, { operator: operator! });
  for (const account of [mallory!, alice!]) {
    await token.mint(account.address, 10n ** 24n);
    await token.connect(account).approve(oracle.target, 10n ** 24n);
  }
  const creditOf = ({ address }: { readonly address: string }): Promise<bigint> =>
    oracle.creditOf(address, Currency.Token) as Promise<bigint>;
  /** Returns what the agents have earned. */
  const earned = (): Promise<bigint> => oracle.creditOf(registry.target, Currency.Token) as Promise<bigint>;
  /** Returns what the asker has paid so far. */
  const spent = async (): Promise<bigint> =>
    subscriptionFunds - ((await oracle.subscriptionOf(subscription)).tokenBalance as bigint);
  const appealed = (committed: Committed, by = alice!): Promise<Asked> => appeal(world, committed, oracle.connect(by));
  /** Settles from an account of its own unless the commit has. */
  const settle = async (committed: Committed): Promise<unknown> => {
    if ((await oracle.statusOf(committed.request.id)).settled === true) return undefined;
    const [, , , , settler] = await ethers.getSigners();
    return world.settlement.connect(settler!).settle(...recordOf(committed));
  };
  const charge = (prices: Partial<PriceTerms>): Promise<unknown> =>
    oracle.setPrices(Currency.Token, { ...freeTokens, ...prices });
  /** Asks through a consumer that burns the gas of its callback. */
  const burning = async (overrides: Partial<Terms>): Promise<Asked> => {
    const consumer = await ethers.deployContract("HostileConsumer", [oracle.target]);
    await oracle.setConsumer(subscription, consumer.target, anyAmount, anyAmount);
    await consumer.getFunction("setMode").send(HostileMode.BurnGas);
    const terms = termsFor(overrides);
    return ask(world, {}, undefined, (_, question) => consumer.getFunction("ask").send(subscription, terms, question));
  };
  return {
    world,
    oracle,
    mallory: mallory!,
    alice: alice!,
    creditOf,
    earned,
    spent,
    appealed,
    settle,
    charge,
    burning,
  };
}

describe("nobody gains", () => {
  it("SE12: by making the committee of an appeal hang: the asker still pays for the first committee", async () => {
    const { world, alice, creditOf, earned, spent, appealed, settle } = await loadFixture(playground);
    // A unit costs 1: the committees can earn at most 2 (4 + 9).
    const first = await decide(world, await ask(world, { fee: 26n, appeals: 1 }));
    expect(await bondOf(world, first)).to.equal(18n);
    await settle(await decide(world, await appealed(first), hung));
    expect(await spent()).to.equal(8n);
    expect(await creditOf(alice)).to.equal(9n);
    expect(await earned()).to.equal(8n + 9n);
  });

  it("SE12: by letting the committee of an appeal read nothing: the asker still pays for the first committee", async () => {
    const { world, alice, creditOf, earned, spent, appealed, settle } = await loadFixture(playground);
    const first = await decide(world, await ask(world, { fee: 26n, appeals: 1 }));
    await settle(await decide(world, await appealed(first), { ...unanswerable, shares: `0x${"01".repeat(9)}` }));
    expect(await spent()).to.equal(8n);
    expect(await creditOf(alice)).to.equal(0n);
    expect(await earned()).to.equal(8n + 18n);
  });

  it("SE12: by letting a wrong appeal pay for what came back: the pay of a called committee that is overturned itself", async () => {
    const { world, mallory, alice, creditOf, spent, appealed, settle } = await loadFixture(playground);
    const [, operator] = await ethers.getSigners();
    await registerAgents(world, 12, { operator: operator! });
    // A unit costs 1: 2 (4 + 9 + 19).
    const first = await decide(world, await ask(world, { fee: 64n, appeals: 2 }));
    const second = await decide(world, await appealed(first), no);
    await settle(await decide(world, await appealed(second, mallory), { shares: `0x${"00".repeat(19)}` }));
    // Nobody earned in the third committee. The second has cost the asker the nine of its 18 that Mallory got.
    expect(await spent()).to.equal(8n);
    expect(await creditOf(alice)).to.equal(18n - 9n);
    expect(await creditOf(mallory)).to.equal(38n + 9n);
  });

  it("SE12: by a wrong appeal at the asker's cost, even if its committee hangs and is retried", async () => {
    const { world, alice, creditOf, spent, appealed, settle } = await loadFixture(playground);
    const first = await decide(world, await ask(world, { fee: 35n, appeals: 1, retries: 1 }));
    expect(await bondOf(world, first)).to.equal(27n);
    const { reopened } = await decide(world, await appealed(first), hung);
    await settle(await decide(world, reopened!));
    expect(await spent()).to.equal(8n);
    expect(await creditOf(alice)).to.equal(0n);
  });

  it("SE5, SE12: by a wrong appeal against a dear decision: the bond pays all that its committee earns", async () => {
    const { world, alice, creditOf, earned, spent, appealed, settle, charge } = await loadFixture(playground);
    await charge({ unitPrice: 10n });
    // A unit costs 100 before the appeal, and 20, twice the list price, after it.
    const first = await decide(world, await ask(world, { fee: 2_600n, appeals: 1 }));
    expect(await bondOf(world, first)).to.equal(360n);
    await settle(await decide(world, await appealed(first)));
    expect(await creditOf(alice)).to.equal(0n);
    expect(await earned()).to.equal(800n + 360n);
    // The asker pays for the first committee alone.
    expect(await spent()).to.equal(800n);
  });

  it("SE5, SE12: by being dear: who is right wins more by an appeal, and risks no more", async () => {
    const { world, alice, creditOf, earned, spent, appealed, settle, charge } = await loadFixture(playground);
    await charge({ unitPrice: 10n });
    const first = await decide(world, await ask(world, { fee: 2_600n, appeals: 1 }));
    await settle(await decide(world, await appealed(first), no));
    // Half of the 800 that the overturned seats lose.
    expect(await creditOf(alice)).to.equal(360n + 400n);
    expect(await earned()).to.equal(360n);
    expect(await spent()).to.equal(400n + 360n);
  });

  it("SE12: by deciding wrongly and appealing against it: half of the pay is lost", async () => {
    const { world, mallory, creditOf, appealed, settle, charge } = await loadFixture(playground);
    await charge({ treasuryPpm: 200_000n });
    const first = await decide(world, await ask(world, { fee: 2_600n, appeals: 1 }));
    const bond = await bondOf(world, first);
    await settle(await decide(world, await appealed(first, mallory), no));
    // The four seats earn 640 of 800 if they are right. The treasury gets its fifth in both cases.
    expect(await creditOf(mallory)).to.equal(bond + 320n);
  });

  it("SE13: by relaying a provisional decision: nobody is paid for a callback that is not made", async () => {
    const { world, oracle, mallory, creditOf, earned, settle, charge } = await loadFixture(playground);
    await charge({ unitPrice: 10n ** 14n, gasRate: 10n ** 18n, gasPriceCap: gwei });
    const terms = termsFor({ appeals: 1, callbackGasLimit: 400_000 });
    const fee = (await oracle.quote(packTerms(terms))) as bigint;
    const relaying = { ...world, oracle: oracle.connect(mallory) };
    const committed = await decide(relaying, await ask(world, { ...terms, fee }), {}, { gasPrice: gwei });
    await passDeadline(world, committed.rounds[0]!.round);
    await oracle.finalize(...latestOf(committed), { gasLimit: 1_000_000n });
    await settle(committed);
    expect(await creditOf(mallory)).to.equal(relayGasOf(4) * gwei);
    // Each seat earns two units at exactly the list price.
    expect(await earned()).to.equal(8n * 10n ** 14n);
  });

  it("SE13: by a needless gas limit or a callback that burns gas: the seats earn the same, the asker pays", async () => {
    const { world, oracle, alice, creditOf, earned, spent, settle, charge, burning } = await loadFixture(playground);
    await charge({ unitPrice: 357_142_857_142_857n, gasRate: 10n ** 18n, gasPriceCap: 20n * gwei });
    const relaying = { ...world, oracle: oracle.connect(alice) };
    const paid: bigint[] = [];
    for (const callbackGasLimit of [0, 140_000, 2_000_000]) {
      const asking = { committeeSize: 7, retries: 3, callbackGasLimit };
      const fee = (await oracle.quote(packTerms(termsFor(asking)))) as bigint;
      const before = { seats: await earned(), relayer: await creditOf(alice), asker: await spent() };
      const asked = await burning({ ...asking, fee });
      const committed = await decide(relaying, asked, {}, { gasPrice: 20n * gwei, gasLimit: 4_000_000n });
      await settle(committed);
      const relayed = (relayGasOf(7) + payGasOf(7) + BigInt(callbackGasLimit)) * 20n * gwei;
      expect((await creditOf(alice)) - before.relayer).to.equal(relayed);
      paid.push((await earned()) - before.seats);
      expect((await spent()) - before.asker).to.equal(relayed + paid.at(-1)!);
    }
    expect(new Set(paid).size).to.equal(1);
  });

  it("SE13: by a callback that burns the gas of the keepers: the account that finalizes is paid for it", async () => {
    const { world, oracle, mallory, creditOf, earned, spent, settle, charge, burning } = await loadFixture(playground);
    const gasPriceCap = 20n * gwei;
    await charge({ unitPrice: 10n ** 14n, gasRate: 10n ** 18n, gasPriceCap });
    const asking = { appeals: 1, callbackGasLimit: 2_000_000 };
    for (const gasPrice of [5n * gwei, gasPriceCap, 50n * gwei]) {
      const fee = (await oracle.quote(packTerms(termsFor(asking)))) as bigint;
      const asked = await burning({ ...asking, fee });
      const committed = await decide(world, asked, {}, { gasPrice: 5n * gwei });
      await passDeadline(world, committed.rounds[0]!.round);
      const [credit, asker] = [await creditOf(mallory), await spent()];
      const priced = await priceGas(world, gasPrice);
      const sent = await oracle.connect(mallory).finalize(...latestOf(committed), priced);
      const { gasUsed } = (await sent.wait())!;
      const paidPrice = gasPrice < gasPriceCap ? gasPrice : gasPriceCap;
      const pay = (await creditOf(mallory)) - credit;
      expect(pay).to.equal(2_083_000n * paidPrice);
      // The pay does not include the storage slot of the first credit.
      expect(pay).to.be.at.least((gasUsed - (credit === 0n ? 17_100n : 0n)) * paidPrice);
      // The asker gets the rest of the reserve back, which holds the gas of a fall back.
      expect(asker - (await spent())).to.equal(2_111_000n * gasPriceCap - pay);
      await settle(committed);
      expect((await creditOf(mallory)) - credit).to.equal(pay);
    }
    expect(await earned()).to.equal(3n * 8n * 10n ** 14n);
  });

  it("SE13: by bidding the cap when the base fee is lower: the oracle pays at most a bounded tip above it", async () => {
    const { world, oracle, mallory, creditOf, settle, charge } = await loadFixture(playground);
    await charge({ unitPrice: 10n ** 14n, gasRate: 10n ** 18n, gasPriceCap: 50n * gwei });
    const terms = termsFor({ appeals: 1, callbackGasLimit: 100_000 });
    const fee = (await oracle.quote(packTerms(terms))) as bigint;
    const drawn = await draw(world, await ask(world, { ...terms, fee }));
    const bidding = { ...world, oracle: oracle.connect(mallory) };
    await priceGas(world, 3n * gwei);
    const args = commitArgs(world, drawn, decisionFor(drawn));
    const sent = await bidding.oracle.commit(...args, { gasPrice: 50n * gwei });
    const committed = committedBy(world, drawn, decisionFor(drawn), await sent.wait());
    await passDeadline(world, committed.rounds[0]!.round);
    await priceGas(world, 2n * gwei);
    await oracle.connect(mallory).finalize(...latestOf(committed), { gasPrice: 50n * gwei, gasLimit: 1_000_000n });
    expect(await creditOf(mallory)).to.equal(183_000n * 3n * gwei);
    await settle(committed);
    expect((await creditOf(mallory)) - 183_000n * 3n * gwei).to.equal(relayGasOf(4) * 4n * gwei);
  });

  it("SE12, SE13: by a wrong appeal at the asker's cost: its bond also pays the relayers of the committees that it called", async () => {
    const { world, alice, creditOf, spent, appealed, settle, charge } = await loadFixture(playground);
    await charge({ unitPrice: 10n ** 12n, gasRate: 10n ** 18n, gasPriceCap: 20n * gwei });
    const asking = { appeals: 1, retries: 1 };
    const fee = (await world.oracle.quote(packTerms(termsFor(asking)))) as bigint;
    const first = await decide(world, await ask(world, { ...asking, fee }), {}, { gasPrice: 20n * gwei });
    const bond = await bondOf(world, first);
    expect(bond).to.equal(27n * 10n ** 12n + (relayGasOf(9, 4) + relayGasOf(9, 13)) * 20n * gwei);
    const { reopened } = await decide(world, await appealed(first), hung, { gasPrice: 20n * gwei });
    const last = await decide(world, reopened!, {}, { gasPrice: 20n * gwei });
    const before = await spent();
    await settle(last);
    expect(await spent()).to.be.below(before);
    // The asker pays the first committee, its relayer and whoever settles. The last commit delivered its decision, which
    // was final at once.
    const [, , , , settler] = await ethers.getSigners();
    const settling = await creditOf(settler!);
    expect(settling).to.be.above(0n);
    expect(await spent()).to.equal(8n * 10n ** 12n + relayGasOf(4) * 20n * gwei + settling);
    expect(await creditOf(alice)).to.equal(0n);
  });

  it("SE11, RE4: by asking until its own agents fill a committee: small ones slash an agent once a week", async () => {
    const { world, settle } = await loadFixture(playground);
    const reputations = async (): Promise<readonly bigint[]> =>
      Promise.all(
        Array.from({ length: 24 }, async (_, index) => (await world.registry.getAgent(index + 1)).reputation as bigint),
      );
    const slashAll = async (committeeSize: number): Promise<void> => {
      const drawn = await draw(world, await ask(world, { committeeSize }));
      const reputationChanges = concat(drawn.committee.map((_, seat) => toBeHex((seat << 8) | 0xfd, 2)));
      await settle(await commit(world, drawn, decisionFor(drawn, { reputationChanges })));
    };
    const week = 7n * 86_400n;
    await networkHelpers.time.increaseTo((BigInt(await networkHelpers.time.latest()) / week + 1n) * week);
    for (let request = 0; request < 30; request++) await slashAll(request % 2 === 0 ? 4 : 12);
    expect(new Set(await reputations())).to.deep.equal(new Set([800_000n]));
    await slashAll(13);
    expect((await reputations()).filter((reputation) => reputation === 512_000n)).to.have.length(13);
    expect((await reputations()).filter((reputation) => reputation === 800_000n)).to.have.length(11);
  });

  it("SE11: by slashing the agents that were right: the changes of an overturned decision never apply", async () => {
    const { world, alice, creditOf, appealed, settle } = await loadFixture(playground);
    const first = await decide(world, await ask(world, { fee: 26n, appeals: 1 }), { reputationChanges: "0x03fd" });
    const second = await decide(world, await appealed(first), { ...no, reputationChanges: "0x08ff" });
    await settle(second);
    expect(await creditOf(alice)).to.equal(18n + 4n);
    const reputations = second.rounds.map(async ({ committee }) => {
      const { reputation } = await world.registry.getAgent(agentOf(committee.at(-1)!));
      return reputation as bigint;
    });
    expect(await Promise.all(reputations)).to.deep.equal([1_000_000n, 800_000n]);
  });

  it("SE8: by silencing the committee of an appeal against a wrong decision: another one is called", async () => {
    const { world, oracle, mallory, creditOf, appealed, settle } = await loadFixture(playground);
    const first = await decide(world, await ask(world, { fee: 53n, appeals: 1, retries: 3 }));
    const silent = await draw(world, await appealed(first, mallory));
    await passDeadline(world, silent.round);
    await expect(oracle.fallBack(...fallBackArgs(silent))).to.be.revertedWithCustomError(oracle, "RetriesLeft");
    const last = await decide(world, await replace(world, silent), no);
    expect((await oracle.statusOf(first.request.id)).status).to.equal(Status.Decided);
    await settle(last);
    // The appeal was meant to protect the decision, and overturned it.
    expect(last.rounds.at(-1)!.decision.outcome).to.equal(no.outcome);
    expect(await creditOf(mallory)).to.equal(45n + 4n);
  });
});
