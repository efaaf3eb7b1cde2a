// Non-answers and requests that wait, played on `MockDecisionOracle` and on the oracle, like `mock-oracle.test.ts`.
import { expect } from "chai";
import { ZeroHash, type EventLog } from "ethers";
import hre from "hardhat";

import { NO_SEED_BLOCK } from "../../agents/core/request/rounds.ts";
import { refundArgs } from "../support/contracts/course.ts";
import { Status, unpackRound, word, type Terms } from "../support/contracts/typed-data.ts";
import { Mode, costOf, day, early, misbehave, no, record, seen, told, unknown, yes, type End } from "./utils/play.ts";
import { testedOracles } from "./utils/tested-oracle.ts";

const { ethers, networkHelpers } = await hre.network.create();
const { loadFixture } = networkHelpers;

const { mockFixture, realFixture, oracles } = testedOracles(ethers);

for (const [name, fixture] of oracles) {
  describe(`a request to ${name} that waits, or gets no answer`, () => {
    it("waits a day after it was too early, and asks again", async () => {
      const tested = await loadFixture(fixture);
      const asked = await record(tested, { retries: 2, appeals: 1 });
      await tested.decide(asked, early);
      const waiting = await seen(tested, asked);
      expect(waiting.received).to.equal("0x");
      expect(waiting.status).to.deep.equal([BigInt(Status.Requested), 1n, false, false, false]);
      const [reopened] = await tested.world.oracle.queryFilter(tested.world.oracle.filters["RequestReopened"]!());
      const { round, seedBlock } = (reopened as EventLog).args;
      expect(seedBlock).to.equal(NO_SEED_BLOCK);
      expect(unpackRound(word(round as bigint)).deadline).to.equal((await reopened!.getBlock()).timestamp + day);
      await tested.decide(asked, no);
      const { received, status } = await seen(tested, asked);
      expect(received).to.equal(told(tested, asked, Status.Decided, no));
      expect(status).to.deep.equal([BigInt(Status.Decided), 2n, false, false, true]);
    });

    for (const [what, again, status] of [
      ["it is too early again", (tested, asked) => tested.decide(asked, early), Status.TooEarly],
      ["the next committee hangs", (tested, asked) => tested.hang(asked), Status.Hung],
      ["nobody answers any more", (tested, asked) => tested.expire(asked), Status.Hung],
    ] as readonly (readonly [string, End, number])[])
      it(`ends after a wait: ${what}`, async () => {
        const tested = await loadFixture(fixture);
        const asked = await record(tested, { retries: 3 });
        await tested.decide(asked, early);
        await again(tested, asked);
        const final = await seen(tested, asked);
        const said = status === Status.TooEarly ? early : undefined;
        expect(final.received).to.equal(told(tested, asked, status, said));
        expect(final.status).to.deep.equal([BigInt(status), said === undefined ? 3n : 2n, false, false, true]);
        await tested.storeOutcome(asked);
        const settlement = await ethers.getContractAt("ISettlement", await tested.world.oracle.settlement());
        const stored = await settlement.getFunction("storedOutcome")(asked.request.id);
        expect([stored.status, stored.value]).to.deep.equal([BigInt(status), said?.outcome ?? ZeroHash]);
      });

    it("waits as long as its terms say, and uses up a retry for it", async () => {
      const tested = await loadFixture(fixture);
      const asked = await record(tested, { delay: 3 * day, retries: 1 });
      expect(asked.seedBlock).to.equal(NO_SEED_BLOCK);
      const { timestamp } = await asked.receipt.getBlock();
      expect(unpackRound(asked.round).deadline).to.equal(timestamp + 3 * day);
      expect((await seen(tested, asked)).status).to.deep.equal([BigInt(Status.Requested), 0n, false, false, false]);
      await tested.decide(asked, yes);
      const { received, status } = await seen(tested, asked);
      expect(received).to.equal(told(tested, asked, Status.Decided, yes));
      expect(status).to.deep.equal([BigInt(Status.Decided), 1n, false, false, true]);
    });

    for (const [what, end, status] of [
      ["hangs", (tested, asked) => tested.hang(asked), Status.Hung],
      ["gets no answer in time", (tested, asked) => tested.expire(asked), Status.Refunded],
    ] as readonly (readonly [string, End, number])[])
      it(`${what} after a delay, with the retries that are left`, async () => {
        const tested = await loadFixture(fixture);
        const asked = await record(tested, { delay: day, retries: 2 });
        await end(tested, asked);
        const final = await seen(tested, asked);
        expect(final.received).to.equal(told(tested, asked, status));
        expect(final.status).to.deep.equal([BigInt(status), 2n, false, false, true]);
      });

    it("can be cancelled as long as it waits for its first committee, and not in a later attempt", async () => {
      const tested = await loadFixture(fixture);
      const { oracle } = tested.world;
      const cancel = (...args: ReturnType<typeof refundArgs>) => tested.hostile.getFunction("cancel")(...args);
      const before = (await oracle.subscriptionOf(tested.subscription)).tokenBalance as bigint;
      const asked = await misbehave(tested, Mode.Accept, { delay: 2 * day, retries: 1 });
      await networkHelpers.time.increase(day);
      await cancel(...refundArgs(asked));
      const { status, tokens } = await seen(tested, asked);
      expect([status, tokens]).to.deep.equal([[BigInt(Status.Refunded), 0n, false, false, true], before]);
      const later = await misbehave(tested, Mode.Accept, { retries: 2 });
      await tested.decide(later, early);
      const [reopened] = await oracle.queryFilter(oracle.filters["RequestReopened"]!());
      const { round, seedBlock } = (reopened as EventLog).args;
      await expect(cancel(later.request, word(round as bigint), seedBlock as bigint))
        .to.be.revertedWithCustomError(oracle, "TooLateToCancel")
        .withArgs(later.request.id, 1, NO_SEED_BLOCK);
    });

    for (const [what, first, second] of [
      ["of a non-answer", unknown, yes],
      ["by a non-answer", yes, unknown],
      ["of one non-answer by another", early, unknown],
    ] as const)
      it(`gets the last decision alone after the overturn ${what}`, async () => {
        const tested = await loadFixture(fixture);
        const asked = await record(tested, { appeals: 1 });
        await tested.decideProvisionally(asked, first);
        const provisional = await seen(tested, asked);
        expect(provisional.received).to.equal("0x");
        expect(provisional.status).to.deep.equal([BigInt(first.status ?? Status.Decided), 0n, true, false, false]);
        await tested.overturn(asked, second);
        const { received, status } = await seen(tested, asked);
        const ended = second.status ?? Status.Decided;
        expect(received).to.equal(told(tested, asked, ended, second));
        expect(status).to.deep.equal([BigInt(ended), 1n, false, false, true]);
      });

    it("is final after an appeal, however early it is", async () => {
      const tested = await loadFixture(fixture);
      const asked = await record(tested, { appeals: 2, retries: 2 });
      await tested.decideProvisionally(asked, yes);
      await tested.overturn(asked, early);
      expect((await seen(tested, asked)).status).to.deep.equal([BigInt(Status.TooEarly), 1n, false, false, true]);
    });
  });
}

describe("what non-answers and waiting cost", () => {
  const ends: readonly (readonly [name: string, Partial<Terms>, End])[] = [
    ["a non-answer", {}, (tested, asked) => tested.decide(asked, unknown)],
    [
      "larger committees that find it too early",
      { appeals: 2, finality: 95 },
      (tested, asked) => tested.decide(asked, early),
    ],
    [
      "asking again, where the first committee was not sure",
      { retries: 2, appeals: 1, finality: 95 },
      async (tested, asked) => {
        await tested.decide(asked, early);
        await tested.decide(asked, yes);
      },
    ],
    [
      "asking again until nobody answers",
      { retries: 3 },
      async (tested, asked) => {
        await tested.decide(asked, early);
        await tested.expire(asked);
      },
    ],
    [
      "asking again until a committee hangs",
      { retries: 3 },
      async (tested, asked) => {
        await tested.decide(asked, early);
        await tested.hang(asked);
      },
    ],
    [
      "an overturned non-answer",
      { appeals: 1 },
      async (tested, asked) => {
        await tested.decideProvisionally(asked, unknown);
        await tested.overturn(asked, no);
      },
    ],
    ["committees that hang after a delay", { delay: day, retries: 2 }, (tested, asked) => tested.hang(asked)],
    ["a decision after a delay", { delay: day, retries: 1 }, (tested, asked) => tested.decide(asked, yes)],
  ];
  for (const [name, terms, end] of ends)
    it(`is the same on both: ${name}`, async () => {
      const mock = await costOf(await loadFixture(mockFixture), terms, end);
      const real = await costOf(await loadFixture(realFixture), terms, end);
      expect(mock).to.deep.equal(real);
      expect(mock.spent > 0n).to.equal(true);
    });
});
