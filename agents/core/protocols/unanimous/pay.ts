import { isSameAnswer } from "../../request/answer.ts";
import { policiesOf, type CanonicalAnswer } from "../../request/kinds.ts";
import { seatsOf } from "../../seat/order.ts";
import type { Candidate } from "../../phases/proposals.ts";
import type { Attempt } from "../../types.ts";
import type { Turn } from "./rules.ts";

/** Share for an answer that counts, and the largest share for its agreement with the decided answer. */
const UNIT = 4;

/**
 * UN15: a seat earns for every turn in which its answer counted, and as much again if that answer was decided.
 * With at most MAX_TURNS + 2 rounds a share is at most 96 of the 255 that the contract takes.
 */
export function sharesOf(
  attempt: Attempt,
  turns: readonly Turn[],
  decided: CanonicalAnswer | null,
  paid: readonly boolean[],
): readonly number[] {
  const accord = decided === null ? () => 0 : accordWith(attempt, turns.at(-1) as Turn, decided);
  return seatsOf(attempt).map((seat) => {
    if (!paid[seat]) return 0;
    return turns.reduce((sum, { candidates }) => {
      const own = candidates.find((one) => one.seat === seat);
      return own === undefined ? sum : sum + UNIT + accord(own);
    }, 0);
  });
}

/** The agreement of an answer with the decided one, 0..UNIT. */
function accordWith(attempt: Attempt, last: Turn, decided: CanonicalAnswer): (own: Candidate) => number {
  const { terms } = attempt.request;
  if (terms.kind === "policies")
    return ({ answer }) => overlap(policiesOf(answer.outcome), policiesOf(decided.outcome));
  // Every last answer of the seats that agreed is the decided answer: texts may differ, numbers lie within the tolerance.
  const members = last.candidates.filter(({ seat }) => last.unanimous?.seats.includes(seat));
  return ({ answer }) => (members.some((member) => isSameAnswer(terms, member.answer, answer)) ? UNIT : 0);
}

/** UNIT * |both| / |either|, rounded down. */
function overlap(own: readonly number[], decided: readonly number[]): number {
  const both = own.filter((policy) => decided.includes(policy)).length;
  return Math.floor((UNIT * both) / (own.length + decided.length - both));
}
