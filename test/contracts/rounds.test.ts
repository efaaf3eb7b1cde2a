import { expect } from "chai";
import { AbiCoder, ZeroAddress, ZeroHash, decodeRlp, keccak256 } from "ethers";
import hre from "hardhat";

import {
  ask,
  bondOf,
  commit,
  decide,
  decisionFor,
  draw,
  hung,
  latestOf,
  no,
  passDeadline,
  pastOf,
  recordOf,
  structHashOf,
  termsFor,
  type Asked,
  type Committed,
} from "../support/contracts/course.ts";
import { Currency, Status, hashCommittee, linkAfter, packRound, unpackRound } from "../support/contracts/typed-data.ts";
import { epochBlocks, findEvent, findEvents, freeTokens, mineSeed } from "../support/contracts/world.ts";
import { agentsOf, crowd } from "./utils/crowd.ts";
import { bondAfter, currencies } from "./utils/money.ts";

const { ethers, networkHelpers } = await hre.network.create();
const { loadFixture, time } = networkHelpers;
const { sixtyAgents, deadlineOf } = crowd(ethers);

function hashesOf({ request, rounds }: Committed): { committeeHash: string; structHash: string } {
  const { committee, decision } = rounds.at(-1)!;
  return { committeeHash: hashCommittee(committee), structHash: structHashOf(request, committee, decision) };
}

const isDisjoint = (committees: readonly (readonly string[])[]): boolean => {
  const agents = committees.flatMap(agentsOf);
  return new Set(agents).size === agents.length;
};

describe("a hung committee", () => {
  it("SE4, D21: is replaced at once by another of the same size while retries are left", async () => {
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
    expect(agentsOf(drawn.committee)).not.to.deep.equal(agentsOf(first.rounds[0]!.committee));
    await commit(world, drawn, decisionFor(drawn, hung));
    expect(await oracle.statusOf(id)).to.deep.equal([BigInt(Status.Hung), 1n, false, false, false]);
    expect(await calls()).to.equal(1n);
  });

  it("SE3: is found again only with the unchanged earlier rounds", async () => {
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
      await expect(world.settlement.committeeOf(request, asked.round, { seedBlock, header, past: history }))
        .to.be.revertedWithCustomError(oracle, "WitnessMismatch")
        .withArgs(request.id);
    }
    const seed = { seedBlock, header, past };
    await expect(world.settlement.committeeOf(request, one.round, seed)).to.be.revertedWithCustomError(
      oracle,
      "WitnessMismatch",
    );
    expect(await world.settlement.committeeOf(request, asked.round, seed)).to.have.length(4);
  });

  it("SE3: leaves no agent out of the committee that takes its place, nor of larger ones; those leave out the last one of each size", async () => {
    const { world, askFor, appealed } = await loadFixture(sixtyAgents);
    /** Draws the round, and returns the committee that the registry draws without these agents. */
    const expected = async (asked: Asked, excluded: readonly bigint[]): Promise<readonly bigint[]> => {
      // Member 13 of the header is mixHash.
      const prevRandao = decodeRlp(await mineSeed(world, asked.seedBlock))[13];
      const values = [prevRandao, asked.request.id, asked.attempt];
      const seed = keccak256(AbiCoder.defaultAbiCoder().encode(["bytes32", "uint256", "uint32"], values));
      const { length } = (await draw(world, asked)).committee;
      return [...(await world.registry.committee(seed, asked.seedBlock / epochBlocks, length, excluded))];
    };
    const sittingIn = ({ rounds }: Committed, index: number): readonly bigint[] => agentsOf(rounds[index]!.committee);
    const first = await decide(world, await askFor({ committeeSize: 4, retries: 2, appeals: 2 }), hung);
    expect(await expected(first.reopened!, [])).to.deep.equal(
      (await draw(world, first.reopened!)).committee.map(BigInt),
    );
    const second = await decide(world, first.reopened!);
    const third = await appealed(second);
    const reviewed = sittingIn(second, 1);
    expect(await expected(third, reviewed)).to.deep.equal((await draw(world, third)).committee.map(BigInt));
    const fourth = await decide(world, third, hung);
    expect(await expected(fourth.reopened!, reviewed)).to.deep.equal(
      (await draw(world, fourth.reopened!)).committee.map(BigInt),
    );
    const fifth = await decide(world, fourth.reopened!);
    const last = await appealed(fifth);
    const both = [...reviewed, ...sittingIn(fifth, 3)];
    expect(await expected(last, both)).to.deep.equal((await draw(world, last)).committee.map(BigInt));
  });

  it("SE4: is provisional if no retries but appeals are left", async () => {
    const { world, oracle, askFor, appealed, calls } = await loadFixture(sixtyAgents);
    const first = await decide(world, await askFor({ retries: 1, appeals: 1 }), hung);
    const second = await decide(world, first.reopened!, hung);
    expect(second.reopened).to.equal(null);
    expect(await oracle.statusOf(first.request.id)).to.deep.equal([BigInt(Status.Hung), 1n, true, false, false]);
    const third = await decide(world, await appealed(second));
    expect(await oracle.statusOf(first.request.id)).to.deep.equal([BigInt(Status.Decided), 2n, false, false, false]);
    expect(isDisjoint(third.rounds.slice(1).map(({ committee }) => committee))).to.equal(true);
    expect(third.rounds.map(({ committee }) => committee.length)).to.deep.equal([4, 4, 9]);
    expect(await calls()).to.equal(1n);
  });

  it("SE4: uses each retry once, before or after an appeal", async () => {
    const { world, oracle, askFor, appealed } = await loadFixture(sixtyAgents);
    const first = await decide(world, await askFor({ retries: 1, appeals: 1 }));
    const second = await decide(world, await appealed(first), hung);
    const third = await decide(world, second.reopened!, hung);
    expect(third.rounds.map(({ committee }) => committee.length)).to.deep.equal([4, 9, 9]);
    expect(await oracle.statusOf(first.request.id)).to.deep.equal([BigInt(Status.Hung), 2n, false, false, false]);
  });
});

describe("a provisional decision", () => {
  it("SE6: can be finalized and delivered by any account after its deadline, once", async () => {
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

  it("SE7: can be delivered again if the callback failed after it became final", async () => {
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
      const bond = bondAfter(terms, 0, freeTokens);
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
      expect(await bondOf(world, second)).to.equal(bondAfter(terms, 1, freeTokens));
      const last = await draw(world, await appealed(second));
      expect(await calls()).to.equal(0n);
      const third = await commit(world, last);
      expect(await oracle.statusOf(id)).to.deep.equal([BigInt(Status.Decided), 2n, false, false, false]);
      expect(await calls()).to.equal(1n);
      const committees = third.rounds.map(({ committee }) => committee);
      expect(committees.map(({ length }) => length)).to.deep.equal([4, 9, 19]);
      // An eighth of 60 agents are seven: the four of the first committee are left out, and seven of the 13 of the first two.
      expect(isDisjoint(committees.slice(0, 2))).to.equal(true);
    });
  }

  it("SE5: costs exactly the bond", async () => {
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

  it("SE5: is possible up to the second of the deadline and not after", async () => {
    const { world, oracle, askFor } = await loadFixture(sixtyAgents);
    const committed = await decide(world, await askFor({ appeals: 1 }));
    const { deadline } = unpackRound(committed.rounds[0]!.round);
    const snapshot = await networkHelpers.takeSnapshot();
    await time.setNextBlockTimestamp(deadline + 1);
    await expect(oracle.appeal(...latestOf(committed)))
      .to.be.revertedWithCustomError(oracle, "DeadlinePassed")
      .withArgs(committed.request.id, deadline);
    await snapshot.restore();
    await time.setNextBlockTimestamp(deadline);
    await oracle.appeal(...latestOf(committed));
  });

  it("SE5: must name the decision on record", async () => {
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
