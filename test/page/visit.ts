// A browser's page, with a wallet if a test wants one, that collects what goes wrong in it.
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import type { BrowserContextOptions, Page } from "playwright-core";
import type { Served } from "./world.ts";

export interface Visit {
  readonly page: Page;
  /** Errors of scripts and of the console. */
  readonly faults: readonly string[];
}

export interface VisitOptions extends BrowserContextOptions {
  /** The hash route. */
  readonly route?: string;
  /** Announces a wallet by EIP-6963. */
  readonly wallet?: WalletOptions;
  /** Faults that the test causes. */
  readonly expects?: RegExp;
  /** Answers calls in the network's place, before the dashboard is opened. */
  readonly routes?: (page: Page) => Promise<unknown>;
  /** Content of config.json; null if the dashboard finds no such file. */
  readonly config?: object | null;
}

export interface WalletOptions {
  /** Number of the chain's funded account. */
  readonly account: number;
  /** Answers a call in the chain's place; undefined leaves it to the chain. */
  readonly answer?: (call: RpcCall) => unknown;
}

export interface RpcCall {
  readonly method: string;
  readonly params?: readonly unknown[];
}

/** Opens the dashboard; at the end of the test it fails if the dashboard had faults. */
export async function visit(context: TestContext, world: Served, options: VisitOptions = {}): Promise<Visit> {
  const { route = "/", wallet, expects, config, routes, ...browserOptions } = options;
  const browser = await world.browser.newContext(browserOptions);
  const faults: string[] = [];
  context.after(async () => {
    await browser.close();
    assert.deepEqual(
      faults.filter((fault) => expects?.test(fault) !== true),
      [],
    );
  });
  const page = await browser.newPage();
  page.setDefaultTimeout(240_000);
  page.on("pageerror", (error) => faults.push(String(error)));
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) faults.push(message.text());
  });
  if (config !== undefined)
    await page.route("**/config.json", (one) =>
      config === null ? one.fulfill({ status: 204 }) : one.fulfill({ json: config }),
    );
  await routes?.(page);
  if (wallet !== undefined) await announce(page, world, wallet);
  await page.goto(`${world.url}#${route}`);
  return { page, faults };
}

interface WalletFailure {
  readonly message: string;
  readonly code?: number;
  readonly data?: unknown;
}

/** The wallet hands every call to the chain, whose node signs for its funded accounts. */
async function announce(page: Page, world: Served, { account, answer }: WalletOptions): Promise<void> {
  const { rpcUrl, accounts } = world;
  const address = accounts[account]?.address;
  await page.exposeFunction("askWallet", async ({ method, params = [] }: RpcCall): Promise<object> => {
    try {
      const own = await answer?.({ method, params });
      if (own !== undefined) return { result: own };
      if (method === "eth_requestAccounts" || method === "eth_accounts") return { result: [address] };
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
      const response = await fetch(rpcUrl, { method: "POST", headers: { "content-type": "application/json" }, body });
      return (await response.json()) as object;
    } catch (error) {
      const { message, code = -32_000, data } = error as WalletFailure;
      return { error: { message, code, data } };
    }
  });
  await page.addInitScript(() => {
    const request = async (call: object): Promise<unknown> => {
      const ask = (globalThis as unknown as { askWallet(call: object): Promise<WalletAnswer> }).askWallet;
      const { result, error } = await ask(call);
      if (error !== undefined) throw Object.assign(new Error(error.message), { code: error.code, data: error.data });
      return result;
    };
    interface WalletAnswer {
      readonly result?: unknown;
      readonly error?: WalletFailure;
    }
    const info = {
      uuid: "8bd1c6f2-0000-4000-8000-000000000001",
      name: "Test wallet",
      icon: "data:,",
      rdns: "example.test",
    };
    const heard = new Set<readonly [event: string, hear: (value: unknown) => void]>();
    const provider = {
      request,
      on: (event: string, hear: (value: unknown) => void) => heard.add([event, hear]),
      removeListener: (event: string, hear: (value: unknown) => void) =>
        [...heard].filter((one) => one[0] === event && one[1] === hear).forEach((one) => heard.delete(one)),
    };
    addEventListener("wallet:change", (change) => {
      const { event, value } = (change as CustomEvent<{ readonly event: string; readonly value: unknown }>).detail;
      [...heard].filter(([name]) => name === event).forEach(([, hear]) => hear(value));
    });
    const detail = Object.freeze({ info: Object.freeze(info), provider });
    const tell = (): boolean => dispatchEvent(new CustomEvent("eip6963:announceProvider", { detail }));
    addEventListener("eip6963:requestProvider", tell);
    tell();
  });
}

/** Connects the announced wallet by the menu at the top. */
export async function connectWallet(page: Page): Promise<void> {
  await page.getByRole("banner").getByRole("button", { name: "Connect" }).click();
  await page.getByRole("banner").getByRole("button", { name: "Test wallet" }).click();
  await page.getByRole("banner").getByRole("button", { name: /^0x/ }).waitFor();
}

/** Tells the page what the user changes in the wallet, by an event of EIP-1193. */
export async function changeWallet(
  page: Page,
  event: "accountsChanged" | "chainChanged",
  value: string | readonly string[],
): Promise<void> {
  await page.evaluate((detail) => void dispatchEvent(new CustomEvent("wallet:change", { detail })), { event, value });
}

/** Waits until the focus stands on a part of the page with this text, or on one of this tag. */
export async function isFocused(page: Page, name: string): Promise<void> {
  await page.waitForFunction((wanted) => {
    const { tagName = "", ariaLabel = "", textContent = "" } = document.activeElement ?? {};
    return [tagName.toLowerCase(), ariaLabel, textContent].includes(wanted);
  }, name);
}

/** Waits for a text below the header. */
export async function sees(page: Page, text: string | RegExp): Promise<void> {
  await page.getByRole("main").getByText(text).first().waitFor();
}

/** As a browser whose storage is full. */
export function keepsNothing(): void {
  Storage.prototype.setItem = () => {
    throw new DOMException("full", "QuotaExceededError");
  };
}

/** An address as the dashboard shows it. */
export function shortened(address: string): RegExp {
  return new RegExp(`^${address.slice(0, 6)}…${address.slice(-4)}$`, "i");
}
