// The dashboard in a real browser, against a chain of its own.
import assert from "node:assert/strict";
import { after, before, describe, it, type TestContext } from "node:test";
import type { Page } from "playwright-core";
import { createTestClient, http } from "viem";
import { sha256 } from "../../agents/core/encoding/bytes.ts";
import { cidString } from "../../agents/core/encoding/cid.ts";
import type { Digest, Ppm } from "../../agents/core/types.ts";
import type { Decided } from "../../devnet/decided-chain.ts";
import type { Conclave } from "../../sdk/src/index.ts";
import { sees, visit } from "./visit.ts";
import { conclaveOf, startDashboardWorld, type DashboardWorld } from "./world.ts";

const QUESTION = "Policy: refunds within 60 days. Facts: after 118 days. Is the refund due?";
const MARKUP = `Is 2 > 1? <img src=x onerror="document.title='owned'">`;
/** It turns itself around, holds tags and fillers, which only models see, and a letter whose accents would cover the lines above. */
const HOSTILE = `${MARKUP} \u202Ekcab \u{e0068}\u{e0069} \u3164\u115f\u1160\uffa0\u2800 Z${"\u0301".repeat(40)}`;
const SHOWN = `${MARKUP} \ufffdkcab \ufffd\ufffd ${"\ufffd".repeat(5)} Z${"\u0301".repeat(4)}\ufffd`;

let world: DashboardWorld;
let conclave: Conclave;
/** Two seats against two, of whom one is convinced. */
let argued: { readonly requestId: bigint; readonly decided: Decided };

before(async () => {
  world = await startDashboardWorld(3);
  conclave = conclaveOf(world);
  const { requestId } = await conclave.ask({ question: QUESTION, kind: "boolean", currency: "native" });
  const decided = await world.chain.decide(requestId, [
    mind("no", "no", "118 is more than 60, so no refund is due."),
    mind("no", "no", "It came too late."),
    mind("yes", "no", "The customer asked politely."),
    mind("yes", "yes", "The facts name a refund."),
  ]);
  argued = { requestId, decided };
});
after(() => world.close());

function mind(answer: string, approved: string, proof: string) {
  return { answer, approves: (one: string) => one === approved, proof, confidence: 900_000 as Ppm };
}

describe("page: decisions", () => {
  it("lists the requests of the chain, and filters them", async (context) => {
    const { page } = await visit(context, world);
    const rows = page.getByRole("listitem");
    await rows.first().waitFor();
    assert.equal(await rows.count(), 4);
    assert.match(await rows.first().innerText(), /refunds within 60 days[^]*mbft[^]*no/);
    await sees(page, "From the events of the latest 50 000 blocks.");
    await page.getByLabel("Search").fill("IS 1 LESS");
    await page.waitForFunction(() => document.querySelectorAll("[role=listitem]").length === 1);
    assert.match(await rows.first().innerText(), /Is 1 less than 2\?/);
    await page.getByLabel("Search").fill(await rows.last().locator(".number").first().innerText());
    await page.waitForFunction(() => document.querySelectorAll("[role=listitem]").length === 1);
    await page.getByLabel("Search").fill("nobody asked this");
    await sees(page, "No request matches. Change the search.");
    await page.getByLabel("Search").fill("");
    await page.getByLabel("Status").selectOption("Refunded");
    await page.waitForFunction(() => document.querySelectorAll("[role=listitem]").length === 0);
  });

  it("opens a decision by the keyboard alone", async (context) => {
    const { page } = await visit(context, world);
    await page.getByRole("listitem").first().waitFor();
    const focused = (): Promise<string> => page.evaluate(() => document.querySelector("a:focus")?.textContent ?? "");
    for (let presses = 0; presses < 30 && !(await focused()).includes("refunds within"); presses++)
      await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: QUESTION }).waitFor();
    assert.equal(await page.evaluate(() => document.activeElement?.tagName), "MAIN");
  });

  it("shows who answered what, who objected and why, and who was convinced", async (context) => {
    const { page } = await visit(context, world, { route: `/request/${argued.requestId}` });
    const panes = page.locator(".pane");
    await panes.nth(3).waitFor();
    const texts = await panes.allInnerTexts();
    assert.match(texts[0] ?? "", /Seat 0[^]*agrees[^]*no[^]*90 % sure[^]*118 is more than 60/);
    assert.match(texts[2] ?? "", /differs[^]*yes[^]*The customer asked politely/);
    assert.match(texts.join(), /Convinced seat 2/);
    const tops = await panes.evaluateAll((all) => all.map((one) => one.getBoundingClientRect().top));
    assert.equal(new Set(tops).size, 1, `four seats do not stand in one row: ${tops.join()}`);
    const colours = await page
      .getByText(/^Confidence .*Final\.$/)
      .evaluate((one) => [getComputedStyle(one).color, getComputedStyle(document.body).color]);
    assert.equal(colours[0], colours[1]);
    const objections = await page.locator(".objections li").allInnerTexts();
    assert.equal(objections.length, 3);
    assert.match(objections.at(-1) ?? "", /Seat 3 to seat \d’s “no”[^]*The facts name a refund[^]*Refuted by/);
    assert.deepEqual(await page.locator(".votes tbody tr").nth(2).locator("td .hidden").allInnerTexts(), [
      "accepts it",
      "gave this answer",
    ]);
    await page
      .getByRole("img", { name: /2 of 4 seats gave the answer, 1 accept it, 1 differ, 0 gave no answer/ })
      .waitFor();
  });

  it("shows all that was asked for", async (context) => {
    const { requestId } = await conclave.ask({
      question: "How many eggs are in a carton?",
      kind: "number",
      decimals: 2,
      tolerance: 50n,
      assurance: "high",
      appeals: 1,
      retries: 1,
      delay: 3_600,
      finality: 95,
      nonAnswers: "refused",
      currency: "native",
    });
    const { page } = await visit(context, world, { route: `/request/${requestId}` });
    await page.getByText("All terms").click();
    const terms = page.locator("details .facts > div");
    assert.deepEqual(await terms.allInnerTexts(), [
      "Decimals\n2",
      "Tolerance\n0.5",
      "Assurance\nHigh: more than two thirds",
      "Time to decide, and to appeal\n30 minutes",
      "Appeals\n1 at most",
      "Retries\n1 at most",
      "Time before it starts\n1 hour",
      "Final at once\nFrom 95 % sure",
      "“It cannot be told”\nIs no decision",
      "Stake behind the answer\nNone",
      "Callback\nNone",
    ]);
  });

  it("shows what a stranger wrote as text, and nothing else", async (context) => {
    const { requestId } = await conclave.ask({ question: HOSTILE, kind: "boolean", currency: "native" });
    await world.chain.decide(
      requestId,
      Array.from({ length: 4 }, () => mind("yes", "yes", `<b>bold</b> ${"x".repeat(400)}`)),
    );
    const { page } = await visit(context, world, { route: `/request/${requestId}` });
    await page.locator(".pane").first().waitFor();
    assert.equal(await page.locator("main img:not([aria-label]), main b").count(), 0);
    assert.match(await page.title(), /^Request #[\d.]+ – Conclave$/);
    const heading = await page.getByRole("heading", { level: 1 }).innerText();
    assert.equal(heading, SHOWN);
    const width = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth] as const);
    assert.ok(width[0] <= width[1], "a long word makes the page wider than the window");
  });

  it("folds a question that would push its answer out of sight, and shows all of it to whoever asks", async (context) => {
    const lines = `Is 720 more than 500?${"\n \n".repeat(1_000)}Or ${"\u0301\n".repeat(10)} less?`;
    for (const question of [lines, `Is it ${"W".repeat(8_000)}?`]) {
      const { requestId } = await conclave.ask({ question, kind: "boolean", currency: "native" });
      const { page } = await visit(context, world, {
        route: `/request/${requestId}`,
        viewport: { width: 320, height: 640 },
      });
      const heading = page.getByRole("heading", { level: 1 });
      const height = async (): Promise<number> => (await heading.boundingBox())?.height ?? 0;
      const fold = page.getByRole("button", { name: "Show all" });
      await fold.waitFor();
      assert.ok((await height()) < 350, `the folded question is ${await height()} pixels high`);
      await fold.click();
      assert.equal((await heading.innerText()).replaceAll("\n", ""), question.replaceAll("\n", ""));
      assert.ok((await height()) > 3_000);
      await page.getByRole("button", { name: "Show less" }).click();
      assert.ok((await height()) < 350);
    }
    const { page } = await visit(context, world, { route: `/request/${argued.requestId}` });
    await page.getByRole("heading", { level: 1, name: QUESTION }).waitFor();
    assert.equal(await page.getByRole("button", { name: "Show all" }).count(), 0);
  });

  it("has a title for each page, and hints that are tied to their fields", async (context) => {
    const { page } = await visit(context, world);
    for (const [route, title] of [
      ["/ask", "Ask"],
      ["/agents", "Agents"],
      ["/agents/2", "Agent 2"],
      ["/agents/faults", "Faults"],
      ["/settings", "Settings"],
      ["/nowhere", "No such page"],
      ["/", "Decisions"],
    ] as const) {
      await page.goto(`${world.url}#${route}`);
      await page.waitForFunction((wanted) => document.title === wanted, `${title} – Conclave`);
    }
    await page.goto(`${world.url}#/ask`);
    const note = await page.getByLabel("Protocol").getAttribute("aria-describedby");
    assert.equal(await page.locator(`[id="${note}"]`).textContent(), "How the seats argue.");
  });

  it("follows a request whose kept place in the chain is of another form", async (context) => {
    const key = `${world.chain.deployment.oracle}/${argued.requestId}`;
    const routes = (page: Page): Promise<unknown> =>
      page.addInitScript((name) => localStorage.setItem("conclave.asked", JSON.stringify({ [name]: "g-1-2-3" })), key);
    const { page } = await visit(context, world, { routes, route: `/request/${argued.requestId}` });
    await page.getByRole("heading", { level: 1, name: QUESTION }).waitFor();
    assert.equal(await page.getByRole("alert").count(), 0);
  });

  it("says that there is no such request", async (context) => {
    const { page } = await visit(context, world, { route: "/request/99999" });
    await sees(page, "There is no such request");
    await page.getByRole("heading", { level: 1, name: "Request #99999" }).waitFor();
    await page.goto(`${world.url}#/request/nonsense`);
    await sees(page, "This is no request");
  });
});

/** Changes a byte of a block at the gateway until the test ends. Returns the block as it was. */
function breakBlock(context: TestContext): { readonly digest: Digest; readonly bytes: Uint8Array } {
  const digest = digestOf(argued.decided, 3);
  const bytes = world.blocks.get(digest) ?? new Uint8Array();
  context.after(() => world.blocks.set(digest, bytes));
  world.blocks.set(digest, bytes.with(20, (bytes[20] ?? 0) ^ 1));
  return { digest, bytes };
}

describe("page: proof", () => {
  it("is green only after every check", async (context) => {
    const { page } = await visit(context, world, { route: `/request/${argued.requestId}` });
    await page.getByRole("button", { name: "Prove", exact: true }).waitFor();
    assert.equal(await page.locator(".seal").count(), 0);
    await page.getByRole("button", { name: "Prove", exact: true }).click();
    await page.locator(".seal").waitFor();
    assert.equal(await page.locator(".check.is-passed").count(), 6);
    assert.match(await page.locator(".seal.good").innerText(), /^Proven\./);
  });

  it("is not green at a broken block, names it once, and calls nothing refuted", async (context) => {
    const { digest } = breakBlock(context);
    const { page } = await visit(context, world, { route: `/request/${argued.requestId}` });
    await sees(page, "The gateway gives other bytes than the transcript's");
    await sees(page, /^\d+ of \d+ messages can be read: how many seats agree cannot be told from them\./);
    const tags = await page.locator(".pane .tag").allInnerTexts();
    assert.ok(tags.length === 4 && tags.every((tag) => ["not read", "answered"].includes(tag)), tags.join());
    for (const name of ["Agreement", "Votes"]) assert.equal(await page.getByRole("heading", { name }).count(), 0);
    await sees(page, /^\d+ messages? read, hashes and versions$/);
    await page.getByRole("button", { name: "Prove", exact: true }).click();
    await page.locator(".seal.bad").waitFor();
    assert.match(await page.locator(".seal.bad").innerText(), /^Not proven\s+Nothing is refuted: name another gateway/);
    assert.equal(await page.getByRole("main").getByText(cidString(digest)).count(), 1);
    assert.equal(await page.getByRole("alert").count(), 1);
    const failed = page.locator(".check.is-failed");
    assert.equal(await failed.count(), 1);
    assert.match(await failed.innerText(), new RegExp(`Every message[^]*${cidString(digest)}`));
    assert.equal(await page.locator(".check.is-passed").count(), 3);
    assert.equal(await page.locator(".seal.good").count(), 0);
  });

  it("shows the whole argument once the gateway is well again, where somebody proves it", async (context) => {
    const digest = digestOf(argued.decided, 3);
    const bytes = world.blocks.get(digest) ?? new Uint8Array();
    context.after(() => world.blocks.set(digest, bytes));
    world.blocks.delete(digest);
    const { page } = await visit(context, world, {
      route: `/request/${argued.requestId}`,
      expects: /404|ERR_INCOMPLETE_CHUNKED_ENCODING/,
    });
    await sees(page, "A part of the transcript is missing");
    world.blocks.set(digest, bytes);
    await page.getByRole("button", { name: "Prove", exact: true }).click();
    await page.locator(".seal.good").waitFor();
    await page.getByRole("heading", { name: "Votes" }).waitFor();
    assert.equal(await page.getByRole("alert").count(), 0);
    assert.equal(await page.getByText(/of \d+ messages can be read/).count(), 0);
  });

  it("is green once a gateway that gave wrong bytes gives the right ones: no browser keeps a block", async (context) => {
    const { digest, bytes } = breakBlock(context);
    const { page } = await visit(context, world, { route: `/request/${argued.requestId}` });
    await sees(page, "The gateway gives other bytes than the transcript's");
    world.blocks.set(digest, bytes);
    await page.getByRole("button", { name: "Prove", exact: true }).click();
    await page.locator(".seal.good").waitFor();
    assert.equal(await page.getByRole("alert").count(), 0);
  });

  it("says that a block is missing, which refutes nothing", async (context) => {
    const digest = digestOf(argued.decided, 0);
    const bytes = world.blocks.get(digest) ?? new Uint8Array();
    context.after(() => world.blocks.set(digest, bytes));
    world.blocks.delete(digest);
    const { page } = await visit(context, world, { route: `/request/${argued.requestId}`, expects: /404/ });
    await sees(page, /^No message can be read\. Name another gateway/);
    await page.getByRole("button", { name: "Prove", exact: true }).click();
    await sees(page, "Nothing is refuted");
    assert.match(await page.locator(".check.is-failed").innerText(), new RegExp(cidString(digest)));
  });

  it("names the block once that a gateway which fails does not give", async (context) => {
    const [gateway] = world.config["gateways"] as readonly string[];
    const { page } = await visit(context, world, {
      route: `/request/${argued.requestId}`,
      expects: /500/,
      routes: (opened) =>
        opened.route(`${gateway}/**`, (route) =>
          route.fulfill({ status: 500, headers: { "access-control-allow-origin": "*" } }),
        ),
    });
    const root = page.getByRole("main").getByText(cidString(digestOf(argued.decided, 0)));
    await root.waitFor();
    await page.getByRole("button", { name: "Prove", exact: true }).click();
    await page.getByRole("region", { name: "Proof" }).getByRole("alert").waitFor();
    assert.equal(await root.count(), 1);
    assert.equal(await page.getByRole("alert").count(), 1);
  });

  it("can be stopped while a gateway keeps it waiting, and begun again", async (context) => {
    const [gateway] = world.config["gateways"] as readonly string[];
    let isHanging = true;
    const { page } = await visit(context, world, {
      route: `/request/${argued.requestId}`,
      expects: /ERR_FAILED/,
      routes: (opened) => opened.route(`${gateway}/**`, (route) => (isHanging ? undefined : route.continue())),
    });
    const proof = page.getByRole("region", { name: "Proof" });
    await proof.getByRole("button", { name: "Prove", exact: true }).click();
    await proof.getByText("being checked…").waitFor();
    await proof.getByRole("button", { name: "Stop" }).click();
    await proof.getByRole("listitem").first().waitFor({ state: "detached" });
    assert.equal(await proof.getByRole("alert").count(), 0);
    await proof.getByRole("button", { name: "Prove", exact: true }).click();
    await proof.getByText("being checked…").waitFor();
    assert.equal(page.workers().length, 1);
    const ended = page.workers()[0]?.waitForEvent("close");
    await page.getByRole("link", { name: "Agents", exact: true }).click();
    await ended;
    await page.goBack();
    isHanging = false;
    await proof.getByRole("button", { name: "Prove", exact: true }).click();
    await page.locator(".seal.good").waitFor();
  });

  it("asks the next gateway when one has nothing", async (context) => {
    const config = { ...world.config, gateways: ["http://127.0.0.1:9", ...(world.config["gateways"] as string[])] };
    const { page } = await visit(context, world, {
      route: `/request/${argued.requestId}`,
      config,
      expects: /ERR_CONNECTION_REFUSED|ERR_UNSAFE_PORT/,
    });
    await page.getByRole("button", { name: "Prove", exact: true }).click();
    await page.locator(".seal.good").waitFor();
  });
});

function digestOf({ blocks }: Decided, index: number): Digest {
  return sha256(blocks[index] ?? new Uint8Array());
}

describe("page: appeal", () => {
  it("is offered until the deadline by the chain's clock, not by the machine's", async (context) => {
    const route = `/request/${world.chain.decisions.at(-1)?.attempt.request.id}`;
    const early = await visit(context, world, { route });
    await early.page.getByRole("button", { name: /^Appeal for/ }).waitFor();
    const chain = createTestClient({ mode: "anvil", transport: http(world.rpcUrl) });
    await chain.increaseTime({ seconds: 7 * 86_400 });
    await chain.mine({ blocks: 1 });
    const late = await visit(context, world, { route });
    await sees(late.page, /Provisional: the time to appeal ended at/);
    assert.equal(await late.page.getByRole("button", { name: /^Appeal for/ }).count(), 0);
  });
});

describe("page: stake", () => {
  it("delegates, starts what has joined, unbonds and withdraws by the chain's clock", async (context) => {
    const chain = createTestClient({ mode: "anvil", transport: http(world.rpcUrl) });
    const { page } = await visit(context, world, { route: "/agents" });
    await page.getByRole("link", { name: "Agent 2", exact: true }).click();
    await page.getByRole("heading", { level: 1, name: "Agent 2" }).waitFor();
    const panel = page.getByRole("region", { name: "Your stake" });
    await panel.getByRole("button", { name: "Burner account of this local chain" }).click();
    const staked = panel.locator("dd").first();
    await staked.waitFor();
    assert.equal(await staked.innerText(), "1 TEST");
    await panel.getByLabel("Amount of TEST").fill("nonsense");
    await sees(page, "give an amount of TEST, e.g. 1.5");
    await panel.getByLabel("Amount of TEST").fill("20");
    await panel.getByRole("button", { name: "Delegate" }).click();
    await sees(page, /refused with StakeAboveMaximum \(stake 21 TEST, maximum 16 TEST\): bond less/);
    assert.equal(
      await page
        .getByRole("alert")
        .getByText(/What to do/)
        .count(),
      0,
    );
    await panel.getByLabel("Amount of TEST").fill("1.5");
    await panel.getByRole("button", { name: "Delegate" }).click();
    await panel.getByText("2.5 TEST", { exact: true }).waitFor();
    await panel.getByText(/^1\.5 TEST, may be started at /).waitFor();
    await panel.getByRole("status").getByText("You delegated 1.5 TEST.").waitFor();
    assert.equal(await panel.getByLabel("Amount of TEST").inputValue(), "");
    const start = panel.getByRole("button", { name: "Start earning" });
    assert.equal(await start.isDisabled(), true);
    await chain.increaseTime({ seconds: 14 * 86_400 + 1 });
    await chain.mine({ blocks: 1 });
    await panel.getByText("1.5 TEST: start it").waitFor();
    await start.click();
    await start.waitFor({ state: "detached" });
    assert.equal((await conclave.position(2, world.accounts[0]?.address ?? "0x")).joining, 0n);
    await panel.getByRole("button", { name: "Unbond all" }).click();
    await panel.getByText(/2\.5 TEST until/).waitFor();
    const again = panel.getByText(/^If you unbond all now/);
    assert.equal(await again.count(), 0);
    await panel.getByLabel("Amount of TEST").fill("1");
    await panel.getByRole("button", { name: "Delegate" }).click();
    await again.waitFor();
    assert.equal(await again.innerText(), "If you unbond all now, the 2.5 TEST that unbond already begin anew.");
    const { unbondingDelaySeconds } = await conclave.terms();
    await chain.increaseTime({ seconds: unbondingDelaySeconds + 1 });
    await chain.mine({ blocks: 1 });
    await panel.getByText(/that unbond already begin anew: withdraw them first\.$/).waitFor();
    await panel.getByRole("button", { name: "Withdraw" }).click();
    await panel.getByText("0 TEST", { exact: true }).first().waitFor();
    await again.waitFor({ state: "detached" });
    assert.equal((await conclave.position(2, world.accounts[0]?.address ?? "0x")).unbonding, 0n);
  });

  it("claims what an agent has earned", async (context) => {
    const account = world.accounts[0]?.address ?? "0x";
    const { committee } = argued.decided.attempt;
    const agentId = committee[0]?.agentId ?? 0;
    assert.ok((await conclave.rewards(agentId, account)).native > 0n);
    const { page } = await visit(context, world, { route: `/agents/${agentId}` });
    await page.getByRole("button", { name: "Burner account of this local chain" }).click();
    await page.getByRole("button", { name: /^Claim .* ETH$/ }).click();
    await page.getByRole("button", { name: /^Claim .* ETH$/ }).waitFor({ state: "detached" });
    assert.equal((await conclave.rewards(agentId, account)).native, 0n);
  });
});
