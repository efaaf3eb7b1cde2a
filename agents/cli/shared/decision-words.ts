import type { Decision, DecisionStatus } from "../../core/types.ts";
import { printable } from "./output.ts";

/** Why a decision has no answer, for people. */
const NO_ANSWER: Readonly<Record<Exclude<DecisionStatus, "decided">, string>> = {
  hung: "the committee hung",
  unanswerable: "unanswerable: the sources do not tell",
  tooEarly: "too early: what is asked about is still to come",
};

/** The answer of a decision, or why it has none. */
export function answerOf({ status, answer }: Pick<Decision, "status" | "answer">): string {
  return status === "decided" ? printable(answer) : NO_ANSWER[status];
}

/** The status in words, e.g. "too early". */
export function statusWords(status: string): string {
  return status === "tooEarly" ? "too early" : status;
}
