import { expect } from "chai";
import { toUtf8Bytes, type ContractTransactionReceipt } from "ethers";
import hre from "hardhat";

import { ask, decide, passDeadline, refundArgs, replace, termsFor, type Asked } from "../support/contracts/course.ts";
import { Currency, Status, packTerms } from "../support/contracts/typed-data.ts";
import {
  anyAmount,
  deployWorld,
  epochBlocks,
  findEvent,
  mineTo,
  registerAgents,
  subscription,
  subscriptionFunds,
  type World,
} from "../support/contracts/world.ts";
import { Books, currencies } from "./utils/money.ts";

const { ethers, networkHelpers } = await hre.network.create();
const { loadFixture } = networkHelpers;
const fee = 10n ** 18n;

async function tenAgents() {
  const world = await deployWorld(ethers);
  await registerAgents(world, 10);
  const [, stranger, asker] = await ethers.getSigners();
  await world.token.mint(asker!.address, 10n * fee);
  await world.token.connect(asker!).approve(world.oracle.target, 10n * fee);
  return { world, oracle: world.oracle, stranger: stranger!, asker: asker! };
}

/** Makes the next transaction land so many blocks before the seed block. */
const comeTo = (world: World, { seedBlock }: Asked, blocksBefore: bigint): Promise<void> =>
  mineTo(world, seedBlock - blocksBefore - 1n);

describe("cancel", () => {
  it("SE23: gives the consumer the whole fee back until six blocks before the seed block", async () => {
    const { world, oracle } = await loadFixture(tenAgents);
    for (const blocksBefore of [7n, 6n]) {
      const asked = await ask(world);
      const { id, consumer } = asked.request;
      await comeTo(world, asked, blocksBefore);
      const receipt: ContractTransactionReceipt = await (await oracle.cancel(...refundArgs(asked))).wait();
      expect(BigInt(receipt.blockNumber)).to.equal(asked.seedBlock - blocksBefore);
      const events = receipt.logs.map((log) => oracle.interface.parseLog(log)!);
      expect(events.map(({ name, args }) => [name, ...args])).to.deep.equal([
        ["RequestCancelled", id],
        ["RequestRefunded", id],
        ["FeeRefunded", id, consumer, fee],
      ]);
      expect(await oracle.statusOf(id)).to.deep.equal([BigInt(Status.Refunded), 0n, false, false, true]);
    }
    expect((await oracle.subscriptionOf(subscription)).tokenBalance).to.equal(subscriptionFunds);
  });

  it("SE23: is refused five blocks before the seed block, and from then on", async () => {
    const { world, oracle } = await loadFixture(tenAgents);
    const asked = await ask(world);
    for (const blocksBefore of [5n, 3n, 2n, 1n, 0n, -1n]) {
      await comeTo(world, asked, blocksBefore);
      await expect(oracle.cancel(...refundArgs(asked)))
        .to.be.revertedWithCustomError(oracle, "TooLateToCancel")
        .withArgs(asked.request.id, 0, asked.seedBlock);
    }
    await decide(world, asked);
  });

  it("SE23: is refused for all requests that share a seed block, so nobody keeps those whose committee it likes", async () => {
    const { world, oracle } = await loadFixture(tenAgents);
    await mineTo(world, (BigInt(await ethers.provider.getBlockNumber()) / epochBlocks + 1n) * epochBlocks + 7n);
    const asked: Asked[] = [];
    for (let count = 0; count < 24; count++) asked.push(await ask(world));
    expect(new Set(asked.map(({ seedBlock }) => seedBlock)).size).to.equal(1);
    const { seedBlock } = asked[0]!;
    const [kept, ...others] = asked;
    await mineTo(world, seedBlock - 6n);
    await ethers.provider.send("evm_setAutomine", [false]);
    const sent = [];
    for (const one of others) sent.push(await oracle.cancel(...refundArgs(one), { gasLimit: 150_000n }));
    await ethers.provider.send("hardhat_mine", ["0x1"]);
    await ethers.provider.send("evm_setAutomine", [true]);
    for (const { hash } of sent) {
      const receipt = await ethers.provider.getTransactionReceipt(hash);
      expect([BigInt(receipt!.blockNumber), receipt!.status]).to.deep.equal([seedBlock - 5n, 0]);
    }
    await decide(world, kept!);
  });

  it("SE23: is for the first attempt alone", async () => {
    const { world, oracle } = await loadFixture(tenAgents);
    const second = await replace(world, await ask(world, { retries: 1 }));
    await expect(oracle.cancel(...refundArgs(second)))
      .to.be.revertedWithCustomError(oracle, "TooLateToCancel")
      .withArgs(second.request.id, 1, second.seedBlock);
  });

  it("SE23: is for the consumer alone, with what its request stands at", async () => {
    const { world, oracle, stranger } = await loadFixture(tenAgents);
    const asked = await ask(world);
    const [request, round, seedBlock] = refundArgs(asked);
    await expect(oracle.connect(stranger).cancel(request, round, seedBlock))
      .to.be.revertedWithCustomError(oracle, "NotConsumerOf")
      .withArgs(request.id, stranger.address);
    const claimed = { ...request, consumer: stranger.address };
    await expect(oracle.connect(stranger).cancel(claimed, round, seedBlock))
      .to.be.revertedWithCustomError(oracle, "WitnessMismatch")
      .withArgs(request.id);
    await expect(oracle.cancel(request, round, seedBlock + 1n)).to.be.revertedWithCustomError(
      oracle,
      "WitnessMismatch",
    );
    await expect(oracle.cancel({ ...request, id: 99n }, round, seedBlock))
      .to.be.revertedWithCustomError(oracle, "WrongStatus")
      .withArgs(99n, Status.None);
  });

  it("SE23: ends the request once and for all", async () => {
    const { world, oracle } = await loadFixture(tenAgents);
    const asked = await ask(world, { retries: 1, callbackGasLimit: 100_000 });
    await oracle.cancel(...refundArgs(asked));
    await passDeadline(world, asked.round);
    for (const end of [oracle.cancel, oracle.refund, oracle.replace]) {
      await expect(end(...refundArgs(asked)))
        .to.be.revertedWithCustomError(oracle, "WrongStatus")
        .withArgs(asked.request.id, Status.Refunded);
    }
  });

  for (const currency of currencies) {
    const name = currency === Currency.Token ? "tokens" : "coins";

    it(`SE14, SE23: in ${name} gives a direct payer a credit, and its next request has an id of its own`, async () => {
      const { world, oracle, asker } = await loadFixture(tenAgents);
      const books = new Books(world, [asker.address, world.deployer.address]);
      const value = currency === Currency.Native ? fee : 0n;
      const terms = packTerms(termsFor({ currency }));
      const by = () => oracle.connect(asker).request(0, terms, toUtf8Bytes("?"), { value });
      const first = await ask(world, {}, "?", by);
      await oracle.connect(asker).cancel(...refundArgs(first));
      await books.expectBalanced();
      expect(await oracle.creditOf(asker.address, currency)).to.equal(fee);
      const second = await ask(world, {}, "?", by);
      expect(second.request.id).to.equal(first.request.id + 1n);
      await expect(
        oracle.connect(asker).cancel(second.request, first.round, first.seedBlock),
      ).to.be.revertedWithCustomError(oracle, "WitnessMismatch");
    });
  }

  it("SE17: does not raise the allowance of the consumer", async () => {
    const { world, oracle, asker } = await loadFixture(tenAgents);
    await oracle.setConsumer(subscription, asker.address, fee, 0n);
    const terms = packTerms(termsFor());
    const by = () => oracle.connect(asker).request(subscription, terms, toUtf8Bytes("?"));
    const asked = await ask(world, {}, "?", by);
    await oracle.connect(asker).cancel(...refundArgs(asked));
    await expect(by()).to.be.revertedWithCustomError(oracle, "NotConsumer");
  });

  it("SE23: works for a contract, which is not called back", async () => {
    const { world, oracle } = await loadFixture(tenAgents);
    const consumer = await ethers.deployContract("HostileConsumer", [oracle.target]);
    await oracle.setConsumer(subscription, consumer.target, anyAmount, anyAmount);
    const terms = termsFor({ callbackGasLimit: 200_000 });
    const by = (_: string, question: Uint8Array) => consumer.getFunction("ask").send(subscription, terms, question);
    const asked = await ask(world, {}, "?", by);
    await expect(oracle.cancel(...refundArgs(asked))).to.be.revertedWithCustomError(oracle, "NotConsumerOf");
    const receipt = (await (await consumer.getFunction("cancel").send(...refundArgs(asked))).wait())!;
    expect(findEvent(oracle, receipt, "FeeRefunded").args["amount"]).to.equal(fee);
    expect(await consumer.getFunction("calls")()).to.equal(0n);
  });
});
