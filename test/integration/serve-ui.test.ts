// `conclave serve --ui` tells the dashboard where the chain and its gateways are.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, describe, it, type TestContext } from "node:test";
import { MOST_GATEWAYS, MOST_LIVE } from "../../agents/adapters/dashboard/dashboard.ts";
import * as settings from "../../dashboard/src/settings/settings.ts";

const main = join(import.meta.dirname, "../../agents/cli/main.ts");
const address = (digit: number): string => `0x${String(digit).repeat(40)}`;
const DEPLOYMENT = { chainId: 31_337, oracle: address(1), registry: address(2), rpcUrl: "http://127.0.0.1:1/" };
const GATEWAYS = ["http://127.0.0.1:8551", "https://gateway.example"];

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "conclave-serve-ui-"));
  await mkdir(join(folder, "page"));
  await writeFile(join(folder, "page/index.html"), "<html></html>");
});
after(() => rm(folder, { recursive: true }));

interface Config {
  readonly gateways: readonly string[];
  readonly live: readonly string[];
}

async function configOf(
  context: TestContext,
  deployment: object,
  ...flags: readonly string[]
): Promise<Config & { readonly page: string }> {
  await writeFile(join(folder, "deployment.json"), JSON.stringify(deployment));
  const args = ["serve", "--ui", "page", "--deployment", "deployment.json", "--listen", "127.0.0.1:0", "--json"];
  const child = spawn(process.execPath, [main, ...args, ...flags], {
    cwd: folder,
    stdio: ["ignore", "pipe", "inherit"],
  });
  context.after(async () => {
    const ended = once(child, "exit");
    child.kill("SIGTERM");
    await ended;
  });
  const [line] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
  const { page } = JSON.parse(line) as { readonly page: string };
  return { ...((await (await fetch(`${page}config.json`)).json()) as Config), page };
}

async function gatewaysOf(...args: Parameters<typeof configOf>): Promise<readonly string[]> {
  return (await configOf(...args)).gateways;
}

describe("conclave serve --ui", () => {
  it("names the gateways of the deployment file", async (context) => {
    assert.deepEqual(await gatewaysOf(context, { ...DEPLOYMENT, gateways: GATEWAYS }), GATEWAYS);
  });

  it("names those of --gateway in their place", async (context) => {
    const flags = ["--gateway", "https://other.example"];
    assert.deepEqual(await gatewaysOf(context, { ...DEPLOYMENT, gateways: GATEWAYS }, ...flags), [
      "https://other.example",
    ]);
  });

  it("names as many as the dashboard takes, its own first", async (context) => {
    assert.deepEqual([MOST_GATEWAYS, MOST_LIVE], [settings.MOST_GATEWAYS, settings.MOST_LIVE]);
    const many = Array.from({ length: 13 }, (_, index) => `https://agent-${index}.example`);
    const streams = Array.from({ length: 65 }, (_, index) => `https://live-${index}.example`);
    const deployment = { ...DEPLOYMENT, gateways: many };
    const { gateways, live } = await configOf(context, deployment, "--live", ...streams);
    assert.deepEqual([gateways, live], [many.slice(0, MOST_GATEWAYS), streams.slice(0, MOST_LIVE)]);
    for (const name of ["pins", "blocks"]) await mkdir(join(folder, "kept", name), { recursive: true });
    const kept = await configOf(context, deployment, "--from", "kept");
    assert.deepEqual(kept.gateways, [kept.page.replace(/\/$/, ""), ...many.slice(0, MOST_GATEWAYS - 1)]);
  });

  it("names none where no file and no flag does", async (context) => {
    assert.deepEqual(await gatewaysOf(context, DEPLOYMENT), []);
  });
});
