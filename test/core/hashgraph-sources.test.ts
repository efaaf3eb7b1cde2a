import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { digestOf } from "../../agents/core/encoding/codec.ts";
import { hexToBytes, sha256, utf8 } from "../../agents/core/encoding/bytes.ts";
import { encodeMessage } from "../../agents/core/encoding/transcript.ts";
import { limits } from "../../agents/core/limits.ts";
import { commitmentOf, type Proposal } from "../../agents/core/phases/proposals.ts";
import {
  EVENT,
  EVENTS_PER_SEAT,
  MAX_READING_SEATS,
  MAX_SEATS,
  eventsPerSeat,
} from "../../agents/core/protocols/hashgraph/config.ts";
import { hashgraph } from "../../agents/core/protocols/hashgraph/index.ts";
import { encodeEvent, type StageRecord } from "../../agents/core/protocols/hashgraph/payloads.ts";
import { faultTolerance } from "../../agents/core/quorum.ts";
import { passagesOf, passagesOfEach } from "../../agents/core/sources/passages.ts";
import type { Attempt, Outcome, Ppm, SeatIndex, Terms } from "../../agents/core/types.ts";
import { generator, runCommittee, signMessage, timing, type SeatScript } from "../support/core/committee.ts";
import { believing, decisionOf, fieldOf, letteredIn, taskOf, watched } from "../support/core/council-scripts.ts";
import { GossipWorld, bareEvent, tallyOf } from "../support/core/hashgraph-world.ts";
import { asking, bodyIn, quoting, standing } from "../support/core/sources-scripts.ts";
import { assertAbove, assertAtMost, assertFields } from "../support/assertions.ts";

const PAGE = "The team shipped version 2 on 3 March, says its release page.";
const DENIAL = "The team never shipped version 2, says the paper of the day.";

function askingHere(n: number, texts: readonly string[] = [PAGE], terms: Partial<Terms> = {}): Attempt {
  return asking(n, texts, { protocol: hashgraph.code, ...terms });
}

const gatherRecord = (...texts: readonly string[]): StageRecord => ({
  kind: "gather",
  stage: 0,
  sources: texts.map((text) => ({ passages: passagesOf(text).map(digestOf) })),
});

const salt = new Uint8Array(32).fill(7);

function citing(answer: string, passage: string): Proposal {
  return { answer, proof: "p", tier: 900_000 as Ppm, citations: [{ source: 0, passage, quotation: passage }] };
}

/** A deliberation of four seats: what each read and answers, with what its answer cites. */
function deliberated(attempt: Attempt, read: readonly (string | null)[], answers: readonly Proposal[]): Outcome | null {
  const world = new GossipWorld(attempt);
  const random = generator(5);
  world.stage(
    read.map((text) => (text === null ? { ...gatherRecord(), sources: [{ failed: "timeout" }] } : gatherRecord(text))),
    random,
  );
  world.stage(
    answers.map((proposal, seat) => ({
      kind: "commit",
      stage: 1,
      commitment: commitmentOf(attempt, 0, seat as SeatIndex, proposal, salt),
    })),
    random,
  );
  for (const round of [0, 1])
    world.stage(
      answers.map((proposal) => ({ kind: "output", stage: 2 + round, proposal, salt: round === 0 ? salt : null })),
      random,
    );
  for (let event = 0; event < 160; event++) world.pair([0, 1, 2, 3], random);
  const concluded = hashgraph.conclude(attempt, tallyOf(world.messages));
  return concluded.kind === "final" ? concluded.outcome : null;
}

describe("hashgraph with sources", () => {
  it("SG9, HG26: an answer counts iff more than 1/3 of the seats read what it cites", () => {
    const attempt = askingHere(4);
    const answers = [citing("yes", PAGE), citing("yes", PAGE), citing("yes", PAGE), citing("yes", PAGE)];
    // One seat read the page, the others the denial: they cite what one seat alone read.
    const few = [PAGE, DENIAL, DENIAL, DENIAL];
    assert.equal(deliberated(attempt, few, answers), null);
    const enough = deliberated(attempt, [PAGE, DENIAL, DENIAL, PAGE], answers);
    assertFields(enough ?? {}, { status: "decided", answer: "yes" });
  });

  it("SG9, PY10: a sure and wrong answer that no source bears, shown in time, earns nothing and costs nothing", () => {
    const attempt = askingHere(4);
    const yes = citing("yes", PAGE);
    const outcome = deliberated(attempt, [PAGE, PAGE, PAGE, DENIAL], [yes, yes, yes, citing("no", DENIAL)]);
    assertFields(outcome ?? {}, { answer: "yes", reputationChanges: [], shares: [240, 240, 240, 0] });
  });

  it("HG26: what a seat without a first record says after the others closed the stage does not count", () => {
    const attempt = askingHere(4);
    const world = (isLate: boolean): readonly string[] => {
      const made = new GossipWorld(attempt);
      const random = generator(9);
      const read = [PAGE, DENIAL, DENIAL].map((text) => gatherRecord(text));
      made.stage(isLate ? [...read, null] : [...read, gatherRecord(PAGE)], random);
      // The order closes the stage, then the late seat speaks, and the order goes on.
      for (let event = 0; event < 120; event++) made.pair([0, 1, 2], random);
      if (isLate) made.event(3, 0, gatherRecord(PAGE));
      for (let event = 0; event < 120; event++) made.pair([0, 1, 2, 3], random);
      return hashgraph.explain!(attempt, tallyOf(made.messages));
    };
    assert.match(world(false)[0] ?? "", /read by 4 of 4 seats/);
    assert.match(world(true)[0] ?? "", /read by 3 of 4 seats/);
  });

  it("SG8, PY6: where nothing can be cited, those earn alike who said in time what they read", () => {
    const attempt = askingHere(4);
    const world = new GossipWorld(attempt);
    const random = generator(9);
    world.stage([...[0, 1, 2].map((seat) => gatherRecord(`${PAGE} By ${seat}.`)), null], random);
    for (let event = 0; event < 120; event++) world.pair([0, 1, 2], random);
    world.event(3, 0, gatherRecord(PAGE));
    for (let event = 0; event < 40; event++) world.pair([0, 1, 2, 3], random);
    const concluded = hashgraph.conclude(attempt, tallyOf(world.messages));
    const outcome = concluded.kind === "final" ? concluded.outcome : assert.fail("open");
    assertFields(outcome, { status: "unanswerable", confidence: 750_000, shares: [1, 1, 1, 0] });
  });

  it("SG8, HG26: the attempt ends with the order of that stage: one batch, the same at every seat, and no model is asked", () => {
    for (const n of [4, 7, 13]) {
      const attempt = askingHere(n);
      const scripts = attempt.committee.map((_, seat) => ({
        ...quoting(PAGE, "yes"),
        sees: () => `${PAGE} By ${seat}.`,
      }));
      const run = watched(hashgraph, attempt, scripts, 1, standing(PAGE));
      assertFields(decisionOf(run), { status: "unanswerable" });
      assert.equal(run.asked.length, 0);
      assert.equal(new Set(run.certificates.map((one) => one?.decision.transcript)).size, 1);
      const kinds = new Set(
        run.effects.flat().flatMap((one) => {
          const record = one.kind === "send" && one.phase === EVENT ? one.payload["record"] : null;
          return record === null ? [] : [(record as { readonly stage: number }).stage];
        }),
      );
      assert.deepEqual([...kinds], [0]);
    }
  });

  it("HG26: seats that wait for that order go on when a late reading lets something be cited, unless the order comes first", () => {
    const attempt = askingHere(4);
    const other: SeatScript = { ...quoting(DENIAL, "no"), sees: () => DENIAL };
    const alone: SeatScript = { ...quoting(PAGE, "yes"), sees: () => `${PAGE} By me.` };
    // To wait two graces all the same would take 1 or 2 seconds more.
    for (const [latencyMs, lateMs, end, asks, mostMs] of [
      [20, 100, { status: "unanswerable", confidence: 750_000 }, 0, 2_000],
      [100, 200, { status: "decided", answer: "yes" }, 16, 5_000],
      [150, 400, { status: "decided", answer: "yes" }, 16, 7_000],
    ] as const) {
      // Two seats read the page; the second of them reads longer than the others wait.
      const slow = { ...quoting(PAGE, "yes"), readMs: timing.graceMs + lateMs };
      const run = runCommittee(hashgraph, attempt, [quoting(PAGE, "yes"), slow, other, alone], {
        texts: standing(PAGE),
        latencyOf: () => latencyMs,
        readMs: 5,
      });
      assertFields(decisionOf(run), end);
      assert.equal(run.asks, asks);
      assertAtMost(run.elapsedMs, mostMs);
    }
  });

  it("HG26: where the order takes longer than two graces, seats go on, and it still ends the attempt", () => {
    const attempt = askingHere(4);
    const scripts = attempt.committee.map((_, seat) => ({
      ...quoting(PAGE, "yes"),
      sees: () => `${PAGE} By ${seat}.`,
    }));
    const options = { texts: standing(PAGE), latencyOf: () => 600, readMs: 5 };
    const run = runCommittee(hashgraph, attempt, scripts, options);
    assertFields(decisionOf(run), { status: "unanswerable" });
    assertAbove(run.asks, 0);
    assert.deepEqual(new Set(decisionOf(run).shares), new Set([1]));
  });

  it("SG7, SG9: the vote shows what the answer cites beside what its reader read; who read nothing is not asked", () => {
    const attempt = askingHere(4, [PAGE, DENIAL]);
    const yes = quoting(PAGE, "yes", "yes", "A");
    const no = quoting(DENIAL, "no", "no", "B");
    const scripts = [yes, yes, no, { ...no, lacks: true }];
    const run = watched(hashgraph, attempt, scripts, 1, standing(PAGE, DENIAL));
    const voted = run.asked.filter(({ prompt }) => taskOf(prompt) === "verify");
    assertAbove(voted.length, 0);
    for (const { prompt } of voted) {
      assert.equal(fieldOf(prompt, "quote"), fieldOf(prompt, "answer") === "yes" ? PAGE : DENIAL);
      assert.deepEqual(letteredIn(prompt, "source"), [PAGE, DENIAL]);
    }
    assert.equal(run.asked.filter(({ seat }) => seat === 3).length, 0);
  });

  it("SG4: a revised answer cites, too, and one that does not counts for nothing", () => {
    const attempt = askingHere(4);
    const quiet: SeatScript = {
      answer: (ask) =>
        taskOf(ask.prompt) === "revise" ? believing("yes").answer(ask) : quoting(PAGE, "yes").answer(ask),
    };
    const run = watched(hashgraph, attempt, [quiet, quiet, quiet, quiet], 1, standing(PAGE));
    assertFields(decisionOf(run), { status: "hung" });
    assert.match(hashgraph.explain!(attempt, run.states[0]!.tally).join("\n"), /quotes nothing that more than 1\/3/);
  });

  it("HG26: a seat that reads too late says so, and its model still sees what it read", () => {
    const attempt = askingHere(4);
    const late = { ...quoting(PAGE, "yes"), readMs: timing.phaseMs + 100, thinkMs: 10 };
    const on = { ...quoting(PAGE, "yes"), thinkMs: timing.phaseMs - 1_000 };
    const run = watched(hashgraph, attempt, [late, on, on, on], 1, standing(PAGE));
    assertFields(decisionOf(run), { status: "decided", answer: "yes" });
    const [first] = run.effects[0]!.flatMap((one) => (one.kind === "send" ? [bodyIn(one.payload)] : []));
    assert.deepEqual(first, { sources: [{ failed: "timeout" }] });
    assertAbove(run.asked.filter(({ seat }) => seat === 0).length, 0);
  });

  it("HG20: transcripts of questions with sources stay within their bounds; without sources nothing changes", () => {
    const n = MAX_READING_SEATS;
    assert.equal(eventsPerSeat(askingHere(n)), EVENTS_PER_SEAT + 16);
    assertAtMost((n + faultTolerance(n)) * eventsPerSeat(askingHere(n)), limits.messagesPerTranscript);
    assert.equal(hashgraph.refuseRequest(askingHere(n)), null);
    assert.match(String(hashgraph.refuseRequest(askingHere(n + 1))), /28 is outside 4\.\.27, where the question names/);
    assert.equal(eventsPerSeat(askingHere(MAX_SEATS, [])), EVENTS_PER_SEAT);
    assert.equal(hashgraph.refuseRequest(askingHere(MAX_SEATS, [])), null);
  });

  it("SG5, SG6: four lists of the greatest length fit into one event, with all that it asks for", () => {
    const attempt = askingHere(MAX_READING_SEATS, ["a", "b", "c", "d"]);
    const passages = Array.from({ length: passagesOfEach(4) }, (_, index) => sha256(utf8(`${index}`)));
    const ref = { seat: 26 as SeatIndex, sequence: 139, digest: sha256(utf8("parent")) };
    const record: StageRecord = { kind: "gather", stage: 0, sources: Array.from({ length: 4 }, () => ({ passages })) };
    const wants = Array.from({ length: 16 }, () => ref);
    const payload = encodeEvent({ ...bareEvent, time: 2 ** 40, wants, record });
    assert.equal(hashgraph.rejectPayload(attempt, { phase: EVENT, round: 0, seat: 1 as SeatIndex }, payload), null);
    assertAtMost(encodeMessage(signMessage(attempt, 1, EVENT, 0, payload)).length, limits.messageBytes);
  });

  it("SG5: a record of what was read is refused where the question names no source, and one of too few sources", () => {
    const payload = encodeEvent({ ...bareEvent, record: gatherRecord(PAGE) });
    const slot = { phase: EVENT, round: 0, seat: 0 as SeatIndex };
    assert.equal(hashgraph.rejectPayload(askingHere(4), slot, payload), null);
    for (const attempt of [askingHere(4, []), askingHere(4, [PAGE, DENIAL])])
      assert.equal(hashgraph.rejectPayload(attempt, slot, payload), "malformed-payload");
    const elsewhere = encodeEvent({ ...bareEvent, record: { ...gatherRecord(PAGE), stage: 1 } });
    assert.equal(hashgraph.rejectPayload(askingHere(4), slot, elsewhere), "malformed-payload");
  });

  it("HG26: liars that show an event to one reader alone do not keep its reading from counting", () => {
    const attempt = askingHere(10, [PAGE], { nonAnswers: "accepted" });
    const invented = { seat: 0, sequence: 40, digest: hexToBytes(digestOf("nothing")) };
    const reads = (seen: string, readMs = 3_100): SeatScript => ({ ...quoting(PAGE, "yes"), sees: () => seen, readMs });
    const scripts: SeatScript[] = [
      ...[0, 1, 2, 3].map(() => reads(PAGE)),
      ...[4, 5, 6].map((seat) => reads(`${PAGE} ${seat}`)),
      reads(`${PAGE} 7`, 1),
      {
        // Names a parent that does not exist, so that everybody uses up its first waits.
        ...reads(`${PAGE} 8`, 1),
        say: (effect) => {
          if (effect.phase !== EVENT) return [effect];
          return effect.round > 0 ? [] : [{ ...effect, payload: { ...effect.payload, otherParent: invented } }];
        },
      },
      {
        // Shows its first event, and no other, to seat 0 alone.
        ...reads(`${PAGE} 9`, 20),
        hoards: true,
        say: (effect, to) => (effect.phase !== EVENT || (to === 0 && effect.round === 0) ? [effect] : []),
      },
    ];
    const run = runCommittee(hashgraph, attempt, scripts, { texts: standing(PAGE), latencyOf: () => 5 });
    assertAbove(run.asks, 0);
    assert.notEqual(decisionOf(run).status, "unanswerable");
  });

  it("HG26: what a seat read stands in its first event, and in no other", () => {
    const attempt = askingHere(4);
    const payload = encodeEvent({ ...bareEvent, selfParent: digestOf("before"), record: gatherRecord(PAGE) });
    const slot = { phase: EVENT, round: 1, seat: 0 as SeatIndex };
    assert.equal(hashgraph.rejectPayload(attempt, slot, payload), "malformed-payload");
    const resting = { seat: 1 as SeatIndex, sequence: 0, digest: digestOf("withheld") };
    const withParent = encodeEvent({ ...bareEvent, otherParent: resting, record: gatherRecord(PAGE) });
    assert.equal(hashgraph.rejectPayload(attempt, { ...slot, round: 0 }, withParent), "malformed-payload");
    const bare = encodeEvent({ ...bareEvent, selfParent: digestOf("before") });
    assert.equal(hashgraph.rejectPayload(attempt, slot, bare), null);
    // A seat that misses parents while it reads asks for them with its first event.
    const slow = { ...quoting(PAGE, "yes"), readMs: timing.phaseMs / 2 };
    const withheld = (from: number, to: number): number => (from === 1 && to === 0 ? 20_000 : 5);
    const run = runCommittee(hashgraph, attempt, [slow, ...[1, 2, 3].map(() => quoting(PAGE, "yes"))], {
      texts: standing(PAGE),
      latencyOf: withheld,
      readMs: 5,
    });
    assertFields(decisionOf(run), { status: "decided", answer: "yes" });
    for (const effects of run.effects) {
      const records = effects.flatMap((one) => (one.kind === "send" && one.phase === EVENT ? [one] : []));
      const reading = records.filter((one) => "sources" in bodyIn(one.payload));
      assert.deepEqual(
        reading.map(({ round }) => round),
        [0],
      );
    }
  });
});
