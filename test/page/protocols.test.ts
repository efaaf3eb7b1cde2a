// The dashboard shows and proves decisions of every protocol; its chain is a node that holds them and nothing else.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Page, Route } from "playwright-core";
import type { PublicClient } from "viem";
import type { Digest } from "../../agents/core/types.ts";
import { mbft } from "../../agents/core/protocols/mbft/index.ts";
import { protocols } from "../../agents/core/protocols/index.ts";
import { decided, decisionsOfAll, type DecidedCase } from "../support/decided-cases.ts";
import { clientOf, NODE_REGISTRY } from "../support/decided-node.ts";
import { visit, type RpcCall } from "./visit.ts";
import { serve, serveBlocks, type Served } from "./world.ts";

const SHOTS = join(import.meta.dirname, "../../.cache/page");
const RPC = "http://node.test/";
const LARGE = 31;
/** On an idle machine it takes a second; others may use this one. */
const PATIENCE_MS = 20_000;

let world: Served;
let node: PublicClient;
const large = decided(
  mbft,
  1_000,
  Array.from({ length: LARGE }, (_, seat) => (seat < 24 ? "yes" : "no")),
  {},
);
/** The decision of each protocol whose committee has seven seats; two of them dissent. */
const cases = decisionsOfAll().filter(({ attempt }) => attempt.committee.length === 7);

before(async () => {
  await mkdir(SHOTS, { recursive: true });
  const all = [...cases, large];
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
      const { page } = await visit(context, world, { route: routeOf(one), routes: answerCalls });
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
      await page.screenshot({ path: join(SHOTS, `${one.name.split(",")[0]}.png`), fullPage: true });
      await prove(page);
    });

  it(`opens and proves a transcript of ${LARGE} seats`, { timeout: 4 * PATIENCE_MS }, async (context) => {
    const { page } = await visit(context, world, { route: "/", routes: answerCalls });
    const started = performance.now();
    await page.goto(`${world.url}#${routeOf(large)}`);
    await page
      .locator(".pane")
      .nth(LARGE - 1)
      .waitFor({ timeout: PATIENCE_MS });
    const shown = performance.now();
    await prove(page);
    const proven = performance.now();
    context.diagnostic(
      `shown after ${Math.round(shown - started)} ms, proven after ${Math.round(proven - shown)} ms more`,
    );
  });
});

function routeOf({ attempt }: DecidedCase): string {
  return `/request/${attempt.request.id}`;
}

async function prove(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Prove", exact: true }).click();
  await page.locator(".seal").waitFor({ timeout: PATIENCE_MS });
  assert.match(await page.locator(".seal").innerText(), /^Proven\./);
}

async function answerCalls(page: Page): Promise<void> {
  await page.route(RPC, answerCall);
}

async function answerCall(route: Route): Promise<void> {
  const headers = { "access-control-allow-origin": "*", "access-control-allow-headers": "content-type" };
  if (route.request().method() === "OPTIONS") return route.fulfill({ status: 204, headers });
  const { id, method, params } = route.request().postDataJSON() as RpcCall & { readonly id: number };
  const result: unknown = await node.request({ method, params } as Parameters<PublicClient["request"]>[0]);
  return route.fulfill({ json: { jsonrpc: "2.0", id, result: result ?? null }, headers });
}
