import { isSameAnswer } from "../request/answer.ts";
import { isMapOf } from "../encoding/codec.ts";
import { compareHex, concat, hexToBytes, sha256 } from "../encoding/bytes.ts";
import { outcomeFrom, type Resolution } from "./outcome.ts";
import { NOBODY_BLIND } from "./pay.ts";
import { canonicalRanks } from "../seat/order.ts";
import type { Call, SeatView } from "./phased-rules.ts";
import { reworded, type Prompt } from "../prompts/prompt.ts";
import {
  candidateFrom,
  decodeProposal,
  encodeProposal,
  revealForm,
  type Candidate,
  type Proposal,
} from "./proposals.ts";
import { faultTolerance, isMajority } from "../quorum.ts";
import { counted, equivocatorsIn, said, type Form, type RoundBook, type Closure } from "./round-book.ts";
import {
  answerSchema,
  heard,
  lettered,
  LINE_BYTES,
  lineOf,
  proposePrompt,
  taskPrompt,
  type Task,
} from "../prompts/task-prompt.ts";
import { ONE_PPM, type Attempt, type Outcome, type Ppm, type SeatIndex } from "../types.ts";

/**
 * What council, debate and adversarial share (docs/spec/council.md CH1..CH11): the word of one seat, the chair, decides, and the others'
 * words are recorded beside it. Nothing here makes the chair honest; the confidence shows how many seats say the same.
 */

/** Version of council, debate and adversarial: raised with every change of rules, wording or fields, and with TASKS_VERSION. */
export const CHAIR_VERSION = 11;

/** CH10: the most seats, since a prompt has one letter per answer. */
export const MOST_SEATS = 26;

/** CH9: the most confidence of a degraded synthesis, ppm. */
const DEGRADED_CAP = 500_000 as Ppm;

export function refuseChaired(attempt: Attempt): string | null {
  const seats = attempt.committee.length;
  if (seats > MOST_SEATS) return `every answer must fit into one prompt: at most ${MOST_SEATS} seats, not ${seats}`;
  return attempt.request.terms.assurance === "high"
    ? "the answer is one seat's word: no high assurance under this protocol; ask escalating or mbft for it"
    : null;
}

/** CH5: number of seats that are tried in a role: one of them is honest. */
export function triesOf(attempt: Attempt): number {
  return faultTolerance(attempt.committee.length) + 1;
}

/** CH5: the seat whose turn it is, in canonical order. */
export function inTurn(attempt: Attempt, turn: number): SeatIndex {
  return canonicalRanks(attempt).indexOf(turn) as SeatIndex;
}

/** CH2: clauses in the style of the paper's personalities; the first seat in order has none. */
export const PERSONALITIES: readonly string[] = [
  "",
  "Be concise and actionable.",
  "Be thorough and structured.",
  "Be creative and nuanced.",
];

/** CH2: the base prompt and, after an empty line, a personality if any. The canonical rank chooses it, so the draw fixes it. */
export function memberPrompt(attempt: Attempt, self: SeatIndex): Prompt {
  const base = proposePrompt(attempt);
  const personality = PERSONALITIES[(canonicalRanks(attempt)[self] as number) % PERSONALITIES.length];
  if (!personality) return base;
  return reworded(base, (wording) => ({ ...wording, system: `${wording.system}\n\n${personality}` }));
}

/** A seat's answer without a commitment: nobody else answers at the same time. Null if its model failed. */
export interface Word {
  readonly proposal: Proposal | null;
}

export function wordForm(name: string, phase: number): Form<Word> {
  return {
    name,
    phase,
    encode: ({ proposal }) => ({ proposal: proposal === null ? null : encodeProposal(proposal) }),
    decode: (_, value) => {
      if (!isMapOf(value, ["proposal"])) return null;
      if (value["proposal"] === null) return { proposal: null };
      const proposal = decodeProposal(value["proposal"]);
      return proposal === null ? null : { proposal };
    },
  };
}

/** The answer in a seat's word that counts; null if it has no answer of the question's kind. */
export function wordOf(book: RoundBook, form: Form<Word>, seat: SeatIndex, closure: Closure): Candidate | null {
  const one = counted(book, form, seat, closure);
  return one === null || one.body.proposal === null
    ? null
    : candidateFrom(book.attempt, seat, one.digest, one.body.proposal);
}

/**
 * CH3: peers' texts for one reader, in an order that no author can choose: by a hash of the text's digest with the reader's salt. The
 * reader has committed to the salt when the authors write, and reveals it later.
 */
export function inReadersOrder<Entry extends { readonly target: string }>(
  answers: RoundBook,
  reader: SeatIndex,
  entries: readonly Entry[],
): readonly Entry[] {
  const salt = said(answers, revealForm, reader)?.body.proposal?.salt ?? new Uint8Array(32);
  const keys = new Map(
    entries.map(({ target }) => [target, sha256(concat(salt, hexToBytes(target as `0x${string}`)))]),
  );
  const key = ({ target }: Entry) => keys.get(target) as `0x${string}`;
  return entries.toSorted((a, b) => compareHex(key(a), key(b)));
}

const SYNTHESIZE: Task = {
  name: "synthesize",
  small:
    "You chair the committee; these are its members' answers with their proofs. In `proof` name what they agree on and where they differ, " +
    "add what settles it, and do not repeat them one by one. `answer` is the one answer that follows, in the stated kind.",
  general:
    "You chair the committee; `answerA`, `answerB` and so on are its members' answers with their proofs, any of which may be wrong. In `proof` name " +
    "what they agree on and where they differ, find by your own short steps what settles it, and do not repeat them one by one. `answer` is the " +
    "one answer that follows, written as `form` says.",
};

/** CH4: the chair's one call. */
export function synthesisCall(
  { attempt, self, book, earlier }: SeatView<unknown>,
  answers: readonly Candidate[],
): Call {
  const texts = inReadersOrder(earlier[0] ?? book, self, answers).map(({ answer, proof }) =>
    heard(lineOf(answer.text, proof), LINE_BYTES),
  );
  const schema = answerSchema(attempt.request.terms);
  return {
    about: ["synthesize"],
    prompt: taskPrompt(attempt, SYNTHESIZE, lettered("answer", texts), schema, "answer"),
  };
}

/** The slashes per seat so far, with one more for each equivocator of the round. */
export function withEquivocators(slashes: readonly number[], book: RoundBook): readonly number[] {
  const voided = new Set(equivocatorsIn(book));
  return slashes.map((count, seat) => count + (voided.has(seat as SeatIndex) ? 1 : 0));
}

export function agreesWith(attempt: Attempt, one: Candidate, other: Candidate): boolean {
  return isSameAnswer(attempt.request.terms, one.answer, other.answer);
}

export interface ChairResolution extends Omit<Resolution, "winner"> {
  readonly chair: Candidate;
  /** Seats whose own last word agrees with the chair's answer. */
  readonly agreeing: readonly SeatIndex[];
  /** Number of seats that could agree. */
  readonly of: number;
  readonly degraded: boolean;
}

/** CH8, CH9, CH11: the confidence is the part of the seats that agree with the chair; a degraded synthesis gets at most half. */
export function outcomeOfChair(attempt: Attempt, resolution: ChairResolution): Outcome {
  const { chair, agreeing, of, degraded, completed } = resolution;
  const part = Math.floor((agreeing.length * ONE_PPM) / of);
  const confidence = (degraded ? Math.min(part, DEGRADED_CAP) : part) as Ppm;
  const isText = attempt.request.terms.kind === "text";
  const winner = { answer: chair.answer, confidence, alike: isText ? null : [] };
  if (isText || isMajority(agreeing.length, of))
    return outcomeFrom(attempt, { ...resolution, winner, completed: [...completed, chair.seat] });
  // PY8: else a chair could name what it alone answered, and take all pay.
  const others = completed.filter((seat) => seat !== chair.seat);
  return outcomeFrom(attempt, { ...resolution, winner, blind: NOBODY_BLIND, completed: others });
}
