import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { digestOf } from "../../agents/core/encoding/codec.ts";
import type { Effect, Protocol } from "../../agents/core/protocol.ts";
import { otherParentFor, stagesDue } from "../../agents/core/protocols/hashgraph/gossip.ts";
import { hashgraph } from "../../agents/core/protocols/hashgraph/index.ts";
import { encodeEvent, type EventRef } from "../../agents/core/protocols/hashgraph/payloads.ts";
import type { HashgraphState } from "../../agents/core/protocols/hashgraph/state.ts";
import { isForker, newestOf, type Told, type GraphView } from "../../agents/core/protocols/hashgraph/view.ts";
import type { Digest, SeatIndex } from "../../agents/core/types.ts";
import { runCommittee, type SeatScript } from "../support/core/committee.ts";
import { hashgraphAttempt, holds, isEvent, results, type SendEffect } from "../support/core/hashgraph-scripts.ts";
import { bareEvent } from "../support/core/hashgraph-world.ts";

const attempt = hashgraphAttempt(4);
const [LIAR, SLOW] = [0, 1] as const;
const newest = (view: GraphView, seat: number): Told | null => newestOf(view, seat as SeatIndex);
const waits = (view: GraphView, seat: number): boolean =>
  otherParentFor(view, seat as SeatIndex, { kind: "order", stages: stagesDue(view, true) }) === null;

/** A line of ten events that rest on nobody's, and three faces of the one after it; only the first rests on `on`. */
function facesOf(own: Told, on: Told): { readonly line: readonly SendEffect[]; readonly faces: readonly SendEffect[] } {
  const said = (selfParent: Digest, round: number, time: number, otherParent: EventRef | null): SendEffect => {
    const body = { ...bareEvent, mode: "order", closed: 5, selfParent, otherParent, time } as const;
    return { kind: "send", phase: 1, round, payload: encodeEvent(body) };
  };
  const line: SendEffect[] = [];
  let last = own.digest;
  for (let index = 1; index <= 10; index++) {
    const one = said(last, own.sequence + index, own.body.time + index, null);
    line.push(one);
    last = digestOf(one.payload);
  }
  const { seat, sequence, digest } = on;
  const face = (time: number, other: EventRef | null) =>
    said(last, own.sequence + 11, own.body.time + 20 + time, other);
  return { line, faces: [face(0, { seat, sequence, digest }), face(1, null), face(2, null)] };
}

/** The slow seat is shown the face that knows what the others said; these are shown the two that do not, so they read its event without. */
function threeFaced(): {
  readonly protocol: Protocol<HashgraphState>;
  readonly script: SeatScript;
  readonly isCut: () => boolean;
} {
  let [isSilent, shown] = [false, null as ReturnType<typeof facesOf> | null];
  let isCut = false;
  const act = (view: GraphView): readonly Effect[] => {
    const own = newest(view, LIAR);
    const [slow, ...others] = [1, 2, 3].map((seat) => newest(view, seat));
    const areWaiting = [slow, ...others].every((told) => told?.body.mode === "order");
    if (shown !== null || own === null || !areWaiting || ![2, 3].every((seat) => waits(view, seat))) return [];
    const on = others.toSorted((a, b) => (a?.node.index ?? 0) - (b?.node.index ?? 0)).at(-1) as Told;
    if (on.clock <= (slow?.clock ?? 0)) return [];
    shown = facesOf(own, on);
    const forwarded = view.told.filter(({ seat }) => seat > SLOW).map(({ message }) => message);
    return [shown.faces[0] as SendEffect, { kind: "forward", messages: forwarded.toReversed().slice(0, 30) }];
  };
  const protocol: Protocol<HashgraphState> = {
    ...hashgraph,
    step: (state, context, tally, input) => {
      const course = hashgraph.step(state, context, tally, input);
      const { graph } = course.state;
      if (context.self === SLOW) isCut ||= shown !== null && isForker(graph, LIAR as SeatIndex);
      if (context.self !== LIAR) return course;
      isSilent ||= course.effects.some((one) => isEvent(one) && (one.payload["closed"] as number) >= 5);
      if (!isSilent) return course;
      const rest = course.effects.filter((one) => one.kind !== "forward" && !isEvent(one));
      return { ...course, effects: [...rest, ...act(graph)] };
    },
  };
  const say = (effect: SendEffect, to: number): readonly SendEffect[] => {
    if (shown === null || effect !== shown.faces[0]) return [effect];
    return [...shown.line, ...(to === SLOW ? [effect] : shown.faces.slice(1))];
  };
  return { protocol, script: { ...holds("no"), say }, isCut: () => isCut };
}

describe("hashgraph: a slot with three faces", () => {
  for (const seed of [1, 2])
    it(`HG6, HG14: seats that read an event with and without a parent do not wait for each other for ever: seed ${seed}`, () => {
      const states: HashgraphState[] = [];
      const { protocol, script, isCut } = threeFaced();
      const watched: Protocol<HashgraphState> = {
        ...protocol,
        step: (state, context, tally, input) => {
          const course = protocol.step(state, context, tally, input);
          states[context.self] = course.state;
          return course;
        },
      };
      const latencyOf = (from: number, to: number, draw: number) => {
        const slow = states[SLOW];
        const isSlow = slow !== undefined && newest(slow.graph, SLOW)?.body.mode === "order" && !isCut();
        return from === LIAR ? 1 : to === SLOW && isSlow ? 300 : 1 + (draw % 3);
      };
      const scripts = [script, holds("yes"), holds("no"), holds("yes")];
      const done = runCommittee(watched, attempt, scripts, { seed, latencyOf });
      assert.equal(isCut(), true);
      for (const result of results(done, [1, 2, 3])) assert.match(result, /^decided /);
    });
});
