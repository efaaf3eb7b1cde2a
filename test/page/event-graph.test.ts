// Where the dashboard draws the events of a hashgraph, and what each had seen.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { columnsOf, seatsOf, seenFrom } from "../../dashboard/src/decision/event-graph.ts";
import { createRandom } from "../../sim/random.ts";
import { limits } from "../../agents/core/limits.ts";

const said = (seat: number, ...parents: readonly number[]) => ({ seat, parents });

describe("page: the graph of events", () => {
  it("puts each event right of all that it descends from, wherever those stand in the list", () => {
    // Seat 1 heard of seat 0 twice; the list has the last event first.
    const events = [said(1, 3, 2), said(0), said(0, 1), said(1, 4, 1), said(1)];
    assert.deepEqual(columnsOf(events), [2, 0, 1, 1, 0]);
    assert.deepEqual(
      [...seenFrom(events, 3)].toSorted((a, b) => a - b),
      [1, 3, 4],
    );
    assert.deepEqual(seatsOf(events, seenFrom(events, 3)), [0, 1]);
    assert.deepEqual(
      [...seenFrom(events, 2)].toSorted((a, b) => a - b),
      [1, 2],
    );
    assert.deepEqual(seatsOf(events, seenFrom(events, 2)), [0]);
  });

  it("takes as many events as a transcript may have, and a circle, which only a forger could make", (context) => {
    const random = createRandom(1, "events");
    const last = new Map<number, number>();
    const events = Array.from({ length: limits.messagesPerTranscript }, (_, index) => {
      const [seat, other] = [index % 31, last.get(random.below(31))];
      const own = last.get(seat);
      last.set(seat, index);
      return said(seat, ...new Set([own, other].filter((one) => one !== undefined)));
    });
    const started = performance.now();
    const columns = columnsOf(events);
    const seen = seenFrom(events, events.length - 1);
    context.diagnostic(`${events.length} events in ${Math.round(performance.now() - started)} ms`);
    for (const [index, { parents }] of events.entries())
      for (const parent of parents) assert.ok((columns[index] ?? 0) > (columns[parent] ?? 0));
    assert.equal(seatsOf(events, seen).length, 31);
    const circle = [said(0, 1), said(1, 0), said(0)];
    assert.deepEqual(columnsOf(circle), [0, 0, 0]);
    assert.equal(seenFrom(circle, 0).size, 2);
  });
});
