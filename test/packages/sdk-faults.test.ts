import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createPublicClient, createWalletClient, custom, http, numberToHex, type PublicClient } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import type { SeatIndex } from "../../agents/core/types.ts";
import { startDecidedChain, type Decided, type DecidedChain } from "../../devnet/decided-chain.ts";
import { createConclave, type Conclave } from "../../sdk/src/index.ts";
import { assertAtMost } from "../support/assertions.ts";
import { evidenceRow, replyData, standing, startSubgraphServer } from "../adapters/fixtures/subgraph-server.ts";

const ONE = 10n ** 18n;

let world: DecidedChain;
let publicClient: PublicClient;
let conclave: Conclave;
before(async () => {
  world = await startDecidedChain(1, { lastIsProvisional: true });
  publicClient = createPublicClient({ transport: http(world.chain.rpcUrl), pollingInterval: 20, cacheTime: 0 });
  conclave = createConclave({ publicClient, deployment: world.deployment });
});
after(() => world.close());

describe("sdk: faults", () => {
  it("tells who was slashed, for what and at what cost, from the chain or from a subgraph", async (context) => {
    const [decided] = world.decisions as [Decided];
    const reporter = world.chain.accounts[0]?.address.toLowerCase();
    const requestId = decided.attempt.request.id;
    assert.deepEqual((await conclave.faults()).faults, []);
    const agentId = await world.slash(decided, 2 as SeatIndex);
    const { faults, source } = await conclave.faults();
    assert.equal(source, "chain");
    assert.equal(faults.length, 1);
    const [fault] = faults;
    assert.deepEqual(
      [fault?.agentId, fault?.requestId, fault?.attempt, fault?.fault],
      [agentId, requestId, 0, "messages"],
    );
    assert.deepEqual([fault?.cost, fault?.reward, fault?.reporter], [ONE / 10n, ONE / 20n, reporter]);
    const { blockNumber } = await publicClient.getTransactionReceipt({ hash: fault?.transaction ?? "0x" });
    const { timestamp } = await publicClient.getBlock({ blockNumber });
    assert.equal(fault?.time, Number(timestamp));
    assert.deepEqual((await conclave.faults({ agentId, requestId })).faults, faults);
    assert.deepEqual((await conclave.faults({ agentId: agentId === 1 ? 2 : 1 })).faults, []);
    assert.deepEqual((await conclave.faults({ requestId: requestId + 1n })).faults, []);
    await assert.rejects(conclave.faults({ limit: 101 }), { code: "USAGE", field: "limit" });
    await assert.rejects(conclave.faults({ blocks: 0 }), { code: "USAGE", field: "blocks" });

    const { oracle, registry } = world.deployment;
    const { url, close } = await startSubgraphServer((_, response) =>
      replyData(response, {
        ...standing(),
        deployment: { oracle, registry, requests: 3, agents: 5, activeAgents: 4 },
        evidences: [evidenceRow(9)],
      }),
    );
    context.after(close);
    const open = (subgraphUrl: string): Conclave =>
      createConclave({ publicClient, deployment: world.deployment, subgraphUrl });
    const indexed = await open(url).faults();
    assert.deepEqual([indexed.source, indexed.toBlock, indexed.faults[0]?.requestId], ["subgraph", 90, 9n]);
    assert.deepEqual((await open("http://127.0.0.1:9/").faults()).faults, faults);
  });
});

describe("sdk: addresses", () => {
  it("tells a wrong one from a node that does not answer", async () => {
    const question = { question: "Is 720 more than 500?", kind: "boolean" } as const;
    const at = (oracle: `0x${string}`): Conclave =>
      createConclave({ publicClient, deployment: { ...world.deployment, oracle } });
    const nobodys = at(`0x${"77".repeat(20)}`).quote(question);
    await assert.rejects(nobodys, { code: "CHAIN_NO_CONTRACT", field: "oracle" });
    await assert.rejects(at(`0x${"77".repeat(20)}`).history(), { code: "CHAIN_NO_CONTRACT", field: "oracle" });
    const { oracle, registry, token } = world.deployment;
    await assert.rejects(at(token).faults(), { code: "CHAIN_NO_CONTRACT", field: "oracle" });
    const other = createConclave({ publicClient, deployment: { ...world.deployment, registry: oracle } });
    const message = new RegExp(`the oracle's is at ${registry}, not at ${oracle}`, "i");
    await assert.rejects(other.agents(), { code: "CHAIN_NO_CONTRACT", field: "registry", message });
    const mistyped = `0x${"aB".repeat(20)}` as const;
    assert.throws(() => at(mistyped), { code: "USAGE", field: "oracle", message: /with the right checksum/ });
    assert.throws(() => at("0x12"), { code: "USAGE", field: "oracle", message: /oracle = "0x12": give an address/ });
    const position = conclave.position(1, "0x12");
    await assert.rejects(position, { code: "USAGE", field: "account", message: /account = "0x12": give an address/ });
  });
});

describe("sdk: receipts", () => {
  /** Asks by a node that knows no receipt at first. `isBehind`: nor does it ever tell the newest block, or that it has the transaction. */
  const askBy = async (lateAnswers: number, isBehind: boolean): Promise<void> => {
    const head = await publicClient.getBlockNumber();
    let late = lateAnswers;
    const request = async (call: { readonly method: string; readonly params?: unknown }): Promise<unknown> => {
      const told = await publicClient.request(call as Parameters<PublicClient["request"]>[0]);
      if (call.method === "eth_blockNumber" && isBehind) return numberToHex(head);
      if (call.method === "eth_getTransactionByHash" && isBehind)
        return { ...(told as object), blockNumber: null, blockHash: null };
      return call.method === "eth_getTransactionReceipt" && late-- > 0 ? null : told;
    };
    const [owner] = world.chain.accounts;
    const account = privateKeyToAccount(owner?.privateKey ?? "0x");
    const { requestId } = await createConclave({
      publicClient: createPublicClient({ transport: custom({ request }), pollingInterval: 20, cacheTime: 0 }),
      walletClient: createWalletClient({ account, transport: http(world.chain.rpcUrl) }),
      deployment: world.deployment,
    }).ask({ question: "Is 720 more than 500?", kind: "boolean", currency: "native" });
    assert.equal((await conclave.read(requestId)).stage.kind, "requested");
    assertAtMost(late, -1);
  };

  it("waits where one node knows the transaction and the next one does not know its receipt yet", () =>
    askBy(3, false));

  it("looks again where a local chain makes no block after the transaction's", () => askBy(2, true));
});
