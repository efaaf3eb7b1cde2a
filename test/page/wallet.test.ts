// A wallet of the browser beside the dashboard, in a real browser: its user says no, its chain is another one, it fails.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Page } from "playwright-core";
import { createTestClient, http } from "viem";
import { MIN_UNBONDING_SECONDS } from "../../scripts/deploy/settings.ts";
import { changeWallet, connectWallet, isFocused, type RpcCall, sees, shortened, visit } from "./visit.ts";
import { startDashboardWorld, type DashboardWorld } from "./world.ts";

let world: DashboardWorld;

before(async () => {
  world = await startDashboardWorld(1);
});
after(() => world.close());

function failureOf(code: number, message: string): Error {
  return Object.assign(new Error(message), { code });
}

/** Fails unless fields can be changed, or cannot. */
async function isLocked(page: Page, labels: readonly string[], wanted: boolean): Promise<void> {
  for (const label of labels) {
    const field = page.getByLabel(label);
    await field.waitFor();
    assert.equal(await field.isDisabled(), wanted, `${label} is ${wanted ? "open" : "locked"}`);
  }
}

describe("page: wallets", () => {
  it("sends nothing if the user says no, or if the wallet is on another chain", async (context) => {
    let chainId: string | undefined;
    const { page } = await visit(context, world, {
      route: "/ask",
      wallet: {
        account: 3,
        answer: ({ method }) => {
          if (method === "eth_chainId") return chainId;
          if (method === "wallet_switchEthereumChain") {
            chainId = undefined;
            return null;
          }
          if (method === "eth_sendTransaction") throw Object.assign(new Error("User denied"), { code: 4001 });
          return undefined;
        },
      },
    });
    await connectWallet(page);
    await page.getByLabel("Question").fill("Is 8 a prime number?");
    await page.getByRole("button", { name: "Ask", exact: true }).click();
    await sees(page, "You said no in the wallet");
    chainId = "0x1";
    await page.getByRole("button", { name: "Ask", exact: true }).click();
    await sees(page, "The wallet is on another chain");
    await page.getByRole("button", { name: "Switch the wallet to chain 31337" }).click();
    await page.getByRole("button", { name: "Ask", exact: true }).click();
    await sees(page, "You said no in the wallet");
  });

  it("says what the wallet says, and what to do in it; it does not blame the node", async (context) => {
    let failure: Error | null = failureOf(-32_002, "Request already pending");
    const answer = ({ method }: RpcCall): undefined => {
      if (failure !== null && ["eth_requestAccounts", "eth_sendTransaction"].includes(method)) throw failure;
    };
    const { page } = await visit(context, world, { route: "/ask", wallet: { account: 3, answer } });
    const banner = page.getByRole("banner");
    await banner.getByRole("button", { name: "Connect" }).click();
    await banner.getByRole("button", { name: "Test wallet" }).click();
    await banner.getByText("open the wallet: a request waits there").waitFor();
    failure = null;
    await banner.getByRole("button", { name: "Test wallet" }).click();
    await banner.getByRole("button", { name: /^0x/ }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByLabel("Question").fill("Is 17 a prime number?");
    for (const [code, message, way] of [
      [-32_002, "Request already pending", "open the wallet: a request waits there"],
      [4900, "The provider is disconnected", "the wallet is not connected to a chain"],
      [-32_000, "nonce too low", "see in the wallet what went wrong"],
      [-32_000, "\u202egnp.exe <b>bold</b>", "see in the wallet what went wrong"],
    ] as const) {
      failure = failureOf(code, message);
      await page.getByRole("button", { name: "Ask", exact: true }).click();
      await sees(page, "The wallet failed");
      await sees(page, message.replace("\u202e", "\ufffd"));
      await sees(page, way);
      assert.equal(await page.getByText("The node of the chain does not answer").count(), 0);
      await page.getByLabel("Question").fill(`Is 17 a prime number? ${code} ${message.length}`);
      await page.getByRole("alert").waitFor({ state: "detached" });
    }
  });

  it("follows the wallet: another account, another chain, and no account", async (context) => {
    const [first, second] = [world.accounts[3]?.address ?? "0x", world.accounts[4]?.address ?? "0x"];
    let chainId: string | undefined = "0x1";
    let isWilling = false;
    let isOpen = true;
    const answer = ({ method }: RpcCall): unknown => {
      if (method === "eth_chainId") return chainId;
      if (method === "eth_accounts" && !isOpen) return [];
      if (method === "eth_sendTransaction") throw Object.assign(new Error("not authorized"), { code: 4100 });
      if (method !== "wallet_switchEthereumChain") return undefined;
      if (!isWilling) throw Object.assign(new Error("User denied"), { code: 4001 });
      chainId = undefined;
      return null;
    };
    const { page } = await visit(context, world, { route: "/ask", wallet: { account: 3, answer } });
    const banner = page.getByRole("banner");
    await connectWallet(page);
    await sees(page, "It is on chain 1, and this Conclave is on chain 31337.");
    await banner.getByRole("button", { name: / on chain 1$/ }).waitFor();
    const switching = page.getByRole("main").getByRole("button", { name: "Switch the wallet to chain 31337" });
    await switching.click();
    await sees(page, "You said no in the wallet");
    isWilling = true;
    await switching.click();
    await page.getByRole("alert").first().waitFor({ state: "detached" });
    chainId = "0x5";
    await changeWallet(page, "chainChanged", "0x5");
    await sees(page, "It is on chain 5, and this Conclave is on chain 31337.");
    chainId = undefined;
    await changeWallet(page, "chainChanged", "0x7a69");
    await page.getByRole("alert").first().waitFor({ state: "detached" });
    await page.getByLabel("Question").fill("Is 13 a prime number?");
    await page.getByRole("button", { name: "Ask", exact: true }).click();
    await sees(page, "The wallet refuses");
    assert.equal(await banner.getByRole("button", { name: shortened(first) }).count(), 1);
    await changeWallet(page, "accountsChanged", [second]);
    await banner.getByRole("button", { name: shortened(second) }).waitFor();
    isOpen = false;
    await changeWallet(page, "accountsChanged", []);
    await banner.getByRole("button", { name: "Connect" }).waitFor();
  });

  it("connects the wallet again after a reload, unless its user has disconnected it", async (context) => {
    const asked: string[] = [];
    const answer = ({ method }: RpcCall): undefined => void asked.push(method);
    const { page } = await visit(context, world, { route: "/ask", wallet: { account: 3, answer } });
    await connectWallet(page);
    // The menu is closed, and who uses a keyboard is where it was opened.
    const focused = (): Promise<string | undefined> => page.evaluate(() => document.activeElement?.textContent);
    assert.match((await focused()) ?? "", /^0x/);
    await page.reload();
    await page.getByRole("banner").getByRole("button", { name: /^0x/ }).click();
    assert.equal(asked.filter((method) => method === "eth_requestAccounts").length, 1);
    await page.getByRole("button", { name: "Disconnect" }).click();
    assert.equal(await focused(), "Connect");
    await page.reload();
    await page.getByRole("heading", { level: 1, name: "Ask" }).waitFor();
    await page.getByRole("banner").getByRole("button", { name: "Connect" }).waitFor();
    assert.equal(asked.filter((method) => method === "eth_accounts").length, 1);
  });

  it("tells the wallet of the chain where it does not know it, also if it says so within another error", async (context) => {
    let chainId: string | undefined = "0x1";
    const unknown = { code: 4902, message: "Unrecognized chain ID" };
    for (const failure of [unknown, { code: -32_603, message: "Internal error", data: { originalError: unknown } }]) {
      chainId = "0x1";
      const answer = ({ method }: RpcCall): unknown => {
        if (method === "eth_chainId") return chainId;
        if (method === "wallet_switchEthereumChain") throw Object.assign(new Error(failure.message), failure);
        if (method !== "wallet_addEthereumChain") return undefined;
        chainId = undefined;
        return null;
      };
      const { page } = await visit(context, world, { route: "/ask", wallet: { account: 3, answer } });
      await connectWallet(page);
      await page.getByRole("main").getByRole("button", { name: "Switch the wallet to chain 31337" }).click();
      await page.getByRole("alert").first().waitFor({ state: "detached" });
      assert.equal(chainId, undefined);
    }
  });

  it("connects a wallet that tells no changes, also after a reload, and leaves out one whose announcement lacks a part", async (context) => {
    const routes = (page: Page): Promise<unknown> => page.addInitScript(announceOdd, world.accounts[3]?.address);
    const { page } = await visit(context, world, { routes });
    const banner = page.getByRole("banner");
    await banner.getByRole("button", { name: "Connect" }).click();
    assert.equal(await banner.getByRole("button").count(), 3);
    await banner.getByRole("button", { name: "Bare wallet" }).click();
    await banner.getByRole("button", { name: /^0x/ }).waitFor();
    await page.reload();
    await banner.getByRole("button", { name: /^0x/ }).waitFor();
    await page.getByRole("listitem").first().waitFor();
  });

  it("says that it waits for a wallet that does not answer, asks it once, and lets its user give up", async (context) => {
    let hanging = Promise.withResolvers<unknown>();
    const asked: string[] = [];
    const answer = ({ method }: RpcCall): unknown => {
      asked.push(method);
      return method === "eth_requestAccounts" ? hanging.promise : undefined;
    };
    const { page } = await visit(context, world, { route: "/ask", wallet: { account: 3, answer } });
    const main = page.getByRole("main");
    const button = main.getByRole("button", { name: "Test wallet" });
    await button.focus();
    await page.keyboard.press("Enter");
    await sees(page, "Waiting for the wallet…");
    await page.keyboard.press("Enter");
    assert.equal(await button.isDisabled(), true);
    await isFocused(page, "Test wallet");
    await main.getByRole("button", { name: "Do not wait" }).click();
    await page.getByText("Waiting for the wallet…").waitFor({ state: "detached" });
    assert.deepEqual(asked, ["eth_requestAccounts"]);
    hanging.resolve([world.accounts[4]?.address]);
    hanging = Promise.withResolvers();
    await button.click();
    await sees(page, "Waiting for the wallet…");
    assert.equal(await page.getByRole("banner").getByRole("button", { name: "Connect" }).count(), 1);
    hanging.resolve([world.accounts[3]?.address]);
    await page
      .getByRole("banner")
      .getByRole("button", { name: shortened(world.accounts[3]?.address ?? "") })
      .waitFor();
  });

  it("lets its user give up on a wallet that never answers after it was connected, and change only then what is signed: a question, stake, an appeal", async (context) => {
    let silent = "eth_sendTransaction";
    let hanging = Promise.withResolvers<unknown>();
    let asked = Promise.withResolvers<void>();
    const answer = ({ method }: RpcCall): unknown => {
      if (method !== silent) return undefined;
      asked.resolve();
      return hanging.promise;
    };
    const { page } = await visit(context, world, { route: "/ask", wallet: { account: 0, answer } });
    await connectWallet(page);
    const ask = page.getByRole("button", { name: "Ask", exact: true });
    const leave = page.getByRole("button", { name: "Do not wait", exact: true });
    const said = page.getByText(/^You do not wait any more, but the wallet may still ask you and send/);
    for (silent of ["eth_sendTransaction", "eth_chainId"]) {
      await page.getByLabel("Question").fill(`Is 22 a prime number? ${silent}`);
      asked = Promise.withResolvers();
      await ask.click();
      await asked.promise;
      await isLocked(page, ["Question", "Kind of answer"], true);
      await leave.click();
      await said.waitFor();
      assert.equal(await ask.getAttribute("aria-disabled"), "false");
      await isLocked(page, ["Question", "Kind of answer"], false);
      hanging.reject(failureOf(4001, "User denied"));
      hanging = Promise.withResolvers();
      await said.waitFor({ state: "detached" });
      assert.equal(await page.getByText("You said no in the wallet").count(), 0);
    }
    silent = "eth_sendTransaction";
    await page.goto(`${world.url}#/agents/2`);
    await page.getByRole("button", { name: "Unbond all" }).click();
    await isLocked(page, ["Amount of TEST"], true);
    await leave.click();
    await said.waitFor();
    assert.equal(await page.getByRole("button", { name: "Unbond all" }).getAttribute("aria-disabled"), "false");
    await isLocked(page, ["Amount of TEST"], false);
    await page.goto(`${world.url}#/request/${world.chain.decisions.at(-1)?.attempt.request.id}`);
    await page.getByRole("button", { name: /^Appeal for/ }).click();
    await page.getByRole("button", { name: "Appealing…" }).waitFor();
    await leave.click();
    await said.waitFor();
    assert.equal(await page.getByRole("button", { name: /^Appeal for/ }).getAttribute("aria-disabled"), "false");
  });

  it("takes no nonsense for a transaction or a chain", async (context) => {
    let told: Readonly<Record<string, unknown>> = {};
    const answer = ({ method }: RpcCall): unknown => told[method];
    const { page } = await visit(context, world, { route: "/ask", wallet: { account: 3, answer } });
    await connectWallet(page);
    await page.getByLabel("Question").fill("Is 23 a prime number?");
    for (told of [{ eth_sendTransaction: "nonsense" }, { eth_sendTransaction: null }, { eth_chainId: [] }]) {
      await page.getByRole("button", { name: "Ask", exact: true }).click();
      await sees(page, "The wallet failed");
      await sees(page, "eth_chainId" in told ? "nothing was sent" : "whether it has sent the transaction");
      await page.getByLabel("Question").fill(`Is 23 a prime number? ${Math.random()}`);
      await page.getByRole("alert").waitFor({ state: "detached" });
    }
    assert.equal(await page.evaluate(() => localStorage.getItem("conclave.sent")), null);
  });

  it("says plainly that a wallet names no account, whatever it answers", async (context) => {
    let shown: unknown = null;
    // What it would show without being asked is nothing: else the page connects it again at once.
    const answer = ({ method }: RpcCall): unknown =>
      method === "eth_requestAccounts" ? shown : method === "eth_accounts" ? [] : undefined;
    const { page } = await visit(context, world, { route: "/ask", wallet: { account: 3, answer } });
    for (shown of [null, {}, [], ["0x12"], [7], "0x"]) {
      await page.getByRole("main").getByRole("button", { name: "Test wallet" }).click();
      await sees(page, /^The wallet shows no account\. Unlock it and choose one, or connect another wallet\.$/);
    }
    shown = [world.accounts[3]?.address];
    await page.getByRole("main").getByRole("button", { name: "Test wallet" }).click();
    await page.getByRole("banner").getByRole("button", { name: /^0x/ }).waitFor();
    for (const odd of ["", "0x1"]) await changeWallet(page, "accountsChanged", odd);
    await page.getByRole("banner").getByRole("button", { name: "Connect" }).waitFor();
  });

  it("connects a wallet that cannot be listened to", async (context) => {
    const routes = (page: Page): Promise<unknown> => page.addInitScript(announceDeaf, world.accounts[3]?.address);
    const { page } = await visit(context, world, { route: "/ask", routes });
    await page.getByRole("main").getByRole("button", { name: "Deaf wallet" }).click();
    await page.getByRole("banner").getByRole("button", { name: /^0x/ }).click();
    await page.getByRole("button", { name: "Disconnect" }).click();
    await page.getByRole("main").getByRole("button", { name: "Deaf wallet" }).waitFor();
  });

  it("says what to do without a wallet", async (context) => {
    const { page } = await visit(context, world, { route: "/ask", config: { ...world.config, burnerKey: undefined } });
    await sees(page, "This browser has no wallet.");
  });
});

describe("page: focus", () => {
  it("stays where one works, with a keyboard alone: who pays, another chain, a refused question, stake", async (context) => {
    let chainId: string | undefined = "0x1";
    const answer = ({ method }: RpcCall): unknown => {
      if (method === "eth_chainId") return chainId;
      if (method === "eth_sendTransaction") throw failureOf(4001, "User denied");
      if (method !== "wallet_switchEthereumChain") return undefined;
      chainId = undefined;
      return null;
    };
    const { page } = await visit(context, world, { route: "/ask", wallet: { account: 0, answer } });
    const press = async (name: string): Promise<void> => {
      await page.getByRole("main").getByRole("button", { name, exact: true }).focus();
      await page.keyboard.press("Enter");
    };
    await page.getByLabel("Question").fill("Is 19 a prime number?");
    await press("Test wallet");
    await isFocused(page, "Who pays");
    await press("Switch the wallet to chain 31337");
    await isFocused(page, "form");
    await press("Ask");
    await sees(page, "You said no in the wallet");
    await isFocused(page, "Ask");
    await page.goto(`${world.url}#/agents/2`);
    await page.getByLabel("Amount of TEST").waitFor();
    await press("Unbond all");
    await sees(page, "You said no in the wallet");
    await isFocused(page, "Unbond all");
  });

  it("stays after what was done: stake, a proof, settings", async (context) => {
    const { page } = await visit(context, world, { route: "/agents/3", wallet: { account: 0 } });
    const press = async (name: string): Promise<void> => {
      await page.getByRole("main").getByRole("button", { name, exact: true }).focus();
      await page.keyboard.press("Enter");
    };
    await press("Test wallet");
    await isFocused(page, "Your stake");
    await page.getByLabel("Amount of TEST").fill("1");
    for (const [name, done] of [
      ["Delegate", "You delegated 1 TEST."],
      ["Unbond all", "All of your stake unbonds from now on."],
    ] as const) {
      await press(name);
      await sees(page, done);
      await isFocused(page, "Your stake");
      // It holds the focus for the next key, and is no control.
      assert.equal(await page.evaluate(() => getComputedStyle(document.activeElement!).outlineStyle), "none");
    }
    const chain = createTestClient({ mode: "anvil", transport: http(world.rpcUrl) });
    await chain.increaseTime({ seconds: MIN_UNBONDING_SECONDS });
    await chain.mine({ blocks: 1 });
    await sees(page, "It has unbonded: withdraw it.");
    assert.equal(await page.getByText("All of your stake unbonds from now on.").count(), 0);
    await page.goto(`${world.url}#/request/${world.chain.decisions[0]?.attempt.request.id}`);
    await press("Prove");
    await page.locator(".seal").waitFor();
    await isFocused(page, "Prove");
    await page.goto(`${world.url}#/settings`);
    await press("Save");
    await isFocused(page, "main");
  });
});

/** Runs in the page: announces a wallet that throws where one wants to hear of changes, and where one does not any more. */
function announceDeaf(address: string | undefined): void {
  const fail = (): never => {
    throw new Error("deaf");
  };
  const request = async ({ method }: { readonly method: string }): Promise<unknown> =>
    method === "eth_chainId" ? "0x7a69" : [address];
  const info = { uuid: "8bd1c6f2-0000-4000-8000-000000000003", name: "Deaf wallet", icon: "data:,", rdns: "deaf.test" };
  const detail = { info, provider: { request, on: fail, removeListener: fail } };
  addEventListener("eip6963:requestProvider", () =>
    dispatchEvent(new CustomEvent("eip6963:announceProvider", { detail })),
  );
}

/** Runs in the page: announces wallets that lack a part, and one that only answers calls. */
function announceOdd(address: string | undefined): void {
  const provider = {
    request: async ({ method }: { readonly method: string }) => (method === "eth_chainId" ? "0x7a69" : [address]),
  };
  const info = { uuid: "8bd1c6f2-0000-4000-8000-000000000002", name: "Bare wallet", icon: "data:,", rdns: "bare.test" };
  const odd = [
    null,
    { provider },
    { info: { ...info, uuid: "nameless", name: undefined }, provider },
    { info: { ...info, uuid: "mute" } },
    { info, provider },
  ];
  addEventListener("eip6963:requestProvider", () =>
    odd.forEach((detail) => dispatchEvent(new CustomEvent("eip6963:announceProvider", { detail }))),
  );
}
