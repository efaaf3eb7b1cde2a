import assert from "node:assert/strict";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import type { Server } from "node:http";
import { connect, type Socket } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { createParser, type EventSourceMessage } from "eventsource-parser";
import { liveConfigSchema } from "../../agents/adapters/live/config.ts";
import { startLiveStreams, type LiveBounds, type LiveStreams } from "../../agents/adapters/live/live-server.ts";
import { encodeLiveEvent, type LiveEvent } from "../../agents/core/encoding/live-events.ts";
import type { SeatIndex } from "../../agents/core/types.ts";
import { attemptOf, signMessage } from "../support/core/committee.ts";
import { until } from "../support/until.ts";

const attempt = attemptOf(4);
const PATH = "/live/7/0";

async function serve(
  context: TestContext,
  config: object = {},
  bounds: Partial<LiveBounds> = {},
): Promise<LiveStreams> {
  const server = await startLiveStreams(liveConfigSchema.parse({ port: 0, ...config }), bounds);
  context.after(() => server.close());
  server.feed.opened(attempt);
  return server;
}

function ballot(number: number): LiveEvent {
  return { kind: "ballot", seat: 1 as SeatIndex, ballot: number, step: "prevote", root: null };
}

/** A message of some 60 kB. */
function large(round: number): LiveEvent {
  return { kind: "message", message: signMessage(attempt, 1, 1, round, { text: "x".repeat(60_000) }) };
}

/** Reads a stream until it has so many events; the stream stays open until `leave`. */
async function watch(url: string, count: number, init: RequestInit = {}) {
  const leaving = new AbortController();
  const response = await fetch(url, { ...init, signal: leaving.signal });
  let text = "";
  const got: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (event) => void got.push(event) });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  const events = (): readonly string[] => got.map(({ data }) => data);
  const upTo = async (enough: number): Promise<readonly string[]> => {
    while (got.length < enough) {
      const { value, done } = (await reader?.read()) ?? { value: undefined, done: true };
      if (done) break;
      parser.feed(value ?? "");
      text += value ?? "";
    }
    return events();
  };
  await upTo(count);
  const ids = (): readonly (string | undefined)[] => got.map(({ id }) => id);
  return { response, events, upTo, ids, leave: () => leaving.abort(), text: () => text };
}

/** Sends raw bytes, and reads nothing until it is told to. */
async function raw({ url }: LiveStreams, bytes: string): Promise<Socket> {
  const { port } = new URL(url);
  const socket = connect(Number(port), "127.0.0.1");
  socket.on("error", () => {});
  await once(socket, "connect");
  socket.write(bytes);
  socket.resume();
  return socket;
}

/** Resolves when the connection is gone. A server that cuts it while bytes are on their way resets it, which `once` would throw. */
function gone(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.once("close", () => resolve()));
}

const GET = `GET ${PATH} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`;

describe("LV6: a live stream", () => {
  it("sends what was told, then what is told, and goes on after an event that the watcher has", async (context) => {
    const { url, feed } = await serve(context);
    feed.tell(attempt, ballot(0));
    const one = await watch(`${url}${PATH}`, 1);
    assert.equal(one.response.headers.get("content-type"), "text/event-stream; charset=utf-8");
    feed.tell(attempt, ballot(1));
    assert.deepEqual(await one.upTo(2), [ballot(0), ballot(1)].map(encodeLiveEvent));
    const again = await watch(`${url}${PATH}?after=${one.ids()[0]}`, 1);
    assert.deepEqual(again.events(), [encodeLiveEvent(ballot(1))]);
    const other = await watch(`${url}${PATH}?after=00000000-0`, 2);
    assert.equal(other.events().length, 2);
    for (const watcher of [one, again, other]) watcher.leave();
  });

  it("ends with the seat, and begins anew when the seat is taken again", async (context) => {
    const { url, feed } = await serve(context);
    feed.tell(attempt, ballot(0));
    const one = await watch(`${url}${PATH}`, 1);
    feed.closed(attempt);
    assert.equal((await one.upTo(2)).length, 1);
    assert.equal((await fetch(`${url}${PATH}`)).status, 204);
    feed.opened(attempt);
    feed.tell(attempt, ballot(5));
    const again = await watch(`${url}${PATH}?after=${one.ids()[0]}`, 1);
    assert.deepEqual(again.events(), [encodeLiveEvent(ballot(5))]);
    again.leave();
  });

  it("answers nothing else, and takes nothing", async (context) => {
    const { url } = await serve(context);
    for (const path of ["/", "/live/7", "/live/7/0/1", "/live/-1/0", `/live/${"9".repeat(60)}/0`])
      assert.equal((await fetch(`${url}${path}`)).status, 404, path);
    assert.equal((await fetch(`${url}/live/8/0`)).status, 204);
    assert.equal((await fetch(`${url}${PATH}`, { method: "POST", body: "x" })).status, 405);
  });

  it("shows a sign of life while nothing is told", async (context) => {
    const { url, feed } = await serve(context, {}, { heartbeatMs: 20 });
    const one = await watch(`${url}${PATH}`, 0);
    setTimeout(() => feed.tell(attempt, ballot(0)), 100);
    await one.upTo(1);
    assert.match(one.text(), /^retry: 2000\n\n(:\n\n)+id: /);
    one.leave();
  });
});

describe("LV5: who may watch", () => {
  it("lets no page of another origin read, unless the config names it", async (context) => {
    const allowed = async (origins: readonly string[], path = PATH): Promise<string | null> => {
      const { url } = await serve(context, { origins });
      const watcher = await watch(`${url}${path}`, 0, { headers: { origin: "https://page.example" } });
      watcher.leave();
      return watcher.response.headers.get("access-control-allow-origin");
    };
    assert.equal(await allowed([]), null);
    assert.equal(await allowed(["https://other.example"]), null);
    assert.equal(await allowed(["https://page.example"]), "https://page.example");
    assert.equal(await allowed(["*"]), "*");
    assert.equal(await allowed(["*"], "/nonsense"), "*");
  });

  it("lets only whoever names this machine watch, unless it is public", async (context) => {
    const { url } = await serve(context);
    const open = await serve(context, { public: true });
    const asked = async (server: string): Promise<string> => {
      const socket = await raw({ url: server } as LiveStreams, GET.replace("127.0.0.1", "rebound.example"));
      const [first] = (await once(socket, "data")) as [Buffer];
      socket.destroy();
      return first.toString().slice(9, 12);
    };
    assert.equal(await asked(url), "403");
    assert.equal(await asked(open.url), "200");
  });

  it("refuses a config that other machines reach unless that is meant, and origins that are none", () => {
    const refused = (config: object): string =>
      liveConfigSchema.safeParse({ port: 1, ...config }).error?.issues[0]?.path.join(".") ?? "";
    assert.equal(refused({ host: "0.0.0.0" }), "host");
    assert.equal(refused({ host: "0.0.0.0", public: true }), "");
    assert.equal(refused({ origins: ["page.example"] }), "origins.0");
    assert.equal(refused({ origins: ["https://page.example/path"] }), "origins.0");
    assert.equal(refused({ clients: 101 }), "clients");
  });
});

describe("LV5: hostile watchers", () => {
  it("cuts one that does not read, and keeps nothing for it", async (context) => {
    const server = await serve(context, {}, { slowestMs: 5_000, recordingBytes: 64_000_000 });
    const slow = await raw(server, GET);
    slow.pause();
    const closed = gone(slow);
    const quick = await watch(`${server.url}${PATH}`, 0);
    for (let round = 0; round < 150; round++) {
      server.feed.tell(attempt, large(round));
      await quick.upTo(round + 1);
    }
    await until(() => server.facts().refused.slow === 1);
    slow.resume();
    await closed;
    assert.ok(slow.bytesRead < 150 * 120_000, `the slow watcher got ${slow.bytesRead} bytes, which is everything`);
    const { sent, refused } = server.facts();
    assert.deepEqual(refused, { busy: 0, address: 0, slow: 1 });
    assert.ok(sent >= 150 && sent < 300, `${sent} events were sent`);
    quick.leave();
  });

  it("gives one address no more than its streams, so that others can watch", async (context) => {
    const { url, facts } = await serve(context, { clientsPerAddress: 2, clients: 4 });
    const first = await watch(`${url}${PATH}`, 0);
    const second = await watch(`${url}${PATH}`, 0);
    const third = await fetch(`${url}${PATH}`);
    assert.equal(third.status, 429);
    assert.equal(third.headers.get("retry-after"), "10");
    assert.equal(facts().watchers, 2);
    first.leave();
    await until(() => facts().watchers === 1);
    assert.deepEqual(facts(), { watchers: 1, sent: 0, refused: { busy: 0, address: 1, slow: 0 } });
    const fourth = await watch(`${url}${PATH}`, 0);
    assert.equal(fourth.response.status, 200);
    second.leave();
    fourth.leave();
  });

  it("serves at most so many streams, and so many requests of one address", async (context) => {
    const { url, facts } = await serve(context, { clientsPerAddress: 3, clients: 3 });
    const watchers = await Promise.all([0, 1, 2].map(() => watch(`${url}${PATH}`, 0)));
    assert.equal((await fetch(`${url}${PATH}`)).status, 503);
    const statuses = await Promise.all(Array.from({ length: 40 }, async () => (await fetch(`${url}/live/8/0`)).status));
    assert.ok(statuses.includes(429));
    // All places are taken, so each of them was refused for one reason or the other.
    assert.deepEqual(facts(), { watchers: 3, sent: 0, refused: { busy: 41, address: 0, slow: 0 } });
    for (const watcher of watchers) watcher.leave();
  });

  it("lets the watchers behind a proxy ask, whose one address may hold many streams", async (context) => {
    const { url } = await serve(context, { clientsPerAddress: 64 });
    for (const [requests, expected] of [
      [250, [204]],
      [20, [204, 429]],
    ] as const) {
      const statuses = new Set<number>();
      for (let sent = 0; sent < requests; sent++) statuses.add((await fetch(`${url}/live/8/0`)).status);
      assert.deepEqual([...statuses], expected);
    }
  });

  it("keeps a stream while 1,000 connections are opened that ask nothing", async (context) => {
    const server = await serve(context);
    const watcher = await watch(`${server.url}${PATH}`, 0);
    const idle: Socket[] = [];
    for (let count = 0; count < 1_000; count += 50)
      idle.push(...(await Promise.all(Array.from({ length: 50 }, () => raw(server, "")))));
    const open = (): number => idle.filter((socket) => !socket.closed).length;
    await until(() => open() <= 128);
    server.feed.tell(attempt, ballot(0));
    assert.equal((await watcher.upTo(1)).length, 1);
    const late = await watch(`${server.url}${PATH}`, 1);
    assert.equal(late.events().length, 1);
    for (const socket of idle) socket.destroy();
    watcher.leave();
    late.leave();
  });

  it("outlasts connections that the system cannot accept", async (context) => {
    const server = await serve(context);
    const servers = new Set<Server>();
    const remember = (message: unknown): unknown => servers.add((message as { readonly server: Server }).server);
    subscribe("http.server.request.start", remember);
    context.after(() => unsubscribe("http.server.request.start", remember));
    const watcher = await watch(`${server.url}${PATH}`, 0);
    for (const one of servers) for (let times = 0; times < 3; times++) one.emit("error", new Error("accept ENFILE"));
    server.feed.tell(attempt, ballot(0));
    assert.deepEqual([servers.size, (await watcher.upTo(1)).length], [1, 1]);
    watcher.leave();
  });

  it("cuts a header without an end", async (context) => {
    const server = await serve(context);
    const socket = await raw(server, `GET ${PATH} HTTP/1.1\r\n`);
    const flood = setInterval(() => socket.write(`x-${"y".repeat(1_000)}: 1\r\n`), 1);
    await gone(socket);
    clearInterval(flood);
    assert.ok(socket.bytesWritten < 200_000, `${socket.bytesWritten} bytes of header were taken`);
  });

  it("ends the stream of a recording that is full, and forgets the oldest one when all are too long", async (context) => {
    const { url, feed } = await serve(context, {}, { recordingBytes: 300_000, bytes: 400_000 });
    const watcher = await watch(`${url}${PATH}`, 0);
    for (let round = 0; round < 5; round++) feed.tell(attempt, large(round));
    assert.equal((await watcher.upTo(5)).length, 2);
    const other = { ...attempt, attempt: 1 };
    feed.opened(other);
    for (let round = 0; round < 2; round++) feed.tell(other, large(round));
    assert.equal((await fetch(`${url}${PATH}`)).status, 204);
    const newer = await watch(`${url}/live/7/1`, 2);
    assert.equal(newer.events().length, 2);
    newer.leave();
  });
});
