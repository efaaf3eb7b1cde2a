import { limits } from "../../limits.ts";
import type { Prompt } from "../../prompts/prompt.ts";
import type { Candidate } from "../../phases/proposals.ts";
import { heard, taskPrompt, verdictSchema, type Task } from "../../prompts/task-prompt.ts";
import type { Attempt } from "../../types.ts";

/** Raised with every change of rules, wording or fields, and with every version it builds on (test/core/versions.test.ts). */
export const VERSION = 25;

const ADJUDICATE: Task = {
  name: "adjudicate",
  small:
    "A member brought this counter-proof against this answer. Derive the answer yourself in `check`. `verdict` is uphold if the answer is " +
    "really wrong and the counter-proof shows it, refute if the counter-proof is false, abstain if you cannot tell.",
  general:
    "A member gave `answer` with `proof`; another one brought `counterProof` against it. Any of them may be wrong. Do not trust them: solve the " +
    "question yourself in `check`, in short steps, then see which of them your steps contradict. `verdict` is uphold if `answer` is really wrong " +
    "and `counterProof` shows it, refute if `counterProof` is false, abstain if you cannot tell.",
};

export function adjudicatePrompt(attempt: Attempt, accused: Candidate, counterProof: string): Prompt {
  const data = [
    ["answer", accused.answer.text],
    ["proof", heard(accused.proof, limits.proofBytes)],
    ["counterProof", heard(counterProof, limits.counterProofBytes)],
  ] as const;
  return taskPrompt(attempt, ADJUDICATE, data, verdictSchema(["uphold", "refute", "abstain"]), "verdict");
}
