import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { adversarial } from "../../agents/core/protocols/adversarial/index.ts";
import { escalating } from "../../agents/core/protocols/escalating/index.ts";
import { clo } from "../../agents/core/protocols/clo/index.ts";
import { council } from "../../agents/core/protocols/council.ts";
import { leaderless } from "../../agents/core/protocols/leaderless/index.ts";
import { rolesOf } from "../../agents/core/protocols/leaderless/roles.ts";
import { mbft } from "../../agents/core/protocols/mbft/index.ts";
import { protocols } from "../../agents/core/protocols/index.ts";
import type { Protocol } from "../../agents/core/protocol.ts";
import { canonicalOrder } from "../../agents/core/seat/order.ts";
import type { Attempt } from "../../agents/core/types.ts";
import { attemptOf, runCommittee, type SeatScript } from "../support/core/committee.ts";
import { believing, byRank, decisionOf, failingAt, fieldOf, taskOf } from "../support/core/council-scripts.ts";

const [yes, no] = [believing("yes"), believing("no")];

/** The answer, and the shares in canonical order. */
function paid(protocol: Protocol, attempt: Attempt, scripts: readonly SeatScript[]) {
  const { answer, shares } = decisionOf(runCommittee(protocol, attempt, scripts));
  return { answer, shares: canonicalOrder(attempt).map((seat) => shares[seat]) };
}

/** What docs/spec/pay.md (PY6, PY8, Limits) and ADR 11 say of those who would gain. */
describe("pay: who gains by turning a decision against a right answer", () => {
  it("AD9: adversarial: reviewers gain nothing by rejecting a right draft, and its drafter loses its pay if half of them do", () => {
    const attempt = attemptOf(7, { protocol: adversarial.code });
    const rejecting: SeatScript = {
      answer: (ask) =>
        taskOf(ask.prompt) === "verify" ? { fields: { verdict: "reject", check: "none" } } : yes.answer(ask),
    };
    const rejectedBy = (...ranks: readonly number[]) =>
      paid(adversarial, attempt, byRank(attempt, yes, Object.fromEntries(ranks.map((rank) => [rank, rejecting]))));
    assert.deepEqual(rejectedBy(5, 6), { answer: "yes", shares: [240, 0, 0, 0, 0, 0, 0] });
    assert.deepEqual(rejectedBy(4, 5, 6), { answer: "yes", shares: [0, 0, 0, 0, 0, 0, 0] });
  });

  it("PY8: council: a friend of a chair that lies earns as much as who was right", () => {
    const attempt = attemptOf(7, { protocol: council.code });
    const honest: SeatScript = { answer: (ask) => (taskOf(ask.prompt) === "synthesize" ? yes : no).answer(ask) };
    assert.deepEqual(
      paid(council, attempt, byRank(attempt, yes, { 0: honest, 6: no })).shares,
      [0, 240, 240, 240, 240, 240, 0],
    );
    assert.deepEqual(paid(council, attempt, byRank(attempt, yes, { 0: no, 6: no })), {
      answer: "no",
      shares: [0, 1, 1, 1, 1, 1, 1],
    });
  });

  it("LL15: leaderless: markers gain nothing by passing over a right answer for another worker's", () => {
    const attempt = attemptOf(4, { protocol: leaderless.code });
    const [first] = rolesOf(attempt, 0).workers;
    const scripts = attempt.committee.map((_, seat) => (seat === first ? yes : no));
    assert.deepEqual(paid(leaderless, attempt, scripts), { answer: "no", shares: [0, 0, 0, 0] });
  });

  it("PY6: a seat of the asker's own that alone answers rightly at first earns as much as the others, and two take all", () => {
    const attempt = attemptOf(4, { protocol: mbft.code, kind: "choice", options: 26 });
    const decided = (own: number) => {
      const scripts = attempt.committee.map((_, seat): SeatScript => ({
        answer: (ask) => believing(seat >= own && ask.ask.startsWith("0.propose") ? "ABCD"[seat]! : "A").answer(ask),
      }));
      const { answer, shares } = decisionOf(runCommittee(mbft, attempt, scripts));
      return [answer, ...shares];
    };
    assert.deepEqual(decided(1), ["A", 1, 1, 1, 1]);
    assert.deepEqual(decided(2), ["A", 240, 240, 0, 0]);
  });
});

describe("ADR 11: no draw is free, whoever is slashed", () => {
  for (const protocol of [mbft, escalating])
    it(`PY6: ${protocol.id}: a question that has each seat slashed (MB16) is paid for, and no seat that only abstains takes it all`, () => {
      // "Answer any letter but A; reject all other answers, and refute who rejects one. At last answer A."
      const refuting = (letter: string, last: RegExp): SeatScript => ({
        answer: (ask) => {
          const task = taskOf(ask.prompt);
          if (task === "adjudicate") return { fields: { verdict: "refute", check: "so asked" } };
          if (task === "verify") return { fields: { verdict: "reject", check: "so asked" } };
          return believing(last.test(ask.ask) ? "A" : letter).answer(ask);
        },
      });
      const attempt = attemptOf(4, { protocol: protocol.code, kind: "choice", options: 26 });
      const decided = (last: RegExp, abstains: readonly number[]) => {
        const scripts = attempt.committee.map((_, seat) => {
          const script = refuting("BCDE"[seat]!, last);
          return abstains.includes(seat) ? failingAt(script, "verify") : script;
        });
        return runCommittee(protocol, attempt, scripts).certificates.find((one) => one !== null)!.decision;
      };
      for (const [last, abstains, status] of [
        [/^2/, [], "decided"],
        [/^2/, [3], "decided"],
        [/^never/, [], "hung"],
      ] as const) {
        const { shares, reputationChanges, ...made } = decided(last, abstains);
        assert.equal(made.status, status);
        const fallen = reputationChanges.flatMap(({ seat, steps }) => (steps < 0 ? [seat as number] : []));
        assert.deepEqual(fallen.concat(abstains), [0, 1, 2, 3]);
        assert.deepEqual(shares, [1, 1, 1, 1]);
      }
    });
});

describe("ADR 11: no draw is free, whose seat alone answers", () => {
  // LL15, AD9: the only drafter or worker.
  for (const protocol of protocols.filter(({ id }) => !["leaderless", "adversarial"].includes(id)))
    it(`PY6: ${protocol.id}: the asker's own seat does not take all where no other answers at first`, () => {
      const attempt = attemptOf(4, { protocol: protocol.code, kind: "choice", options: 26 });
      // Each reply of the others is cut off, or they obey: "Do not answer until you are shown another seat's answer."
      for (const isCut of [true, false]) {
        const other: SeatScript = {
          answer: (ask) => (isCut || ask.ask.startsWith("0.propose") ? null : believing("A").answer(ask)),
        };
        const scripts = attempt.committee.map((_, seat) => (seat === 2 ? believing("A") : other));
        const run = runCommittee(protocol, attempt, scripts);
        assert.deepEqual(run.certificates.find((one) => one !== null)!.decision.shares, [1, 1, 1, 1]);
      }
    });
});

describe("ADR 11: no draw is free, where others know the answer a little or do not do what is asked", () => {
  const choice = { kind: "choice", options: 26 } as const;
  for (const [protocol, terms] of [
    [mbft, { ...choice, assurance: "high" }],
    [escalating, { ...choice, assurance: "high" }],
    [clo, { kind: "text", assurance: "high" }],
    [clo, choice],
  ] as const)
    it(`PY6: ${protocol.id}, ${terms.kind}: who answers rightly and leaves the rest out does not make the asker's own seat the only one that is paid`, () => {
      // "Answer a letter at first. Say nothing when you are asked again, and accept A alone, after the first round."
      const others = (letter: string): SeatScript => ({
        answer: (ask) => {
          const task = taskOf(ask.prompt);
          const isFirst = ask.ask.startsWith("0.");
          if (task === "verify")
            return !isFirst && fieldOf(ask.prompt, "answer") === "A" ? believing("A").answer(ask) : null;
          if (task === "score") return believing("A").answer(ask);
          return ask.ask.startsWith("0.propose") ? { ...believing(letter).answer(ask)!, confidence: 600_000 } : null;
        },
      });
      const attempt = attemptOf(4, { protocol: protocol.code, ...terms });
      const scripts = attempt.committee.map((_, seat) => (seat === 0 ? believing("A") : others("AACD"[seat]!)));
      const { answer, shares } = decisionOf(runCommittee(protocol, attempt, scripts));
      assert.equal(answer, "A");
      assert.ok(shares[0]! <= 1 && shares.filter((share) => share > 0).length > 1, shares.join());
    });

  for (const protocol of protocols.filter(({ id }) => !["leaderless", "adversarial", "council"].includes(id)))
    it(`PY6: ${protocol.id}: one letter of a set of 26 is no right answer, so the seat that names all is paid no more`, () => {
      const all = "ABCDEFGHIJKLMNOPQRSTUVWXYZ".split("").join(",");
      // "Answer one letter, until a member shows the set of all: then accept nothing but that, and answer it."
      const others = (letter: string): SeatScript => ({
        answer: (ask) => {
          const task = taskOf(ask.prompt);
          if (task === "adjudicate") return null;
          if (task === "verify" && fieldOf(ask.prompt, "answer") !== all) return null;
          const isBlind = ask.ask.startsWith("0.propose") && !["verify", "score", "critique"].includes(task);
          return isBlind ? { ...believing(letter).answer(ask)!, confidence: 300_000 } : believing(all).answer(ask);
        },
      });
      const assurance = protocol.assurance === "chair" ? "normal" : "high";
      const attempt = attemptOf(4, { protocol: protocol.code, assurance, kind: "policies", options: 26 });
      const scripts = attempt.committee.map((_, seat) => (seat === 0 ? believing(all) : others("ABCD"[seat]!)));
      const { shares } = decisionOf(runCommittee(protocol, attempt, scripts));
      assert.ok(
        shares.every((share) => share <= 1),
        shares.join(),
      );
    });
});
