import { limits } from "../../limits.ts";
import {
  cutText,
  renderFields,
  reworded,
  type OutputSchema,
  type Prompt,
  type PromptSet,
} from "../../prompts/prompt.ts";
import type { Citation, Document } from "../../request/sources.ts";
import { answerSchema, taskPrompt, type Task } from "../../prompts/task-prompt.ts";
import { letter } from "../../request/kinds.ts";
import type { Attempt } from "../../types.ts";

/** Raised with every change of rules, wording or fields, and with every version it builds on (test/core/versions.test.ts). */
export const VERSION = 14;

/** SG6: what a set of prompts calls a document, and how it asks for a passage of one. */
interface DocumentWords {
  /** The reply that names a document, by the document's place. */
  readonly nameOf: (index: number) => string;
  /** The field that shows the document. */
  readonly fieldOf: (index: number) => string;
  readonly judge: string;
  readonly passage: string;
}

const WORDS: Readonly<Record<PromptSet, DocumentWords>> = {
  small: {
    nameOf: letter,
    fieldOf: (index) => `source${letter(index)}`,
    judge: "sourceA, sourceB and so on are documents: judge by them, not by what you believe.",
    passage:
      "In `quote` copy, character for character, the passage that decides the question; `source` is the letter of its document.",
  },
  general: {
    nameOf: (index) => String(index + 1),
    fieldOf: (index) => `[${index + 1}]`,
    judge: "`[1]`, `[2]` and so on are documents: judge by them, not by what you believe.",
    passage:
      "In `quote` copy, character for character, the shortest passage that decides the question; `source` is the number of its document.",
  },
};

/** The place of the document that a reply names, in any set's words; -1 if it names none. */
export function namedDocument(source: string): number {
  const places = Array.from({ length: limits.sources }, (_, index) => index);
  return places.findIndex((index) => Object.values(WORDS).some(({ nameOf }) => nameOf(index) === source));
}

const CITE_TASK: Task = {
  name: "cite",
  small:
    "sourceA, sourceB and so on are documents. In `quote` copy, character for character, the passage of one of them that decides the question; `source` is the letter of that " +
    "document. `proof` is a short trace of checkable steps from the passage and the question; `answer` is your answer in the stated kind.",
  general:
    "`[1]`, `[2]` and so on are documents. In `quote` copy, character for character, the shortest passage of one of them that decides the question; `source` is the number of that " +
    "document. In `proof` reason from the passage to the answer, in short steps that others can check. `answer` is the answer that follows, written as `form` says.",
};

/** SG6: asks for an answer with the passage it rests on. */
export function citePrompt(attempt: Attempt, documents: readonly Document[]): Prompt {
  const { terms } = attempt.request;
  const prompt = taskPrompt(attempt, CITE_TASK, [], answerSchema(terms), "answer");
  return reworded(prompt, (wording, set) => ({
    ...wording,
    user: `${wording.user}\n${renderFields(documentFields(set, documents))}`,
    schema: citeSchema(set, wording.schema, documents),
  }));
}

/** SG6: turns a prompt for an answer into one with the documents that asks for the passage first. */
export function citing(prompt: Prompt, documents: readonly Document[]): Prompt {
  return reworded(withDocuments(prompt, documents), (wording, set) => ({
    ...wording,
    system: `${wording.system} ${WORDS[set].passage}`,
    schema: citeSchema(set, wording.schema, documents),
  }));
}

/** SG7: adds the passages that a claim cites, and the documents in full, to a prompt. */
export function withDocuments(
  prompt: Prompt,
  documents: readonly Document[],
  citations: readonly Citation[] = [],
): Prompt {
  return reworded(prompt, (wording, set) => {
    const rendered = (user: string, quotationBytes: number): string => {
      const quotations = citations.map(
        ({ quotation }) => ["quote", cutText(quotation, quotationBytes), "untrusted"] as const,
      );
      return `${user}\n${renderFields([...quotations, ...documentFields(set, documents)])}`;
    };
    const { user, brief = user } = wording;
    const whole = rendered(user, limits.quotationBytes);
    const short = rendered(brief, Math.floor(limits.briefBytes / Math.max(1, citations.length)));
    return {
      ...wording,
      system: `${wording.system} ${WORDS[set].judge}`,
      user: whole,
      ...(short !== whole && { brief: short }),
    };
  });
}

function documentFields(set: PromptSet, documents: readonly Document[]): Parameters<typeof renderFields>[0] {
  return documents.map(({ text }, index) => [WORDS[set].fieldOf(index), text, "untrusted"]);
}

function citeSchema(set: PromptSet, { properties }: OutputSchema, documents: readonly Document[]): OutputSchema {
  const quotation = { name: "quote", maxLength: limits.quotationBytes };
  const source = { name: "source", enum: documents.map((_, index) => WORDS[set].nameOf(index)) };
  return { properties: [quotation, source, ...properties] };
}
