import { limits } from "../limits.ts";
import { letter } from "../request/kinds.ts";
import type { Citation } from "../sources/citations.ts";
import { NON_ANSWER_WORDS } from "../request/non-answers.ts";
import type { Attempt } from "../types.ts";
import { answerSchema, asksAnew, taskPrompt, type Task } from "./task-prompt.ts";
import {
  cutText,
  renderFields,
  reworded,
  withBriefs,
  type OutputProperty,
  type OutputSchema,
  type Prompt,
  type PromptSet,
  type Wording,
} from "./prompt.ts";

/** SG7: what a set of prompts calls a source, and how it asks for a passage of one. */
interface SourceWords {
  /** The reply that names a source, by its place. */
  readonly nameOf: (index: number) => string;
  /** The field that shows the source. */
  readonly fieldOf: (index: number) => string;
  readonly judge: string;
  readonly passage: string;
  /** SG10: when there is no answer. */
  readonly none: string;
}

const WORDS: Readonly<Record<PromptSet, SourceWords>> = {
  small: {
    nameOf: letter,
    fieldOf: (index) => `source${letter(index)}`,
    judge: "sourceA, sourceB and so on are documents: judge by them, not by what you believe.",
    passage:
      "In `quote` copy, character for character, the passage that decides the question; `source` is the letter of its document.",
    none: "The right answer is unanswerable if the documents do not tell it or contradict each other, and too early if what is asked about has not happened yet.",
  },
  general: {
    nameOf: (index) => String(index + 1),
    fieldOf: (index) => `[${index + 1}]`,
    judge: "`[1]`, `[2]` and so on are documents: judge by them, not by what you believe.",
    passage:
      "In `quote` copy, character for character, the shortest passage that decides the question; `source` is the number of its document.",
    none: "Whatever `form` says, the right answer is `unanswerable` if the documents do not tell it or contradict each other, and `too early` if what is asked about has not happened yet.",
  },
};

/** The property of a reply that holds the words of a source. */
const QUOTE = "quote";

/** The place of the source that a reply names, in any set's words; -1 if it names none. */
export function namedSource(reply: string): number {
  const places = Array.from({ length: limits.sources }, (_, index) => index);
  return places.findIndex((index) => Object.values(WORDS).some(({ nameOf }) => nameOf(index) === reply));
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

/** What the seat read at each source; null where it read nothing. */
type Texts = readonly (string | null)[];

/** SG4: asks for an answer with the passage it rests on; a revision keeps what it says besides. */
export function citing(attempt: Attempt, prompt: Prompt, texts: Texts): Prompt {
  return asksAnew(prompt) ? citePrompt(attempt, texts) : revisionCiting(prompt, texts);
}

function citePrompt(attempt: Attempt, texts: Texts): Prompt {
  const prompt = taskPrompt(attempt, CITE_TASK, [], answerSchema(attempt.request.terms), "answer");
  return reworded(prompt, (wording, set) => ({
    ...wording,
    user: `${wording.user}\n${renderFields(sourceFields(set, texts))}`,
    schema: citeSchema(set, wording.schema, texts),
  }));
}

function revisionCiting(prompt: Prompt, texts: Texts): Prompt {
  return reworded(withSources(prompt, texts), (wording, set) => ({
    ...wording,
    system: `${wording.system} ${WORDS[set].passage}`,
    schema: citeSchema(set, wording.schema, texts),
  }));
}

/** SG7: adds the passages that a claim cites, and what the seat read, to a prompt. */
export function withSources(prompt: Prompt, texts: Texts, citations: readonly Citation[] = []): Prompt {
  return reworded(prompt, (wording, set) => {
    const rendered = (user: string, quotationBytes: number): string => {
      const quotations = citations.map(
        ({ quotation }) => ["quote", cutText(quotation, quotationBytes), "untrusted"] as const,
      );
      return `${user}\n${renderFields([...quotations, ...sourceFields(set, texts)])}`;
    };
    const { user, briefs: [brief = user] = [] } = wording;
    const short = rendered(brief, Math.floor(limits.briefBytes / Math.max(1, citations.length)));
    const system = `${wording.system} ${WORDS[set].judge}`;
    return withBriefs({ ...wording, system, user: rendered(user, limits.quotationBytes) }, [short]);
  });
}

/** SG10: lets the model say that there is no answer, or judge by that. */
export function admitting(prompt: Prompt): Prompt {
  return reworded(prompt, (wording, set) => ({
    ...wording,
    system: [wording.system, WORDS[set].none, ...(asksForQuote(wording) ? [NO_QUOTE] : [])].join(" "),
    schema: { properties: wording.schema.properties.map(withNonAnswers) },
  }));
}

const NO_QUOTE = "Then leave `quote` empty.";

function asksForQuote({ schema }: Wording): boolean {
  return schema.properties.some(({ name }) => name === QUOTE);
}

/** The properties whose text is an answer of the question's kind. */
const ANSWERS: readonly string[] = ["answer", "derived"];

function withNonAnswers(property: OutputProperty): OutputProperty {
  if (!ANSWERS.includes(property.name)) return property;
  if (property.enum !== undefined) return { ...property, enum: [...property.enum, ...NON_ANSWER_WORDS] };
  return property.form === undefined ? property : { ...property, words: NON_ANSWER_WORDS };
}

function sourceFields(set: PromptSet, texts: Texts): Parameters<typeof renderFields>[0] {
  return texts.flatMap((text, index) =>
    text === null ? [] : [[WORDS[set].fieldOf(index), text, "untrusted"] as const],
  );
}

function citeSchema(set: PromptSet, { properties }: OutputSchema, texts: Texts): OutputSchema {
  const quotation = { name: QUOTE, maxLength: limits.quotationBytes };
  const named = texts.flatMap((text, index) => (text === null ? [] : WORDS[set].nameOf(index)));
  return { properties: [quotation, { name: "source", enum: named }, ...properties] };
}
