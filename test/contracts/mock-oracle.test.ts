// One suite plays every end of a request on `MockDecisionOracle` and on the oracle, so that the mock cannot drift.
import { expect } from "chai";
import { id as hashText, toBeHex, toUtf8Bytes } from "ethers";
import hre from "hardhat";

import { refundArgs, termsFor, unanswerable } from "../support/contracts/course.ts";
import { Currency, Status, packTerms, type Terms } from "../support/contracts/typed-data.ts";
import { freeTokens } from "../support/contracts/world.ts";
import {
  Mode,
  coin,
  confidence,
  costOf,
  early,
  misbehave,
  no,
  record,
  seen,
  told,
  unknown,
  yes,
  type End,
} from "./utils/play.ts";
import { testedOracles, type Answer } from "./utils/tested-oracle.ts";

const { ethers, networkHelpers } = await hre.network.create();
const { loadFixture } = networkHelpers;

const { mockFixture, realFixture, oracles } = testedOracles(ethers);

const text: Answer = { value: 0n, text: "clause 7", outcome: hashText("clause 7"), confidence };
const decisions: readonly (readonly [name: string, Partial<Terms>, Answer])[] = [
  ["a boolean", {}, yes],
  ["another boolean", {}, no],
  ["a choice", { kind: 1, options: 3 }, { value: 2n, text: "C", confidence }],
  ["a number", { kind: 2, decimals: 2 }, { value: -250n, text: "-2.5", confidence }],
  ["a small number", { kind: 2, decimals: 18 }, { value: 1_000n, text: "0.000000000000001", confidence }],
  ["the least number", { kind: 2 }, { value: -(2n ** 255n), text: `-${2n ** 255n}`, confidence }],
  ["the number 0", { kind: 2, decimals: 3 }, { value: 0n, text: "0", confidence }],
  ["a round number", { kind: 2, decimals: 1 }, { value: 1_000n, text: "100", confidence: 0 }],
  ["a text", { kind: 3 }, text],
  ["policies", { kind: 4, options: 4 }, { value: 0b1010n, text: "B,D", confidence: 1_000_000 }],
  ["an answer that nobody appeals against", { appeals: 2 }, yes],
  ["an answer after no retries", { retries: 2 }, yes],
  ["an answer that is sure enough", { appeals: 1, finality: 90 }, yes],
  ["an answer that the larger committees confirm", { appeals: 2, finality: 91 }, yes],
  ["that there is no answer", {}, unknown],
  ["that there is no text", { kind: 3 }, unknown],
  ["that there is no number", { kind: 2, appeals: 1 }, unknown],
  ["that it is too early", {}, early],
  ["that it is too early, with one retry left", { retries: 1 }, early],
  ["that it is too early, as the larger committees confirm", { appeals: 2, finality: 91 }, early],
  ["the number that has the outcome of a non-answer", { kind: 2 }, { value: -1n, text: "-1", confidence }],
];

for (const [name, fixture] of oracles) {
  describe(`a request to ${name}`, () => {
    for (const [what, terms, answer] of decisions) {
      it(`is decided: ${what}`, async () => {
        const tested = await loadFixture(fixture);
        const asked = await record(tested, terms);
        await tested.decide(asked, answer);
        const { received, status } = await seen(tested, asked);
        const ended = answer.status ?? Status.Decided;
        expect(received).to.equal(told(tested, asked, ended, answer));
        expect(status[0]).to.equal(BigInt(ended));
        expect(status.slice(2)).to.deep.equal([false, false, true]);
      });
    }

    it("hangs, with all retries", async () => {
      const tested = await loadFixture(fixture);
      const asked = await record(tested, { retries: 2 });
      await tested.hang(asked);
      const { received, status } = await seen(tested, asked);
      expect(received).to.equal(told(tested, asked, Status.Hung));
      expect(status).to.deep.equal([BigInt(Status.Hung), 2n, false, false, true]);
    });

    it("gets no answer in time: its fee comes back", async () => {
      const tested = await loadFixture(fixture);
      const before = (await tested.world.oracle.subscriptionOf(tested.subscription)).tokenBalance as bigint;
      const asked = await record(tested, { retries: 1 });
      await tested.expire(asked);
      expect(await seen(tested, asked)).to.deep.equal({
        received: told(tested, asked, Status.Refunded),
        status: [BigInt(Status.Refunded), 1n, false, false, true],
        tokens: before,
      });
    });

    it("is told nothing while an appeal is possible, then the answer", async () => {
      const tested = await loadFixture(fixture);
      const asked = await record(tested, { appeals: 1 });
      await tested.decideProvisionally(asked, yes);
      const provisional = await seen(tested, asked);
      expect(provisional.received).to.equal("0x");
      expect(provisional.status).to.deep.equal([BigInt(Status.Decided), 0n, true, false, false]);
      await tested.passAppealPeriod(asked);
      const final = await seen(tested, asked);
      expect(final.received).to.equal(told(tested, asked, Status.Decided, yes));
      expect(final.status).to.deep.equal([BigInt(Status.Decided), 0n, false, false, true]);
    });

    it("is overturned: the consumer gets the last answer alone", async () => {
      const tested = await loadFixture(fixture);
      const asked = await record(tested, { appeals: 2 });
      await tested.decideProvisionally(asked, yes);
      await tested.overturn(asked, no);
      const { received, status } = await seen(tested, asked);
      expect(received).to.equal(told(tested, asked, Status.Decided, no));
      expect(status).to.deep.equal([BigInt(Status.Decided), 1n, false, false, true]);
    });

    for (const mode of ["Revert", "BurnGas", "RevertBomb"] as const) {
      it(`ends although the callback fails by ${mode}, and anybody can repeat it`, async () => {
        const tested = await loadFixture(fixture);
        const asked = await misbehave(tested, Mode[mode]);
        await tested.decide(asked, yes);
        expect((await seen(tested, asked)).status).to.deep.equal([BigInt(Status.Decided), 0n, false, true, true]);
        await expect(tested.redeliver(asked)).to.be.revertedWithCustomError(tested.world.oracle, "CallbackStillFails");
        await tested.hostile.getFunction("setMode")(Mode.Accept);
        await expect(tested.redeliver(asked)).to.emit(tested.world.oracle, "CallbackSucceeded");
        expect(await tested.hostile.getFunction("calls")()).to.equal(1n);
        await expect(tested.redeliver(asked)).to.be.revertedWithCustomError(tested.world.oracle, "CallbackNotPending");
      });

      it(`is refunded although the callback fails by ${mode}, and nobody repeats it`, async () => {
        const tested = await loadFixture(fixture);
        const asked = await misbehave(tested, Mode[mode]);
        await expect(tested.expire(asked)).to.emit(tested.world.oracle, "RefundCallbackFailed");
        expect((await seen(tested, asked)).status).to.deep.equal([BigInt(Status.Refunded), 0n, false, false, true]);
      });
    }

    it("gives the callback all its gas, or reverts", async () => {
      const tested = await loadFixture(fixture);
      const asked = await misbehave(tested, Mode.Accept, { callbackGasLimit: 1_000_000 });
      await expect(tested.decide(asked, yes, { gasLimit: 1_000_000 })).to.be.revertedWithCustomError(
        tested.world.oracle,
        "InsufficientCallbackGas",
      );
      await tested.decide(asked, yes, { gasLimit: 1_600_000 });
      expect(await tested.hostile.getFunction("calls")()).to.equal(1n);
    });

    it("makes no callback for a consumer that wants none", async () => {
      const tested = await loadFixture(fixture);
      const asked = await misbehave(tested, Mode.Revert, { callbackGasLimit: 0 });
      await tested.decide(asked, yes);
      expect((await seen(tested, asked)).status).to.deep.equal([BigInt(Status.Decided), 0n, false, false, true]);
    });

    it("shows its final state to the callback, which can end nothing again", async () => {
      const tested = await loadFixture(fixture);
      const { oracle } = tested.world;
      const asked = await misbehave(tested, Mode.Reenter, { callbackGasLimit: 1_000_000 });
      const data = oracle.interface.encodeFunctionData("statusOf", [asked.request.id]);
      await tested.hostile.getFunction("setReentry")(oracle.target, data);
      await tested.decide(asked, yes);
      const within = await tested.hostile.getFunction("reentryResult")();
      expect(oracle.interface.decodeFunctionResult("statusOf", within)).to.deep.equal(
        await oracle.statusOf(asked.request.id),
      );
    });

    it("can be cancelled by its consumer, with its whole fee, for two blocks", async () => {
      const tested = await loadFixture(fixture);
      const { oracle } = tested.world;
      const before = (await oracle.subscriptionOf(tested.subscription)).tokenBalance as bigint;
      const asked = await misbehave(tested, Mode.Accept);
      const args = refundArgs(asked);
      const cancel = () => tested.hostile.getFunction("cancel")(...args);
      const other = tested.hostile.getFunction("cancel").staticCall(args[0], args[1], asked.seedBlock + 1n);
      await expect(other).to.be.revertedWithCustomError(oracle, "WitnessMismatch");
      await expect(oracle.cancel(...args)).to.be.revertedWithCustomError(oracle, "NotConsumerOf");
      await cancel();
      const { status, tokens } = await seen(tested, asked);
      expect([status, tokens]).to.deep.equal([[BigInt(Status.Refunded), 0n, false, false, true], before]);
      expect(await tested.hostile.getFunction("calls")()).to.equal(0n);
      await expect(cancel()).to.be.revertedWithCustomError(oracle, "WrongStatus");
      const late = refundArgs(await misbehave(tested, Mode.Accept));
      await networkHelpers.mineUpTo(late[2] - 6n);
      await expect(tested.hostile.getFunction("cancel")(...late)).to.be.revertedWithCustomError(
        oracle,
        "TooLateToCancel",
      );
    });

    it("is refused for wrong terms, questions and payments", async () => {
      const tested = await loadFixture(fixture);
      const { oracle } = tested.world;
      const refused = async (
        error: string,
        overrides: Partial<Terms>,
        question = "Is it?",
        payer = tested.subscription,
      ) =>
        expect(
          oracle.request(payer, packTerms(termsFor(overrides)), toUtf8Bytes(question)),
        ).to.be.revertedWithCustomError(oracle, error);
      await refused("QuestionIsEmpty", {}, "");
      await refused("QuestionTooLong", {}, "x".repeat(8193));
      await refused("InvalidTerms", { duration: 1 });
      await refused("InvalidTerms", { kind: 5 });
      await refused("NotConsumer", {}, "Is it?", 99n);
      await refused("InsufficientFunds", { fee: 2n ** 80n - 1n });
      await oracle.setPrices(Currency.Token, { ...freeTokens, unitPrice: coin });
      await refused("FeeTooLow", { fee: 8n * coin - 1n });
      await oracle.pauseRequests(Currency.Token);
      await refused("RequestsArePaused", { fee: 8n * coin });
    });

    it("stores its outcome for contracts that read it, once it is final", async () => {
      const tested = await loadFixture(fixture);
      const asked = await record(tested, { appeals: 1 });
      await tested.decideProvisionally(asked, yes);
      const settlement = await ethers.getContractAt("ISettlement", await tested.world.oracle.settlement());
      await expect(tested.storeOutcome(asked)).to.be.revertedWithCustomError(
        tested.world.oracle,
        "DecisionIsProvisional",
      );
      await tested.passAppealPeriod(asked);
      const stored = settlement.getFunction("storedOutcome");
      expect((await stored(asked.request.id)).status).to.equal(BigInt(Status.None));
      await tested.storeOutcome(asked);
      const expected = [BigInt(Status.Decided), 0n, BigInt(confidence), toBeHex(1, 32)];
      expect(await stored(asked.request.id)).to.deep.equal(expected);
    });
  });
}

describe("what a request costs, and its attempts", () => {
  const ends: readonly (readonly [name: string, Partial<Terms>, End])[] = [
    ["a decision", {}, (tested, asked) => tested.decide(asked, yes)],
    [
      "a decision with unused retries and appeals",
      { appeals: 2, retries: 1 },
      (tested, asked) => tested.decide(asked, yes),
    ],
    ["larger committees", { appeals: 2, finality: 95 }, (tested, asked) => tested.decide(asked, yes)],
    ["committees that hang", { retries: 2 }, (tested, asked) => tested.hang(asked)],
    ["silence", { retries: 2 }, (tested, asked) => tested.expire(asked)],
    [
      "an overturned decision",
      { appeals: 2 },
      async (tested, asked) => {
        await tested.decideProvisionally(asked, yes);
        await tested.overturn(asked, no);
      },
    ],
  ];
  for (const [name, terms, end] of ends) {
    it(`is the same on both: ${name}`, async () => {
      const mock = await costOf(await loadFixture(mockFixture), terms, end);
      const real = await costOf(await loadFixture(realFixture), terms, end);
      expect(mock).to.deep.equal(real);
      expect(mock.spent > 0n).to.equal(name !== "silence");
    });
  }

  it("is paid in coins, too", async () => {
    for (const [, fixture] of oracles) {
      const tested = await loadFixture(fixture);
      const terms = { currency: Currency.Native, fee: coin };
      const asked = await record(tested, terms);
      const held = (await tested.world.oracle.subscriptionOf(tested.subscription)).nativeBalance as bigint;
      await tested.expire(asked);
      expect((await tested.world.oracle.subscriptionOf(tested.subscription)).nativeBalance).to.equal(held + coin);
    }
  });
});

describe("MockDecisionOracle", () => {
  it("lets the next callback run out of gas, and no other", async () => {
    const tested = await loadFixture(mockFixture);
    const { oracle } = tested.world;
    const [first, second] = [await record(tested), await record(tested)];
    await oracle.getFunction("failNextCallback")();
    await tested.decide(first, yes);
    expect((await oracle.statusOf(first.request.id)).callbackPending).to.equal(true);
    await tested.decide(second, yes);
    expect((await oracle.statusOf(second.request.id)).callbackPending).to.equal(false);
    await tested.redeliver(first);
    expect(await tested.recorder.getFunction("received")()).to.equal(told(tested, first, Status.Decided, yes));
  });

  it("refuses answers that no committee could certify", async () => {
    const tested = await loadFixture(mockFixture);
    const { oracle } = tested.world;
    const refused = async (terms: Partial<Terms>, name: string, args: readonly unknown[], field: string) => {
      const { request } = await record(tested, terms);
      await expect(oracle.getFunction(name)(request.id, ...args))
        .to.be.revertedWithCustomError(oracle, "InvalidDecision")
        .withArgs(ethers.encodeBytes32String(field), (value: unknown) => value !== undefined);
    };
    await refused({}, "decide", [2, 0], "outcome");
    await refused({}, "decide", [-1, 0], "outcome");
    await refused({}, "decide", [1, 1_000_001], "confidence");
    await refused({ kind: 1, options: 3 }, "decide", [3, 0], "outcome");
    await refused({ kind: 4, options: 3 }, "decide", [0, 0], "outcome");
    await refused({ kind: 4, options: 3 }, "decide", [8, 0], "outcome");
    await refused({ kind: 3 }, "decide", [1, 0], "outcome");
    await refused({}, "decideText", ["yes", 0], "outcome");
    await refused({ kind: 3 }, "decideText", ["x".repeat(1025), 0], "answer");
    await refused({ kind: 3 }, "decideText", ["x", 1_000_001], "confidence");
    for (const status of [Status.Requested, Status.Decided, Status.Hung, Status.Refunded])
      await refused({}, "decideNonAnswer", [status, 0], "status");
    await refused({ nonAnswers: 1 }, "decideNonAnswer", [Status.TooEarly, 0], "status");
    await refused({ nonAnswers: 1 }, "decideNonAnswer", [Status.Unanswerable, 0], "status");
    await refused({}, "decideNonAnswer", [Status.Unanswerable, 1_000_001], "confidence");
    await refused({ nonAnswers: 1, appeals: 1 }, "decideNonAnswerProvisionally", [Status.TooEarly, 0], "status");
  });

  it("ends a request once, and names the status that is in the way", async () => {
    const tested = await loadFixture(mockFixture);
    const { oracle } = tested.world;
    const call = (name: string, ...args: unknown[]) => oracle.getFunction(name)(...args);
    const { request } = await record(tested);
    await call("decide", request.id, 1, 0);
    for (const [name, ...args] of [
      ["decide", 1, 0],
      ["decideText", "x", 0],
      ["decideNonAnswer", Status.TooEarly, 0],
      ["decideProvisionally", 1, 0],
      ["decideNonAnswerProvisionally", Status.TooEarly, 0],
      ["hang"],
      ["expire"],
    ])
      await expect(call(name as string, request.id, ...args))
        .to.be.revertedWithCustomError(oracle, "WrongStatus")
        .withArgs(request.id, Status.Decided);
    for (const [name, ...args] of [["overturn", 0, 0], ["passAppealPeriod"]])
      await expect(call(name as string, request.id, ...args))
        .to.be.revertedWithCustomError(oracle, "DecisionIsFinal")
        .withArgs(request.id);
    const open = (await record(tested)).request;
    for (const name of ["overturn", "passAppealPeriod", "storeOutcome"])
      await expect(call(name, open.id, ...(name === "overturn" ? [0, 0] : [])))
        .to.be.revertedWithCustomError(oracle, "WrongStatus")
        .withArgs(open.id, Status.Requested);
    await expect(call("decideProvisionally", open.id, 1, 0)).to.be.revertedWithCustomError(oracle, "NotAppealable");
    const final = (await record(tested, { appeals: 1, finality: 50 })).request;
    await expect(call("decideProvisionally", final.id, 1, 0)).to.be.revertedWithCustomError(oracle, "NotAppealable");
    const appealable = (await record(tested, { appeals: 1 })).request;
    await call("decideProvisionally", appealable.id, 1, 0);
    await expect(call("overturn", appealable.id, 1, 0))
      .to.be.revertedWithCustomError(oracle, "SameAnswer")
      .withArgs(appealable.id, toBeHex(1, 32));
    const number = (await record(tested, { kind: 2, appeals: 1 })).request;
    await call("decideNonAnswerProvisionally", number.id, Status.Unanswerable, 0);
    await expect(call("overturnByNonAnswer", number.id, Status.Unanswerable, 0))
      .to.be.revertedWithCustomError(oracle, "SameAnswer")
      .withArgs(number.id, unanswerable.outcome);
    await call("overturn", number.id, -1, 0);
    const again = (await record(tested, { appeals: 1, retries: 2 })).request;
    await expect(call("decideNonAnswerProvisionally", again.id, Status.TooEarly, 0))
      .to.be.revertedWithCustomError(oracle, "NotAppealable")
      .withArgs(again.id);
    await call("decideNonAnswerProvisionally", again.id, Status.Unanswerable, 0);
  });

  it("says of everything else that it is not mocked", async () => {
    const { world } = await loadFixture(mockFixture);
    const { oracle } = world;
    const functionsOf = async (name: string): Promise<readonly string[]> => {
      const { abi } = await hre.artifacts.readArtifact(name);
      return abi.flatMap((item) => (item.type === "function" ? [item.name] : []));
    };
    const accounts = await functionsOf("IAccounts");
    const mocked = ["request", "cancel", "statusOf", "stateOf", "settlement", "supportedProtocols", ...accounts];
    const others = (await functionsOf("IDecisionOracle")).filter((name) => !mocked.includes(name));
    expect(others).to.have.length(10);
    for (const name of others) {
      // Zeros are arguments of every type.
      const data = oracle.interface.getFunction(name)!.selector + "00".repeat(1024);
      await expect(world.deployer.sendTransaction({ to: oracle.target, data }), name).to.be.revertedWithCustomError(
        oracle,
        "NotMocked",
      );
    }
  });

  it("subscribes a consumer, with tokens and the coins that came along", async () => {
    const { world, hostile } = await loadFixture(mockFixture);
    const { oracle } = world;
    const subscribe = oracle.getFunction("subscribe");
    const id = await subscribe.staticCall(hostile.target);
    await subscribe(hostile.target, { value: 5n });
    const { tokenBalance, nativeBalance } = await oracle.subscriptionOf(id);
    expect([tokenBalance, nativeBalance]).to.deep.equal([2n ** 96n, 5n]);
    const token = await ethers.getContractAt("MockFeeToken", await oracle.feeToken());
    await hostile.getFunction("ask")(id, termsFor({ fee: 2n ** 80n - 1n }), toUtf8Bytes("Is it?"));
    expect((await oracle.subscriptionOf(id)).tokenBalance).to.equal(2n ** 96n - 2n ** 80n + 1n);
    expect(await token.getFunction("balanceOf")(oracle.target)).to.be.at.least(2n ** 96n);
  });

  it("lets anybody set prices", async () => {
    const { world } = await loadFixture(mockFixture);
    const [, stranger] = await ethers.getSigners();
    await world.oracle.connect(stranger!).setPrices(Currency.Token, { ...freeTokens, unitPrice: 7n });
    expect(await world.oracle.quote(packTerms(termsFor()))).to.equal(56n);
  });

  it("fits into the 24,576 bytes that a chain takes", async () => {
    const { world } = await loadFixture(mockFixture);
    expect((await ethers.provider.getCode(world.oracle.target)).length / 2 - 1).to.be.below(24_576);
  });
});
