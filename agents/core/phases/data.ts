import { letter } from "../request/kinds.ts";
import { isSameAnswer } from "../request/answer.ts";
import { dataNumber } from "../sources/data.ts";
import type { Attempt } from "../types.ts";
import type { Answered, Call, PhasedRules, SeatView } from "./phased-rules.ts";
import { commitForm, revealedIn } from "./proposals.ts";
import { CRITERIA, MARK_MAX } from "./scores.ts";
import { TIER_MAX } from "./tiers.ts";

/** Data questions (docs/spec/sources.md): what a seat answers and judges by the number that it read, where a model would. */

type Fields = Answered["fields"];

/**
 * SG13: how a seat judges an answer that agrees with what it read, and one that does not. It rejects none and criticises none: what moves
 * between two reads proves nobody wrong.
 */
const JUDGEMENTS: Readonly<Record<string, (agrees: boolean) => Fields>> = {
  verify: (agrees) => ({ verdict: agrees ? "accept" : "abstain" }),
  adjudicate: (agrees) => ({ verdict: agrees ? "refute" : "abstain" }),
  score: (agrees) => Object.fromEntries(CRITERIA.map((name) => [name, String(agrees ? MARK_MAX : 0)])),
};

/** SG12: what the seat read, as far as it is a number. */
export function readAsData(attempt: Attempt, read: SeatView<unknown>["read"]): SeatView<unknown>["read"] {
  if (read === null || attempt.request.isDataQuestion !== true) return read;
  return read.map((reading) =>
    reading?.kind === "read" && dataNumber(attempt.request, reading.text) === null
      ? { kind: "failed", reason: "no-such-value" }
      : reading,
  );
}

/** SG11: the view of a seat whose calls code answers. Its model is asked nothing. */
export function answeredByData<Carry>(rules: PhasedRules<Carry>, view: SeatView<Carry>): SeatView<Carry> {
  return { ...view, answered: (phase) => rules.calls(view, phase).flatMap((call) => replyTo(view, phase, call) ?? []) };
}

function replyTo(view: SeatView<unknown>, phase: number, { about }: Call): Answered | null {
  const { request } = view.attempt;
  const [reading] = view.read ?? [];
  const text = reading?.kind === "read" ? reading.text : "";
  const own = dataNumber(request, text);
  if (own === null) return null;
  if (phase === commitForm.phase) {
    const cited = { answer: own.text, proof: "It stands at the source.", quote: text, source: letter(0) };
    return { about, fields: cited, confidence: TIER_MAX };
  }
  const judged = [...view.earlier, view.book].flatMap(revealedIn).find(({ target }) => about.includes(target));
  const fieldsFor = JUDGEMENTS[about[0] ?? ""];
  if (judged === undefined || fieldsFor === undefined) return null;
  const agrees = isSameAnswer(request.terms, own, judged.answer);
  return { about, fields: fieldsFor(agrees), confidence: TIER_MAX };
}
