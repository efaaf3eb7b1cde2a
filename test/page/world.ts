// A local world for tests of the dashboard: a chain with decisions, a gateway with their transcripts, the dashboard, and a browser.
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { existsSync } from "node:fs";
import { extname, join, normalize } from "node:path";
import { chromium, type Browser } from "playwright-core";
import { createPublicClient, createWalletClient, http } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { startGateway } from "../../agents/adapters/ipfs/gateway.ts";
import { sha256 } from "../../agents/core/encoding/bytes.ts";
import type { Digest } from "../../agents/core/types.ts";
import { startDecidedChain, type DecidedChain } from "../../devnet/decided-chain.ts";
import { listenOnLoopback, type LoopbackServer } from "../../scripts/shared/loopback.ts";
import { createConclave, type Conclave } from "../../sdk/src/index.ts";

const root = join(import.meta.dirname, "../..");
const dist = join(root, "dashboard/dist");

export interface Served {
  /** Where the dashboard is. */
  readonly url: string;
  /** What the dashboard's config.json says. */
  readonly config: Readonly<Record<string, unknown>>;
  readonly browser: Browser;
  /** JSON-RPC of the chain. */
  readonly rpcUrl: string;
  /** Funded accounts, for which the node signs. */
  readonly accounts: readonly { readonly address: `0x${string}` }[];
  close(): Promise<void>;
}

export interface DashboardWorld extends Served {
  readonly chain: DecidedChain;
  /** Blocks that the gateway serves, by digest. */
  readonly blocks: Map<Digest, Uint8Array>;
}

/** Starts everything, with `count` decisions of which the last is provisional. */
export async function startDashboardWorld(count: number): Promise<DashboardWorld> {
  const closing: (() => Promise<unknown>)[] = [];
  const close = async (): Promise<void> => {
    for (const one of closing.toReversed()) await one();
  };
  try {
    const chain = await startDecidedChain(count, { lastIsProvisional: true });
    closing.push(() => chain.close());
    const blocks = new Map<Digest, Uint8Array>();
    keepBlocks(blocks, chain.decisions);
    const gateway = await serveBlocks(blocks);
    closing.push(() => gateway.close());
    const { oracle, registry } = chain.deployment;
    const config = {
      rpcUrl: chain.chain.rpcUrl,
      chainId: chain.chain.chainId,
      oracle,
      registry,
      deploymentBlock: 0,
      gateways: [gateway.url],
      burnerKey: chain.chain.accounts[0]?.privateKey,
    };
    const served = await serve(config);
    closing.push(() => served.close());
    const decide: DecidedChain["decide"] = (requestId, minds, certified) =>
      chain.decide(requestId, minds, async (decided) => {
        // Seats hold the transcript before they sign (AV6).
        keepBlocks(blocks, [decided]);
        await certified?.(decided);
      });
    const { accounts, rpcUrl } = chain.chain;
    return { ...served, chain: { ...chain, decide }, rpcUrl, accounts, blocks, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** What the first account of the chain does, beside the browser. */
export function conclaveOf({ rpcUrl, chain }: DashboardWorld): Conclave {
  const transport = http(rpcUrl);
  const account = privateKeyToAccount(chain.chain.accounts[0]?.privateKey ?? "0x");
  return createConclave({
    publicClient: createPublicClient({ transport, pollingInterval: 20, cacheTime: 0 }),
    walletClient: createWalletClient({ account, transport }),
    deployment: chain.deployment,
  });
}

/** Serves the dashboard with a config.json, and starts a browser. */
export async function serve(
  config: DashboardWorld["config"],
): Promise<Pick<Served, "url" | "config" | "browser" | "close">> {
  if (!existsSync(join(dist, "index.html"))) throw new Error("The dashboard is not built: run `npm run page:build`");
  const browser = await launchBrowser();
  const server = await servePage(config);
  const close = async (): Promise<void> => {
    await browser.close();
    await server.close();
  };
  return { url: `${server.url}/page/`, config, browser, close };
}

/** Starts Debian's Chromium, or the one that CHROMIUM names. */
async function launchBrowser(): Promise<Browser> {
  const executablePath = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
  if (!existsSync(executablePath))
    throw new Error(`There is no browser at ${executablePath}: run scripts/page/install-chromium.sh, or set CHROMIUM`);
  return chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
}

function keepBlocks(blocks: Map<Digest, Uint8Array>, decisions: DecidedChain["decisions"]): void {
  for (const bytes of decisions.flatMap((one) => one.blocks)) blocks.set(sha256(bytes), bytes);
}

/** Starts a gateway that hands out what is there, right or wrong. */
export async function serveBlocks(blocks: ReadonlyMap<Digest, Uint8Array>): ReturnType<typeof startGateway> {
  // Tests of one page may fetch more in a moment than one reader does.
  return startGateway({ store: storeOf(blocks), host: "127.0.0.1", port: 0, limits: { requests: 10_000 } });
}

function storeOf(blocks: ReadonlyMap<Digest, Uint8Array>): Parameters<typeof startGateway>[0]["store"] {
  return {
    has: async (digest) => blocks.has(digest),
    get: async (digest) => {
      const bytes = blocks.get(digest);
      if (bytes === undefined) throw new Error("the block is gone");
      return bytes;
    },
  };
}

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".wasm": "application/wasm",
};

/** Serves the built page below a path, since it must work below any. */
function servePage(config: object): Promise<LoopbackServer> {
  const server = createServer((request, response) => {
    const path = normalize(URL.parse(request.url ?? "/", "http://page")?.pathname ?? "/");
    const name = path === "/page/" ? "index.html" : path.replace(/^\/page\//, "");
    if (name === "config.json") {
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(config));
      return;
    }
    readFile(join(dist, name)).then(
      (bytes) => response.writeHead(200, { "content-type": TYPES[extname(name)] ?? "text/plain" }).end(bytes),
      () => response.writeHead(404).end(),
    );
  });
  return listenOnLoopback(server);
}
