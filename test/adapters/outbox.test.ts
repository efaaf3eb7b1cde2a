import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMemoryClock } from "../../agents/adapters/memory/clock.ts";
import { limits } from "../../agents/core/limits.ts";
import { decodeMessage } from "../../agents/core/encoding/transcript.ts";
import type { Address, Message } from "../../agents/core/types.ts";
import { createOutbox, type Outbox } from "../../agents/node/seat/outbox.ts";
import { createResend } from "../../agents/node/seat/resend.ts";
import type { Session } from "../../agents/node/seat/session.ts";
import type { Network } from "../../agents/ports/network.ts";
import { addressOf, attemptOf, signMessage } from "../support/core/committee.ts";

const attempt = attemptOf(4);
const peers = [1, 2, 3].map(addressOf);
const lifetime = new AbortController().signal;
const say = (phase: number, round: number, seat = 0): Message => signMessage(attempt, seat, phase, round, null);
const place = ({ header }: Message): string => `${header.phase}.${header.round}`;

function harness(): {
  readonly outbox: Outbox;
  readonly network: Network;
  readonly clock: ReturnType<typeof createMemoryClock>;
  readonly sent: { readonly to: Address; readonly message: Message }[];
} {
  const sent: { readonly to: Address; readonly message: Message }[] = [];
  const network = {
    send: (to, frame) => void sent.push({ to, message: decodeMessage(frame)! }),
  } as Pick<Network, "send"> as Network;
  const clock = createMemoryClock();
  return { outbox: createOutbox(peers, network, clock), network, clock, sent };
}

describe("what a session sends", () => {
  it("relays a message a few times at most, no matter how often it is asked to", () => {
    const { outbox, sent } = harness();
    for (let round = 0; round < 64; round++) outbox.forward([say(202, 0, 1), say(202, 0, 2)]);
    assert.equal(sent.length, 3 * 2 * peers.length);
    outbox.forward([say(202, 1, 1)]);
    assert.equal(sent.length, 3 * 2 * peers.length + peers.length);
  });

  it("relays again for peers that were cut off, less and less often", () => {
    const { outbox, clock, sent } = harness();
    const secondsOfRelays: number[] = [];
    for (let second = 0; second < 64; second++) {
      for (let asked = 0; asked < 5; asked++) outbox.forward([say(202, 0, 1)]);
      for (const relayed of sent.splice(0)) if (relayed.to === peers[0]) secondsOfRelays.push(second);
      clock.advance(1_000);
    }
    assert.deepEqual(secondsOfRelays, [0, 0, 0, 1, 3, 7, 15, 31, 63]);
  });

  it("offers the latest vote first, then the last relayed messages", () => {
    const { outbox } = harness();
    for (const [phase, round] of [
      [1, 0],
      [2, 0],
      [1, 1],
      [201, 0],
      [202, 0],
      [202, 1],
    ] as const)
      outbox.publish(say(phase, round));
    outbox.forward([say(3, 0, 1)]);
    outbox.forward([say(202, 0, 2)]);
    assert.deepEqual(outbox.backlog().map(place), ["202.1", "202.0", "201.0", "1.1", "2.0", "1.0", "202.0"]);
  });

  it("CE17: keeps the precommits of the round left last for a disconnected peer, even if other messages are relayed later", () => {
    const { outbox } = harness();
    const left = (round: number) => [0, 1, 2].map((seat) => say(203, round, seat));
    const others = () =>
      outbox
        .backlog()
        .map(place)
        .filter((one) => one.startsWith("203"));
    outbox.forward(left(0));
    // A step of CE7, evidence of one seat (CE8), and what a deliberation hands on.
    outbox.forward([say(201, 0, 3), say(202, 0, 1), say(202, 0, 2)]);
    outbox.forward([say(203, 9, 3), signMessage(attempt, 3, 203, 9, { two: 2 })]);
    outbox.forward([say(1, 7, 3)]);
    assert.deepEqual(outbox.backlog().map(place), ["203.0", "203.0", "203.0", "1.7"]);
    outbox.forward(left(1));
    assert.deepEqual(others(), ["203.1", "203.1", "203.1"]);
    const again = harness();
    again.outbox.restore([], [left(0), left(1), [say(203, 9, 3)], [say(1, 7, 3)]], lifetime);
    assert.deepEqual(again.outbox.backlog().map(place).slice(0, 3), ["203.1", "203.1", "203.1"]);
    for (let round = 0; round < 9; round++) outbox.forward(left(1));
    assert.equal(others().length, 3);
  });

  it("sends own messages and each past relay once after a restart, in bursts that fit a queue", () => {
    const { outbox, clock, sent } = harness();
    const own = Array.from({ length: 100 }, (_, round) => say(202, round));
    const relayed = Array.from({ length: 1_000 }, (_, index) => say(202, index % 300, 1));
    outbox.restore(own, [relayed.slice(0, 10), relayed.slice(10)], lifetime);
    assert.equal(sent.length, 64 * peers.length);
    assert.equal(sent[0]!.message.header.round, 99);
    clock.advance(60_000);
    assert.equal(sent.length, (100 + limits.bufferedFramesPerPeer) * peers.length);
    const stop = new AbortController();
    const other = harness();
    other.outbox.restore(own, [], stop.signal);
    stop.abort();
    other.clock.advance(60_000);
    assert.equal(other.sent.length, 64 * peers.length);
    assert.equal(other.clock.pending, 0);
  });
});

describe("what a peer that came back is told", () => {
  const sessionOf = (messages: readonly Message[], seats = 4): { open: boolean } & Session =>
    ({
      open: true,
      attempt: attemptOf(seats),
      backlog: () => messages,
      closed(this: { open: boolean }) {
        return !this.open;
      },
    }) as unknown as { open: boolean } & Session;

  it("is the most urgent message of every duty first, paced, and nothing of committees that the peer is not in", () => {
    const { network, clock, sent } = harness();
    const resend = createResend({ network, clock }, lifetime);
    const first = sessionOf(Array.from({ length: 100 }, (_, round) => say(202, round)));
    const second = sessionOf(Array.from({ length: 100 }, (_, round) => say(203, round)));
    resend(addressOf(3), [first, second]);
    assert.deepEqual(sent.map(({ message }) => place(message)).slice(0, 4), ["202.0", "203.0", "202.1", "203.1"]);
    assert.equal(sent.length, 64);
    second.open = false;
    clock.advance(60_000);
    assert.equal(sent.filter(({ message }) => message.header.phase === 202).length, 100);
    assert.equal(sent.filter(({ message }) => message.header.phase === 203).length, 32);
    resend(addressOf(9), [first]);
    assert.equal(sent.length, 132);
  });

  it("starts over when the peer comes back again meanwhile", () => {
    const { network, clock, sent } = harness();
    const resend = createResend({ network, clock }, lifetime);
    const session = sessionOf(Array.from({ length: 100 }, (_, round) => say(202, round)));
    for (let times = 0; times < 3; times++) resend(addressOf(3), [session]);
    clock.advance(60_000);
    assert.equal(sent.length, 64 + 64 + 100);
  });
});
