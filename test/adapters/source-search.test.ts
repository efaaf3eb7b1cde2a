import assert from "node:assert/strict";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text as textIn } from "node:stream/consumers";
import { describe, it } from "node:test";
import { sourcesConfigSchema, type SourcesConfig } from "../../agents/adapters/source-reader/config.ts";
import { openSourceReader } from "../../agents/adapters/source-reader/reader.ts";
import { findTool, type FoundTool } from "../../agents/adapters/source-reader/search.ts";
import { openSearchTool } from "../../agents/adapters/source-reader/search-tool.ts";
import { readIn, readingBlock } from "../../agents/core/sources/reading.ts";
import type { Reading } from "../../agents/core/sources/snapshot.ts";
import { sourceOf } from "../support/pages.ts";
import { until } from "../support/until.ts";

const script = join(import.meta.dirname, "fixtures", "search-server.ts");
const SEARCH = 'search: who won the "cup" of 2026? été {words} $&';
const WORDS = SEARCH.slice("search: ".length);
const store = { get: () => Promise.reject(new Error("there are no documents here")) };
type Environment = Readonly<Record<string, string>>;

/** A config whose server behaves as `args` says. */
function stdio(args: readonly string[], more: object = {}, timeoutMs = 60_000): SourcesConfig {
  const server = { kind: "stdio", command: process.execPath, args: [script, ...args], tool: "find" };
  return sourcesConfigSchema.parse({ timeoutMs, search: { ...server, ...more } });
}

async function search(config: SourcesConfig, environment: Environment = {}, text = SEARCH): Promise<Reading> {
  const reader = await openSourceReader({ config, store, environment });
  return reader.read(sourceOf(text), new AbortController().signal);
}

async function textOf(config: SourcesConfig, environment: Environment = {}): Promise<string> {
  const reading = await search(config, environment);
  assert.ok(reading.kind === "read", JSON.stringify(reading));
  return reading.snapshot.text;
}

async function failureOf(config: SourcesConfig): Promise<readonly [string, string]> {
  const reading = await search(config);
  assert.ok(reading.kind === "failed", JSON.stringify(reading));
  return [reading.reason, reading.detail];
}

/** What the tool gives is this result. */
const giving = (result: object): SourcesConfig => stdio(["result", JSON.stringify(result)]);

async function find(config: SourcesConfig): Promise<FoundTool> {
  assert.ok(config.search !== undefined);
  const tool = await openSearchTool(config.search, config.timeoutMs, {});
  return findTool(tool, new AbortController().signal);
}

/** Processes of this user's that have the word on their command line. */
function processesWith(word: string): number {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(word);
    } catch {
      // It ended meanwhile.
      return false;
    }
  }).length;
}

/** Waits until no process has the word any more: the system takes a moment to end what was killed. */
async function gone(word: string): Promise<void> {
  await until(() => processesWith(word) === 0);
}

type Answering = (message: { readonly id?: number; readonly method?: string }, response: ServerResponse) => void;

/** Runs `use` with the config of a server over HTTP, and the requests that came. */
async function withHttp<T>(
  answer: Answering,
  use: (config: SourcesConfig, requests: readonly IncomingMessage[]) => Promise<T>,
  timeoutMs = 60_000,
): Promise<T> {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    void textIn(request).then((body) => {
      if (request.method !== "POST") return response.writeHead(405).end();
      return answer(JSON.parse(body), response);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  const http = { kind: "http", url, tool: "find", apiKeyEnv: "SEARCH_KEY" };
  try {
    return await use(sourcesConfigSchema.parse({ timeoutMs, search: http }), requests);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const KEY = { SEARCH_KEY: "secret-key-1" };
const JSON_TYPE = { "content-type": "application/json" };
const initialized = {
  protocolVersion: "2025-06-18",
  capabilities: { tools: {} },
  serverInfo: { name: "web", version: "1" },
};

/** Speaks the protocol up to the call, which `call` answers. */
const upToCall =
  (call: (id: number, response: ServerResponse) => void): Answering =>
  ({ id, method }, response) => {
    if (id === undefined) return void response.writeHead(202).end();
    if (method === "tools/call") return call(id, response);
    const body = JSON.stringify({ jsonrpc: "2.0", id, result: initialized });
    response.writeHead(200, { ...JSON_TYPE, "mcp-session-id": "session-5" }).end(body);
  };

describe("a search by an operator's tool", () => {
  it("EV16: fills the words into the arguments, and brings each value that the tool finds in a line of its own", async () => {
    const config = stdio(["honest"], { arguments: { query: "{words}", nested: [{ q: "<{words}>" }], count: 5 } });
    assert.equal(
      await textOf(config),
      [
        `query: ${WORDS}`,
        `q: <${WORDS}>`,
        "count: 5",
        "title: A page",
        "url: https://example.org/a",
        "score: 0.5",
      ].join("\n"),
    );
  });

  it("EV16, SG6: tools that order and mark the same lines otherwise name the same passages but for the marks", async () => {
    const one = [
      { text: "The dam broke on 3 May.", score: 0.91 },
      { text: "Nobody was hurt.", score: 0.4 },
    ];
    const other = [
      { score: 7, text: "Nobody was hurt." },
      { score: 8, text: "The dam broke on 3 May." },
    ];
    const passages = async (found: object): Promise<readonly string[]> => {
      const reading = await search(giving({ content: [{ type: "text", text: JSON.stringify(found) }] }));
      const read = readIn(readingBlock(reading), 1);
      return read?.kind === "read" ? read.passages : [];
    };
    const [first, second] = [await passages(one), await passages(other)];
    assert.deepEqual(
      first.filter((passage) => second.includes(passage)),
      ["text: The dam broke on 3 May.\n", "text: Nobody was hurt.\n"],
    );
  });

  for (const [what, result, text] of [
    ["plain text", { content: [{ type: "text", text: "One.\n\n  Two.\u200b" }] }, "One.\nTwo."],
    ["no JSON", { content: [{ type: "text", text: "[1] One." }] }, "[1] One."],
    [
      "JSON that is too deep",
      { content: [{ type: "text", text: `${"[".repeat(200)}1${"]".repeat(200)}` }] },
      `${"[".repeat(200)}1${"]".repeat(200)}`,
    ],
    [
      "a resource",
      { content: [{ type: "resource", resource: { uri: "https://a.test/", text: "Words." } }] },
      "https://a.test/\nWords.",
    ],
    [
      "a link",
      { content: [{ type: "resource_link", uri: "https://a.test/", name: "a", title: "A" }] },
      "A\nhttps://a.test/",
    ],
    ["a picture", { content: [{ type: "image", data: "AAAA", mimeType: "image/png" }] }, ""],
    ["structured content", { content: [], structuredContent: { price: 5, of: ["A", "B"] } }, "price: 5\nof: A\nof: B"],
    ["both", { content: [{ type: "text", text: "Words." }], structuredContent: { price: 5 } }, "Words."],
    ["nothing", {}, ""],
  ] as const)
    it(`EV16: ${what} becomes its lines`, async () => {
      assert.equal(await textOf(giving(result)), text);
    });

  it("EV16: lines on stdout that are none of the protocol's are passed over", async () => {
    assert.match(await textOf(stdio(["noise"])), /^query: who won/);
  });

  it("EV16: a server gets the variables that the config names, and no other key", async () => {
    const config = stdio(["environment"], { env: ["SEARCH_KEY"] });
    const names = (await textOf(config, { ...KEY, OTHER_KEY: "x" })).split(" ");
    assert.ok(names.includes("SEARCH_KEY") && names.includes("PATH"));
    assert.ok(!names.includes("OTHER_KEY"));
    await assert.rejects(openSourceReader({ config, store, environment: {} }), {
      code: "CONFIG_MISSING",
      message: /sources\.search\.env.*SEARCH_KEY is not set/,
    });
  });

  it("EV12: without a tool a search is not read", async () => {
    const [reason, detail] = await failureOf(sourcesConfigSchema.parse({}));
    assert.deepEqual([reason, /sources\.search/.test(detail)], ["no-tool", true]);
  });

  for (const [mode, detail] of [
    ["dies", /ended before it answered \(exit code 3\)/],
    ["lies", /breaks the protocol or refuses/],
    ["fails", /the tool find says "The quota is used up\."/],
    ["huge", /more than 1000000 bytes/],
    ["notifications", /more than 1000000 bytes/],
  ] as const)
    it(`EV16: a server that ${mode} ends as tool-error, and with it all its processes`, async () => {
      const mark = `mark-${mode}-${process.pid}`;
      const [reason, said] = await failureOf(stdio([mode, mark]));
      assert.equal(reason, "tool-error");
      assert.match(said, detail);
      await gone(mark);
    });

  it("EV16: a command that is not there ends as tool-error", async () => {
    assert.deepEqual(await failureOf(stdio([], { command: "/no/such/server" })), [
      "tool-error",
      "the server does not start (ENOENT)",
    ]);
  });

  for (const mode of ["silent", "hang", "stubborn"])
    it(`EV16: a server that is ${mode} ends as timeout, and with it all its processes`, async () => {
      const mark = `mark-${mode}-${process.pid}`;
      const started = performance.now();
      assert.equal((await failureOf(stdio([mode, mark], {}, 1000)))[0], "timeout");
      assert.ok(performance.now() - started < 30_000);
      await gone(mark);
    });

  for (const mode of ["nothing", "another"])
    it(`EV16: a server that answers ${mode} ends as timeout: what it says answers nothing that was asked`, async () => {
      assert.equal((await failureOf(stdio([mode], {}, 1000)))[0], "timeout");
    });

  it("EV16: a search that its caller gives up ends its server", async () => {
    const mark = `mark-abort-${process.pid}`;
    const reader = await openSourceReader({ config: stdio(["hang", mark]), store });
    const stop = new AbortController();
    const reading = reader.read(sourceOf(SEARCH), stop.signal);
    setTimeout(() => stop.abort(new Error("enough")), 300);
    await assert.rejects(reading, /enough/);
    await gone(mark);
  });

  it("EV16: finds the tool on any page of the list, and says which arguments the config lacks", async () => {
    assert.deepEqual(await find(stdio(["honest"])), { server: "tests 7", isThere: true, missing: [] });
    const odd = { arguments: { q: "{words}" } };
    assert.deepEqual((await find(stdio(["honest"], odd))).missing, ["query"]);
    assert.equal((await find(stdio(["honest"], { tool: "seek" }))).isThere, false);
    await assert.rejects(find(stdio(["lies"])), /breaks the protocol/);
  });

  it("EV16: asks a server over HTTP with the key, by JSON or by events, and says goodbye", async () => {
    for (const isStream of [false, true]) {
      const call = upToCall((id, response) => {
        const body = JSON.stringify({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text: "Found." }] } });
        if (!isStream) return void response.writeHead(200, JSON_TYPE).end(body);
        return void response.writeHead(200, { "content-type": "text/event-stream" }).end(`data: ${body}\n\n`);
      });
      await withHttp(call, async (config, requests) => {
        assert.equal(await textOf(config, KEY), "Found.");
        for (const { headers } of requests) assert.equal(headers.authorization, "Bearer secret-key-1");
        assert.deepEqual(
          [requests.at(-1)?.method, requests.at(-1)?.headers["mcp-session-id"]],
          ["DELETE", "session-5"],
        );
      });
    }
  });

  for (const [what, call, reason] of [
    ["hangs", () => undefined, "timeout"],
    ["breaks off", (_: number, response: ServerResponse) => response.destroy(), "tool-error"],
    [
      "answers with status 500",
      (_: number, response: ServerResponse) => response.writeHead(500).end("no"),
      "tool-error",
    ],
    [
      "answers html",
      (_: number, response: ServerResponse) => response.writeHead(200, { "content-type": "text/html" }).end("<p>"),
      "tool-error",
    ],
    [
      "sends a redirect to another host",
      (_: number, response: ServerResponse) => response.writeHead(307, { location: "http://127.0.0.2:1/" }).end(),
      "tool-error",
    ],
    ["answers 100 MB of JSON", (_: number, response: ServerResponse) => flood(response, JSON_TYPE), "tool-error"],
    [
      "answers 100 MB of events",
      (_: number, response: ServerResponse) => flood(response, { "content-type": "text/event-stream" }),
      "tool-error",
    ],
  ] as const)
    it(`EV16: a server over HTTP that ${what} ends as ${reason}, and no detail tells the key`, async () => {
      await withHttp(
        upToCall(call),
        async (config) => {
          const reading = await search(config, KEY);
          assert.ok(reading.kind === "failed");
          assert.equal(reading.reason, reason, reading.detail);
          assert.doesNotMatch(reading.detail, /secret/);
        },
        what === "hangs" ? 1000 : 60_000,
      );
    });

  it("EV16: a key that a server repeats in its error does not show", async () => {
    const call = upToCall((_, response) => void response.writeHead(401).end("no such key: secret-key-1"));
    await withHttp(call, async (config) => {
      const reading = await search(config, KEY);
      assert.ok(reading.kind === "failed");
      assert.match(reading.detail, /no such key: \[key\]/);
    });
  });

  it("EV16: refuses a config whose arguments have no place for the words, with a key in the URL, or with two keys", () => {
    const http = { kind: "http", url: "https://a.test/mcp", tool: "find" };
    for (const wrong of [
      { ...http, arguments: { query: "words" } },
      { ...http, url: "https://user:key@a.test/mcp" },
      { ...http, url: "file:///etc/passwd" },
      { ...http, apiKeyEnv: "A", apiKeyFile: "b" },
      { ...http, command: "npx" },
      { kind: "stdio", command: "npx", tool: "find", env: ["A=1"] },
    ])
      assert.ok(!sourcesConfigSchema.safeParse({ search: wrong }).success, JSON.stringify(wrong));
  });
});

function flood(response: ServerResponse, headers: Readonly<Record<string, string>>): void {
  response.writeHead(200, headers);
  let left = 100_000_000;
  const more = (): void => {
    while (left > 0 && !response.destroyed) {
      left -= 65_536;
      if (!response.write("x".repeat(65_536))) return void response.once("drain", more);
    }
    response.end();
  };
  more();
}
