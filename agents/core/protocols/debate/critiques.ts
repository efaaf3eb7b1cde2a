import { clipText } from "../../request/text.ts";
import { inReadersOrder } from "../../phases/chair.ts";
import { isMapOf } from "../../encoding/codec.ts";
import { hexToBytes } from "../../encoding/bytes.ts";
import { limits } from "../../limits.ts";
import { asDigest, isTextOf, listOf } from "../../encoding/payload.ts";
import type { Call, SeatView } from "../../phases/phased-rules.ts";
import { cutText, type Prompt } from "../../prompts/prompt.ts";
import type { Candidate } from "../../phases/proposals.ts";
import { allCounted, type Form, type RoundBook, type Closure } from "../../phases/round-book.ts";
import {
  answerSchema,
  heard,
  lettered,
  LINE_BYTES,
  lineOf,
  objectionFields,
  ownFields,
  taskPrompt,
  type Task,
} from "../../prompts/task-prompt.ts";
import { letter } from "../../request/kinds.ts";
import type { Attempt, Digest, Value } from "../../types.ts";

/** Cross-examination and reply (docs/spec/debate.md): shared by debate and escalating. */

interface Critique {
  /** Payload digest of the reveal that it criticises. */
  readonly target: Digest;
  readonly text: string;
}

export interface Critiques {
  readonly critiques: readonly Critique[];
}

export const CRITIQUE = 10;

export const critiqueForm: Form<Critiques> = {
  name: "critique",
  phase: CRITIQUE,
  encode: ({ critiques }) => ({ critiques: critiques.map(({ target, text }) => [hexToBytes(target), text]) }),
  decode: (attempt, value) => {
    const most = attempt.committee.length - 1;
    const decode = (entry: Value): Critique | null => decodeCritique(attempt, entry);
    const critiques = isMapOf(value, ["critiques"]) ? listOf(value["critiques"], most, decode) : null;
    return critiques === null || new Set(critiques.map(({ target }) => target)).size !== critiques.length
      ? null
      : { critiques };
  },
};

function decodeCritique(attempt: Attempt, entry: Value): Critique | null {
  if (!Array.isArray(entry) || entry.length !== 2) return null;
  const [digest, text] = entry as readonly Value[];
  const target = asDigest(digest);
  return target === null || !isTextOf(text, critiqueBytes(attempt)) || text === "" ? null : { target, text };
}

/** DB5: the most bytes of one critique. Every critic has the same room, so all critiques of one answer fit into one prompt. */
export function critiqueBytes(attempt: Attempt): number {
  return Math.min(limits.counterProofBytes, Math.floor(limits.objectionsBytes / (attempt.committee.length - 1)));
}

const CROSS_EXAMINE: Task = {
  name: "critique",
  small:
    "`answer` and `proof` are your own; answerA, answerB and so on are the other members' answers with their proofs. Cross-examine them: in " +
    "critiqueA name the errors of reasoning or fact and the missing considerations of answerA, in critiqueB those of answerB, and so on; " +
    "write agrees where there are none.",
  general:
    "`answer` and `proof` are your own; `answerA`, `answerB` and so on are the other members' answers with their proofs. Cross-examine them: name " +
    "in `critiqueA` the first wrong step or fact and what `answerA` leaves out, in `critiqueB` the same of `answerB`, and so on, each in one or " +
    "two sentences. Write agrees where you find nothing wrong.",
};

/** DB4: text of a critic that has nothing to criticise; it is no critique. */
const AGREES = /^agrees\.?$/i;

/** DB2: the one call about all other seats' answers. `answers` is the round in which they were revealed. */
export function critiqueCalls(
  { attempt, self }: SeatView<unknown>,
  answers: RoundBook,
  candidates: readonly Candidate[],
): readonly Call[] {
  const own = candidates.find(({ seat }) => seat === self);
  const others = othersInOrder(answers, self, candidates);
  if (others.length === 0) return [];
  const lines = others.map(({ answer, proof }) => heard(lineOf(answer.text, proof), LINE_BYTES));
  const data = [...(own ? ownFields(own.answer.text, own.proof) : []), ...lettered("answer", lines)];
  const properties = others.map((_, index) => ({
    name: `critique${letter(index)}`,
    maxLength: critiqueBytes(attempt),
  }));
  const prompt = taskPrompt(attempt, CROSS_EXAMINE, data, { properties }, "critiqueA");
  return [{ about: ["critique", ...others.map(({ target }) => target)], prompt }];
}

function othersInOrder(
  answers: RoundBook,
  self: Candidate["seat"],
  candidates: readonly Candidate[],
): readonly Candidate[] {
  return inReadersOrder(
    answers,
    self,
    candidates.filter(({ seat }) => seat !== self),
  );
}

/** DB3: the critiques of a seat, one per target. */
export function sayCritiques(view: SeatView<unknown>, phase = CRITIQUE): Critiques {
  const [answered] = view.answered(phase);
  if (answered === undefined) return { critiques: [] };
  const [, ...targets] = answered.about;
  const critiques = targets.flatMap((target, index): readonly Critique[] => {
    const text = clipText(answered.fields[`critique${letter(index)}`] ?? "", critiqueBytes(view.attempt)).trim();
    return text === "" ? [] : [{ target: target as Digest, text }];
  });
  return { critiques };
}

/** The critiques of an answer, in the order in which its author reads them. */
export function critiquesOf(
  answers: RoundBook,
  critiques: RoundBook,
  of: Candidate,
  closure: Closure,
): readonly string[] {
  const about = allCounted(critiques, critiqueForm, closure).flatMap(({ seat, digest, body }) =>
    seat === of.seat
      ? []
      : body.critiques.filter(({ target }) => target === of.target).map(({ text }) => ({ target: digest, text })),
  );
  return inReadersOrder(answers, of.seat, about).map(({ text }) => text);
}

const REPLY: Task = {
  name: "revise",
  small:
    "`answer` and `proof` are your own of the first round; `counterProof` and `others` are the other members' critiques of it. In `proof` " +
    "respond to them point by point, then give your final answer: hold your position where the critiques do not stand, correct it where they do.",
  general:
    "`answer` and `proof` are your own of the first round; `counterProof` and `others` are the other members' critiques of it. They may be wrong, " +
    "and so may you. In `proof` respond to them point by point, in short steps. `answer` is your final answer, written as `form` says: hold your " +
    "position where the critiques do not stand, correct it where they do.",
};

/** DB4: asks for reply and final answer in one call. */
export function replyPrompt(attempt: Attempt, own: Candidate, critiques: readonly string[]): Prompt {
  const [first, ...others] = critiques
    .filter((text) => !AGREES.test(text))
    .map((text) => cutText(text, critiqueBytes(attempt)));
  const data = [...ownFields(own.answer.text, own.proof), ...objectionFields(first, others)];
  return taskPrompt(attempt, REPLY, data, answerSchema(attempt.request.terms), "answer");
}
