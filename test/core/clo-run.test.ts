import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { revealForm } from "../../agents/core/phases/proposals.ts";
import { clo } from "../../agents/core/protocols/clo/index.ts";
import type { PayloadMap } from "../../agents/core/protocol.ts";
import type { Attempt, Digest, Terms } from "../../agents/core/types.ts";
import { bytesToHex } from "../../agents/core/encoding/bytes.ts";
import { canonicalAnswer } from "../../agents/core/request/answer.ts";
import { attemptOf, type SeatScript } from "../support/core/committee.ts";
import { decisionOf, fieldOf, taskOf, watched } from "../support/core/council-scripts.ts";
import { LICENCE, RULES, line, standing } from "../support/core/sources-scripts.ts";

const number: Partial<Terms> = { kind: "number", decimals: 0 };
const asking = (terms: Partial<Terms>): Attempt => attemptOf(4, { protocol: clo.code, ...terms });

/** A seat whose model gives these answers in turn, and accepts the first alone. */
function giving(...answers: readonly string[]): SeatScript {
  let calls = 0;
  return {
    answer: ({ prompt }) => {
      const task = taskOf(prompt);
      if (task === "verify")
        return { fields: { check: "c", verdict: fieldOf(prompt, "answer") === answers[0] ? "accept" : "reject" } };
      if (task === "match") return { fields: { same: "no" } };
      const answer = answers[calls++ % answers.length] as string;
      return { fields: { quote: LICENCE, source: "A", proof: "p", answer } };
    },
  };
}

/** What each seat reveals. */
function revealsOf({ effects }: ReturnType<typeof watched>): readonly (PayloadMap | null)[] {
  return effects.map((all) => {
    const sent = all.findLast((effect) => effect.kind === "send" && effect.phase === revealForm.phase);
    return sent?.kind === "send" ? (sent.payload["proposal"] as PayloadMap | null) : null;
  });
}

describe("clo: over a committee", () => {
  it("CL2: a seat tells what its other samples gave, and each decision counts them", () => {
    const attempt = asking(number);
    const torn = giving("4", "9", "9");
    const done = watched(clo, attempt, [torn, giving("9", "4", "4"), giving("4", "4", "7"), giving("9")]);
    const told = revealsOf(done).map((proposal) =>
      (proposal?.["others"] as readonly Uint8Array[] | undefined)?.map((one) => bytesToHex(one)),
    );
    const outcome = (text: string): Digest | undefined => canonicalAnswer(attempt.request, text)?.outcome;
    assert.deepEqual(told, [[outcome("4")], [outcome("9")], [outcome("7")], undefined]);
    assert.deepEqual(
      revealsOf(done).map((proposal) => proposal?.["tier"]),
      [700_000, 700_000, 700_000, 900_000],
    );
    // 9 has 2 + 1 + 3 samples, 4 has 1 + 2 + 2; every verdict is on the other one of the two.
    assert.equal(decisionOf(done).answer, "9");
  });

  it("CL4: nobody is asked for a verdict where more than 2/3 of the seats agree; else each is, of what it did not give", () => {
    const verdicts = (scripts: readonly SeatScript[]): number =>
      watched(clo, asking(number), scripts).asked.filter(({ prompt }) => taskOf(prompt) === "verify").length;
    assert.equal(verdicts([giving("4"), giving("4"), giving("4"), giving("9")]), 0);
    assert.equal(verdicts([giving("4"), giving("4"), giving("9"), giving("9", "9", "4")]), 4);
  });

  it("CL5: a verdict on an answer whose seat tells others counts", () => {
    const [one, other, nine, ninth] = [
      ["4", "4", "9"],
      ["4", "4", "9"],
      ["9", "9", "4"],
      ["9", "9", "4"],
    ].map((answers) => giving(...answers)) as [SeatScript, SeatScript, SeatScript, SeatScript];
    const accepting: SeatScript = {
      answer: (ask) =>
        taskOf(ask.prompt) === "verify" ? { fields: { check: "c", verdict: "accept" } } : ninth.answer(ask),
    };
    const done = watched(clo, asking(number), [one, other, nine, accepting]);
    assert.equal(decisionOf(done).answer, "4");
    assert.equal(done.asked.filter(({ prompt }) => taskOf(prompt) === "verify").length, 4);
  });

  it("CL2: of a text, and where the question names sources, no seat tells others, and what decides is counted", () => {
    const texts = watched(clo, asking({ kind: "text" }), [
      giving("it is so"),
      giving("it is so", "so it is", "yes"),
      giving("it is so", "yes", "indeed"),
      giving("no"),
    ]);
    assert.equal(decisionOf(texts).answer, "it is so");
    const plain = asking(number);
    const question = ["Above how many does an export need a licence?", line(RULES)].join("\n");
    const sourced: Attempt = { ...plain, request: { ...plain.request, question } };
    const scripts = [giving("500"), giving("500", "9", "8"), giving("500", "7", "6"), giving("9")];
    const read = watched(clo, sourced, scripts, 1, standing(RULES));
    assert.equal(decisionOf(read).answer, "500");
    for (const proposal of [...revealsOf(texts), ...revealsOf(read)]) {
      assert.notEqual(proposal, null);
      assert.equal(proposal?.["others"], undefined);
    }
  });
});
