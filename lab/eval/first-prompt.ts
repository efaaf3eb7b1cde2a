import type { Prompt } from "../../agents/core/prompts/prompt.ts";
import { admitting, citing } from "../../agents/core/prompts/source-prompt.ts";
import { proposePrompt } from "../../agents/core/prompts/task-prompt.ts";
import { grounded } from "../../agents/core/sources/named.ts";
import type { Attempt } from "../../agents/core/types.ts";
import type { Question } from "./question.ts";

/** The prompt for a first answer, as a seat gives it: from memory, or from what it is shown at the sources. */
export function firstPrompt(attempt: Attempt, { pages }: Question, isMisled = false): Prompt {
  const asked = grounded(attempt);
  if (pages === undefined) return proposePrompt(asked);
  return admitting(citing(asked, proposePrompt(asked), isMisled ? pages.poisoned : pages.right));
}
