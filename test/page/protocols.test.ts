// The dashboard shows and proves decisions of every protocol; its chain is a node that holds them and nothing else.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { AxeBuilder } from "@axe-core/playwright";
import type { Page, Route } from "playwright-core";
import type { PublicClient } from "viem";
import type { Digest } from "../../agents/core/types.ts";
import { hashgraph } from "../../agents/core/protocols/hashgraph/index.ts";
import { mbft } from "../../agents/core/protocols/mbft/index.ts";
import { protocols } from "../../agents/core/protocols/index.ts";
import { byCommand, decided, decisionsOfAll, spoiled, type DecidedCase } from "../support/decided-cases.ts";
import { clientOf, NODE_REGISTRY } from "../support/decided-node.ts";
import { visit, type RpcCall } from "./visit.ts";
import { serve, serveBlocks, type Served } from "./world.ts";

const SHOTS = join(import.meta.dirname, "../../.cache/page");
const RPC = "http://node.test/";
const LARGE = 31;
/** Seats whose hashgraph is made in seconds. */
const MANY = 13;
/** On an idle machine it takes a second; others may use this one. */
const PATIENCE_MS = 240_000;

let world: Served;
let node: PublicClient;
const large = decided(
  mbft,
  1_000,
  Array.from({ length: LARGE }, (_, seat) => (seat < 24 ? "yes" : "no")),
  {},
);
const graph = decided(
  hashgraph,
  1_001,
  Array.from({ length: MANY }, (_, seat) => (seat < 10 ? "yes" : "no")),
  {},
);
/** The decision of each protocol whose committee has seven seats; two of them dissent. */
const cases = decisionsOfAll().filter(({ attempt }) => attempt.committee.length === 7);

before(async () => {
  await mkdir(SHOTS, { recursive: true });
  const all = [...cases, large, graph];
  node = clientOf(all);
  const blocks = new Map<Digest, Uint8Array>(all.flatMap((one) => [...one.blocks]));
  const gateway = await serveBlocks(blocks);
  const { chainId, oracle } = large.attempt.domain;
  const served = await serve({ rpcUrl: RPC, chainId, oracle, registry: NODE_REGISTRY, gateways: [gateway.url] });
  const close = async (): Promise<void> => {
    await served.close();
    await gateway.close();
  };
  world = { ...served, rpcUrl: RPC, accounts: [], close };
});
after(() => world.close());

describe("page: every protocol", () => {
  it("has a case for each", () => assert.equal(cases.length, protocols.length));

  for (const one of cases)
    it(`shows and proves a decision: ${one.name}`, async (context) => {
      const { page } = await visit(context, world, { route: routeOf(one), routes: answering(node) });
      await page.locator(".pane").nth(6).waitFor();
      const { status, answer } = one.certificate.decision;
      assert.equal(await page.locator(".decided-answer").innerText(), status === "decided" ? answer : "No consensus");
      // Under leaderless and adversarial a few seats answer, and the others judge.
      const fewest = ["leaderless", "adversarial"].some((id) => one.name.startsWith(`${id},`)) ? 1 : 5;
      assert.ok((await page.locator(".said-answer").count()) >= fewest);
      await page
        .getByRole("img", { name: /of 7 seats gave the answer/ })
        .first()
        .waitFor();
      const graphs = one.name.startsWith("hashgraph,") ? 1 : 0;
      assert.equal(await page.getByRole("heading", { name: "Who saw whom" }).count(), graphs);
      await page.screenshot({ path: join(SHOTS, `${one.name.split(",")[0]}.png`), fullPage: true });
      await prove(page);
    });

  it(`opens and proves a transcript of ${LARGE} seats`, async (context) => {
    const { page } = await visit(context, world, { route: "/", routes: answering(node) });
    const shownMs = await timed(page, ".pane", LARGE, () => page.goto(`${world.url}#${routeOf(large)}`));
    const provenMs = await timed(page, ".seal", 1, () => pressProve(page));
    await sealIsGood(page);
    context.diagnostic(`shown after ${shownMs} ms, proven after ${provenMs} ms more`);
  });
});

/** The checks in their order on the page. */
const STEPS = ["chain", "certificate", "root", "messages", "replay", "decision"];

describe("page: what is spoiled", () => {
  for (const one of spoiled(cases[0] as DecidedCase))
    it(`fails as for conclave verify: ${one.name}`, async (context) => {
      const { failure } = await byCommand(one);
      assert.ok(failure !== undefined);
      const gateway = await serveBlocks(one.blocks);
      context.after(() => gateway.close());
      const { page } = await visit(context, world, {
        route: routeOf(one),
        config: { ...world.config, gateways: [gateway.url] },
        routes: answering(clientOf([one])),
        expects: /404|ERR_INCOMPLETE_CHUNKED_ENCODING/,
      });
      await page.getByRole("button", { name: "Prove", exact: true }).click();
      const seal = page.locator(".seal.bad");
      await seal.waitFor({ timeout: PATIENCE_MS });
      const checks = await page.locator(".check").evaluateAll((all) => all.map(({ className }) => className));
      assert.deepEqual(
        checks.flatMap((name, index) => (name.includes("is-failed") ? STEPS[index] : [])),
        [failure.step],
      );
      if (failure.cid !== null)
        assert.match(await page.locator(".check.is-failed").innerText(), new RegExp(failure.cid));
      assert.equal((await seal.innerText()).startsWith("Refuted"), failure.kind === "refuted");
    });
});

describe("page: the graph of a hashgraph", () => {
  it(`draws the events of ${MANY} seats, and says what each had seen`, async (context) => {
    const { page } = await visit(context, world, { route: "/settings", routes: answering(node) });
    const drawing = page.getByRole("img", { name: /^\d+ events of 13 seats$/ });
    const tookMs = await timed(page, "[aria-label$='events of 13 seats']", 1, () =>
      page.goto(`${world.url}#${routeOf(graph)}`),
    );
    context.diagnostic(`${await drawing.getAttribute("aria-label")}, drawn after ${tookMs} ms`);
    assert.ok((await drawing.locator("*").count()) < 2 * MANY + 10, "the drawing has too many elements");
    const section = page.getByRole("region", { name: "Who saw whom" });
    // The last event of a quick committee descends from events of all seats; the first one of a seat from none.
    const seen = section.locator("p[aria-live]");
    assert.match(await seen.innerText(), /^Seat \d+, event \d+, .*: it had seen \d+ of \d+ events, of \d+ seats?/);
    await section.getByLabel("Seat", { exact: true }).selectOption("Seat 7");
    const first = section.getByLabel("Event", { exact: true }).locator("option").first();
    await section.getByLabel("Event", { exact: true }).selectOption({ label: (await first.innerText()).trim() });
    assert.match(await seen.innerText(), /^Seat 7, event 0, [^:]+: it had seen 1 of \d+ events, of 1 seat\./);
    assert.match(await seen.innerText(), /It had seen nothing of seat 0, seat 1,/);
    // A click chooses the event next to it: the drawing's top left has the first events of the first seat.
    await drawing.click({ position: { x: 66, y: 12 } });
    assert.match(await seen.innerText(), /^Seat 0, event 0, /);
    const { violations } = await new AxeBuilder({ page }).include(".graph").analyze();
    assert.deepEqual(
      violations.filter(({ impact }) => impact === "serious" || impact === "critical").map(({ id }) => id),
      [],
    );
    await drawing.screenshot({ path: join(SHOTS, "graph.png") });
  });
});

function routeOf({ attempt }: DecidedCase): string {
  return `/request/${attempt.request.id}`;
}

async function prove(page: Page): Promise<void> {
  await pressProve(page);
  await sealIsGood(page);
}

const pressProve = (page: Page): Promise<void> => page.getByRole("button", { name: "Prove", exact: true }).click();

/** Milliseconds until so many elements are in the page. It looks in every frame, where a locator waits half a second between two looks. */
async function timed(page: Page, selector: string, count: number, action: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await action();
  const isThere = ([wanted, least]: readonly [string, number]): boolean =>
    document.querySelectorAll(wanted).length >= least;
  await page.waitForFunction(isThere, [selector, count] as const, { timeout: PATIENCE_MS });
  return Math.round(performance.now() - started);
}

async function sealIsGood(page: Page): Promise<void> {
  await page.locator(".seal").waitFor({ timeout: PATIENCE_MS });
  assert.match(await page.locator(".seal").innerText(), /^Proven\./);
}

/** Lets a node answer the page's calls. */
function answering(one: PublicClient): (page: Page) => Promise<unknown> {
  return (page) => page.route(RPC, (route) => answerCall(one, route));
}

async function answerCall(one: PublicClient, route: Route): Promise<void> {
  const headers = { "access-control-allow-origin": "*", "access-control-allow-headers": "content-type" };
  if (route.request().method() === "OPTIONS") return route.fulfill({ status: 204, headers });
  const { id, method, params } = route.request().postDataJSON() as RpcCall & { readonly id: number };
  const result: unknown = await one.request({ method, params } as Parameters<PublicClient["request"]>[0]);
  return route.fulfill({ json: { jsonrpc: "2.0", id, result: result ?? null }, headers });
}
