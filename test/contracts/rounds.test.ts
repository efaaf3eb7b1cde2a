import { expect } from "chai";
import { ZeroAddress, ZeroHash } from "ethers";
import hre from "hardhat";

import {
  appeal,
  ask,
  bondOf,
  commit,
  decide,
  decisionFor,
  draw,
  fallBackArgs,
  givenUp,
  hung,
  latestOf,
  no,
  packDecided,
  passDeadline,
  pastOf,
  recordOf,
  refundArgs,
  replace,
  structHashOf,
  termsFor,
  type Asked,
  type Committed,
} from "../../scripts/lib/course.ts";
import {
  Currency,
  Status,
  hashCommittee,
  linkAfter,
  packRound,
  unpackRound,
  type Terms,
} from "../../scripts/lib/typed-data.ts";
import {
  deployWorld,
  findEvent,
  findEvents,
  mineSeed,
  nextEpoch,
  registerAgents,
  subscription,
} from "../../scripts/lib/world.ts";
import { bondAfter, currencies } from "./utils/money.ts";

const { ethers, networkHelpers } = await hre.network.create();
const { loadFixture, time } = networkHelpers;

const agentsOf = (committee: readonly string[]): bigint[] => committee.map((seat) => BigInt(seat) >> 192n);

/** 60 agents, an appellant with tokens and coins, and a consumer that counts its callbacks. */
async function sixtyAgents() {
  const world = await deployWorld(ethers);
  const { oracle, token } = world;
  const [, appellant, stranger] = await ethers.getSigners();
  await registerAgents(world, 60);
  await token.mint(appellant!.address, 10n ** 24n);
  await token.connect(appellant!).approve(oracle.target, 10n ** 24n);
  const consumer = await ethers.deployContract("HostileConsumer", [oracle.target]);
  await oracle.setConsumer(subscription, consumer.target, true);
  const calls = (): Promise<bigint> => consumer.getFunction("calls")() as Promise<bigint>;
  const askFor = (overrides: Partial<Terms>): Promise<Asked> => {
    const terms = termsFor({ callbackGasLimit: 100_000, ...overrides });
    const by = (_: string, question: Uint8Array) => consumer.getFunction("ask").send(subscription, terms, question);
    return ask(world, {}, "Is it safe?", by);
  };
  const appealed = (committed: Committed): Promise<Asked> => appeal(world, committed, oracle.connect(appellant!));
  return { world, oracle, appellant: appellant!, stranger: stranger!, calls, askFor, appealed };
}

/** The deadline, one duration after the block of the event. */
async function deadlineOf({ receipt }: Pick<Committed, "receipt">): Promise<number> {
  return (await ethers.provider.getBlock(receipt.blockNumber))!.timestamp + 3600;
}

function hashesOf({ request, rounds }: Committed): { committeeHash: string; structHash: string } {
  const { committee, decision } = rounds.at(-1)!;
  return { committeeHash: hashCommittee(committee), structHash: structHashOf(request, committee, decision) };
}

const expectDisjoint = (committees: readonly (readonly string[])[]): void => {
  const agents = committees.flatMap(agentsOf);
  expect(new Set(agents).size).to.equal(agents.length);
};

describe("a hung committee", () => {
  it("SE4: is replaced at once by another of the same size while retries are left", async () => {
    const { world, oracle, askFor, calls } = await loadFixture(sixtyAgents);
    const asked = await askFor({ retries: 1 });
    const { id } = asked.request;
    const first = await decide(world, asked, hung);
    const { round, relay } = first.rounds[0]!;
    expect(round).to.equal(asked.round);
    const { committeeHash, structHash } = hashesOf(first);
    const link = linkAfter({ round, committeeHash, structHash, relay, appellant: ZeroAddress });
    const reopened = findEvent(oracle, first.receipt, "RequestReopened").args;
    const next = packRound({ link, appeals: 0, deadline: await deadlineOf(first) });
    expect([...reopened]).to.deep.equal([id, 1n, BigInt(next), first.reopened!.seedBlock, ZeroAddress, 0n]);
    expect(findEvents(oracle, first.receipt, "DecisionProvisional")).to.have.length(0);
    expect(await oracle.statusOf(id)).to.deep.equal([BigInt(Status.Requested), 1n, false, false, false]);
    expect(await calls()).to.equal(0n);

    const drawn = await draw(world, first.reopened!);
    expect(drawn.committee).to.have.length(4);
    expectDisjoint([first.rounds[0]!.committee, drawn.committee]);
    await commit(world, drawn, decisionFor(drawn, hung));
    expect(await oracle.statusOf(id)).to.deep.equal([BigInt(Status.Hung), 1n, false, false, false]);
    expect(await calls()).to.equal(1n);
  });

  it("SE3: is drawn anew only with the rounds as they were", async () => {
    const { world, oracle, askFor } = await loadFixture(sixtyAgents);
    const first = await decide(world, await askFor({ retries: 2 }), hung);
    const second = await decide(world, first.reopened!, hung);
    const asked = second.reopened!;
    const header = await mineSeed(world, asked.seedBlock);
    const past = pastOf(asked);
    const [one, two] = past as [(typeof past)[0], (typeof past)[0]];
    const { request, seedBlock } = asked;
    const wrong = [
      [],
      [one],
      [two],
      [two, one],
      [one, one, two],
      [one, two, two],
      [{ ...one, relay: two.relay.replace(/.$/, "0") }, two],
      [one, { ...two, relay: ZeroHash }],
      [one, { ...two, structHash: one.structHash }],
      [one, { ...two, appellant: world.deployer.address }],
      [one, { ...two, committee: two.committee.toReversed() }],
      [one, { ...two, round: one.round }],
    ];
    for (const history of wrong) {
      await expect(oracle.draw(request, asked.round, seedBlock, header, history))
        .to.be.revertedWithCustomError(oracle, "WitnessMismatch")
        .withArgs(request.id);
    }
    await expect(oracle.draw(request, one.round, seedBlock, header, past)).to.be.revertedWithCustomError(
      oracle,
      "WitnessMismatch",
    );
    await oracle.draw(request, asked.round, seedBlock, header, past);
  });

  it("SE4: is provisional without retries left and with appeals left", async () => {
    const { world, oracle, askFor, appealed, calls } = await loadFixture(sixtyAgents);
    const first = await decide(world, await askFor({ retries: 1, appeals: 1 }), hung);
    const second = await decide(world, first.reopened!, hung);
    expect(second.reopened).to.equal(null);
    expect(await oracle.statusOf(first.request.id)).to.deep.equal([BigInt(Status.Hung), 1n, true, false, false]);
    const third = await decide(world, await appealed(second));
    expect(await oracle.statusOf(first.request.id)).to.deep.equal([BigInt(Status.Decided), 2n, false, false, false]);
    expectDisjoint(third.rounds.map(({ committee }) => committee));
    expect(third.rounds.map(({ committee }) => committee.length)).to.deep.equal([4, 4, 9]);
    expect(await calls()).to.equal(1n);
  });

  it("SE4: uses retries up before or after an appeal, not both", async () => {
    const { world, oracle, askFor, appealed } = await loadFixture(sixtyAgents);
    const first = await decide(world, await askFor({ retries: 1, appeals: 1 }));
    const second = await decide(world, await appealed(first), hung);
    const third = await decide(world, second.reopened!, hung);
    expect(third.rounds.map(({ committee }) => committee.length)).to.deep.equal([4, 9, 9]);
    expect(await oracle.statusOf(first.request.id)).to.deep.equal([BigInt(Status.Hung), 2n, false, false, false]);
  });
});

describe("a provisional decision", () => {
  it("SE6: is final and delivered after its deadline, by anybody, once", async () => {
    const { world, oracle, stranger, askFor, calls } = await loadFixture(sixtyAgents);
    const asked = await askFor({ appeals: 1 });
    const { id } = asked.request;
    const committed = await decide(world, asked);
    const { round } = committed.rounds[0]!;
    const deadline = await deadlineOf(committed);
    expect(round).to.equal(packRound({ link: 0n, appeals: 0, deadline }));
    expect(await oracle.statusOf(id)).to.deep.equal([BigInt(Status.Decided), 0n, true, false, false]);
    await expect(world.settlement.settle(...recordOf(committed)))
      .to.be.revertedWithCustomError(oracle, "DecisionIsProvisional")
      .withArgs(id);
    const finalize = () => oracle.connect(stranger).finalize(...latestOf(committed));
    await time.setNextBlockTimestamp(deadline);
    await expect(finalize()).to.be.revertedWithCustomError(oracle, "DeadlineNotPassed").withArgs(id, deadline);
    expect(await calls()).to.equal(0n);
    await time.setNextBlockTimestamp(deadline + 1);
    const [request, , ...rest] = latestOf(committed);
    await expect(oracle.finalize(request, asked.round, ...rest)).to.be.revertedWithCustomError(
      oracle,
      "WitnessMismatch",
    );
    await expect(finalize()).to.emit(oracle, "DecisionFinalized").withArgs(id, 0);
    expect(await calls()).to.equal(1n);
    expect(await oracle.statusOf(id)).to.deep.equal([BigInt(Status.Decided), 0n, false, false, false]);
    for (const call of [finalize, () => oracle.appeal(...latestOf(committed))]) {
      await expect(call()).to.be.revertedWithCustomError(oracle, "DecisionIsFinal").withArgs(id);
    }
    await world.settlement.settle(...recordOf(committed));
  });

  it("SE7: is delivered again when the callback failed after it became final", async () => {
    const { world, oracle } = await loadFixture(sixtyAgents);
    // The deployer has no code.
    const committed = await decide(world, await ask(world, { appeals: 1, callbackGasLimit: 50_000 }));
    const { id } = committed.request;
    await expect(oracle.retryCallback(...latestOf(committed)))
      .to.be.revertedWithCustomError(oracle, "CallbackNotPending")
      .withArgs(id);
    await passDeadline(world, committed.rounds[0]!.round);
    await expect(oracle.finalize(...latestOf(committed)))
      .to.emit(oracle, "CallbackFailed")
      .withArgs(id);
    expect(await oracle.statusOf(id)).to.deep.equal([BigInt(Status.Decided), 0n, false, true, false]);
    await expect(oracle.retryCallback(...latestOf(committed)))
      .to.be.revertedWithCustomError(oracle, "CallbackStillFails")
      .withArgs(id);
  });
});

describe("an appeal", () => {
  for (const currency of currencies) {
    const name = currency === Currency.Token ? "tokens" : "coins";

    it(`SE5: calls a committee of twice the size plus one for a bond in ${name}`, async () => {
      const { world, oracle, appellant, askFor, appealed, calls } = await loadFixture(sixtyAgents);
      const terms = termsFor({ appeals: 2, currency, callbackGasLimit: 100_000 });
      const first = await decide(world, await askFor(terms));
      const { id } = first.request;
      const bond = bondAfter(terms, 0);
      expect(await bondOf(world, first)).to.equal(bond);
      const reopened = await appealed(first);
      const { round, relay } = first.rounds[0]!;
      const { committeeHash, structHash } = hashesOf(first);
      const link = linkAfter({ round, committeeHash, structHash, relay, appellant: appellant.address });
      const next = packRound({ link, appeals: 1, deadline: await deadlineOf(reopened) });
      expect([...findEvent(oracle, reopened.receipt, "RequestReopened").args]).to.deep.equal([
        id,
        1n,
        BigInt(next),
        reopened.seedBlock,
        appellant.address,
        bond,
      ]);
      expect(await oracle.statusOf(id)).to.deep.equal([BigInt(Status.Requested), 1n, false, false, false]);
      await expect(oracle.appeal(...latestOf(first), { value: currency === Currency.Native ? bond : 0n }))
        .to.be.revertedWithCustomError(oracle, "WrongStatus")
        .withArgs(id, Status.Requested);

      const second = await decide(world, reopened, no);
      expect(await bondOf(world, second)).to.equal(bondAfter(terms, 1));
      const last = await draw(world, await appealed(second));
      expect(await calls()).to.equal(0n);
      const third = await commit(world, last);
      expect(await oracle.statusOf(id)).to.deep.equal([BigInt(Status.Decided), 2n, false, false, false]);
      expect(await calls()).to.equal(1n);
      const committees = third.rounds.map(({ committee }) => committee);
      expect(committees.map(({ length }) => length)).to.deep.equal([4, 9, 19]);
      expectDisjoint(committees);
    });
  }

  it("SE5: takes exactly the bond", async () => {
    const { world, oracle, stranger, askFor } = await loadFixture(sixtyAgents);
    const native = await decide(world, await askFor({ appeals: 1, currency: Currency.Native }));
    const bond = await bondOf(world, native);
    for (const value of [0n, bond - 1n, bond + 1n]) {
      await expect(oracle.appeal(...latestOf(native), { value }))
        .to.be.revertedWithCustomError(oracle, "WrongValue")
        .withArgs(bond, value);
    }
    const token = await decide(world, await askFor({ appeals: 1 }));
    await expect(oracle.appeal(...latestOf(token), { value: 1n }))
      .to.be.revertedWithCustomError(oracle, "WrongValue")
      .withArgs(0, 1);
    await expect(oracle.connect(stranger).appeal(...latestOf(token)))
      .to.be.revertedWithCustomError(world.token, "ERC20InsufficientAllowance")
      .withArgs(oracle.target, 0, bond);
    await oracle.appeal(...latestOf(native), { value: bond });
  });

  it("SE5: comes until the second of the deadline and not after", async () => {
    const { world, oracle, askFor } = await loadFixture(sixtyAgents);
    const committed = await decide(world, await askFor({ appeals: 1 }));
    const { deadline } = unpackRound(committed.rounds[0]!.round);
    await time.setNextBlockTimestamp(deadline + 1);
    await expect(oracle.appeal(...latestOf(committed)))
      .to.be.revertedWithCustomError(oracle, "DeadlinePassed")
      .withArgs(committed.request.id, deadline);
    await time.setNextBlockTimestamp(deadline);
    await oracle.appeal(...latestOf(committed));
  });

  it("SE5: is of the decision on record", async () => {
    const { world, oracle, askFor } = await loadFixture(sixtyAgents);
    const drawn = await draw(world, await askFor({ appeals: 1 }));
    const committed = await commit(world, drawn);
    const [request, round, committeeHash, decision, relay] = latestOf(committed);
    for (const wrong of [
      [request, drawn.round, committeeHash, decision, relay],
      [request, round, ZeroHash, decision, relay],
      [request, round, committeeHash, { ...decision, outcome: ZeroHash }, relay],
      [request, round, committeeHash, decision, ZeroHash],
    ] as const) {
      await expect(oracle.appeal(...wrong)).to.be.revertedWithCustomError(oracle, "WitnessMismatch");
    }
  });
});

describe("a committee that does not answer in time", () => {
  for (const isDrawn of [false, true]) {
    it(`SE8: is replaced ${isDrawn ? "after" : "before"} the draw while retries are left, by anybody`, async () => {
      const { world, oracle, stranger, askFor, calls } = await loadFixture(sixtyAgents);
      const asked = await askFor({ retries: 1 });
      const { id } = asked.request;
      const running = isDrawn ? await draw(world, asked) : asked;
      const { deadline } = unpackRound(asked.round);
      const [request, round, witness] = refundArgs(running);
      await time.setNextBlockTimestamp(deadline);
      await expect(oracle.replace(request, round, witness))
        .to.be.revertedWithCustomError(oracle, "DeadlineNotPassed")
        .withArgs(id, deadline);
      await passDeadline(world, round);
      await expect(oracle.refund(request, round, witness))
        .to.be.revertedWithCustomError(oracle, "RetriesLeft")
        .withArgs(id);
      for (const wrong of ["0x", `${witness}00`]) {
        await expect(oracle.replace(request, round, wrong)).to.be.revertedWithCustomError(oracle, "WitnessMismatch");
      }
      const second = await replace({ ...world, oracle: oracle.connect(stranger) }, running);
      const next = packRound({ link: 0n, appeals: 0, deadline: await deadlineOf(second) });
      expect([...findEvent(oracle, second.receipt, "RequestReopened").args]).to.deep.equal([
        id,
        1n,
        BigInt(next),
        second.seedBlock,
        ZeroAddress,
        0n,
      ]);
      expect(await oracle.statusOf(id)).to.deep.equal([BigInt(Status.Requested), 1n, false, false, false]);
      await expect(oracle.replace(request, round, witness)).to.be.revertedWithCustomError(oracle, "WitnessMismatch");

      const drawn = await draw(world, second);
      expect(drawn.committee).to.have.length(4);
      const committed = await commit(world, drawn);
      expect(await oracle.statusOf(id)).to.deep.equal([BigInt(Status.Decided), 1n, false, false, false]);
      expect(await calls()).to.equal(1n);
      await world.settlement.settle(...recordOf(committed));
    });
  }

  it("SE8: is replaced as often as hung ones are retried, together; then the fee comes back", async () => {
    const { world, oracle, askFor } = await loadFixture(sixtyAgents);
    const first = await replace(world, await draw(world, await askFor({ retries: 2 })));
    const { reopened } = await decide(world, first, hung);
    expect(reopened!.attempt).to.equal(2);
    await passDeadline(world, reopened!.round);
    await expect(oracle.replace(...refundArgs(reopened!)))
      .to.be.revertedWithCustomError(oracle, "NoRetriesLeft")
      .withArgs(first.request.id);
    await oracle.fallBack(...fallBackArgs(reopened!));

    const silent = await replace(world, await replace(world, await askFor({ retries: 2 })));
    expect(silent.attempt).to.equal(2);
    await passDeadline(world, silent.round);
    await expect(oracle.replace(...refundArgs(silent))).to.be.revertedWithCustomError(oracle, "NoRetriesLeft");
    await expect(oracle.refund(...refundArgs(silent)))
      .to.emit(oracle, "FeeRefunded")
      .withArgs(silent.request.id, silent.request.consumer, 10n ** 18n);
  });

  it("SE8: after an appeal leaves the rounds before as they were", async () => {
    const { world, oracle, askFor, appealed } = await loadFixture(sixtyAgents);
    const first = await decide(world, await askFor({ appeals: 2, retries: 2 }));
    const silent = await draw(world, await appealed(first));
    await passDeadline(world, silent.round);
    await expect(oracle.fallBack(...fallBackArgs(silent)))
      .to.be.revertedWithCustomError(oracle, "RetriesLeft")
      .withArgs(first.request.id);
    const second = await replace(world, silent);
    const fields = unpackRound(silent.round);
    expect(unpackRound(second.round)).to.deep.equal({ ...fields, deadline: await deadlineOf(second) });
    const overturning = await decide(world, second, no);
    expect(overturning.rounds.map(({ committee }) => committee.length)).to.deep.equal([4, 9]);
    // The second appeal has the retry that is left: attempts 3 and 4.
    const last = await replace(world, await appealed(overturning));
    expect(last.attempt).to.equal(4);
    await passDeadline(world, last.round);
    await expect(oracle.replace(...refundArgs(last))).to.be.revertedWithCustomError(oracle, "NoRetriesLeft");
    await oracle.fallBack(...fallBackArgs(last));
    await world.settlement.settle(...recordOf(givenUp(last)));
    expect((await oracle.statusOf(first.request.id)).settled).to.be.true;
  });

  it("SE8: can be drawn again, for nothing proves that it was silent", async () => {
    const { world, askFor } = await loadFixture(sixtyAgents);
    for (let agent = 5n; agent <= 60n; agent++) await world.registry.startUnbonding(agent, 16n * 10n ** 18n);
    await nextEpoch(world);
    const silent = await draw(world, await askFor({ retries: 1 }));
    const again = await draw(world, await replace(world, silent));
    expect(agentsOf(again.committee).toSorted()).to.deep.equal(agentsOf(silent.committee).toSorted());
  });

  it("SE8: is nobody whose decision is on record", async () => {
    const { world, oracle, askFor } = await loadFixture(sixtyAgents);
    const drawn = await draw(world, await askFor({ retries: 1, appeals: 1 }));
    await commit(world, drawn);
    await passDeadline(world, drawn.round);
    await expect(oracle.replace(...refundArgs(drawn)))
      .to.be.revertedWithCustomError(oracle, "WrongStatus")
      .withArgs(drawn.request.id, Status.Decided);
  });
});

describe("an attempt that nobody answers", () => {
  it("SE8: is no first round that falls back, and no later round that is refunded", async () => {
    const { world, oracle, askFor, appealed } = await loadFixture(sixtyAgents);
    const committed = await decide(world, await askFor({ appeals: 1 }));
    const later = await appealed(committed);
    const first = await draw(world, await askFor({ appeals: 1 }));
    await expect(oracle.fallBack(...fallBackArgs(later))).to.be.revertedWithCustomError(oracle, "DeadlineNotPassed");
    await passDeadline(world, first.round);
    await expect(oracle.refund(...refundArgs(later)))
      .to.be.revertedWithCustomError(oracle, "HasEarlierDecision")
      .withArgs(later.request.id);
    await expect(oracle.fallBack(...refundArgs(first), packDecided(committed.rounds[0]!)))
      .to.be.revertedWithCustomError(oracle, "WitnessMismatch")
      .withArgs(first.request.id);
    await expect(oracle.refund(...refundArgs(first)))
      .to.emit(oracle, "FeeRefunded")
      .withArgs(first.request.id, first.request.consumer, 10n ** 18n);
  });

  for (const currency of currencies) {
    for (const isDrawn of [false, true]) {
      const [name, stage] = [currency === Currency.Token ? "tokens" : "coins", isDrawn ? "after" : "before"];

      it(`SE8: of an appeal in ${name} ${stage} the draw leaves the decision before and returns the bond`, async () => {
        const { world, oracle, appellant, stranger, askFor, appealed, calls } = await loadFixture(sixtyAgents);
        const committed = await decide(world, await askFor({ appeals: 2, currency }));
        const { id } = committed.request;
        const bond = await bondOf(world, committed);
        const reopened = await appealed(committed);
        const running = isDrawn ? await draw(world, reopened) : reopened;
        await passDeadline(world, running.round);
        const [request, round, witness, last] = fallBackArgs(running);
        for (const wrong of [
          { ...last, appellant: stranger.address },
          { ...last, relay: ZeroHash },
          { ...last, round },
          { ...last, committee: last.committee.toReversed() },
          { ...last, decision: { ...last.decision, outcome: ZeroHash } },
        ]) {
          await expect(oracle.fallBack(request, round, witness, wrong))
            .to.be.revertedWithCustomError(oracle, "WitnessMismatch")
            .withArgs(id);
        }
        await expect(oracle.connect(stranger).fallBack(request, round, witness, last))
          .to.emit(oracle, "AppealUnanswered")
          .withArgs(id, appellant.address, bond)
          .and.to.emit(oracle, "DecisionFinalized")
          .withArgs(id, 0);
        expect(await oracle.creditOf(appellant.address, currency)).to.equal(bond);
        expect(await calls()).to.equal(1n);
        // Evidence of the given-up committee still names an attempt that was.
        const attempt = isDrawn ? 1n : 0n;
        expect(await oracle.statusOf(id)).to.deep.equal([BigInt(Status.Decided), attempt, false, false, false]);
        await expect(oracle.fallBack(request, round, witness, last))
          .to.be.revertedWithCustomError(oracle, "WrongStatus")
          .withArgs(id, Status.Decided);
        await world.settlement.settle(...recordOf(givenUp(running)));
        expect((await oracle.statusOf(id)).settled).to.be.true;
      });
    }
  }

  it("SE8: of a retry leaves the request hung", async () => {
    const { world, oracle, askFor, calls } = await loadFixture(sixtyAgents);
    const { reopened } = await decide(world, await askFor({ retries: 1 }), hung);
    const running = await draw(world, reopened!);
    await passDeadline(world, running.round);
    const sent = await oracle.fallBack(...fallBackArgs(running));
    const receipt = (await sent.wait())!;
    expect(findEvents(oracle, receipt, "AppealUnanswered")).to.have.length(0);
    expect(findEvent(oracle, receipt, "DecisionFinalized").args["attempt"]).to.equal(0n);
    const state = await oracle.statusOf(running.request.id);
    expect(state).to.deep.equal([BigInt(Status.Hung), 1n, false, false, false]);
    expect(await calls()).to.equal(1n);
    await expect(oracle.retryCallback(...latestOf(givenUp(running)))).to.be.revertedWithCustomError(
      oracle,
      "CallbackNotPending",
    );
  });

  it("SE8: since too few agents are left falls back, too", async () => {
    const { world, oracle, appealed, askFor } = await loadFixture(sixtyAgents);
    const { registry } = world;
    // Ten remain.
    for (let agent = 11n; agent <= 60n; agent++) await registry.startUnbonding(agent, 16n * 10n ** 18n);
    const asked = await askFor({ appeals: 1 });
    const running = await appealed(await decide(world, asked));
    const header = await mineSeed(world, running.seedBlock);
    await expect(oracle.draw(running.request, running.round, running.seedBlock, header, pastOf(running)))
      .to.be.revertedWithCustomError(registry, "TooFewAgents")
      .withArgs(10, 9);
    await passDeadline(world, running.round);
    await oracle.fallBack(...fallBackArgs(running));
    const state = await oracle.statusOf(running.request.id);
    expect(state).to.deep.equal([BigInt(Status.Decided), 0n, false, false, false]);
  });
});
