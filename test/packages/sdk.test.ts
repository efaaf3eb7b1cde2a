import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import {
  createPublicClient,
  createTestClient,
  createWalletClient,
  custom,
  http,
  numberToHex,
  type Hex,
  type PublicClient,
  type WalletClient,
} from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { sha256, utf8 } from "../../agents/core/encoding/bytes.ts";
import { cidString } from "../../agents/core/encoding/cid.ts";
import { startDecidedChain, type DecidedChain } from "../../devnet/decided-chain.ts";
import { createConclave, ConclaveError, type Conclave, type RequestUpdate } from "../../sdk/src/index.ts";
import { replyData, requestRow, standing, startSubgraphServer } from "../adapters/fixtures/subgraph-server.ts";
import { browserWallet } from "./browser-wallet.ts";

const QUESTION = { question: "Is 720 more than 500?", kind: "boolean" } as const;
/** Its document is nobody's. */
const UNTOLD = { ...QUESTION, question: `${QUESTION.question}\nsource: ${cidString(sha256(utf8("nobody's")))}` };
const ONE = 10n ** 18n;
const EPOCH_BLOCKS = 160;

let world: DecidedChain;
let publicClient: PublicClient;
let conclave: Conclave;
/** The account that deployed: it has tokens, and every agent is its own. */
let owner: WalletClient;

before(async () => {
  world = await startDecidedChain(2, { lastIsProvisional: true });
  publicClient = createPublicClient({ transport: http(world.chain.rpcUrl), pollingInterval: 20, cacheTime: 0 });
  owner = walletOf(0);
  conclave = conclaveOf(owner);
});
after(() => world.close());

describe("sdk: asking", () => {
  it("pays the quote in tokens, after an approval of exactly that", async () => {
    const { fee, symbol, decimals, currency } = await conclave.quote(QUESTION);
    assert.deepEqual([symbol, decimals, currency], ["TEST", 18, "token"]);
    const appealable = await conclave.quote({ kind: "boolean", committeeSize: 5, appeals: 1, retries: 3 });
    assert.deepEqual([appealable.agentsNeeded, appealable.drawableAgents], [16, 13]);
    const nonce = await nonceOf(owner);
    const asked = await conclave.ask(QUESTION);
    assert.equal(await nonceOf(owner), nonce + 2);
    assert.equal(asked.fee, fee);
    const { request, stage, state, outcome } = await conclave.read(asked.requestId);
    assert.deepEqual([request.question, request.terms.fee, request.terms.kind], [QUESTION.question, fee, "boolean"]);
    assert.deepEqual([stage.kind, state.status, outcome], ["requested", "requested", null]);
  });

  it("pays in coins without an approval, and from a subscription", async () => {
    const nonce = await nonceOf(owner);
    const coins = await conclave.ask({ ...QUESTION, currency: "native" });
    assert.equal(await nonceOf(owner), nonce + 1);
    assert.equal((await conclave.read(coins.requestId)).request.terms.currency, "native");
    const free = await conclave.ask({ ...QUESTION, subscriptionId: 1 });
    assert.equal(await nonceOf(owner), nonce + 2);
    assert.equal(free.requestId >> 48n, 1n);
  });

  it("takes the protocol by its id or its code", async () => {
    const { requestId } = await conclave.ask({ ...QUESTION, protocol: "hashgraph", currency: "native" });
    assert.equal((await conclave.read(requestId)).request.terms.protocol, 6);
    await refuses(conclave.ask({ ...QUESTION, protocol: "mbtf" as "mbft" }), "PROTOCOL_UNKNOWN", "protocol");
    await refuses(conclave.ask({ ...QUESTION, protocol: 200 }), "PROTOCOL_UNKNOWN", null);
  });

  it("refuses bad terms before the wallet opens, by the name of the term", async () => {
    const nonce = await nonceOf(owner);
    await refuses(conclave.ask({ ...QUESTION, kind: "yesno" as "boolean" }), "TERMS_INVALID", "kind");
    await refuses(conclave.ask({ ...QUESTION, kind: "choice" }), "TERMS_INVALID", "options");
    await refuses(conclave.ask({ ...QUESTION, decimals: 2 }), "TERMS_INVALID", "decimals");
    const misspelt = conclave.ask({ ...QUESTION, nonAnswers: "refuse" as "refused" });
    assert.match((await refuses(misspelt, "TERMS_INVALID", "nonAnswers")).message, /give one of accepted, refused/);
    await refuses(conclave.ask({ ...QUESTION, delay: 60, fee: ONE }), "TERMS_INVALID", "delay");
    await refuses(conclave.ask({ ...QUESTION, seats: 7 } as typeof QUESTION), "TERMS_INVALID", "seats");
    await refuses(conclave.ask({ kind: "boolean" } as typeof QUESTION), "TERMS_INVALID", "question");
    await refuses(conclave.ask({ ...QUESTION, question: "\ud800" }), "TERMS_INVALID", "question");
    await refuses(conclave.ask({ ...QUESTION, question: "x".repeat(8_193) }), "QUESTION_TOO_LONG", "question");
    await refuses(conclave.ask({ ...QUESTION, question: " \n" }), "TERMS_INVALID", "question");
    await refuses(conclave.ask({ ...QUESTION, committeeSize: 3, fee: ONE }), "TERMS_INVALID", "committeeSize");
    await refuses(conclave.ask({ ...QUESTION, fee: 1n }), "TERMS_INVALID", null);
    assert.equal(await nonceOf(owner), nonce);
  });

  it("cancels what nobody can know yet, and nothing else", async () => {
    const { requestId } = await conclave.ask({ ...QUESTION, currency: "native" });
    await conclave.cancel(requestId);
    const { state, stage } = await conclave.read(requestId);
    assert.deepEqual([state.status, stage.kind], ["refunded", "refunded"]);
    await refuses(conclave.cancel(requestId), "CANCEL_IMPOSSIBLE", "requestId");
  });
});

describe("sdk: non-answers and waiting", () => {
  it("says that the sources do not tell: a decision, with a status and an outcome of its own and no answer", async () => {
    const { requestId } = await conclave.ask({ ...UNTOLD, currency: "native" });
    await world.decide(requestId);
    const states = await take(conclave.follow(requestId), 9);
    assert.deepEqual(states.map(kindOf), ["requested", "decided final"]);
    const { stage, state, outcome } = await conclave.read(requestId);
    assert.ok(stage.kind === "decided");
    assert.deepEqual([stage.decision.status, stage.decision.answer], ["unanswerable", ""]);
    assert.deepEqual([state.status, outcome?.status], ["unanswerable", "unanswerable"]);
    assert.equal(outcome?.value, `0x${"ff".repeat(32)}`);
    const { requests } = await conclave.history({ statuses: ["unanswerable", "tooEarly"] });
    assert.deepEqual(
      requests.map((past) => [past.requestId, past.status, past.decision?.status]),
      [[requestId, "unanswerable", "unanswerable"]],
    );
  });

  it("asks with a delay: the request waits without a committee until the deadline, and can be cancelled", async () => {
    const delayed = { ...QUESTION, delay: 86_400, retries: 1, nonAnswers: "refused", currency: "native" } as const;
    const { requestId, cursor, receipt } = await conclave.ask(delayed);
    const { timestamp } = await publicClient.getBlock({ blockNumber: receipt.blockNumber });
    await world.chain.nextEpoch(20);
    const [update] = await take(conclave.follow(requestId, { from: cursor, pollIntervalMs: 20 }), 1);
    assert.deepEqual([update?.stage.kind, update?.isWaiting], ["requested", true]);
    assert.equal(update?.deadline, Number(timestamp) + 86_400);
    const { request, isWaiting, deadline } = await conclave.read(requestId);
    assert.deepEqual([request.terms.delay, request.terms.nonAnswers], [86_400, "refused"]);
    assert.deepEqual([isWaiting, deadline], [true, update?.deadline]);
    await conclave.cancel(requestId);
    const ended = await conclave.read(requestId);
    assert.deepEqual([ended.stage.kind, ended.isWaiting], ["refunded", false]);
  });
});

describe("sdk: what goes wrong", () => {
  it("says which wallet is needed", async () => {
    const reading = conclaveOf(undefined);
    await refuses(reading.ask(QUESTION), "WALLET_MISSING", "walletClient");
    assert.throws(() => reading.actions, isError("WALLET_MISSING", "walletClient"));
    const nobody = createWalletClient({ transport: http(world.chain.rpcUrl) });
    await refuses(conclaveOf(nobody).ask(QUESTION), "WALLET_MISSING", "walletClient.account");
  });

  it("names what a poor account lacks", async () => {
    const poor = conclaveOf(walletOf(5));
    assert.equal((await refuses(poor.ask(QUESTION), "BALANCE_TOO_LOW", null)).data["balance"], "0");
    const stakeless = await refuses(poor.actions.bond(1, ONE), "STAKE_MISSING", null);
    assert.match(stakeless.message, /^Pay 1 TEST: 0x\w+ holds 0 TEST \(token 0x\w+\); send it 1 TEST more$/);
  });

  it("explains the contract's refusals", async () => {
    const revert = await refuses(conclave.actions.withdrawStake(1, account()), "STAKE_MISSING", null);
    assert.match(revert.message, /refused with NothingToWithdraw.*start unbonding first/);
    assert.equal(revert.hint, "start unbonding first");
    await refuses(conclave.actions.bond(99, ONE), "AGENT_NOT_REGISTERED", null);
    await refuses(conclave.actions.withdraw("token", ONE, "0xnonsense"), "USAGE", "to");
  });

  it("finds out that the client serves another chain, or nothing", async () => {
    const elsewhere = createConclave({ publicClient, deployment: { ...world.deployment, chainId: 1 } });
    await refuses(elsewhere.quote(QUESTION), "CHAIN_WRONG_ID", "publicClient");
    const away = createPublicClient({ transport: http("http://127.0.0.1:9/secret-key", { retryCount: 0 }) });
    const error = await refuses(
      createConclave({ publicClient: away, deployment: world.deployment }).quote(QUESTION),
      "CHAIN_UNREACHABLE",
      null,
    );
    assert.doesNotMatch(error.message, /secret-key/);
  });

  it("knows no request that was never asked, and lets a signal end a call", async () => {
    await refuses(conclave.read(12_345n), "REQUEST_UNKNOWN", null);
    await refuses(conclave.follow(12_345n).next(), "REQUEST_UNKNOWN", "requestId");
    await refuses(conclave.follow(1n, { from: "nonsense" }).next(), "USAGE", "from");
    const reason = new Error("the page is left");
    await assert.rejects(conclave.read(1n, AbortSignal.abort(reason)), reason);
  });
});

describe("sdk: following", () => {
  it("yields every state of a request once, and goes on where it was left", async () => {
    const { requestId, cursor } = await conclave.ask({ ...QUESTION, currency: "native" });
    const first = await take(conclave.follow(requestId, { from: cursor, pollIntervalMs: 20 }), 1);
    await world.decide(requestId);
    const rest = await take(conclave.follow(requestId, { from: cursorOf(first), pollIntervalMs: 20 }), 9);
    assert.deepEqual([first, rest].flat().map(kindOf), ["requested", "decided final"]);
    const all = await take(conclave.follow(requestId), 9);
    assert.deepEqual(all.map(kindOf), ["requested", "decided final"]);
    assert.deepEqual(await take(conclave.follow(requestId, { from: cursorOf(rest) }), 9), []);
    const { outcome, state } = await conclave.read(requestId);
    assert.deepEqual([outcome?.status, BigInt(outcome?.value ?? 0), state.settled], ["decided", 1n, true]);
  });

  it("shows the committee as soon as the chain does", async () => {
    const { requestId, cursor } = await conclave.ask({ ...QUESTION, currency: "native" });
    const [asked] = await take(conclave.follow(requestId, { from: cursor, pollIntervalMs: 20 }), 1);
    await world.chain.nextEpoch(20);
    const following = conclave.follow(requestId, { from: asked?.cursor ?? "", pollIntervalMs: 20 });
    const [drawn] = await take(following, 1);
    assert.equal(drawn?.stage.kind === "drawn" && drawn.stage.committee.length, 4);
    await world.decide(requestId);
    const [decided, ...others] = await take(
      conclave.follow(requestId, { from: drawn?.cursor ?? "", pollIntervalMs: 20 }),
      9,
    );
    assert.deepEqual([kindOf(decided as RequestUpdate), others.length], ["decided final", 0]);
  });

  it("takes no state back, and misses none, when a node is behind others at the same URL", async () => {
    await world.chain.nextEpoch(EPOCH_BLOCKS);
    const { requestId } = await conclave.ask({ ...QUESTION, appeals: 1, currency: "native" });
    await world.decide(requestId);
    const decidedIn = await publicClient.getBlockNumber();
    // While it is behind, every second look reaches a node that lacks the blocks from the decision on.
    let isBehind = false;
    let looks = 0;
    const seen = Promise.withResolvers<void>();
    const node = http(world.chain.rpcUrl)({});
    const request = async ({ method, params }: { method: string; params?: unknown }): Promise<unknown> => {
      if (method === "eth_getLogs" && isBehind) looks += 1;
      if (looks === 6) seen.resolve();
      if (method !== "eth_getLogs" || looks % 2 === 0) return node.request({ method, params });
      const [range] = params as readonly [object];
      return node.request({ method, params: [{ ...range, toBlock: numberToHex(decidedIn - 1n) }] });
    };
    const behind = createPublicClient({ transport: custom({ request }), cacheTime: 0 });
    const following = createConclave({ publicClient: behind, deployment: world.deployment }).follow(requestId, {
      pollIntervalMs: 20,
    });
    const first = await take(following, 2, false);
    isBehind = true;
    const next = take(following, 1);
    await Promise.race([next, seen.promise]);
    await conclave.appeal(requestId);
    const states = [...first, ...(await next)];
    assert.deepEqual(states.map(kindOf), ["requested", "decided provisional", "requested"]);
    assert.equal(states[2]?.attempt, 1);
  });

  it("tells a state that a reorganisation took back", async () => {
    const chain = createTestClient({ mode: "anvil", transport: http(world.chain.rpcUrl) });
    const { requestId } = await conclave.ask({ ...QUESTION, appeals: 1, currency: "native" });
    const snapshot = await chain.snapshot();
    await world.decide(requestId);
    const following = conclave.follow(requestId, { pollIntervalMs: 20 });
    const first = await take(following, 2, false);
    await chain.revert({ id: snapshot });
    await chain.mine({ blocks: 1 });
    const again = await take(following, 1, false);
    await world.decide(requestId);
    const second = await take(following, 1);
    assert.deepEqual([first, again, second].flat().map(kindOf), [
      "requested",
      "decided provisional",
      "requested",
      "decided provisional",
    ]);
  });

  it("shows an appeal and its committee", async () => {
    const id = world.decisions.at(-1)?.attempt.request.id ?? 0n;
    const bond = await conclave.appealBond(id);
    assert.ok(bond > 0n);
    await refuses(conclave.appeal(id, bond - 1n), "USAGE", "mostBond");
    await conclave.appeal(id, bond);
    const states = await take(conclave.follow(id), 3);
    assert.deepEqual(states.map(kindOf), ["requested", "decided provisional", "requested"]);
    assert.deepEqual([states[2]?.attempt, states[2]?.past.length], [1, 1]);
    await refuses(conclave.appeal(id), "APPEAL_IMPOSSIBLE", "requestId");
  });
});

describe("sdk: history", () => {
  it("reads the chain's events, page by page", async () => {
    const first = await conclave.history({ limit: 2 });
    assert.deepEqual([first.source, first.requests.length], ["chain", 2]);
    const ids = first.requests.map(({ requestId }) => requestId);
    for (let cursor = first.next; cursor !== null;) {
      const page = await conclave.history({ limit: 2, cursor });
      ids.push(...page.requests.map(({ requestId }) => requestId));
      cursor = page.next;
    }
    const all = await conclave.history({ limit: 100 });
    assert.deepEqual(
      ids,
      all.requests.map(({ requestId }) => requestId),
    );
    assert.equal(new Set(ids).size, ids.length);
    const graphs = await conclave.history({ protocol: "hashgraph" });
    assert.equal(graphs.requests.length, 1);
    await refuses(conclave.history({ limit: 0 }), "USAGE", "limit");
    await refuses(conclave.history({ blocks: 0.5 }), "USAGE", "blocks");
  });

  it("asks the subgraph where one is named, and the chain while that is away", async (context) => {
    const { oracle, registry } = world.deployment;
    let deployment = { oracle, registry, requests: 3, agents: 5, activeAgents: 4 };
    const { url, close } = await startSubgraphServer((_, response) =>
      replyData(response, { ...standing(), deployment, requests: [requestRow(3)] }),
    );
    context.after(close);
    const open = (subgraphUrl: string): Conclave =>
      createConclave({ publicClient, deployment: world.deployment, subgraphUrl });
    const page = await open(url).history();
    assert.deepEqual([page.source, page.toBlock, page.requests[0]?.requestId], ["subgraph", 90, 3n]);
    deployment = { ...deployment, oracle: registry };
    await refuses(open(url).history(), "SUBGRAPH_WRONG_CHAIN", "subgraphUrl");
    const away = open("http://127.0.0.1:9/");
    const inItsPlace = await away.history({ limit: 1 });
    assert.deepEqual([inItsPlace.source, inItsPlace.subgraphError?.code], ["chain", "SUBGRAPH_UNREACHABLE"]);
    await refuses(away.history({ cursor: "s-5" }), "SUBGRAPH_UNREACHABLE", null);
  });

  it("asks the chain where the subgraph is taken down, answers wrongly or has stopped, and says why", async (context) => {
    const gone = JSON.stringify({ errors: [{ message: "deployment `Qm12` does not exist" }] });
    const stopped = JSON.stringify({ data: { ...standing({ hasIndexingErrors: true }), requests: [], evidences: [] } });
    for (const [status, body, code, reason] of [
      [404, "no such thing", "SUBGRAPH_FAILED", /HTTP status 404/],
      [200, gone, "SUBGRAPH_FAILED", /does not exist/],
      [200, "<!doctype html><title>Parked</title>", "SUBGRAPH_INVALID", /not JSON/],
      [200, stopped, "SUBGRAPH_FAILED", /stopped indexing after block 90/],
    ] as const) {
      const { url, close } = await startSubgraphServer((_, response) => response.writeHead(status).end(body));
      context.after(close);
      const reader = createConclave({ publicClient, deployment: world.deployment, subgraphUrl: url });
      for (const { source, subgraphError } of [await reader.history({ limit: 1 }), await reader.faults()]) {
        assert.deepEqual([source, subgraphError instanceof ConclaveError && subgraphError.code], ["chain", code]);
        assert.match(subgraphError?.message ?? "", reason);
      }
    }
  });
});

describe("sdk: stake", () => {
  it("bonds with a permit in one transaction, unbonds, and withdraws after the delay", async () => {
    const { unbondingDelaySeconds, stakeToken } = await conclave.terms();
    const [position, nonce] = [await conclave.position(2, account()), await nonceOf(owner)];
    await conclave.actions.bond(2, ONE);
    assert.equal(await nonceOf(owner), nonce + 1);
    const bonded = await conclave.position(2, account());
    assert.equal(bonded.bonded, position.bonded + ONE);
    await conclave.actions.startUnbonding(2, ONE);
    assert.equal((await conclave.position(2, account())).unbonding, ONE);
    await refuses(conclave.actions.withdrawStake(2, account()), "STAKE_MISSING", null);
    const chain = createTestClient({ mode: "anvil", transport: http(world.chain.rpcUrl) });
    await chain.increaseTime({ seconds: unbondingDelaySeconds + 1 });
    await chain.mine({ blocks: 1 });
    const held = (await conclave.holdings(account())).stakeToken;
    await conclave.actions.withdrawStake(2, account());
    assert.equal((await conclave.holdings(account())).stakeToken, held + ONE);
    assert.equal(stakeToken.symbol, "TEST");
  });

  it("approves where the wallet signs as contracts do, whose signature is no permit", async () => {
    const wallet = browserWallet(publicClient, account(), async (call, pass) =>
      call.method === "eth_signTypedData_v4" ? `0x${"ab".repeat(96)}` : pass(call),
    );
    const nonce = await nonceOf(owner);
    await conclaveOf(wallet).actions.bond(3, ONE);
    assert.equal(await nonceOf(owner), nonce + 2);
  });

  it("lists the agents, claims what one has earned, and withdraws the credit of a canceled request", async () => {
    assert.equal((await conclave.agents()).length, 13);
    const earning = await Promise.all(
      Array.from({ length: 13 }, async (_, index) => (await conclave.rewards(index + 1, account())).native > 0n),
    );
    const agentId = earning.indexOf(true) + 1;
    await conclave.actions.claimRewards(agentId, "native", account());
    assert.equal((await conclave.rewards(agentId, account())).native, 0n);
    assert.equal((await conclave.subscription(1))?.owner, account().toLowerCase());
    const { credit } = await conclave.holdings(account());
    assert.ok(credit.native > 0n);
    await conclave.actions.withdraw("native", credit.native, account());
    assert.equal((await conclave.holdings(account())).credit.native, 0n);
  });
});

function walletOf(index: number): WalletClient {
  const key = world.chain.accounts[index]?.privateKey ?? "0x";
  return createWalletClient({ account: privateKeyToAccount(key), transport: http(world.chain.rpcUrl) });
}

function account(): Hex {
  return world.chain.accounts[0]?.address ?? "0x";
}

function conclaveOf(walletClient: WalletClient | undefined): Conclave {
  return createConclave({ publicClient, walletClient, deployment: world.deployment });
}

function nonceOf(wallet: WalletClient): Promise<number> {
  return publicClient.getTransactionCount({ address: wallet.account?.address ?? "0x" });
}

/** Returns the next updates, at most so many. `isLast`: ends the stream. */
async function take(
  stream: AsyncGenerator<RequestUpdate, void, void>,
  most: number,
  isLast = true,
): Promise<readonly RequestUpdate[]> {
  const found: RequestUpdate[] = [];
  while (found.length < most) {
    const { done, value } = await stream.next();
    if (done === true) return found;
    found.push(value);
  }
  if (isLast) await stream.return();
  return found;
}

function cursorOf(updates: readonly RequestUpdate[]): string {
  return updates.at(-1)?.cursor ?? "";
}

function kindOf({ stage }: RequestUpdate): string {
  return stage.kind === "decided" ? `decided ${stage.standing}` : stage.kind;
}

async function refuses(action: Promise<unknown>, code: string, field: string | null): Promise<ConclaveError> {
  const error = await action.then(
    () => assert.fail(`it was not refused with ${code}`),
    (thrown: unknown) => thrown,
  );
  assert.ok(isError(code, field)(error));
  return error as ConclaveError;
}

function isError(code: string, field: string | null): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof ConclaveError, String(error));
    assert.deepEqual([error.code, error.field], [code, field], error.message);
    return true;
  };
}
