// What is known of agents and of money: from a subgraph, and of faults from the chain, too.
import assert from "node:assert/strict";
import { join } from "node:path";
import { mkdir } from "node:fs/promises";
import { after, before, describe, it } from "node:test";
import { AxeBuilder } from "@axe-core/playwright";
import type { Page } from "playwright-core";
import { encodeEventTopics } from "viem";
import { agentRegistryAbi } from "@conclave/contracts/abi";
import type { SeatIndex } from "../../agents/core/types.ts";
import type { Decided } from "../../devnet/decided-chain.ts";
import { evidenceRow, HASH, standing } from "../adapters/fixtures/subgraph-server.ts";
import { sees, visit, type RpcCall } from "./visit.ts";
import { conclaveOf, startDashboardWorld, type DashboardWorld } from "./world.ts";

const SHOTS = join(import.meta.dirname, "../../.cache/page");
const SUBGRAPH = "http://subgraph.test/conclave";
const DAY = 86_400;
const START = 1_790_000_000;

let world: DashboardWorld;
before(async () => {
  world = await startDashboardWorld(1);
  await mkdir(SHOTS, { recursive: true });
});
after(() => world.close());

function change(days: number, from: number, to: number): object {
  const block = String(100 + days);
  const at = { timestamp: String(START + days * DAY), block, logIndex: "0", transaction: HASH };
  return { request: { id: String(days) }, steps: to > from ? 1 : -1, before: from, after: to, ...at };
}

/** An agent that fell twice and was caught once. */
const AGENT = {
  number: 2,
  operator: { id: `0x${"04".repeat(20)}` },
  signer: `0x${"05".repeat(20)}`,
  model: "m",
  endpoint: "",
  reputation: 690_000,
  active: true,
  exited: false,
  service: 3,
  contested: 4,
  agreed: 3,
  bonded: "1",
  unbonding: "0",
  commission: 0,
  slashed: "100000000000000000",
  seatCount: 9,
  signatureCount: 8,
  earnedToken: "5",
  earnedNative: "6",
  registeredAt: String(START),
  reputationChanges: [change(9, 640_000, 690_000), change(5, 800_000, 640_000), change(2, 1_000_000, 800_000)],
  seats: [],
  pay: [],
  reliability: [
    { tenth: 6, sureAgreed: 1, sureOutvoted: 3, unsureAgreed: 0, unsureOutvoted: 0 },
    { tenth: 9, sureAgreed: 19, sureOutvoted: 1, unsureAgreed: 2, unsureOutvoted: 1 },
  ],
  slashes: [],
};

const EVIDENCES = [
  evidenceRow(7, {
    fault: "Overturned",
    slash: [{ bonded: "40000000000000000", unbonding: "10000000000000000", reward: "0" }],
  }),
  evidenceRow(5),
];

function answering(more: object) {
  const { oracle, registry } = world.chain.deployment;
  const deployment = { oracle, registry, requests: 0, agents: 13, activeAgents: 13 };
  return (page: Page): Promise<unknown> =>
    page.route(SUBGRAPH, (route) => {
      const data = { ...standing(), deployment, requests: [], evidences: [], ...more };
      return route.fulfill({ json: { data }, headers: { "access-control-allow-origin": "*" } });
    });
}

describe("page: an agent's record", () => {
  it("shows its reputation over time, its reliability and its faults, on a phone, too", async (context) => {
    const config = { ...world.config, subgraphUrl: SUBGRAPH };
    const { page } = await visit(context, world, {
      route: "/agents/2",
      config,
      routes: answering({ agent: AGENT, evidences: EVIDENCES }),
      viewport: { width: 390, height: 800 },
    });
    await page.getByRole("img", { name: /^From 100 % on .* to 69 % on .*, in 3 changes$/ }).waitFor();
    const path = await page.locator(".curve path").getAttribute("d");
    // It falls a fifth after two of nine days, and again after five.
    assert.equal(path, "M0 0.0H133.3V24.0H333.3V43.2H600.0V37.2");
    await page.getByText("Each change, the newest first").click();
    await sees(page, /^64 % to 69 % by #9/);
    const rows = await page.getByRole("region", { name: "Reliability, a table" }).locator("tbody tr").allInnerTexts();
    assert.match(rows[0] ?? "", /60 to 70 % sure\s+1 of 4 \(25 %\)\s+–/);
    assert.equal(await page.getByText("From a subgraph. This page has not checked it.").count(), 2);
    assert.match(rows[1] ?? "", /90 to 100 % sure\s+19 of 20 \(95 %\)\s+2 of 3 \(67 %\)/);
    await sees(page, /signed two messages for one place in #5; it cost 0\.1 TEST/);
    await sees(page, /certified an answer that larger committees overturned in #7; it cost 0\.05 TEST/);
    const [wide, window] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth] as const);
    assert.ok(wide <= window, `the record is ${wide} pixels wide in a window of ${window}`);
    const { violations } = await new AxeBuilder({ page }).analyze();
    const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
    assert.deepEqual(
      serious.map(({ id }) => id),
      [],
    );
    await page.screenshot({ path: join(SHOTS, "record-phone.png"), fullPage: true });
  });

  it("says that an agent was never slashed, and reads its faults from the chain where no subgraph is", async (context) => {
    const clean = { ...AGENT, reputation: 1_000_000, reputationChanges: [], reliability: [] };
    const config = { ...world.config, subgraphUrl: SUBGRAPH };
    const { page } = await visit(context, world, { route: "/agents/2", config, routes: answering({ agent: clean }) });
    await sees(page, "It was never slashed.");
    await sees(page, "It has not changed since the agent registered: 100 %.");
    assert.equal(await page.getByText("Reliability").count(), 0);
    const without = await visit(context, world, { route: "/agents/2" });
    await without.page.getByRole("heading", { name: "Its latest seats" }).waitFor();
    await sees(without.page, "None in the latest 50 000 blocks.");
    // The draw decides whether it sat there.
    const [decided] = world.chain.decisions as [Decided];
    const rows = without.page.getByRole("listitem");
    if (decided.attempt.committee.some(({ agentId }) => agentId === 2)) await rows.first().waitFor();
    else await sees(without.page, "It sat on no committee that decided in the latest 50 000 blocks.");
    assert.equal(await without.page.getByText("From the events of the latest 50 000 blocks.").count(), 2);
    assert.equal(await without.page.getByRole("heading", { name: "Reputation over time" }).count(), 0);
  });
});

describe("page: the money of a request", () => {
  it("says who paid, who was paid, and what went back, to the last digit", async (context) => {
    const [decided] = world.chain.decisions;
    const id = String(decided?.attempt.request.id);
    const paid = (seat: number, amount: string): object => ({
      seat: { number: seat, attempt: { number: 0 } },
      agent: { number: seat + 5 },
      amount,
    });
    const relayer = `0x${"07".repeat(20)}`;
    const { currency, fee } = decided?.attempt.request.terms ?? assert.fail("nothing is decided");
    const request = {
      id,
      currency: currency === "token" ? "Token" : "Native",
      fee: String(fee),
      refund: "400000000000000003",
      settled: true,
      pay: [paid(1, "200000000000000000"), paid(0, "299999999999999997")],
      rounds: [{ attempt: { number: 0 }, treasuryPay: "50000000000000000", relayer, relayerPay: "30000000000000000" }],
      callerPay: [{ caller: relayer, amount: "10000000000000000", rest: "10000000000000000" }],
    };
    const config = { ...world.config, subgraphUrl: SUBGRAPH };
    const { page } = await visit(context, world, { route: `/request/${id}`, config, routes: answering({ request }) });
    await page.getByText("Who was paid what").click();
    await sees(page, "From a subgraph. This page has not checked it.");
    assert.equal(await page.getByText(/but the chain says/).count(), 0);
    const lies = await visit(context, world, {
      route: `/request/${id}`,
      config,
      routes: answering({ request: { ...request, fee: "999000000000000000000" } }),
    });
    await sees(
      lies.page,
      /^The subgraph says that the asker paid 999 \w+, but the chain says [\d.]+ \w+\. Do not rely/,
    );
    const rows = await page.locator("details tbody tr").allInnerTexts();
    assert.deepEqual(
      rows.map((row) => row.replaceAll(/\s+/g, " ")),
      [
        "The asker paid 28 TEST",
        "Seat 0, agent 5 0.299999999999999997 TEST",
        "Seat 1, agent 6 0.2 TEST",
        "Who brought the decision to the chain, 0x0707…0707 0.03 TEST",
        "The treasury 0.05 TEST",
        "For the gas of moving it on, 0x0707…0707 0.01 TEST",
        "Back to the asker 0.410000000000000003 TEST",
      ],
    );
  });
});

describe("page: a subgraph's history", () => {
  it("says that an empty list is the subgraph's word, and that one which claims to know blocks to come is wrong", async (context) => {
    const config = { ...world.config, subgraphUrl: SUBGRAPH };
    const empty = await visit(context, world, { config, routes: answering({}) });
    await sees(empty.page, /^The subgraph knows no request yet\./);
    assert.equal(await empty.page.getByText("Nobody has asked yet").count(), 0);
    await empty.page.getByLabel("Status").selectOption("Refunded");
    await sees(empty.page, "No request matches. Change the search.");
    const routes = answering({
      _meta: standing({ block: { number: 1_000_000, hash: HASH, timestamp: START } })["_meta"],
    });
    const ahead = await visit(context, world, { config, routes });
    await sees(ahead.page, /^From a subgraph that claims to know \d+ blocks more than the node of the chain has\./);
  });
});

/** Adds to the registry's events that an agent fell asleep. */
function fellAsleep(agentId: number) {
  const { registry } = world.chain.deployment;
  return (page: Page): Promise<unknown> =>
    page.route(`${world.rpcUrl}/**`, async (route) => {
      const { method, params } = (route.request().postDataJSON() ?? {}) as Partial<RpcCall>;
      const [query] = (params ?? []) as readonly { readonly address: readonly string[]; readonly topics: unknown[] }[];
      const isRegistrys = method === "eth_getLogs" && query?.address.includes(registry) && query.topics.length === 0;
      if (isRegistrys !== true) return route.continue();
      const response = await route.fetch();
      const answer = (await response.json()) as { readonly result: readonly object[] };
      const last = answer.result.at(-1);
      if (last === undefined) return route.fulfill({ response });
      const topics = encodeEventTopics({ abi: agentRegistryAbi, eventName: "AgentFellAsleep", args: { agentId } });
      const added = { ...last, address: registry, topics, data: "0x", logIndex: "0xffff" };
      return route.fulfill({ response, json: { ...answer, result: [...answer.result, added] } });
    });
}

/** A chain whose latest 50 000 blocks hold nothing of this world. */
function longAgo(page: Page): Promise<unknown> {
  const isRecent = (block: unknown): boolean => Number(block) > 5_000;
  return page.route(`${world.rpcUrl}/**`, (route) => {
    const { method, params, id } = (route.request().postDataJSON() ?? {}) as Partial<RpcCall & { readonly id: number }>;
    const [query] = (params ?? []) as readonly { readonly fromBlock?: string }[];
    const answers: Readonly<Record<string, unknown>> = {
      eth_blockNumber: "0x11170",
      ...(isRecent(query?.fromBlock) && { eth_getLogs: [] }),
    };
    const result = answers[method ?? ""];
    if (result === undefined) return route.continue();
    const headers = { "access-control-allow-origin": "*" };
    return route.fulfill({ json: { jsonrpc: "2.0", id, result }, headers });
  });
}

describe("page: faults", () => {
  it("shows who was slashed, for what, by whose proof and at what cost, and who sleeps, without a subgraph", async (context) => {
    const [decided] = world.chain.decisions as [Decided];
    const agentId = await world.chain.slash(decided, 1 as SeatIndex);
    const sleeper = agentId === 3 ? 4 : 3;
    const { page } = await visit(context, world, {
      route: "/agents",
      routes: fellAsleep(sleeper),
      viewport: { width: 390, height: 800 },
    });
    await page.getByRole("link", { name: "Who was slashed, and who sleeps" }).click();
    await page.getByRole("heading", { level: 1, name: "Faults" }).waitFor();
    const fault = page.getByRole("region", { name: "Slashed" }).getByRole("listitem");
    await fault.waitFor();
    const [reporter] = world.accounts;
    const short = `${reporter?.address.slice(0, 6)}…${reporter?.address.slice(-4)}`;
    const text = (await fault.innerText()).replaceAll(/\s+/g, " ");
    assert.match(text, new RegExp(`^Agent ${agentId} signed two messages for one place in #1.1; it cost 0.1 TEST `));
    assert.match(text, new RegExp(`Proven by ${short}, who got 0.05 TEST. The proof is in the transaction 0x`, "i"));
    const out = page.getByRole("region", { name: "Out of the draw" }).getByRole("listitem");
    assert.match((await out.allInnerTexts()).join(), new RegExp(`^Agent ${sleeper} is asleep: it missed three seats`));
    assert.equal(await page.getByRole("link", { name: "Agents" }).getAttribute("aria-current"), "page");
    const [wide, window] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth] as const);
    assert.ok(wide <= window, `the faults are ${wide} pixels wide in a window of ${window}`);
    const { violations } = await new AxeBuilder({ page }).analyze();
    assert.deepEqual(
      violations.filter(({ impact }) => impact === "serious" || impact === "critical").map(({ id }) => id),
      [],
    );
    await page.screenshot({ path: join(SHOTS, "faults-phone.png"), fullPage: true });

    await fault.getByRole("link", { name: "#1.1" }).click();
    await page.getByText("Who was slashed for it").click();
    await sees(page, /signed two messages for one place in/);
    await page.goto(`${world.url}#/agents/${agentId}`);
    await sees(page, /signed two messages for one place in/);
  });

  it("does not say never of the latest blocks alone, and finds who was slashed for an old request", async (context) => {
    const [decided] = world.chain.decisions as [Decided];
    await world.chain.slash(decided, 0 as SeatIndex);
    const { page } = await visit(context, world, { routes: longAgo });
    await sees(page, /^Nobody has asked in the latest 50 000 blocks\./);
    await page.goto(`${world.url}#/request/${decided.attempt.request.id}`);
    await page.getByText("Who was slashed for it").click();
    await sees(page, /signed two messages for one place in/);
    await sees(page, "From the events of all blocks since the question.");
  });

  it("shows a fault that is proven while the list is open", async (context) => {
    const { requestId } = await conclaveOf(world).ask({ question: "Is it due?", kind: "boolean", currency: "native" });
    const decided = await world.chain.decide(requestId);
    const { page } = await visit(context, world, { route: `/request/${requestId}` });
    await page.getByText("Who was slashed for it").click();
    await sees(page, "Nobody so far.");
    // An agent is slashed once in seven days.
    const slashed = (await conclaveOf(world).faults()).faults.map(({ agentId }) => agentId);
    const seat = decided.attempt.committee.findIndex(({ agentId }) => !slashed.includes(agentId));
    await world.chain.slash(decided, seat as SeatIndex);
    await sees(page, /signed two messages for one place in/);
    assert.equal(await page.getByText("Nobody so far.").count(), 0);
  });
});
