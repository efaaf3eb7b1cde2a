import assert from "node:assert/strict";
import { awaitedOf } from "../../agents/core/request/progress.ts";
import { after, before, describe, it } from "node:test";

import { tokenAbi } from "@conclave/contracts/abi";
import { appealUnitOf } from "../../agents/adapters/chain/prices.ts";
import { readChainTerms } from "../../agents/adapters/chain/terms.ts";
import { unpackRound } from "../../agents/core/request/rounds.ts";
import type { Address, Terms } from "../../agents/core/types.ts";
import { UNBOUNDED, type Asked, type OperatorActions } from "../../agents/ports/chain.ts";
import { createNodeHarness, ONE, type NodeHarness } from "./chain-node.ts";
import { progressNow, drawNext, lastOf, type Drawn } from "./chain-questions.ts";
import { rejects } from "./chain.suite.ts";
import { defaultTerms } from "../../agents/core/request/terms.ts";

const nobody = `0x${"11".repeat(20)}` as Address;

describe("chain: money at the oracle", () => {
  let harness: NodeHarness;
  before(async () => {
    harness = await createNodeHarness();
  });
  after(() => harness.stop());

  const termsOf = (change: Partial<Terms> = {}): Terms => defaultTerms({ fee: ONE, protocol: 1, ...change });

  const drawnFor = async (asker: OperatorActions, change: Partial<Terms>): Promise<Drawn> => {
    if (change.currency === "token") await harness.fund(asker.account, change.fee ?? ONE);
    const { requestId } = await asker.request(termsOf(change), "Is it so?");
    return drawNext(harness, requestId);
  };

  it("SE2: pays for a question with exactly its fee, in tokens that it approves or in coins", async () => {
    const operator = await harness.operator(10);
    await harness.fund(operator.account, 2n * ONE);
    const fee = 2n * ONE;
    const { requestId } = await operator.request(termsOf({ fee }), "Is it done?");
    assert.equal((await (await harness.reader()).requestState(requestId)).status, "requested");
    const token = { address: harness.deployment.token, abi: tokenAbi } as const;
    const { oracle } = harness.options;
    const account = operator.account;
    assert.equal(await harness.client.readContract({ ...token, functionName: "balanceOf", args: [account] }), 0n);
    const allowance = { ...token, functionName: "allowance", args: [account, oracle] } as const;
    assert.equal(await harness.client.readContract(allowance), 0n);
    const error = await rejects(operator.request(termsOf({ fee }), "And this?"), "BALANCE_TOO_LOW");
    assert.equal(error.data["required"], String(fee));
    assert.equal(await harness.client.readContract(allowance), 0n, "approved for what it cannot pay");

    const held = await harness.client.getBalance({ address: oracle });
    const inCoins = await operator.request(termsOf({ fee, currency: "native" }), "In coins?");
    assert.equal(await harness.client.getBalance({ address: oracle }), held + fee);
    const [event] = await (await harness.reader()).requestEvents(inCoins.requestId);
    assert.ok(event?.kind === "requested" && event.request.terms.currency === "native");
  });

  it("SE2: the unearned part of the fee is a credit, which its account withdraws", async () => {
    const operator = await harness.operator(13);
    const terms = termsOf({ fee: ONE, currency: "native", duration: 1_800 });
    const { requestId } = await operator.request(terms, "Will anybody answer?");
    const reader = await harness.reader();
    const progress = await progressNow(reader, requestId);
    const awaited = awaitedOf(progress);
    assert.ok(awaited !== null);
    await harness.passTime(1_900);
    await (await harness.writer(0)).refund(progress.request, awaited);
    await operator.withdraw("native", ONE, nobody);
    assert.equal(await harness.client.getBalance({ address: nobody }), ONE);
    await rejects(operator.withdraw("native", 1n, nobody), "BALANCE_TOO_LOW", "InsufficientCredit");
    await rejects(operator.withdraw("token", 1n, nobody), "BALANCE_TOO_LOW", "InsufficientCredit");
  });

  it("SE17: a subscription pays for its consumers in the currency of their request; its owner takes out the rest", async () => {
    const [owner, consumer] = await Promise.all([harness.operator(14), harness.operator(15)]);
    const { subscriptionId } = await owner.createSubscription();
    const ask = (change: Partial<Terms> = {}): Promise<Asked> =>
      consumer.request(termsOf({ fee: ONE, ...change }), "May I?", subscriptionId);
    const allowance = { token: ONE + 5n, native: UNBOUNDED };
    await rejects(ask(), "CHAIN_REVERTED", "NotConsumer");
    await rejects(
      consumer.setConsumer(subscriptionId, consumer.account, allowance),
      "CHAIN_REVERTED",
      "NotSubscriptionOwner",
    );
    await owner.setConsumer(subscriptionId, consumer.account, allowance);
    await rejects(ask(), "BALANCE_TOO_LOW", "InsufficientFunds");
    await harness.fund(owner.account, 3n * ONE);
    await owner.fund(subscriptionId, "token", 3n * ONE);
    await consumer.fund(subscriptionId, "native", 2n * ONE);
    const terms = await readChainTerms(harness.options);
    const shown = async (): Promise<unknown> => await terms.subscription(subscriptionId);
    const [first, second] = [await ask(), await ask({ currency: "native" })];
    assert.deepEqual([second.requestId - first.requestId, first.requestId >> 48n], [1n, BigInt(subscriptionId)]);
    const balance = { token: 2n * ONE, native: ONE };
    assert.deepEqual(await shown(), { owner: owner.account, pendingOwner: null, balance, requests: 2 });
    assert.deepEqual(await terms.allowance(subscriptionId, consumer.account), { token: 5n, native: UNBOUNDED });
    await rejects(ask({ fee: 6n }), "CHAIN_REVERTED", "AllowanceExceeded");
    await rejects(
      owner.withdrawFunds(subscriptionId, "native", 2n * ONE, nobody),
      "BALANCE_TOO_LOW",
      "InsufficientFunds",
    );
    await owner.withdrawFunds(subscriptionId, "token", 2n * ONE, nobody);
    const token = { address: harness.deployment.token, abi: tokenAbi } as const;
    assert.equal(await harness.client.readContract({ ...token, functionName: "balanceOf", args: [nobody] }), 2n * ONE);
    await owner.setConsumer(subscriptionId, consumer.account, { token: 5n, native: 0n });
    await rejects(ask({ currency: "native" }), "CHAIN_REVERTED", "NotConsumer");
    assert.equal(await terms.subscription(subscriptionId + 1), null);
    await rejects(owner.fund(subscriptionId + 1, "native", 1n), "SUBSCRIPTION_UNKNOWN");
  });

  it("SE17: a subscription passes to the account that it was offered to once that account accepts", async () => {
    const [owner, heir, other] = await Promise.all([harness.operator(14), harness.operator(15), harness.operator(16)]);
    const { subscriptionId } = await owner.createSubscription();
    const terms = await readChainTerms(harness.options);
    const owners = async (): Promise<unknown> => {
      const found = await terms.subscription(subscriptionId);
      return [found?.owner, found?.pendingOwner];
    };
    await owner.transferSubscription(subscriptionId, heir.account);
    assert.deepEqual(await owners(), [owner.account, heir.account]);
    await rejects(other.acceptSubscription(subscriptionId), "CHAIN_REVERTED", "NotPendingOwner");
    await owner.transferSubscription(subscriptionId, null);
    assert.deepEqual(await owners(), [owner.account, null]);
    await rejects(heir.acceptSubscription(subscriptionId), "CHAIN_REVERTED", "NotPendingOwner");
    await owner.transferSubscription(subscriptionId, heir.account);
    await heir.acceptSubscription(subscriptionId);
    assert.deepEqual(await owners(), [heir.account, null]);
    const again = owner.transferSubscription(subscriptionId, owner.account);
    await rejects(again, "CHAIN_REVERTED", "NotSubscriptionOwner");
  });

  it("SE5: an appellant pays exactly the bond, in the currency of the request", async () => {
    const operator = await harness.operator(16);
    for (const currency of ["token", "native"] as const) {
      const { request, awaited, certificate } = await drawnFor(operator, {
        currency,
        appeals: 1,
        fee: 26n * ONE,
      });
      await (await harness.writer(0)).commit(request, awaited, certificate);
      const last = await lastOf(await harness.reader(), request.id);
      const bond = await (await readChainTerms(harness.options)).bond(request, last.round);
      assert.equal(bond, 18n * ONE);
      // A committee of nine decided, at two units a seat.
      assert.equal(await (await readChainTerms(harness.options)).appealUnit(request.terms), bond / 18n);
      if (currency === "token") await rejects(operator.appeal(request, last), "BALANCE_TOO_LOW");
      if (currency === "token") await harness.fund(operator.account, bond);
      await operator.appeal(request, last);
      const { past } = await progressNow(await harness.reader(), request.id);
      assert.equal(past[0]?.appellant, operator.account);
    }
  });

  it("SE5: nobody approves a bond for an appeal that the oracle refuses", async () => {
    const operator = await harness.operator(18);
    const { request, awaited, certificate } = await drawnFor(operator, {
      currency: "token",
      appeals: 1,
      fee: 26n * ONE,
    });
    await (await harness.writer(0)).commit(request, awaited, certificate);
    const reader = await harness.reader();
    const last = await lastOf(reader, request.id);
    await harness.fund(operator.account, 18n * ONE);
    const unapproved = async (error: string): Promise<void> => {
      const refused = await rejects(operator.appeal(request, last), "CHAIN_REVERTED", error);
      assert.ok(refused.message.startsWith(`Appeal against the decision on request ${request.id}: `), refused.message);
      const { token: address, oracle } = harness.deployment;
      const args = [operator.account, oracle] as const;
      const allowance = { address, abi: tokenAbi, functionName: "allowance", args } as const;
      assert.equal(await harness.client.readContract(allowance), 0n);
    };
    await harness.passTime(unpackRound(last.round).deadline - (await reader.head()).timestamp + 1);
    await unapproved("DeadlinePassed");
    await (await harness.writer(0)).finalize(request, last);
    await unapproved("DecisionIsFinal");
  });

  it("SE5: a unit of an appeal costs what the fee pays above the quote, too, at most twice the list", () => {
    // 2 (4 + 9 + 19) units, and one for each seat of a retry.
    const terms = { committeeSize: 4, appeals: 2, retries: 1 };
    const unitOf = (above: bigint, unitPrice: bigint): bigint =>
      appealUnitOf({ ...terms, fee: 5_000n + above }, 5_000n, unitPrice);
    assert.deepEqual(
      [unitOf(0n, 10n), unitOf(82n, 10n), unitOf(83n, 10n), unitOf(830n, 10n), unitOf(8_300n, 10n)],
      [10n, 10n, 11n, 20n, 20n],
    );
    assert.equal(unitOf(8_300n, 0n), 100n);
  });

  it("SE13: finalizing sends enough gas for a first credit, which an estimate at gas price zero misses", async () => {
    const operator = await harness.operator(17);
    const terms = { currency: "token", appeals: 1, fee: 26n * ONE } as const;
    const { request, awaited, certificate } = await drawnFor(operator, terms);
    const [reader, writer] = [await harness.reader(), await harness.writer(0)];
    await writer.commit(request, awaited, certificate);
    const last = await lastOf(reader, request.id);
    await harness.passTime(unpackRound(last.round).deadline - (await reader.head()).timestamp + 5);
    const receipt = await writer.finalize(request, last);
    assert.ok(receipt !== "already");
    // All prices are zero, so nobody was credited.
    const { gas } = await harness.client.getTransaction({ hash: receipt.transactionHash });
    assert.ok(gas - receipt.gasUsed >= 25_000n, `${gas} of which ${receipt.gasUsed} were used`);
  });
});
