// What the dashboard says while something around it is away, full or wrong.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Page, Route } from "playwright-core";
import { keepsNothing, sees, visit } from "./visit.ts";
import { startDashboardWorld, type DashboardWorld } from "./world.ts";

let world: DashboardWorld;
before(async () => {
  world = await startDashboardWorld(3);
});
after(() => world.close());

/** Nothing is said. */
const NONE = /^$/;

/** True if an alert stands in every frame of the next `ms`. */
async function staysFor(ms: number): Promise<boolean> {
  const end = performance.now() + ms;
  while (performance.now() < end) {
    if (document.querySelector("[role=alert]") === null) return false;
    await new Promise((resolve) => requestAnimationFrame(resolve));
  }
  return true;
}

describe("page: what goes wrong around it", () => {
  it("says that a part of it is gone, beside the other pages, and loads again", async (context) => {
    const { page } = await visit(context, world, { expects: /404|import/ });
    await page.getByRole("listitem").first().waitFor();
    await page.route("**/assets/**", (route) => route.fulfill({ status: 404 }));
    await page.getByRole("link", { name: "Ask", exact: true }).click();
    await sees(page, "This part of the page failed");
    assert.equal(await page.getByRole("button", { name: "Forget the wallet and load again" }).count(), 0);
    await page.getByRole("link", { name: "Decisions", exact: true }).click();
    await page.getByRole("listitem").first().waitFor();
    await page.unroute("**/assets/**");
    await page.getByRole("link", { name: "Ask", exact: true }).click();
    await page.getByRole("button", { name: "Load again" }).click();
    await page.getByRole("heading", { level: 1, name: "Ask" }).waitFor();
  });

  it("says that the node is away, and goes on by itself when it is back", async (context) => {
    const { page } = await visit(context, world, { expects: /ERR_FAILED/ });
    const row = page.locator(`a[href$="/request/${world.chain.decisions[0]?.attempt.request.id}"]`);
    await row.waitFor();
    await page.route(`${world.rpcUrl}/**`, (route) => route.abort());
    await row.click();
    await sees(page, "The node of the chain does not answer");
    await page.unroute(`${world.rpcUrl}/**`);
    await page.locator(".decided-answer").waitFor();
    await page.getByRole("alert").waitFor({ state: "detached" });
  });

  it("says so as long as the node is away, though it remembers the terms", async (context) => {
    const provisional = String(world.chain.decisions.at(-1)?.attempt.request.id);
    const { page } = await visit(context, world, { route: `/request/${provisional}`, expects: /ERR_FAILED/ });
    await page.getByText("Fee paid").waitFor();
    await page.getByRole("button", { name: /^Appeal for/ }).waitFor();
    await page.route(`${world.rpcUrl}/**`, (route) => route.abort());
    await sees(page, "The node of the chain does not answer");
    assert.equal(await page.evaluate(staysFor, 6_000), true, "the alert vanished while the node was away");
    await page.unroute(`${world.rpcUrl}/**`);
    await page.getByRole("alert").waitFor({ state: "detached" });
  });

  it("asks for settings where none are served, refuses wrong ones, and keeps right ones", async (context) => {
    const { page } = await visit(context, world, { config: null });
    await page.getByRole("heading", { name: "Settings" }).waitFor();
    const { rpcUrl, oracle, registry, gateways } = world.config as Record<string, string>;
    await page.getByLabel("Node of the chain (URL)").fill(rpcUrl ?? "");
    await page.getByLabel("Chain id").fill("31337");
    await page.getByLabel("Address of the oracle").fill("0x12");
    await page.getByLabel("Address of the registry").fill(registry ?? "");
    await page.getByRole("button", { name: "Save" }).click();
    await sees(page, "Address of the oracle: give 0x and 40 hexadecimal digits");
    await page.getByLabel("Address of the oracle").fill(`0x${"aB".repeat(20)}`);
    await page.getByRole("button", { name: "Save" }).click();
    await sees(page, /^Address of the oracle: a letter or digit is wrong, since its checksum is/);
    await page.getByLabel("Address of the oracle").fill(oracle ?? "");
    await page.getByLabel(/^Gateways/).fill(String(gateways));
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("listitem").first().waitFor();
    await page.reload();
    await page.getByRole("listitem").first().waitFor();
    await page.getByRole("link", { name: "Settings" }).click();
    await page.getByRole("button", { name: "Forget my settings" }).click();
    await sees(page, "This page needs to know where your Conclave is.");
  });

  it("leads to the first wrong setting, and takes what is pasted with blanks around it", async (context) => {
    const { page } = await visit(context, world, { config: null, viewport: { width: 360, height: 640 } });
    const focused = (): Promise<string | null> =>
      page.evaluate(() => document.activeElement?.getAttribute("name") ?? null);
    const { rpcUrl, oracle, registry } = world.config as Record<string, string>;
    const save = page.getByRole("button", { name: "Save" });
    await page.getByLabel("Key of a burner account").fill("0x1");
    await page.getByLabel("Node of the chain (URL)").fill("example.org:8545");
    await save.click();
    assert.equal(await focused(), "rpcUrl");
    await sees(page, /^Node of the chain: give a URL that begins/);
    await page.getByLabel("Node of the chain (URL)").fill(` ${rpcUrl} `);
    await page.getByLabel("Chain id").fill("31337 ");
    await page.getByLabel("Address of the oracle").fill(` ${oracle}`);
    await page.getByLabel("Address of the registry").fill(`${registry} `);
    await save.click();
    assert.equal(await focused(), "burnerKey");
    await page.getByLabel("Key of a burner account").fill(" ");
    await save.click();
    await page.getByRole("listitem").first().waitFor();
  });

  it("says that the browser keeps no settings", async (context) => {
    const routes = (page: Page): Promise<unknown> => page.addInitScript(keepsNothing);
    const { page } = await visit(context, world, { route: "/settings", routes });
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("alert").getByText("This browser keeps nothing").waitFor();
  });

  it("says that the browser lets it copy nothing", async (context) => {
    const routes = (page: Page): Promise<unknown> =>
      page.addInitScript(() => Object.defineProperty(Navigator.prototype, "clipboard", { value: undefined }));
    const { page } = await visit(context, world, { route: "/ask", routes });
    await page.getByLabel("Question").fill("Is 7 odd?");
    await page.getByText("The same in TypeScript and Solidity").click();
    await page.getByRole("button", { name: "Copy" }).first().click();
    await sees(page, /The browser lets this page copy nothing/);
  });

  it("says that the node serves another chain, that an address holds no Conclave, and that config.json is wrong", async (context) => {
    const elsewhere = await visit(context, world, { config: { ...world.config, chainId: 1, burnerKey: undefined } });
    await sees(elsewhere.page, "The node serves another chain");
    const config = { ...world.config, oracle: world.accounts[0]?.address };
    for (const route of ["/ask", "/"]) {
      const nowhere = await visit(context, world, { route, config });
      await sees(nowhere.page, "There is no Conclave at this address");
      assert.equal(await nowhere.page.getByText("Nobody has asked yet").count(), 0);
    }
    const other = await visit(context, world, {
      route: "/agents",
      config: { ...world.config, registry: world.config["oracle"] },
    });
    await sees(other.page, /Find the registry: the oracle's is at 0x\w+, not at 0x\w+; correct the address/);
    const served = await visit(context, world, { config: { ...world.config, chainId: "x" } });
    await sees(served.page, /^config\.json beside this page: chainId: give a whole number/);
    // What was right need not be typed again, and what was wrong is marked.
    assert.equal(await served.page.getByLabel("Node of the chain (URL)").inputValue(), String(world.config["rpcUrl"]));
    assert.equal(await served.page.getByLabel(/^Gateways/).inputValue(), String(world.config["gateways"]));
    assert.equal(await served.page.getByLabel("Chain id").getAttribute("aria-invalid"), "true");
    const html = (page: Page): Promise<unknown> =>
      page.route("**/config.json", (route) => route.fulfill({ contentType: "text/html", body: "<!doctype html>" }));
    const missing = await visit(context, world, { routes: html });
    await sees(missing.page, /^config\.json beside this page: the server sends no JSON there, so it may have no such/);
    const tooHigh = await visit(context, world, { config: { ...world.config, deploymentBlock: 1_000_000 } });
    for (const route of ["/", "/agents", "/request/1", "/agents/1", "/agents/faults", "/ask", "/settings"]) {
      await tooHigh.page.goto(`${world.url}#${route}`);
      const said = /^The chain’s newest block is \d+, and the settings say that the deployment is in block 1/;
      await tooHigh.page.getByText(said).waitFor();
      assert.equal(await tooHigh.page.getByText(/Nobody has asked/).count(), 0);
    }
  });

  it("says on every page that is loaded already that the node is away, as long as it is", async (context) => {
    const { page } = await visit(context, world, { expects: /ERR_FAILED/ });
    const said = page.getByText("The node gives no answer: this may be old.");
    const final = String(world.chain.decisions[0]?.attempt.request.id);
    for (const [route, shown] of [
      ["/", page.getByRole("listitem")],
      ["/agents", page.locator('a[href$="/agents/1"]')],
      [`/request/${final}`, page.getByText("Fee paid")],
      ["/ask", page.getByText(/Costs 0\.\d+ ETH/)],
    ] as const) {
      await page.goto(`${world.url}#${route}`);
      await shown.first().waitFor();
      assert.equal(await said.count(), 0);
      await page.route(`${world.rpcUrl}/**`, (one) => one.abort());
      await said.waitFor();
      assert.equal(await shown.first().isVisible(), true);
      await page.unroute(`${world.rpcUrl}/**`);
      await said.waitFor({ state: "detached" });
    }
  });

  it("says why config.json cannot be had: its server fails, breaks off, or never answers", async (context) => {
    const seen = async (answer: (route: Route) => unknown, text: RegExp): Promise<void> => {
      const routes = (page: Page): Promise<unknown> => page.route("**/config.json", (one) => void answer(one));
      const { page } = await visit(context, world, { routes, expects: /ERR_|50\d|404/ });
      await page.getByRole("heading", { name: "Settings" }).waitFor();
      if (text.source === NONE.source) assert.equal(await page.getByRole("alert").count(), 0);
      else await sees(page, text);
    };
    await seen(
      (route) => route.fulfill({ status: 500 }),
      /^config\.json beside this page: the server answers with status 500/,
    );
    await seen((route) => route.abort(), /^config\.json beside this page: it cannot be fetched/);
    await seen(() => undefined, /^config\.json beside this page: the server gave no answer within 10 s/);
    await seen((route) => route.fulfill({ status: 404 }), NONE);
  });
});
