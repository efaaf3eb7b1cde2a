import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, it } from "node:test";
import { electFame, middleBit } from "../../agents/core/protocols/hashgraph/graph/fame.ts";
import {
  createGraph,
  hasAncestor,
  insert,
  sees,
  stronglySees,
  type GossipEvent,
  type Graph,
  type GraphRules,
  type Node,
} from "../../agents/core/protocols/hashgraph/graph/graph.ts";
import { receivedBatches } from "../../agents/core/protocols/hashgraph/graph/batches.ts";
import { consensusOrder, type Received } from "../../lab/references/consensus-order.ts";
import { generator } from "../support/core/committee.ts";
import { literal } from "../support/core/hashgraph-literal.ts";
import { randomGossip } from "../support/core/hashgraph-random.ts";
import { processorMs } from "../support/processor-time.ts";
import { assertAbove, assertBelow, assertWithin } from "../support/assertions.ts";

const rulesOf = (members: number, change: Partial<GraphRules> = {}): GraphRules => ({
  weights: Array.from({ length: members }, () => 1),
  firstRound: 1,
  coinPeriod: 10,
  coin: ({ signature }) => middleBit(signature),
  ...change,
});

function graphOf(rules: GraphRules, events: readonly GossipEvent[]): Graph {
  const graph = createGraph(rules);
  for (const event of events) insert(graph, event);
  return graph;
}

function shuffled<T>(items: readonly T[], seed: number): readonly T[] {
  const random = generator(seed);
  return items
    .map((item) => ({ item, key: random() }))
    .toSorted((a, b) => a.key - b.key)
    .map(({ item }) => item);
}

/** Event of member `creator`, named by it and `at`. */
const event = (id: string, selfParent: string | null, otherParent: string | null, timestamp = 0): GossipEvent => ({
  id,
  creator: Number(id[0]),
  selfParent,
  otherParent,
  timestamp,
  signature: Uint8Array.of(timestamp & 255),
});

const node = (graph: Graph, id: string): Node => graph.byId.get(id) as Node;
const orderOf = (graph: Graph): readonly Received[] =>
  consensusOrder(graph, receivedBatches(graph, graph.nodes, electFame(graph, graph.nodes)));
const idsOf = (graph: Graph): readonly string[] => orderOf(graph).map((entry) => entry.node.event.id);

const gossip = fc.record({
  members: fc.integer({ min: 1, max: 7 }),
  events: fc.integer({ min: 8, max: 90 }),
  seed: fc.nat(1_000_000),
});

describe("hashgraph", () => {
  it("H22: queues events until their parents are known, refuses a self-parent of another member and unknown members", () => {
    const graph = createGraph(rulesOf(2));
    assert.equal(insert(graph, event("0b", "0a", "1a")), "waiting");
    assert.equal(insert(graph, event("0b", "0a", "1a")), "known");
    assert.equal(insert(graph, event("1a", null, null)), "inserted");
    assert.deepEqual(
      graph.nodes.map((one) => one.event.id),
      ["1a"],
    );
    assert.equal(insert(graph, event("0a", null, null)), "inserted");
    assert.deepEqual(
      graph.nodes.map((one) => one.event.id),
      ["1a", "0a", "0b"],
    );
    assert.equal(graph.waiting.size, 0);
    assert.equal(insert(graph, event("0b", "0a", "1a")), "known");
    assert.equal(insert(graph, event("1b", "0a", null)), "refused");
    assert.equal(insert(graph, event("2a", null, null)), "refused");
    assert.throws(() => createGraph(rulesOf(2, { weights: [1, 0] })), RangeError);
    assert.throws(() => createGraph(rulesOf(2, { coinPeriod: 2 })), RangeError);
  });

  it("H23: forks stay in the graph; an event with both among its ancestors sees neither, nor any other event of their author", () => {
    const graph = graphOf(rulesOf(4), [
      event("0a", null, null),
      event("1a", null, null),
      event("2a", null, null),
      event("0b", "0a", "1a"),
      event("0c", "0a", "2a"),
      event("1b", "1a", "0b"),
      event("2b", "2a", "0c"),
      event("1c", "1b", "2b"),
    ]);
    const at = (id: string) => node(graph, id);
    assert.deepEqual(
      [sees(at("1b"), at("0b")), sees(at("1b"), at("0a")), sees(at("2b"), at("0c"))],
      [true, true, true],
    );
    assert.deepEqual(
      ["0a", "0b", "0c"].map((id) => sees(at("1c"), at(id))),
      [false, false, false],
    );
    assert.equal(hasAncestor(at("1c"), at("0b")) && hasAncestor(at("1c"), at("0c")), true);
    assert.equal(at("1c").latest[0], "forked");
  });

  it("H24, H25, H26, H35: equals the literal definitions, with forks and weights", () => {
    fc.assert(
      fc.property(
        gossip,
        fc.boolean(),
        fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 7, maxLength: 7 }),
        (setting, forks, weights) => {
          const events = randomGossip({
            ...setting,
            events: Math.max(setting.members, setting.members === 1 ? 1 : setting.events),
            forkers: forks ? [0, 3] : [],
          });
          const rules = rulesOf(setting.members, { weights: weights.slice(0, setting.members) });
          const graph = graphOf(rules, events);
          const truth = literal(rules, events);
          for (const x of graph.nodes) {
            assert.equal(x.round, truth.round[x.event.id]);
            assert.equal(x.isWitness, truth.witness[x.event.id]);
            for (const y of graph.nodes) {
              assert.equal(sees(x, y), truth.sees(x.event.id, y.event.id));
              assert.equal(stronglySees(graph, x, y), truth.stronglySees(x.event.id, y.event.id));
            }
          }
        },
      ),
      { numRuns: 40 },
    );
  });

  for (const [title, setting, change] of [
    ["by majority", { members: 4, events: 200, seed: 1 }, {}],
    ["with a forker", { members: 4, events: 200, seed: 2, forkers: [1] }, {}],
    ["with two forkers of seven", { members: 7, events: 300, seed: 3, forkers: [1, 4] }, {}],
    ["with weights", { members: 5, events: 250, seed: 4 }, { weights: [5, 1, 1, 3, 2] }],
    ["with a coin every third round", { members: 4, events: 250, seed: 5 }, { coinPeriod: 3 }],
    [
      "after a time in two halves",
      { members: 6, events: 320, seed: 6, apart: [0, 1, 2] },
      { coinPeriod: 4, firstRound: 0 },
    ],
  ] as const) {
    it(`H27, H28, H29, H30, H31: fame, round received and timestamps equal the literal algorithm ${title}`, () => {
      for (let seed = 0; seed < 3; seed++) {
        const events = randomGossip({ ...setting, seed: setting.seed * 100 + seed });
        const rules = rulesOf(setting.members, change);
        const graph = graphOf(rules, events);
        const truth = literal(rules, events);
        const fame = electFame(graph, graph.nodes);
        assert.deepEqual(
          Object.fromEntries([...fame.famous].map(([one, value]) => [one.event.id, value])),
          truth.famous,
        );
        assert.deepEqual(
          Object.fromEntries([...fame.decidedBy].map(([one, by]) => [one.event.id, by.event.id])),
          truth.decidedBy,
        );
        const order = consensusOrder(graph, receivedBatches(graph, graph.nodes, fame));
        assertAbove(order.length, 0);
        assert.deepEqual(
          Object.fromEntries(order.map((one) => [one.node.event.id, one.roundReceived])),
          truth.roundReceived,
        );
        assert.deepEqual(Object.fromEntries(order.map((one) => [one.node.event.id, one.timestamp])), truth.timestamp);
      }
    });
  }

  it("H28, H29: a coin round decides nothing; the coin speaks only without a supermajority, by the middle bit", () => {
    assert.deepEqual([middleBit(Uint8Array.of(0b0000_1000)), middleBit(Uint8Array.of(0b1111_0111))], [true, false]);
    const signature = new Uint8Array(65);
    signature[32] = 0b0000_1000;
    assert.equal(middleBit(signature), true);
    let coins = 0;
    for (let seed = 0; seed < 300; seed++) {
      const events = randomGossip({ members: 4, events: 120, seed, forkers: [0], apart: [0, 1] });
      const graph = graphOf(rulesOf(4, { coinPeriod: 3 }), events);
      const fame = electFame(graph, graph.nodes);
      for (const [subject, voter] of fame.decidedBy) assert.notEqual((voter.round - subject.round) % 3, 0);
      for (const [voter, subject] of fame.coinVotes) assert.equal((voter.round - subject.round) % 3, 0);
      coins += fame.coinVotes.length;
    }
    assertAbove(coins, 0);
  });

  it("H31: the median timestamp makes liars harmless: it stays among the honest claims", () => {
    for (let seed = 0; seed < 20; seed++) {
      const honest = randomGossip({ members: 4, events: 150, seed });
      const graph = graphOf(
        rulesOf(4),
        honest.map((one) => (one.creator === 3 ? { ...one, timestamp: seed % 2 ? 2 ** 50 : 0 } : one)),
      );
      const order = orderOf(graph);
      assertAbove(order.length, 40);
      for (const { timestamp } of order) assertWithin(timestamp, 1, 1_000 * 150 + 5_000);
    }
  });

  it("H32: order is by round received, timestamp, whitened signature: not by the signature itself", () => {
    const events = randomGossip({ members: 4, events: 150, seed: 9 }).map((one) => ({ ...one, timestamp: 0 }));
    const graph = graphOf(rulesOf(4), events);
    const order = orderOf(graph);
    const rounds = order.map((one) => one.roundReceived);
    assert.deepEqual(
      rounds,
      rounds.toSorted((a, b) => a - b),
    );
    const bySignature = (a: Node, b: Node) => Buffer.compare(a.event.signature, b.event.signature);
    const first = order.filter((one) => one.roundReceived === rounds.at(-1)).map((one) => one.node);
    assertAbove(first.length, 3);
    assert.notDeepEqual(first.toSorted(bySignature), first);
    // Another signature of a famous witness, another order of the rest.
    const turned = graphOf(
      rulesOf(4),
      events.map((one) => (one.creator === 0 ? { ...one, signature: one.signature.map((byte) => byte ^ 0xff) } : one)),
    );
    assert.notDeepEqual(idsOf(turned), idsOf(graph));
    assert.deepEqual(idsOf(turned).toSorted(), idsOf(graph).toSorted());
  });

  it("H33, EG12: all compute the same order, whatever the order of arrival; more events only append to it", () => {
    fc.assert(
      fc.property(fc.nat(1_000_000), fc.boolean(), fc.integer({ min: 60, max: 180 }), (seed, forks, events) => {
        const all = randomGossip({
          members: 4,
          events,
          seed,
          forkers: forks ? [2] : [],
          ...(seed % 3 === 0 ? { apart: [0, 1] } : {}),
        });
        const whole = idsOf(graphOf(rulesOf(4), all));
        assert.deepEqual(idsOf(graphOf(rulesOf(4), shuffled(all, seed))), whole);
        for (const part of [0.5, 0.7, 0.9]) {
          const some = idsOf(graphOf(rulesOf(4), all.slice(0, Math.floor(all.length * part))));
          assert.deepEqual(whole.slice(0, some.length), some);
        }
      }),
      { numRuns: 60 },
    );
  });

  it("H33: consistent graphs that hold different events agree on what both have ordered", () => {
    for (let seed = 0; seed < 40; seed++) {
      const all = randomGossip({ members: 7, events: 260, seed, forkers: [0, 1] });
      const views = [2, 5].map((member) => {
        const own = all.filter(({ creator }) => creator === member).at(-1 - (seed % 3)) as GossipEvent;
        const graph = graphOf(rulesOf(7), all);
        const past = graph.nodes.filter((one) => hasAncestor(node(graph, own.id), one)).map((one) => one.event);
        return idsOf(graphOf(rulesOf(7), past));
      });
      const common = Math.min(...views.map((view) => view.length));
      assert.deepEqual(views[0]?.slice(0, common), views[1]?.slice(0, common));
    }
  });

  it("H34: at most one of two forked events is strongly seen by any event", () => {
    let forked = 0;
    for (let seed = 0; seed < 60; seed++) {
      const members = 4 + 3 * (seed % 2);
      const graph = graphOf(
        rulesOf(members),
        randomGossip({ members, events: 150, seed, forkers: members === 4 ? [1] : [1, 2] }),
      );
      const strong = graph.nodes.filter(
        (y) => [1, 2].includes(y.event.creator) && graph.nodes.some((x) => stronglySees(graph, x, y)),
      );
      for (const a of strong) {
        for (const b of strong) {
          if (a.event.creator === b.event.creator) assert.equal(hasAncestor(a, b) || hasAncestor(b, a), true);
        }
      }
      forked += graph.nodes.some((one) => one.latest.includes("forked")) ? 1 : 0;
    }
    assertAbove(forked, 50);
  });

  it("H35: weights decide, not heads: one member with more than 2/3 advances alone, one with less does not", () => {
    const events = randomGossip({ members: 4, events: 60, seed: 3 });
    const heavy = graphOf(rulesOf(4, { weights: [7, 1, 1, 1] }), events);
    const equal = graphOf(rulesOf(4, { weights: [5, 5, 5, 5] }), events);
    const plain = graphOf(rulesOf(4), events);
    assertAbove(heavy.nodes.at(-1)?.round, plain.nodes.at(-1)?.round as number);
    assert.deepEqual(
      equal.nodes.map(({ round }) => round),
      plain.nodes.map(({ round }) => round),
    );
    assert.deepEqual([graphOf(rulesOf(3, { weights: [2, 2, 2] }), []).quorum, graphOf(rulesOf(4), []).quorum], [5, 3]);
  });

  it("is fast enough for thousands of events", async () => {
    const events = randomGossip({ members: 16, events: 4_000, seed: 1 });
    const tookMs = await processorMs(() => assertAbove(orderOf(graphOf(rulesOf(16), events)).length, 3_000));
    assertBelow(tookMs, 10_000);
  });
});
