import { expect } from "chai";
import fc from "fast-check";
import { describe, it } from "node:test";
import { encode } from "../../agents/core/codec.ts";
import { limits } from "../../agents/core/limits.ts";
import { encodeMessage } from "../../agents/core/transcript.ts";
import type { Address, Message } from "../../agents/core/types.ts";
import { createIngress, type Sink } from "../../agents/node/ingress.ts";
import type { Log } from "../../agents/ports/log.ts";
import { attemptOf, signMessage } from "../core/committee.ts";

const attempt = attemptOf(4);
const peer = attempt.committee[1]!.signer;
const good = (round = 0): Message => signMessage(attempt, 1, 1, round, { commitment: null });

function harness(): {
  readonly ingress: ReturnType<typeof createIngress>;
  readonly sink: Sink;
  readonly delivered: Message[];
  readonly reasons: string[];
} {
  const reasons: string[] = [];
  const note = (data: object): void => void reasons.push(String((data as { reason?: string }).reason));
  const log: Log = { debug: note, info: note, warn: note, error: note };
  const delivered: Message[] = [];
  const sink: Sink = {
    attempt,
    knows: (header) =>
      delivered.some(
        (message) => message.header.payloadDigest === header.payloadDigest && message.header.round === header.round,
      ),
    deliver: (message) => void delivered.push(message),
  };
  return { ingress: createIngress(log), sink, delivered, reasons };
}

describe("ingress", () => {
  it("delivers a message of a seat, once, from whatever peer relays it", () => {
    const { ingress, sink, delivered } = harness();
    ingress.opened(sink);
    for (const from of [peer, attempt.committee[2]!.signer]) ingress.receive(from, encodeMessage(good()));
    expect(delivered).to.have.length(1);
  });

  it("drops what is malformed, oversize, unsigned, of another seat, attempt or protocol, with its reason", () => {
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
      encodeMessage({ ...message, signature: `0x${"11".repeat(65)}` }),
    ];
    for (const frame of frames) ingress.receive(peer, frame);
    expect(delivered).to.deep.equal([]);
    expect(reasons).to.deep.equal([
      "malformed",
      "malformed",
      "malformed",
      "bad-signature",
      "no-such-seat",
      "other-protocol",
      "bad-signature",
    ]);
  });

  it("never throws, whatever the bytes", () => {
    const { ingress, sink, delivered } = harness();
    ingress.opened(sink);
    fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => ingress.receive(peer, bytes)));
    const valid = encodeMessage(good());
    fc.assert(
      fc.property(fc.nat(valid.length - 1), fc.integer({ min: 1, max: 255 }), (index, flip) => {
        const bent = valid.slice();
        bent[index] = (bent[index] as number) ^ flip;
        ingress.receive(peer, bent);
      }),
    );
    expect(delivered).to.deep.equal([]);
  });

  it("keeps early messages per peer up to the bound, and hands them over when the attempt is known", () => {
    const { ingress, sink, delivered } = harness();
    for (let i = 0; i < limits.bufferedFramesPerPeer + 10; i++) ingress.receive(peer, encodeMessage(good(i)));
    ingress.receive("0x00" as Address, encodeMessage(good(100_000)));
    ingress.opened(sink);
    expect(delivered).to.have.length(limits.bufferedFramesPerPeer + 1);
    expect(delivered[0]?.header.round).to.equal(10);
  });
});
