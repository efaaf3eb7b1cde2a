import { limits } from "../../limits.ts";
import { cutText, renderFields, type OutputSchema, type Prompt } from "../../prompts/prompt.ts";
import type { Citation, Document } from "../../request/sources.ts";
import { answerSchema, lettered, taskPrompt, type Task } from "../../prompts/task-prompt.ts";
import { letter } from "../../request/kinds.ts";
import type { Attempt, Terms } from "../../types.ts";

/** Raised with every change of rules, wording or fields, and with every version it builds on (test/core/versions.test.ts). */
export const VERSION = 11;

const CITE_TASK: Task = {
  name: "cite",
  instructions:
    "sourceA, sourceB and so on are documents. In `quote` copy, character for character, the passage of one of them that decides the question; `source` is the letter of that " +
    "document. `proof` is a short trace of checkable steps from the passage and the question; `answer` is your answer in the stated kind.",
};

/** SG6: asks for an answer with the passage it rests on. */
export function citePrompt(attempt: Attempt, documents: readonly Document[]): Prompt {
  const data = lettered("source", textsOf(documents));
  return taskPrompt(attempt, CITE_TASK, data, citeSchema(attempt.request.terms, documents), "answer");
}

/** SG6: turns a prompt for an answer into one with the documents that asks for the passage first. */
export function citing(prompt: Prompt, terms: Terms, documents: readonly Document[]): Prompt {
  const seen = withDocuments(prompt, documents);
  const system = `${seen.system} In \`quote\` copy, character for character, the passage that decides the question; \`source\` is the letter of its document.`;
  return { ...seen, system, schema: citeSchema(terms, documents) };
}

/** SG7: adds the passages that a claim cites, and the documents in full, to a prompt. */
export function withDocuments(
  prompt: Prompt,
  documents: readonly Document[],
  citations: readonly Citation[] = [],
): Prompt {
  const texts = lettered("source", textsOf(documents));
  const rendered = (user: string, quotationBytes: number): string => {
    const quotations = citations.map(({ quotation }) => ["quote", cutText(quotation, quotationBytes)] as const);
    return `${user}\n${renderFields([...quotations, ...texts].map(([name, text]) => [name, text, "untrusted"]))}`;
  };
  const { user, brief = user } = prompt;
  const [whole, short] = [
    rendered(user, limits.quotationBytes),
    rendered(brief, Math.floor(limits.briefBytes / Math.max(1, citations.length))),
  ];
  return {
    ...prompt,
    system: `${prompt.system} sourceA, sourceB and so on are documents: judge by them, not by what you believe.`,
    user: whole,
    ...(short !== whole && { brief: short }),
  };
}

function citeSchema(terms: Terms, documents: readonly Document[]): OutputSchema {
  const quotation = { name: "quote", maxLength: limits.quotationBytes };
  const source = { name: "source", enum: documents.map((_, index) => letter(index)) };
  return { properties: [quotation, source, ...answerSchema(terms).properties] };
}

function textsOf(documents: readonly Document[]): readonly string[] {
  return documents.map(({ text }) => text);
}
