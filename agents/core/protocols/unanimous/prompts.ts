import { answerClasses } from "../../phases/equivalence.ts";
import { limits } from "../../limits.ts";
import { canonicalOrder } from "../../seat/order.ts";
import { renderedBytes, type Prompt } from "../../prompts/prompt.ts";
import { candidatesOf, type Candidate, type Proposal } from "../../phases/proposals.ts";
import type { RoundBook } from "../../phases/round-book.ts";
import { answerSchema, lineOf, objectionFields, ownFields, taskPrompt, type Task } from "../../prompts/task-prompt.ts";
import type { Attempt, SeatIndex } from "../../types.ts";

/**
 * Raised with every change of rules, wording, fields or default settings, and with every version it builds on
 * (test/core/versions.test.ts).
 */
export const VERSION = 20;

const DECIDE = "Decide the question. `answer` is your answer in the stated kind.";
const DECIDE_GENERAL = "Decide the question. `answer` is your answer, written as `form` says.";

const STEP_BY_STEP: Task = {
  name: "propose",
  small: `${DECIDE} Think step by step before you answer: \`proof\` is a short trace of checkable steps.`,
  general: `${DECIDE_GENERAL} Before it reason step by step in \`proof\`, in short steps that others can check.`,
};

const DIRECT: Task = {
  name: "propose",
  small: `${DECIDE} Say in \`proof\` in one sentence what speaks for it.`,
  general: `${DECIDE_GENERAL} Say in \`proof\` in one sentence what speaks for it.`,
};

const MINE =
  "`answer` and `proof` are your own of the turn before; `counterProof` and `others` are what other members answered, each as `answer: argument`.";

const REFLECT: Task = {
  name: "revise",
  small:
    `The committee deliberates until all agree. ${MINE} Evaluate them and improve your own answer: keep it if it is right, correct it if it is wrong. ` +
    "To keep it against the others you need an argument that you have not given yet. `proof` is a short trace of checkable steps.",
  general:
    `The committee deliberates until all agree. ${MINE} Any of them may be wrong. Solve the question again: keep your answer if your steps lead to it, ` +
    "else correct it; that others agree is no proof. To keep it against the others you need an argument that you have not given yet. In `proof` " +
    "reason in short steps that others can check. `answer` is written as `form` says.",
};

const CONCLUDE: Task = {
  name: "revise",
  small: `The deliberation ends. ${MINE} State finally which policies you stand by, and why in \`proof\`.`,
  general: `The deliberation ends. ${MINE} State finally, as \`form\` says, which policies you stand by, and before it why in \`proof\`.`,
};

/** UN3: the prompt of the initial round, without texts of peers. */
export function initialPrompt(attempt: Attempt, stepByStep: boolean): Prompt {
  const task = stepByStep ? STEP_BY_STEP : DIRECT;
  return taskPrompt(attempt, task, [], answerSchema(attempt.request.terms), "answer");
}

/** UN4: the prompt of a turn: the problem, the own answer of the turn before, the neighbours' answers (Alg. 2). */
export function turnPrompt(before: RoundBook, self: SeatIndex, own: Proposal | null, concluding: boolean): Prompt {
  const { attempt } = before;
  const [differing, ...rest] = neighbours(before, self);
  const others = differing?.differs ? rest : [differing, ...rest].filter((one) => one !== undefined);
  const strongest = differing?.differs ? differing.text : undefined;
  const texts = others.map(({ text }) => text);
  const data = [...(own === null ? [] : ownFields(own.answer, own.proof)), ...objectionFields(strongest, texts)];
  return taskPrompt(attempt, concluding ? CONCLUDE : REFLECT, data, answerSchema(attempt.request.terms), "answer");
}

interface Neighbour {
  readonly text: string;
  /** True if its answer differs from the own one. */
  readonly differs: boolean;
}

/**
 * UN5: the other seats' answers with their arguments, as many as fit into `limits.objectionsBytes`: first one of each class but the
 * own, the best supported first, then the rest. Within a class the speaking order decides.
 */
function neighbours(before: RoundBook, self: SeatIndex): readonly Neighbour[] {
  const candidates = candidatesOf(before, "closed");
  const classes = answerClasses(before, candidates, "closed");
  const order = speakingOrder(before.attempt, before.round + 1);
  const place = ({ seat }: Candidate): number => order.indexOf(seat);
  const peers = candidates.filter(({ seat }) => seat !== self).toSorted((a, b) => place(a) - place(b));
  const own = classes.find(({ seats }) => seats.includes(self));
  const bySupport = classes
    .filter((one) => one !== own)
    .map((group) => ({ group, voice: peers.find(({ seat }) => group.seats.includes(seat)) as Candidate }))
    .toSorted((a, b) => b.group.seats.length - a.group.seats.length || place(a.voice) - place(b.voice));
  const voices = bySupport.map(({ voice }) => voice);
  const rest = peers.filter((peer) => !voices.includes(peer));
  let bytes = 0;
  const texts: Neighbour[] = [];
  for (const { seat, answer, proof } of [...voices, ...rest]) {
    const text = lineOf(answer.text, proof);
    const size = renderedBytes(text);
    if (bytes + size > limits.objectionsBytes) continue;
    bytes += size;
    texts.push({ text, differs: own?.seats.includes(seat) !== true });
  }
  return texts;
}

/** UN5: the canonical order, starting one seat later in every round. */
export function speakingOrder(attempt: Attempt, round: number): readonly SeatIndex[] {
  const order = canonicalOrder(attempt);
  const start = round % order.length;
  return [...order.slice(start), ...order.slice(0, start)];
}
