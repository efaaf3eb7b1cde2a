// What seats say: policies of answer, tier, reveal, vote and judgement, put through mbft's own rules.
import { mbft } from "../../agents/core/protocols/mbft/index.ts";
import { limits } from "../../agents/core/limits.ts";
import { emptyTally } from "../../agents/core/seat/tally.ts";
import { TIERS, TIER_MAX } from "../../agents/core/phases/tiers.ts";
import type { Attempt, Outcome, Ppm } from "../../agents/core/types.ts";
import type { Random } from "../../sim/random.ts";
import { addRound, type SeatActs } from "../../test/support/core/mbft-set.ts";
import { ANSWER_PART, MODEL } from "./assumptions.ts";

const [LOW, MEDIUM] = TIERS as readonly [Ppm, Ppm];

export type Text = "yes" | "no";
export const other = (text: Text): Text => (text === "yes" ? "no" : "yes");

export interface Question {
  readonly truth: Text;
  /** A trap fools most models. */
  readonly isTrap: boolean;
}

export function drawQuestion(random: Random): Question {
  return { truth: random.chance(500_000) ? "yes" : "no", isTrap: random.chance(MODEL.trap) };
}

/** What a model makes of a question. */
export interface Belief {
  readonly answer: Text;
  readonly tier: number;
}

export function askModel({ truth, isTrap }: Question, random: Random): Belief {
  const isSure = random.chance(MODEL.sure);
  const right = isTrap ? MODEL.fooled : isSure ? MODEL.sureRight : MODEL.unsureRight;
  return { answer: random.chance(right) ? truth : other(truth), tier: isSure ? TIER_MAX : MEDIUM };
}

/**
 * What a seat does:
 * - `honest` asks its model and says what it believes; `timid` and `bold` do the same at the lowest and at the highest tier;
 * - `wait` does as `bold`, and never shows an answer that most do not share;
 * - `once` asks its model for an answer as `honest` does, and then votes, judges and repeats without it what most said;
 * - `lazy` guesses at the lowest tier, `sure` at the highest, and then both repeat what most said;
 * - `withhold` guesses at the highest tier and shows only a guess that most share;
 * - `echo` answers nothing and signs; `absent` does nothing; `sulk` says nothing after its answer, so that nothing is decided.
 */
export type Policy =
  "honest" | "timid" | "bold" | "wait" | "once" | "lazy" | "sure" | "withhold" | "echo" | "absent" | "sulk";

/** True if the seat also asks its model about the others' answers. */
const verifies = (policy: Policy): boolean => ["honest", "timid", "bold", "wait"].includes(policy);

/** The part of a draw's model calls that the seat pays for. */
export const callsOf = (policy: Policy): number => (verifies(policy) ? 1 : policy === "once" ? ANSWER_PART : 0);

export interface Mind {
  readonly policy: Policy;
  /** Its belief, if it asks a model or shares that of another seat. */
  readonly belief: Belief;
  readonly random: Random;
}

/** The outcome by the rules of mbft; hung if three rounds decide nothing. */
export function deliberate(attempt: Attempt, { truth }: Question, minds: readonly Mind[]): Outcome {
  let tally = emptyTally;
  let said = firstAnswers(minds);
  for (let round = 0; round < limits.deliberationRounds; round++) {
    const most = mostOf(shownOf(said));
    tally = addRound(tally, attempt, round, actsOf(said, most, truth, minds));
    const conclusion = mbft.conclude(attempt, tally);
    if (conclusion.kind === "final") return conclusion.outcome;
    said = shownOf(said).map((one, seat) => revised(one, most, minds[seat] as Mind));
  }
  throw new Error("mbft is open after its last round");
}

/** What a seat committed to; null if nothing. */
type Said = (Belief & { readonly isHidden?: boolean }) | null;

/** What the others see. */
const shownOf = (said: readonly Said[]): readonly Said[] => said.map((one) => (one?.isHidden === true ? null : one));

function firstAnswers(minds: readonly Mind[]): readonly Said[] {
  const open = minds.map(({ policy, belief, random }): Said => {
    const guess = random.fork("guess").chance(500_000) ? "yes" : "no";
    switch (policy) {
      case "honest":
      case "once":
      case "sulk":
        return belief;
      case "timid":
        return { ...belief, tier: LOW };
      case "bold":
      case "wait":
        return { ...belief, tier: TIER_MAX };
      case "lazy":
        return { answer: guess, tier: LOW };
      case "sure":
      case "withhold":
        return { answer: guess, tier: TIER_MAX };
      case "echo":
      case "absent":
        return null;
    }
  });
  // A seat that waits sees what the others revealed.
  const waits = minds.map(({ policy }) => policy === "withhold" || policy === "wait");
  const most = mostOf(open.map((said, seat) => (waits[seat] === true ? null : said)));
  return open.map((said, seat) =>
    waits[seat] === true && said !== null ? { ...said, isHidden: said.answer !== most } : said,
  );
}

function mostOf(said: readonly Said[]): Text {
  const weightOf = (text: Text): number => said.reduce((sum, one) => sum + (one?.answer === text ? one.tier : 0), 0);
  return weightOf("yes") >= weightOf("no") ? "yes" : "no";
}

function revised(said: Said, most: Text, { policy, random }: Mind): Said {
  if (policy === "absent" || policy === "sulk") return said;
  if (!verifies(policy)) return { answer: most, tier: MEDIUM };
  return said !== null && said.answer !== most && random.chance(MODEL.revises) ? { answer: most, tier: MEDIUM } : said;
}

function actsOf(committed: readonly Said[], most: Text, truth: Text, minds: readonly Mind[]): readonly SeatActs[] {
  const said = shownOf(committed);
  const shown = (["yes", "no"] as const).flatMap((text) => {
    const seat = said.findIndex((one) => one?.answer === text);
    return seat < 0 ? [] : [{ text, seat }];
  });
  const votes = minds.map((mind, self) =>
    shown.flatMap(({ text, seat }) => {
      const verdict = said[self]?.answer === text ? null : verdictOn(text, most, truth, mind);
      return verdict === null ? [] : [{ seat, text, verdict }];
    }),
  );
  const proofs = votes.flatMap((list, author) =>
    list.flatMap(({ seat, text, verdict }) => (verdict === "reject" ? [{ author, seat, text }] : [])),
  );
  return minds.map((mind, self): SeatActs => {
    const one = committed[self] ?? null;
    const judged = proofs.flatMap(({ author, seat, text }) => {
      const ruling = author === self ? null : rulingOn(text, most, truth, mind);
      return ruling === null ? [] : [[`${author}>${seat}`, ruling] as const];
    });
    return {
      ...(one === null ? {} : { answer: one.answer, tier: one.tier, hides: one.isHidden ?? false }),
      votes: Object.fromEntries((votes[self] ?? []).map(({ seat, verdict }) => [seat, { verdict, tier: MEDIUM }])),
      judgements: Object.fromEntries(judged),
      silent: mind.policy === "absent",
    };
  });
}

function verdictOn(text: Text, most: Text, truth: Text, { policy, random }: Mind): "accept" | "reject" | null {
  if (policy === "absent" || policy === "sulk") return null;
  if (!verifies(policy)) return text === most ? "accept" : null;
  if (text === truth) return random.chance(MODEL.acceptsRight) ? "accept" : null;
  if (random.chance(MODEL.rejectsWrong)) return "reject";
  return random.chance(MODEL.acceptsWrong) ? "accept" : null;
}

function rulingOn(text: Text, most: Text, truth: Text, { policy, random }: Mind): "uphold" | "refute" | null {
  if (policy === "absent" || policy === "sulk") return null;
  if (!verifies(policy)) return text === most ? "refute" : "uphold";
  if (text === truth) return random.chance(MODEL.refutes) ? "refute" : null;
  return random.chance(MODEL.upholds) ? "uphold" : null;
}
