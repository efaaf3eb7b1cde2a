import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { readFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import { build } from "esbuild";
import { CID } from "multiformats/cid";
import { createPublicClient, http } from "viem";
import { LocalBlocks } from "../../agents/adapters/ipfs/local-blocks.ts";
import { cidString } from "../../agents/core/encoding/cid.ts";
import { mbft } from "../../agents/core/protocols/mbft/index.ts";
import { concat } from "../../agents/core/encoding/bytes.ts";
import { decisionOracleAbi } from "@conclave/contracts/abi";
import { startDecidedChain, type DecidedChain } from "../../devnet/decided-chain.ts";
import type { verify as verifySource, VerifyWorker } from "../../sdk/src/verify/index.ts";
import { byCommand, decided, decisionsOfAll, spoiled, type DecidedCase } from "../support/decided-cases.ts";
import { clientOf, NODE_REGISTRY } from "../support/decided-node.ts";
import { processorMs } from "../support/processor-time.ts";
import { installSdk, packagesIn, root, tool, type InstalledSdk } from "./sdk-package.ts";

/** First load of a page that asks and follows, and of one that also verifies. */
const MAX_INDEX_GZIP = 60_000;
const MAX_VERIFY_GZIP = 290_000;

let sdk: InstalledSdk;
before(async () => (sdk = await installSdk()));
after(() => sdk.remove());

describe("the package @conclave/sdk", () => {
  it("holds the bundles, their declarations, a README and all licences, and nothing else", () => {
    const others = sdk.files.filter((path) => !/^dist\/(types\/(sdk|agents)\/.*\.d\.ts|[\w-]+\.js)$/.test(path));
    assert.deepEqual(others.toSorted(), ["LICENSE", "README.md", "THIRD_PARTY_LICENSES.txt", "package.json"]);
    for (const name of ["index", "verify", "verify-worker"]) assert.ok(sdk.files.includes(`dist/${name}.js`));
  });

  it("brings no other package, and no native code", async () => {
    assert.deepEqual(await packagesIn(sdk.folder), ["@conclave", "viem"]);
    assert.deepEqual(
      sdk.files.filter((path) => /\.(node|wasm)$/.test(path)),
      [],
    );
  });

  it("declares its types with those of viem alone, so that a strict compiler finds all of them", async () => {
    const named = new Set<string>();
    for (const path of sdk.files.filter((one) => one.endsWith(".d.ts"))) {
      const text = await readFile(join(sdk.folder, "node_modules/@conclave/sdk", path), "utf8");
      for (const [, name = ""] of text.matchAll(/(?:from |import\()"([^."][^"]*)"/g)) named.add(name);
    }
    assert.deepEqual([...named], ["viem"]);
  });

  it("names the licence of each package that it bundles", async () => {
    const licences = await readFile(join(sdk.folder, "node_modules/@conclave/sdk/THIRD_PARTY_LICENSES.txt"), "utf8");
    for (const name of ["@bitauth/libauth", "@ipld/dag-cbor", "@noble/curves", "@noble/hashes", "minisearch", "zod"])
      assert.match(licences, new RegExp(`^${name} \\d+\\.\\d+\\.\\d+ \\(.+\\)$`, "m"));
  });

  it("stays small: what a page loads at first", () => {
    assert.ok(loadedGzip("index.js") < MAX_INDEX_GZIP, `index.js and what it loads: ${loadedGzip("index.js")} bytes`);
    assert.ok(
      loadedGzip("verify.js") < MAX_VERIFY_GZIP,
      `verify.js and what it loads: ${loadedGzip("verify.js")} bytes`,
    );
  });

  it("has short lines: Node prints the whole line of an error that nobody catches before its message", async () => {
    await writeFile(
      join(sdk.folder, "fails.js"),
      `import { createConclave } from "@conclave/sdk"; createConclave({ publicClient: 1 });`,
    );
    const { status, stderr } = spawnSync(process.execPath, ["fails.js"], { cwd: sdk.folder, encoding: "utf8" });
    assert.equal(status, 1);
    assert.match(stderr.slice(0, 2_000), /ConclaveError\]?: Check the arguments: publicClient = 1/);
  });

  it("is bundled for browsers without anything of Node", async () => {
    await writeFile(
      join(sdk.folder, "page.js"),
      'export * from "@conclave/sdk"; export { verify } from "@conclave/sdk/verify"; import "@conclave/sdk/verify-worker";',
    );
    const bundle = await build({
      absWorkingDir: sdk.folder,
      entryPoints: ["page.js"],
      bundle: true,
      platform: "browser",
      format: "esm",
      write: false,
      metafile: true,
      logLevel: "silent",
    });
    assert.deepEqual([bundle.warnings, bundle.errors], [[], []]);
    const imports = Object.values(bundle.metafile.inputs).flatMap((input) => input.imports);
    assert.deepEqual(
      imports.filter(({ path, external }) => external === true || path.startsWith("node:")),
      [],
    );
  });

  it("has a worker that a bundler can make a classic script of, as Vite does unless it is told otherwise", async () => {
    const bundle = await build({
      absWorkingDir: sdk.folder,
      entryPoints: ["node_modules/@conclave/sdk/dist/verify-worker.js"],
      bundle: true,
      platform: "browser",
      format: "iife",
      write: false,
      logLevel: "silent",
    });
    assert.deepEqual([bundle.warnings, bundle.errors], [[], []]);
  });
});

describe("verify of the package", () => {
  let verify: typeof verifySource;
  let thread: Worker;
  before(async () => {
    const folder = pathToFileURL(join(sdk.folder, "node_modules/@conclave/sdk/dist/"));
    ({ verify } = (await import(new URL("verify.js", folder).href)) as { readonly verify: typeof verifySource });
    const script = new URL("verify-worker.js", folder).href;
    thread = new Worker(join(import.meta.dirname, "web-worker.mjs"), { workerData: { script } });
  });
  after(() => thread.terminate());

  const good = decisionsOfAll();
  const cases = [...good, ...spoiled(good[1] as DecidedCase), ...spoiled(good[16] as DecidedCase)];

  it(`equals conclave verify on ${good.length} decisions of all protocols and ${cases.length - good.length} spoiled ones`, async () => {
    const verdicts = { proven: 0, refuted: 0 };
    for (const one of cases) {
      const expected = await byCommand(one);
      const request = requestOf(one);
      const { verdict, checks, ...report } = await verify(request);
      assert.deepEqual(report, expected, one.name);
      assert.deepEqual((await verify({ ...request, worker: webWorker(thread) })).checks, checks, one.name);
      verdicts[expected.ok ? "proven" : "refuted"] += 1;
      const { failure } = expected;
      const failed = checks.find(({ passed }) => passed === false);
      assert.equal(failed?.step, failure?.step, one.name);
      assert.equal(failed?.cid, failure?.cid, one.name);
      assert.equal(verdict.startsWith("PROVEN"), expected.ok, one.name);
    }
    assert.deepEqual(verdicts, { proven: 33, refuted: 20 });
  });

  it("proves a decision of 31 seats in less than 3 s of processor time, in a worker", async (context) => {
    const answers = Array.from({ length: 31 }, (_, seat) => (seat % 4 === 3 ? "no" : "yes"));
    const request = requestOf(decided(mbft, 99, answers, {}));
    // A worker's time is part of the process's; what other processes take is not.
    const tookMs = await processorMs(async () => {
      const { ok, checked } = await verify({ ...request, worker: webWorker(thread) });
      context.diagnostic(`proves ${checked.messageSignatures} signatures`);
      assert.ok(ok);
    });
    context.diagnostic(`in ${Math.round(tookMs)} ms`);
    assert.ok(tookMs < 3_000, `${tookMs} ms`);
  });

  it("tells from a worker how far it is", async () => {
    const steps: string[] = [];
    const onProgress = (step: string, done: number, total: number) => done === total && steps.push(step);
    await verify({ ...requestOf(good[0] as DecidedCase), worker: webWorker(thread), onProgress });
    assert.deepEqual(steps, ["chain", "certificate", "root", "messages", "replay", "decision"]);
  });
});

describe("the README's snippets", () => {
  let world: DecidedChain;
  let gateway: Server;
  before(async () => {
    world = await startDecidedChain(1, { lastIsProvisional: true });
    gateway = await serveBlocks(join(world.folder, "blocks"));
  });
  after(async () => {
    gateway.closeAllConnections();
    gateway.close();
    await world.close();
  });

  it("are six; they compile, and run in their order against a chain", async () => {
    const snippets = snippetsOf(readFileSync(join(root, "sdk/README.md"), "utf8"));
    assert.equal(snippets.length, 6);
    const { oracle, registry, deploymentBlock } = world.deployment;
    const program = snippets
      .join("\n")
      .replace("https://rpc.example", world.chain.rpcUrl)
      .replaceAll("https://gateway.example", `http://127.0.0.1:${(gateway.address() as AddressInfo).port}`)
      .replace("0x000000000000000000000000000000000000000a", oracle)
      .replace("0x000000000000000000000000000000000000000b", registry)
      .replace("deploymentBlock: 0", `deploymentBlock: ${deploymentBlock}`);
    await writeFile(join(sdk.folder, "main.ts"), program);
    await writeFile(join(sdk.folder, "tsconfig.json"), JSON.stringify(CONSUMER));
    assert.equal(await tool("tsc", ["-p", "."], sdk.folder), "");
    await writeFile(join(sdk.folder, "window.mjs"), windowOf(world.chain.rpcUrl));

    const [output] = await Promise.all([
      tool("node", ["--import", "./window.mjs", "main.ts"], sdk.folder),
      decideNext(world),
    ]);
    assert.match(output, /^costs [\d.]+ \w+; what nobody earns comes back$/m);
    assert.match(output, /^provisional: yes$/m);
    assert.match(output, /^decided not final yet decided$/m);
    assert.match(output, /Is the refund due\? yes$/m);
    assert.match(output, /^PROVEN: /m);
    assert.equal(output.match(/^\w+ true /gm)?.length, 6);
    assert.equal(output.match(/^\d 0 yes /gm)?.length, 4);
    assert.match(output, /^\d+ staked; half of it can be withdrawn in \d+ s$/m);
  });
});

function loadedGzip(file: string): number {
  const seen = new Set([file]);
  for (const one of seen) for (const name of builtFile(one).loads) seen.add(name);
  return [...seen].reduce((sum, one) => sum + builtFile(one).gzipBytes, 0);
}

function builtFile(name: string): InstalledSdk["built"][number] {
  const found = sdk.built.find(({ file }) => file === name);
  assert.ok(found, `no ${name} was built`);
  return found;
}

function requestOf(one: DecidedCase) {
  const { chainId, oracle } = one.attempt.domain;
  const byCid = new Map([...one.blocks].map(([digest, bytes]) => [cidString(digest), bytes]));
  return {
    publicClient: clientOf([one]),
    deployment: { chainId, oracle, registry: NODE_REGISTRY },
    requestId: one.attempt.request.id,
    blocks: { get: async (cid: string) => byCid.get(cid) ?? null },
  };
}

/** A thread of Node as a page sees a worker. */
function webWorker(thread: Worker): VerifyWorker {
  const listeners = new Map<unknown, (data: unknown) => void>();
  return {
    // A worker has no origin, unlike a window.
    // eslint-disable-next-line unicorn/require-post-message-target-origin
    postMessage: (message: unknown) => thread.postMessage(message),
    addEventListener: (name: string, listener: (event: { readonly data: unknown }) => void) => {
      const hear = (data: unknown): void => listener({ data });
      listeners.set(listener, hear);
      thread.on(name, hear);
    },
    removeEventListener: (name: string, listener: unknown) => {
      thread.off(name, listeners.get(listener) ?? (() => undefined));
      listeners.delete(listener);
    },
  };
}

/** Serves a blockstore as a trustless gateway does, without its own code. */
async function serveBlocks(folder: string): Promise<Server> {
  const blocks = new LocalBlocks(folder);
  await blocks.open();
  const server = createServer((request, response) => {
    const cid = /^\/ipfs\/(\w+)/.exec(request.url ?? "")?.[1] ?? "";
    readBlock(blocks, cid).then(
      (bytes) => response.writeHead(200, { "content-type": "application/vnd.ipld.raw" }).end(bytes),
      () => response.writeHead(404).end(),
    );
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

async function readBlock(blocks: LocalBlocks, cid: string): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for await (const part of blocks.get(CID.parse(cid))) parts.push(part);
  return concat(...parts);
}

/** Waits for one more request than there are decisions, and decides it. */
async function decideNext({ chain, deployment, decisions, decide }: DecidedChain): Promise<void> {
  const client = createPublicClient({ transport: http(chain.rpcUrl) });
  for (;;) {
    const events = {
      address: deployment.oracle,
      abi: decisionOracleAbi,
      eventName: "Requested",
      fromBlock: 0n,
    } as const;
    const asked = await client.getContractEvents(events);
    const id = asked[decisions.length]?.args.requestId;
    if (id !== undefined) {
      await decide(id);
      return;
    }
    await sleep(50);
  }
}

function snippetsOf(markdown: string): readonly string[] {
  return [...markdown.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = ""]) => code);
}

const CONSUMER = {
  compilerOptions: {
    target: "es2024",
    lib: ["es2024", "DOM", "DOM.Iterable", "DOM.AsyncIterable"],
    module: "ESNext",
    moduleResolution: "bundler",
    types: [],
    strict: true,
    skipLibCheck: true,
    noEmit: true,
  },
  include: ["main.ts"],
};

/** A page's window, whose wallet is the node with its unlocked accounts. The package gets nothing of Node; Node's fetch does. */
function windowOf(rpcUrl: string): string {
  return `
for (const name of ["Buffer", "process", "setImmediate", "clearImmediate"]) {
  const value = globalThis[name];
  const get = () => {
    if (/^ +at .*\\/@conclave\\/sdk\\//.test(new Error().stack.split("\\n")[2] ?? "")) throw new Error("the package uses " + name);
    return value;
  };
  Object.defineProperty(globalThis, name, { get, configurable: true });
}
globalThis.window = {
  ethereum: {
    async request({ method, params = [] }) {
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: method === "eth_requestAccounts" ? "eth_accounts" : method, params });
      const response = await fetch(${JSON.stringify(rpcUrl)}, { method: "POST", headers: { "content-type": "application/json" }, body });
      const { result, error } = await response.json();
      if (error !== undefined) throw Object.assign(new Error(error.message), error);
      return result;
    },
  },
};
globalThis.localStorage = { setItem: () => undefined };
`;
}
