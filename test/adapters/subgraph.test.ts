import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { describe, it, type TestContext } from "node:test";
import { openSubgraph, type Subgraph } from "../../agents/adapters/subgraph/subgraph.ts";
import { ConclaveError } from "../../agents/core/errors.ts";
import type { AgentId, RequestId } from "../../agents/core/types.ts";
import type { PastFault } from "../../agents/ports/history.ts";
import {
  ANYTHING,
  HASH,
  ORACLE,
  REGISTRY,
  evidenceRow,
  replyData,
  requestRow,
  standing,
  startSubgraphServer,
  type Asked,
} from "./fixtures/subgraph-server.ts";

const FIRST = { limit: 3, cursor: null };
const TIMEOUT_MS = 500;

async function serve(
  context: TestContext,
  answer: (asked: Asked, response: ServerResponse) => void,
): Promise<{ readonly subgraph: Subgraph; readonly asked: readonly Asked[]; readonly url: string }> {
  const { url, asked, close } = await startSubgraphServer(answer);
  context.after(close);
  return { subgraph: openSubgraph({ url, timeoutMs: TIMEOUT_MS }), asked, url };
}

async function failureOf(subgraph: Subgraph, signal = new AbortController().signal): Promise<ConclaveError> {
  try {
    await subgraph.requests(ANYTHING, FIRST, signal);
  } catch (error) {
    assert.ok(error instanceof ConclaveError, String(error));
    assert.doesNotMatch(`${error.message}${JSON.stringify(error.data)}`, /secret-key/);
    return error;
  }
  return assert.fail("it did not fail");
}

const raw =
  (text: string, status = 200) =>
  (_: Asked, response: ServerResponse): void =>
    void response.writeHead(status).end(text);
const data =
  (change: Readonly<Record<string, unknown>>) =>
  (_: Asked, response: ServerResponse): void =>
    replyData(response, { ...standing(), requests: [], ...change });

describe("subgraph: its answers", () => {
  it("use the words of the project and name the block that they are from", async (context) => {
    const { subgraph } = await serve(context, data({ requests: [requestRow(3), requestRow(2, { decision: null })] }));
    const { answer, upTo: at } = await subgraph.requests(ANYTHING, FIRST, context.signal);
    assert.deepEqual(at, { block: 90, blockHash: HASH, time: 1_700_000_000, oracle: ORACLE, registry: REGISTRY });
    assert.equal(answer.next, null);
    const [first, second] = answer.requests;
    assert.equal(first?.requestId, 3n);
    assert.deepEqual([first?.status, first?.kind, first?.currency], ["decided", "boolean", "token"]);
    assert.deepEqual([first?.fee, first?.time], [1_500_000_000_000_000_000n, 1_700_000_003]);
    assert.deepEqual(first?.decision?.signers, [
      { seat: 0, agentId: 4 },
      { seat: 2, agentId: 9 },
    ]);
    assert.equal(second?.decision, null);
  });

  it("takes every filter, and pages that begin after the last row of the page before", async (context) => {
    const { subgraph, asked } = await serve(context, ({ variables }, response) => {
      const { number_lt: before = 8 } = variables["where"] as { readonly number_lt?: number };
      const numbers = Array.from({ length: before - 1 }, (_, index) => before - 1 - index);
      replyData(response, { ...standing(), requests: numbers.slice(0, 3).map((number) => requestRow(number)) });
    });
    const found: string[] = [];
    for (let cursor: string | null = null; ;) {
      const { answer } = await subgraph.requests(ANYTHING, { limit: 3, cursor }, context.signal);
      found.push(...answer.requests.map(({ requestId }) => String(requestId)));
      cursor = answer.next;
      if (cursor === null) break;
    }
    assert.deepEqual(found, ["7", "6", "5", "4", "3", "2", "1"]);
    assert.deepEqual(
      asked.map(({ variables }) => variables),
      [
        { first: 3, where: {} },
        { first: 3, where: { number_lt: 5 } },
        { first: 3, where: { number_lt: 2 } },
      ],
    );
    const filter = { ...ANYTHING, agentId: 4 as AgentId, protocol: 2, statuses: ["hung"] as const, since: 5, until: 6 };
    await subgraph.requests(filter, FIRST, context.signal);
    assert.deepEqual(asked.at(-1)?.variables["where"], {
      seats_: { agent: "4" },
      protocol: 2,
      status_in: ["Hung"],
      timestamp_gte: "5",
      timestamp_lte: "6",
    });
    await assert.rejects(
      subgraph.requests(ANYTHING, { limit: 3, cursor: "e-3-4" }, context.signal),
      (error) => error instanceof ConclaveError && error.code === "USAGE",
    );
  });
});

describe("subgraph: its faults", () => {
  it("come with what they cost, the newest first, and of one agent or request if so wanted", async (context) => {
    const overturned = { fault: "Overturned", slash: [], logIndex: "4" };
    const evidences = [evidenceRow(8), evidenceRow(9), evidenceRow(9, overturned)];
    const { subgraph, asked } = await serve(context, data({ evidences }));
    const { answer, upTo } = await subgraph.faults({ agentId: null, requestId: null }, 5_000, context.signal);
    assert.equal(upTo.block, 90);
    assert.deepEqual(
      answer.map(({ requestId, fault, cost, reward }) => [requestId, fault, cost, reward]),
      [
        [9n, "overturned", 0n, 0n],
        [9n, "messages", 10n ** 17n, 5n * 10n ** 16n],
        [8n, "messages", 10n ** 17n, 5n * 10n ** 16n],
      ],
    );
    const [, { agentId, attempt, reporter, time, transaction }] = answer as [PastFault, PastFault];
    assert.deepEqual([agentId, attempt, time, transaction], [4, 0, 1_700_000_009, HASH]);
    assert.equal(reporter, `0x${"06".repeat(20)}`);
    await subgraph.faults({ agentId: 4 as AgentId, requestId: 9n as RequestId }, 2, context.signal);
    assert.deepEqual(
      asked.map(({ variables }) => variables),
      [
        { first: 1_000, where: {} },
        { first: 2, where: { agent: "4", request: "9" } },
      ],
    );
  });
});

describe("subgraph: an endpoint that misbehaves", () => {
  it("fails with SUBGRAPH_UNREACHABLE after two more tries when it is down, slow, overloaded or away", async (context) => {
    const gone = await startSubgraphServer(() => {});
    await gone.close();
    assert.equal((await failureOf(openSubgraph({ url: gone.url }))).code, "SUBGRAPH_UNREACHABLE");

    const silent = await serve(context, () => {});
    const error = await failureOf(silent.subgraph);
    assert.equal(error.code, "SUBGRAPH_UNREACHABLE");
    assert.match(error.message, /has not answered in 0\.5 s/);
    assert.equal(silent.asked.length, 3);

    const dripping = await serve(context, (_, response) => void response.writeHead(200).write("{"));
    assert.match((await failureOf(dripping.subgraph)).message, /has not answered/);

    const broken = await serve(context, raw("<h1>Bad gateway</h1>", 502));
    const { code, data: said } = await failureOf(broken.subgraph);
    assert.deepEqual([code, said["status"], broken.asked.length], ["SUBGRAPH_UNREACHABLE", 502, 3]);
  });

  it("gets user and password of its URL as a header", async (context) => {
    const said: (string | undefined)[] = [];
    const { url } = await serve(context, (asked, response) => {
      said.push(response.req.headers.authorization);
      data({})(asked, response);
    });
    const named = openSubgraph({ url: url.replace("http://", "http://user:secret-key@") });
    await named.requests(ANYTHING, FIRST, context.signal);
    assert.deepEqual(said, [`Basic ${Buffer.from("user:secret-key").toString("base64")}`]);
  });

  it("may come back between two tries without an error", async (context) => {
    const { subgraph, asked } = await serve(context, (one, response) =>
      (asked.length < 3 ? raw("", 503) : data({}))(one, response),
    );
    assert.deepEqual((await subgraph.requests(ANYTHING, FIRST, context.signal)).answer.requests, []);
  });

  it("fails with SUBGRAPH_FAILED at once when it refuses or has stopped; the quote cannot steer a terminal", async (context) => {
    const errors = [{ message: `no field \u001b[31m\`number\`${"x".repeat(5_000)}` }];
    const refusing = await serve(context, raw(JSON.stringify({ errors })));
    const error = await failureOf(refusing.subgraph);
    assert.deepEqual([error.code, refusing.asked.length], ["SUBGRAPH_FAILED", 1]);
    assert.match(error.message, /refuses the query Requests: "no field/);
    assert.ok(!error.message.includes("\u001b"));
    assert.ok(error.message.length < 400);

    const forbidden = await serve(context, raw("", 403));
    assert.equal((await failureOf(forbidden.subgraph)).code, "SUBGRAPH_FAILED");
    const stopped = await serve(context, data(standing({ hasIndexingErrors: true })));
    const halted = await failureOf(stopped.subgraph);
    assert.deepEqual([halted.code, halted.data["block"]], ["SUBGRAPH_FAILED", 90]);
    const moved = await serve(context, (_, response) => void response.writeHead(302, { location: "/" }).end());
    const led = await failureOf(moved.subgraph);
    assert.deepEqual([led.code, led.data["status"], moved.asked.length], ["SUBGRAPH_FAILED", 302, 1]);
    assert.match(led.message, /it redirects \(HTTP status 302\), and redirects are not followed; name the endpoint/);
  });

  it("fails with SUBGRAPH_INVALID and the field when it sends garbage, of which nothing is used", async (context) => {
    for (const text of [
      "",
      "no JSON",
      "null",
      "[]",
      '{"errors":"many"}',
      '{"data":null}',
      '{"data":{"requests":[]}}',
    ]) {
      const { subgraph } = await serve(context, raw(text));
      assert.equal((await failureOf(subgraph)).code, "SUBGRAPH_INVALID", text);
    }
    const wrong: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
      "requests.0.fee": { fee: "12.5" },
      "requests.0.id": { id: "0x1" },
      "requests.0.status": { status: "Perhaps" },
      "requests.0.timestamp": { timestamp: "9".repeat(70) },
      "requests.0.consumer": { consumer: "0xnobody" },
      "requests.0.question": { question: "?".repeat(20_000) },
      "requests.0.decision.confidence": { decision: { ...(requestRow(1)["decision"] as object), confidence: 0.5 } },
    };
    for (const [field, change] of Object.entries(wrong)) {
      const { subgraph } = await serve(context, data({ requests: [requestRow(1, change)] }));
      const error = await failureOf(subgraph);
      assert.deepEqual([error.code, error.data["field"]], ["SUBGRAPH_INVALID", field]);
    }
  });

  it("fails when it sends rows without end, or in an order that would make the client ask for ever", async (context) => {
    const endless = await serve(context, (_, response) => {
      response.writeHead(200);
      const chunk = "x".repeat(1 << 20);
      const pump = (): void => {
        while (!response.destroyed && response.write(chunk));
        if (!response.destroyed) response.once("drain", pump);
      };
      pump();
    });
    const error = await failureOf(openSubgraph({ url: endless.url }));
    assert.equal(error.code, "SUBGRAPH_INVALID");
    assert.match(error.message, /more than 16777216 bytes/);
    for (const numbers of [[1, 2], [2, 2], [9, 8, 7, 6], [0], [-1]]) {
      const { subgraph } = await serve(context, data({ requests: numbers.map((one) => requestRow(one, { id: "5" })) }));
      assert.equal((await failureOf(subgraph)).code, "SUBGRAPH_INVALID", numbers.join());
    }
  });

  it("is left at once when the caller's signal aborts", async (context) => {
    const { subgraph } = await serve(context, () => {});
    const abort = new AbortController();
    setTimeout(() => abort.abort(new Error("enough")), 50);
    await assert.rejects(subgraph.requests(ANYTHING, FIRST, abort.signal), /enough/);
  });
});
