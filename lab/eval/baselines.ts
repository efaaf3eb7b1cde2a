import { canonicalAnswer, isSameAnswer } from "../../agents/core/request/answer.ts";
import { type CanonicalAnswer } from "../../agents/core/request/kinds.ts";
import { geometricMedian } from "../../agents/core/protocols/leaderless/geometric-median.ts";
import { canonicalOrder, seatsOf } from "../../agents/core/seat/order.ts";
import type { Prompt } from "../../agents/core/prompts/prompt.ts";
import { majorityBaseline, ranking, twoThirdsBaseline } from "../references/leaderless-baselines.ts";
import { faultTolerance, isMajority, isSupermajority } from "../../agents/core/quorum.ts";
import { marksFrom, scoreCall } from "../../agents/core/phases/scores.ts";
import { lineOf, proposePrompt, revisePrompt, verifyPrompt } from "../../agents/core/prompts/task-prompt.ts";
import { TIER_MAX } from "../../agents/core/phases/tiers.ts";
import type { Attempt, Digest, SeatIndex } from "../../agents/core/types.ts";
import { respond } from "../../sim/model.ts";
import { agrees } from "../../sim/plan.ts";
import type { Committee, Result } from "./deliberate.ts";
import type { Panel } from "./panel.ts";
import type { Question } from "./question.ts";
import { groupsOf } from "./vote.ts";

/**
 * The papers' baselines in a few lines each, without messages, signatures and network faults. Bad seats are confident
 * liars: they answer the lie with its wrong proof and approve nothing else.
 */
export interface Table {
  readonly attempt: Attempt;
  /** Returns the fields of a seat's reply, bent if the seat is bad; null if the model failed. */
  readonly ask: (seat: SeatIndex, prompt: Prompt) => Promise<Readonly<Record<string, string>> | null>;
  /** Seats in canonical order, bad or misled ones first: the papers assume that the first leaders are bad. */
  readonly leaders: readonly SeatIndex[];
}

export type Baseline = (table: Table) => Promise<Result>;

export const BASELINES: Readonly<Record<string, Baseline>> = {
  "decentllms-best": async (table) => await ranked(table, (scores) => ranking(scores)[0] as number),
  "decentllms-two-thirds": async (table) => await ranked(table, twoThirdsBaseline),
  "decentllms-majority": async (table) => await ranked(table, majorityBaseline),
  "fixed-leader-debate": fixedLeaderDebate,
  "early-stop": earlyStop,
};

export function tableOf(
  attempt: Attempt,
  question: Question,
  { bad, misled }: Pick<Committee, "bad" | "misled">,
  panel: Panel,
): Table {
  const { terms } = attempt.request;
  const { answer: lie, proof } = question.lie;
  const mind = { answer: lie, proof, approves: (other: string) => agrees(terms, other, lie) };
  const isOff = (seat: SeatIndex): boolean => bad.has(seat) || misled.has(seat);
  return {
    attempt,
    leaders: canonicalOrder(attempt).toSorted((a, b) => Number(isOff(b)) - Number(isOff(a))),
    async ask(seat, prompt) {
      // A bad seat also has a model: it costs what an honest one costs.
      const answer = await panel.ask(seat, prompt.small);
      if (bad.has(seat)) return respond({ ...prompt.small, maxTokens: 0, seed: 0 }, terms, mind);
      return answer.kind === "answered" ? answer.fields : null;
    },
  };
}

interface Proposal {
  readonly seat: SeatIndex;
  readonly answer: CanonicalAnswer;
  readonly proof: string;
}

const HUNG = (criticalPath: number): Result => ({ status: "hung", answer: null, confidence: null, criticalPath });
const DECIDED = (answer: CanonicalAnswer, criticalPath: number): Result => {
  return { status: "decided", answer: answer.text, confidence: null, criticalPath };
};

async function propose({ attempt, ask }: Table, seat: SeatIndex, prompt: Prompt): Promise<Proposal | null> {
  const fields = await ask(seat, prompt);
  const answer = fields === null ? null : canonicalAnswer(attempt.request, fields["answer"] ?? "");
  return answer === null ? null : { seat, answer, proof: fields?.["proof"] ?? "" };
}

async function proposals(table: Table, promptOf: (seat: SeatIndex) => Prompt): Promise<readonly Proposal[]> {
  const made = await Promise.all(
    seatsOf(table.attempt).map(async (seat) => await propose(table, seat, promptOf(seat))),
  );
  return made.filter((one) => one !== null);
}

/**
 * DecentLLMs, V-B1: every seat answers, and marks every other seat's answer. The geometric median of the marks ranks
 * the answers. The decision is the best one, or the one for which just enough lower ones would vote.
 */
async function ranked(table: Table, pick: (scores: readonly number[]) => number): Promise<Result> {
  const made = await proposals(table, () => proposePrompt(table.attempt));
  if (made.length === 0) return HUNG(1);
  const scores = await Promise.all(made.map(async (proposal) => await scoreOf(table, proposal)));
  return DECIDED((made[pick(scores)] as Proposal).answer, 2);
}

/** Only a message has a position. */
const NO_TARGET = `0x${"00".repeat(32)}` as Digest;

async function scoreOf({ attempt, ask }: Table, { seat, answer, proof }: Proposal): Promise<number> {
  const { prompt } = scoreCall(attempt, { seat, answer, proof, target: NO_TARGET, tier: TIER_MAX });
  const judges = seatsOf(attempt).filter((other) => other !== seat);
  const marks = await Promise.all(
    judges.map(async (judge) => {
      const fields = await ask(judge, prompt);
      return fields === null ? null : marksFrom(fields);
    }),
  );
  const given = marks.filter((one) => one !== null);
  return given.length === 0 ? 0 : geometricMedian(given).reduce((sum, mark) => sum + mark, 0);
}

const ROUNDS_PER_LEADER = 3;

/**
 * BlockAgents style (DecentLLMs, II-C): all seats vote on one leader's answer. A majority decides it; otherwise the
 * leader revises it against the objections, in at most three rounds. Then the next leader follows, at most f + 1 of
 * them.
 */
async function fixedLeaderDebate(table: Table): Promise<Result> {
  const { attempt, leaders, ask } = table;
  const others = (leader: SeatIndex): readonly SeatIndex[] => seatsOf(attempt).filter((seat) => seat !== leader);
  let path = 0;
  for (const leader of leaders.slice(0, faultTolerance(attempt.committee.length) + 1)) {
    let proposal = await propose(table, leader, proposePrompt(attempt));
    path += 1;
    for (let round = 1; proposal !== null; round++) {
      const { answer, proof } = proposal;
      const votes = await Promise.all(
        others(leader).map(async (seat) => await ask(seat, verifyPrompt(attempt, answer.text, proof))),
      );
      path += 1;
      const accepts = votes.filter((fields) => fields?.["verdict"] === "accept").length;
      if (isMajority(accepts + 1, attempt.committee.length)) return DECIDED(answer, path);
      if (round === ROUNDS_PER_LEADER) break;
      const against = votes.flatMap((fields) => (fields?.["verdict"] === "reject" ? [fields["check"] ?? ""] : []));
      proposal = await propose(table, leader, revisePrompt(attempt, { answer: answer.text, proof }, against));
      path += 1;
    }
  }
  return HUNG(path);
}

const REFINEMENTS = 3;

/**
 * Aegean style: all seats answer. If more than 2/3 agree, that is the decision and the round ends; otherwise each
 * refines its answer with all the others' before it. The calls of a round run side by side, so all of them are paid
 * for.
 */
async function earlyStop(table: Table): Promise<Result> {
  const { attempt } = table;
  const { terms } = attempt.request;
  let last = await proposals(table, () => proposePrompt(attempt));
  for (let path = 1; ; path++) {
    const [most] = groupsOf(
      attempt.request,
      last.map(({ answer }) => answer.text),
    );
    if (most !== undefined && isSupermajority(most.seats.length, attempt.committee.length))
      return DECIDED(most.representative, path);
    if (path > REFINEMENTS) return HUNG(path);
    const before = last;
    last = await proposals(table, (seat) => {
      const own = before.find((one) => one.seat === seat);
      const others = before.filter(
        (one) => one !== own && (own === undefined || !isSameAnswer(terms, one.answer, own.answer)),
      );
      const against = others.map(({ answer, proof }) => lineOf(answer.text, proof));
      return revisePrompt(attempt, own === undefined ? null : { answer: own.answer.text, proof: own.proof }, against);
    });
  }
}
