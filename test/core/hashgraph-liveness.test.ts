import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { hexToBytes } from "../../agents/core/encoding/bytes.ts";
import type { Protocol } from "../../agents/core/protocol.ts";
import { EVENTS_PER_SEAT } from "../../agents/core/protocols/hashgraph/config.ts";
import { otherParentFor, stagesDue } from "../../agents/core/protocols/hashgraph/gossip.ts";
import { hashgraph } from "../../agents/core/protocols/hashgraph/index.ts";
import type { HashgraphState } from "../../agents/core/protocols/hashgraph/state.ts";
import { newestOf, graphViewOf } from "../../agents/core/protocols/hashgraph/view.ts";
import type { Message, SeatIndex } from "../../agents/core/types.ts";
import { runCommittee, type CommitteeRun, type SeatScript } from "../support/core/committee.ts";
import {
  claims,
  growLine,
  hashgraphAttempt,
  holds,
  isEvent,
  results,
  type SendEffect,
} from "../support/core/hashgraph-scripts.ts";
import { GossipWorld, commitRecord, tallyOf } from "../support/core/hashgraph-world.ts";
import { assertAbove, assertBelow, assertExcludes, assertIncludes } from "../support/assertions.ts";

const attempt = hashgraphAttempt(4);
const yes = holds("yes");
const no = holds("no");
const slow = (thinkMs: number): SeatScript => ({ ...yes, thinkMs });

type Act = (sent: readonly SendEffect[], state: HashgraphState, self: number) => readonly SendEffect[];

/** These seats hand nothing on, and send what `act` makes of their events. */
function bent(liars: readonly number[], act: Act): Protocol<HashgraphState> {
  return {
    ...hashgraph,
    step: (state, context, tally, input) => {
      const course = hashgraph.step(state, context, tally, input);
      if (!liars.includes(context.self)) return course;
      const rest = course.effects.filter((effect) => effect.kind !== "forward" && !isEvent(effect));
      return { ...course, effects: [...rest, ...act(course.effects.filter(isEvent), course.state, context.self)] };
    },
  };
}

const stageIn = ({ payload }: SendEffect): number => (payload["record"] as { stage: number } | null)?.stage ?? -1;
const closedIn = ({ payload }: SendEffect): number => payload["closed"] as number;
const isAt = (sent: SendEffect, stage: number): boolean => stageIn(sent) >= stage || closedIn(sent) >= stage;
const changed = (sent: SendEffect, change: Record<string, unknown>): SendEffect =>
  ({ ...sent, payload: { ...sent.payload, ...change } }) as SendEffect;

/** Helps two rounds, then says in an event that rests on nobody's that it has closed all, once these wait for the order. */
function burns(liars: readonly number[], waiting: readonly number[]): Protocol<HashgraphState> {
  const silent = new Set<number>();
  const done = new Set<number>();
  return bent(liars, (sent, { graph }, self) => {
    const ending = sent.some((one) => isAt(one, 3) || one.payload["mode"] !== "gossip");
    if (ending) silent.add(self);
    if (!silent.has(self)) return sent;
    const own = newestOf(graph, self as SeatIndex);
    const areWaiting = waiting.every((seat) => newestOf(graph, seat as SeatIndex)?.body.mode === "order");
    if (done.has(self) || !areWaiting || own === null) return [];
    done.add(self);
    const payload = {
      selfParent: hexToBytes(own.digest),
      otherParent: null,
      time: own.body.time + 1,
      closed: 6,
      mode: "gossip",
      wants: [],
      record: null,
    };
    return [{ kind: "send", phase: 1, round: own.sequence + 1, payload }];
  });
}

/** Falls silent with the first event that ends two rounds. */
function crashesAtOrder(seat: number): Protocol<HashgraphState> {
  let isSilent = false;
  return bent([seat], (sent) => {
    const heard = isSilent ? [] : sent;
    isSilent ||= sent.some((one) => closedIn(one) >= 3 || one.payload["mode"] !== "gossip");
    return heard;
  });
}

/** Takes part, closes nothing, and says at a stage that it is stuck. */
function givesUpAt(liars: readonly number[], stage: number): Protocol<HashgraphState> {
  const silent = new Set<number>();
  return bent(liars, (sent, _, self) =>
    sent.flatMap((one) => {
      if (silent.has(self)) return [];
      if (!isAt(one, stage)) return [changed(one, { closed: 0 })];
      silent.add(self);
      return [changed(one, { closed: 0, mode: "stuck", record: null })];
    }),
  );
}

const modesOf = (done: CommitteeRun, seat: number): readonly unknown[] =>
  (done.effects[seat] ?? []).filter(isEvent).map(({ payload }) => payload["mode"]);

function expectYes(done: CommitteeRun, honest: readonly number[], most: number): void {
  assert.deepEqual(
    results(done, honest),
    honest.map(() => "decided yes"),
  );
  for (const seat of honest) assertBelow(modesOf(done, seat).length, most);
}

describe("hashgraph: who falls silent, is slow or is cut off", () => {
  for (const [latencyMs, seed] of [
    [3, 1],
    [20, 2],
  ] as const)
    it(`HG13: an event that rests on nobody's makes no seat spend events: n = 4, ${latencyMs} ms, seed ${seed}`, () => {
      const scripts = [slow(10), yes, yes, slow(3_000)];
      expectYes(runCommittee(burns([0], [1, 2]), attempt, scripts, { seed, latencyMs }), [1, 2, 3], 35);
    });

  it("HG13: the same holds for f = 2 of seven seats", () => {
    const scripts = [yes, yes, yes, yes, yes, slow(9_000), slow(9_000)];
    const done = runCommittee(burns([0, 1], [2, 3, 4]), hashgraphAttempt(7), scripts, { seed: 1, latencyMs: 5 });
    expectYes(done, [2, 3, 4, 5, 6], 50);
  });

  for (const seed of [3, 5])
    it(`HG13: an honest seat that is lost once it waits for the order makes no seat spend events: seed ${seed}`, () => {
      const scripts = [slow(10), yes, yes, slow(9_900)];
      expectYes(runCommittee(crashesAtOrder(0), attempt, scripts, { seed, latencyMs: 3 }), [1, 2, 3], 35);
    });

  for (const stage of [3, 4])
    it(`HG20: nobody gives up while an honest seat that is stages behind makes progress: a liar is stuck at stage ${stage}`, () => {
      const done = runCommittee(givesUpAt([0], stage), attempt, [no, yes, yes, slow(9_900)], { seed: 1 });
      expectYes(done, [1, 2, 3], 35);
      for (const seat of [1, 2, 3]) assertExcludes(modesOf(done, seat), "stuck");
    });

  it("HG20: the same holds if two of seven seats are such liars", () => {
    const scripts = [no, no, yes, yes, yes, slow(7_000), slow(7_000)];
    const done = runCommittee(givesUpAt([0, 1], 4), hashgraphAttempt(7), scripts, { seed: 1 });
    expectYes(done, [2, 3, 4, 5, 6], 40);
  });

  it("HG20: a seat that said in an outage that it is stuck takes it back when it hears the others, and all decide", () => {
    const done = outage(claims(no, "stuck"), 24_000);
    expectYes(done, [1, 2, 3], 35);
    const said = [1, 2, 3].map((seat) => modesOf(done, seat).filter((mode) => mode === "stuck").length);
    assert.equal(Math.max(...said), 1, "somebody was stuck");
  });

  it("HG20: while everybody has events left, nobody gives up, however long an outage is", () => {
    const done = outage({ ...no, crashed: true }, 40_000);
    expectYes(done, [1, 2, 3], 35);
    for (const seat of [1, 2, 3]) assertExcludes(modesOf(done, seat), "stuck");
  });

  it("HG20: the clock of the order counts as progress if no seat has a record to say", () => {
    const steps: string[] = [];
    const watched: Protocol<HashgraphState> = {
      ...hashgraph,
      step: (state, context, tally, input) => {
        const course = hashgraph.step(state, context, tally, input);
        steps[context.self] = course.state.step;
        return course;
      },
    };
    const latencyOf = (from: number, _: number, draw: number) => (steps[from] === "order" ? 4_000 : 1) + (draw % 20);
    const done = runCommittee(watched, attempt, [claims(no, "stuck"), yes, yes, no], { seed: 1, latencyOf });
    assertAbove(done.elapsedMs, 30_000);
    assert.deepEqual(results(done, [1, 2, 3]), ["decided yes", "decided yes", "decided yes"]);
    for (const seat of [1, 2, 3]) assertExcludes(modesOf(done, seat), "stuck");
  });

  it("HG20: a seat says only once that it is stuck", () => {
    const crashed = { ...yes, crashed: true };
    const done = runCommittee(hashgraph, attempt, [claims(no, "stuck"), yes, crashed, crashed]);
    assert.deepEqual(modesOf(done, 1), ["gossip", "stuck"]);
    assert.deepEqual(results(done, [1]), ["nothing"]);
  });

  it("HG20: a seat that is stuck says so in all its events while nothing moves, also in those that ask for parents", () => {
    const asks = bent([2], (sent) =>
      sent.map((one) => ({ ...changed(one, { selfParent: new Uint8Array(32).fill(1), record: null }), round: 5 })),
    );
    const scripts = [claims(no, "stuck"), yes, yes, { ...yes, crashed: true }];
    const modes = modesOf(runCommittee(asks, attempt, scripts), 1);
    const since = modes.slice(modes.indexOf("stuck"));
    assertAbove(since.length, 2);
    assert.deepEqual(
      since,
      since.map(() => "stuck"),
    );
  });
});

/** Until a seat is past its first stage, what it says takes that long to come to the other honest ones. */
function outage(liar: SeatScript, outageMs: number): CommitteeRun {
  const stages: number[] = [];
  const watched: Protocol<HashgraphState> = {
    ...hashgraph,
    step: (state, context, tally, input) => {
      const course = hashgraph.step(state, context, tally, input);
      stages[context.self] = course.state.stage;
      return course;
    },
  };
  const latencyOf = (from: number, to: number, draw: number) =>
    from !== 0 && to !== 0 && stages[from] === 0 ? outageMs + (draw % 10) : 1 + (draw % 20);
  return runCommittee(watched, attempt, [liar, yes, yes, yes], { seed: 1, latencyOf });
}

/** All its events on nobody's, each with the record of stage 0 again; hands nothing on. */
function repeats(script: SeatScript): SeatScript {
  const line: SendEffect[] = [];
  return {
    ...script,
    hoards: true,
    say: (effect: SendEffect) => {
      if (effect.phase !== 1 || effect.round > 0) return [];
      growLine(line, effect, EVENTS_PER_SEAT);
      return line;
    },
  };
}

describe("hashgraph: a record said again", () => {
  for (const n of [4, 7])
    it(`HG8: n = ${n}: a seat that repeats its record in every event makes nobody spend events`, () => {
      let sent = 0;
      const latencyOf = (from: number, _: number, draw: number) =>
        from === 0 ? 60 + 8 * (sent++ % EVENTS_PER_SEAT) : 1 + (draw % 10);
      const honest = Array.from({ length: n - 1 }, (_, index) => index + 1);
      const done = runCommittee(hashgraph, hashgraphAttempt(n), [repeats(yes), ...honest.map(() => yes)], {
        seed: 1,
        latencyOf,
      });
      assert.deepEqual(
        results(done, honest),
        honest.map(() => "decided yes"),
      );
      for (const seat of honest) assertBelow((done.effects[seat] ?? []).filter(isEvent).length, 35);
    });
});

describe("hashgraph: which other-parent, and when", () => {
  const viewNow = (world: GossipWorld) => graphViewOf(attempt, tallyOf(world.messages));
  const chosen = (world: GossipWorld, self: number, stages: readonly number[] = []) =>
    otherParentFor(viewNow(world), self as SeatIndex, { kind: "order", stages })?.seat ?? null;
  const toldIn = (world: GossipWorld, { header }: Message) =>
    viewNow(world).told.filter(({ seat, sequence }) => seat === header.seat && sequence === header.round);

  it("HG8: a step waits until more than 2/3 of the seats are as deep, or until it brings all that is missing", () => {
    const waiting = () => {
      const world = new GossipWorld(attempt);
      const said = [1, 2].map((seat) => world.event(seat, null, commitRecord(attempt, seat, "yes")));
      for (let depth = 0; depth < 3; depth++) world.event(0, null);
      world.event(3, 1);
      const cover = () => {
        const events = said.flatMap((message) => toldIn(world, message));
        return otherParentFor(viewNow(world), 0 as SeatIndex, { kind: "cover", events })?.seat ?? null;
      };
      return { world, cover };
    };
    const deep = waiting();
    assert.equal(deep.cover(), null);
    for (const seat of [1, 1, 3]) deep.world.event(seat, null);
    assertIncludes([1, 2, 3], deep.cover());
    const whole = waiting();
    whole.world.event(3, 2);
    assert.equal(whole.cover(), 3);
  });

  it("HG8: a seat whose event moves the clock does not wait for the others' depth", () => {
    const world = new GossipWorld(attempt);
    for (let depth = 0; depth < 5; depth++) world.event(0, null);
    world.event(2, null);
    assert.equal(chosen(world, 0), null);
    world.event(1, 2);
    assert.equal(chosen(world, 0), 1);
  });

  it("HG8: a seat far behind comes before the one with the most news", () => {
    const world = new GossipWorld(attempt);
    for (const seat of [0, 1, 2]) world.event(seat, null);
    for (let turn = 0; turn < 12; turn++) world.event(turn % 3, (turn + 2) % 3);
    const own = newestOf(viewNow(world), 0 as SeatIndex);
    assertAbove(own?.clock, 2);
    for (let turn = 0; turn < 6; turn++) world.event(1 + (turn % 2), 2 - (turn % 2));
    assertIncludes([1, 2], chosen(world, 0));
    world.event(3, null);
    assert.equal(chosen(world, 0), 3);
  });

  it("HG13: a closed round that is due is news, at any depth, until more than 2/3 of the seats stated it", () => {
    for (const [stating, expected] of [
      [[0, 1], 3],
      [[0, 1, 2], null],
    ] as const) {
      const world = new GossipWorld(attempt);
      const closing = { mode: "order", closed: 3 } as const;
      for (const seat of [0, 1, 2, 3]) world.event(seat, null, null, stating.includes(seat as 0) ? closing : {});
      for (const peer of [1, 2, 3]) world.event(0, peer, null, closing);
      assert.equal(chosen(world, 0, [1, 2]), null);
      // Nobody rests on it, its clock is known, and seat 0 is deeper than all.
      world.event(3, null, null, closing);
      assert.deepEqual(stagesDue(viewNow(world), true), [1, 2]);
      assert.equal(chosen(world, 0, [1, 2]), expected);
      assert.equal(chosen(world, 0), null);
    }
  });
});
