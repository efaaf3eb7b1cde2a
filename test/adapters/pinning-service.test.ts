import assert from "node:assert/strict";
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { afterEach, beforeEach, describe, it } from "node:test";
import {
  createPinningService,
  pinningServiceSchema,
  type PinningService,
  type RemotePin,
} from "../../agents/adapters/ipfs/pinning-service.ts";
import { cidString } from "../../agents/core/encoding/cid.ts";
import { sha256 } from "../../agents/core/encoding/bytes.ts";
import { ConclaveError } from "../../agents/core/errors.ts";
import { fail, reply, startPinningServer, type PinningServer } from "./fixtures/pinning-server.ts";

const KEY = "a-key-that-nobody-may-see";
const root = sha256(Uint8Array.of(1));
const cid = cidString(root);
const origins = ["/ip4/127.0.0.1/tcp/4401/p2p/16Uiu2HAmPeer"];
const never = new AbortController().signal;

let server: PinningServer;
let service: PinningService;
let states: string[];

beforeEach(async () => {
  server = await startPinningServer(KEY);
  service = open();
  states = [];
});

afterEach(() => server.close());

function open(changes: Partial<Parameters<typeof createPinningService>[0]> = {}): PinningService {
  const { endpoint } = server;
  return createPinningService({ name: "test", endpoint, apiKey: KEY, timeoutMs: 60_000, pollMs: 5, ...changes });
}

function pin(with_: PinningService = service, patienceMs = 60_000, signal = never): Promise<RemotePin> {
  return with_.pin(root, { name: "a name", origins, patienceMs, onState: (state) => void states.push(state) }, signal);
}

/** Code, kind and message of the refusal, which must not show the key. */
async function refused(action: Promise<unknown>): Promise<readonly [code: string, kind: unknown, message: string]> {
  const error: unknown = await action.then(
    () => assert.fail("it succeeds"),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof ConclaveError, String(error));
  for (let at: unknown = error; at instanceof Error; at = at.cause)
    assert.ok(!`${at.message} ${JSON.stringify(at)} ${at.stack}`.includes(KEY), at.stack);
  return [error.code, error.data["kind"], error.message];
}

async function list(of = service): Promise<readonly RemotePin[]> {
  const pins: RemotePin[] = [];
  for await (const one of of.list(null, never)) pins.push(one);
  return pins;
}

describe("AV8: pinning services", () => {
  it("asks for a pin once, with name and origins, waits until it is pinned, lists and removes it", async () => {
    const pinned = await pin();
    assert.deepEqual([pinned.state, pinned.cid, pinned.id], ["pinned", cid, "request/1"]);
    assert.deepEqual(states, ["queued", "pinning", "pinned"]);
    assert.deepEqual(server.pins[0]?.pin, { cid, name: "a name", origins });
    assert.equal((await pin()).id, "request/1");
    assert.equal(server.requests.filter((line) => line.startsWith("POST")).length, 1);
    assert.deepEqual(await list(), [pinned]);
    await service.remove(pinned.id, never);
    assert.deepEqual([await list(), server.pins.length], [[], 0]);
  });

  it("lists all pages, failed pins too, the newest first", async () => {
    for (let number = 0; number < 250; number++) {
      const created = new Date(Date.UTC(2026, 0, 1) + number * 1_000).toISOString();
      const status = number % 2 === 0 ? "failed" : "pinned";
      server.pins.push({ requestid: `${number}`, status, created, pin: { cid } });
    }
    const pins = await list();
    assert.deepEqual(
      pins.map(({ id }) => Number(id)),
      Array.from({ length: 250 }, (_, index) => 249 - index),
    );
  });

  it("lists pins as old as the last of a page, and all pins of a service that returns short pages", async () => {
    // Ninety at the same time, across the end of a page.
    for (let number = 0; number < 250; number++) {
      const second = number < 60 ? 2 : number < 150 ? 1 : 0;
      const created = new Date(Date.UTC(2026, 0, 1) + (second * 1_000 || number)).toISOString();
      server.pins.push({ requestid: `${number}`, status: "pinned", created, pin: { cid } });
    }
    const all = new Set((await list()).map(({ id }) => id));
    assert.equal(all.size, 250);
    server.pins.splice(0, 200);
    server.most = 7;
    assert.equal((await list()).length, 50);
  });

  it("refuses a service that uses the key as the name of a request or pin", async () => {
    const created = "2026-01-01T00:00:00Z";
    for (const pinned of [
      { requestid: KEY, pin: { cid } },
      { requestid: "1", pin: { cid, name: `for ${KEY}` } },
      { requestid: "1", pin: { cid: KEY } },
    ]) {
      server.misbehave = (_, response) => {
        reply(response, 200, { count: 1, results: [{ ...pinned, status: "pinned", created }] });
        return true;
      };
      assert.deepEqual((await refused(list())).slice(0, 2), ["PINNING_FAILED", "answer"]);
    }
  });

  it("stops reading a list without end", async () => {
    const created = new Date(Date.UTC(2026, 0, 1)).toISOString();
    const results = Array.from({ length: 100 }, () => ({ requestid: "1", status: "pinned", created, pin: { cid } }));
    server.misbehave = (_, response) => {
      reply(response, 200, { count: 1_000_000, results });
      return true;
    };
    assert.deepEqual((await refused(list())).slice(0, 2), ["PINNING_FAILED", "answer"]);
    assert.ok(server.requests.length <= 3);
  });

  it("says that the key is wrong, without showing it or the server's echo of it", async () => {
    const [code, kind] = await refused(pin(open({ apiKey: "wrong" })));
    assert.deepEqual([code, kind, server.requests.length], ["PINNING_FAILED", "key", 1]);
    server.misbehave = (request, response) => {
      fail(response, 403, `no: ${request.headers.authorization ?? ""}`);
      return true;
    };
    const [, , message] = await refused(pin());
    assert.match(message, /no: Bearer \[key\]/);
  });

  it("retries 429 after the time it names, 500 and a broken connection at once, and asks for the pin only once", async () => {
    const times: number[] = [];
    const faults: readonly ((response: ServerResponse) => void)[] = [
      (response) => fail(response, 429, "SLOW_DOWN", { "retry-after": "1" }),
      (response) => fail(response, 500, "INTERNAL"),
      (response) => void response.socket?.destroy(),
    ];
    server.misbehave = (_, response, count) => {
      times.push(performance.now());
      faults[count - 1]?.(response);
      return count <= faults.length;
    };
    assert.equal((await pin()).state, "pinned");
    assert.ok((times[1] ?? 0) - (times[0] ?? 0) >= 990, times.join(" "));
    assert.equal(server.pins.length, 1);
  });

  it("does not repeat a request that the server took but did not answer", async () => {
    let broken = false;
    server.misbehave = (request, response) => {
      if (request.method !== "POST" || broken) return false;
      broken = true;
      // Its answer is lost on the way.
      response.end = (() => response.socket?.destroy()) as never;
      return false;
    };
    assert.equal((await pin()).state, "pinned");
    assert.deepEqual([broken, server.pins.length], [true, 1]);
  });

  it("fails with NETWORK_FAILED when the service is down, asks for an hour, or does not answer", async () => {
    server.misbehave = (_, response) => {
      fail(response, 503, "DOWN", { "retry-after": "3600" });
      return true;
    };
    const [code, , message] = await refused(pin());
    assert.equal(code, "NETWORK_FAILED");
    assert.match(message, /503.*DOWN.*3600 s/);
    assert.equal(server.requests.length, 1);
    server.misbehave = () => true;
    const [slow, , words] = await refused(pin(open({ timeoutMs: 100 })));
    assert.equal(slow, "NETWORK_FAILED");
    assert.match(words, /no answer in 0.1 s/);
    // A busy machine may give up before it has asked.
    assert.ok(server.requests.length <= 1 + 5, server.requests.join("\n"));
    const { endpoint } = server;
    await server.close();
    assert.equal((await refused(pin(open({ endpoint }))))[0], "NETWORK_FAILED");
    server = await startPinningServer(KEY);
  });

  it("quotes the service on a failed pin, and names the way out for a pin that takes too long", async () => {
    server.states = ["queued", "failed"];
    server.misbehave = (request) => {
      for (const one of server.pins)
        one.info = { status_details: `no provider\n${request.headers.authorization ?? ""}` };
      return false;
    };
    const [code, kind, message] = await refused(pin());
    assert.deepEqual([code, kind], ["PINNING_FAILED", "failed"]);
    assert.match(message, /"no provider Bearer \[key\]"/);
    server.states = ["queued"];
    const [, late, words] = await refused(pin(service, 2_000));
    assert.equal(late, "late");
    assert.match(words, /repeat the command/);
    // A pin that failed at the service is asked for anew.
    assert.equal(server.pins.length, 2);
  });

  it("refuses a huge answer, one that is not JSON, one that does not fit, and any redirect", async () => {
    let sent = 0;
    const good = { requestid: "1", status: "pinned", created: "2026-01-01T00:00:00Z", pin: { cid } };
    const bodies: readonly (readonly [body: string, name: RegExp])[] = [
      ["<html>", /not JSON/],
      ["[]", /at the top/],
      [JSON.stringify({ count: 1, results: [{ ...good, status: "perhaps" }] }), /results\.0\.status/],
      [JSON.stringify({ count: 1, results: [{ ...good, requestid: ".." }] }), /results\.0\.requestid/],
      [JSON.stringify({ count: 1, results: [{ ...good, created: "yesterday" }] }), /results\.0\.created/],
    ];
    for (const [body, expected] of bodies) {
      server.misbehave = (_, response) => {
        reply(response, 200, body);
        return true;
      };
      const [code, kind, message] = await refused(pin());
      assert.deepEqual([code, kind], ["PINNING_FAILED", "answer"]);
      assert.match(message, expected);
    }
    server.misbehave = async (_, response) => {
      response.writeHead(200);
      for (const piece = Buffer.alloc(1 << 20, 32); !response.destroyed && sent < 100; sent++)
        if (!response.write(piece)) await Promise.race([once(response, "drain"), once(response, "close")]);
      return true;
    };
    assert.match((await refused(pin()))[2], /more than \d+ bytes/);
    assert.ok(sent < 100, `${sent} MiB`);
    server.misbehave = (_, response) => {
      response.writeHead(307, { location: `${server.endpoint}/elsewhere` }).end();
      return true;
    };
    assert.equal((await refused(pin()))[0], "NETWORK_FAILED");
    assert.ok(!server.requests.some((line) => line.includes("elsewhere")));
  });

  it("refuses a pin of another CID than the one it asked for", async () => {
    const other = {
      requestid: "1",
      status: "pinned",
      created: "2026-01-01T00:00:00Z",
      pin: { cid: cidString(sha256(Uint8Array.of(2))) },
    };
    server.misbehave = (request, response) => {
      reply(response, 202, request.method === "POST" ? other : { count: 1, results: [other] });
      return true;
    };
    assert.deepEqual((await refused(pin())).slice(0, 2), ["PINNING_FAILED", "answer"]);
  });

  it("ends at once when the caller gives up", async () => {
    server.states = ["queued"];
    const startedAt = performance.now();
    await assert.rejects(pin(open({ pollMs: 60_000 }), 600_000, AbortSignal.timeout(200)), { name: "TimeoutError" });
    assert.ok(performance.now() - startedAt < 30_000);
  });

  it("takes https, or http on this machine, in its config, and a key only from a file or the environment", () => {
    const fits = (endpoint: string, more: object = { apiKeyEnv: "KEY" }): boolean =>
      pinningServiceSchema.safeParse({ endpoint, ...more }).success;
    for (const endpoint of [
      "https://api.example.org/psa",
      "http://127.0.0.1:1/x",
      "http://localhost",
      "http://[::1]:5",
    ])
      assert.ok(fits(endpoint), endpoint);
    for (const endpoint of [
      "http://api.example.org",
      "http://10.0.0.1",
      "http://127.0.0.1.example.org",
      "https://user:secret@api.example.org",
      "https://api.example.org?key=secret",
      "ftp://127.0.0.1",
    ])
      assert.ok(!fits(endpoint), endpoint);
    const endpoint = "https://api.example.org";
    assert.ok(fits(endpoint, { apiKeyFile: "key" }));
    for (const more of [{}, { apiKeyEnv: "A", apiKeyFile: "b" }, { apiKey: KEY }, { apiKeyEnv: "A", apiKey: KEY }])
      assert.ok(!fits(endpoint, more), JSON.stringify(more));
  });
});
