import { drawAt } from "./random.ts";

/** The free parameters of one row: who attacks, and how good honest models are. */
export interface Setting {
  readonly attack: "coordinated vetoers" | "confident liars";
  readonly seats: number;
  /** p: chance that an honest verifier accepts a wrong text. */
  readonly fooled: number;
  /** q: chance that an honest verifier rejects a wrong text with a counter-proof. */
  readonly countered: number;
  /**
   * True if an honest verifier repeats its verdict when the reference asks again about the same answer in a later
   * round; false if it draws anew. The sound rules ask again only in a revision round, where every draw is new.
   */
  readonly again: "same" | "anew";
  /**
   * How well honest seats judge counter-proofs, an assumption of the study. `informed`: a seat with the right
   * answer judges rightly, others judge as a verifier would; `fallible`: every seat judges as a verifier would.
   */
  readonly judges: "informed" | "fallible";
}

/** `mistaken`: honest, wrong and unsure. */
export type Role = "honest" | "mistaken" | "sacrificial" | "stealth" | "liar";
export type Opinion = "for" | "against" | "none";

/** Assumed: an honest answer is right with .8; an honest verifier accepts a right text with .75, rejects it with .10. */
const ANSWER_RIGHT = 0.8;
const RIGHT_ACCEPTED = 0.75;
const RIGHT_REJECTED = 0.1;

export const RIGHT = "yes";
export const WRONG = "no";

/** Stated confidence of every seat that does not hide; the highest tier of the sound ladder. */
export const TAU = 0.9;

/** The random draws of one decision; each depends only on the seed and on what is asked. */
export interface Trial {
  readonly roles: readonly Role[];
  /** Answer of a seat in a round. */
  answer(seat: number, round: number): string;
  /** Verdict of an honest seat on another one's answer in a round. */
  verdict(seat: number, answer: string, round: number): Opinion;
  /** The same verdict, asked again in the same deliberation round: the reference does that after a change of leader. */
  again(seat: number, answer: string, time: number): Opinion;
  /** Judgement of an honest seat on a counter-proof against an answer: `for` upholds it. */
  judgement(seat: number, author: number, against: string, round: number): Opinion;
}

/** Seats of a committee: f attackers first, which is the best place in the reference's list. */
export function rolesOf({ attack, seats }: Setting): readonly Role[] {
  const faults = Math.floor((seats - 1) / 3);
  return Array.from({ length: seats }, (_, seat): Role => {
    if (seat >= faults) return "honest";
    if (attack === "confident liars") return "liar";
    return seat === 0 ? "sacrificial" : "stealth";
  });
}

export function trialOf(setting: Setting, seed: number): Trial {
  const roles = rolesOf(setting);
  const opinion = (isRight: boolean, luck: number): Opinion => {
    const accepted = isRight ? RIGHT_ACCEPTED : setting.fooled;
    const rejected = isRight ? RIGHT_REJECTED : setting.countered;
    return luck < accepted ? "for" : luck < accepted + rejected ? "against" : "none";
  };
  const answer: Trial["answer"] = (seat, round) =>
    roles[seat] === "honest" && drawAt(seed, 0, seat, round) < ANSWER_RIGHT ? RIGHT : WRONG;
  const verdict: Trial["verdict"] = (seat, given, round) =>
    opinion(given === RIGHT, drawAt(seed, 1, seat, Number(given === RIGHT), round));
  return {
    roles,
    answer,
    verdict,
    again: (seat, given, time) => verdict(seat, given, setting.again === "same" ? 0 : time),
    // A counter-proof against a wrong answer is itself right, so it gets the draw of a right answer.
    judgement: (seat, author, against, round) => {
      const isRight = against === WRONG;
      if (setting.judges === "informed" && answer(seat, round) === RIGHT) return isRight ? "for" : "against";
      return opinion(isRight, drawAt(seed, 2, seat, author * 2 + Number(isRight), round));
    },
  };
}

/** Honest seats that are never wrong and never fooled, so that only the attackers' acts show. */
export function faultlessTrial(roles: readonly Role[]): Trial {
  const verdict: Trial["verdict"] = (_, given) => (given === RIGHT ? "for" : "against");
  return {
    roles,
    answer: (seat) => (roles[seat] === "honest" ? RIGHT : WRONG),
    verdict,
    again: verdict,
    judgement: (_, __, against) => (against === WRONG ? "for" : "against"),
  };
}
