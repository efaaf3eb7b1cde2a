// How the dashboard looks and how much it loads: accessibility, screenshots, sizes, long lists.
import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { AxeBuilder } from "@axe-core/playwright";
import type { Page } from "playwright-core";
import { requestRow, standing } from "../adapters/fixtures/subgraph-server.ts";
import { sees, visit, type VisitOptions } from "./visit.ts";
import { startDashboardWorld, type DashboardWorld } from "./world.ts";

const SHOTS = join(import.meta.dirname, "../../.cache/page");
const SUBGRAPH = "http://subgraph.test/conclave";
const FIRST_VIEW_BYTES = 200_000;

let world: DashboardWorld;
before(async () => {
  world = await startDashboardWorld(3);
  await mkdir(SHOTS, { recursive: true });
});
after(() => world.close());

const LOOKS = [
  ["light", { viewport: { width: 1_200, height: 900 }, colorScheme: "light" }],
  ["dark", { viewport: { width: 1_200, height: 900 }, colorScheme: "dark" }],
  ["phone", { viewport: { width: 390, height: 800 }, colorScheme: "light", hasTouch: true }],
] as const;

describe("page: looks", () => {
  for (const [look, options] of LOOKS)
    it(`has no serious fault of accessibility and fits its window: ${look}`, async (context) => {
      const { page } = await visit(context, world, options);
      const provisional = String(world.chain.decisions.at(-1)?.attempt.request.id);
      const routes = [
        ["history", "/", () => page.getByRole("listitem").first().waitFor()],
        ["decision", `/request/${provisional}`, () => proven(page)],
        ["ask", "/ask", () => page.getByText(/Costs 0\.\d+/).waitFor()],
        ["agents", "/agents", () => sees(page, "Agent 13")],
        [
          "agent",
          "/agents/2",
          () => page.getByRole("listitem").or(page.getByText("It sat on no committee")).first().waitFor(),
        ],
        ["settings", "/settings", () => page.getByRole("button", { name: "Save" }).waitFor()],
      ] as const;
      for (const [name, route, isReady] of routes) {
        await page.goto(`${world.url}#${route}`);
        await isReady();
        await page.screenshot({ path: join(SHOTS, `${name}-${look}.png`), fullPage: true });
        const { violations } = await new AxeBuilder({ page }).analyze();
        const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
        assert.deepEqual(
          serious.map(({ id, nodes }) => `${name}: ${id} ${nodes.map(({ html }) => html).join(" ")}`),
          [],
        );
        const [wide, window] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth] as const);
        assert.ok(wide <= window, `${name} is ${wide} pixels wide in a window of ${window}`);
      }
    });
});

/** What is typed, and what stands beside it in a window that has room. */
const BESIDE = [
  ["/ask", "#root textarea", "section[aria-label=Price]"],
  ["/settings", "input[name=rpcUrl]", "textarea[name=gateways]"],
  ["/agents/2", "input[name=amount]", "section[aria-label='Your stake'] .beside > :nth-child(2)"],
] as const;

describe("page: forms", () => {
  for (const [width, isWide] of [
    [1_600, true],
    [1_280, true],
    [390, false],
  ] as const)
    it(`${isWide ? "fill a window" : "stand in one column in one"} of ${width} pixels`, async (context) => {
      const { page } = await visit(context, world, { route: "/ask", viewport: { width, height: 900 } });
      await page.getByRole("main").getByRole("button", { name: "Burner account" }).click();
      for (const [route, typed, beside] of BESIDE) {
        await page.goto(`${world.url}#${route}`);
        const [form, aside, main] = [await boxOf(page, typed), await boxOf(page, beside), await boxOf(page, "main")];
        if (isWide) {
          assert.ok(aside.x > form.x + form.width, `${route}: nothing stands beside the form`);
          assert.ok(aside.x + aside.width > main.x + 0.9 * main.width, `${route}: the right of the window is empty`);
        } else {
          assert.ok(aside.y > form.y + form.height, `${route}: two columns are too narrow`);
        }
      }
    });
});

async function boxOf(page: Page, selector: string): Promise<{ x: number; y: number; width: number; height: number }> {
  return (await page.locator(selector).first().boundingBox()) ?? assert.fail(`${selector} is not seen`);
}

describe("page: on a phone", () => {
  it("shows addresses and programs to their ends, and that a table goes on", async (context) => {
    const { page } = await visit(context, world, { route: "/settings", viewport: { width: 390, height: 800 } });
    for (const name of ["oracle", "registry"]) await isWhole(page, `input[name=${name}]`);
    await page.goto(`${world.url}#/ask`);
    await page.getByLabel("Question").fill("Is 7 a prime number?");
    await page.getByText("The same in TypeScript and Solidity").click();
    await isWhole(page, ".program pre");
    await page.goto(`${world.url}#/agents`);
    const table = page.getByRole("region", { name: "Agents, a table" });
    await table.waitFor();
    const edges = await table.evaluate((one) => getComputedStyle(one).backgroundAttachment);
    assert.equal(edges, "local, local, scroll, scroll");
  });
});

async function isWhole(page: Page, selector: string): Promise<void> {
  const [whole, seen] = await page
    .locator(selector)
    .first()
    .evaluate((one) => [one.scrollWidth, one.clientWidth] as const);
  assert.ok(whole <= seen, `${selector} is ${whole} pixels wide, of which ${seen} are seen`);
}

async function proven(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Prove", exact: true }).click();
  await page.locator(".seal.good").waitFor();
}

describe("page: long lists", () => {
  it("keeps only the rows in view of 10,000, and reaches the oldest", async (context) => {
    const { page } = await visit(context, world, longSubgraph());
    await page.getByRole("listitem").first().waitFor();
    await sees(page, /From a subgraph/);
    const frames = await page.evaluate(scrollToTheEnd, `[aria-posinset="${ROWS}"]`);
    context.diagnostic(
      `${frames.count} frames, ${(frames.ms / frames.count).toFixed(1)} ms each, ${frames.rows} rows at most`,
    );
    assert.ok(frames.rows < 100, `${frames.rows} rows are in the document`);
    assert.equal((await page.getByText("Question 1,", { exact: false }).count()) > 0, true);
  });

  it("asks once for a page that fails, says so where the list ends, and goes on from there", async (context) => {
    let isDown = true;
    let asked = 0;
    const subgraph = longSubgraph((isFirst) => {
      asked += isFirst ? 0 : 1;
      return isDown && !isFirst;
    });
    const { page } = await visit(context, world, { ...subgraph, expects: /429/ });
    await page.getByRole("listitem").first().waitFor();
    await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
    const alert = page.getByRole("alert");
    await alert.waitFor();
    // The reader of the subgraph has tried more than once.
    const tries = asked;
    await page.waitForTimeout(2_000);
    assert.equal(asked, tries);
    isDown = false;
    await alert.getByRole("button", { name: "Try again" }).click();
    await alert.waitFor({ state: "detached" });
    await page.locator(`[aria-setsize="200"]`).first().waitFor();
    assert.equal(asked, tries + 1);
  });

  it("names the protocol of each request, also one that it does not know", async (context) => {
    const protocols = [4, 2, 77];
    const requests = protocols.map((protocol, index) => requestRow(3 - index, { protocol }));
    const { page } = await visit(context, world, subgraphOf(requests));
    const rows = page.getByRole("listitem");
    await rows.nth(2).waitFor();
    const names = await rows.locator("time + span").allInnerTexts();
    assert.deepEqual(names, ["leaderless", "mbft-bayesian", "protocol 77"]);
  });

  it("searches older requests only when it is told to", async (context) => {
    let asked = 0;
    const { page } = await visit(
      context,
      world,
      longSubgraph(() => (asked += 1) === 0),
    );
    await page.getByRole("listitem").first().waitFor();
    await page.getByLabel("Search").fill("question 9950,");
    await page.waitForFunction(() => document.querySelectorAll("[role=listitem]").length === 1);
    await page.waitForTimeout(1_000);
    const read = asked;
    assert.ok(read <= 2, `${read} pages were read`);
    await page.getByRole("button", { name: "Search older requests" }).click();
    await page.waitForTimeout(1_000);
    assert.equal(asked, read + 1);
  });

  it("shows what is new by itself, and moves nothing that is being read", async (context) => {
    const requests = Array.from({ length: 60 }, (_, index) => requestRow(60 - index));
    const { page } = await visit(context, world, subgraphOf(requests));
    await page.getByRole("listitem").first().waitFor();
    requests.unshift(requestRow(61, { question: "Is it new?" }));
    await sees(page, "Is it new?");
    await page.evaluate(() => scrollTo(0, 1_500));
    const row = page.locator(`a[href$="/request/35"]`);
    await row.focus();
    const old = await row.boundingBox();
    requests.unshift(requestRow(63), requestRow(62, { question: `Is it ${"very ".repeat(40)} new?` }));
    await page.locator(`[aria-setsize="63"]`).first().waitFor();
    const now = await row.boundingBox();
    assert.ok(Math.abs((old?.y ?? 0) - (now?.y ?? 1_000)) < 2, `${old?.y} became ${now?.y}`);
    assert.equal(await row.evaluate((one) => one === document.activeElement), true);
  });

  it("says by how many blocks the subgraph is behind, and shows the chain's events while it is away", async (context) => {
    let isAway = false;
    const subgraph = subgraphOf([requestRow(1)], () => isAway);
    const { page } = await visit(context, world, { ...subgraph, expects: /ERR_FAILED/ });
    await sees(page, /From a subgraph that is \d+ blocks behind the chain/);
    isAway = true;
    await page.reload();
    await sees(page, /The subgraph gives no answer.*Reason: .*the connection failed/);
    assert.equal(await page.getByRole("listitem").count(), 3);
  });

  it("shows the chain's events where the subgraph is taken down", async (context) => {
    const routes = (page: Page): Promise<unknown> =>
      page.route("http://subgraph.example/**", (route) =>
        route.fulfill({
          json: { errors: [{ message: "deployment does not exist" }] },
          headers: { "access-control-allow-origin": "*" },
        }),
      );
    const config = { ...world.config, subgraphUrl: "http://subgraph.example/name/conclave" };
    const { page } = await visit(context, world, { config, routes });
    await sees(page, /The subgraph gives no answer.*Reason: .*deployment does not exist/);
    assert.equal(await page.getByRole("listitem").count(), 3);
  });
});

const ROWS = 10_000;

interface Asked {
  readonly variables: { readonly first: number; readonly where: { readonly number_lt?: number } };
}

/** Runs in the page: scrolls until an element is there, a screen a frame. */
async function scrollToTheEnd(last: string): Promise<{ count: number; ms: number; rows: number }> {
  const started = performance.now();
  let [count, rows] = [0, 0];
  while (document.querySelector(last) === null && count < 20_000) {
    scrollBy(0, innerHeight);
    await new Promise((resolve) => requestAnimationFrame(resolve));
    rows = Math.max(rows, document.querySelectorAll("[role=listitem]").length);
    count += 1;
  }
  return { count, ms: performance.now() - started, rows };
}

describe("page: sizes", () => {
  for (const source of ["the chain", "a subgraph"])
    it(`loads less than ${FIRST_VIEW_BYTES / 1_000} kB, compressed, for the first view, from ${source}`, async (context) => {
      const answers = source === "the chain" ? {} : subgraphOf([requestRow(1)]);
      const { page } = await visit(context, world, { route: "/nothing", ...answers });
      const bytes: number[] = [];
      page.on("response", (response) => {
        if (response.url().startsWith(world.url) && !response.url().endsWith("config.json"))
          void response.body().then((body) => bytes.push(gzipSync(body, { level: 9 }).length));
      });
      await page.goto("about:blank");
      await page.goto(world.url);
      await page.getByRole("listitem").first().waitFor();
      await page.waitForLoadState("networkidle");
      const sum = bytes.reduce((all, one) => all + one, 0);
      context.diagnostic(`${bytes.length} files, ${sum} bytes`);
      assert.ok(bytes.length > 2 && sum < FIRST_VIEW_BYTES, `the first view has ${sum} bytes`);
    });
});

/** A subgraph with many requests; `fails` says when it refuses to answer. */
function longSubgraph(
  fails = (_isFirst: boolean): boolean => false,
): Required<Pick<VisitOptions, "config" | "routes">> {
  const { oracle, registry } = world.chain.deployment;
  return {
    config: { ...world.config, subgraphUrl: SUBGRAPH },
    routes: async (opened) =>
      opened.route(SUBGRAPH, async (route) => {
        const headers = { "access-control-allow-origin": "*" };
        const { first, where } = (route.request().postDataJSON() as Asked).variables;
        if (fails(where.number_lt === undefined)) return route.fulfill({ status: 429, body: "slow down", headers });
        const newest = Math.min(ROWS, (where.number_lt ?? ROWS + 1) - 1);
        const requests = Array.from({ length: Math.min(first, newest) }, (_, index) =>
          requestRow(newest - index, { question: `Question ${newest - index}, ${"long ".repeat(index % 40)}` }),
        );
        const data = {
          ...standing(),
          deployment: { oracle, registry, requests: ROWS, agents: 5, activeAgents: 4 },
          requests,
        };
        return route.fulfill({ json: { data }, headers });
      }),
  };
}

/** A subgraph with these requests; `isAway` says when it does not answer. */
function subgraphOf(
  requests: readonly object[],
  isAway = (): boolean => false,
): { readonly config: object; readonly routes: NonNullable<VisitOptions["routes"]> } {
  const { oracle, registry } = world.chain.deployment;
  const data = {
    ...standing(),
    deployment: { oracle, registry, requests: requests.length, agents: 5, activeAgents: 4 },
    requests,
  };
  return {
    config: { ...world.config, subgraphUrl: SUBGRAPH },
    routes: async (opened) =>
      opened.route(SUBGRAPH, (route) =>
        isAway() ? route.abort() : route.fulfill({ json: { data }, headers: { "access-control-allow-origin": "*" } }),
      ),
  };
}
