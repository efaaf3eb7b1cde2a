import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, it } from "node:test";
import { bytesToHex } from "../../agents/core/encoding/bytes.ts";
import { missesParents, missingIn } from "../../agents/core/protocols/hashgraph/gossip.ts";
import type { EventBody } from "../../agents/core/protocols/hashgraph/payloads.ts";
import {
  emptyGraphView,
  extendGraphView,
  graphViewOf,
  type GraphView,
} from "../../agents/core/protocols/hashgraph/view.ts";
import { limits } from "../../agents/core/limits.ts";
import { addMessage, emptyTally } from "../../agents/core/seat/tally.ts";
import type { Attempt, Digest, Message, SeatIndex } from "../../agents/core/types.ts";
import { generator } from "../support/core/committee.ts";
import { hashgraphAttempt } from "../support/core/hashgraph-scripts.ts";
import { bareEvent, eventMessage, GossipWorld, tallyOf } from "../support/core/hashgraph-world.ts";
import { assertIncludes, assertWithin } from "../support/assertions.ts";

/** An event on its creator's event before; null begins the line. */
function next(attempt: Attempt, seat: number, before: Message | null, change: Partial<EventBody> = {}): Message {
  const selfParent = before?.header.payloadDigest ?? null;
  return eventMessage(attempt, seat, before === null ? 0 : before.header.round + 1, {
    ...bareEvent,
    selfParent,
    ...change,
  });
}

function lineOf(attempt: Attempt, seat: number, length: number, first = next(attempt, seat, null)): readonly Message[] {
  const line = [first];
  while (line.length < length) line.push(next(attempt, seat, line.at(-1) as Message));
  return line;
}

const refer = ({ header }: Message) => ({
  seat: header.seat,
  sequence: header.round,
  digest: header.payloadDigest,
});

/** The view after all of these have arrived one by one, and how often any of them was looked at meanwhile. */
function arrive(attempt: Attempt, messages: readonly Message[]): { readonly view: GraphView; readonly visits: number } {
  let tally = emptyTally;
  let view = emptyGraphView(attempt);
  let visits = 0;
  let isCounting = false;
  for (const { header, payload, signature } of messages) {
    const message: Message = {
      get header() {
        if (isCounting) visits++;
        return header;
      },
      payload,
      signature,
    };
    tally = addMessage(tally, message).tally;
    isCounting = true;
    view = extendGraphView(view, tally, message);
    isCounting = false;
  }
  return { view, visits };
}

describe("the view of a hashgraph", () => {
  it("HG4: a waiting event is read a few times in all, in any order that a peer shows its events", () => {
    const attempt = hashgraphAttempt(31);
    const counts = [30, 60, 120].map((length) => {
      const newestFirst = lineOf(attempt, 0, length).toReversed();
      const { view, visits } = arrive(attempt, newestFirst);
      assert.deepEqual([view.told.length, view.waitingCount], [length, 0]);
      const held = arrive(attempt, newestFirst.slice(0, -1));
      assert.deepEqual([held.view.told.length, held.view.waitingCount], [0, length - 1]);
      return [visits / length, held.visits / (length - 1)] as const;
    });
    for (const [all, held] of counts) {
      assertWithin(all, 1, 24);
      assertWithin(held, 1, 12);
    }
    assert.equal(counts.at(-1)?.[1], counts[0]?.[1]);
  });

  it("HG4: many events that wait for one parent cost the others nothing, and join with it", () => {
    const attempt = hashgraphAttempt(31);
    const [root, absent] = [next(attempt, 0, null), next(attempt, 1, null)];
    const seats = Array.from({ length: 29 }, (_, at) => at + 2);
    const onRoot = seats.map((seat) => next(attempt, seat, null, { otherParent: refer(root) }));
    const onBoth = onRoot.map((one) => next(attempt, one.header.seat, one, { otherParent: refer(absent) }));
    const waiting = [...onBoth, ...onRoot];
    const before = arrive(attempt, waiting);
    assert.deepEqual([before.view.told.length, before.view.waitingCount], [0, 58]);
    const after = arrive(attempt, [...waiting, root]);
    assert.deepEqual([after.view.told.length, after.view.waitingCount], [30, 29]);
    // Lines of nobody's concern arrive while they wait.
    const others = lineOf(attempt, 1, 100, next(attempt, 1, null, { time: 9 }));
    const alone = arrive(attempt, others);
    assert.equal(arrive(attempt, [...waiting, ...others]).visits - before.visits - alone.visits, 0);
  });

  /** The least deep slots of an honest line, each with a payload that its seat never signed. */
  const inventions = (attempt: Attempt, of: number, count: number) =>
    Array.from({ length: count }, (_, at) => ({
      ...refer(next(attempt, of, null, { time: 1000 + at })),
      sequence: at % 8,
    }));

  it("HG14: a seat asks for the parents of an honest seat's events, however many parents a liar invents", () => {
    const attempt = hashgraphAttempt(4);
    const [alsoAbsent, absent] = lineOf(attempt, 2, 12).slice(-2) as [Message, Message];
    const lies: Message[] = [];
    for (const otherParent of inventions(attempt, 1, 40))
      lies.push(next(attempt, 0, lies.at(-1) ?? null, { otherParent }));
    // One misses its own other-parent, the next that of a proven forker's event on which it rests.
    const own = lineOf(attempt, 1, 20);
    const honest = next(attempt, 1, own.at(-1) as Message, { otherParent: refer(absent) });
    const forked = next(attempt, 3, null, { otherParent: refer(alsoAbsent) });
    const heard = next(attempt, 1, honest, { otherParent: refer(forked) });
    const tally = tallyOf([...lies, ...own, honest, forked, next(attempt, 3, null), heard]);
    const wants = missingIn(graphViewOf(attempt, tally), tally);
    assert.equal(wants.length, 16);
    assertIncludes(wants, refer(absent));
    assertIncludes(wants, refer(alsoAbsent));
  });

  it("HG14: a seat does not ask for parents that only a proven forker's events miss, or for a third event of a slot", () => {
    const attempt = hashgraphAttempt(4);
    const [a, b, third] = [1, 2, 3].map((time) => next(attempt, 0, null, { time })) as [Message, Message, Message];
    const lies = inventions(attempt, 1, 8).map((otherParent) => next(attempt, 0, a, { otherParent }));
    const before = tallyOf([a, ...lies.slice(0, 1)]);
    assert.equal(missesParents(graphViewOf(attempt, before)), true);
    const after = tallyOf([a, b, ...lies]);
    assert.equal(missesParents(graphViewOf(attempt, after)), false);
    assert.deepEqual(missingIn(graphViewOf(attempt, after), after), []);
    // Its self-parent can be had; there is no room for its other-parent.
    const lost = next(attempt, 1, null);
    const tally = tallyOf([a, b, next(attempt, 1, lost, { otherParent: refer(third) })]);
    assert.deepEqual(missingIn(graphViewOf(attempt, tally), tally), [refer(lost)]);
  });

  it("HG5: ever other sets of events, which liars can offer as roots, do not fill the memory", () => {
    const attempt = hashgraphAttempt(4);
    const places: number[] = [];
    for (let root = 0; root < 90; root++) {
      const line = lineOf(attempt, 0, 120, next(attempt, 0, null, { time: root }));
      const { told } = graphViewOf(attempt, tallyOf(line));
      assert.equal(told.length, line.length);
      places.push(told.at(-1)?.node.index ?? -1);
    }
    assertWithin(Math.max(...places), 120, 2 * limits.messagesPerTranscript + 120);
  });

  it("HG5: a view grows on where it began, whatever other sets were read since", () => {
    const attempt = hashgraphAttempt(4);
    const world = new GossipWorld(attempt);
    const seats = [0, 1, 2, 3];
    const random = generator(1);
    for (const seat of seats) world.event(seat, null);
    while (world.messages.length < 60) world.pair(seats, random);
    let tally = emptyTally;
    let view = emptyGraphView(attempt);
    for (const [time, message] of world.messages.entries()) {
      tally = addMessage(tally, message).tally;
      view = extendGraphView(view, tally, message);
      for (const more of [0.5, 1])
        graphViewOf(attempt, tallyOf(lineOf(attempt, 0, 120, next(attempt, 0, null, { time: 2 * (time + more) }))));
    }
    const roundsIn = ({ told }: GraphView) =>
      told.map(({ seat, sequence, clock, node }) => `${seat}.${sequence}: ${clock}, ${node.round}`).toSorted();
    const read = graphViewOf(hashgraphAttempt(4), tallyOf(world.messages));
    assert.deepEqual(roundsIn(view), roundsIn(read));
    assertIncludes(roundsIn(view).join("\n"), ", 3");
  });

  it("HG4, HG6: with forks and lost events, too, the order of arrival changes nothing", () => {
    fc.assert(
      fc.property(fc.nat(1_000_000), (seed) => {
        const attempt = hashgraphAttempt(4);
        const random = generator(seed);
        const all: Message[] = [];
        // Seats 0 and 1 fork, up to three times a slot; anybody may refer to anything.
        for (let made = 0; made < 60; made++) {
          const seat = random() % 4;
          const own = all.filter(({ header }) => header.seat === seat);
          const others = all.filter(({ header }) => header.seat !== seat);
          const before = (seat < 2 && random() % 3 === 0 ? own[random() % own.length] : own.at(-1)) ?? null;
          const other = others[random() % others.length];
          const otherParent = other === undefined || random() % 4 === 0 ? null : refer(other);
          all.push(next(attempt, seat, before, { otherParent, time: made }));
        }
        const kept = [...tallyOf(all.filter(() => random() % 20 !== 0)).rounds.values()].flatMap((slots) =>
          [...slots.values()].flat(),
        );
        const shuffled = kept
          .map((message) => ({ message, key: random() }))
          .toSorted((a, b) => a.key - b.key)
          .map(({ message }) => message);
        assert.deepEqual(shapeOf(arrive(attempt, shuffled).view), shapeOf(graphViewOf(attempt, tallyOf(kept))));
        assert.deepEqual(shapeOf(arrive(attempt, shuffled).view), closureOf(kept));
      }),
      { numRuns: 60 },
    );
  });
});

const nameOf = (seat: SeatIndex, sequence: number, digest: Digest) => `${seat}.${sequence}.${digest}`;
const nameIn = ({ header }: Message) => nameOf(header.seat, header.round, header.payloadDigest);

/** What is in the graph and what waits. */
function shapeOf(view: GraphView): { readonly told: readonly string[]; readonly waits: number } {
  const told = view.told.map(({ seat, sequence, digest }) => nameOf(seat, sequence, digest));
  assert.equal(view.waiting.flat().length, view.waitingCount);
  return { told: told.toSorted(), waits: view.waitingCount };
}

/** HG4 and HG6 by the letter: again and again over all of them until nothing changes. */
function closureOf(kept: readonly Message[]): { readonly told: readonly string[]; readonly waits: number } {
  const fates = new Map<string, "told" | "dead">();
  const fateOf = (seat: SeatIndex, sequence: number, digest: Digest): "told" | "never" | "waits" => {
    const name = nameOf(seat, sequence, digest);
    const fate = fates.get(name);
    if (fate !== undefined) return fate === "told" ? "told" : "never";
    const slot = kept.filter(({ header }) => header.seat === seat && header.round === sequence);
    return slot.length > 1 && !slot.some((one) => nameIn(one) === name) ? "never" : "waits";
  };
  for (let before = -1; before !== fates.size;) {
    before = fates.size;
    for (const message of kept) {
      const { seat, round } = message.header;
      const body = message.payload as unknown as { selfParent: Uint8Array | null; otherParent: EncodedRef | null };
      const self = body.selfParent === null ? "told" : fateOf(seat, round - 1, digestFrom(body.selfParent));
      const { otherParent: ref } = body;
      const other = ref === null ? "told" : fateOf(ref.seat, ref.sequence, digestFrom(ref.digest));
      if (self !== "waits" && other !== "waits") fates.set(nameIn(message), self === "never" ? "dead" : "told");
    }
  }
  const told = [...fates].flatMap(([name, fate]) => (fate === "told" ? [name] : []));
  return { told: told.toSorted(), waits: kept.length - fates.size };
}

interface EncodedRef {
  readonly seat: SeatIndex;
  readonly sequence: number;
  readonly digest: Uint8Array;
}

const digestFrom = (bytes: Uint8Array) => bytesToHex(bytes) as Digest;
