import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { createPublicClient, http, parseEther } from "viem";
import { createFolderContentStore } from "../../agents/adapters/ipfs/folder-content-store.ts";
import { sha256, utf8 } from "../../agents/core/encoding/bytes.ts";
import { cidString } from "../../agents/core/encoding/cid.ts";
import { documentBlock } from "../../agents/core/sources/named.ts";
import type { Check } from "../../agents/cli/doctor/checks.ts";
import { AUTHORITY, withPages, type Handler } from "../support/pages.ts";
import { startCliWorld, type CliWorld } from "./cli-world.ts";

const BODY = '{"price": 1.50, "note": "as of today"}';
const handler: Handler = ({ url }, response) => {
  if (url === "/rates") response.writeHead(200, { "content-type": "application/json" }).end(BODY);
  else response.writeHead(404).end();
};

describe("conclave source read", () => {
  let world: CliWorld;
  before(async () => {
    world = await startCliWorld();
    await world.enlist("reader", "20");
  });
  after(() => world.close());

  const withSources = (sources: object): Promise<void> =>
    world.editConfig("reader", (config) => ({ ...config, sources }));

  const examine = async (sources: object): Promise<ReadonlyMap<string, Check>> => {
    await withSources(sources);
    const { value } = await world.json("doctor", "--dir", "reader", "--profile", "default");
    return new Map((value["checks"] as readonly Check[]).map((check) => [check.name, check]));
  };

  it("EV3, EV7: shows the snapshot of a value that the agent's config lets it read", async () => {
    await withPages(handler, async (port) => {
      await withSources({ hosts: { "api.test": { address: "127.0.0.1", port, ca: AUTHORITY } } });
      const { code, value } = await world.json("source", "read", "https://api.test/rates#/price", "--dir", "reader");
      assert.equal(code, 0);
      const { snapshot, ...seen } = value;
      assert.match(String(snapshot), /^bafyrei[a-z2-7]{52}$/);
      assert.deepEqual(seen, {
        source: "https://api.test/rates#/price",
        finalUrl: "https://api.test/rates",
        status: 200,
        mediaType: "application/json",
        raw: sha256(utf8(BODY)),
        title: "",
        text: "1.50",
        isCut: false,
        extractor: { name: "json", version: "1" },
      });
      const { stdout } = await world.run(["source", "read", "https://api.test/rates", "--dir", "reader"]);
      assert.match(stdout, /extractor +json 1\n[^]*\n\n\{"note":"as of today","price":1\.50\}\n$/);
    });
  });

  it("EV12: says why a source is not read, with exit code 1", async () => {
    await withPages(handler, async (port) => {
      await withSources({ hosts: { "api.test": { address: "127.0.0.1", port, ca: AUTHORITY } } });
      const { code, value } = await world.json("source", "read", "https://api.test/gone", "--dir", "reader");
      assert.equal(code, 1);
      assert.deepEqual([value["failed"], value["detail"]], ["not-found", "api.test answers with status 404"]);
    });
    const blind = await world.json("source", "read", `eip155:1:0x${"ab".repeat(20)}:f()(bool)@1`);
    assert.deepEqual([blind.code, blind.value["failed"]], [1, "no-rpc"]);
  });

  it("EV1: refuses a text that names no source, and says what to write", async () => {
    const { exit, code, message } = await world.failure("source", "read", "http://example.com/");
    assert.deepEqual([exit, code], [2, "USAGE"]);
    assert.match(message, /"http:\/\/example\.com\/" is invalid; a page is read by https only/);
  });

  it("EV15, EV16: searches by the tool of the agent's config, and says what is wrong with it", async () => {
    const script = join(import.meta.dirname, "../adapters/fixtures/search-server.ts");
    const server = { kind: "stdio", command: process.execPath, args: [script, "honest"], tool: "find" };
    await withSources({ search: server });
    const { code, value } = await world.json("source", "read", "search: who won?", "--dir", "reader");
    assert.deepEqual([code, value["source"], value["status"]], [0, "search: who won?", null]);
    assert.match(String(value["text"]), /^query: who won\?\ntitle: A page\n/);
    const blind = await world.json("source", "read", "search: who won?");
    assert.deepEqual([blind.code, blind.value["failed"]], [1, "no-tool"]);
    const { message } = await world.failure("source", "read", "search:who won?", "--dir", "reader");
    assert.match(message, /a search is written `search: WORDS`/);
    for (const [wrong, level, said] of [
      [{}, "ok", /searches go to the tool find of tests 7/],
      [{ tool: "seek" }, "fail", /tests 7 has no tool seek/],
      [{ arguments: { q: "{words}" } }, "fail", /requires query/],
      [{ command: "/no/such" }, "fail", /tool-error: the server does not start \(ENOENT\)/],
      [{ env: ["NO_SUCH_KEY"] }, "fail", /CONFIG_MISSING.*NO_SUCH_KEY is not set/],
    ] as const) {
      const found = (await examine({ search: { ...server, ...wrong } })).get("sources search");
      assert.deepEqual([found?.level, said.test(found?.message ?? "")], [level, true], JSON.stringify(found));
    }
  });

  it("EV13: calls a contract by the RPC of the agent's own chain", async () => {
    const { registry } = world.deployment;
    const client = createPublicClient({ transport: http(world.chain.rpcUrl) });
    const { number: block } = await client.getBlock({ blockTag: "finalized" });
    const source = `eip155:31337:${registry.toLowerCase()}:minStake()(uint128)@${block}`;
    await withSources({});
    const { code, value } = await world.json("source", "read", source, "--dir", "reader");
    assert.deepEqual([code, value["failed"] ?? value["text"]], [0, String(parseEther("10"))], JSON.stringify(value));
  });

  it("EV13: reads a document from the folder of a blockstore", async () => {
    const folder = join(world.folder, "blocks-here");
    await mkdir(folder);
    const store = await createFolderContentStore(folder);
    const digest = await store.put(documentBlock("The rules.") as Uint8Array);
    await store.close();
    const { code, value } = await world.json("source", "read", cidString(digest), "--store", "blocks-here");
    assert.deepEqual([code, value["text"]], [0, "The rules."]);
    const { code: error } = await world.failure("source", "read", cidString(digest));
    assert.equal(error, "USAGE");
  });

  it("EV6: refuses a config that names no host or no address", async () => {
    for (const [sources, field] of [
      [{ hosts: { localhost: { address: "127.0.0.1" } } }, /sources\.hosts\.localhost/],
      [{ hosts: { "a.test": { address: "b.test" } } }, /sources\.hosts\.a\.test\.address/],
      [{ rpcUrls: { mainnet: "https://rpc.test/" } }, /sources\.rpcUrls\.mainnet/],
      [{ rpcUrls: { "1": "ws://rpc.test/" } }, /sources\.rpcUrls\.1/],
      [{ maxBytes: 5_000_001 }, /sources\.maxBytes/],
      [{ deny: ["https://a.test/"] }, /sources\.deny\.0/],
    ] as const) {
      await withSources(sources);
      const { code, message } = await world.failure("source", "read", "https://a.test/", "--dir", "reader");
      assert.equal(code, "CONFIG_INVALID");
      assert.match(message, field);
    }
    await withSources({});
  });

  it("EV6, EV13: doctor checks certificates, fixed hosts, the proxy and the RPCs", async () => {
    await withPages(handler, async (port) => {
      const checks = await examine({
        hosts: {
          "api.test": { address: "127.0.0.1", port, ca: AUTHORITY },
          "b.test": { address: "127.0.0.1", port: 1 },
        },
        proxyUrl: "http://127.0.0.1:1",
        rpcUrls: { "1": world.chain.rpcUrl, "2": "http://127.0.0.1:1" },
      });
      const levels = [...checks]
        .filter(([name]) => name.startsWith("sources"))
        .map(([name, { level }]) => [name, level]);
      assert.deepEqual(levels, [
        ["sources", "ok"],
        ["sources chain 1", "fail"],
        ["sources chain 2", "fail"],
        ["sources chain 31337", "ok"],
        ["sources host api.test", "ok"],
        ["sources host b.test", "warn"],
        ["sources proxy", "fail"],
      ]);
      assert.match(checks.get("sources chain 1")?.message ?? "", /serves chain 31337/);
    });
    const checks = await examine({ hosts: { "a.test": { address: "127.0.0.1", ca: "none.pem" } } });
    assert.match(checks.get("sources")?.message ?? "", /CONFIG_INVALID.*sources\.hosts\.a\.test\.ca/);
    await withSources({});
  });
});
