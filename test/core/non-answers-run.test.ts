import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { protocols } from "../../agents/core/protocols/index.ts";
import { commitForm, commitmentOf, revealForm } from "../../agents/core/phases/proposals.ts";
import { TIER_MAX } from "../../agents/core/phases/tiers.ts";
import { mbft } from "../../agents/core/protocols/mbft/index.ts";
import { canonicalOrder } from "../../agents/core/seat/order.ts";
import { NON_ANSWER_OUTCOMES } from "../../agents/core/request/non-answers.ts";
import { faultTolerance } from "../../agents/core/quorum.ts";
import type { ReadingFailure } from "../../agents/core/sources/snapshot.ts";
import type { Protocol } from "../../agents/core/protocol.ts";
import type { Attempt, Digest, NonAnswer, SeatIndex, Terms } from "../../agents/core/types.ts";
import { believing, byRank, decisionOf, taskOf, watched } from "../support/core/council-scripts.ts";
import { asking, bodyIn, nameOf, quoting, standing } from "../support/core/sources-scripts.ts";
import { assertAbove, assertFields } from "../support/assertions.ts";
import type { SeatScript } from "../support/core/committee.ts";

/** SG5: the protocols that read sources. */
const READERS = protocols.filter(({ readsSources }) => readsSources);

const PAGE = "The team shipped version 2 on 3 March, says its release page.";
const DENIAL = "The team never shipped version 2, says the paper of the day.";
const WORDS = { unanswerable: "unanswerable", tooEarly: "too early" } as const;

function askingUnder(protocol: Protocol, n: number, texts: readonly string[], terms: Partial<Terms> = {}): Attempt {
  return asking(n, texts, { protocol: protocol.code, ...terms });
}

/** Seats whose models say one thing and judge by it; some, the first in canonical order, say another. */
function deciding(
  protocol: Protocol,
  attempt: Attempt,
  texts: readonly string[],
  usual: SeatScript,
  others: readonly SeatScript[] = [],
): ReturnType<typeof watched> {
  const scripts = byRank(attempt, usual, Object.fromEntries(others.map((one, rank) => [rank, one])));
  return watched(protocol, attempt, scripts, 1, standing(...texts));
}

/** A seat whose model answers with a quotation of the page, whatever it answers. */
const saying = (answer: string): SeatScript => quoting(PAGE, answer);

/** A seat that can read no source. */
const failing = (reason: ReadingFailure): SeatScript => ({ ...saying("yes"), failsAt: () => reason });

const nonAnswer = (status: NonAnswer) => ({ status, outcome: NON_ANSWER_OUTCOMES[status], answer: "" });

describe("non-answers: over a committee", () => {
  for (const protocol of READERS)
    describe(protocol.id, () => {
      for (const n of [4, 7]) {
        const f = faultTolerance(n);

        it(`SG10: n = ${n}: what the models call unanswerable or too early is, whatever f liars answer`, () => {
          const texts = [PAGE, DENIAL];
          for (const status of ["unanswerable", "tooEarly"] as const)
            for (const liars of [0, f]) {
              const attempt = askingUnder(protocol, n, texts);
              const lying = Array.from({ length: liars }, () => saying("yes"));
              const decision = decisionOf(deciding(protocol, attempt, texts, saying(WORDS[status]), lying));
              assertFields(decision, nonAnswer(status));
              assertAbove(decision.confidence, 0);
            }
        });

        it(`SG10: n = ${n}: f liars cannot make a question unanswerable whose page tells`, () => {
          const attempt = askingUnder(protocol, n, [PAGE]);
          for (const lie of Object.values(WORDS)) {
            const lying = Array.from({ length: f }, () => saying(lie));
            const decision = decisionOf(deciding(protocol, attempt, [PAGE], saying("yes"), lying));
            assertFields(decision, { status: "decided", answer: "yes" });
          }
        });

        it(`SG8, EV-4: n = ${n}: a page that shows every seat something else is unanswerable, and nobody asks a model; all earn alike`, () => {
          const attempt = askingUnder(protocol, n, [PAGE]);
          const scripts = attempt.committee.map((_, seat) => ({ ...saying("yes"), sees: () => `${PAGE} By ${seat}.` }));
          const run = watched(protocol, attempt, scripts, 1, standing(PAGE));
          assertFields(decisionOf(run), { ...nonAnswer("unanswerable"), confidence: 1_000_000 });
          assert.equal(run.asked.length, 0);
          assert.deepEqual(new Set(decisionOf(run).shares), new Set([1]));
        });
      }

      it("SG8: a page that is gone is unanswerable, and nobody asks a model", () => {
        const attempt = askingUnder(protocol, 4, [PAGE]);
        const run = deciding(protocol, attempt, [], saying("yes"));
        assertFields(decisionOf(run), nonAnswer("unanswerable"));
        assert.equal(run.asked.length, 0);
      });

      it("SG8: what fails only now hangs, and what is still to come is too early; f liars change neither", () => {
        const attempt = askingUnder(protocol, 4, [PAGE]);
        const ends = (fails: ReadingFailure, lie: ReadingFailure) =>
          decisionOf(deciding(protocol, attempt, [], failing(fails), [failing(lie)]));
        for (const passing of ["timeout", "unreachable", "server-error", "no-rpc"] as const)
          assertFields(ends(passing, "not-found"), { status: "hung" });
        for (const pending of ["not-final", "not-there"] as const)
          assertFields(ends(pending, "timeout"), { ...nonAnswer("tooEarly"), confidence: 750_000 });
        assertFields(ends("not-found", "timeout"), { ...nonAnswer("unanswerable"), confidence: 750_000 });
        assertFields(ends("no-such-value", "not-final"), nonAnswer("unanswerable"));
      });

      it("SG8, SG10: where the terms refuse non-answers the attempt hangs in their place", () => {
        const attempt = askingUnder(protocol, 4, [PAGE], { nonAnswers: "refused" });
        assertFields(decisionOf(deciding(protocol, attempt, [], saying("yes"))), { status: "hung" });
        const said = deciding(protocol, attempt, [PAGE], saying("unanswerable"));
        assertFields(decisionOf(said), { status: "hung" });
        for (const { prompt } of said.asked)
          for (const { system, schema } of [prompt.small, prompt.general])
            assert.doesNotMatch(JSON.stringify([system, schema]), /unanswerable/);
      });

      it("EQ6: a number below zero and a non-answer with the same outcome on the chain are never mistaken", () => {
        const terms = { kind: "number", tolerance: 5n } as const;
        for (const [status, number, constant] of [
          ["unanswerable", "-1", NON_ANSWER_OUTCOMES.unanswerable],
          ["tooEarly", "-2", NON_ANSWER_OUTCOMES.tooEarly],
        ] as const) {
          const attempt = askingUnder(protocol, 4, [PAGE], terms);
          const none = decisionOf(deciding(protocol, attempt, [PAGE], saying(WORDS[status]), [saying(number)]));
          assertFields(none, nonAnswer(status));
          const answered = decisionOf(deciding(protocol, attempt, [PAGE], saying(number), [saying(WORDS[status])]));
          assertFields(answered, { status: "decided", answer: number, outcome: constant });
        }
      });

      it("EQ6: a non-answer is not one of the policies, and no set of policies is a non-answer", () => {
        const attempt = askingUnder(protocol, 4, [PAGE], { kind: "policies", options: 3 });
        const none = decisionOf(deciding(protocol, attempt, [PAGE], saying("too early"), [saying("A,C")]));
        assertFields(none, nonAnswer("tooEarly"));
        const sets = decisionOf(deciding(protocol, attempt, [PAGE], saying("A,C"), [saying("unanswerable")]));
        assertFields(sets, { status: "decided", answer: "A,C" });
      });

      it("SG10: a non-answer that quotes a source does not count; a seat leaves out what its model quoted", () => {
        const attempt = askingUnder(protocol, 4, [PAGE]);
        const run = deciding(protocol, attempt, [PAGE], saying("unanswerable"));
        const said = run.effects.flat().flatMap((one) => (one.kind === "send" ? [bodyIn(one.payload)] : []));
        const cited = said.flatMap(({ proposal = null }) =>
          proposal === null ? [] : [(proposal as { readonly citations: readonly unknown[] }).citations],
        );
        assertAbove(cited.length, 0);
        for (const citations of cited) assert.deepEqual(citations, []);
      });
    });

  it("SG8: two thirds of the seats are too few to call a question unanswerable or too early", () => {
    for (const [n, looking] of [
      [4, 2],
      [6, 4],
      [7, 4],
    ] as const)
      for (const [fails, status] of [
        ["not-found", "unanswerable"],
        ["not-final", "tooEarly"],
      ] as const) {
        const attempt = askingUnder(mbft, n, [PAGE]);
        const ends = (seats: number) => {
          const told = Array.from({ length: seats }, () => failing(fails));
          return decisionOf(deciding(mbft, attempt, [PAGE], failing("timeout"), told)).status;
        };
        assert.equal(ends(looking), "hung");
        assert.equal(ends(looking + 1), status);
      }
  });

  it("SG8: sources that are still to come, each for other seats, are not too early", () => {
    const attempt = askingUnder(mbft, 4, [PAGE, DENIAL]);
    const scripts = attempt.committee.map((_, seat) => ({
      ...saying("yes"),
      failsAt: (source: string): ReadingFailure => ((source === nameOf(PAGE)) === seat < 2 ? "not-final" : "not-found"),
    }));
    assertFields(decisionOf(watched(mbft, attempt, scripts, 1, standing())), { status: "hung" });
  });

  it("SG10: a non-answer that cites a witnessed passage does not count", () => {
    const attempt = askingUnder(mbft, 4, [PAGE]);
    const salt = new Uint8Array(32);
    const citations = [{ source: 0, passage: PAGE, quotation: PAGE }];
    const quoted = { answer: "unanswerable", proof: "", tier: TIER_MAX, citations };
    const [first] = canonicalOrder(attempt);
    const insisting: SeatScript = {
      ...saying("unanswerable"),
      saysToItself: true,
      say: (effect) => {
        if (effect.phase !== commitForm.phase && effect.phase !== revealForm.phase) return [effect];
        const { seen } = effect.payload;
        const commitment = commitmentOf(attempt, effect.round - 1, first as SeatIndex, quoted, salt);
        const isCommit = effect.phase === commitForm.phase;
        const body = isCommit
          ? commitForm.encode({ commitment })
          : revealForm.encode({ proposal: { ...quoted, salt } });
        return [{ ...effect, payload: { ...body, ...(seen !== undefined && { seen }) } }];
      },
    };
    const run = deciding(mbft, attempt, [PAGE], saying("unanswerable"), [insisting]);
    assertFields(decisionOf(run), { ...nonAnswer("unanswerable") });
    const [, other] = canonicalOrder(attempt);
    assert.match(
      mbft.explain!(attempt, run.states[other as SeatIndex]!.tally).join("\n"),
      new RegExp(`seat ${first}: its answer 'unanswerable' quotes a source, though it rests on none`),
    );
    assert.equal(decisionOf(run).shares[first as SeatIndex], 0);
  });

  it("EQ6: no judgement of texts makes a text a non-answer, though all seats say that they are the same", () => {
    for (const protocol of READERS.filter(({ id }) => id !== "leaderless")) {
      const attempt = askingUnder(protocol, 4, [PAGE], { kind: "text" });
      const alike = (text: string): SeatScript => ({
        answer: (ask) =>
          taskOf(ask.prompt) === "match"
            ? { fields: { check: "c", verdict: "same" } }
            : (taskOf(ask.prompt) === "cite" ? saying(text) : believing(text)).answer(ask),
      });
      const run = deciding(protocol, attempt, [PAGE], alike("unanswerable"), [alike("Nobody can tell.")]);
      assertFields(decisionOf(run), nonAnswer("unanswerable"));
      const matched = run.asked.filter(({ prompt }) => taskOf(prompt) === "match");
      assert.equal(matched.length, 0, "one text and a non-answer are no pair of texts");
    }
  });

  it("SG10: where a question names no sources, the words are a text, or no answer", () => {
    for (const protocol of READERS) {
      const text = askingUnder(protocol, 4, [], { kind: "text" });
      const said = decisionOf(deciding(protocol, text, [], saying("unanswerable")));
      assertFields(said, { status: "decided", answer: "unanswerable" });
      assert.notEqual(said.outcome, NON_ANSWER_OUTCOMES.unanswerable satisfies Digest);
      const boolean = decisionOf(deciding(protocol, askingUnder(protocol, 4, []), [], saying("unanswerable")));
      assertFields(boolean, { status: "hung" });
    }
  });

  it("PH14: the reasons say what the seats gave, in words", () => {
    for (const protocol of READERS.filter(({ explain }) => explain !== undefined)) {
      const attempt = askingUnder(protocol, 4, [PAGE]);
      const run = deciding(protocol, attempt, [PAGE], saying("unanswerable"));
      assert.match(protocol.explain!(attempt, run.states[0]!.tally).join("\n"), /'unanswerable'/, protocol.id);
    }
  });
});
