// What the dashboard makes of a transcript's argument.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Ppm, SeatIndex } from "../../agents/core/types.ts";
import { argumentIn, leadingAnswer, standingAnswers } from "../../dashboard/src/decision/argument.ts";
import type { Transcript, TranscriptMessage } from "../../sdk/src/verify/index.ts";

type Told = Transcript["argument"];
type Answer = Told["answers"][number];
type Remark = Told["remarks"][number];

const NOTHING: Told = { answers: [], silences: [], remarks: [], changes: [], equivocations: [] };

const PLACE = { round: 0, phase: 1, name: "vote" };

function answer(seat: number, message: number, text: string): Answer {
  const place = { seat: seat as SeatIndex, round: 0, message };
  return { ...place, phase: "reveal", text, proof: "", confidence: 900_000 as Ppm, quotations: [] };
}

function remark(seat: number, message: number, about: Answer, verdict: Remark["verdict"]): Remark {
  return { seat: seat as SeatIndex, message, round: 0, about, verdict, text: "Look again.", judged: [] };
}

describe("page: the argument", () => {
  it("takes a critique for an objection only where the critic answers otherwise, and every rejection", () => {
    const [yes, alsoYes, no] = [answer(0, 0, "yes"), answer(1, 1, "yes"), answer(2, 2, "no")];
    const remarks = [
      remark(1, 3, yes, "critique"),
      remark(1, 3, no, "critique"),
      remark(2, 4, yes, "critique"),
      remark(2, 4, alsoYes, "reject"),
      remark(3, 5, yes, "critique"),
    ];
    const { opinions } = argumentIn({ argument: { ...NOTHING, answers: [yes, alsoYes, no], remarks }, messages: [] });
    assert.deepEqual(
      opinions.map(({ by, about }) => [by, about.seat]),
      [
        [1, 2],
        [2, 0],
        [2, 1],
        [3, 0],
      ],
    );
  });

  it("has statements and no leading answer where every seat only said why it gives none", () => {
    const silences = [0, 1].map((seat) => ({
      seat: seat as SeatIndex,
      round: 0,
      message: seat,
      why: "I cannot tell.",
    }));
    const argument = argumentIn({ argument: { ...NOTHING, silences }, messages: [] });
    assert.deepEqual([argument.statements.length, leadingAnswer(standingAnswers(argument))], [2, ""]);
  });

  it("counts once what the two messages of an equivocation say alike, and who ruled twice", () => {
    const [yes, no] = [answer(0, 0, "yes"), answer(1, 1, "no")];
    const judged = [{ seat: 3 as SeatIndex, verdict: "refute" as const }];
    const [first, again] = [
      remark(1, 2, yes, "reject"),
      { ...remark(1, 3, yes, "reject"), judged: [...judged, ...judged] },
    ];
    const other = { ...remark(1, 4, yes, "reject"), text: "Look elsewhere." };
    const { opinions } = argumentIn({
      argument: { ...NOTHING, answers: [yes, no], remarks: [first, again, other] },
      messages: [],
    });
    assert.deepEqual(
      opinions.map(({ text, refutedBy }) => [text, refutedBy]),
      [
        ["Look again.", [3]],
        ["Look elsewhere.", []],
      ],
    );
  });

  it("leaves the sides of an equivocation in the transcript's order, and says what they differ in", () => {
    const said = (cid: string, seat: number, says: TranscriptMessage["says"], ...parents: readonly number[]) => ({
      ...PLACE,
      cid,
      seat,
      says,
      parents,
    });
    const first = said("a", 2, { votes: [] });
    const heard = said("b", 2, { votes: [] }, 0);
    const other = said("c", 2, { votes: ["no"] });
    const linked = said("d", 2, { votes: [] });
    const told = (...sides: readonly TranscriptMessage[]) => {
      const argument = { ...NOTHING, equivocations: [sides.map((_, index) => index + 1)] };
      const [found] = argumentIn({ argument, messages: [said("z", 1, {}), ...sides] }).equivocations;
      return [found?.differsIn, found?.messages.map(({ cid }) => cid), found?.held, found?.fields];
    };
    assert.deepEqual(told(first, heard), ["heard", ["a", "b"], [[], [1]], []]);
    assert.deepEqual(told(heard, first), ["heard", ["b", "a"], [[1], []], []]);
    assert.deepEqual(told(other, first), ["words", ["c", "a"], [[], []], ["votes"]]);
    assert.deepEqual(told(first, linked), ["links", ["a", "d"], [[], []], []]);
  });

  it("says what each message of an equivocation answers", () => {
    const [place, answers] = [{ ...PLACE, seat: 2, parents: [] }, [answer(2, 0, "yes")]];
    const messages = [
      { ...place, cid: "b", says: { proposal: { answer: "yes" } } },
      { ...place, cid: "a", says: { proposal: null } },
    ];
    const [found] = argumentIn({ argument: { ...NOTHING, answers, equivocations: [[0, 1]] }, messages }).equivocations;
    assert.deepEqual([found?.answers, found?.fields], [["yes", null], ["proposal"]]);
  });
});
