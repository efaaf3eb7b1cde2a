import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, it } from "node:test";
import { decisionConfidence } from "../../agents/core/phases/backing.ts";
import type { Verdict } from "../../agents/core/phases/votes.ts";
import { tellsSamples } from "../../agents/core/protocols/clo/rules.ts";
import { clo } from "../../agents/core/protocols/clo/index.ts";
import { faultTolerance } from "../../agents/core/quorum.ts";
import { canonicalOrder } from "../../agents/core/seat/order.ts";
import { emptyTally } from "../../agents/core/seat/tally.ts";
import type { Assurance, Attempt, Outcome, Skill, Terms } from "../../agents/core/types.ts";
import { grounded, namingSources } from "../../agents/core/sources/named.ts";
import { addRound, attemptWith, type Act } from "../support/core/clo-set.ts";

const ask = (answer: string | null, votes: Act["votes"] = {}): Act => ({ answer, votes });
const torn = (answer: string, others: readonly string[], votes: Act["votes"] = {}): Act => ({ answer, others, votes });

const withTerms = (attempt: Attempt, terms: Partial<Terms>): Attempt => ({
  ...attempt,
  request: { ...attempt.request, terms: { ...attempt.request.terms, ...terms } },
});
const textsOnly = (attempt: Attempt): Attempt => withTerms(attempt, { kind: "text", options: 0 });
const numbersOnly = (attempt: Attempt, tolerance = 0n): Attempt =>
  withTerms(attempt, { kind: "number", options: 0, decimals: 0, tolerance });
const sourced = (attempt: Attempt): Attempt => ({
  ...attempt,
  request: { ...attempt.request, question: namingSources("Is it so?", ["https://example.org/"]) },
});

function conclude(attempt: Attempt, ...rounds: readonly (readonly Act[])[]): Outcome | null {
  const tally = rounds.reduce((all, acts, round) => addRound(all, attempt, round, acts), emptyTally);
  const conclusion = clo.conclude(attempt, tally);
  return conclusion.kind === "final" ? conclusion.outcome : null;
}

const decided = (attempt: Attempt, ...rounds: readonly (readonly Act[])[]): string | null => {
  const outcome = conclude(attempt, ...rounds);
  return outcome === null ? "open" : outcome.answer;
};

/** What is decided if nobody says more in the second round: by what the first one counts. */
const decidedSoon = (attempt: Attempt, acts: readonly Act[]): string | null =>
  decided(
    attempt,
    acts,
    acts.map(() => ask(null)),
  );

/** The score of an answer as `explain` says it. */
function score(attempt: Attempt, acts: readonly Act[], answer: string): number {
  const lines = clo.explain?.(attempt, addRound(emptyTally, attempt, 0, acts)) ?? [];
  return Number(lines.find((line) => line.startsWith(`'${answer}'`))?.match(/(?:count|with verdicts) (-?\d+)$/)?.[1]);
}

describe("clo", () => {
  it("CL4: what more than 2/3 answered in a round decides, whatever others' skill, other samples and verdicts are", () => {
    const attempt = attemptWith([1, 1, 1, 3]);
    const verdicts = [
      ask("A", { 3: "accept" }),
      ask("A", { 3: "accept" }),
      ask("A", { 3: "accept" }),
      ask("B", { 0: "reject" }),
    ];
    assert.equal(decided(textsOnly(attempt), verdicts), "A");
    const torns = [torn("A", ["B", "C"]), torn("A", ["B", "C"]), torn("A", ["B", "C"]), ask("B")];
    assert.equal(decided(attempt, torns), "A");
    const before = [ask("B"), ask("B"), ask("C"), ask("D")];
    assert.equal(decided(attempt, before, torns), "A");
    assert.equal(decided(attempt, before, [...torns.slice(1), ask("B")]), "B");
  });

  it("CL5: what fewer answered does not decide in the first round, where seats sample again", () => {
    const attempt = attemptWith([2, 2, 2, 2, 2, 2, 2]);
    const acts = [ask("A"), ask("A"), ask("A"), ask("A"), ask("B"), ask(null), ask(null)];
    assert.equal(decided(attempt, acts), "open");
    assert.equal(decidedSoon(attempt, acts), "A");
    assert.equal(decided(textsOnly(attempt), acts), "A");
  });

  it("CL5: the answers of all rounds are counted together, of a later round each as one sample", () => {
    const attempt = attemptWith([2, 2, 2, 2]);
    // A has 3 + 3 + 1 samples, B 2 + 2.
    const first = [ask("A"), ask("A"), torn("B", ["A"]), torn("B", ["C"])];
    assert.equal(decidedSoon(attempt, first), "A");
    // B has 1 + 1 more, and A none: 6 against 7.
    assert.equal(decided(attempt, first, [ask("B"), ask("B"), ask("C"), ask("D")]), "A");
    // B has 1 + 1 + 1 more, and A none: a tie, that the third round ends.
    const second = [ask("B"), ask("B"), torn("C", ["B"]), ask("D")];
    assert.equal(decided(attempt, first, second), "open");
    assert.equal(decided(attempt, first, second, [ask("B"), ask("C"), ask("D"), ask(null)]), "B");
    assert.equal(decided(attempt, first, second, [ask("D"), ask("C"), torn("D", ["A"]), ask(null)]), "A");
  });

  it("CL5: what an earlier round gave counts to the last round, if enough seats held it in time", () => {
    const attempt = attemptWith([2, 2, 2, 2]);
    const first = [ask("A"), ask("A"), torn("B", ["C"]), torn("B", ["C"])];
    const second = [ask("B"), ask("B"), ask("C"), ask("D")];
    // 6 and 6; then A has one more. Without the first round B would have two and A one.
    assert.equal(decided(attempt, first, second), "open");
    assert.equal(decided(attempt, first, second, [ask("A"), ask("C"), ask("D"), ask(null)]), "A");
    const tie = [ask("A"), ask("A"), ask("B"), ask("B")];
    const unheard = addRound(emptyTally, attempt, 0, tie, [3]);
    const nobody = tie.map(() => ask(null));
    const conclusion = clo.conclude(attempt, addRound(unheard, attempt, 1, nobody));
    assert.equal(conclusion.kind === "final" && conclusion.outcome.answer, "A");
    assert.equal(decidedSoon(attempt, tie), "open");
  });

  it("CL4: who gave the answer in another round is not counted", () => {
    const attempt = attemptWith([2, 2, 2, 2]);
    const first = [ask("A"), ask("B"), ask("B"), ask("C")];
    assert.equal(decided(attempt, first, [ask(null), ask("A"), ask("A"), ask(null)]), "B");
  });

  it("CL5: of texts the second round decides alone", () => {
    const attempt = textsOnly(attemptWith([2, 2, 2, 2]));
    const tie = [ask("A"), ask("A"), ask("B"), ask("B")];
    assert.equal(decided(attempt, tie), "open");
    assert.equal(decided(attempt, tie, [ask("C"), ask("C"), ask("A"), ask(null)]), "C");
  });

  it("CL3, CL6: where too few agree, what seats count is added, and of as many the class without a seat of skill 1 decides", () => {
    const acts = [ask("A"), ask("A"), ask("B"), ask("B")];
    assert.equal(decidedSoon(attemptWith([1, 2, 2, 2]), acts), "B");
    assert.equal(decidedSoon(attemptWith([2, 2, 1, 2]), acts), "A");
  });

  it("CL3: skill 3 counts as much as skill 2", () => {
    assert.equal(decided(attemptWith([3, 3, 2, 2]), [ask("A"), ask("A"), ask("B"), ask("B")]), "open");
  });

  it("CL3: two seats of skill 1 outweigh one of skill 3", () => {
    const acts = [ask("A"), ask("A"), ask("B"), ask("C"), ask("D")];
    assert.equal(decidedSoon(attemptWith([1, 1, 3, 3, 3]), acts), "A");
  });

  it("CL3: where more than f + 1 seats have skill 1, all count the same", () => {
    const seven = [ask("A"), ask("A"), ask("A"), ask("B"), ask("B"), ask("B"), ask(null)];
    assert.equal(decidedSoon(attemptWith([1, 1, 1, 2, 2, 2, 2]), seven), "B");
    assert.equal(decidedSoon(attemptWith([1, 1, 1, 2, 2, 2, 1]), seven), "open");
  });

  it("CL3: every sample counts, for the class in which a seat gave the same", () => {
    const attempt = attemptWith([2, 2, 2, 2]);
    const acts = [ask("A"), torn("A", ["B"]), torn("B", ["A", "C"]), ask("C")];
    assert.equal(score(attempt, acts, "A"), 3 * (3 + 2 + 1));
    assert.equal(score(attempt, acts, "B"), 3 * (1 + 1));
    assert.equal(score(attempt, acts, "C"), 3 * (1 + 3));
    assert.equal(score(attemptWith([2, 1, 2, 2]), acts, "A"), 9 + 4 + 3);
    assert.equal(score(attemptWith([2, 1, 2, 2]), acts, "B"), 3 + 2);
    assert.equal(decidedSoon(attempt, [torn("A", ["B"]), torn("A", ["B"]), ask("B"), ask("B")]), "B");
  });

  it("CL3: what no seat gave as its answer is counted for nobody", () => {
    const acts = [ask("A"), torn("A", ["D"]), torn("B", ["D"]), torn("C", ["D"])];
    assert.equal(score(attemptWith([2, 2, 2, 2]), acts, "A"), 3 * 5);
    assert.equal(decidedSoon(attemptWith([2, 2, 2, 2]), acts), "A");
  });

  it("CL3: a seat counts as many samples for its answer as its tier says", () => {
    const low = [ask("A"), ask("A"), { answer: "B", tier: 300_000 }, { answer: "B", tier: 700_000 }];
    assert.equal(score(attemptWith([2, 2, 2, 2]), low, "B"), 3 * (1 + 2));
  });

  it("CL3: of texts a seat counts fully, however sure it is, and tells no other samples", () => {
    const attempt = textsOnly(attemptWith([2, 2, 2, 2]));
    const unsure = { answer: "A", tier: 300_000 };
    assert.equal(score(attempt, [unsure, ask("A"), ask("B"), ask("C")], "A"), 3 * (3 + 3));
    const lines = String(
      clo.explain?.(attempt, addRound(emptyTally, attempt, 0, [torn("A", ["B"]), unsure, unsure, ask("C")])),
    );
    assert.match(lines, /'A': answered by 2 /);
  });

  it("CL2: other samples are told where answers are no texts and need no sources", () => {
    const attempt = attemptWith([2, 2, 2, 2]);
    const told = [attempt, numbersOnly(attempt), textsOnly(attempt), grounded(sourced(attempt))].map(tellsSamples);
    assert.deepEqual(told, [true, true, false, false]);
  });

  it("CL3: the classes that count most are on the ballot", () => {
    const skills = Array.from({ length: 12 }, (): Skill => 2);
    const attempt = numbersOnly(attemptWith(skills));
    const last = canonicalOrder(attempt).at(-1) as number;
    const acts = skills.map((_, seat) => (seat === last ? ask("500") : torn(String(seat), ["500", "600"])));
    const lines = clo.explain?.(attempt, addRound(emptyTally, attempt, 0, acts)) ?? [];
    assert.match(String(lines), new RegExp(`'500': .* samples count ${3 * (3 + 11)},`));
    assert.equal(lines.filter((line) => line.startsWith("'")).length, 8);
  });

  it("CL3: a sample counts once for a class, and for the class with its very outcome", () => {
    const attempt = numbersOnly(attemptWith([2, 2, 2, 2, 2]), 2n);
    // The classes are 10 to 12, and 13.
    const acts = [ask("10"), ask("11"), ask("12"), ask("13"), torn("99", ["13", "12"])];
    assert.equal(score(attempt, acts, "11"), 27 + 3);
    assert.equal(score(attempt, acts, "13"), 9 + 3);
    const both = [ask("10"), ask("11"), ask("12"), ask("13"), torn("99", ["11", "12"])];
    assert.equal(score(attempt, both, "11"), 27 + 3);
  });

  it("CL7: a liar's answer that every honest seat sampled in each round does not decide, since none gave it", () => {
    const acts = [ask("D"), ask("D"), ...["A", "A", "A", "A", "C"].map((answer) => torn(answer, ["D"]))];
    assert.equal(decided(attemptWith([2, 2, 2, 2, 2, 2, 2]), acts, acts), "A");
  });

  it("CL5: an accept adds what a sample of its seat counts, a reject takes as much", () => {
    const acts = (vote: Verdict) => [ask("A"), ask("A"), ask("B"), ask("B"), ask("C", { 0: vote })];
    const textsOf = (...skills: readonly Skill[]) => textsOnly(attemptWith(skills));
    assert.equal(decided(textsOf(2, 2, 2, 2, 2), acts("accept")), "A");
    assert.equal(decided(textsOf(2, 2, 2, 2, 2), acts("reject")), "B");
    assert.equal(score(textsOf(1, 2, 2, 2, 2), acts("accept"), "A"), 18);
    assert.equal(score(textsOf(1, 2, 2, 2, 1), acts("accept"), "A"), 17);
    assert.equal(score(textsOf(1, 2, 2, 2, 1), acts("reject"), "A"), 13);
  });

  it("CL5: whoever accepts two answers besides its own has accepted none", () => {
    const attempt = textsOnly(attemptWith([1, 1, 1, 1, 1]));
    const acts = (votes: Act["votes"]) => [ask("A"), ask("A"), ask("B"), ask("B"), ask("C", votes)];
    assert.equal(decided(attempt, acts({ 0: "accept" })), "A");
    assert.equal(decided(attempt, acts({ 0: "accept", 2: "accept" })), "open");
  });

  it("CL5, PH4: a vote that was held by too few in time counts for nothing", () => {
    const attempt = textsOnly(attemptWith([1, 1, 1, 1, 1]));
    const acts = [ask("A"), ask("A"), ask("B"), ask("B"), ask(null, { 0: "accept" })];
    const outcomeWith = (late: readonly number[]) =>
      clo.conclude(attempt, addRound(emptyTally, attempt, 0, acts, late)).kind;
    assert.equal(outcomeWith([]), "final");
    assert.equal(outcomeWith([4]), "open");
  });

  it("CL7: a class needs f + 1 seats that gave or accepted it, at high assurance more than 2/3", () => {
    const decidedText = (assurance: Assurance, acts: readonly Act[]) =>
      decided(textsOnly(attemptWith([3, 1, 1, 1], assurance)), acts);
    const split = [ask("A"), ask("B"), ask("C"), ask("D")];
    assert.equal(decidedText("normal", split), "open");
    const accepted = [ask("A"), ask("B", { 0: "accept" }), ask("C"), ask("D")];
    assert.equal(decidedText("normal", accepted), "A");
    assert.equal(decidedText("high", accepted), "open");
    const more = [ask("A"), ask("B", { 0: "accept" }), ask("C", { 0: "accept" }), ask("D")];
    assert.equal(decidedText("high", more), "A");
  });

  it("CL7: where seats sample again, so many must have given it in some round; samples do not count as that", () => {
    const attempt = attemptWith([2, 2, 2, 2]);
    const high = attemptWith([2, 2, 2, 2], "high");
    const split = [ask("A"), ask("B"), ask("C"), ask("D")];
    assert.equal(decided(attempt, split, [ask("A"), torn("B", ["A"]), torn("C", ["A"]), ask(null)]), "open");
    const again = [ask("A"), ask("A"), torn("C", ["A"]), ask(null)];
    assert.equal(decided(attempt, split, again), "A");
    assert.equal(decided(high, split, again), "open");
    assert.equal(decided(high, split, again, [ask(null), ask("B"), ask("A"), ask(null)]), "A");
  });

  it("CL8: two classes that are as good lead to another round; in the last one ties go by canonical order", () => {
    const attempt = attemptWith([1, 1, 1, 1]);
    const tie = [ask("A"), ask("A"), ask("B"), ask("B")];
    assert.equal(decided(attempt, tie), "open");
    assert.equal(decided(attempt, tie, [ask("B"), ask("B"), ask("B"), ask("A")]), "B");
    assert.equal(decided(attempt, tie, tie), "open");
    const [first] = canonicalOrder(attempt);
    const isFirst = (first as number) < 2;
    assert.equal(decided(attempt, tie, tie, tie), isFirst ? "A" : "B");
    assert.equal(decided(textsOnly(attempt), tie, tie), isFirst ? "A" : "B");
  });

  it("CL8: without an admissible class in the last round the attempt is Hung", () => {
    const split = [ask("A"), ask("B"), ask("C"), ask("D")];
    assert.equal(conclude(textsOnly(attemptWith([1, 1, 1, 1])), split, split)?.status, "hung");
    assert.equal(conclude(attemptWith([1, 1, 1, 1]), split, split), null);
    assert.equal(conclude(attemptWith([1, 1, 1, 1]), split, split, split)?.status, "hung");
  });

  it("CL9: confidence is that of its backing, by first answers alone", () => {
    const acts = [ask("A"), ask("A"), ask("B"), ask(null, { 0: "accept" })];
    for (const skills of [
      [3, 1, 2, 3],
      [2, 2, 2, 2],
    ] as const)
      assert.equal(conclude(textsOnly(attemptWith(skills)), acts)?.confidence, decisionConfidence([240, 240, 0, 0]));
    const again = [ask("A"), ask("A"), ask(null), ask(null)];
    assert.equal(conclude(attemptWith([2, 2, 2, 2]), acts, again)?.confidence, decisionConfidence([240, 240, 0, 0]));
    const all = [ask("A"), ask("A"), ask("A"), ask("A")];
    assert.equal(conclude(attemptWith([1, 1, 1, 1]), all)?.confidence, decisionConfidence([240, 240, 240, 240]));
  });

  it("CL10: the answers of the first round earn, also where another one decides", () => {
    const tie = [ask("A"), ask("A"), ask("B"), ask("B")];
    const outcome = conclude(attemptWith([1, 1, 1, 1]), tie, [ask("B"), ask("B"), ask("B"), ask("B")]);
    assert.deepEqual(outcome?.shares, [0, 0, 240, 240]);
  });

  it("CL10: who does not answer in the deciding round, or does not vote on texts, earns nothing", () => {
    const attempt = attemptWith([2, 2, 2, 2, 2, 2, 2]);
    const first = [ask("A"), ask("A"), ask("A"), ask("A"), ask("B"), ask("B"), ask("B")];
    const absent = first.map((act, seat) => (seat === 1 ? ask(null) : act));
    assert.deepEqual(conclude(attempt, first, absent)?.shares, [240, 0, 240, 240, 0, 0, 0]);
    // What is shown late is bound all the same.
    const before = addRound(emptyTally, attempt, 0, first);
    const late = clo.conclude(attempt, addRound(before, attempt, 1, first, [1]));
    assert.deepEqual(late.kind === "final" && late.outcome.shares, [240, 240, 240, 240, 0, 0, 0]);
    const texts = textsOnly(attempt);
    const conclusion = clo.conclude(texts, addRound(emptyTally, texts, 0, first, [1]));
    assert.deepEqual(conclusion.kind === "final" && conclusion.outcome.shares, [240, 0, 240, 240, 0, 0, 0]);
  });

  it("CL11: no verdict changes a reputation", () => {
    const acts = [
      ask("A", { 3: "reject" }),
      ask("A", { 3: "reject" }),
      ask("B", { 0: "reject" }),
      ask("C", { 0: "accept" }),
    ];
    assert.deepEqual(conclude(textsOnly(attemptWith([1, 1, 1, 1])), acts)?.reputationChanges, []);
  });

  it("PH14: says of each answer what it has and needs", () => {
    const attempt = attemptWith([1, 2, 1, 1]);
    const acts = [ask("A", { 1: "accept" }), torn("B", ["C"]), ask("C"), ask("D")];
    const linesOf = (asked: Attempt, rounds: number) => {
      const said = Array.from({ length: rounds }, () => acts);
      const tally = said.reduce((all, round, index) => addRound(all, asked, index, round), emptyTally);
      return clo.explain?.(asked, tally)?.filter((line) => /^'[BC]'/.test(line));
    };
    assert.deepEqual(linesOf(attempt, 1), [
      "'C': answered by 1 of 4 seats, 3 needed; samples count 12",
      "'B': answered by 1 of 4 seats, 3 needed; samples count 6",
    ]);
    assert.deepEqual(linesOf(attempt, 2), [
      "'C': answered by 1 of 4 seats, 2 needed; samples count 18",
      "'B': answered by 1 of 4 seats, 2 needed; samples count 9",
    ]);
    assert.equal(
      linesOf(attemptWith([1, 2, 1, 1], "high"), 2)?.[0],
      "'C': answered by 1 of 4 seats, 3 needed; samples count 18",
    );
    const four = [ask("A"), ask("A"), ask("A"), torn("B", ["C"])];
    for (const asked of [attempt, textsOnly(attempt)])
      assert.deepEqual(
        clo
          .explain?.(
            asked,
            addRound(emptyTally, asked, 0, asked === attempt ? four : four.map(({ answer }) => ask(answer))),
          )
          .slice(0, 2),
        ["'A': answered by 3 of 4 seats, more than 2/3: that decides", "'B': answered by 1 of 4 seats"],
      );
    const texts = [ask("A", { 1: "accept" }), ask("B"), ask("C"), ask("D")];
    const tally = addRound(emptyTally, textsOnly(attempt), 0, texts);
    assert.equal(
      clo.explain?.(textsOnly(attempt), tally)?.find((line) => line.startsWith("'B'")),
      "'B': answered by 1 and accepted by 1 of 4 seats, 2 needed; samples count 9, with verdicts 12",
    );
  });

  const SKILLS = fc.constantFrom<Skill>(1, 2, 3);
  const VERDICTS = fc.constantFrom<Verdict>("accept", "reject", "abstain");
  const round = (n: number) =>
    fc.array(
      fc.record({
        answer: fc.constantFrom("A", "B", "C", "D", null),
        others: fc.subarray(["A", "B", "C", "D"], { maxLength: 2 }),
        votes: fc.dictionary(fc.constantFrom(...Array.from({ length: n }, (_, seat) => String(seat))), VERDICTS),
      }),
      { minLength: n, maxLength: n },
    );
  const rounds = fc
    .integer({ min: 4, max: 10 })
    .chain((n) =>
      fc.tuple(fc.array(round(n), { minLength: 3, maxLength: 3 }), fc.array(SKILLS, { minLength: n, maxLength: n })),
    );
  /** What can be said: other samples differ from the answer, and a verdict is on an answer. */
  const clean = (acts: readonly Act[]): readonly Act[] =>
    acts.map(({ answer, others = [], votes = {} }) => ({
      answer,
      others: answer === null ? [] : others.filter((one) => one !== answer),
      votes: Object.fromEntries(Object.entries(votes).filter(([of]) => acts[Number(of)]?.answer !== null)),
    }));

  it("CL7: f seats alone never decide, whatever they say, whatever their skill is and whatever others sampled", () => {
    fc.assert(
      fc.property(rounds, ([said, skills]) => {
        // Honest seats are the others: none of them gives D or accepts it, but their samples have it.
        const liars = faultTolerance(skills.length);
        const played = said.map((acts) =>
          clean(
            acts.map((act, seat) => {
              if (seat < liars) return { ...act, answer: "D" };
              const votes = Object.entries(act.votes).filter(([of]) => Number(of) >= liars);
              return { ...act, answer: act.answer === "D" ? "C" : act.answer, votes: Object.fromEntries(votes) };
            }),
          ),
        );
        const attempt = attemptWith(skills);
        assert.notEqual(decided(attempt, ...played), "D");
        assert.notEqual(decided(textsOnly(attempt), ...played.slice(0, 2)), "D");
      }),
    );
  });

  it("CL6, CL8: where seats sample again, the plain count of all samples decides among what f + 1 gave", () => {
    fc.assert(
      fc.property(rounds, ([[first, second], skills]) => {
        const n = skills.length;
        const played = [first, second].map((acts) => clean(acts ?? []));
        const isCounted = (acts: readonly Act[] = [], answer: string): boolean =>
          3 * acts.filter((act) => act.answer === answer).length > 2 * n;
        const samples = (answer: string): number =>
          played
            .flatMap((acts, at) => acts.map((act) => ({ ...act, own: at === 0 ? 3 - (act.others?.length ?? 0) : 1 })))
            .reduce(
              (sum, act) => sum + (act.answer === answer ? act.own : Number(act.others?.includes(answer) === true)),
              0,
            );
        const givers = (answer: string): number =>
          Array.from({ length: n }, (_, seat) => seat).filter((seat) =>
            played.some((acts) => acts[seat]?.answer === answer),
          ).length;
        const answers = ["A", "B", "C", "D"];
        const counted = answers.find((answer) => isCounted(played[1], answer));
        const admitted = answers.filter((answer) => givers(answer) > faultTolerance(n));
        const most = Math.max(...admitted.map(samples));
        const best = admitted.filter((answer) => samples(answer) === most);
        const expected = counted ?? (best.length === 1 ? best[0] : "open");
        assert.equal(decided(attemptWith(skills.map((): Skill => 2)), ...played), expected);
      }),
    );
  });
});
