import { letter, type CanonicalAnswer } from "../request/kinds.ts";
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
  if (phase === commitForm.phase) return withSubject(about, answerByData(view));
  const judged = [...view.earlier, view.book].flatMap(revealedIn).find(({ target }) => about.includes(target));
  return judged === undefined ? null : withSubject(about, judgeByData(view, about[0] ?? "", judged.answer));
}

function withSubject(about: Call["about"], reply: Reply | null): Answered | null {
  return reply && { about, ...reply };
}

type Reply = Omit<Answered, "about" | "origin">;
type Reader = Pick<SeatView<unknown>, "attempt" | "read">;

/** SG12: answers a data question with the number that the seat read, and cites it; null if it read none. */
export function answerByData(reader: Reader): Reply | null {
  const own = ownNumber(reader);
  if (own === null) return null;
  const fields = { answer: own.text, proof: "It stands at the source.", quote: textRead(reader), source: letter(0) };
  return { fields, confidence: TIER_MAX };
}

/** SG13: judges an answer by the number that the seat read; null if it read none, or if the task is none that code does. */
export function judgeByData(reader: Reader, task: string, judged: CanonicalAnswer): Reply | null {
  const own = ownNumber(reader);
  const fieldsFor = JUDGEMENTS[task];
  if (own === null || fieldsFor === undefined) return null;
  return { fields: fieldsFor(isSameAnswer(reader.attempt.request.terms, own, judged)), confidence: TIER_MAX };
}

function ownNumber(reader: Reader): CanonicalAnswer | null {
  return dataNumber(reader.attempt.request, textRead(reader));
}

function textRead({ read }: Reader): string {
  const [reading] = read ?? [];
  return reading?.kind === "read" ? reading.text : "";
}
