import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { liveConfigSchema } from "../../agents/adapters/live/config.ts";
import { startLiveStreams, type LiveStreams } from "../../agents/adapters/live/live-server.ts";
import { encodeLiveEvent, type LiveEvent } from "../../agents/core/encoding/live-events.ts";
import type { Message, Ppm, SeatIndex } from "../../agents/core/types.ts";
import { watchLive, type LiveState } from "../../sdk/src/verify/index.ts";
import { attemptOf, signMessage } from "../support/core/committee.ts";
import { until } from "../support/until.ts";

const attempt = attemptOf(4);
const commitment = (seat: number, first = 0): Message =>
  signMessage(attempt, seat, 1, 0, { commitment: new Uint8Array(32).fill(first) });
const told = (message: Message): LiveEvent => ({ kind: "message", message });

async function agent(context: TestContext): Promise<LiveStreams> {
  const server = await startLiveStreams(liveConfigSchema.parse({ port: 0 }));
  context.after(() => server.close());
  return server;
}

/** A server that answers as a hostile one does. */
async function hostile(context: TestContext, answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, "127.0.0.1");
  await once(server, "listening");
  context.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Watches until the state is as wanted. */
async function watchUntil(streams: readonly string[], isWanted: (state: LiveState) => boolean): Promise<LiveState> {
  const { domain: deployment, request, committee } = attempt;
  const signal = AbortSignal.timeout(600_000);
  for await (const state of watchLive({ deployment, request, attempt: 0, committee, streams, signal }))
    if (isWanted(state)) return state;
  throw new Error("the stream ended");
}

describe("LV7: a reader of live streams", () => {
  it("keeps each message that a seat of the attempt signed, once, and drops every other one", async (context) => {
    const { url, feed } = await agent(context);
    feed.opened(attempt);
    const good = commitment(0);
    const other = attemptOf(4, {}, [1, 2, 3, 4]);
    for (const message of [
      good,
      good,
      { ...commitment(1), signature: good.signature },
      signMessage(attempt, 2, 1, 0, { nonsense: true }),
      signMessage({ ...other, attempt: 1 }, 3, 1, 0, { commitment: new Uint8Array(32) }),
      signMessage(attempt, 3, 1, 99, { commitment: new Uint8Array(32) }),
      ...[1, 2, 3].map((first) => commitment(0, first)),
    ])
      feed.tell(attempt, told(message));
    feed.tell(attempt, told(commitment(3)));
    const state = await watchUntil([url], ({ messages }) => messages.some(({ seat }) => seat === 3));
    // Two different ones of one seat are its equivocation; further ones add nothing.
    assert.deepEqual(
      state.messages.map(({ seat, name }) => [seat, name]),
      [
        [0, "commit"],
        [0, "commit"],
        [3, "commit"],
      ],
    );
    assert.deepEqual(state.argument.equivocations, [[0, 1]]);
    assert.equal(state.stream, url);
  });

  it("goes on to the next stream when one is away, has no seat, or tells without end", async (context) => {
    const { url, feed } = await agent(context);
    feed.opened(attempt);
    feed.tell(attempt, told(commitment(2)));
    const line = "x".repeat(65_536);
    const endless = await hostile(context, (_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write("data: ");
      const flood = setInterval(() => response.write(line), 1);
      response.on("close", () => clearInterval(flood));
    });
    const nonsense = await hostile(context, (_, response) => response.end("data: {}\n\ndata: ]\n\n<html>"));
    const lacking = (await agent(context)).url;
    const streams = ["http://127.0.0.1:1", lacking, endless, nonsense, url];
    const state = await watchUntil(streams, ({ messages }) => messages.length > 0);
    assert.deepEqual([state.stream, state.messages[0]?.seat], [url, 2]);
  });

  it("leaves a stream that does not begin to answer within five seconds", async (context) => {
    const { url, feed } = await agent(context);
    feed.opened(attempt);
    feed.tell(attempt, told(commitment(2)));
    const mute = await hostile(context, () => undefined);
    const started = performance.now();
    const { stream } = await watchUntil([mute, url], ({ messages }) => messages.length > 0);
    const waited = performance.now() - started;
    assert.equal(stream, url);
    assert.ok(waited < 20_000, `it waited ${waited} ms`);
  });

  it("leaves a stream that lives and tells no message of a seat for twenty seconds, and takes the next one's word", async (context) => {
    context.mock.timers.enable({ apis: ["Date"], now: Date.now() });
    const { url, feed } = await agent(context);
    feed.opened(attempt);
    feed.tell(attempt, told(commitment(2)));
    const root = commitment(0).header.payloadDigest;
    const lies: LiveEvent[] = [
      { kind: "certified", status: "decided", answer: "yes", confidence: 990_000 as Ppm, root },
      ...[0, 3, 4, 63].map((seat) => {
        return { kind: "ballot", seat: seat as SeatIndex, ballot: 0, step: "precommit", root } as const;
      }),
    ];
    const liar = await hostile(context, (_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(lies.map((one) => `data: ${encodeLiveEvent(one)}\n\n`).join(""));
      const life = setInterval(() => response.write(": alive\n\n"), 50);
      response.on("close", () => clearInterval(life));
    });
    const lied = await watchUntil([liar, url], ({ certified }) => certified !== null);
    assert.deepEqual([lied.teller, lied.certified?.answer, lied.ballot?.seats.precommit], [liar, "yes", [0, 3]]);
    const left = watchUntil([liar, url], ({ messages }) => messages.length > 0);
    await sleep(500);
    context.mock.timers.tick(20_001);
    const state = await left;
    assert.deepEqual([state.teller, state.certified, state.ballot], [url, null, null]);
  });

  it("comes back to a stream that broke, and asks only for what it lacks", async (context) => {
    const asked: string[] = [];
    const url = await hostile(context, ({ url: path }, response) => {
      asked.push(path ?? "");
      response.writeHead(200, { "content-type": "text/event-stream" });
      const event = told(commitment(asked.length - 1));
      response.write(`id: 00000001-${asked.length - 1}\ndata: ${encodeLiveEvent(event)}\n\n`, () => response.destroy());
    });
    const state = await watchUntil([url], ({ messages }) => messages.length === 3);
    assert.deepEqual(asked, ["/live/7/0", "/live/7/0?after=00000001-0", "/live/7/0?after=00000001-1"]);
    assert.equal(state.messages.length, 3);
  });

  it("does not come back to a stream that has told too much", async (context) => {
    let [asked, left] = [0, 0];
    const line = "x".repeat(65_536);
    const endless = await hostile(context, (_, response) => {
      asked += 1;
      response.writeHead(200, { "content-type": "text/event-stream" });
      const flood = setInterval(() => response.write(`:${line}\n\n`), 1);
      response.on("close", () => {
        clearInterval(flood);
        left += 1;
      });
    });
    const watching = new AbortController();
    const { domain: deployment, request, committee } = attempt;
    const states = watchLive({
      deployment,
      request,
      attempt: 0,
      committee,
      streams: [endless],
      signal: watching.signal,
    });
    const watched = (async () => {
      for await (const _ of states);
    })().catch(() => undefined);
    await until(() => left === 1);
    await sleep(2_000);
    watching.abort();
    await watched;
    assert.equal(asked, 1);
  });

  it("counts the seats of the latest ballot, and shows the decision that they signed", async (context) => {
    const { url, feed } = await agent(context);
    feed.opened(attempt);
    const root = signMessage(attempt, 0, 1, 0, {}).header.payloadDigest;
    const vote = (seat: number, ballot: number, step: "prevote" | "precommit", nil = false): void =>
      feed.tell(attempt, { kind: "ballot", seat: seat as SeatIndex, ballot, step, root: nil ? null : root });
    vote(0, 0, "prevote");
    vote(2, 1, "prevote");
    vote(1, 1, "prevote");
    vote(3, 1, "prevote", true);
    vote(1, 1, "precommit");
    const counted = await watchUntil([url], ({ ballot }) => (ballot?.seats.precommit.length ?? 0) > 0);
    assert.equal(counted.ballot?.number, 1);
    assert.deepEqual(counted.ballot.seats.prevote, [1, 2]);
    const certified = { status: "decided", answer: "yes", confidence: 900_000 } as const;
    feed.tell(attempt, { kind: "certified", ...certified, root } as LiveEvent);
    const ended = await watchUntil([url], (state) => state.certified !== null);
    assert.deepEqual(ended.certified, certified);
  });
});
