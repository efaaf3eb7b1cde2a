import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { canonicalOrder } from "../../agents/core/seat/order.ts";
import type { Effect } from "../../agents/core/protocol.ts";
import { wbft } from "../../agents/core/protocols/wbft/index.ts";
import { FINAL, LEAD, PREPARE } from "../../agents/core/protocols/wbft/payloads.ts";
import type { Attempt, SeatIndex, Value } from "../../agents/core/types.ts";
import { attemptOf, runCommittee, type SeatScript } from "../support/core/committee.ts";
import { criticalCalls, decisionOf, faultsOf } from "../support/core/run-results.ts";
import { crashed, equivocating, failing, lying, mind, selective, truthful } from "../support/core/scoring-scripts.ts";
import { assertAtMost, assertFields } from "../support/assertions.ts";

const attemptFor = (n: number, terms: Parameters<typeof attemptOf>[1] = {}): Attempt =>
  attemptOf(n, { protocol: 3, ...terms });

const faults: Readonly<Record<string, () => SeatScript>> = {
  lying: () => lying("no"),
  crashed: () => crashed(truthful("yes")),
  failing: () => failing,
  equivocating: () => equivocating(lying("no")),
  selective: () => selective(lying("no"), (to) => to % 2 === 0),
};

/** The worst placement: those who lead first. */
function suffers(n: number, bad: () => SeatScript, seed: number): void {
  const attempt = attemptFor(n);
  const hostile = canonicalOrder(attempt).slice(0, faultsOf(n));
  const isHonest = (seat: number): boolean => !hostile.includes(seat as SeatIndex);
  const scripts = attempt.committee.map((_, seat) => (isHonest(seat) ? truthful("yes") : bad()));
  const run = runCommittee(wbft, attempt, scripts, { seed });
  assert.equal(decisionOf(run, scripts), "decided yes");
  // WB16: one comparison per view of a bad leader at most.
  assertAtMost(criticalCalls(run, isHonest), 2 + hostile.length);
}

/** Rounds of deliberation in which a seat spoke. */
function roundsOf(effects: readonly Effect[]): readonly number[] {
  return effects.flatMap((effect) => (effect.kind === "send" && effect.phase < 200 ? [effect.round] : []));
}

/** Has no answer, but knows which one is right. */
const mute: SeatScript["answer"] = (ask) => (ask.ask.includes("propose") ? null : truthful("100").answer(ask));

/** Model calls on the critical path with so many bad leaders in a row. */
function criticalWith(n: number, badLeaders: number): number {
  const attempt = attemptFor(n);
  const hostile = canonicalOrder(attempt).slice(0, badLeaders);
  const isHonest = (seat: number): boolean => !hostile.includes(seat as SeatIndex);
  const scripts = attempt.committee.map((_, seat) => (isHonest(seat) ? truthful("yes") : lying("no")));
  const run = runCommittee(wbft, attempt, scripts);
  assert.equal(decisionOf(run, scripts), "decided yes");
  return criticalCalls(run, isHonest);
}

describe("wbft over a committee", () => {
  for (const n of [4, 7])
    for (const [name, bad] of Object.entries(faults))
      it(`n = ${n}: f ${name} leaders in a row neither win nor stall`, () => suffers(n, bad, n));

  for (const n of [10, 13])
    for (const seed of [1, 2])
      it(`n = ${n}, seed ${seed}: f leaders of all kinds in a row neither win nor stall`, () => {
        const kinds = Object.values(faults);
        let next = seed;
        suffers(n, () => (kinds[next++ % kinds.length] as (typeof kinds)[number])(), seed);
      });

  it("WB16: the critical path grows by one call per bad leader: 2, 3, 4, 5", () => {
    assert.deepEqual(
      [0, 1, 2, 3].map((bad) => criticalWith(10, bad)),
      [2, 3, 4, 5],
    );
  });

  for (const [kind, terms, truth, lie, others] of [
    ["choice", { kind: "choice", options: 4 }, "C", "A", "C"],
    ["number", { kind: "number", decimals: 2, tolerance: 5n }, "12.5", "99", "12.52"],
    ["text", { kind: "text" }, "Approve the transfer.", "Refuse the transfer.", "approve the transfer"],
    ["policies", { kind: "policies", options: 5 }, "A,C", "B", "A,C"],
  ] as const)
    it(`answers of kind ${kind}`, () => {
      const attempt = attemptFor(7, terms);
      const order = canonicalOrder(attempt);
      const right = (text: string): boolean => text !== lie;
      const scripts = attempt.committee.map((_, seat) => {
        const rank = order.indexOf(seat as SeatIndex);
        if (rank < 2) return lying(lie);
        return mind(rank % 2 === 0 ? truth : others, right);
      });
      assert.equal(decisionOf(runCommittee(wbft, attempt, scripts), scripts), `decided ${truth}`);
    });

  it("WB13 WB14: a bad seat that tells its PREPARE to one honest seat per view locks nobody: n = 4 decides in view 1", () => {
    const attempt = attemptFor(4, { kind: "choice", options: 4 });
    const order = canonicalOrder(attempt);
    const [bad, one, two, three] = order as readonly [SeatIndex, SeatIndex, SeatIndex, SeatIndex];
    const confidant = [three, one, two];
    const led = new Map<number, Value>();
    // Everybody holds both answers to be right; the bad seat and the last one gave the other answer.
    const scripts = attempt.committee.map((_, seat): SeatScript => {
      const script = mind(seat === bad || seat === three ? "A" : "B", () => true);
      const listening: NonNullable<SeatScript["say"]> = (effect) => {
        if (effect.phase === LEAD) led.set(effect.round, effect.payload["target"] as Value);
        return [effect];
      };
      if (seat !== bad) return { ...script, say: listening };
      return {
        ...script,
        hoards: true,
        say: (effect, to) => {
          listening(effect, to);
          if (effect.phase === LEAD && to === one) return [];
          if (effect.phase !== PREPARE) return [effect];
          const target = led.get(effect.round) ?? null;
          return to === confidant[effect.round] ? [{ ...effect, payload: { ...effect.payload, target } }] : [];
        },
      };
    });
    const run = runCommittee(wbft, attempt, scripts);
    // The one confidant of view 0 said FINAL: the attack took place.
    const final = (run.effects[three] ?? []).find((effect) => effect.kind === "send" && effect.phase === FINAL);
    assertFields(final, { round: 0 });
    assert.notEqual((final as { readonly payload: { readonly target?: unknown } }).payload.target, null);
    for (const seat of [one, two, three])
      assertFields(run.certificates[seat]?.decision, { status: "decided", answer: "B" });
    const last = Math.max(...run.states.flatMap((_, seat) => roundsOf(run.effects[seat] ?? [])));
    assert.equal(last, 1);
  });

  it("WB15: the number that was proposed and compared is decided, not the median of its class", () => {
    const attempt = attemptFor(7, { kind: "number", tolerance: 10n });
    const order = canonicalOrder(attempt);
    // Two bad seats, the last to lead, pull the class's median to 90; nobody but they accepts 90.
    const scripts = attempt.committee.map((_, seat) => {
      const rank = order.indexOf(seat as SeatIndex);
      if (rank >= 5) return mind("90", (text) => text === "90" || text === "100");
      return rank < 2 ? truthful("100") : { ...truthful("100"), answer: mute };
    });
    assert.equal(decisionOf(runCommittee(wbft, attempt, scripts), scripts), "decided 100");
  });

  it("WB10: a leader whose model failed proposes the largest class: no view is lost", () => {
    const attempt = attemptFor(4);
    const [first] = canonicalOrder(attempt);
    const scripts = attempt.committee.map((_, seat) => (seat === first ? failing : truthful("yes")));
    const run = runCommittee(wbft, attempt, scripts);
    assert.equal(decisionOf(run, scripts), "decided yes");
    assert.equal(
      run.effects[0]?.some((effect) => effect.kind === "send" && effect.round === 1 && effect.phase < 200),
      false,
    );
    assert.equal(run.certificates[0]?.decision.shares[first as number], 0);
  });

  it("failing models, and a committee that does not agree, end as Hung with a certificate", () => {
    const none = [0, 1, 2, 3].map(() => failing);
    assert.equal(decisionOf(runCommittee(wbft, attemptFor(4), none), none), "hung ");
    const terms = { kind: "choice", options: 4 } as const;
    const split = ["A", "B", "C", "D"].map((answer) => mind(answer, (text) => text === answer));
    assert.equal(decisionOf(runCommittee(wbft, attemptFor(4, terms), split), split), "hung ");
  });

  it("an equivocating leader yields evidence at every honest seat, loses its view and is slashed", () => {
    const attempt = attemptFor(7);
    const [leader] = canonicalOrder(attempt) as readonly [SeatIndex];
    const scripts = attempt.committee.map((_, seat) =>
      seat === leader ? equivocating(truthful("yes")) : truthful("yes"),
    );
    const run = runCommittee(wbft, attempt, scripts);
    assert.equal(decisionOf(run, scripts), "decided yes");
    run.effects.forEach((effects, seat) => {
      if (seat === leader) return;
      assert.equal(
        effects.some((effect) => effect.kind === "evidence" && effect.evidence.first.header.seat === leader),
        true,
      );
    });
    const honest = canonicalOrder(attempt)[1] as SeatIndex;
    assert.deepEqual(
      run.certificates[honest]?.decision.reputationChanges.map(({ seat }) => seat),
      [leader],
    );
  });
});
