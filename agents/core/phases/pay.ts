import { isSameAnswer } from "../request/answer.ts";
import { KIND_RULES, type CanonicalAnswer } from "../request/kinds.ts";
import { nonAnswerIn } from "../request/non-answers.ts";
import { isSupermajority } from "../quorum.ts";
import { ONE_PPM, type Attempt, type Digest, type Ppm, type SeatIndex } from "../types.ts";
import { TIER_MAX } from "./tiers.ts";

/** What a seat's blind work earns (docs/spec/pay.md). One rule for all protocols. */

/**
 * Raised with every change of this rule; every protocol rises with it.
 * @internal test/core/versions.test.ts pins it; nothing else reads it.
 */
export const PAY_VERSION = 7;

/** PY1: an answer that its seat bound itself to before it could see another seat's. */
export interface BlindAnswer {
  readonly seat: SeatIndex;
  readonly answer: CanonicalAnswer;
  readonly tier: Ppm;
}

/** PY10: an answer commit whose reveal does not count. */
export interface Overdue {
  readonly seat: SeatIndex;
  /** The answer that a late reveal opens it to; null if none does. */
  readonly late: Pick<BlindAnswer, "answer" | "tier"> | null;
}

/** What the seats bound themselves to. */
export interface Blind {
  /** PY7: the blind answers, which can earn. */
  readonly answers: readonly BlindAnswer[];
  readonly overdue: readonly Overdue[];
}

export const NOBODY_BLIND: Blind = { answers: [], overdue: [] };

/** What blind answers are compared with. */
export interface Decided {
  readonly answer: CanonicalAnswer;
  /** Outcomes of further answers that the committee took for the same, as texts of one class; null if nobody compared texts. */
  readonly alike: readonly Digest[] | null;
}

/** The outcomes of a class: what its seats answered, each in its own words. */
export function outcomesOf(
  answers: readonly Pick<BlindAnswer, "seat" | "answer">[],
  seats: readonly SeatIndex[],
): readonly Digest[] {
  return answers.flatMap(({ seat, answer }) => (seats.includes(seat) ? answer.outcome : []));
}

/** PY3: the score of a right answer below the top tier; a wrong one scores 0. */
export const SAFE_RIGHT = 30;
/** PY3: the score at the top tier of a right answer, and of a wrong one: more than four in five must be right (CF1). */
export const SURE_RIGHT = 240;
export const SURE_WRONG = -840;

/** PY3: the score at a tier of an answer that agrees with the decided one to this degree; linear in it. */
export function scoreOf(tier: Ppm, agreement: Ppm): number {
  return tier === TIER_MAX
    ? SURE_WRONG + Math.floor(((SURE_RIGHT - SURE_WRONG) * agreement) / ONE_PPM)
    : Math.floor((SAFE_RIGHT * agreement) / ONE_PPM);
}

/** PY2: how far an answer agrees with the decided one: all or nothing, unless answers of its kind agree in part. EQ6: non-answers never do. */
export function agreementWith({ request: { terms } }: Attempt, { answer, alike }: Decided, own: CanonicalAnswer): Ppm {
  const { agreement } = KIND_RULES[terms.kind];
  const areAnswers = [own, answer].every((one) => nonAnswerIn(one) === null);
  if (agreement !== undefined && areAnswers) return agreement(own.outcome, answer.outcome);
  return isSameAnswer(terms, own, answer) || alike?.includes(own.outcome) === true ? ONE_PPM : (0 as Ppm);
}

/** What it brings a seat that it bound itself to an answer. */
export interface Merit {
  readonly seat: SeatIndex;
  /** PY4: 0..SURE_RIGHT. */
  readonly share: number;
  /** PY5, PY10: true if it was wrong when sure, or never opened its commitment, and more than 2/3 of the seats knew better. */
  readonly falls: boolean;
  /** SK1: true if its answer agrees with the decided one, false if more than 2/3 of the seats knew better, null if neither. */
  readonly agrees: boolean | null;
}

/** PY6: the share where no seat earns by its score. */
export const FLAT = 1;

/** Returns nothing where no answer was decided, or nobody compared texts with it. */
export function meritsOf(attempt: Attempt, decided: Decided | null, { answers, overdue }: Blind): readonly Merit[] {
  if (decided === null || decided.alike === null) return [];
  const rate = ({ answer, tier }: Pick<BlindAnswer, "answer" | "tier">) => {
    const agreement = agreementWith(attempt, decided, answer);
    return { answer, score: scoreOf(tier, agreement), isRight: isAgreed(agreement) };
  };
  const rated = answers.map((one) => ({ seat: one.seat, ...rate(one) }));
  const right = rated.filter(({ isRight }) => isRight);
  const areMost = (those: typeof right): boolean => isSupermajority(those.length, attempt.committee.length);
  const isOutvoted = ({ answer, isRight }: ReturnType<typeof rate>): boolean =>
    // A chair may decide at the edge of what the right ones said: then some of them agree with this seat as well.
    !isRight && areMost(right.filter((one) => !isAgreed(agreementWith(attempt, { ...one, alike: null }, answer))));
  const meritOf = (seat: SeatIndex, one: ReturnType<typeof rate>, share: number): Merit => {
    const outvoted = isOutvoted(one);
    return { seat, share, falls: outvoted && one.score < 0, agrees: one.isRight ? true : outvoted ? false : null };
  };
  return [
    ...rated.map((one) => meritOf(one.seat, one, Math.max(0, one.score))),
    ...overdue.map(({ seat, late }): Merit => {
      if (late !== null) return meritOf(seat, rate(late), 0);
      const falls = areMost(right);
      return { seat, share: 0, falls, agrees: falls ? false : null };
    }),
  ];
}

function isAgreed(agreement: Ppm): boolean {
  return 2 * agreement >= ONE_PPM;
}
