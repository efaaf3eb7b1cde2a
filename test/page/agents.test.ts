// The dashboard against agents that argue: the world of `conclave dev`, one of whose agents lies.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { startDevWorld, type DevWorld } from "../../devnet/dev/start.ts";
import { visit } from "./visit.ts";
import { serve, type Served } from "./world.ts";

const SHOTS = join(import.meta.dirname, "../../.cache/page");
/** A committee of the small model decides in seconds; a busy machine takes its time. */
const PATIENCE_MS = 240_000;

let dev: DevWorld;
let world: Served;

before(async () => {
  const started = new AbortController();
  dev = await startDevWorld({
    directory: null,
    port: 0,
    blockTimeSeconds: 1,
    agents: 5,
    liar: true,
    model: null,
    sources: null,
    subgraph: false,
    signal: started.signal,
    progress: () => undefined,
  });
  const { rpcUrl, deployment, gateways, live, asker } = dev.facts;
  const { chainId, oracle, registry } = deployment;
  const config = { rpcUrl, chainId, oracle, registry, gateways, live, burnerKey: asker.privateKey };
  const served = await serve(config);
  const close = async (): Promise<void> => {
    await served.close();
    await dev.stop();
  };
  world = { ...served, rpcUrl, accounts: [asker], close };
  await mkdir(SHOTS, { recursive: true });
});
after(() => world.close());

describe("page: agents that argue", () => {
  it("asks with a wallet, fills the panes while the agents argue, and proves the decision", async (context) => {
    const { page } = await visit(context, world, {
      route: "/ask",
      wallet: { account: 0 },
      expects: /404|ERR_CONNECTION_REFUSED/,
    });
    await page.getByLabel("Question").fill("Paul had seventy-six EUR and paid sixty-five EUR. How much is left?");
    await page.getByLabel("Kind of answer").selectOption("A number");
    await page.getByText("Committee, time and appeals").click();
    await page.getByLabel("Seats").fill("5");
    await page.getByRole("main").getByRole("button", { name: "Test wallet" }).click();
    await page.getByRole("button", { name: "Ask", exact: true }).click();
    const isFilling = (): boolean =>
      document.querySelectorAll(".said-answer").length > 0 && document.querySelector(".decided-answer") === null;
    await page.waitForFunction(isFilling, undefined, { timeout: PATIENCE_MS });
    await page.screenshot({ path: join(SHOTS, "agents-live.png"), fullPage: true });
    await page.locator(".decided-answer").waitFor({ timeout: PATIENCE_MS });
    assert.equal(await page.locator(".decided-answer").innerText(), "11");
    await page.locator(".pane").nth(4).waitFor();
    await page.getByRole("button", { name: "Prove", exact: true }).click();
    await page.locator(".seal").waitFor();
    await page.screenshot({ path: join(SHOTS, "agents-argue.png"), fullPage: true });
    assert.match(await page.locator(".seal").innerText(), /^Proven\./);
    assert.equal(await page.locator(".pane.is-agrees").count(), 4);
    assert.match(await page.locator(".pane.is-equivocated").innerText(), /signed two things/);
    const titles = await page.locator("[aria-label='The argument'] h2").allInnerTexts();
    assert.ok(titles.indexOf("The seats") < titles.indexOf("Signed two things"), titles.join());
    const box = page.locator(".equivocation");
    assert.equal(await box.count(), 1);
    await box.getByText(/\d TEST were taken from agent \d for it, by the proof of/).waitFor();
    // One line for each place; both messages are folded.
    assert.match(
      await box.innerText(),
      /^Seat \d signed different messages for (one place|each of \d places): .*\n+Round 0, /,
    );
    const fold = box.locator("details").first();
    assert.equal(await fold.locator("pre").first().isVisible(), false);
    await fold.getByText("Both messages").click();
    assert.equal(await fold.locator("pre").count(), 2);
    await page.screenshot({ path: join(SHOTS, "agents-equivocation.png"), fullPage: true });
    const objections = await page.locator(".objections li").allInnerTexts();
    assert.deepEqual(objections, [...new Set(objections)]);
  });

  it("has rows of a few lines in the table of agents on a phone", async (context) => {
    const { page } = await visit(context, world, { route: "/agents", viewport: { width: 360, height: 740 } });
    const rows = page.locator(".agents tbody tr");
    await rows.first().waitFor();
    for (const row of await rows.all()) {
      const height = (await row.boundingBox())?.height ?? 1_000;
      assert.ok(height < 100, `a row is ${height} pixels high`);
    }
  });
});
