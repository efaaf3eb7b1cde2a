import { groupAnswers, type AnswerGroup, type SeatAnswer } from "../request/answer.ts";
import { type CanonicalAnswer } from "../request/kinds.ts";
import { nonAnswerIn } from "../request/non-answers.ts";
import { isMapOf } from "../encoding/codec.ts";
import { compareHex, hexToBytes } from "../encoding/bytes.ts";
import { limits } from "../limits.ts";
import { asDigest, listOf } from "../encoding/payload.ts";
import type { Call, SeatView } from "./phased-rules.ts";
import type { Prompt } from "../prompts/prompt.ts";
import { canonicalRanks } from "../seat/order.ts";
import { faultTolerance, isMajority } from "../quorum.ts";
import { allCounted, type AnyForm, type Form, type RoundBook, type Closure } from "./round-book.ts";
import { taskPrompt, verdictSchema, type Task } from "../prompts/task-prompt.ts";
import type { Attempt, Digest, SeatIndex, Value } from "../types.ts";

/**
 * Texts that mean the same (docs/spec/answers.md). Texts are the same if they are equal after normalisation; else seats decide: after
 * REVEAL every seat says of pairs of distinct texts whether they mean the same. Similarity scores never decide.
 */

/** One seat's statement on two texts, named by their outcomes, the lower first. */
interface Match {
  readonly first: Digest;
  readonly second: Digest;
  readonly same: boolean;
}

interface Matches {
  readonly matches: readonly Match[];
}

export const MATCH = 3;

export const matchForm: Form<Matches> = {
  name: "match",
  phase: MATCH,
  encode: ({ matches }) => ({
    matches: matches.map(({ first, second, same }) => [hexToBytes(first), hexToBytes(second), same]),
  }),
  decode: (_, value) => {
    const matches = isMapOf(value, ["matches"]) ? listOf(value["matches"], limits.matchPairs, decodeMatch) : null;
    if (matches === null || new Set(matches.map(({ first, second }) => first + second)).size !== matches.length)
      return null;
    return { matches };
  },
};

function decodeMatch(entry: Value): Match | null {
  if (!Array.isArray(entry) || entry.length !== 3) return null;
  const [one, other, same] = entry as readonly Value[];
  const first = asDigest(one);
  const second = asDigest(other);
  if (first === null || second === null || typeof same !== "boolean" || compareHex(first, second) >= 0) return null;
  return { first, second, same };
}

/** EQ1: the forms to put after the form that reveals answers. Only texts need to be compared. */
export function matchForms(attempt: Attempt): readonly AnyForm[] {
  return attempt.request.terms.kind === "text" ? [matchForm] : [];
}

const MATCH_TASK: Task = {
  name: "match",
  small:
    "Two members answered with these texts. Say in `check` what each of them states. `verdict` is same if whoever acts on one of them would " +
    "act alike on the other, different if not, abstain if you cannot tell.",
  general:
    "Two members answered the question with `answer` and with `other`. Whether they are right does not matter here. Say in `check` what each of " +
    "them states. `verdict` is same if whoever acts on one of them would act alike on the other, whatever the words; different if not; abstain " +
    "if you cannot tell.",
};

function matchPrompt(attempt: Attempt, answer: string, other: string): Prompt {
  const data = [
    ["answer", answer],
    ["other", other],
  ] as const;
  return taskPrompt(attempt, MATCH_TASK, data, verdictSchema(["same", "different", "abstain"]), "verdict");
}

/**
 * EQ2: calls that compare each of the first f + 1 distinct texts with all later ones, so that an honest seat's text is among the
 * founders; at most `limits.matchPairs`.
 */
export function matchCalls(view: Pick<SeatView<unknown>, "attempt">, answers: readonly SeatAnswer[]): readonly Call[] {
  const { committee, request } = view.attempt;
  const texts = bySupport(view.attempt, groupAnswers(request.terms, answers))
    .map((group) => group.representative)
    .filter((one) => areTexts(one));
  const founders = texts.slice(0, faultTolerance(committee.length) + 1);
  const pairs = founders.flatMap((text, index) => texts.slice(index + 1).map((other) => [text, other] as const));
  return pairs.slice(0, limits.matchPairs).map(([text, other]) => ({
    about: ["match", ...inOrder(text.outcome, other.outcome)],
    prompt: matchPrompt(view.attempt, text.text, other.text),
  }));
}

export function sayMatches(view: SeatView<unknown>): Matches {
  const matches = view.answered(MATCH).flatMap(({ about, fields }): readonly Match[] => {
    const [, first, second] = about as readonly [string, Digest, Digest];
    const { verdict } = fields;
    return verdict === "same" || verdict === "different" ? [{ first, second, same: verdict === "same" }] : [];
  });
  return { matches };
}

/**
 * EQ3: classes of agreeing answers. Two texts are the same if more than half of all seats said so. This need not be
 * transitive. So texts are taken in order of support: each one joins the first class whose founder it is the same as,
 * or founds a class. No chain of near-equals joins texts that were judged different. A seat that judged the founder's
 * text to differ from its own text is not put into the founder's class.
 */
export function answerClasses(
  book: RoundBook,
  answers: readonly SeatAnswer[],
  closure: Closure,
): readonly AnswerGroup[] {
  return classesBy(book.attempt, answers, {
    areSame: (founder, text) =>
      isMajority(seatsJudging(book, founder, text, closure, true).length, book.attempt.committee.length),
    deniers: (founder, text) => seatsJudging(book, founder, text, closure, false),
  });
}

/** What gives judgements on two texts. */
export interface Equivalences {
  areSame(founder: CanonicalAnswer, text: CanonicalAnswer): boolean;
  /** Seats that said that the two texts differ. */
  deniers(founder: CanonicalAnswer, text: CanonicalAnswer): readonly SeatIndex[];
}

/** EQ3 with any source of judgements. */
export function classesBy(
  attempt: Attempt,
  answers: readonly SeatAnswer[],
  judgements: Equivalences,
): readonly AnswerGroup[] {
  const { terms } = attempt.request;
  const groups = groupAnswers(terms, answers);
  if (terms.kind !== "text" || groups.length < 2) return groups;
  const classes: { representative: CanonicalAnswer; seats: readonly SeatIndex[] }[] = [];
  for (const { representative: text, seats } of bySupport(attempt, groups)) {
    const found = classes.find(
      ({ representative }) => areTexts(representative, text) && judgements.areSame(representative, text),
    );
    const deniers = found === undefined ? [] : judgements.deniers(found.representative, text);
    const apart = found === undefined ? seats : seats.filter((seat) => deniers.includes(seat));
    if (found !== undefined)
      found.seats = [...found.seats, ...seats.filter((seat) => !apart.includes(seat))].toSorted((a, b) => a - b);
    if (apart.length > 0) classes.push({ representative: text, seats: apart });
  }
  return classes.toSorted((a, b) => compareHex(a.representative.outcome, b.representative.outcome));
}

/** EQ6: a non-answer is no text: nobody's word makes the two the same. */
function areTexts(...answers: readonly CanonicalAnswer[]): boolean {
  return answers.every((one) => nonAnswerIn(one) === null);
}

/** Seats that called two texts the same, and seats that called them different. */
function seatsJudging(
  book: RoundBook,
  a: CanonicalAnswer,
  b: CanonicalAnswer,
  closure: Closure,
  same: boolean,
): readonly SeatIndex[] {
  const [first, second] = inOrder(a.outcome, b.outcome);
  return allCounted(book, matchForm, closure)
    .filter(({ body }) =>
      body.matches.some((match) => match.same === same && match.first === first && match.second === second),
    )
    .map(({ seat }) => seat);
}

/** Groups in order of support. Ties go by the canonical order of the seats: an author cannot choose a better place by its text's bytes. */
export function bySupport(attempt: Attempt, groups: readonly AnswerGroup[]): readonly AnswerGroup[] {
  const ranks = canonicalRanks(attempt);
  const rank = ({ seats }: AnswerGroup): number => Math.min(...seats.map((seat) => ranks[seat] as number));
  return groups.toSorted((a, b) => b.seats.length - a.seats.length || rank(a) - rank(b));
}

function inOrder(a: Digest, b: Digest): readonly [Digest, Digest] {
  return compareHex(a, b) < 0 ? [a, b] : [b, a];
}
