import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SURE_RIGHT } from "../../agents/core/phases/pay.ts";
import { compareHex, concat, hexToBytes, sha256 } from "../../agents/core/encoding/bytes.ts";
import { canonicalOrder } from "../../agents/core/seat/order.ts";
import { consensusReport } from "../../lab/references/hashgraph-report.ts";
import { hashgraph } from "../../agents/core/protocols/hashgraph/index.ts";
import type { SeatState } from "../../agents/core/seat/seat.ts";
import { messagesOf } from "../../agents/core/seat/tally.ts";
import type { Certificate, Digest } from "../../agents/core/types.ts";
import { keyOf, runCommittee, type CommitteeRun, type SeatScript } from "../support/core/committee.ts";
import {
  bends,
  follows,
  hashgraphAttempt,
  holds,
  isAsk,
  isEvent,
  results,
  rewords,
  run,
  type SendEffect,
} from "../support/core/hashgraph-scripts.ts";
import { assertAtMost, assertBelow, assertExcludes, assertFields, assertIncludes } from "../support/assertions.ts";

const yes = holds("yes");
const liar = holds("no");
const four = (...byzantine: readonly SeatScript[]): readonly SeatScript[] =>
  Array.from({ length: 4 }, (_, seat) => byzantine[seat] ?? yes);
const later = (payload: Parameters<Parameters<typeof bends>[1]>[0], ms: number) => ({
  ...payload,
  time: Number(payload["time"]) + ms,
});
const eventsOf = (done: CommitteeRun, seat: number): number => (done.effects[seat] ?? []).filter(isEvent).length;
const reportOf = (done: CommitteeRun, seat: number) =>
  consensusReport(hashgraphAttempt(done.states.length), done.states[seat]!.tally);

describe("hashgraph over a committee", () => {
  it("H01, H05, H09, H16, H17: answers independently, then once more, and decides by the order alone", () => {
    const attempt = hashgraphAttempt(4);
    const done = run(attempt, four());
    assert.deepEqual(
      results(done, [0, 1, 2, 3]),
      Array.from({ length: 4 }, () => "decided yes"),
    );
    assert.equal(new Set(done.certificates.map((certificate) => certificate?.decision.transcript)).size, 1);
    assertFields(done.certificates[0]?.decision, { confidence: 1_000_000, round: 0 });
    assert.deepEqual(done.certificates[0]?.decision.shares, Array(4).fill(SURE_RIGHT));
    // HG7: first of all everybody is asked, without a word of the others; then once more. Votes are never sent.
    for (const effects of done.effects) {
      const asks = effects.filter(isAsk);
      assert.deepEqual(
        asks.map(({ ask }) => ask),
        ["0.propose", "1.propose"],
      );
      assertBelow(effects.findIndex(isAsk), effects.findIndex(isEvent));
      assertExcludes(asks[0]?.prompt.small.user, "members");
      assertIncludes(asks[1]?.prompt.small.user, "3 of 4 members: yes".replace("3", "4"));
    }
    const kinds = [...messagesOf(done.states[0]!.tally)].map(({ header }) => header.phase);
    assert.deepEqual(new Set(kinds), new Set([1]));
    const report = reportOf(done, 0);
    assertFields(report, { path: "agreement", answer: "yes", summary: "4 of 4 seats agreed after 2 rounds" });
    assert.deepEqual(
      report.rounds.map(({ base, isUnanimous }) => [base, isUnanimous]),
      [
        [4, true],
        [4, true],
      ],
    );
    assert.deepEqual(
      report.order.map(({ roundReceived }) => roundReceived),
      report.order.map(({ roundReceived }) => roundReceived).toSorted((a, b) => a - b),
    );
  });

  for (const n of [4, 7, 10, 13]) {
    it(`H21: n = ${n}: f Byzantine seats of several kinds neither stall nor win`, () => {
      const f = Math.floor((n - 1) / 3);
      const kinds: readonly SeatScript[] = [
        bends(liar, (payload, to, sequence) => [sequence > 1 ? later(payload, 7 * (to % 2)) : payload]),
        liar,
        { ...liar, crashed: true },
        bends(liar, (payload, to) => (to === n - 1 ? [payload] : [])),
      ];
      const scripts = Array.from({ length: n }, (_, seat) => (seat < f ? (kinds[seat] as SeatScript) : yes));
      const done = run(hashgraphAttempt(n), scripts, n);
      const honest = scripts.flatMap((_, seat) => (seat < f ? [] : [seat]));
      assert.deepEqual(
        results(done, honest),
        honest.map(() => "decided yes"),
      );
      for (const seat of honest) assertBelow(eventsOf(done, seat), 80);
    });
  }

  it("H21: more than a third of the seats may hang the attempt or win: at half the seats the camps tie", () => {
    const done = run(hashgraphAttempt(4, { assurance: "high" }), [liar, liar, yes, yes]);
    assert.deepEqual(results(done, [2, 3]), ["hung ", "hung "]);
  });

  it("H23: a forking gossiper is proven, slashed and without influence, with two faces or with three", () => {
    for (const faces of [2, 3]) {
      const forker = bends(liar, (payload, to, sequence) => [
        sequence > 0 ? later(payload, 5 * (to % faces)) : payload,
      ]);
      const done = run(hashgraphAttempt(4), four(forker), faces);
      assert.deepEqual(results(done, [1, 2, 3]), ["decided yes", "decided yes", "decided yes"]);
      assert.deepEqual(done.certificates[1]?.decision.reputationChanges, [{ seat: 0, steps: -1 }]);
      assert.equal(done.certificates[1]?.decision.shares[0], 0);
      assert.deepEqual(reportOf(done, 1).forkers, [0]);
    }
  });

  it("H13: a seat that is silent, from the start or later, is offline after a time-out, and the base says so", () => {
    const crashed = run(hashgraphAttempt(4), four({ ...liar, crashed: true }));
    const stops = run(
      hashgraphAttempt(4),
      four(bends(liar, (payload, _, sequence) => (sequence < 5 ? [payload] : []))),
    );
    for (const done of [crashed, stops])
      assert.deepEqual(results(done, [1, 2, 3]), ["decided yes", "decided yes", "decided yes"]);
    const report = reportOf(crashed, 1);
    assert.deepEqual(
      report.rounds.map(({ base, offline }) => [base, offline]),
      [
        [3, [0]],
        [3, [0]],
      ],
    );
    assert.equal(report.summary, "3 of 4 seats agreed after 2 rounds");
    assert.equal(crashed.certificates[1]?.decision.confidence, 750_000);
  });

  it("H13: a stubborn seat is a hold-out: it hears the others, delays nothing and is left out", () => {
    const done = run(hashgraphAttempt(4), four(liar));
    const report = reportOf(done, 1);
    assert.deepEqual(
      report.rounds.map(({ holdOuts }) => holdOuts),
      [[0], [0]],
    );
    assert.deepEqual(done.certificates[1]?.decision.shares, [0, SURE_RIGHT, SURE_RIGHT, SURE_RIGHT]);
    const [, second] = done.effects[0]?.filter(isAsk) ?? [];
    assertIncludes(second?.prompt.small.user, 'counterProof: "3 of 4 members: yes: steps to yes"');
  });

  it("H01: a seat that commits and does not reveal, or reveals another answer, has no first answer", () => {
    const hides = bends(liar, (payload) => {
      const record = payload["record"] as { readonly stage: number } | null;
      return [record?.stage === 1 ? { ...payload, record: { stage: 1, body: { proposal: null } } } : payload];
    });
    const swaps = bends(liar, (payload) => {
      const record = payload["record"] as { stage: number; body: { proposal: object } } | null;
      if (record?.stage !== 1) return [payload];
      const proposal = { ...record.body.proposal, answer: "yes" };
      return [{ ...payload, record: { stage: 1, body: { proposal } } }] as never;
    });
    for (const script of [hides, swaps]) {
      const done = run(hashgraphAttempt(4), four(script));
      assert.deepEqual(results(done, [1, 2, 3]), ["decided yes", "decided yes", "decided yes"]);
      assert.deepEqual(
        reportOf(done, 1).rounds[0]?.answers.map(({ seat }) => seat),
        [1, 2, 3],
      );
    }
  });

  it("HG14: events shown to one seat alone are asked for and handed on", () => {
    for (const seed of [1, 2, 3]) {
      const done = run(hashgraphAttempt(4), four(bends(liar, (payload, to) => (to === 1 ? [payload] : []))), seed);
      assert.deepEqual(results(done, [1, 2, 3]), ["decided yes", "decided yes", "decided yes"]);
      assert.equal(new Set(done.certificates.slice(1).map((one) => one?.decision.transcript)).size, 1);
    }
  });

  it("CE16, HG6: a seat that holds another pair in a void slot and cannot conclude certifies with the others and proposes their root", () => {
    const attempt = hashgraphAttempt(4);
    const [forker, misled, ...others] = canonicalOrder(attempt) as readonly number[] as [number, number, ...number[]];
    let first: SendEffect | null = null;
    // One seat is shown two other first events instead of the one that the others' events rest on.
    const forks: SeatScript = {
      ...liar,
      hoards: true,
      say: (effect, to) => {
        if (effect.phase > 1) return [];
        first = effect.round === 0 ? effect : (first as SendEffect);
        const { payload } = first;
        const faces = [77, 78].map((time): SendEffect => ({ ...(first as SendEffect), payload: { ...payload, time } }));
        if (to !== misled || effect.round > 2) return [effect];
        return effect.round === 2 ? [...faces, effect] : [];
      },
    };
    const scripts = Array.from({ length: 4 }, (_, seat) => (seat === forker ? forks : yes));
    for (const seed of [2, 5]) {
      const done = run(attempt, scripts, seed);
      assert.deepEqual(results(done, [misled, ...others]), ["decided yes", "decided yes", "decided yes"]);
      const kindAt = (seat: number) => hashgraph.conclude(attempt, done.states[seat]!.tally).kind;
      assert.deepEqual([misled, ...others].map(kindAt), ["open", "final", "final"]);
      // The forker proposes nothing in round 0; its turn is next.
      assert.equal(done.certificates[misled]?.decision.round, 1);
    }
    // Who speaks a protocol that reads no void slot goes on deliberating (CE9).
    const { readsVoidSlots, ...other } = hashgraph;
    assert.equal(readsVoidSlots, true);
    const done = runCommittee(other, attempt, scripts, { seed: 2 });
    assert.equal(done.states.map(({ certify }) => certify.inTime !== null)[misled], false);
    assert.deepEqual(results(done, others), ["nothing", "nothing"]);
  });

  it("H31: false timestamps change nothing", () => {
    const times = [0, 2 ** 40].map((time) => {
      const done = run(hashgraphAttempt(4), four(bends(yes, (payload) => [{ ...payload, time }])));
      return results(done, [1, 2, 3]);
    });
    for (const outcome of times) assert.deepEqual(outcome, ["decided yes", "decided yes", "decided yes"]);
  });

  it("H06, H07: all seats adopt what 2/3 state; a model that follows drops the claim of one alone", () => {
    const done = run(hashgraphAttempt(7), ["yes", "yes", "yes", "yes", "yes", "no", "no"].map(follows));
    assert.deepEqual(results(done, [0, 5, 6]), ["decided yes", "decided yes", "decided yes"]);
    const report = reportOf(done, 0);
    assert.deepEqual(
      report.rounds.map(({ changed, isUnanimous }) => [changed, isUnanimous]),
      [
        [[], false],
        [[5, 6], true],
      ],
    );
    assert.equal(done.certificates[0]?.decision.confidence, 1_000_000);
  });

  it("H07: a defended minority answer can win: detail E", () => {
    const scripts = [yes, holds("no", "yes"), holds("no", "no", "yes"), holds("no", "no", "yes")];
    const done = run(hashgraphAttempt(4), scripts);
    assert.deepEqual(
      results(done, [0, 1, 2, 3]),
      Array.from({ length: 4 }, () => "decided yes"),
    );
    assert.deepEqual(
      reportOf(done, 0).rounds.map(({ isUnanimous }) => isUnanimous),
      [false, false, true, true],
    );
  });

  it("H08, H09, H19: agreement is within the tolerance, lasts one more round, and one text stands for it", () => {
    const attempt = hashgraphAttempt(4, { kind: "number", decimals: 1, tolerance: 5n });
    const done = run(attempt, [holds("10.1"), holds("10.3"), holds("10.2"), holds("99", "10.4")]);
    const report = consensusReport(attempt, done.states[0]!.tally);
    assert.deepEqual(results(done, [0, 1]), ["decided 10.2", "decided 10.2"]);
    assert.equal(report.rounds.length, 2);
    const flips = run(
      attempt,
      Array.from({ length: 4 }, () => holds("1", "7", "7")),
    );
    assert.equal(consensusReport(attempt, flips.states[0]!.tally).summary, "4 of 4 seats agreed after 3 rounds");
  });

  it("H08: models compare texts, not bytes; classes hold across rounds", () => {
    const attempt = hashgraphAttempt(4, { kind: "text" });
    const states = (text: string): SeatScript => ({
      answer: ({ ask }) => ({
        fields: ask.includes("match") ? { check: "c", verdict: "same" } : { proof: "p", answer: text },
      }),
    });
    const done = run(attempt, ["in Vienna", "Vienna", "at Vienna", "Vienna, Austria"].map(states));
    const report = consensusReport(attempt, done.states[0]!.tally);
    assertFields(report, { path: "agreement", summary: "4 of 4 seats agreed after 2 rounds" });
    assert.deepEqual(results(done, [0, 1, 2, 3]), results(done, [0, 0, 0, 0]));
    const differ = (text: string): SeatScript => ({
      answer: ({ ask }) =>
        ask.includes("vote")
          ? { fields: { check: "c", verdict: "abstain" } }
          : { fields: ask.includes("match") ? { check: "c", verdict: "different" } : { proof: "p", answer: text } },
    });
    const apart = run(attempt, ["a", "b", "c", "d"].map(differ));
    assert.deepEqual(results(apart, [0]), ["hung "]);
  });

  it("HG24, HG18: seats that reword their answer every round agree at high assurance as fast as those that repeat it", () => {
    const attempt = hashgraphAttempt(4, { kind: "text", assurance: "high" });
    const all = [0, 1, 2, 3];
    const worded = (seat: number, form: string) => all.map((round) => `${form} ${seat} of ${round}`);
    const expectAgreed = (scripts: readonly SeatScript[], honest: readonly number[]) => {
      const done = run(attempt, scripts);
      const report = consensusReport(attempt, (done.states[honest[0] as number] as SeatState).tally);
      assert.equal(report.summary, `${honest.length} of 4 seats agreed after 2 rounds`);
      assert.deepEqual(new Set(results(done, honest)), new Set([`decided ${report.answer}`]));
      assert.match(String(report.answer), /Vienna \d of 1/);
      // HG21: first answers in other words were taken for it.
      const { shares } = (done.certificates[honest[0] as number] as Certificate).decision;
      assert.deepEqual(
        shares,
        all.map((seat) => (honest.includes(seat) ? SURE_RIGHT : 0)),
      );
    };
    // Two wordings, each of two seats, then one of each seat, and again: the most supported texts are those of the round before.
    const paired = (seat: number, round: number) => (round % 2 === 0 ? seat >> 1 : seat);
    const honest = all.map((seat) => all.map((round) => `Vienna ${paired(seat, round)} of ${round}`));
    expectAgreed(
      honest.map((wordings) => rewords("Vienna", wordings)),
      all,
    );
    // The first seat in canonical order lies, and brings a text of its own per round.
    const first = canonicalOrder(attempt)[0] as number;
    const others = all.filter((seat) => seat !== first);
    expectAgreed(
      all.map((seat) => rewords("Vienna", worded(seat, seat === first ? "Graz" : "Vienna"))),
      others,
    );
  });

  it("H10, H11: two camps vote between the two leading answers; the report and a lower confidence say so", () => {
    const converts = holds("no", "no", "no", "no", "yes");
    const voted = run(hashgraphAttempt(4), [yes, yes, converts, converts]);
    assert.deepEqual(results(voted, [0, 3]), ["decided yes", "decided yes"]);
    assert.equal(voted.certificates[0]?.decision.confidence, 500_000);
    assert.equal(
      reportOf(voted, 0).summary,
      "no agreement after 4 rounds; 4 of 4 seats voted for the answer (fallback)",
    );
    // Nobody gives way: the most frequent answer, ties in canonical order, the same at every seat.
    const stuck = run(hashgraphAttempt(4), [yes, yes, liar, liar]);
    assert.equal(new Set(results(stuck, [0, 1, 2, 3])).size, 1);
    assert.equal(stuck.certificates[0]?.decision.confidence, 250_000);
    assert.equal(reportOf(stuck, 0).path, "plurality");
  });

  it("H10: plurality needs an honest seat behind it; without one, or at high assurance, it is Hung", () => {
    const choice = { kind: "choice", options: 4 } as const;
    const spread = run(
      hashgraphAttempt(4, choice),
      ["A", "B", "C", "D"].map((answer) => holds(answer)),
    );
    assert.deepEqual(
      results(spread, [0, 1, 2, 3]),
      Array.from({ length: 4 }, () => "hung "),
    );
    const high = run(hashgraphAttempt(4, { assurance: "high" }), [yes, yes, liar, liar]);
    assert.deepEqual(results(high, [0]), ["hung "]);
  });

  it("HG23: the proof that a seat is shown is chosen by a salt of the round, which stands in no event", () => {
    const camps = ["yes", "yes", "no", "no"];
    const says = (answer: string, seat: number): SeatScript => ({
      answer: ({ ask }) => ({
        fields: ask.includes("vote") ? { check: "c", verdict: "abstain" } : { proof: `proof of seat ${seat}`, answer },
      }),
    });
    const done = run(hashgraphAttempt(4), camps.map(says));
    const outputs = [...messagesOf(done.states[0]!.tally)].flatMap(({ header, payload }) => {
      const { record } = payload as { readonly record: { readonly stage: number } | null };
      return record === null ? [] : [{ stage: record.stage, seat: header.seat, digest: header.payloadDigest }];
    });
    let asked = 0;
    for (const [seat, effects] of done.effects.entries()) {
      for (const { ask, prompt } of effects.filter(isAsk)) {
        const isVote = ask.startsWith("vote");
        const round = isVote ? 4 : Number(ask.split(".")[0]);
        if (round === 0) continue;
        const salt = sha256(concat(keyOf(1000 + seat), Uint8Array.of(round)));
        const key = (digest: Digest) => sha256(concat(hexToBytes(salt), hexToBytes(digest)));
        // OUTPUT r is stage r + 1.
        const shown = outputs.filter(
          (one) => one.stage === round && prompt.small.user.includes(`proof of seat ${one.seat}`),
        );
        for (const camp of ["yes", "no"]) {
          if (isVote ? !prompt.small.user.includes(`answer: "${camp}"`) : camp === camps[seat]) continue;
          const [least] = outputs
            .filter((one) => one.stage === round && camps[one.seat] === camp)
            .toSorted((a, b) => compareHex(key(a.digest), key(b.digest)));
          assert.deepEqual(
            shown.filter((one) => camps[one.seat] === camp),
            [least],
            ask,
          );
          asked++;
        }
      }
    }
    assert.equal(asked, 4 * 3 + 4 * 2);
  });

  it("H12: answers that go back and forth are reported", () => {
    const done = run(
      hashgraphAttempt(4),
      Array.from({ length: 4 }, () => holds("yes", "no", "yes", "no", "yes")),
    );
    assert.deepEqual(reportOf(done, 0).oscillating, [0, 1, 2, 3]);
    assert.equal(reportOf(done, 0).path, "plurality");
    assert.deepEqual(reportOf(run(hashgraphAttempt(4), four(liar)), 1).oscillating, []);
  });

  it("H16: models that fail abstain; if all do, Hung with a certificate, and all earn alike", () => {
    const fails: SeatScript = { answer: () => null };
    assert.deepEqual(results(run(hashgraphAttempt(4), four(fails)), [1, 2, 3]), [
      "decided yes",
      "decided yes",
      "decided yes",
    ]);
    const none = run(hashgraphAttempt(4), [fails, fails, fails, fails]);
    assert.deepEqual(
      results(none, [0, 1, 2, 3]),
      Array.from({ length: 4 }, () => "hung "),
    );
    assert.deepEqual(none.certificates[0]?.decision.shares, [1, 1, 1, 1]);
  });

  it("HG20: events per seat grow with the logarithm of n, messages as n log n", () => {
    for (const [n, most] of [
      [4, 30],
      [7, 38],
      [10, 42],
    ] as const) {
      const done = run(
        hashgraphAttempt(n),
        Array.from({ length: n }, () => yes),
      );
      assertAtMost(Math.max(...done.effects.map((_, seat) => eventsOf(done, seat))), most);
      assert.equal(done.asks, 2 * n);
    }
    assert.match(String(hashgraph.refuseRequest(hashgraphAttempt(3))), /outside 4\.\.31/);
    assert.deepEqual(
      [hashgraph.refuseRequest(hashgraphAttempt(4)), hashgraph.refuseRequest(hashgraphAttempt(31))],
      [null, null],
    );
    assert.match(String(hashgraph.refuseRequest(hashgraphAttempt(32))), /outside 4\.\.31/);
  });
});
