// Coalitions against skill (docs/spec/skill.md): clo decides the same requests twice, with the skills that the real counters learned and
// with the skill 1 everywhere, by the real `conclude` over complete message sets.
import { limits } from "../../agents/core/limits.ts";
import { roundsOf } from "../../agents/core/protocols/clo/conclude.ts";
import { clo } from "../../agents/core/protocols/clo/index.ts";
import { emptyTally } from "../../agents/core/seat/tally.ts";
import { skillOf, type SkillCounters } from "../../agents/core/skill.ts";
import { learned } from "../references/skill-counters.ts";
import type { Assurance, Outcome, Skill } from "../../agents/core/types.ts";
import { addRound, attemptWith, type Act } from "../../test/support/core/clo-set.ts";
import { forget } from "../../sim/fast/memo.ts";
import { drawAt } from "./random.ts";

/**
 * `none`: everybody is honest. `lies`: always. `turns`: gives the right answer in the first round, by which it is judged, and lies after it.
 * `sleeps`: honest until the measured half. `farms`: earns its lessons of a week with requests of its own, then lies. `floods`: the same with
 * hard requests, until nobody can learn more in the week: they outvote honest agents.
 */
export const STRATEGIES = ["none", "lies", "turns", "sleeps", "farms", "floods"] as const;
export type Strategy = (typeof STRATEGIES)[number];

export interface CoalitionPlan {
  readonly strategy: Strategy;
  /** The coalition's part of the agents, and so of the stake. */
  readonly share: number;
  readonly seats: number;
  readonly assurance: Assurance;
  readonly weeks: number;
  /** Requests of others in a week. */
  readonly requests: number;
  readonly seed: number;
}

interface Interval {
  readonly mean: number;
  readonly low: number;
  readonly high: number;
}

export interface CoalitionResult extends CoalitionPlan {
  /** Measured requests: those of others in the second half of the weeks. */
  readonly measured: number;
  /** Parts of them that are decided rightly. */
  readonly counting: number;
  readonly learned: number;
  /** Learned less counting, paired by request, with its 95 % interval. */
  readonly gain: Interval;
  /** The part of them that the coalition's lie decides by counting, and what is added where skills are learned. */
  readonly captured: { readonly counting: number; readonly more: Interval };
  /** Mean skills of seats in the measured requests. */
  readonly skills: { readonly honest: number; readonly coalition: number };
  /** Requests of its own that the coalition asked. */
  readonly farmed: number;
  /** What others earned by them, in pay of a whole committee that decided: one that hangs earns half of that (SE11). */
  readonly paid: number;
}

const AGENTS = 40;
/** SK5 */
const WEEKLY_LESSONS = 8;
/** What a coalition asks in a week: at most so many requests, at which honest agents are right so often, as part of how often they are else. */
const OWN = { farms: { most: 60, knows: 1 }, floods: { most: 200, knows: 0.5 } } as const;
const RIGHT = "A";
const LIE = "B";
/** How often a sample of honest agents is right, from the worst to the best. */
const [WORST, BEST] = [0.45, 0.9];

interface Agent {
  readonly isCoalition: boolean;
  /** How often it knows the answer. */
  readonly knows: number;
  counters: SkillCounters;
  lessons: number;
}

export function playCoalition(plan: CoalitionPlan): CoalitionResult {
  const { strategy, seats, assurance, weeks, requests, seed } = plan;
  const hostile = Math.round(plan.share * AGENTS);
  const agents = Array.from({ length: AGENTS }, (_, index): Agent => {
    const rank = (index * 7) % AGENTS;
    return {
      isCoalition: index < hostile,
      knows: WORST + ((BEST - WORST) * rank) / (AGENTS - 1),
      counters: { agreed: 0, contested: 0 },
      lessons: 0,
    };
  });
  const gains: number[] = [];
  const captures: number[] = [];
  let captured = 0;
  const right = { counting: 0, learned: 0 };
  const sums = { honest: 0, coalition: 0 };
  const counts = { honest: 0, coalition: 0 };
  let [farmed, paid] = [0, 0];
  for (let week = 0; week < weeks; week++) {
    for (const agent of agents) agent.lessons = 0;
    if (strategy === "farms" || strategy === "floods") {
      const { most, knows } = OWN[strategy];
      const pupils = strategy === "floods" ? agents : agents.filter(({ isCoalition }) => isCoalition);
      for (let own = 0; own < most && pupils.some(canLearn); own++, farmed++) {
        const committee = committeeOf(agents, seats, seed, week, own, 1);
        paid += paidTo(
          committee,
          settle(committee, { place: [seed, week, own, 1], lies: false, turns: false, own: knows, assurance }),
        );
      }
    }
    const isMeasured = 2 * week >= weeks;
    const lies = strategy !== "none" && (strategy !== "sleeps" || isMeasured);
    for (let index = 0; index < requests; index++) {
      const committee = committeeOf(agents, seats, seed, week, index, 0);
      const skills = committee.map(({ counters }) => skillOf(counters));
      const play = { place: [seed, week, index, 0], lies, turns: strategy === "turns", own: null, assurance };
      const outcome = settle(committee, play);
      if (!isMeasured) continue;
      const counted = decide(
        committee,
        committee.map((): Skill => 1),
        play,
      );
      const [byCount, bySkill] = [Number(counted.answer === RIGHT), Number(outcome.answer === RIGHT)];
      right.counting += byCount;
      right.learned += bySkill;
      gains.push(bySkill - byCount);
      captures.push(Number(outcome.answer === LIE) - Number(counted.answer === LIE));
      captured += Number(counted.answer === LIE);
      for (const [seat, { isCoalition }] of committee.entries()) {
        const side = isCoalition ? "coalition" : "honest";
        sums[side] += skills[seat] as number;
        counts[side] += 1;
      }
    }
  }
  const measured = gains.length;
  return {
    ...plan,
    measured,
    counting: right.counting / measured,
    learned: right.learned / measured,
    gain: intervalOf(gains),
    captured: { counting: captured / measured, more: intervalOf(captures) },
    skills: { honest: sums.honest / counts.honest, coalition: sums.coalition / Math.max(1, counts.coalition) },
    farmed,
    paid,
  };
}

/** The part of a decided committee's pay that seats outside the coalition earn. */
function paidTo(committee: readonly Agent[], { status, shares }: Outcome): number {
  const all = shares.reduce((sum, share) => sum + share, 0);
  const others = shares.reduce((sum, share, seat) => sum + (committee[seat]?.isCoalition === true ? 0 : share), 0);
  return all === 0 ? 0 : (others / all) * (status === "hung" ? 0.5 : 1);
}

function intervalOf(values: readonly number[]): Interval {
  const mean = values.reduce((sum, one) => sum + one, 0) / values.length;
  const variance = values.reduce((sum, one) => sum + (one - mean) ** 2, 0) / (values.length - 1);
  const margin = 1.96 * Math.sqrt(variance / values.length);
  return { mean, low: mean - margin, high: mean + margin };
}

interface Play {
  readonly place: readonly number[];
  /** The coalition tells its lie. */
  readonly lies: boolean;
  /** Not in the first round. */
  readonly turns: boolean;
  /**
   * Null if somebody outside the coalition asked. Otherwise all its members know the answer, and this is how often others know it,
   * as a part of how often they know other answers.
   */
  readonly own: number | null;
  readonly assurance: Assurance;
}

function canLearn({ lessons }: Agent): boolean {
  return lessons < WEEKLY_LESSONS;
}

/** Draws distinct agents of equal stake. */
function committeeOf(
  agents: readonly Agent[],
  seats: number,
  ...place: readonly [number, ...number[]]
): readonly Agent[] {
  const [seed, ...rest] = place;
  return agents
    .map((agent, index) => ({ agent, key: drawAt(seed, ...rest, 9, index) }))
    .toSorted((one, other) => one.key - other.key)
    .slice(0, seats)
    .map(({ agent }) => agent);
}

/** Decides by the learned skills, and lets the agents learn from it (SK3 to SK5). */
function settle(committee: readonly Agent[], play: Play): Outcome {
  const outcome = decide(
    committee,
    committee.map(({ counters }) => skillOf(counters)),
    play,
  );
  for (const seat of outcome.answered) {
    const agent = committee[seat] as Agent;
    if (agent.lessons === WEEKLY_LESSONS) continue;
    agent.lessons += 1;
    agent.counters = learned(agent.counters, outcome.agreed.includes(seat));
  }
  return outcome;
}

function decide(committee: readonly Agent[], skills: readonly Skill[], play: Play): Outcome {
  // What hashes remember belongs to one decision.
  forget();
  const attempt = attemptWith(skills, play.assurance);
  let tally = emptyTally;
  for (let round = 0; round < roundsOf(attempt); round++) {
    tally = addRound(tally, attempt, round, actsOf(committee, play, round));
    const conclusion = clo.conclude(attempt, tally);
    if (conclusion.kind === "final") return conclusion.outcome;
  }
  throw new Error("clo concludes after its last round");
}

/** What the seats say: the same whatever their skills are. */
function actsOf(
  committee: readonly Agent[],
  { place: [seed = 0, ...place], lies, turns, own }: Play,
  round: number,
): readonly Act[] {
  const draw = (...what: readonly number[]): number => drawAt(seed, ...place, round, ...what);
  return committee.map(({ isCoalition, knows }, seat) => {
    if (isCoalition && (lies || own !== null)) return { answer: lies && !(turns && round === 0) ? LIE : RIGHT };
    const samples = Array.from({ length: limits.samples }, (_, sample) =>
      draw(1, seat, sample) < knows * (own ?? 1)
        ? RIGHT
        : (["B", "C", "D"][Math.floor(3 * draw(2, seat, sample))] as string),
    );
    const often = (answer: string): number => samples.filter((one) => one === answer).length;
    const answer = samples.reduce((best, one) => (often(one) > often(best) ? one : best));
    return { answer, others: [...new Set(samples.filter((one) => one !== answer))] };
  });
}
