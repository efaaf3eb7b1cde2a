import { drawAt } from "./random.ts";

/** Who attacks, and how good honest models are: the free parameters of one row. */
export interface Setting {
  readonly attack: "coordinated vetoers" | "confident liars";
  readonly seats: number;
  /** p: an honest verifier accepts a wrong text. */
  readonly fooled: number;
  /** q: an honest verifier rejects a wrong text with a counter-proof. */
  readonly countered: number;
  /**
   * Whether an honest verifier asked about the same answer again in a later round of the reference says the same, or draws anew. Sound
   * asks again only in a revision round, and then all is drawn anew.
   */
  readonly again: "same" | "anew";
  /**
   * The design notes do not say how well honest seats judge counter-proofs. `informed`: who holds the right answer judges rightly, others
   * as a verifier would; `fallible`: everybody judges as a verifier would.
   */
  readonly judges: "informed" | "fallible";
}

/** `mistaken`: honest, wrong and unsure. */
export type Role = "honest" | "mistaken" | "sacrificial" | "stealth" | "liar";
export type Opinion = "for" | "against" | "none";

/** Design notes: an honest answer is right with .8; an honest verifier accepts a right text with .75, rejects it with .10. */
const ANSWER_RIGHT = 0.8;
const RIGHT_ACCEPTED = 0.75;
const RIGHT_REJECTED = 0.1;

export const RIGHT = "yes";
export const WRONG = "no";

/** Stated confidence of everybody who does not hide; the sound ladder's highest tier. */
export const TAU = 0.9;

/** One decision's luck: every part of it depends on nothing but the seed and on what is asked. */
export interface Trial {
  readonly roles: readonly Role[];
  /** What a seat answers in a round. */
  answer(seat: number, round: number): string;
  /** What an honest seat makes of another one's answer in a round. */
  verdict(seat: number, answer: string, round: number): Opinion;
  /** The same, asked again in the same deliberation round: what the reference does after a change of leader. */
  again(seat: number, answer: string, time: number): Opinion;
  /** What an honest seat makes of a counter-proof against an answer: `for` upholds it. */
  judgement(seat: number, author: number, against: string, round: number): Opinion;
}

/** The seats of a committee: f attackers first, as lists go the best place in the reference. */
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
    // A counter-proof against a wrong answer is itself right, so it meets the luck of a right answer.
    judgement: (seat, author, against, round) => {
      const isRight = against === WRONG;
      if (setting.judges === "informed" && answer(seat, round) === RIGHT) return isRight ? "for" : "against";
      return opinion(isRight, drawAt(seed, 2, seat, author * 2 + Number(isRight), round));
    },
  };
}

/** Honest seats that are never wrong and never fooled, so that only the attackers' doing shows. */
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
