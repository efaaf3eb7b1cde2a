import { clipText } from "../../request/text.ts";
import { wordForm } from "../../phases/chair.ts";
import { isMapOf } from "../../encoding/codec.ts";
import { hexToBytes } from "../../encoding/bytes.ts";
import { limits } from "../../limits.ts";
import { asDigest, isTextOf } from "../../encoding/payload.ts";
import type { Answered } from "../../phases/phased-rules.ts";
import type { Prompt } from "../../prompts/prompt.ts";
import type { Candidate } from "../../phases/proposals.ts";
import type { Form } from "../../phases/round-book.ts";
import { answerSchema, heard, lettered, taskPrompt, type Task } from "../../prompts/task-prompt.ts";
import type { Attempt, Digest } from "../../types.ts";

/** The phases of a round, in which only the drafter, the reviewers, then the converger speak. */
export const DRAFT = 10;
export const REVIEW = 11;
export const CONVERGE = 12;

export const draftForm = wordForm("draft", DRAFT);
export const convergeForm = wordForm("converge", CONVERGE);

/** A reviewer's verdict on the draft. */
export interface Review {
  /** AD8: payload digest of the draft that the reviewer was told. */
  readonly draft: Digest;
  readonly verdict: "accept" | "reject";
  readonly text: string;
}

/** The review; null if the model failed or cannot tell, or if there is nothing to review. */
interface Reviewed {
  readonly review: Review | null;
}

export const reviewForm: Form<Reviewed> = {
  name: "review",
  phase: REVIEW,
  encode: ({ review }) => ({ review: review === null ? null : { ...review, draft: hexToBytes(review.draft) } }),
  decode: (_, value) => {
    if (!isMapOf(value, ["review"])) return null;
    if (value["review"] === null) return { review: null };
    if (!isMapOf(value["review"], ["draft", "text", "verdict"])) return null;
    const { text, verdict } = value["review"];
    const draft = asDigest(value["review"]["draft"]);
    if (draft === null || (verdict !== "accept" && verdict !== "reject")) return null;
    return isTextOf(text, limits.counterProofBytes) && text !== "" ? { review: { draft, verdict, text } } : null;
  },
};

/** AD4: a rejection must show the error, else it is no review; an acceptance without words says "agrees". */
export function reviewFrom(answered: Answered | undefined): Reviewed {
  if (answered === undefined) return { review: null };
  const { verdict, check } = answered.fields;
  const draft = answered.about[1] as Digest;
  const text = clipText(check ?? "", limits.counterProofBytes).trim();
  if (verdict === "accept") return { review: { draft, verdict, text: text || "agrees" } };
  return { review: verdict === "reject" && text !== "" ? { draft, verdict, text } : null };
}

const CONVERGE_TASK: Task = {
  name: "converge",
  small:
    "`answer` and `proof` are a draft; reviewA, reviewB and so on are independent reviews of it. Judge which feedback is valid: you may reject " +
    "it, and must resolve reviews that contradict each other. In `proof` say what you adopted and what not; `answer` is the strongest final answer.",
  general:
    "`answer` and `proof` are a draft; `reviewA`, `reviewB` and so on are independent reviews of it. Draft and reviews may be wrong: solve the " +
    "question yourself, then judge which feedback is valid. You may reject it, and must resolve reviews that contradict each other. In `proof` " +
    "say what you adopted and what not, in short steps. `answer` is the final answer that follows, written as `form` says.",
};

export function convergePrompt(attempt: Attempt, draft: Candidate, reviews: readonly string[]): Prompt {
  const data = [
    ["answer", heard(draft.answer.text, limits.answerBytes)] as const,
    ["proof", heard(draft.proof, limits.proofBytes)] as const,
    ...lettered(
      "review",
      reviews.map((review) => heard(review, limits.counterProofBytes)),
    ),
  ];
  return taskPrompt(attempt, CONVERGE_TASK, data, answerSchema(attempt.request.terms), "answer");
}
