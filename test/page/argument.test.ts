// What the dashboard makes of a transcript's argument.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Ppm, SeatIndex } from "../../agents/core/types.ts";
import { argumentIn } from "../../dashboard/src/decision/argument.ts";
import type { Transcript } from "../../sdk/src/verify/index.ts";

type Told = Transcript["argument"];
type Answer = Told["answers"][number];
type Remark = Told["remarks"][number];

const NOTHING: Told = { answers: [], silences: [], remarks: [], changes: [], equivocations: [] };

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
});
