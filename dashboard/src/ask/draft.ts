import { PROTOCOL_CODES } from "../../../sdk/src/index.ts";
import { keepAt, keptAt } from "../shared/kept.ts";
import { EMPTY, KINDS, type Draft } from "./question.ts";
import { MOST_SENT, type Sent } from "./sent.ts";

/** What is typed into the form, kept while its tab is open: a reload or a look at another view loses nothing. */

const KEY = "conclave.draft";
/** More than the longest question takes with its sources. */
const MOST_CHARACTERS = 65_536;

const CHOICES: Partial<Record<keyof Draft, readonly string[]>> = {
  kind: Object.keys(KINDS),
  protocol: Object.keys(PROTOCOL_CODES),
  assurance: ["normal", "high"],
  currency: ["token", "native"],
  nonAnswers: ["accepted", "refused"],
  security: ["none", "secured"],
};

export function keepDraft(draft: Draft | null): void {
  const isShort = draft !== null && Object.values(draft).join("").length <= MOST_CHARACTERS;
  keepAt("sessionStorage", KEY, isShort ? draft : null);
}

/** Returns what was typed, or the empty form. */
export function keptDraft(): Draft {
  const read = (keptAt("sessionStorage", KEY) ?? {}) as Readonly<Record<string, unknown>>;
  const isRight = (field: string): boolean => {
    const value = read[field];
    return typeof value === "string" && CHOICES[field as keyof Draft]?.includes(value) !== false;
  };
  return Object.keys(EMPTY).every(isRight) ? (read as unknown as Draft) : EMPTY;
}

/** The draft without its question, if that is the one that was sent: one press would pay for it again. */
export function withoutSent(draft: Draft, { question }: Pick<Sent, "question">): Draft {
  return draft.question.slice(0, MOST_SENT) === question ? { ...draft, question: "" } : draft;
}
