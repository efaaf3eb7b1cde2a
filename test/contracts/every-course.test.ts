import { expect } from "chai";
import { concat } from "ethers";
import hre from "hardhat";

import {
  appeal,
  ask,
  bondOf,
  decide,
  fallBackArgs,
  givenUp,
  hung,
  latestOf,
  no,
  packDecided,
  passDeadline,
  termsFor,
  unanswerable,
  type Asked,
  type Committed,
} from "../support/contracts/course.ts";
import { Currency, unpackRound, type Terms } from "../support/contracts/typed-data.ts";
import {
  deployWorld,
  findEvents,
  freeTokens,
  registerAgents,
  subscription,
  treasury,
} from "../support/contracts/world.ts";
import { mostUnits } from "./utils/money.ts";

const { ethers } = await hre.network.create();

/** Z could read nothing: all seats earn alike. */
const answers = { A: {}, B: no, H: hung, Z: unanswerable } as const;
type Answer = keyof typeof answers;

interface Played {
  readonly answer: Answer;
  readonly seats: bigint;
  /** Appeals before the round, also those that the oracle made itself (SE24). */
  readonly level: number;
  /** 0 where nobody appealed. */
  readonly bond: bigint;
}

const price = 1_000_003n;
const treasuryPpm = 100_003n;
const [unit, appealUnit] = [3n * price, 2n * price];
const sum = (amounts: readonly bigint[]): bigint => amounts.reduce((all, one) => all + one, 0n);
const payOf = ({ answer, seats, level }: Played): bigint =>
  (answer === "H" ? 1n : 2n) * seats * (level === 0 ? unit : appealUnit);
const treasuryPartOf = (one: Played): bigint => (payOf(one) * treasuryPpm) / 1_000_000n;

const rewardFor = (one: Played): bigint => (payOf(one) - treasuryPartOf(one)) / 2n;
/** What a called committee costs the asker: where its seats lose their pay, the asker has the rest back. */
const costOf = (called: Played, isOverturned: boolean): bigint =>
  isOverturned ? treasuryPartOf(called) + rewardFor(called) : payOf(called);

/** Who owns what after a course, from SE10 to SE14 alone. Gas is free. */
function reckon(fee: bigint, rounds: readonly Played[]) {
  const by = rounds.findLastIndex(({ answer }) => answer === "A" || answer === "B");
  const overturned = rounds.map(
    ({ answer, bond }, i) => i < by && answer !== rounds[by]!.answer && (bond > 0n || answer !== "H"),
  );
  const seats = rounds.map((one, i) =>
    overturned[i]! ? 0n : ((payOf(one) - treasuryPartOf(one)) / one.seats) * one.seats,
  );
  const appellants = rounds.map((one, i) => {
    // Nobody answered the appeal against the last round.
    if (one.bond === 0n || i === rounds.length - 1) return one.bond;
    return overturned[i]! ? one.bond + rewardFor(one) : one.bond - costOf(rounds[i + 1]!, overturned[i + 1]!);
  });
  const paid = { seats: sum(seats), treasury: sum(rounds.map(treasuryPartOf)), appellants: sum(appellants) };
  const asker = fee + sum(rounds.map(({ bond }) => bond)) - paid.seats - paid.treasury - paid.appellants;
  return {
    owned: { ...paid, asker },
    upheld: overturned.filter((_, i) => rounds[i]!.bond > 0n && i < rounds.length - 1),
  };
}

describe("every course with two appeals", () => {
  for (const [name, overrides] of [
    ["that somebody may make (SE12), or nobody answers (SE8)", { appeals: 2 }],
    ["that the oracle makes itself after an unsure decision (SE24)", { appeals: 2, finality: 100 }],
  ] as const satisfies readonly (readonly [string, Partial<Terms>])[])
    it(`SE10, SE15: ${name} pays as the page says`, async () => {
      const world = await deployWorld(ethers, { token: { ...freeTokens, unitPrice: price, treasuryPpm } });
      const { oracle, settlement, registry, token } = world;
      await registerAgents(world, 40);
      const appellant = (await ethers.getSigners())[1]!;
      await token.mint(appellant.address, 10n ** 24n);
      await token.connect(appellant).approve(oracle.target, 10n ** 24n);
      const fee = unit * mostUnits(termsFor(overrides));
      const creditOf = (account: string) => oracle.creditOf(account, Currency.Token) as Promise<bigint>;
      const askerOwns = async () => (await oracle.subscriptionOf(subscription)).tokenBalance as bigint;
      const start = await askerOwns();
      let courses = 0;

      const aside = async (work: () => Promise<void>): Promise<void> => {
        const snapshot: unknown = await ethers.provider.send("evm_snapshot", []);
        await work();
        await ethers.provider.send("evm_revert", [snapshot]);
      };

      const expectPaid = async ({ request, rounds }: Committed, played: readonly Played[]): Promise<void> => {
        const course = played.map(({ answer, bond }) => answer + (bond > 0n ? "!" : "")).join("");
        const { owned, upheld } = reckon(fee, played);
        if (!(await oracle.statusOf(request.id)).settled) {
          const receipt = (await (await settlement.settle(request, rounds.map(packDecided))).wait())!;
          const resolved = findEvents(settlement, receipt, "AppealResolved").map(
            ({ args }) => args["upheld"] as boolean,
          );
          expect(resolved, course).to.deep.equal(upheld);
        }
        const found = {
          seats: await creditOf(registry.target),
          treasury: await creditOf(treasury),
          appellants: await creditOf(appellant.address),
          asker: (await askerOwns()) - start + fee,
        };
        expect(found, course).to.deep.equal(owned);
        const balance = (await token.balanceOf(oracle.target)) as bigint;
        expect(balance - start + fee, course).to.equal(sum(Object.values(owned)));
        ++courses;
      };

      const explore = async (asked: Asked, before: readonly Played[]): Promise<void> => {
        const { appeals: level } = unpackRound(asked.round);
        const size = 2 ** level * 5 - 1;
        if (before.length > 0)
          await aside(async () => {
            await passDeadline(world, asked.round);
            await oracle.fallBack(...fallBackArgs(asked));
            await expectPaid(givenUp(asked), before);
          });
        for (const answer of ["A", "B", "H", "Z"] as const)
          await aside(async () => {
            const shares = concat(Array.from({ length: size }, () => (answer === "Z" ? "0x01" : "0x02")));
            const committed = await decide(world, asked, { ...answers[answer], shares });
            const played = [...before, { answer, seats: BigInt(size), level, bond: 0n }];
            if (committed.reopened !== null) return explore(committed.reopened, played);
            if (!(await oracle.statusOf(asked.request.id)).provisional) return expectPaid(committed, played);
            await aside(async () => {
              await passDeadline(world, committed.rounds.at(-1)!.round);
              await oracle.finalize(...latestOf(committed));
              await expectPaid(committed, played);
            });
            const bond = await bondOf(world, committed);
            const appealed = await appeal(world, committed, oracle.connect(appellant));
            return explore(appealed, [...before, { ...played.at(-1)!, bond }]);
          });
      };

      await explore(await ask(world, { ...overrides, fee }), []);
      expect(courses).to.be.greaterThan(80);
    });
});
