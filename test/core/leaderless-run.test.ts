import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ABSENT, type Attempt, type SeatIndex } from "../../agents/core/types.ts";
import { MEDIAN_UNIT } from "../../agents/core/protocols/leaderless/geometric-median.ts";
import { revealForm } from "../../agents/core/phases/proposals.ts";
import { leaderless } from "../../agents/core/protocols/leaderless/index.ts";
import { rolesOf } from "../../agents/core/protocols/leaderless/roles.ts";
import { APPROVED, SCORE, robustScore } from "../../agents/core/protocols/leaderless/select.ts";
import { scoreForm } from "../../agents/core/phases/scores.ts";
import { decodeMessage } from "../../agents/core/encoding/transcript.ts";
import { attemptOf, runCommittee, type CommitteeRun, type SeatScript } from "../support/core/committee.ts";
import { criticalCalls, decisionOf, faultsOf } from "../support/core/run-results.ts";
import { crashed, equivocating, failing, lying, selective, truthful } from "../support/core/scoring-scripts.ts";
import { assertAbove, assertAtLeast, assertAtMost, assertBelow } from "../support/assertions.ts";

const attemptFor = (n: number, terms: Parameters<typeof attemptOf>[1] = {}): Attempt =>
  attemptOf(n, { protocol: 4, ...terms });

const TRUTH = "14 boxes are left.";

/** Robust score of a worker's answer, from the score sheets of a transcript. */
function scoreOf(attempt: Attempt, run: CommitteeRun, worker: SeatIndex): number {
  const blocks = run.blocks.find((some) => some.length > 0) ?? [];
  const messages = blocks.flatMap((block) => decodeMessage(block) ?? []);
  const reveal = messages.find(({ header }) => header.phase === revealForm.phase && header.seat === worker);
  const sheets = messages.filter(({ header }) => header.phase === SCORE);
  const marks = sheets.flatMap(({ payload }) => {
    const scores = scoreForm(SCORE).decode(attempt, payload)?.scores ?? [];
    const score = scores.find(({ target }) => target === reveal?.header.payloadDigest) ?? { marks: null };
    return score.marks === null ? [] : [score.marks];
  });
  assertAbove(marks.length, 0);
  return robustScore(marks);
}

const placements = {
  evaluators: (attempt: Attempt, f: number) => rolesOf(attempt, 0).evaluators.slice(0, f),
  workers: (attempt: Attempt, f: number) =>
    rolesOf(attempt, 0).workers.toReversed().concat(rolesOf(attempt, 0).evaluators).slice(0, f),
};

const faults: Readonly<Record<string, () => SeatScript>> = {
  lying: () => lying("no"),
  crashed: () => crashed(truthful("yes")),
  failing: () => failing,
  equivocating: () => equivocating(lying("no")),
  selective: () => selective(lying("no"), (to) => to % 2 === 0),
};

function suffers(n: number, place: keyof typeof placements, bad: () => SeatScript, seed: number): void {
  const attempt = attemptFor(n);
  const hostile = placements[place](attempt, faultsOf(n));
  const isHonest = (seat: number): boolean => !hostile.some((one) => one === seat);
  const scripts = attempt.committee.map((_, seat) => (isHonest(seat) ? truthful("yes") : bad()));
  const run = runCommittee(leaderless, attempt, scripts, { seed });
  assert.equal(decisionOf(run, scripts), "decided yes");
  // LL16: Byzantine evaluators cost nothing; workers that are all bad cost one more round.
  if (place === "evaluators") assert.equal(criticalCalls(run, isHonest), 2);
  else assertAtMost(criticalCalls(run, isHonest), 4);
}

describe("leaderless over a committee", () => {
  for (const n of [4, 7])
    for (const place of ["evaluators", "workers"] as const)
      for (const [name, bad] of Object.entries(faults))
        it(`L17 L20 n = ${n}: f ${name} ${place} neither win nor stall`, () => suffers(n, place, bad, n));

  for (const n of [10, 13])
    for (const place of ["evaluators", "workers"] as const)
      for (const seed of [1, 2])
        it(`L17 L20 n = ${n}, seed ${seed}: f ${place} of all kinds neither win nor stall`, () => {
          const kinds = Object.values(faults);
          let next = seed;
          suffers(n, place, () => (kinds[next++ % kinds.length] as (typeof kinds)[number])(), seed);
        });

  for (const [kind, terms, truth, lie] of [
    ["choice", { kind: "choice", options: 4 }, "C", "A"],
    ["number", { kind: "number", decimals: 2, tolerance: 5n }, "12.5", "99"],
    ["text", { kind: "text" }, "Approve the transfer.", "Refuse the transfer."],
    ["policies", { kind: "policies", options: 5 }, "A,C", "B"],
  ] as const)
    it(`answers of kind ${kind}: f lying evaluators do not win`, () => {
      const attempt = attemptFor(7, terms);
      const hostile = placements.evaluators(attempt, 2);
      const scripts = attempt.committee.map((_, seat) =>
        hostile.some((one) => one === seat) ? lying(lie) : truthful(truth),
      );
      assert.equal(decisionOf(runCommittee(leaderless, attempt, scripts), scripts), `decided ${truth}`);
    });

  for (const [what, told] of [
    ["an advertisement", `${TRUTH} Insure your claims with Acme: acme.example.`],
    ["an altered number", "41 boxes are left."],
  ] as const)
    it(`L21: every evaluator sees ${what} of a Byzantine worker as it was said, and the score shows it`, () => {
      const attempt = attemptFor(7, { kind: "text" });
      const { workers, evaluators } = rolesOf(attempt, 0);
      const [byzantine, honest] = workers as readonly [SeatIndex, SeatIndex];
      const flatterer = evaluators[0] as SeatIndex;
      const scripts = attempt.committee.map((_, seat) =>
        seat === byzantine || seat === flatterer ? lying(told) : truthful(TRUTH),
      );
      const run = runCommittee(leaderless, attempt, scripts);
      for (const evaluator of evaluators) {
        const prompts = (run.effects[evaluator] ?? []).flatMap((one) =>
          one.kind === "ask" ? [one.prompt.small.user] : [],
        );
        assert.equal(prompts.filter((user) => user.includes(`\nanswer: ${JSON.stringify(told)}\n`)).length, 1);
      }
      const [worst, best] = [byzantine, honest].map((seat) => scoreOf(attempt, run, seat)) as [number, number];
      assertAtLeast(best, APPROVED * MEDIAN_UNIT);
      assertBelow(worst, APPROVED * MEDIAN_UNIT);
      assert.equal(decisionOf(run, scripts), `decided ${TRUTH}`);
    });

  it("L05: a worker without an answer removes that worker only", () => {
    const attempt = attemptFor(7);
    const [first] = rolesOf(attempt, 0).workers;
    const scripts = attempt.committee.map((_, seat) => (seat === first ? crashed(truthful("yes")) : truthful("yes")));
    const run = runCommittee(leaderless, attempt, scripts);
    assert.equal(decisionOf(run, scripts), "decided yes");
    assert.equal(
      criticalCalls(run, () => true),
      2,
    );
    assert.equal(run.certificates.find((one) => one !== null)?.decision.shares[first as number], ABSENT);
  });

  it("L01 L04: only workers propose and only evaluators score: N_w + N_w N_e calls", () => {
    for (const n of [4, 7, 10]) {
      const attempt = attemptFor(n);
      const { workers, evaluators } = rolesOf(attempt, 0);
      const run = runCommittee(
        leaderless,
        attempt,
        attempt.committee.map(() => truthful("yes")),
      );
      assert.equal(run.asks, workers.length + workers.length * evaluators.length);
      run.effects.forEach((effects, seat) => {
        const works = workers.some((one) => one === seat);
        const asked = effects.flatMap((effect) => (effect.kind === "ask" ? [effect.ask] : []));
        assert.equal(
          asked.every((ask) => ask.includes("propose") === works),
          true,
        );
      });
    }
  });

  it("without an approved answer the attempt is Hung: no answer is taken for want of a better one", () => {
    const attempt = attemptFor(7);
    const { workers } = rolesOf(attempt, 0);
    const others = rolesOf(attempt, 1).workers;
    const scripts = attempt.committee.map((_, seat) =>
      [...workers, ...others].some((one) => one === seat) ? lying("no") : truthful("yes"),
    );
    assert.equal(decisionOf(runCommittee(leaderless, attempt, scripts), scripts), "hung ");
  });

  it("if all models fail, the attempt is Hung, too", () => {
    const scripts = [0, 1, 2, 3].map(() => failing);
    assert.equal(decisionOf(runCommittee(leaderless, attemptFor(4), scripts), scripts), "hung ");
  });

  it("L06: a worker's fork yields evidence at every honest seat, its answer is dropped and it is slashed", () => {
    const attempt = attemptFor(7);
    const [forker] = rolesOf(attempt, 0).workers as readonly [SeatIndex];
    const scripts = attempt.committee.map((_, seat) =>
      seat === forker ? equivocating(truthful("yes")) : truthful("yes"),
    );
    const run = runCommittee(leaderless, attempt, scripts);
    assert.equal(decisionOf(run, scripts), "decided yes");
    run.effects.forEach((effects, seat) => {
      if (seat === forker) return;
      assert.equal(
        effects.some((effect) => effect.kind === "evidence" && effect.evidence.first.header.seat === forker),
        true,
      );
    });
    const decision = run.certificates[rolesOf(attempt, 0).evaluators[0] as number]?.decision;
    assert.deepEqual(decision?.reputationChanges, [{ seat: forker, steps: -1 }]);
    assert.equal(decision?.shares[forker], 0);
  });
});
