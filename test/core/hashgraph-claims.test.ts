import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { digestOf } from "../../agents/core/encoding/codec.ts";
import { hexToBytes, sha256, utf8 } from "../../agents/core/encoding/bytes.ts";
import { conclude } from "../../agents/core/protocols/hashgraph/conclude.ts";
import { EVENTS_PER_SEAT } from "../../agents/core/protocols/hashgraph/config.ts";
import { otherParentFor, stagesDue } from "../../agents/core/protocols/hashgraph/gossip.ts";
import { hashgraph } from "../../agents/core/protocols/hashgraph/index.ts";
import { newestOf, graphViewOf } from "../../agents/core/protocols/hashgraph/view.ts";
import type { Attempt, Message, SeatIndex } from "../../agents/core/types.ts";
import { runCommittee, type CommitteeRun, type SeatScript } from "../support/core/committee.ts";
import {
  CLAIMS,
  claims,
  hashgraphAttempt,
  holds,
  isEvent,
  results,
  run,
  type SendEffect,
} from "../support/core/hashgraph-scripts.ts";
import { GossipWorld, bareEvent, eventMessage, tallyOf } from "../support/core/hashgraph-world.ts";
import { assertBelow, assertExcludes, assertIncludes, assertWithin } from "../support/assertions.ts";

const yes = holds("yes");
const liar = holds("no");
const attempt = hashgraphAttempt(4);
const outcomeOf = (messages: Iterable<Message>, of: Attempt) => {
  const conclusion = conclude(of, tallyOf(messages));
  return conclusion.kind === "final" ? `${conclusion.outcome.status} ${conclusion.outcome.answer}` : "open";
};
const eventsOf = (done: CommitteeRun, seat: number): readonly SendEffect[] =>
  (done.effects[seat] ?? []).filter(isEvent);

describe("hashgraph: what a seat says of itself", () => {
  it("HG20: it is Hung once more than 2/3 have used all or given up, and never by fewer", () => {
    for (const [n, most] of [
      [4, 2],
      [5, 3],
      [6, 4],
      [7, 4],
      [10, 6],
    ] as const) {
      const sized = hashgraphAttempt(n);
      const ended = (seats: number) => {
        const world = new GossipWorld(sized);
        for (let seat = 0; seat < seats; seat++)
          if (seat % 2 === 1) world.event(seat, null, null, { mode: "stuck" });
          else for (let sequence = 0; sequence < EVENTS_PER_SEAT; sequence++) world.event(seat, null);
        return world;
      };
      assert.deepEqual([n, outcomeOf(ended(most).messages, sized)], [n, "open"]);
      assert.deepEqual([n, outcomeOf(ended(most + 1).messages, sized)], [n, "hung "]);
      // Whoever goes on has taken it back.
      const back = ended(most + 1);
      back.event(1, 0);
      assert.deepEqual([n, outcomeOf(back.messages, sized)], [n, "open"]);
    }
  });

  it("HG20: an event that is not in its place says nothing", () => {
    const absent = { ...bareEvent, selfParent: sha256(utf8("absent")) };
    const last = [0, 1, 2, 3].map((seat) => eventMessage(attempt, seat, EVENTS_PER_SEAT - 1, absent));
    const stuck = [0, 1, 2, 3].map((seat) => eventMessage(attempt, seat, 1, { ...absent, mode: "stuck" }));
    assert.equal(outcomeOf([...last, ...stuck], attempt), "open");
  });

  it("HG8, HG13: a seat whose events rest on nobody's is news once, and moves nobody's clock", () => {
    const world = new GossipWorld(attempt);
    const viewNow = () => graphViewOf(attempt, tallyOf(world.messages));
    const stepOf = (seat: number) => otherParentFor(viewNow(), seat as SeatIndex, { kind: "order", stages: [] });
    const clockOf = (seat: number) => newestOf(viewNow(), seat as SeatIndex)?.clock;
    // Seat 0 is always deep enough, and says what it likes; seat 3 is slow.
    let steps = 0;
    world.event(1, null);
    world.event(2, null);
    for (let turn = 0; turn < 40; turn++)
      for (const seat of [0, 0, 0, 1, 2]) {
        if (seat === 0) {
          world.event(0, null, null, { mode: "last", closed: 6 });
          continue;
        }
        const peer = stepOf(seat);
        if (peer === null) continue;
        world.event(seat, peer.seat);
        steps++;
      }
    assert.deepEqual([steps, clockOf(0), clockOf(1), clockOf(2)], [4, 0, 1, 1]);
    // With seat 3 the clock moves, and nothing else is needed for it.
    world.event(3, 1);
    assert.equal(stepOf(1)?.seat, 3);
    assertIncludes([1, 3], stepOf(2)?.seat);
  });

  it("HG13: the order is run if more than 1/3 of the seats wait for it or have it, and not for fewer", () => {
    for (const modes of [["order", "last"] as const, ["last", "last"] as const, ["order", "order"] as const]) {
      const world = new GossipWorld(attempt);
      const due = () => stagesDue(graphViewOf(attempt, tallyOf(world.messages)), false).length > 0;
      for (const seat of [0, 1, 2, 3]) world.event(seat, null, null, { closed: 2 });
      assert.equal(due(), false);
      world.event(0, null, null, { closed: 6, mode: modes[0] });
      assert.equal(due(), false, modes[0]);
      world.event(1, null, null, { closed: 2, mode: modes[1] });
      assert.equal(due(), true, modes.join(" "));
    }
  });

  for (const n of [4, 7])
    it(`HG13, HG20: n = ${n}: with f seats that make free claims and f slow ones, the seats that agree decide, with few events`, () => {
      const f = Math.floor((n - 1) / 3);
      const honest = Array.from({ length: n - f }, (_, seat) => seat);
      const isSlow = (seat: number) => seat < f;
      for (const claim of CLAIMS)
        for (const [seed, slowMs] of [
          [1, 40],
          [2, 160],
        ] as const) {
          const scripts = Array.from({ length: n }, (_, seat) => (seat < n - f ? yes : claims(liar, claim)));
          const latencyOf = (from: number, to: number, draw: number) =>
            (isSlow(from) || isSlow(to) ? slowMs : 1) + (draw % 3);
          const done = runCommittee(hashgraph, hashgraphAttempt(n), scripts, { seed, latencyOf });
          const about = `${claim}, seed ${seed}, ${slowMs} ms`;
          assert.deepEqual(
            results(done, honest),
            honest.map(() => "decided yes"),
            about,
          );
          for (const seat of honest) assertBelow(eventsOf(done, seat).length, n === 4 ? 35 : 50, about);
        }
    });

  it("HG20: an honest seat without events and a silent one leave too few: the others give up, and Hung is certified", () => {
    // Seat 1 has spent its events, and goes on listening and certifying.
    const line: SendEffect[] = [];
    const spent: SeatScript = {
      ...yes,
      say: (effect) => {
        if (effect.phase > 1) return [effect];
        if (effect.round > 5) return [];
        if (effect.round < 5) return [effect];
        while (line.length < EVENTS_PER_SEAT - 5) {
          const last = line.at(-1);
          const selfParent = last === undefined ? effect.payload["selfParent"] : hexToBytes(digestOf(last.payload));
          const payload = { ...effect.payload, selfParent, record: null } as SendEffect["payload"];
          line.push({ ...effect, round: 5 + line.length, payload });
        }
        return line;
      },
    };
    const done = run(hashgraphAttempt(4), [{ ...yes, crashed: true }, spent, yes, yes]);
    assert.deepEqual(results(done, [1, 2, 3]), ["hung ", "hung ", "hung "]);
    const stuck = (seat: number) => eventsOf(done, seat).filter(({ payload }) => payload["mode"] === "stuck");
    // Once more at most, when a root shows what else seat 1 has recorded.
    for (const seat of [2, 3]) assertWithin(stuck(seat).length, 1, 2);
  });

  it("HG20: a seat that waits for slow models does not give up, even if a liar says it has no events left", () => {
    const slow = { ...yes, thinkMs: 9_900 };
    const done = run(hashgraphAttempt(4), [claims(liar, "stuck"), slow, slow, slow]);
    assert.deepEqual(results(done, [1, 2, 3]), ["decided yes", "decided yes", "decided yes"]);
    for (const seat of [1, 2, 3])
      assertExcludes(
        eventsOf(done, seat).map(({ payload }) => payload["mode"]),
        "stuck",
      );
  });
});
