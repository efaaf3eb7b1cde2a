import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { digestOf } from "../../agents/core/encoding/codec.ts";
import type { Effect, Input, SeatContext } from "../../agents/core/protocol.ts";
import { conclude } from "../../agents/core/protocols/hashgraph/conclude.ts";
import { hashgraph } from "../../agents/core/protocols/hashgraph/index.ts";
import type { HashgraphState } from "../../agents/core/protocols/hashgraph/state.ts";
import { addMessage, emptyTally, type Tally } from "../../agents/core/seat/tally.ts";
import type { Message, SeatIndex } from "../../agents/core/types.ts";
import { keyOf, timing } from "../support/core/committee.ts";
import { hashgraphAttempt, isEvent, type SendEffect } from "../support/core/hashgraph-scripts.ts";
import { GossipWorld, bareEvent, eventMessage, tallyOf } from "../support/core/hashgraph-world.ts";
import { assertIncludes } from "../support/assertions.ts";

const attempt = hashgraphAttempt(4);
const stuck = { mode: "stuck" } as const;

/** One honest seat whose model never answers, without a host: what it sends comes back when the test says so. */
class LoneSeat {
  private readonly context: SeatContext;
  private state: HashgraphState;
  private tally: Tally = emptyTally;

  constructor(seat: number) {
    this.context = { attempt, self: seat as SeatIndex, secret: keyOf(seat), timing };
    this.state = hashgraph.start(this.context).state;
  }

  get hasConcluded(): boolean {
    return hashgraph.closed(this.state) !== null;
  }

  hears(...messages: readonly Message[]): readonly Effect[] {
    return messages.flatMap((message) => {
      this.tally = addMessage(this.tally, message).tally;
      return this.takes({ kind: "message", message });
    });
  }

  waits(timer: string): readonly Effect[] {
    return this.takes({ kind: "elapsed", timer });
  }

  /** What the seat signs is back from the host. */
  signs({ phase, round, payload }: SendEffect): readonly Effect[] {
    const { request, attempt: number } = attempt;
    const seat = this.context.self;
    const own = { requestId: request.id, attempt: number, protocol: hashgraph.code, seat };
    const header = { ...own, phase, round, payloadDigest: digestOf(payload) };
    return this.hears({ header, payload, signature: `0x${"00".repeat(65)}` });
  }

  private takes(input: Input): readonly Effect[] {
    const stepped = hashgraph.step(this.state, this.context, this.tally, input);
    this.state = stepped.state;
    return stepped.effects;
  }
}

const timersIn = (effects: readonly Effect[]) =>
  effects.flatMap((effect) => (effect.kind === "wait" ? [effect.timer] : []));

describe("hashgraph: who is stuck, by single steps", () => {
  it("HG20: the seat's own stuck event is no progress, however long it is on its way", () => {
    const world = new GossipWorld(attempt);
    const seat = new LoneSeat(1);
    const heard = [world.event(3, null), world.event(2, 3), world.event(0, null, null, stuck)];
    assert.deepEqual(timersIn(seat.hears(...heard)), ["stuck.0"]);
    const said = seat.waits("stuck.0").filter(isEvent);
    assert.deepEqual(
      said.map(({ payload }) => payload["mode"]),
      ["stuck"],
    );
    // It moves the own clock: seats 2 and 3 are among its ancestors.
    assert.deepEqual(seat.hears(world.event(0, null, null, stuck)), []);
    assert.deepEqual(seat.signs(said[0] as SendEffect), []);
    assert.deepEqual(seat.hears(world.event(0, null, null, stuck)), []);
  });

  it("HG20: a forker has ended if either of its newest events says so, in either order of arrival", () => {
    const faces = (["stuck", "gossip"] as const).map((mode) => eventMessage(attempt, 0, 0, { ...bareEvent, mode }));
    const others = [1, 2].map((seat) => eventMessage(attempt, seat, 0, { ...bareEvent, mode: "stuck" }));
    for (const forked of [faces, faces.toReversed()]) {
      const conclusion = conclude(attempt, tallyOf([...others, ...forked]));
      assert.equal(conclusion.kind === "final" && conclusion.outcome.status, "hung");
    }
  });

  it("HG20: a seat concludes on Hung only if more than 2/3 are still stuck a grace later; else it waits anew", () => {
    const world = new GossipWorld(attempt);
    const seat = new LoneSeat(1);
    const giveUp = () => [0, 2, 3].map((one) => world.event(one, null, null, stuck));
    assertIncludes(timersIn(seat.hears(...giveUp())), "conclude");
    seat.hears(world.event(2, null));
    seat.waits("conclude");
    assert.equal(seat.hasConcluded, false);
    assert.deepEqual(timersIn(seat.hears(...giveUp())), ["conclude"]);
    seat.waits("conclude");
    assert.equal(seat.hasConcluded, true);
  });
});
