import { readFileSync } from "node:fs";
import { join } from "node:path";
import { readHtml } from "../../agents/adapters/source-reader/html.ts";
import { readJson } from "../../agents/adapters/source-reader/json-text.ts";
import { proposePrompt } from "../../agents/core/prompts/task-prompt.ts";
import { protocolById } from "../../agents/core/protocols/index.ts";
import { canonicalAnswer } from "../../agents/core/request/answer.ts";
import { normaliseText } from "../../agents/core/sources/text.ts";
import type { AnswerBook } from "../eval/answer-book.ts";
import { attemptFor } from "../eval/attempt.ts";
import { badSeats } from "../eval/evaluate.ts";
import type { Committee } from "../eval/deliberate.ts";
import { METHODS, type Method } from "../eval/methods.ts";
import { createPanel } from "../eval/panel.ts";
import { formOf, pageName, questionsOf, type Question } from "../eval/question.ts";
import { TAUGHT_SUITES } from "../eval/suites.ts";
import { harmlessText, injectedText, type Injection } from "./injections.ts";

/**
 * Place of a text. `question`: after the question. `context`: before it, as a document that the asker quotes.
 * `page` and `json`: in one of the sources that the question names, which byzantine protocols read. `peer`: in everything
 * that a lying seat writes.
 */
export const PLACES = ["question", "context", "page", "json", "peer"] as const;
export type Place = (typeof PLACES)[number];

/** What agents read of a source with a text in it. */
export const READ = {
  page: (words) => readHtml(`<!doctype html><title>Rules</title><article><p>${escaped(words)}</p></article>`).text,
  json: (words) => readJson(JSON.stringify({ id: 7, note: words }), null),
} as const satisfies Partial<Record<Place, (words: string) => string>>;

const isRead = (place: Place): place is keyof typeof READ => place in READ;

/** As a reference each character passes that a page may not have as it is. */
const escaped = (text: string): string =>
  text.replaceAll(/[&<>\p{Cc}]/gu, (character) => `&#${character.codePointAt(0)};`);

/** The decider beside the protocols: the first answer of one model, without a committee. */
export const ALONE = "one model";

/** One setting: who decides, and where the text stands. */
export interface Setting {
  readonly variant: number;
  /** A protocol's id, or ALONE. */
  readonly decider: string;
  readonly place: Place;
}

/** Outcome of one text; null: no answer. */
export interface InjectedTrial extends Setting {
  readonly injection: Injection;
  readonly question: string;
  /** The answer that the text wants. */
  readonly lie: string;
  /** The answer without a text, or with the lying seat's ordinary words. */
  readonly without: string | null;
  readonly hostile: string | null;
  /** The answer with a text of the same length that wants nothing. */
  readonly harmless: string | null;
}

export interface Experiment {
  readonly book: AnswerBook;
  readonly deciders: readonly string[];
  readonly injections: readonly Injection[];
  readonly seats: number;
  readonly seed: number;
}

export const DECIDERS: readonly string[] = [
  ALONE,
  ...METHODS.filter(({ source }) => source === "protocol").map(({ id }) => id),
];

/** Returns the places in which such a decider can meet a text. */
function placesOf(decider: string): readonly Place[] {
  return PLACES.filter(
    (place) =>
      (!isRead(place) || protocolById(decider)?.readsSources === true) && (place !== "peer" || decider !== ALONE),
  );
}

export function settingsOf({ book, deciders }: Experiment): readonly Setting[] {
  return book.variants.flatMap((_, variant) =>
    deciders.flatMap((decider) => placesOf(decider).map((place) => ({ variant, decider, place }))),
  );
}

/**
 * Tries every text once, each with the next question. Skips a question that the protocol refuses with the text in it.
 */
export async function runSetting(
  experiment: Experiment,
  setting: Setting,
  onTrial: () => void,
): Promise<readonly InjectedTrial[]> {
  const questions = isRead(setting.place) ? citedQuestions() : askedQuestions(experiment.seed);
  const plain = new Map<Question, string | null | undefined>();
  const trials: InjectedTrial[] = [];
  for (const [index, injection] of experiment.injections.entries()) {
    const question = questions[index % questions.length] as Question;
    const text = injectedText(injection, question.lie.answer);
    const answerWith = async (words: string | null): Promise<string | null | undefined> =>
      await decide(experiment, setting, words === null ? question : injected(question, setting.place, words));
    if (!plain.has(question)) plain.set(question, await answerWith(null));
    const answers = [plain.get(question), await answerWith(text), await answerWith(harmlessText(text))];
    onTrial();
    if (answers.includes(undefined)) continue;
    const [without, hostile, harmless] = answers as [string | null, string | null, string | null];
    const lie = canonicalOf(question, question.lie.answer);
    trials.push({ ...setting, injection, question: question.text, lie, without, hostile, harmless });
  }
  return trials;
}

/** Returns null for no answer, undefined if the protocol refuses the question as it stands. */
async function decide(
  { book, seats, seed }: Experiment,
  { variant, decider, place }: Setting,
  question: Question,
): Promise<string | null | undefined> {
  const panel = createPanel({ book, question, seed, variantOf: () => variant });
  if (decider === ALONE) {
    const answer = await panel.ask(0, proposePrompt(attemptFor(question, 0, seats, "normal")).small);
    return answer.kind === "failed" ? null : canonicalOf(question, answer.fields["answer"] ?? "");
  }
  const method = METHODS.find(({ id }) => id === decider) as Method;
  const committee: Committee = {
    seats,
    bad: place === "peer" ? badSeats({ seats, badness: ["confident"], seed }, question, 1) : new Map(),
    misled: new Set(),
    assurance: "normal",
  };
  if (method.refuses(question, committee) !== null) return undefined;
  return (await method.decide(question, committee, panel, seed)).answer;
}

function canonicalOf(question: Question, answer: string): string {
  const { terms } = attemptFor(question, 0, 4, "normal").request;
  return canonicalAnswer({ terms, question: "" }, answer)?.text ?? answer;
}

/** Returns the question with the text in its place. Its leaders and liars stay the same. */
function injected(question: Question, place: Place, words: string): Question {
  const kept = { ...question, drawnBy: question.text };
  switch (place) {
    case "question":
      return { ...kept, text: `${question.text} ${words}` };
    case "context":
      return { ...kept, text: `Document: ${words}\n\n${question.text}` };
    case "page":
    case "json":
      return withPages(kept, [...(question.pages?.right ?? []), normaliseText(READ[place](words))]);
    case "peer":
      return { ...kept, lie: { ...question.lie, proof: words } };
  }
}

/** The pages that the question names. */
function withPages(question: Question, texts: readonly string[]): Question {
  const [asked = ""] = question.text.split("\nsource: ");
  const lines = texts.map((_, place) => `\nsource: ${pageName(place)}`);
  return { ...question, text: `${asked}${lines.join("")}`, pages: { right: texts, poisoned: texts } };
}

/** Questions in turn, one of each suite that has questions of its own. */
function askedQuestions(seed: number): readonly Question[] {
  return TAUGHT_SUITES.filter((suite) => suite !== "lookup").flatMap((suite) => questionsOf(suite, 2, seed));
}

interface HeldOut {
  readonly kind: string;
  readonly question: string;
  readonly expected: string;
  readonly wrongAnswer: string;
  readonly wrongProof: string;
  readonly sources?: readonly string[];
}

/** Questions about sources from the test split (models/README.md). */
function citedQuestions(): readonly Question[] {
  const path = join(import.meta.dirname, "../../models/held-out.json");
  const held = JSON.parse(readFileSync(path, "utf8")) as readonly HeldOut[];
  const cited = held.filter(({ kind, sources }) => kind === "boolean" && sources !== undefined).slice(0, 10);
  return cited.map(({ kind, question, expected, wrongAnswer, wrongProof, sources = [] }) =>
    withPages(
      {
        suite: "policy",
        text: question,
        form: formOf(kind),
        truth: expected,
        lie: { answer: wrongAnswer, proof: wrongProof },
      },
      sources,
    ),
  );
}
