import { expect } from "chai";
import hre from "hardhat";

import {
  appeal,
  ask,
  bondOf,
  decide,
  draw,
  fallBackArgs,
  hung,
  latestOf,
  no,
  passDeadline,
  recordOf,
  replace,
  termsFor,
  type Asked,
  type Committed,
} from "../../scripts/lib/course.ts";
import { Currency, Status, packTerms } from "../../scripts/lib/typed-data.ts";
import {
  deployWorld,
  freeTokens,
  registerAgents,
  subscription,
  subscriptionFunds,
  type PriceTerms,
} from "../../scripts/lib/world.ts";

const { ethers, networkHelpers } = await hre.network.create();
const { loadFixture } = networkHelpers;

const gwei = 10n ** 9n;

/** 24 agents, asked for from the deployer's subscription; Mallory plays against them, Alice appeals. */
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
  /** What the agents have earned. */
  const earned = (): Promise<bigint> => oracle.creditOf(registry.target, Currency.Token) as Promise<bigint>;
  /** What the asker has paid so far. */
  const spent = async (): Promise<bigint> =>
    subscriptionFunds - ((await oracle.subscriptionOf(subscription)).tokenBalance as bigint);
  const appealed = (committed: Committed, by = alice!): Promise<Asked> => appeal(world, committed, oracle.connect(by));
  const settle = (committed: Committed): Promise<unknown> => world.settlement.settle(...recordOf(committed));
  const charge = (prices: Partial<PriceTerms>): Promise<unknown> =>
    oracle.setPrices(Currency.Token, { ...freeTokens, ...prices });
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
  };
}

describe("nobody gains", () => {
  it("SE12: by asking and having the committee of an appeal hang: the asker pays for the first committee", async () => {
    const { world, alice, creditOf, earned, spent, appealed, settle } = await loadFixture(playground);
    // A unit is 1: the committees can come to 2 (4 + 9).
    const first = await decide(world, await ask(world, { fee: 26n, appeals: 1 }));
    expect(await bondOf(world, first)).to.equal(18n);
    await settle(await decide(world, await appealed(first), hung));
    expect(await spent()).to.equal(8n);
    expect(await creditOf(alice)).to.equal(9n);
    expect(await earned()).to.equal(8n + 9n);
  });

  it("SE12: at the asker's cost by a wrong appeal, also when its committee hangs and is retried", async () => {
    const { world, alice, creditOf, spent, appealed, settle } = await loadFixture(playground);
    const first = await decide(world, await ask(world, { fee: 35n, appeals: 1, retries: 1 }));
    expect(await bondOf(world, first)).to.equal(27n);
    const { reopened } = await decide(world, await appealed(first), hung);
    await settle(await decide(world, reopened!));
    expect(await spent()).to.equal(8n);
    expect(await creditOf(alice)).to.equal(0n);
  });

  it("SE12: by being wrong and appealing against oneself: half of the pay is lost", async () => {
    const { world, mallory, creditOf, appealed, settle, charge } = await loadFixture(playground);
    await charge({ treasuryPpm: 200_000n });
    const first = await decide(world, await ask(world, { fee: 2_600n, appeals: 1 }));
    const bond = await bondOf(world, first);
    await settle(await decide(world, await appealed(first, mallory), no));
    // The four seats earn 640 of 800 if they are right: the treasury has its fifth either way.
    expect(await creditOf(mallory)).to.equal(bond + 320n);
  });

  it("SE13: by relaying a provisional decision: the callback that it does not make is not paid", async () => {
    const { world, oracle, mallory, creditOf, earned, settle, charge } = await loadFixture(playground);
    await charge({ unitPrice: 10n ** 14n, gasRate: 10n ** 18n, gasPriceCap: gwei });
    const terms = termsFor({ appeals: 3, callbackGasLimit: 400_000 });
    const fee = (await oracle.quote(packTerms(terms))) as bigint;
    const relaying = { ...world, oracle: oracle.connect(mallory) };
    const committed = await decide(relaying, await ask(world, { ...terms, fee }), {}, { gasPrice: gwei });
    await passDeadline(world, committed.rounds[0]!.round);
    await oracle.finalize(...latestOf(committed));
    await settle(committed);
    // 142 units: two for each of 4, 9, 19 and 39 seats.
    const pay = 8n * (fee / 142n);
    const relayed = (42_000n + 3n * 4_900n) * gwei;
    expect(await creditOf(mallory)).to.equal(relayed);
    expect(await earned()).to.equal(((pay - relayed) / 4n) * 4n);
    // Of the list price.
    expect(((pay - relayed) * 1000n) / (8n * 10n ** 14n)).to.equal(986n);
  });

  it("SE11: by slashing who was right: the changes of an overturned decision are never applied", async () => {
    const { world, alice, creditOf, appealed, settle } = await loadFixture(playground);
    const first = await decide(world, await ask(world, { fee: 26n, appeals: 1 }), { reputationChanges: "0x03fd" });
    const second = await decide(world, await appealed(first), { ...no, reputationChanges: "0x08ff" });
    await settle(second);
    expect(await creditOf(alice)).to.equal(18n + 4n);
    const reputations = second.rounds.map(async ({ committee }) => {
      const { reputation } = await world.registry.getAgent(BigInt(committee.at(-1)!) >> 192n);
      return reputation as bigint;
    });
    expect(await Promise.all(reputations)).to.deep.equal([1_000_000n, 800_000n]);
  });

  it("SE8: by appealing against a wrong decision and silencing the committee: another one is called", async () => {
    const { world, oracle, mallory, creditOf, appealed, settle } = await loadFixture(playground);
    const first = await decide(world, await ask(world, { fee: 53n, appeals: 1, retries: 3 }));
    const silent = await draw(world, await appealed(first, mallory));
    await passDeadline(world, silent.round);
    await expect(oracle.fallBack(...fallBackArgs(silent))).to.be.revertedWithCustomError(oracle, "RetriesLeft");
    const last = await decide(world, await replace(world, silent), no);
    expect((await oracle.statusOf(first.request.id)).status).to.equal(Status.Decided);
    await settle(last);
    // The appeal that was meant to protect the decision has overturned it.
    expect(last.rounds.at(-1)!.decision.outcome).to.equal(no.outcome);
    expect(await creditOf(mallory)).to.equal(45n + 4n);
  });
});
