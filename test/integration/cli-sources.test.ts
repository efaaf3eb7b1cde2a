import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createPublicClient, http, parseEther } from "viem";
import { cidString } from "../../agents/core/encoding/cid.ts";
import { sha256 } from "../../agents/core/encoding/bytes.ts";
import { documentBlock } from "../../agents/core/sources/named.ts";
import type { Address } from "../../agents/core/types.ts";
import { AUTHORITY, withPages, type Handler } from "../support/pages.ts";
import { pdfOf } from "../support/pdf.ts";
import { startCliWorld, type CliWorld } from "./cli-world.ts";

const RULES = "Export rules, version 3. Exports above 500 need a licence. Gifts are exempt — ask “Zoll”.\n";
const RULE = "Exports above 500 need a licence.";
const names = ["a", "b", "c", "d"];
const searchServer = join(import.meta.dirname, "../adapters/fixtures/search-server.ts");
const question = ["--question", "Does an export of 720 need a licence?"] as const;
const asking = (...more: readonly string[]): readonly string[] =>
  ["request", "--dir", "a", "--kind", "boolean"].concat(more.includes("--question") ? [] : question, more);

const rulesPage: Handler = ({ headers, url }, response) => {
  if (headers.host === "api.test")
    return response.writeHead(200, { "content-type": "application/json" }).end('{"price":5,"name":"five"}');
  if (url === "/scripts")
    return response.writeHead(200, { "content-type": "text/html" }).end("<body><script>show()</script></body>");
  const page = `<html><head><title>Customs</title></head><body><main><h1>Customs</h1><p>${RULES}</p></main></body></html>`;
  return response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(page);
};

const call = (chainId: number): string => `eip155:${chainId}:0x${"ab".repeat(20)}:f()(uint256)`;

/** A pointer that points nowhere, a block that is not there, and a chain without an RPC. */
const UNREADABLE = ["https://api.test/rates#/1/price", `${call(31_337)}@99999999`, `${call(10)}@1`] as const;

let world: CliWorld;
let asker: Address;

/** What the asker has, and how many transactions it sent. */
async function spent(): Promise<string> {
  const client = createPublicClient({ transport: http(world.chain.rpcUrl) });
  return [await client.getBalance({ address: asker }), await client.getTransactionCount({ address: asker })].join();
}

describe("sources from the command line", () => {
  before(async () => {
    world = await startCliWorld();
    for (const name of names) {
      const signer = await world.enlist(name, "100");
      if (name === "a") asker = signer;
    }
    await writeFile(join(world.folder, "rules.txt"), RULES);
  });
  after(() => world.close());

  it("SG1, SG3: a source that is not a document, or that nobody would read, is refused before anything is paid", async () => {
    await writeFile(join(world.folder, "latin1.txt"), Buffer.from([0x47, 0xfc, 0x6e]));
    await writeFile(join(world.folder, "long.txt"), "x".repeat(256_001));
    await writeFile(join(world.folder, "blank.txt"), " \n");
    await writeFile(join(world.folder, "damaged.pdf"), "%PDF-1.4 broken");
    await writeFile(join(world.folder, "pictures.pdf"), pdfOf("Pictures", [[]]));
    const wrong = [
      [asking("--protocol", "council", "--source", "rules.txt"), /council reads no sources/, "TERMS_INVALID"],
      [asking("--protocol", "escalating", "--source", "nowhere.txt"), /can be read/],
      [asking("--protocol", "escalating", "--source", "latin1.txt"), /UTF-8 text of at most 256000 bytes/],
      [asking("--protocol", "escalating", "--source", "long.txt"), /UTF-8 text of at most 256000 bytes/],
      [asking("--protocol", "escalating", "--source", "damaged.pdf"), /damaged\.pdf.*give another PDF/],
      [asking("--protocol", "escalating", "--source", "blank.txt"), /no text is found in it/],
      [asking("--protocol", "escalating", "--source", "pictures.pdf"), /no text is found in it/],
      [asking("--protocol", "escalating", "--source", ""), /a source without a scheme is a CIDv1/],
      [asking("--protocol", "escalating", "--source", "gopher:rules"), /the scheme gopher: is unknown/],
      [asking("--protocol", "mbft", "--source", "https://pages.test/%72ules"), /write r for %72/],
      [
        asking("--protocol", "escalating", "--source", "rules.txt", "rules.txt"),
        /names a source twice/,
        "TERMS_INVALID",
      ],
      [asking("--protocol", "escalating", "--question", "Why?\nsource: bafyx"), /is a CIDv1/, "TERMS_INVALID"],
      [
        asking("--protocol", "mbft", "--source", ...[1, 2, 3, 4, 5].map((at) => `https://pages.test/${at}`)),
        /a question may name 4 sources, not 5/,
        "TERMS_INVALID",
      ],
      [asking("--protocol", "mbft", "--source", "ipfs://bafyrei"), /the scheme ipfs: is unknown; a source is a CID/],
      [asking("--protocol", "mbft", "--source", "https://api.test/rates#price"), /what follows # is a JSON pointer/],
      [asking("--protocol", "mbft", "--source", `${call(31_337)}@latest`), /name a block that is final/],
      [asking("--protocol", "mbft", "--source", `${call(0)}@1`), /"0" is no chain id/],
      [asking("--protocol", "mbft", "--source", "search:export rules"), /a search is written `search: WORDS`/],
    ] as const;
    const untouched = await spent();
    for (const [args, message, expected = "USAGE"] of wrong) {
      const { code, message: said } = await world.failure(...args);
      assert.deepEqual([code, message.test(said)], [expected, true], said);
    }
    const nobody = await world.failure(...asking("--protocol", "escalating", "--source", "rules.txt"));
    assert.equal(nobody.code, "NETWORK_FAILED");
    assert.match(nobody.message, /^Hand out documents: /);
    assert.equal(await spent(), untouched);
  });

  it("SG4, SG5: agents read the asker's file and a page, each for itself, and answer from them; a replay needs neither", async () => {
    await withPages(rulesPage, async (port) => {
      const place = { address: "127.0.0.1", port, ca: AUTHORITY };
      const search = { kind: "stdio", command: process.execPath, args: [searchServer], tool: "find" };
      const sources = { hosts: { "pages.test": place, "api.test": place }, search };
      for (const name of names) await world.editConfig(name, (config) => ({ ...config, sources }));
      const stop = new AbortController();
      const agents = names.map((name) =>
        world.run(["agent", "run", "--dir", name, "--json", "--log-level", "error"], { signal: stop.signal }),
      );
      try {
        await Promise.race([endpoints(), Promise.all(agents).then((ended) => assert.fail(JSON.stringify(ended)))]);
        const file = cidString(sha256(documentBlock(RULES) as Uint8Array));
        await writeFile(join(world.folder, "rules.pdf"), pdfOf("Export", [[RULE]]));
        const pdf = cidString(sha256(documentBlock(RULE) as Uint8Array));
        for (const [protocol, source, line] of [
          ["escalating", "rules.txt", `source: ${file}`],
          ["escalating", "rules.pdf", `source: ${pdf}`],
          ["mbft", "https://pages.test/rules", "source: https://pages.test/rules"],
          ["mbft", "search: export rules", "search: export rules"],
        ] as const) {
          const asked = await world.json(...asking("--protocol", protocol, "--source", source));
          assert.deepEqual([asked.code, asked.value["answer"]], [0, "yes"], JSON.stringify(asked.value));
          assert.ok(String(asked.value["question"]).endsWith(`\n${line}`));
        }
        // SG11: the agents' code tells what a contract returned; these models could not.
        const stake = ["--question", "How much must an agent stake?", "--source", await minStake()];
        const staked = await world.json("request", "--dir", "a", "--protocol", "mbft", "--kind", "number", ...stake);
        assert.equal(staked.value["answer"], String(parseEther("10")), JSON.stringify(staked.value));
        assert.ok(world.printed.some((text) => text.includes(`reads ${parseEther("10")} at the source`)));
        // What cannot be read is not paid for, unless the asker says so.
        const untouched = await spent();
        for (const source of UNREADABLE) {
          const { code, message } = await world.failure(...asking("--protocol", "mbft", "--source", source));
          assert.deepEqual([code, message.includes(source)], ["SOURCE_UNREADABLE", true], message);
        }
        const scripts = await world.failure(...asking("--protocol", "mbft", "--source", "https://pages.test/scripts"));
        assert.equal(scripts.code, "SOURCE_UNREADABLE");
        assert.match(scripts.message, /pages\.test\/scripts has no words that an agent can read/);
        // SG12: nor is a number, where none stands.
        const name = ["--kind", "number", "--question", "How much?", "--source", "https://api.test/rates#/name"];
        const numberless = await world.failure("request", "--dir", "a", "--protocol", "mbft", ...name);
        assert.equal(numberless.code, "SOURCE_UNREADABLE");
        assert.match(numberless.message, /\(no-such-value\): what stands there is no number .*"five"/);
        assert.equal(await spent(), untouched);
        // PY6: what cannot be read costs the asker as much as an answer, half of it where the committee hangs, and each time it is told why.
        const undecided: string[] = [];
        for (const [source, status, why] of [
          [UNREADABLE[0], "unanswerable", /read by 0 of 4 seats \(no-such-value\)/],
          [UNREADABLE[1], "tooEarly", /read by 0 of 4 seats \(not-there\)/],
          [UNREADABLE[2], "hung", /read by 0 of 4 seats \(no-rpc\)/],
        ] as const) {
          const terms = ["--protocol", "mbft", "--fee", "1", "--retries", "0", "--unread"];
          const { value } = await world.json(...asking(...terms, "--source", source));
          assert.equal(value["status"], status);
          assert.match((value["why"] as readonly string[]).join("\n"), why);
          undecided.push(String(value["requestId"]));
        }
        for (const id of undecided) await settled(id);
        const { value } = await world.json("withdraw", "--dir", "a");
        assert.deepEqual(amountsOf(value), [String(parseEther("0.5"))], JSON.stringify(value));
      } finally {
        stop.abort(new Error("test is over"));
        await Promise.all(agents);
      }
    });
    for (const id of ["1", "2", "3", "4"]) {
      const proof = await world.json("verify", id, "--deployment", "deployment.json", "--store", "a/data/ipfs");
      assert.equal(proof.value["ok"], true, JSON.stringify(proof.value));
    }
  });
});

/** The source that says what the registry wants at least, at the newest final block. */
async function minStake(): Promise<string> {
  const client = createPublicClient({ transport: http(world.chain.rpcUrl) });
  const { number } = await client.getBlock({ blockTag: "finalized" });
  return `eip155:31337:${world.deployment.registry.toLowerCase()}:minStake()(uint128)@${number}`;
}

async function settled(id: string): Promise<void> {
  const isSettled = async (): Promise<unknown> =>
    (await world.json("decision", id, "--deployment", "deployment.json")).value["settled"];
  while ((await isSettled()) !== true) await sleep(200);
}

function amountsOf(withdrawn: Readonly<Record<string, unknown>>): readonly string[] {
  return (withdrawn["withdrawals"] as readonly { readonly amount: string }[]).map(({ amount }) => amount);
}

async function endpoints(): Promise<void> {
  for (const name of names) {
    const status = async (): Promise<unknown> => (await world.json("agent", "status", "--dir", name)).value["endpoint"];
    while (JSON.stringify(await status()) === "[]") await sleep(200);
  }
}
