import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Keys } from "../../agents/adapters/keystore/keys.ts";
import { bytesToHex } from "../../agents/core/encoding/bytes.ts";
import { digestOf } from "../../agents/core/encoding/codec.ts";
import { encodeLiveEvent, toldOfMessage, type LiveEvent } from "../../agents/core/encoding/live-events.ts";
import { decodeMessage, encodeMessage } from "../../agents/core/encoding/transcript.ts";
import { messageDigest } from "../../agents/core/encoding/typed-data.ts";
import { protocols } from "../../agents/core/protocols/index.ts";
import { PRECOMMIT } from "../../agents/core/seat/certify/messages.ts";
import type { Address, Attempt, Message, Value } from "../../agents/core/types.ts";
import type { LiveFeed } from "../../agents/ports/live-feed.ts";
import { booleanTerms } from "../support/core/committee.ts";
import { memoryWorld } from "./memory-world.ts";
import { truthful } from "./world.ts";
import { until } from "../support/until.ts";

const consumer = `0x${"cc".repeat(20)}` as Address;
const everybody = [0, 1, 2, 3];

/** What was sent and what was told, in the order of both. */
interface Watched {
  readonly sent: Message[];
  readonly told: { readonly by: number; readonly event: LiveEvent; readonly sentBefore: number }[];
  readonly open: Set<number>;
  attempt: Attempt | null;
}

/** Runs one request whose agents all let others watch. `more` are messages that a seat sends beside its own. */
async function watch(
  protocol: number,
  more: (message: Message, attempt: Attempt, keys: Keys) => readonly Message[] = () => [],
): Promise<Watched> {
  const watched: Watched = { sent: [], told: [], open: new Set(), attempt: null };
  const world = memoryWorld(
    everybody.map(() => truthful("yes")),
    (network, keys) => ({
      ...network,
      send: (to, frame) => {
        const message = decodeMessage(frame) as Message;
        for (const one of [message, ...more(message, watched.attempt as Attempt, keys)]) {
          watched.sent.push(one);
          network.send(to, encodeMessage(one));
        }
      },
    }),
  );
  const running = world.agents.map((agent, by) => agent.start({ live: feedOf(watched, by) }));
  const { request } = world.chain.ask(consumer, { ...booleanTerms, protocol }, "Is 720 more than 500?");
  const ticker = setInterval(() => world.chain.mine(), 50);
  try {
    await until(async () => (await world.chain.reader().requestState(request.id)).status !== "requested");
    await until(() => running.every(({ agent }) => agent.status().seats.length === 0));
  } finally {
    clearInterval(ticker);
    for (const one of running) await one.stop();
  }
  return watched;
}

function feedOf(watched: Watched, by: number): LiveFeed {
  return {
    opened: (attempt) => {
      watched.attempt = attempt;
      watched.open.add(by);
    },
    tell: (_, event) => void watched.told.push({ by, event, sentBefore: watched.sent.length }),
    closed: () => void watched.open.delete(by),
  };
}

/** True if the event follows from the messages. */
function follows(event: LiveEvent, sent: readonly Message[], seats: number): boolean {
  switch (event.kind) {
    case "message":
      return sent.some(({ signature }) => signature === event.message.signature);
    case "ballot":
      return sent.some((one) => {
        const told = toldOfMessage(one);
        return told !== null && encodeLiveEvent(told) === encodeLiveEvent(event);
      });
    case "equivocation": {
      const { seat, phase, round } = event;
      const there = sent.filter(
        ({ header }) => header.seat === seat && header.phase === phase && header.round === round,
      );
      return new Set(there.map(({ header }) => header.payloadDigest)).size > 1;
    }
    case "certified": {
      const signing = sent.filter(({ header, payload }) => {
        const root = (payload as Readonly<Record<string, Value>>)["root"];
        return header.phase === PRECOMMIT && root instanceof Uint8Array && bytesToHex(root) === event.root;
      });
      return 3 * new Set(signing.map(({ header }) => header.seat)).size > 2 * seats;
    }
  }
}

/** The salts in a payload, wherever they stand. */
function saltsIn(value: Value): readonly string[] {
  if (value === null || typeof value !== "object" || value instanceof Uint8Array) return [];
  return Object.entries(value).flatMap(([name, one]: readonly [string, Value]) =>
    name === "salt" && one instanceof Uint8Array ? [bytesToHex(one).slice(2)] : saltsIn(one),
  );
}

/** The signatures on decisions in a payload. */
function decisionSignaturesIn({ payload }: Message): readonly string[] {
  const { signature, signatures = [] } = payload as Readonly<Record<string, Value>>;
  const all = [signature, ...(signatures as readonly (readonly Value[])[]).map(([, one]) => one)];
  return all.flatMap((one) => (one instanceof Uint8Array ? [bytesToHex(one).slice(2)] : []));
}

describe("LV2: a live stream tells nothing that is still sealed", () => {
  for (const protocol of protocols)
    it(`tells only what follows from messages that were sent: ${protocol.id}`, async () => {
      const { sent, told, open } = await watch(protocol.code);
      const kinds = new Set(told.map(({ event }) => event.kind));
      assert.ok(kinds.has("message") && kinds.has("ballot") && kinds.has("certified"), [...kinds].join());
      for (const { event, sentBefore } of told)
        assert.ok(follows(event, sent.slice(0, sentBefore), everybody.length), encodeLiveEvent(event));
      assert.equal(open.size, 0);
    });

  it("tells no salt before its reveal, though it tells the commitment, and no signature on a decision at all", async () => {
    const { sent, told } = await watch(1);
    const salts = new Set(sent.flatMap(({ payload }) => saltsIn(payload)));
    assert.equal(salts.size, everybody.length);
    for (const salt of salts) {
      const opened = sent.findIndex(({ payload }) => saltsIn(payload).includes(salt));
      const early = told.filter(({ sentBefore }) => sentBefore <= opened);
      assert.ok(early.some(({ event }) => event.kind === "message"));
      for (const { event } of early) assert.ok(!encodeLiveEvent(event).includes(salt));
      assert.ok(told.some(({ event }) => encodeLiveEvent(event).includes(salt)));
    }
    const signatures = new Set(sent.flatMap(decisionSignaturesIn));
    assert.ok(signatures.size >= 3);
    const all = told.map(({ event }) => encodeLiveEvent(event)).join("\n");
    for (const signature of signatures) assert.ok(!all.includes(signature));
  });

  it("tells of a seat that signs two messages for one place", async () => {
    const { sent, told } = await watch(1, (message, attempt, keys) => {
      if (message.header.seat !== 3 || message.header.phase !== 1 || attempt.committee[3]?.signer !== keys.address)
        return [];
      const payload = { ...(message.payload as object), commitment: new Uint8Array(32) } as Value;
      const header = { ...message.header, payloadDigest: digestOf(payload) };
      return [{ header, payload, signature: keys.sign(messageDigest(attempt, header)) }];
    });
    for (const { event, sentBefore } of told)
      assert.ok(follows(event, sent.slice(0, sentBefore), everybody.length), encodeLiveEvent(event));
    assert.ok(told.some(({ event }) => event.kind === "equivocation" && event.seat === 3));
  });
});
