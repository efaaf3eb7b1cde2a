import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { get } from "node:https";
import { text } from "node:stream/consumers";
import { describe, it } from "node:test";
import type { Protocol } from "../../agents/core/protocol.ts";
import { hashgraph } from "../../agents/core/protocols/hashgraph/index.ts";
import { mbft } from "../../agents/core/protocols/mbft/index.ts";
import { messagesOf } from "../../agents/core/seat/tally.ts";
import { grounded, refuseSources } from "../../agents/core/sources/named.ts";
import type { Attempt } from "../../agents/core/types.ts";
import type { Deliberation } from "../../agents/node/audit/deliberation.ts";
import { questionText } from "../../devnet/demo/documents.ts";
import { PAGES, servePages, type DemoPages } from "../../devnet/demo/pages.ts";
import { sourcesPlan, isExpected } from "../../devnet/demo/questions.ts";
import { quotationsIn } from "../../devnet/demo/quotations.ts";
import { assertIncludes } from "../support/assertions.ts";
import { attemptOf, type SeatScript } from "../support/core/committee.ts";
import { byRank, watched } from "../support/core/council-scripts.ts";
import { LICENCE, OTHER, RULES, asking, quoting, stored } from "../support/core/sources-scripts.ts";

const AGENTS = 3;

/** What an agent is shown at an address. */
async function shown({ hosts }: DemoPages, agent: number, address: string): Promise<{ status: number; body: string }> {
  const { hostname, pathname } = new URL(address);
  const { port, ca, address: host } = hosts[agent]![hostname]!;
  const headers = { host: hostname };
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; body: string }>();
  get({ host, port, path: pathname, servername: hostname, ca: readFileSync(ca), headers, agent: false }, (response) => {
    text(response).then((body) => resolve({ status: response.statusCode ?? 0, body }), reject);
  }).on("error", reject);
  return promise;
}

/** The quotations in what the first seat holds at the end of a run. */
function quotedIn(
  attempt: Attempt,
  run: ReturnType<typeof watched>,
  protocol: Protocol = mbft,
): ReturnType<typeof quotationsIn> {
  const messages = [...messagesOf(run.states[0]!.tally)].map(({ header, payload }) => ({
    cid: "",
    header,
    rendering: protocol.render(attempt, header, payload),
    parents: [],
  }));
  return quotationsIn({ attempt, messages } as unknown as Deliberation);
}

describe("the demo's pages", () => {
  it("show all agents the same, the last one a lie, each one something else, and a price that moves", async () => {
    const pages = await servePages(AGENTS);
    try {
      const at = (address: string) => Promise.all(pages.hosts.map((_, agent) => shown(pages, agent, address)));
      assert.equal(new Set((await at(PAGES.right)).map(({ body }) => body)).size, 1);
      const [first, second, last] = await at(PAGES.poisoned);
      assert.equal(first?.body, second?.body);
      assert.notEqual(first?.body, last?.body);
      assert.equal(new Set((await at(PAGES.differing)).map(({ body }) => body)).size, AGENTS);
      const prices = (await at(PAGES.price)).map(({ body }) => (JSON.parse(body) as { usd: number }).usd);
      assert.equal(new Set(prices).size, AGENTS);
      assert.deepEqual(prices.filter((price) => price >= 31.2 && price < 31.4).length, AGENTS - 1);
      assert.equal((await shown(pages, 0, "https://pages.test/else")).status, 404);
    } finally {
      await pages.close();
    }
  });

  it("are the sources of questions that agents take, of which one is data", () => {
    const asked = sourcesPlan.questions.map((question) => {
      const named = questionText(question);
      assert.equal(refuseSources(named), null, named);
      const attempt = attemptOf(5, { kind: question.kind, decimals: question.decimals ?? 0 });
      return grounded({ ...attempt, request: { ...attempt.request, question: named } }).request;
    });
    assert.deepEqual(
      asked.map(({ isDataQuestion = false }) => isDataQuestion),
      [false, false, false, true],
    );
    const [refund, , notice, price] = sourcesPlan.questions;
    assert.equal(isExpected(price!, "decided", "31.24"), true);
    assert.equal(isExpected(price!, "decided", "9.99"), false);
    assert.equal(isExpected(notice!, "unanswerable", ""), true);
    assert.equal(isExpected(notice!, "decided", "yes"), false);
    assert.equal(isExpected(refund!, "hung", ""), false);
  });
});

describe("the demo's quotations", () => {
  it("say of a page who quotes words, and how many seats read the passage", () => {
    const attempt = asking(4, [RULES], { protocol: mbft.code });
    const blind: SeatScript = { ...quoting(LICENCE, "yes"), lacks: true };
    const other: SeatScript = { ...quoting(OTHER, "no"), sees: () => OTHER };
    const run = watched(mbft, attempt, byRank(attempt, quoting(LICENCE, "yes"), { 0: blind, 1: other }), 1, stored);
    assert.deepEqual(quotedIn(attempt, run), [
      {
        source: attempt.request.question.split("source: ")[1],
        words: LICENCE,
        answers: ["yes"],
        quotedBy: 2,
        witnessedBy: 2,
      },
      {
        source: attempt.request.question.split("source: ")[1],
        words: OTHER,
        answers: ["no"],
        quotedBy: 1,
        witnessedBy: 1,
      },
    ]);
  });

  it("are found in events, too", () => {
    const attempt = asking(4, [RULES], { protocol: hashgraph.code });
    const other: SeatScript = { ...quoting(OTHER, "no"), sees: () => OTHER };
    const run = watched(hashgraph, attempt, byRank(attempt, quoting(LICENCE, "yes"), { 0: other }), 1, stored);
    const counts = quotedIn(attempt, run, hashgraph).map(({ words, quotedBy, witnessedBy }) => [
      words,
      quotedBy,
      witnessedBy,
    ]);
    assert.deepEqual(counts, [
      [LICENCE, 3, 3],
      [OTHER, 1, 1],
    ]);
  });

  it("count a number as read by all who read one within the tolerance", () => {
    const attempt = attemptOf(4, { kind: "number", decimals: 2, tolerance: 5n, protocol: mbft.code });
    const question = `How many dollars is one token?\nsource: ${PAGES.price}`;
    const asked = { ...attempt, request: { ...attempt.request, question } };
    const reads = (value: string): SeatScript => ({ sees: () => value, answer: () => null });
    const ranks = { 0: reads("31.20"), 1: reads("31.23"), 2: reads("31.26"), 3: reads("9.99") };
    const run = watched(mbft, asked, byRank(asked, reads("0"), ranks), 1, new Map([[PAGES.price, "unread"]]));
    const counts = new Map(quotedIn(asked, run).map(({ words, witnessedBy }) => [words, witnessedBy]));
    const read = [
      ["31.20", 2],
      ["31.23", 3],
      ["31.26", 2],
      ["9.99", 1],
    ] as const;
    assert.equal(counts.size, read.length);
    for (const [words, witnesses] of read) assert.equal(counts.get(words), witnesses, words);
  });
});

describe("npm run demo -- --evidence", () => {
  it("refuses a protocol that reads no sources, and says what to do", () => {
    const demo = spawnSync(process.execPath, ["devnet/demo/main.ts", "--evidence", "--protocol", "council"], {
      encoding: "utf8",
    });
    assert.equal(demo.status, 2);
    assertIncludes(demo.stderr, "council reads no sources; leave out --evidence");
  });
});
