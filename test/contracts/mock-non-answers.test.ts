// Non-answers and requests that wait, played on `MockDecisionOracle` and on the oracle, like `mock-oracle.test.ts`.
import { expect } from "chai";
import { ZeroHash, type EventLog } from "ethers";
import hre from "hardhat";

import { NO_SEED_BLOCK } from "../../agents/core/request/rounds.ts";
import { refundArgs } from "../support/contracts/course.ts";
import { Status, unpackRound, word, type Terms } from "../support/contracts/typed-data.ts";
import { Mode, costOf, day, early, misbehave, no, record, seen, told, unknown, yes, type End } from "./utils/play.ts";
import { stagesOf } from "./utils/stage.ts";

const { ethers, networkHelpers } = await hre.network.create();
const { loadFixture } = networkHelpers;

const { mockFixture, realFixture, stages } = stagesOf(ethers);

for (const [name, fixture] of stages) {
  describe(`a request to ${name} that waits, or gets no answer`, () => {
    it("waits a day after it was too early, and asks again", async () => {
      const stage = await loadFixture(fixture);
      const asked = await record(stage, { retries: 2, appeals: 1 });
      await stage.decide(asked, early);
      const waiting = await seen(stage, asked);
      expect(waiting.received).to.equal("0x");
      expect(waiting.status).to.deep.equal([BigInt(Status.Requested), 1n, false, false, false]);
      const [reopened] = await stage.world.oracle.queryFilter(stage.world.oracle.filters["RequestReopened"]!());
      const { round, seedBlock } = (reopened as EventLog).args;
      expect(seedBlock).to.equal(NO_SEED_BLOCK);
      expect(unpackRound(word(round as bigint)).deadline).to.equal((await reopened!.getBlock()).timestamp + day);
      await stage.decide(asked, no);
      const { received, status } = await seen(stage, asked);
      expect(received).to.equal(told(stage, asked, Status.Decided, no));
      expect(status).to.deep.equal([BigInt(Status.Decided), 2n, false, false, true]);
    });

    for (const [what, again, status] of [
      ["it is too early again", (stage, asked) => stage.decide(asked, early), Status.TooEarly],
      ["the next committee hangs", (stage, asked) => stage.hang(asked), Status.Hung],
      ["nobody answers any more", (stage, asked) => stage.expire(asked), Status.Hung],
    ] as readonly (readonly [string, End, number])[])
      it(`ends after a wait: ${what}`, async () => {
        const stage = await loadFixture(fixture);
        const asked = await record(stage, { retries: 3 });
        await stage.decide(asked, early);
        await again(stage, asked);
        const final = await seen(stage, asked);
        const said = status === Status.TooEarly ? early : undefined;
        expect(final.received).to.equal(told(stage, asked, status, said));
        expect(final.status).to.deep.equal([BigInt(status), said === undefined ? 3n : 2n, false, false, true]);
        await stage.storeOutcome(asked);
        const settlement = await ethers.getContractAt("ISettlement", await stage.world.oracle.settlement());
        const stored = await settlement.getFunction("storedOutcome")(asked.request.id);
        expect([stored.status, stored.value]).to.deep.equal([BigInt(status), said?.outcome ?? ZeroHash]);
      });

    it("waits as long as its terms say, and uses up a retry for it", async () => {
      const stage = await loadFixture(fixture);
      const asked = await record(stage, { delay: 3 * day, retries: 1 });
      expect(asked.seedBlock).to.equal(NO_SEED_BLOCK);
      const { timestamp } = await asked.receipt.getBlock();
      expect(unpackRound(asked.round).deadline).to.equal(timestamp + 3 * day);
      expect((await seen(stage, asked)).status).to.deep.equal([BigInt(Status.Requested), 0n, false, false, false]);
      await stage.decide(asked, yes);
      const { received, status } = await seen(stage, asked);
      expect(received).to.equal(told(stage, asked, Status.Decided, yes));
      expect(status).to.deep.equal([BigInt(Status.Decided), 1n, false, false, true]);
    });

    for (const [what, end, status] of [
      ["hangs", (stage, asked) => stage.hang(asked), Status.Hung],
      ["gets no answer in time", (stage, asked) => stage.expire(asked), Status.Refunded],
    ] as readonly (readonly [string, End, number])[])
      it(`${what} after a delay, with the retries that are left`, async () => {
        const stage = await loadFixture(fixture);
        const asked = await record(stage, { delay: day, retries: 2 });
        await end(stage, asked);
        const final = await seen(stage, asked);
        expect(final.received).to.equal(told(stage, asked, status));
        expect(final.status).to.deep.equal([BigInt(status), 2n, false, false, true]);
      });

    it("can be cancelled as long as it waits for its first committee, and not in a later attempt", async () => {
      const stage = await loadFixture(fixture);
      const { oracle } = stage.world;
      const cancel = (...args: ReturnType<typeof refundArgs>) => stage.hostile.getFunction("cancel")(...args);
      const before = (await oracle.subscriptionOf(stage.subscription)).tokenBalance as bigint;
      const asked = await misbehave(stage, Mode.Accept, { delay: 2 * day, retries: 1 });
      await networkHelpers.time.increase(day);
      await cancel(...refundArgs(asked));
      const { status, tokens } = await seen(stage, asked);
      expect([status, tokens]).to.deep.equal([[BigInt(Status.Refunded), 0n, false, false, true], before]);
      const later = await misbehave(stage, Mode.Accept, { retries: 2 });
      await stage.decide(later, early);
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
        const stage = await loadFixture(fixture);
        const asked = await record(stage, { appeals: 1 });
        await stage.decideProvisionally(asked, first);
        const provisional = await seen(stage, asked);
        expect(provisional.received).to.equal("0x");
        expect(provisional.status).to.deep.equal([BigInt(first.status ?? Status.Decided), 0n, true, false, false]);
        await stage.overturn(asked, second);
        const { received, status } = await seen(stage, asked);
        const ended = second.status ?? Status.Decided;
        expect(received).to.equal(told(stage, asked, ended, second));
        expect(status).to.deep.equal([BigInt(ended), 1n, false, false, true]);
      });

    it("is final after an appeal, however early it is", async () => {
      const stage = await loadFixture(fixture);
      const asked = await record(stage, { appeals: 2, retries: 2 });
      await stage.decideProvisionally(asked, yes);
      await stage.overturn(asked, early);
      expect((await seen(stage, asked)).status).to.deep.equal([BigInt(Status.TooEarly), 1n, false, false, true]);
    });
  });
}

describe("what non-answers and waiting cost", () => {
  const ends: readonly (readonly [name: string, Partial<Terms>, End])[] = [
    ["a non-answer", {}, (stage, asked) => stage.decide(asked, unknown)],
    [
      "larger committees that find it too early",
      { appeals: 2, finality: 95 },
      (stage, asked) => stage.decide(asked, early),
    ],
    [
      "asking again, where the first committee was not sure",
      { retries: 2, appeals: 1, finality: 95 },
      async (stage, asked) => {
        await stage.decide(asked, early);
        await stage.decide(asked, yes);
      },
    ],
    [
      "asking again until nobody answers",
      { retries: 3 },
      async (stage, asked) => {
        await stage.decide(asked, early);
        await stage.expire(asked);
      },
    ],
    [
      "asking again until a committee hangs",
      { retries: 3 },
      async (stage, asked) => {
        await stage.decide(asked, early);
        await stage.hang(asked);
      },
    ],
    [
      "an overturned non-answer",
      { appeals: 1 },
      async (stage, asked) => {
        await stage.decideProvisionally(asked, unknown);
        await stage.overturn(asked, no);
      },
    ],
    ["committees that hang after a delay", { delay: day, retries: 2 }, (stage, asked) => stage.hang(asked)],
    ["a decision after a delay", { delay: day, retries: 1 }, (stage, asked) => stage.decide(asked, yes)],
  ];
  for (const [name, terms, end] of ends)
    it(`is the same on both: ${name}`, async () => {
      const mock = await costOf(await loadFixture(mockFixture), terms, end);
      const real = await costOf(await loadFixture(realFixture), terms, end);
      expect(mock).to.deep.equal(real);
      expect(mock.spent > 0n).to.equal(true);
    });
});
