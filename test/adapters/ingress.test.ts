import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, it } from "node:test";
import { createMemoryClock, type MemoryClock } from "../../agents/adapters/memory/clock.ts";
import { sha256 } from "../../agents/core/encoding/bytes.ts";
import { encode } from "../../agents/core/encoding/codec.ts";
import { limits } from "../../agents/core/limits.ts";
import { encodeMessage } from "../../agents/core/encoding/transcript.ts";
import { messageDigest } from "../../agents/core/encoding/typed-data.ts";
import type { Address, Message } from "../../agents/core/types.ts";
import { createEarlyFrames } from "../../agents/node/seat/early-frames.ts";
import { createIngress, type Sink } from "../../agents/node/seat/ingress.ts";
import type { Log } from "../../agents/ports/log.ts";
import { addressOf, attemptOf, signDigest, signMessage } from "../support/core/committee.ts";

const attempt = attemptOf(4);
const peer = attempt.committee[1]!.signer;
const good = (round = 0): Message => signMessage(attempt, 1, 1, round, { commitment: null });

const forged = (round = 0): Message => ({ ...good(round), signature: good(round + 1).signature });

/** The message's block with other bytes in the place of its payload. */
function withPayload(message: Message, payload: Uint8Array): Uint8Array {
  const block = encodeMessage(message);
  const before = encode(message.payload);
  const at = block.length - before.length - 77;
  return Uint8Array.of(...block.subarray(0, at), ...payload, ...block.subarray(at + before.length));
}

/** A message that seat 1 signs with these bytes as its payload. */
function signPayload(payload: Uint8Array): Message {
  const { header } = good();
  const named = { ...header, payloadDigest: sha256(payload) };
  return { header: named, payload: { commitment: null }, signature: signDigest(1, messageDigest(attempt, named)) };
}

interface Harness {
  readonly ingress: ReturnType<typeof createIngress>;
  readonly sink: Sink;
  readonly clock: MemoryClock;
  readonly delivered: Message[];
  readonly reasons: string[];
}

function harness(): Harness {
  const reasons: string[] = [];
  const note = (data: object): void => void reasons.push(String((data as { reason?: string }).reason));
  const log: Log = { debug: note, info: note, warn: note, error: note };
  const delivered: Message[] = [];
  const clock = createMemoryClock();
  const sink: Sink = {
    attempt,
    wants: (header) =>
      !delivered.some(
        (message) => message.header.payloadDigest === header.payloadDigest && message.header.round === header.round,
      ),
    refuses: (message) => (message.header.phase === 1 ? null : "unknown-phase"),
    deliver: (message) => void delivered.push(message),
  };
  return { ingress: createIngress(log, clock), sink, clock, delivered, reasons };
}

describe("ingress", () => {
  it("delivers a seat's message once, whichever peer relays it", () => {
    const { ingress, sink, delivered } = harness();
    ingress.opened(sink);
    for (const from of [peer, attempt.committee[2]!.signer]) ingress.receive(from, encodeMessage(good()));
    assert.equal(delivered.length, 1);
  });

  it("D25, L03: drops a malformed, oversize, unsigned or foreign message with its reason", () => {
    const { ingress, sink, delivered, reasons } = harness();
    ingress.opened(sink);
    const message = good();
    const bend = (change: Partial<Message["header"]>): Uint8Array =>
      encodeMessage({ ...message, header: { ...message.header, ...change } });
    const frames = [
      new Uint8Array(),
      new Uint8Array(limits.messageBytes + 1),
      encode({ hello: 1 }),
      bend({ seat: 2 as never }),
      bend({ seat: 9 as never }),
      bend({ protocol: 2 }),
      encodeMessage(signMessage(attempt, 1, 2, 0, { commitment: null })),
      encodeMessage({ ...message, signature: `0x${"11".repeat(65)}` }),
    ];
    for (const frame of frames) ingress.receive(peer, frame);
    assert.deepEqual(delivered, []);
    assert.deepEqual(reasons, [
      "malformed",
      "malformed",
      "malformed",
      "bad-signature",
      "no-such-seat",
      "other-protocol",
      "unknown-phase",
      "bad-signature",
    ]);
  });

  it("makes every cheap check before it verifies a signature", () => {
    const { ingress, sink, delivered, reasons } = harness();
    ingress.opened(sink);
    const outsider = addressOf(9);
    ingress.receive(outsider, encodeMessage(forged()));
    ingress.receive(peer, encodeMessage({ ...forged(), header: { ...forged().header, protocol: 2 } }));
    ingress.receive(peer, encodeMessage(good()));
    // The message is known already, so its signature is not verified.
    ingress.receive(peer, encodeMessage(forged()));
    assert.deepEqual(reasons, ["no-seat", "other-protocol"]);
    assert.equal(delivered.length, 1);
  });

  it("reads a payload last: only one that a seat has signed and that is wanted", () => {
    const { ingress, sink, delivered, reasons } = harness();
    ingress.opened(sink);
    // A payload in another than the canonical form, which only whoever reads it notices.
    const spoilt = (message: Message): Uint8Array => withPayload(message, Uint8Array.of(0x18, 0x01));
    const signed = signPayload(Uint8Array.of(0x18, 0x01));
    ingress.receive(peer, spoilt(signMessage({ ...attempt, attempt: 5 }, 1, 1, 0, { commitment: null })));
    ingress.receive(addressOf(9), spoilt(signed));
    ingress.receive(peer, spoilt(good()));
    assert.deepEqual(reasons, ["no-seat", "bad-signature"]);
    ingress.receive(peer, spoilt(signed));
    assert.deepEqual(reasons.slice(2), ["malformed"]);
    assert.deepEqual(delivered, []);
  });

  it("ignores a peer that floods it with bad frames for a minute, but not the others", () => {
    const { ingress, sink, clock, delivered, reasons } = harness();
    ingress.opened(sink);
    const frame = encodeMessage(forged());
    for (let i = 0; i < 2_000; i++) ingress.receive(peer, frame);
    assert.equal(reasons.filter((reason) => reason === "bad-signature").length, 50);
    ingress.receive(peer, encodeMessage(good(1)));
    assert.deepEqual(delivered, []);
    ingress.receive(attempt.committee[2]!.signer, encodeMessage(good(2)));
    assert.equal(delivered.length, 1);
    clock.advance(61_000);
    ingress.receive(peer, encodeMessage(good(3)));
    assert.equal(delivered.length, 2);
  });

  it("ignores a peer sooner that sends long bad frames, which cost more", () => {
    const { ingress, sink, delivered, reasons } = harness();
    ingress.opened(sink);
    const long = encodeMessage(signMessage(attempt, 1, 2, 0, { text: "x".repeat(60_000) }));
    for (let i = 0; i < 100; i++) ingress.receive(peer, long);
    assert.equal(reasons.filter((reason) => reason === "unknown-phase").length, 7);
    ingress.receive(peer, encodeMessage(good()));
    assert.deepEqual(delivered, []);
  });

  it("forgives a bad frame now and then", () => {
    const { ingress, sink, clock, delivered } = harness();
    ingress.opened(sink);
    for (let i = 0; i < 200; i++) {
      ingress.receive(peer, new Uint8Array());
      clock.advance(1_000);
    }
    ingress.receive(peer, encodeMessage(good()));
    assert.equal(delivered.length, 1);
  });

  it("never throws, whatever bytes it gets", () => {
    const { ingress, sink, delivered } = harness();
    ingress.opened(sink);
    fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => ingress.receive(peer, bytes)));
    const valid = encodeMessage(good());
    fc.assert(
      fc.property(fc.nat(valid.length - 1), fc.integer({ min: 1, max: 255 }), (index, flip) => {
        const bent = Uint8Array.from(valid);
        bent[index] = (bent[index] as number) ^ flip;
        ingress.receive(peer, bent);
      }),
    );
    assert.deepEqual(delivered, []);
  });

  it("drops a frame of a closed attempt as `other-attempt`, and blames no peer for it", () => {
    const { ingress, sink, delivered, reasons } = harness();
    ingress.opened(sink);
    ingress.closed(sink);
    for (let i = 0; i < 60; i++) ingress.receive(peer, encodeMessage(good(i)));
    assert.deepEqual(
      reasons,
      Array.from({ length: 60 }, () => "other-attempt"),
    );
    ingress.opened(sink);
    ingress.receive(peer, encodeMessage(good()));
    assert.equal(delivered.length, 1);
  });

  it("keeps a frame of a later attempt until that attempt opens; when it gives the frame up, says why", () => {
    const { ingress, sink, clock, delivered, reasons } = harness();
    ingress.opened(sink);
    const later = { ...attempt, attempt: 5 };
    const ahead = encodeMessage(signMessage(later, 1, 1, 0, { commitment: null }));
    ingress.receive(peer, ahead);
    assert.equal(delivered.length, 0);
    assert.deepEqual(reasons, []);
    ingress.opened({ ...sink, attempt: later });
    assert.deepEqual(
      delivered.map(({ header }) => header.attempt),
      [5],
    );
    ingress.closed({ ...sink, attempt: later });
    const never = encodeMessage(signMessage({ ...attempt, attempt: 6 }, 1, 1, 0, { commitment: null }));
    ingress.receive(peer, never);
    clock.advance(301_000);
    ingress.receive(peer, encodeMessage(signMessage({ ...attempt, attempt: 7 }, 1, 1, 0, { commitment: null })));
    assert.deepEqual(reasons, ["other-attempt"]);
  });

  it("keeps early messages per peer up to the bound, and hands them over when the attempt is known", () => {
    const { ingress, sink, delivered, reasons } = harness();
    for (let i = 0; i < limits.bufferedFramesPerPeer + 10; i++) ingress.receive(peer, encodeMessage(good(i)));
    ingress.receive(attempt.committee[2]!.signer, encodeMessage(good(100_000)));
    ingress.opened(sink);
    assert.equal(delivered.length, limits.bufferedFramesPerPeer + 1);
    assert.equal(delivered[0]?.header.round, 10);
    assert.deepEqual(
      reasons,
      Array.from({ length: 10 }, () => "early-overflow"),
    );
  });

  it("lets early messages expire, and keeps none of an attempt that is over", () => {
    const { ingress, sink, clock, delivered } = harness();
    ingress.receive(peer, encodeMessage(good(1)));
    clock.advance(200_000);
    ingress.receive(peer, encodeMessage(good(2)));
    clock.advance(200_000);
    ingress.opened(sink);
    assert.deepEqual(
      delivered.map(({ header }) => header.round),
      [2],
    );
    ingress.closed(sink);
    ingress.receive(peer, encodeMessage(good(3)));
    ingress.opened(sink);
    assert.equal(delivered.length, 1);
  });

  it("limits the bytes of early messages per peer, and the number of peers", () => {
    const givenUp: string[] = [];
    const frames = createEarlyFrames(createMemoryClock(), (_, of, reason) => void givenUp.push(`${of} ${reason}`));
    const size = 60_000;
    for (let i = 0; i < 20; i++) frames.add(peer, "7.0", new Uint8Array(size).fill(i));
    const kept = frames.take("7.0");
    assert.deepEqual(
      kept.map(({ frame }) => frame[0]),
      [12, 13, 14, 15, 16, 17, 18, 19],
    );
    assert.deepEqual(frames.take("7.0"), []);
    assert.deepEqual(
      givenUp.splice(0),
      Array.from({ length: 12 }, () => "7.0 early-overflow"),
    );
    for (let i = 0; i < 1_000; i++) frames.add(`0x${i}` as Address, `${i % 2}.0`, Uint8Array.of(1));
    frames.add("0x900" as Address, "0.0", Uint8Array.of(2));
    assert.equal(frames.take("0.0").length, 65);
    assert.equal(frames.take("1.0").length, 64);
    assert.equal(givenUp.length, 1_001 - 65 - 64);
  });
});
