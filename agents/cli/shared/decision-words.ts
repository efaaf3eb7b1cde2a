import { ABSENT, type Decision, type DecisionStatus } from "../../core/types.ts";
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

/** What a decision does to the reputation of a seat with this share: it takes no stake, so it is no slash. */
export function reputationText(steps: number, share: number): string {
  if (steps === 0) return "-";
  if (steps > 0) return "recovers";
  const falls = steps === -1 ? "reputation -1/5" : `reputation -1/5, ${-steps} times`;
  return share === ABSENT ? `${falls} (absent)` : falls;
}
