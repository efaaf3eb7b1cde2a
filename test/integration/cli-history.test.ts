import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import {
  HASH,
  ORACLE,
  REGISTRY,
  replyData,
  requestRow,
  standing,
  startSubgraphServer,
} from "../adapters/fixtures/subgraph-server.ts";
import { createCli, type Cli } from "./cli-world.ts";

/** Newest block of the loopback chain below; the subgraph is three blocks behind it. */
const HEAD = 93;

interface Place {
  readonly cli: Cli;
  /** URL of a subgraph that has the rows. */
  readonly url: string;
}

async function startPlace(
  context: TestContext,
  rows: readonly object[],
  change: Readonly<Record<string, unknown>> = {},
): Promise<Place> {
  const { url, close } = await startSubgraphServer((_, response) =>
    replyData(response, { ...standing(), requests: rows, agent: null, all: [], protocols: [], days: [], ...change }),
  );
  context.after(close);
  const folder = await mkdtemp(join(tmpdir(), "conclave-cli-history-"));
  context.after(() => rm(folder, { recursive: true, force: true }));
  return { cli: createCli(folder), url };
}

/** NOT a chain: a server that has a contract at every address, a newest block, and a hash for each block. */
async function startRpc(context: TestContext, hash = HASH): Promise<string> {
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (chunk: string) => (body += chunk));
    request.on("end", () => {
      const { id, method } = JSON.parse(body) as { readonly id: number; readonly method: string };
      const results: Readonly<Record<string, unknown>> = {
        eth_chainId: "0x7a69",
        eth_getCode: "0x01",
        eth_blockNumber: `0x${HEAD.toString(16)}`,
        eth_getBlockByNumber: { hash, number: "0x5a" },
      };
      response.setHeader("content-type", "application/json");
      const known = method in results;
      const error = { code: -32_601, message: "not known here" };
      response.end(JSON.stringify({ jsonrpc: "2.0", id, ...(known ? { result: results[method] } : { error }) }));
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  context.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function writeDeployment({ cli }: Place, change: Readonly<Record<string, unknown>>): Promise<string[]> {
  const deployment = { chainId: 31_337, oracle: ORACLE, registry: REGISTRY, deploymentBlock: 0, ...change };
  await writeFile(join(cli.folder, "d.json"), JSON.stringify(deployment));
  return ["--deployment", "d.json"];
}

describe("command line: history", () => {
  it("lists requests for people, machines and spreadsheets, with the next page", async (context) => {
    const hostile = { question: '=HYPERLINK("x")\u202e\n, "?"', decision: null, status: "Requested" };
    const { cli, url } = await startPlace(context, [requestRow(9), requestRow(8, hostile)]);
    const { code, value } = await cli.json("history", "--limit", "2", "--subgraph", url);
    assert.equal(code, 0);
    assert.equal(value["next"], "s-8");
    const [first] = value["requests"] as readonly Record<string, unknown>[];
    assert.deepEqual([first?.["requestId"], first?.["protocol"], first?.["fee"]], ["9", "mbft", "1500000000000000000"]);
    assert.deepEqual((value["source"] as Record<string, unknown>)["behind"], null);

    const table = await cli.run(["history", "--limit", "2", "--subgraph", url]);
    assert.match(table.stdout, /^9 +2023-11-14T22:13:29Z +mbft +decided +yes +90\.00 % +#4 #9 /m);
    assert.match(table.stdout, /as of block 90 of .*next page: --cursor s-8$/m);
    assert.match(table.stderr, /not compared with the chain: name its contracts/);
    assert.doesNotMatch(table.stdout, /\u202e/);

    const sheet = await cli.run(["history", "--limit", "2", "--csv", "--subgraph", url]);
    const lines = sheet.stdout.trimEnd().split("\r\n");
    assert.equal(lines.length, 3);
    assert.match(lines[2] ?? "", /,"'=HYPERLINK\(""x""\)\\u202e\\u000a, ""\?"""$/);
    assert.match(sheet.stderr, /next page: --cursor s-8/);
    assert.equal((await cli.failure("history", "--csv", "--subgraph", url)).code, "USAGE");
    assert.doesNotMatch(cli.printed.join(""), /secret-key/);
  });

  it("a spreadsheet runs no part of a text, however it splits cells; numbers stay numbers", async (context) => {
    const questions = [
      "=1+1",
      "+1+1",
      "@SUM(A1)",
      "-2+3",
      "\uff1d1+1",
      ' "=1+1',
      "a;=1+1",
      "a; @x;-1+1",
      "-12.5",
      "a-b=c",
    ];
    const rows = questions.map((question, index) => requestRow(questions.length - index, { question }));
    const { cli, url } = await startPlace(context, rows);
    const { stdout } = await cli.run(["history", "--limit", "20", "--csv", "--subgraph", url]);
    const [, ...lines] = stdout.trimEnd().split("\r\n");
    const cells = lines.map((line) => /,("(?:[^"]|"")*"|[^,"]*)$/.exec(line)?.[1]);
    assert.deepEqual(cells, [
      "'=1+1",
      "'+1+1",
      "'@SUM(A1)",
      "'-2+3",
      "'\uff1d1+1",
      `"' ""=1+1"`,
      `"a;'=1+1"`,
      `"a;' @x;'-1+1"`,
      "-12.5",
      "a-b=c",
    ]);
  });

  it("output for machines does not steer a terminal either", async (context) => {
    const question = "a\u001b[2J\u009b31m\u202e\u2028\u{e0041}b";
    const { cli, url } = await startPlace(context, [requestRow(1, { question })]);
    const { stdout } = await cli.run(["history", "--json", "--subgraph", url]);
    assert.match(stdout, /a\\u001b\[2J\\u009b31m\\u202e\\u2028\\udb40\\udc41b/);
    const [first] = (JSON.parse(stdout) as { readonly requests: readonly { readonly question: string }[] }).requests;
    assert.equal(first?.question, question);
  });

  it("refuses a filter that it does not understand", async (context) => {
    const { cli, url } = await startPlace(context, []);
    for (const wrong of [
      ["--status", "decided,lost"],
      ["--after", "yesterday"],
      // --since names a block and belongs to `conclave verify`.
      ["--since", "0"],
      ["--before", "2026-13-40"],
      ["--agent", "0"],
      ["--consumer", "0x12"],
      ["--protocol", "hearsay"],
      ["--protocol", "999"],
      ["--limit", "501"],
      ["--cursor", "7"],
      ["--cursor", "s-2147483648"],
      ["--max-behind", "-1"],
    ])
      assert.equal((await cli.failure("history", ...wrong, "--subgraph", url)).code, "USAGE", wrong.join(" "));
    assert.equal((await cli.run(["history", "--after", "2h", "--before", "2026-11-22", "--subgraph", url])).code, 0);
  });

  it("finds the endpoint in the option, then in the variable, then in the deployment file", async (context) => {
    const place = await startPlace(context, []);
    const { cli, url } = place;
    const here = await writeDeployment(place, { subgraphUrl: url, rpcUrl: "http://127.0.0.1:1" });
    const found = await cli.run(["history", ...here]);
    assert.equal(found.code, 0);
    // The answer is complete although the chain does not answer.
    assert.match(found.stderr, /not compared with the chain: .*127\.0\.0\.1:1/);
    const environment = { CONCLAVE_SUBGRAPH: "ftp://nowhere" };
    const other = await cli.run(["history", "--json", ...here], { environment });
    assert.match(other.stdout, /"CONFIG_INVALID"/);
    assert.equal((await cli.run(["history", ...here, "--subgraph", url], { environment })).code, 0);
  });

  it("says how to get an endpoint if it has none; history then reads the chain", async (context) => {
    const place = await startPlace(context, []);
    const here = await writeDeployment(place, { rpcUrl: "http://127.0.0.1:1" });
    for (const command of [["stats"], ["agent", "3"], ["agent", "show", "3"]]) {
      const error = await place.cli.failure(...command, ...here);
      assert.deepEqual([error.exit, error.code], [2, "CONFIG_MISSING"]);
      assert.match(error.message, /npm run subgraph:dev -- --deployment FILE/);
    }
    const ran = await place.cli.run(["history", ...here]);
    assert.match(ran.stderr, /no subgraph is named: reading the events of the last 10000 blocks/);
    assert.match(ran.stderr, /error CHAIN_UNREACHABLE/);
  });

  it("says by how many blocks a subgraph is behind, and refuses more than allowed", async (context) => {
    const place = await startPlace(context, []);
    const here = await writeDeployment(place, { subgraphUrl: place.url, rpcUrl: await startRpc(context) });
    const error = await place.cli.failure("history", "--max-behind", "2", ...here);
    assert.deepEqual([error.code, error.data["behind"], error.data["block"]], ["SUBGRAPH_BEHIND", 3, 90]);
    assert.match(error.message, /3 blocks behind the chain \(at 90 of 93\).*--max-behind 3/);
  });

  it("refuses a subgraph of another deployment or chain", async (context) => {
    const place = await startPlace(context, []);
    const wrong = `0x${"77".repeat(20)}`;
    const other = await writeDeployment(place, { oracle: wrong, subgraphUrl: place.url, rpcUrl: "http://127.0.0.1:1" });
    const error = await place.cli.failure("stats", ...other);
    assert.deepEqual([error.code, error.data["said"]], ["SUBGRAPH_WRONG_CHAIN", ORACLE]);

    const rpcUrl = await startRpc(context, `0x${"cd".repeat(32)}`);
    const forked = await writeDeployment(place, { subgraphUrl: place.url, rpcUrl });
    assert.match(
      (await place.cli.failure("stats", ...forked)).message,
      /its block 90 is 0xabab.*the chain's is 0xcdcd/,
    );

    const future = { _meta: { block: { number: 5_000, hash: null, timestamp: null }, hasIndexingErrors: false } };
    const ahead = await startPlace(context, [], future);
    const here = await writeDeployment(ahead, { subgraphUrl: ahead.url, rpcUrl: await startRpc(context) });
    const failure = await ahead.cli.failure("history", ...here);
    assert.deepEqual([failure.code, failure.data["head"]], ["SUBGRAPH_WRONG_CHAIN", HEAD]);
  });

  it("names an unknown agent and a misspelt command of `agent`", async (context) => {
    const { cli, url } = await startPlace(context, []);
    const error = await cli.failure("agent", "7", "--subgraph", url);
    assert.deepEqual([error.code, error.data["agentId"], error.data["block"]], ["AGENT_NOT_REGISTERED", 7, 90]);
    assert.match((await cli.failure("agent", "regster")).message, /or a command: see `conclave agent --help`/);
    const { value } = await cli.json("stats", "--subgraph", url);
    assert.deepEqual([value["agents"], value["all"]], [5, null]);
  });
});
