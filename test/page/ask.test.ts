// The form that asks, in a real browser, with a wallet.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Page } from "playwright-core";
import { getAbiItem, numberToHex, toFunctionSelector, type Hex } from "viem";
import { agentRegistryAbi, decisionOracleAbi } from "@conclave/contracts/abi";
import type { Conclave } from "../../sdk/src/index.ts";
import { connectWallet, keepsNothing, type RpcCall, sees, shortened, visit } from "./visit.ts";
import { conclaveOf, startDashboardWorld, type DashboardWorld } from "./world.ts";

let world: DashboardWorld;
let conclave: Conclave;

before(async () => {
  world = await startDashboardWorld(1);
  conclave = conclaveOf(world);
});
after(() => world.close());

/** Presses before the page can draw what the first press did. */
async function pressThrice(page: Page, name: string | RegExp): Promise<void> {
  const button = page.getByRole("button", { name, exact: true });
  await button.evaluate((one: HTMLButtonElement) => {
    for (let presses = 0; presses < 3; presses++) one.click();
  });
}

/** The node answers calls of a contract's function with another number. */
function renumbered(selector: Hex, other: (number: bigint) => bigint): (page: Page) => Promise<unknown> {
  return (page) =>
    page.route(`${world.rpcUrl}/**`, async (route) => {
      const { method, params } = (route.request().postDataJSON() ?? {}) as RpcCall;
      const [call] = (params ?? []) as readonly { readonly data?: string }[];
      if (method !== "eth_call" || call?.data?.startsWith(selector) !== true) return route.continue();
      const response = await route.fetch();
      const answer = (await response.json()) as { readonly result: Hex };
      const result = numberToHex(other(BigInt(answer.result)), { size: 32 });
      return route.fulfill({ response, json: { ...answer, result } });
    });
}

/** The node says that every question costs twice as much, from `raise` on. */
function dearer(): { readonly routes: (page: Page) => Promise<unknown>; readonly raise: () => void } {
  const selector = toFunctionSelector(getAbiItem({ abi: decisionOracleAbi, name: "quote" }));
  let factor = 1n;
  return { routes: renumbered(selector, (price) => factor * price), raise: () => (factor = 2n) };
}

describe("page: asking", () => {
  it("says the price before anything is paid, asks by the wallet, and shows the decision when it comes", async (context) => {
    const { page } = await visit(context, world, { route: "/ask", wallet: { account: 3 } });
    await page.getByLabel("Question").fill("Is 7 a prime number?");
    await page
      .getByRole("region", { name: "Price" })
      .getByText(/Costs 0\.\d+ ETH/)
      .waitFor();
    await connectWallet(page);
    await page.getByRole("button", { name: "Ask", exact: true }).click();
    await page.getByRole("heading", { level: 1, name: "Is 7 a prime number?" }).waitFor();
    await sees(page, "The committee is being drawn");
    const requestId = BigInt(page.url().split("/").at(-1) ?? "");
    await page.reload();
    await sees(page, "The committee is being drawn");
    await world.chain.chain.nextEpoch(20);
    await sees(page, "4 seats deliberate");
    await world.chain.decide(requestId);
    await page.locator(".decided-answer").waitFor();
    assert.equal(await page.locator(".decided-answer").innerText(), "yes");
    await page.locator(".pane.is-agrees").nth(3).waitFor();
  });

  it("says which source no agent could read before anything is sent, and takes numbers with blanks around them", async (context) => {
    const { page } = await visit(context, world, { route: "/ask", wallet: { account: 3 } });
    await connectWallet(page);
    await page.getByLabel("Question").fill("Is it so?");
    await page.getByText("Sources, a later start and conditions").click();
    const sources = page.getByLabel("Sources, one a line");
    const ask = page.getByRole("button", { name: "Ask", exact: true });
    for (const wrong of ["ftp://example.org/a", "http://example.org/a", "https://a.org", "example.org", "search:"]) {
      await sources.fill(wrong);
      await sees(page, /^It cannot be asked yet\. Sources, one a line: /);
      assert.equal(await sources.getAttribute("aria-invalid"), "true");
      assert.equal(await ask.isDisabled(), true);
    }
    await sources.fill("https://example.org/a");
    await page.getByText("Committee, time and appeals").click();
    await page.getByLabel("Seats").fill("5 ");
    await page.getByText(/^It cannot be asked yet/).waitFor({ state: "detached" });
    await page.waitForFunction(() => document.querySelector("[type=submit]:enabled") !== null);
  });

  it("pays once, however often and fast one presses", async (context) => {
    const sent: unknown[] = [];
    const answer = ({ method, params }: RpcCall): undefined => {
      if (method !== "eth_sendTransaction") return undefined;
      sent.push(params);
      throw Object.assign(new Error("User denied"), { code: 4001 });
    };
    const { page } = await visit(context, world, { route: "/ask", wallet: { account: 0, answer } });
    await connectWallet(page);
    await page.getByLabel("Question").fill("Is 11 a prime number?");
    await sees(page, /Costs 0\.\d+ ETH/);
    await pressThrice(page, "Ask");
    await sees(page, "You said no in the wallet");
    assert.equal(sent.length, 1);
    await page.goto(`${world.url}#/agents/2`);
    await page.getByLabel("Amount of TEST").fill("1.5");
    await pressThrice(page, "Delegate");
    await sees(page, "You said no in the wallet");
    await page.goto(`${world.url}#/request/${world.chain.decisions.at(-1)?.attempt.request.id}`);
    await page.getByRole("button", { name: /^Appeal for/ }).waitFor();
    const sentBefore = sent.length;
    await pressThrice(page, /^Appeal for/);
    await sees(page, "You said no in the wallet");
    assert.deepEqual([sentBefore, sent.length], [2, 3]);
  });

  it("loses nothing in a reload: neither what is typed nor what is sent and not mined yet", async (context) => {
    let isMined = false;
    let isAway = false;
    const routes = (page: Page): Promise<unknown> =>
      page.route(`${world.rpcUrl}/**`, (route) => {
        if (isAway) return route.abort();
        const { id, method } = (route.request().postDataJSON() ?? {}) as RpcCall & { readonly id: number };
        const isHidden = !isMined && method === "eth_getTransactionReceipt";
        return isHidden ? route.fulfill({ json: { jsonrpc: "2.0", id, result: null } }) : route.continue();
      });
    const { page } = await visit(context, world, {
      route: "/ask",
      wallet: { account: 3 },
      routes,
      expects: /ERR_FAILED/,
    });
    await connectWallet(page);
    await page.getByLabel("Question").fill("Is 12 a prime number?");
    await page.getByLabel("Kind of answer").selectOption("A text");
    await page.getByRole("link", { name: "Agents" }).click();
    await page.getByRole("heading", { level: 1, name: "Agents" }).waitFor();
    await page.getByRole("link", { name: "Ask" }).click();
    await page.reload();
    assert.equal(await page.getByLabel("Question").inputValue(), "Is 12 a prime number?");
    assert.equal(await page.getByLabel("Kind of answer").inputValue(), "text");
    await page.getByRole("button", { name: "Ask", exact: true }).click();
    await page.waitForFunction(() => localStorage.getItem("conclave.sent") !== null);
    await page.reload();
    await sees(page, "Your question is sent and waits for the chain.");
    isAway = true;
    await sees(page, "The node of the chain does not answer");
    isAway = false;
    await page.getByText("The node of the chain does not answer").waitFor({ state: "detached" });
    isMined = true;
    await page.getByRole("heading", { level: 1, name: "Is 12 a prime number?" }).waitFor();
    await page.getByRole("link", { name: "Ask" }).click();
    assert.equal(await page.getByLabel("Question").inputValue(), "");
    assert.equal(await page.evaluate(() => localStorage.getItem("conclave.sent")), "[]");
  });

  it("waits in every tab, which says for what; a tab that does not wait lets the others go on, also where the node talks nonsense", async (context) => {
    let told: "hello" | null | undefined = null;
    const routes = (page: Page): Promise<unknown> =>
      page.context().route(`${world.rpcUrl}/**`, (route) => {
        const { id, method } = (route.request().postDataJSON() ?? {}) as RpcCall & { readonly id: number };
        const isFalse = told !== undefined && method === "eth_getTransactionReceipt";
        return isFalse ? route.fulfill({ json: { jsonrpc: "2.0", id, result: told } }) : route.continue();
      });
    const { page } = await visit(context, world, { route: "/ask", wallet: { account: 3 }, routes });
    await connectWallet(page);
    await page.getByLabel("Question").fill("Is 18 a prime number?");
    await page.getByRole("button", { name: "Ask", exact: true }).click();
    await page.waitForFunction(() => localStorage.getItem("conclave.sent") !== null);
    told = "hello";
    await sees(page, "Your question is sent and waits for the chain.");
    await sees(page, "The node of the chain does not answer");
    const other = await page.context().newPage();
    await other.goto(`${world.url}#/ask`);
    for (const tab of [page, other]) {
      await sees(tab, "Is 18 a prime number?");
      await tab
        .getByText(shortened(world.accounts[3]?.address ?? "0x"))
        .last()
        .waitFor();
    }
    await other.getByRole("button", { name: "Do not wait: ask another question" }).click();
    await other.getByLabel("Question").waitFor();
    await other.reload();
    await other.getByLabel("Question").waitFor();
    told = undefined;
    await page.reload();
    await page.getByRole("heading", { level: 1, name: "Is 18 a prime number?" }).waitFor();
    assert.equal(await page.evaluate(() => localStorage.getItem("conclave.sent")), "[]");
  });

  it("gives an open and empty form to who does not wait for what was sent, and keeps what became of another question", async (context) => {
    const answer = ({ method }: RpcCall): unknown =>
      method === "eth_sendTransaction" ? `0x${"5e".repeat(32)}` : undefined;
    const { page } = await visit(context, world, { route: "/ask", wallet: { account: 3, answer } });
    await connectWallet(page);
    const question = page.getByLabel("Question");
    const ask = page.getByRole("button", { name: "Ask", exact: true });
    const leave = page.getByRole("button", { name: "Do not wait: ask another question" });
    await question.fill("Is 20 a prime number?");
    await ask.click();
    await page.waitForFunction(() => localStorage.getItem("conclave.sent") !== null);
    await page.getByRole("link", { name: "Decisions" }).click();
    await page.getByRole("listitem").first().waitFor();
    await page.getByRole("link", { name: "Ask" }).click();
    await leave.click();
    await question.waitFor();
    assert.equal(await question.inputValue(), "");
    assert.equal(await ask.getAttribute("aria-disabled"), "false");
    await sees(page, /^You do not wait any more/);
    await question.fill("Is 21 a prime number?");
    await page.reload();
    assert.equal(await question.inputValue(), "Is 21 a prime number?");
  });

  it("goes to the request that is asked and paid, also where the browser keeps nothing", async (context) => {
    const routes = (page: Page): Promise<unknown> => page.addInitScript(keepsNothing);
    const { page } = await visit(context, world, { route: "/ask", wallet: { account: 3 }, routes });
    await connectWallet(page);
    await page.getByLabel("Question").fill("Is 10 a prime number?");
    await page.getByRole("button", { name: "Ask", exact: true }).click();
    await page.getByRole("heading", { level: 1, name: "Is 10 a prime number?" }).waitFor();
  });

  it("pays the price that it has shown, whatever the price is by then", async (context) => {
    const { routes, raise } = dearer();
    const values: unknown[] = [];
    const answer = ({ method, params = [] }: RpcCall): undefined => {
      if (method !== "eth_sendTransaction") return undefined;
      values.push((params[0] as { readonly value: unknown }).value);
      throw Object.assign(new Error("User denied"), { code: 4001 });
    };
    const { page } = await visit(context, world, { route: "/ask", wallet: { account: 3, answer }, routes });
    await connectWallet(page);
    await page.getByLabel("Question").fill("Is 9 a prime number?");
    await sees(page, /Costs 0\.\d+ ETH/);
    const { fee } = await conclave.quote({
      kind: "boolean",
      currency: "native",
      appeals: 0,
      retries: 1,
      duration: 3_600,
    });
    raise();
    await page.getByRole("button", { name: "Ask", exact: true }).click();
    await sees(page, "You said no in the wallet");
    assert.deepEqual(values, [numberToHex(fee)]);
  });

  it("names the term that is at fault, and writes programs that ask the same", async (context) => {
    const { page } = await visit(context, world, { route: "/ask" });
    await page.getByLabel("Question").fill('How "many" eggs?');
    await page.getByLabel("Kind of answer").selectOption("A number");
    await page.getByLabel("Tolerance").fill("0.5");
    await sees(page, "give a number with at most 0 decimals");
    await page.getByLabel("Decimals").fill("2");
    await page.getByText("Committee, time and appeals").click();
    await page.getByLabel("Seats").fill("3");
    await sees(page, "3 is refused: give a whole number, 4 to 64");
    await page.getByLabel("Seats").fill("7");
    await page.getByLabel("Appeals").fill("1");
    await page.getByText("Sources, a later start and conditions").click();
    await page.getByLabel("Hours before it starts").fill("soon");
    await sees(page, "give hours, e.g. 0.5");
    await page.getByLabel("Hours before it starts").fill("1.5");
    await page.getByLabel("Final at once from").fill("90");
    await page.getByLabel("“It cannot be told”").selectOption("Is no decision");
    await page.getByLabel("Sources, one a line").fill("https://page.example/eggs#/count");
    await page.getByText("The same in TypeScript and Solidity").click();
    const programs = await page.locator(".program pre").allInnerTexts();
    assert.match(programs[0] ?? "", /question: "How \\"many\\" eggs\?",[^]*kind: "number",[^]*tolerance: 50n/);
    assert.match(
      programs[0] ?? "",
      /sources: \["https:\/\/page\.example\/eggs#\/count"\],[^]*delay: 5400,\n {2}finality: 90,\n {2}nonAnswers: "refused"/,
    );
    assert.match(
      programs[1] ?? "",
      /KIND_NUMBER;[^]*delay = 5400; [^]*finality = 90; [^]*nonAnswers = 1; [^]*tolerance = 50;[^]*"How \\"many\\" eggs\?\\nsource: https:\/\/page\.example\/eggs#\/count"\)/,
    );
  });

  it("offers no price and no button for terms that the contract refuses, and says which and why, also where they are folded away", async (context) => {
    const { page } = await visit(context, world, { route: "/ask", wallet: { account: 3 } });
    await connectWallet(page);
    const ask = page.getByRole("button", { name: "Ask", exact: true });
    const said = page.getByRole("status");
    await page.getByLabel("Question").fill("Is 14 a prime number?");
    await sees(page, /Costs 0\.\d+ ETH/);
    const terms = page.getByText("Committee, time and appeals");
    for (const [label, value, way] of [
      ["Seats", "0", "Seats: 0 is refused: give a whole number, 4 to 64"],
      ["Seats", "999999999", "Seats: 999999999 is refused: give a whole number, 4 to 64"],
      ["Seats", "abc", "Seats: give a whole number"],
      ["Hours to decide", "200", "Hours to decide: 200 is refused: give 0.5 hours to 168 hours"],
      ["Appeals", "4", "Appeals: 4 is refused: give a whole number, 0 to 3"],
    ] as const) {
      await terms.click();
      const right = await page.getByLabel(label).inputValue();
      await page.getByLabel(label).fill(value);
      await terms.click();
      assert.equal(await page.getByLabel(label).isVisible(), false);
      assert.equal(await said.innerText(), `It cannot be asked yet. ${way}`);
      assert.deepEqual([await ask.isDisabled(), await page.getByText(/^Costs/).count()], [true, 0], way);
      await terms.click();
      await page.getByLabel(label).fill(right);
      await said.waitFor({ state: "detached" });
      await terms.click();
    }
    await page.getByText("Sources, a later start and conditions").click();
    await page.getByLabel("Final at once from").fill("90");
    await sees(page, "90 is refused: a larger committee follows an unsure one; allow it with “Appeals” 1 or more");
    await page.getByLabel("Final at once from").fill("0");
    await page.getByLabel("Stake behind the answer").selectOption("Secured");
    await sees(
      page,
      "secured is refused: it needs “Assurance” high: otherwise fewer than a quorum decide for all seats",
    );
  });

  it("refuses before anything is paid what too few agents can decide, until there are enough, and says that many seats take longer", async (context) => {
    let agents = 13n;
    const selector = toFunctionSelector(getAbiItem({ abi: agentRegistryAbi, name: "drawableCount" }));
    const routes = renumbered(selector, () => agents);
    const { page } = await visit(context, world, { route: "/ask", wallet: { account: 3 }, routes });
    await connectWallet(page);
    const ask = page.getByRole("button", { name: "Ask", exact: true });
    const said = page.getByRole("status");
    await page.getByLabel("Question").fill("Is 24 a prime number?");
    await page.getByText("Committee, time and appeals").click();
    await page.getByLabel("Seats").fill("7");
    await page.getByLabel("Appeals").fill("1");
    const problem =
      "22 agents are needed, those of all appeals included, and 13 can be drawn now; take fewer seats or appeals, or wait for more agents";
    await said.waitFor();
    assert.equal(await said.innerText(), `It cannot be asked yet. Seats: ${problem}`);
    assert.deepEqual([await ask.isDisabled(), await page.getByText(/^Costs/).count()], [true, 0]);
    assert.equal(await page.getByLabel("Seats").getAttribute("aria-invalid"), "true");
    agents = 64n;
    await said.waitFor({ state: "detached" });
    await sees(page, /^Costs 0\.\d+ ETH$/);
    assert.equal(await page.getByText(/seats are many/).count(), 0);
    await page.getByLabel("Appeals").fill("0");
    await page.getByLabel("Seats").fill("64");
    await sees(page, /^64 seats are many: each of them is paid, and they take longer/);
    await page.waitForFunction(() => document.querySelector("[type=submit]:enabled") !== null);
  });

  it("says what is wrong with the question once it was touched, as long as it is wrong", async (context) => {
    const { page } = await visit(context, world, { route: "/ask", wallet: { account: 3 } });
    await connectWallet(page);
    const said = page.getByRole("status");
    const ask = page.getByRole("button", { name: "Ask", exact: true });
    await sees(page, /Costs 0\.\d+ ETH/);
    assert.deepEqual([await said.count(), await ask.isDisabled()], [0, true]);
    // The price of what is typed is looked for a moment later.
    const isOpen = async (): Promise<void> =>
      page.getByRole("button", { name: "Ask", exact: true, disabled: false }).waitFor();
    const question = page.getByLabel("Question");
    const empty = "It cannot be asked yet. Question: it is empty; give a text";
    for (const [text, problem] of [
      ["   ", empty],
      ["\u3164 \u200b", empty],
      ["x".repeat(9_000), "It cannot be asked yet. Question: it has 9000 bytes, at most 8192 are taken; shorten it"],
      ["Is 15 a prime number?", null],
      ["", empty],
    ] as const) {
      await question.fill(text);
      if (problem === null) {
        await said.waitFor({ state: "detached" });
        await isOpen();
      } else assert.deepEqual([await said.innerText(), await ask.isDisabled()], [problem, true]);
    }
    // As a program pastes it; what Playwright types has none.
    await question.evaluate((field: HTMLTextAreaElement) => {
      field.focus();
      document.execCommand("insertText", false, `a${String.fromCharCode(0xd800)}b`);
    });
    assert.match(await said.innerText(), /not well-formed Unicode/);
    await question.fill("Is 16 a prime number?");
    await page.getByText("Sources, a later start and conditions").click();
    await page.getByLabel("Sources, one a line").fill("http://page.example/");
    await said.waitFor();
    assert.match(await said.innerText(), /a page is read by https only/);
    await page.getByLabel("Sources, one a line").fill("");
    await said.waitFor({ state: "detached" });
    await isOpen();
  });

  it("sends every term that the form has, with the sources in the question, and refuses a source that no agent can read", async (context) => {
    const { page } = await visit(context, world, { route: "/ask", wallet: { account: 3 } });
    await connectWallet(page);
    await page.getByLabel("Question").fill("Is it raining?");
    await page.getByText("Committee, time and appeals").click();
    await page.getByLabel("Appeals").fill("1");
    await page.getByText("Sources, a later start and conditions").click();
    await page.getByLabel("Hours before it starts").fill("2");
    await page.getByLabel("Final at once from").fill("85");
    await page.getByLabel("“It cannot be told”").selectOption("Is no decision");
    await page.getByLabel("Sources, one a line").fill("http://page.example/weather");
    await sees(page, /a page is read by https only/);
    await page.getByLabel("Sources, one a line").fill("https://page.example/weather");
    await page.getByRole("button", { name: "Ask", exact: true }).click();
    await sees(page, "It waits");
    const { request } = await conclave.read(BigInt(page.url().split("/").at(-1) ?? ""));
    assert.equal(request.question, "Is it raining?\nsource: https://page.example/weather");
    const { delay, finality, nonAnswers, security, appeals } = request.terms;
    assert.deepEqual(
      { delay, finality, nonAnswers, security, appeals },
      { delay: 7_200, finality: 85, nonAnswers: "refused", security: "none", appeals: 1 },
    );
  });
});
