import { encodeProposal } from "../../agents/core/phases/proposals.ts";
import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, it } from "node:test";
import type { AnswerGroup } from "../../agents/core/request/answer.ts";
import { compareHex, concat, hexToBytes, sha256, utf8 } from "../../agents/core/encoding/bytes.ts";
import { hasAncestor } from "../../agents/core/protocols/hashgraph/graph/graph.ts";
import { limits } from "../../agents/core/limits.ts";
import { seatsOf } from "../../agents/core/seat/order.ts";
import { EVENTS_PER_SEAT, MAX_SEATS, stagesOf } from "../../agents/core/protocols/hashgraph/config.ts";
import { conclude } from "../../agents/core/protocols/hashgraph/conclude.ts";
import { hashgraph } from "../../agents/core/protocols/hashgraph/index.ts";
import {
  decodeEvent,
  encodeEvent,
  type EventBody,
  type EventRef,
} from "../../agents/core/protocols/hashgraph/payloads.ts";
import { nextPrompt, votePrompt } from "../../agents/core/protocols/hashgraph/prompts.ts";
import { consensusReport } from "../../lab/references/hashgraph-report.ts";
import { preview } from "../../agents/core/protocols/hashgraph/rules.ts";
import { emptyGraphView, extendGraphView, newestOf, graphViewOf } from "../../agents/core/protocols/hashgraph/view.ts";
import { addMessage, emptyTally, messagesOf } from "../../agents/core/seat/tally.ts";
import { buildTranscript, decodeMessage, readRoot, replay } from "../../agents/core/encoding/transcript.ts";
import { faultTolerance } from "../../agents/core/quorum.ts";
import type { Attempt, Digest, Message, SeatIndex, Value } from "../../agents/core/types.ts";
import { generator } from "../support/core/committee.ts";
import { hashgraphAttempt, holds, run } from "../support/core/hashgraph-scripts.ts";
import {
  GossipWorld,
  bareEvent,
  commitRecord,
  eventMessage,
  outputRecord,
  proposalOf,
  randomDeliberation,
  tallyOf,
} from "../support/core/hashgraph-world.ts";
import { assertAtMost, assertBelow, assertExcludes, assertIncludes, assertWithin } from "../support/assertions.ts";

const attempt = hashgraphAttempt(4);
const yes4 = Array.from({ length: 4 }, () => ["yes", "yes"]);
const outcomeOf = (messages: Iterable<Message>, of: Attempt = attempt) => {
  const conclusion = conclude(of, tallyOf(messages));
  return conclusion.kind === "final" ? `${conclusion.outcome.status} ${conclusion.outcome.answer}` : "open";
};

function shuffled<T>(items: readonly T[], seed: number): readonly T[] {
  const random = generator(seed);
  return items
    .map((item) => ({ item, key: random() }))
    .toSorted((a, b) => a.key - b.key)
    .map(({ item }) => item);
}

const digest = `0x${"ab".repeat(32)}` as Digest;
const readerOf = (of: Attempt, seat: number, salt: Uint8Array = new Uint8Array(32)) => ({
  attempt: of,
  seat: seat as SeatIndex,
  salt,
});

describe("hashgraph rules", () => {
  it("H03, H05: random pairwise gossip comes to what all-to-all does, without a vote message", () => {
    for (let seed = 0; seed < 10; seed++) {
      const world = randomDeliberation(attempt, yes4, seed);
      assert.equal(outcomeOf(world.messages), "decided yes");
      const report = consensusReport(attempt, tallyOf(world.messages));
      assert.deepEqual(
        report.rounds.map(({ base, isUnanimous }) => [base, isUnanimous]),
        [
          [4, true],
          [4, true],
        ],
      );
    }
    assert.equal(
      outcomeOf(randomDeliberation(attempt, [["no"], ["yes", "yes"], ["yes"], ["yes"]], 1).messages),
      "decided yes",
    );
    assert.equal(outcomeOf(randomDeliberation(attempt, [["no"], ["no"], ["yes"], ["yes", "yes"]], 1).messages), "open");
  });

  it("H33: the view, the order and the decision do not depend on the order of arrival; more events keep them", () => {
    fc.assert(
      fc.property(fc.nat(1_000_000), fc.constantFrom(4, 7), (seed, seats) => {
        const of = hashgraphAttempt(seats);
        const answers = Array.from({ length: seats }, (_, seat) =>
          seat === 0 && seed % 3 === 0 ? null : ["yes", "yes"],
        );
        const { messages } = randomDeliberation(of, answers, seed, 60);
        const whole = conclude(of, tallyOf(messages));
        let tally = emptyTally;
        let view = emptyGraphView(of);
        let first: string | null = null;
        for (const message of shuffled(messages, seed)) {
          tally = addMessage(tally, message).tally;
          view = extendGraphView(view, tally, message);
          const conclusion = conclude(of, tally);
          if (conclusion.kind === "final") first ??= JSON.stringify(conclusion.outcome);
          if (first !== null) assert.equal(conclusion.kind === "final" && JSON.stringify(conclusion.outcome), first);
        }
        assert.deepEqual(conclude(of, tally), whole);
        assert.equal(whole.kind, "final");
        assert.equal(view.waitingCount, 0);
        const scratch = graphViewOf(hashgraphAttempt(seats), tallyOf(messages));
        const shape = (one: typeof view) =>
          one.lines.map((line) => line.map((told) => told.map(({ node }) => [node.round, node.isWitness])));
        assert.deepEqual(shape(view), shape(scratch));
      }),
      { numRuns: 12 },
    );
  });

  it("HG12, HG15: events withheld until after the decision change nothing of it", () => {
    const { messages } = randomDeliberation(attempt, [null, ["yes", "yes"], ["yes", "yes"], ["yes", "yes"]], 5);
    const before = conclude(attempt, tallyOf(messages));
    const secret = new GossipWorld(attempt);
    const hidden = [
      secret.event(0, null, commitRecord(attempt, 0, "no")),
      secret.event(0, null, outputRecord(1, "no"), { closed: 1 }),
    ];
    for (let stage = 2; stage < 6; stage++)
      hidden.push(secret.event(0, null, outputRecord(stage, "no"), { closed: stage }));
    const after = conclude(attempt, tallyOf([...hidden, ...messages]));
    assert.equal(before.kind, "final");
    assert.deepEqual(after, before);
  });

  it("HG16: the transcript cut at the conclusion's position replays to the same outcome and position", () => {
    for (const seed of [1, 2, 3]) {
      const done = run(attempt, [holds("no"), holds("yes"), holds("yes"), holds("yes")], seed);
      const { tally } = done.states[1]!;
      const conclusion = conclude(attempt, tally);
      if (conclusion.kind !== "final") throw new Error("open");
      const { rootBlock, blocks, root } = buildTranscript(attempt, hashgraph, tally, conclusion.through);
      assertBelow(blocks.length, [...messagesOf(tally)].length);
      const read = readRoot(attempt, hashgraph, rootBlock);
      if ("refused" in read) throw new Error(read.refused);
      const entries = blocks.map((block, at) => ({
        digest: read.messages[at] as Digest,
        message: decodeMessage(block),
      }));
      const replayed = replay(attempt, hashgraph, root, entries);
      assert.deepEqual(replayed.kind === "replayed" && replayed.conclusion, conclusion);
    }
  });

  it("H02, H04: the graph shows who holds what: the saturation matrix fills", () => {
    const world = new GossipWorld(attempt);
    const answers = [0, 1, 2, 3].map((seat) => commitRecord(attempt, seat, "yes"));
    const first = answers.map((record, seat) => world.event(seat, null, record));
    const holders = (of: Message) => {
      const view = graphViewOf(attempt, tallyOf(world.messages));
      const told = view.told.find((one) => one.digest === of.header.payloadDigest && one.seat === of.header.seat);
      const isHolder = (seat: SeatIndex) => {
        const newest = newestOf(view, seat);
        return told !== undefined && newest !== null && hasAncestor(newest.node, told.node);
      };
      return seatsOf(attempt).filter(isHolder);
    };
    assert.deepEqual(first.map(holders), [[0], [1], [2], [3]]);
    for (const [to, from] of [
      [1, 0],
      [3, 2],
      [1, 3],
      [3, 1],
      [0, 1],
      [2, 3],
    ] as const)
      world.event(to, from);
    assert.deepEqual(first.map(holders), [
      [0, 1, 2, 3],
      [0, 1, 2, 3],
      [0, 1, 2, 3],
      [0, 1, 2, 3],
    ]);
  });

  it("H01: a commitment made after the others have revealed does not count", () => {
    const world = new GossipWorld(attempt);
    const random = generator(3);
    world.stage([null, ...[1, 2, 3].map((seat) => commitRecord(attempt, seat, "yes"))], random);
    world.stage([null, outputRecord(1, "yes"), outputRecord(1, "yes"), outputRecord(1, "yes")], random);
    world.event(0, 1, commitRecord(attempt, 0, "yes"));
    world.event(0, 1, outputRecord(1, "yes"), { closed: 1 });
    const view = graphViewOf(attempt, tallyOf(world.messages));
    assert.deepEqual(
      preview(attempt, view.told, null).rounds[0]?.outputs.map(({ seat }) => seat),
      [1, 2, 3],
    );
  });

  it("HG6: a forker with three faces cuts nobody off; a line that continues its third face is dead", () => {
    const face = (time: number) => eventMessage(attempt, 0, 0, { ...bareEvent, time });
    const [a, b, c] = [face(1), face(2), face(3)] as [Message, Message, Message];
    const refer = (message: Message): EventRef => ({
      seat: message.header.seat,
      sequence: message.header.round,
      digest: message.header.payloadDigest,
    });
    const onThird = eventMessage(attempt, 1, 0, { ...bareEvent, otherParent: refer(c) });
    const goesOn = eventMessage(attempt, 0, 1, { ...bareEvent, selfParent: c.header.payloadDigest });
    const onDead = eventMessage(attempt, 2, 0, { ...bareEvent, otherParent: refer(goesOn) });
    const one = graphViewOf(attempt, tallyOf([a, onThird, goesOn, onDead]));
    assert.equal(one.told.length, 1);
    assert.equal(one.waitingCount, 3);
    const two = graphViewOf(attempt, tallyOf([a, onThird, goesOn, onDead, b]));
    assert.deepEqual(
      two.told.map(({ seat, sequence }) => [seat, sequence]),
      [
        [0, 0],
        [0, 0],
        [1, 0],
        [2, 0],
      ],
    );
    assert.equal(two.told[2]?.node.otherParent, null);
    assert.deepEqual([two.waitingCount, two.forks], [0, [0, null, null, null]]);
    // Who holds the third face reads the same event with its edge.
    assert.notEqual(graphViewOf(attempt, tallyOf([c, a, onThird])).told[2]?.node.otherParent, null);
  });

  it("H15: no leader and no weight by origin: reputation changes nothing, and every seat counts one", () => {
    const poor = hashgraphAttempt(4);
    const reputed = {
      ...poor,
      committee: poor.committee.map((seat, at) => ({ ...seat, reputation: (at === 0 ? 1_000_000 : 1) as never })),
    };
    for (let odd = 0; odd < 4; odd++) {
      const answers = yes4.map((own, seat) => (seat === odd ? ["no", "no"] : own));
      assert.equal(outcomeOf(randomDeliberation(reputed, answers, 7).messages, reputed), "decided yes");
    }
  });

  it("H14, H18: peers' answers come without seats, in an order that no seat influences, within the budget", () => {
    const terms = hashgraphAttempt(7, { kind: "text" });
    const result = (texts: readonly string[], proof: string) => {
      const outputs = texts.map((text, seat) => ({
        seat: seat as SeatIndex,
        digest,
        answer: { text, outcome: digest },
        proposal: { ...proposalOf(text), proof },
      }));
      const classes = [...new Set(texts)].map((text) => ({
        representative: { text, outcome: digest },
        seats: texts.flatMap((one, seat) => (one === text ? [seat as SeatIndex] : [])),
      }));
      classes.sort((a, b) => b.seats.length - a.seats.length);
      return { round: 0, outputs, unborne: [], classes, agreed: null, isStable: false };
    };
    const small = nextPrompt(readerOf(terms, 6), proposalOf("b"), result(["a", "a", "a", "a", "b", "b", "b"], "p"))
      .small.user;
    assertIncludes(small, 'counterProof: "4 of 7 members: a: p"');
    assertIncludes(small, 'others: "3 of 7 members: b: p"');
    assert.doesNotMatch(small, /seat|agent|0x/);
    const swapped = nextPrompt(readerOf(terms, 0), proposalOf("b"), result(["b", "b", "b", "a", "a", "a", "a"], "p"))
      .small.user;
    assert.equal(swapped, small);
    // Above the budget only what differs, then without proofs, then what fits.
    const wide = (size: number, proof: string) =>
      nextPrompt(
        readerOf(terms, 0),
        proposalOf("x"),
        result(
          ["own", "own", "b", "c", "d", "e", "f"].map((text) => text.padEnd(size, ".")),
          proof,
        ),
      ).small.user;
    assertExcludes(wide(4, "q".repeat(400)), "own");
    assertExcludes(wide(4, "q".repeat(400)), "qqqq");
    assertIncludes(wide(4, "q".repeat(340)), "qqqq");
    assertExcludes(wide(4, "q".repeat(340)), "own");
    for (const size of [4, 300, 1_000]) {
      const user = wide(size, "q".repeat(500));
      const shown = user
        .split("\n")
        .filter((line) => /^(counterProof|others)/.test(line))
        .join("");
      assertWithin(shown.length, 20, limits.objectionsBytes + 64);
    }
  });

  it("HG23: the reader's salt, and no author, chooses the proof that stands for a class", () => {
    const answer = { text: "yes", outcome: digest };
    // In bytes the liar's proof comes first, and so does its event's digest.
    const proofs = ["!", "it is", "it was", "so"];
    const outputs = proofs.map((proof, seat) => ({
      seat: seat as SeatIndex,
      digest: `0x${`0${seat}`.repeat(32)}` as Digest,
      answer,
      proposal: { ...proposalOf("yes"), proof },
    }));
    const classes = [{ representative: answer, seats: outputs.map(({ seat }) => seat) }];
    const result = { round: 0, outputs, unborne: [], classes, agreed: null, isStable: false };
    const group = classes[0] as AnswerGroup;
    const shown = new Map(proofs.map((proof) => [proof, 0]));
    for (let reader = 0; reader < 200; reader++) {
      const salt = hexToBytes(sha256(utf8(`salt ${reader}`)));
      const [least] = outputs.toSorted((a, b) =>
        compareHex(sha256(concat(salt, hexToBytes(a.digest))), sha256(concat(salt, hexToBytes(b.digest)))),
      );
      const { proof } = (least as (typeof outputs)[number]).proposal;
      const one = readerOf(attempt, 3, salt);
      assertIncludes(nextPrompt(one, proposalOf("no"), result).small.user, `"4 of 4 members: yes: ${proof}"`);
      assertIncludes(votePrompt(one, group, result).prompt.small.user, `proof: "${proof}"`);
      shown.set(proof, (shown.get(proof) as number) + 1);
    }
    for (const times of shown.values()) assertWithin(times, 30, 70);
  });

  it("H22: a payload has exactly the form that its slot allows", () => {
    const slot = { seat: 1 as SeatIndex, phase: 1, round: 3 };
    const body: EventBody = {
      ...bareEvent,
      selfParent: digest,
      otherParent: { seat: 2 as SeatIndex, sequence: 1, digest },
      record: outputRecord(2, "yes"),
    };
    const good = encodeEvent(body);
    assert.deepEqual(decodeEvent(attempt, slot, good), body);
    const wrong: readonly Value[] = [
      null,
      [],
      { ...good, extra: 1 },
      { ...good, selfParent: null },
      { ...good, selfParent: new Uint8Array(31) },
      { ...good, otherParent: { seat: 1, sequence: 1, digest: new Uint8Array(32) } },
      { ...good, otherParent: { seat: 4, sequence: 1, digest: new Uint8Array(32) } },
      { ...good, otherParent: { seat: 2, sequence: EVENTS_PER_SEAT, digest: new Uint8Array(32) } },
      { ...good, otherParent: 7 },
      { ...good, time: -1 },
      { ...good, time: 2 ** 40 + 1 },
      { ...good, closed: stagesOf(attempt).length + 1 },
      { ...good, mode: "loud" },
      { ...good, wants: Array.from({ length: 17 }, () => ({ seat: 2, sequence: 1, digest: new Uint8Array(32) })) },
      { ...good, record: { stage: 9, body: {} } },
      { ...good, record: { stage: -1, body: {} } },
      { ...good, record: { stage: 0, body: { proposal: null } } },
      { ...good, record: { stage: 2, body: { proposal: { ...encodeProposal(proposalOf("yes")), tier: 5 } } } },
      { ...good, record: { stage: 5, body: { choice: "yes" } } },
    ];
    for (const value of wrong) {
      assert.equal(decodeEvent(attempt, slot, value), null, JSON.stringify(value));
      assert.equal(hashgraph.rejectPayload(attempt, slot, value), "malformed-payload");
    }
    assert.equal(decodeEvent(attempt, { ...slot, round: 0 }, good), null);
    assert.equal(hashgraph.rejectPayload(attempt, { ...slot, phase: 2 }, good), "unknown-phase");
    assert.equal(hashgraph.rejectPayload(attempt, { ...slot, round: EVENTS_PER_SEAT }, good), "no-such-round");
    fc.assert(
      fc.property(fc.anything(), (value) => {
        assert.equal(decodeEvent(attempt, slot, value as Value), null);
      }),
    );
  });

  it("H19: of equivalent answers one stands for all, the same whoever asks", () => {
    const numbers = hashgraphAttempt(4, { kind: "number", decimals: 0, tolerance: 2n });
    const answers = [["10"], ["12"], ["11"], ["11", "11"]];
    assert.equal(outcomeOf(randomDeliberation(numbers, answers, 1).messages, numbers), "decided 11");
    assert.equal(outcomeOf(randomDeliberation(numbers, answers.toReversed(), 2).messages, numbers), "decided 11");
  });

  it("HG20: the worst transcript stays within its bounds; out of events is Hung", () => {
    const links = (MAX_SEATS + faultTolerance(MAX_SEATS)) * EVENTS_PER_SEAT;
    assertAtMost(links, limits.messagesPerTranscript);
    assertAtMost(links * 41 + limits.questionBytes + MAX_SEATS * 40 + 512, limits.rootBytes);
    const world = new GossipWorld(attempt);
    for (let sequence = 0; sequence < EVENTS_PER_SEAT; sequence++)
      for (const seat of [0, 1, 2]) world.event(seat, null);
    assert.equal(outcomeOf(world.messages.slice(0, -1)), "open");
    assert.equal(outcomeOf(world.messages), "hung ");
  });
});
