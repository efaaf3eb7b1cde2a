import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";

import { parseTransaction, toHex } from "viem";
import { agentRegistryAbi, decisionOracleAbi } from "@conclave/contracts/abi";
import { possessionDigest, provePossession } from "../../agents/adapters/chain/possession.ts";
import { connect } from "../../agents/adapters/chain/connection.ts";
import { createChainReader } from "../../agents/adapters/chain/reader.ts";
import { createSender } from "../../agents/adapters/chain/transactions.ts";
import { createChainWriter } from "../../agents/adapters/chain/writer.ts";
import { keysFromPrivateKey } from "../../agents/adapters/keystore/keys.ts";
import { hexToBytes, keccak256, utf8 } from "../../agents/core/encoding/bytes.ts";
import { packTerms } from "../../agents/core/encoding/words.ts";
import type { Address, AgentId, Ppm, Terms } from "../../agents/core/types.ts";
import { MIN_UNBONDING_SECONDS } from "../../scripts/deploy/settings.ts";
import { createNodeHarness, ONE, requestedIn, testKeys, type NodeHarness } from "./chain-node.ts";
import { asked, drawn } from "./chain-questions.ts";
import { assertOrdered, codesOf, rejects, startFollowing, stopFollowers } from "./chain.suite.ts";
import { until } from "../support/until.ts";
import { defaultTerms } from "../../agents/core/request/terms.ts";

const nobody = `0x${"11".repeat(20)}` as Address;

describe("chain: viem", () => {
  let harness: NodeHarness;
  before(async () => {
    harness = await createNodeHarness();
  });
  beforeEach(() => {
    harness.proxy.intercept = () => null;
  });
  after(async () => {
    await stopFollowers();
    await harness.stop();
  });

  const poll = { finalityDepth: 0, pollIntervalMs: 25 };
  const termsOf = (change: Partial<Terms> = {}): Terms => defaultTerms({ fee: ONE, protocol: 1, ...change });

  describe("start", () => {
    it("names both chain ids when they differ", async () => {
      const error = await rejects(createChainReader({ ...harness.options, ...poll, chainId: 1 }), "CHAIN_WRONG_ID");
      assert.deepEqual([error.data["expected"], error.data["found"]], [1, 31_337]);
    });

    it("names the contract that is missing", async () => {
      const oracle = await rejects(
        createChainReader({ ...harness.options, ...poll, oracle: nobody }),
        "CHAIN_NO_CONTRACT",
      );
      const registry = await rejects(
        createChainReader({ ...harness.options, ...poll, registry: nobody }),
        "CHAIN_NO_CONTRACT",
      );
      assert.deepEqual([oracle.data["contract"], registry.data["contract"]], ["oracle", "registry"]);
    });

    it("says which node does not answer, without the key in its URL", async () => {
      for (const rpcUrl of ["http://127.0.0.1:1/v3/secret-key", "no-url/secret-key"]) {
        const error = await rejects(createChainReader({ ...harness.options, ...poll, rpcUrl }), "CHAIN_UNREACHABLE");
        assert.match(error.message, /RPC node at (http:\/\/127\.0\.0\.1:1|an invalid URL) /);
        assert.doesNotMatch(`${error.message} ${String(error.cause)} ${JSON.stringify(error)}`, /secret-key/);
      }
    });
  });

  describe("follow", () => {
    it("delivers nothing that a reorg above the finality depth undid", async () => {
      await harness.mine(5);
      const reader = await harness.reader({ finalityDepth: 4 });
      const { request } = await asked(harness);
      const follower = startFollowing(reader, null);
      await harness.mine(1);
      await harness.client.request({ method: "anvil_reorg", params: [3, []] } as never);
      const later = await asked(harness);
      assert.equal(later.request.id, request.id, "the reorg did not undo the request");
      await harness.mine(5);
      await until(() => follower.of(request.id).length > 0);
      await follower.stop();
      assert.deepEqual(
        follower.of(request.id).map((event) => event.kind === "requested" && event.request.question),
        [later.request.question],
      );
      assert.deepEqual(follower.troubles, []);
      assertOrdered(follower.events);
    });

    it("tells the operator of a deeper reorg and goes on from the common ancestor", async () => {
      await harness.mine(5);
      const follower = startFollowing(await harness.reader(), null);
      const first = await asked(harness);
      await until(() => follower.of(first.request.id).length === 1);
      await harness.mine(1);
      const undone = await asked(harness);
      await until(() => follower.of(undone.request.id).length === 1);
      await harness.client.request({ method: "anvil_reorg", params: [2, []] } as never);
      const later = await asked(harness);
      await until(() => follower.of(later.request.id).length === 2);
      await follower.stop();
      assert.equal(later.request.id, undone.request.id, "the reorg did not undo the request");
      assert.equal(follower.of(first.request.id).length, 1);
      // The node removes blocks before it mines others, so a poll between the two finds it behind.
      const others = follower.troubles.filter(({ message }) => !/the node is at block \d+, before/.test(message));
      assert.deepEqual(new Set(codesOf(others)), new Set(["CHAIN_REORGED"]));
    });

    it("does not deliver events again that a deep reorg left unchanged", async () => {
      await harness.mine(1);
      const follower = startFollowing(await harness.reader(), null);
      const { number } = await harness.client.getBlock();
      await until(() => follower.cursor?.blockNumber === number);
      await harness.setReachable(false);
      await until(() => follower.troubles.length === 1);
      const { oracle } = harness.options;
      const args = [0, packTerms(termsOf({ fee: 0n })), toHex("Does it stay?")];
      const id = await requestedIn(harness.client, await harness.execute(oracle, decisionOracleAbi, "request", args));
      await harness.mine(2);
      await harness.setReachable(true);
      await until(() => follower.of(id).length === 1);
      await harness.reorganize(1);
      await until(() => codesOf(follower.troubles).includes("CHAIN_REORGED"));
      const { request } = await asked(harness);
      await until(() => follower.of(request.id).length === 1);
      await follower.stop();
      assert.deepEqual(new Set(codesOf(follower.troubles)), new Set(["CHAIN_UNREACHABLE", "CHAIN_REORGED"]));
      assert.equal(follower.of(id).length, 1);
      assertOrdered(follower.events);
    });

    it("loses no event to a node that is behind others at the same URL", async () => {
      await harness.mine(100);
      const reader = await harness.reader();
      const { request } = await asked(harness);
      const { hash, number } = await harness.client.getBlock();
      // Every call for logs reaches a node that lacks this block: it leaves its logs out of ranges, and refuses its hash.
      let isBehind = true;
      let refused = 0;
      harness.proxy.intercept = ({ method, params }) => {
        if (method !== "eth_getLogs" || !isBehind) return null;
        const { blockHash, toBlock } = (params?.[0] ?? {}) as { blockHash?: string; toBlock?: string };
        if (blockHash === undefined) return Number(toBlock) < number ? null : ({ result: [] } as never);
        if (blockHash !== hash) return null;
        refused += 1;
        return { error: { code: -32_000, message: "unknown block" } };
      };
      const follower = startFollowing(reader, null);
      await until(() => refused > 0);
      assert.deepEqual(follower.of(request.id), []);
      isBehind = false;
      await until(() => follower.of(request.id).length === 1);
      await follower.stop();
      assertOrdered(follower.events);
    });

    it("skips an event that it cannot use, says why, and goes on", async () => {
      const warnings: object[] = [];
      const logger = { info: () => {}, warn: (data: object) => void warnings.push(data) };
      const reader = await createChainReader({ ...harness.options, ...poll, logger });
      const unread = await asked(harness);
      const range = { address: harness.options.oracle, fromBlock: "0x0", toBlock: "latest" } as const;
      const logs: readonly object[] = await harness.client.request({ method: "eth_getLogs", params: [range] } as never);
      const broken = { ...logs.at(-1), data: "0x1234" };
      const { hash } = await harness.client.getBlock();
      harness.proxy.intercept = ({ method, params }) => {
        const { blockHash } = (params?.[0] ?? {}) as { readonly blockHash?: string };
        return method === "eth_getLogs" && blockHash === hash ? ({ result: [broken] } as never) : null;
      };
      const follower = startFollowing(reader, null);
      await until(() => warnings.length === 1);
      const { request } = await asked(harness);
      await until(() => follower.of(request.id).length === 1);
      await follower.stop();
      assert.ok("reason" in warnings[0]! && typeof warnings[0].reason === "string");
      assert.deepEqual(follower.of(unread.request.id), []);
    });

    it("halves its ranges until the node accepts them", async () => {
      await harness.mine(100);
      let refused = 0;
      harness.proxy.intercept = ({ method, params }) => {
        const { fromBlock, toBlock } = (params?.[0] ?? {}) as { fromBlock?: string; toBlock?: string };
        const isWide = toBlock !== undefined && Number(toBlock) - Number(fromBlock) >= 10;
        if (method !== "eth_getLogs" || !isWide) return null;
        refused += 1;
        return { error: { code: -32_602, message: "block range is too wide" } };
      };
      const reader = await harness.reader();
      const follower = startFollowing(reader, null);
      const { request } = await asked(harness);
      await until(() => follower.of(request.id).length === 1);
      await follower.stop();
      assert.ok(refused > 0);
      assert.deepEqual(follower.troubles, []);
      assertOrdered(follower.events);
      assert.equal((await reader.agents()).length >= testKeys.length, true);
    });
  });

  describe("transactions", () => {
    it("finds its transaction although the node's answer was lost", async () => {
      const { request, awaited, certificate } = await drawn(harness);
      let dropped = 0;
      const writer = await harness.writer(0);
      harness.proxy.intercept = ({ method }) =>
        method === "eth_sendRawTransaction" && (dropped += 1) === 1 ? "drop" : null;
      assert.notEqual(await writer.commit(request, awaited, certificate), "already");
      const events = await (await harness.reader()).requestEvents(request.id);
      assert.equal(events.filter(({ kind }) => kind === "decisionCommitted").length, 1);
    });

    it("does not submit a call again that was mined before its confirmation was lost", async () => {
      const { request, awaited, certificate } = await drawn(harness);
      const account = harness.accounts[5];
      assert.ok(account !== undefined);
      const patience = { receiptPollMs: 20, receiptTimeoutMs: 300 };
      const impatient = await createChainWriter({ ...harness.options, account, ...patience });
      harness.proxy.intercept = ({ method }) => (method === "eth_getTransactionReceipt" ? "drop" : null);
      assert.equal(await impatient.commit(request, awaited, certificate), "already");
      harness.proxy.intercept = () => null;
      assert.equal(await impatient.commit(request, awaited, certificate), "already");
      assert.equal(await harness.client.getTransactionCount({ address: account.address }), 1);
    });

    it("takes a receipt that tells neither success nor a revert for none", async () => {
      const account = harness.accounts[8];
      assert.ok(account !== undefined);
      const sender = createSender(await connect(harness.options), account, {
        receiptPollMs: 20,
        receiptTimeoutMs: 300,
      });
      harness.proxy.intercept = ({ method, params }) =>
        method === "eth_getTransactionReceipt"
          ? ({ result: { transactionHash: params[0], blockNumber: "0x1", logs: [] } } as never)
          : null;
      await rejects(sender.send({ to: nobody, data: "0x", doing: "Send nothing" }), "CHAIN_TIMEOUT");
    });

    it("replaces a stuck transaction with the same nonce and higher fees", async () => {
      const { request, awaited, certificate } = await drawn(harness);
      const account = harness.accounts[6];
      assert.ok(account !== undefined);
      const writer = await createChainWriter({ ...harness.options, account, receiptPollMs: 20, stuckAfterBlocks: 2 });
      const fees: bigint[] = [];
      harness.proxy.intercept = ({ method, params }) => {
        if (method !== "eth_sendRawTransaction") return null;
        const { nonce, maxFeePerGas } = parseTransaction(params[0] as `0x02${string}`);
        assert.equal(nonce ?? 0, 0);
        fees.push(maxFeePerGas ?? 0n);
        // The node accepts the first transaction and forgets it.
        return fees.length === 1 ? ({ result: `0x${"00".repeat(32)}` } as never) : null;
      };
      const committing = writer.commit(request, awaited, certificate);
      await until(() => fees.length === 1);
      await harness.mine(3);
      assert.notEqual(await committing, "already");
      assert.ok(fees.length >= 2 && (fees[1] ?? 0n) * 100n >= (fees[0] ?? 0n) * 110n, fees.join(" "));
    });

    it("replaces a transaction that was given up, so that the account can go on", async (test) => {
      const account = harness.accounts[7];
      assert.ok(account !== undefined);
      const writer = await createChainWriter({ ...harness.options, account, receiptPollMs: 20 });
      const first = await drawn(harness);
      const second = await drawn(harness);
      const sent: { readonly nonce: number; readonly fee: bigint }[] = [];
      harness.proxy.intercept = ({ method, params }) => {
        if (method !== "eth_sendRawTransaction") return null;
        const { nonce, maxFeePerGas } = parseTransaction(params[0] as `0x02${string}`);
        sent.push({ nonce: nonce ?? 0, fee: maxFeePerGas ?? 0n });
        return null;
      };
      await harness.client.setAutomine(false);
      try {
        const givenUp = rejects(writer.commit(first.request, first.awaited, first.certificate), "CHAIN_TIMEOUT");
        await until(() => sent.length === 1);
        const late = test.mock.method(Date, "now", () => performance.timeOrigin + performance.now() + 200_000);
        await givenUp;
        late.mock.restore();
        const committing = writer.commit(second.request, second.awaited, second.certificate);
        await until(() => sent.length === 2);
        await harness.mine(1);
        assert.notEqual(await committing, "already");
      } finally {
        await harness.client.setAutomine(true);
      }
      assert.deepEqual(
        sent.map(({ nonce }) => nonce),
        [0, 0],
      );
      assert.ok((sent[1]?.fee ?? 0n) * 100n >= (sent[0]?.fee ?? 0n) * 110n);
    });

    it("refuses to send a header that does not hash to the block's hash", async () => {
      const { request, awaited, certificate } = await drawn(harness);
      const { hash } = await harness.client.getBlock({ blockNumber: awaited.seedBlock });
      const sent: string[] = [];
      harness.proxy.intercept = ({ method, params }) => {
        sent.push(method);
        return method === "eth_getBlockByNumber" && params[0] === toHex(awaited.seedBlock)
          ? ({ result: { number: params[0], hash, mixHash: `0x${"ab".repeat(32)}` } } as never)
          : null;
      };
      const writer = await harness.writer(0);
      await rejects(writer.commit(request, awaited, certificate), "CHAIN_HEADER_UNKNOWN");
      await rejects((await harness.reader()).committee(request, awaited), "CHAIN_HEADER_UNKNOWN");
      assert.ok(!sent.includes("eth_sendRawTransaction"));
      harness.proxy.intercept = () => null;
      assert.notEqual(await writer.commit(request, awaited, certificate), "already");
    });

    it("says when the account cannot pay for the gas", async () => {
      const { request, awaited, certificate } = await drawn(harness);
      const key = keysFromPrivateKey(hexToBytes(keccak256(utf8("a poor account"))));
      const writer = await createChainWriter({ ...harness.options, account: key.viemAccount() });
      await rejects(writer.commit(request, awaited, certificate), "BALANCE_TOO_LOW");
    });

    it("gives the callback the gas that the consumer asked for", async () => {
      const { request, awaited, certificate } = await drawn(harness, { callbackGasLimit: 2_000_000 });
      const receipt = await (await harness.writer(0)).commit(request, awaited, certificate);
      assert.ok(receipt !== "already");
      const { gas } = await harness.client.getTransaction({ hash: receipt.transactionHash });
      assert.ok(gas > 2_000_000n, String(gas));
      assert.equal((await (await harness.reader()).requestState(request.id)).callbackPending, false);
    });
  });

  describe("operator", () => {
    it("registers with a permit in one transaction; events and contract agree", async () => {
      const operator = await harness.operator(9);
      const signer = keysFromPrivateKey(hexToBytes(keccak256(utf8("a fifth agent"))));
      const possession = provePossession(signer, { ...harness.options, operator: operator.account });
      const registration = {
        publicKey: signer.publicKey,
        possession,
        model: "test",
        endpoint: ["/dns4/agent/tcp/1"],
        commission: 50_000 as Ppm,
      };
      await rejects(operator.register({ ...registration, stake: ONE }), "STAKE_MISSING");
      await harness.fund(operator.account, 20n * ONE);
      await rejects(operator.register({ ...registration, stake: 1n }), "STAKE_MISSING", "StakeBelowMinimum");
      await rejects(
        operator.register({
          ...registration,
          possession:
            testKeys[0]?.sign(possessionDigest({ ...harness.options, operator: operator.account }, signer.publicKey)) ??
            "0x",
          stake: ONE,
        }),
        "CHAIN_REVERTED",
        "InvalidPossession",
      );

      const nonce = await harness.client.getTransactionCount({ address: operator.account });
      const { agentId } = await operator.register({ ...registration, stake: 2n * ONE });
      assert.equal((await harness.client.getTransactionCount({ address: operator.account })) - nonce, 1);
      await operator.bond(agentId, ONE);
      await operator.startUnbonding(agentId, (5n * ONE) / 2n);
      await operator.setEndpoint(agentId, ["/dns4/agent/tcp/2"]);
      await operator.setModel(agentId, "another@2 sha256:ff");
      const next = keysFromPrivateKey(hexToBytes(keccak256(utf8("its second key"))));
      await operator.rotateSigner(
        agentId,
        next.publicKey,
        provePossession(next, { ...harness.options, operator: operator.account }),
      );
      const reader = await harness.reader({ finalityDepth: 3 });
      const record = await reader.agentBySigner(next.address);
      assert.deepEqual(
        [record?.endpoint, record?.model, record?.active, record?.publicKey],
        [["/dns4/agent/tcp/2"], "another@2 sha256:ff", false, next.publicKey],
      );
      assert.equal(await reader.agentBySigner(signer.address), null);
      assert.deepEqual(await onChain(agentId), [
        record?.stake,
        record?.unbonding,
        record?.reputation,
        record?.active,
        record?.exited,
      ]);

      await rejects(operator.withdrawStake(agentId, nobody), "STAKE_MISSING", "StillUnbonding");
      await harness.passTime(MIN_UNBONDING_SECONDS + 1);
      await operator.withdrawStake(agentId, nobody);
      const paid = await reader.agentBySigner(next.address);
      assert.deepEqual(await onChain(agentId), [
        paid?.stake,
        paid?.unbonding,
        paid?.reputation,
        paid?.active,
        paid?.exited,
      ]);
    });

    it("refuses bad questions before anything is approved", async () => {
      const operator = await harness.operator(11);
      await harness.fund(operator.account, 5n * ONE);
      await rejects(operator.request(termsOf({ protocol: 99 }), "Who?"), "PROTOCOL_UNKNOWN");
      await rejects(operator.request(termsOf(), "?".repeat(8_193)), "QUESTION_TOO_LONG");
      await rejects(operator.request(termsOf(), ""), "TERMS_INVALID");
      const error = await rejects(operator.request(termsOf({ duration: 0 }), "When?"), "TERMS_INVALID");
      assert.equal(error.data["field"], "duration");
      assert.equal(await harness.client.getTransactionCount({ address: operator.account }), 0);
    });

    it("tells an unknown agent from a foreign one", async () => {
      const operator = await harness.operator(12);
      await rejects(operator.startUnbonding(999 as AgentId, 1n), "AGENT_NOT_REGISTERED", "UnknownAgent");
      await rejects(operator.startUnbonding(1 as AgentId, 1n), "STAKE_MISSING", "InsufficientShares");
      await rejects(operator.setEndpoint(1 as AgentId, []), "CHAIN_REVERTED", "NotOperator");
    });
  });

  async function onChain(agentId: AgentId): Promise<readonly unknown[]> {
    const agent = await harness.client.readContract({
      address: harness.options.registry,
      abi: agentRegistryAbi,
      functionName: "getAgent",
      args: [agentId],
    });
    return [agent.bonded.assets, agent.unbonding.assets, agent.reputation, agent.active, agent.exited];
  }
});
