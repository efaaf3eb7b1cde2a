import { canonicalAnswer, clipText } from "../../answer.ts";
import { concat, hexToBytes, sha256, utf8 } from "../../digest.ts";
import { limits } from "../../limits.ts";
import type { Prompt } from "../../prompt.ts";
import type { Effect, Input, Observation, PayloadMap, SeatContext, Step } from "../../protocol.ts";
import { isSupermajority } from "../../quorum.ts";
import { filled, type Tally } from "../../tally.ts";
import type { Digest, Ppm, SeatIndex } from "../../types.ts";
import { candidatesOf, readRound, seenOf, type RoundBook } from "./book.ts";
import { evaluateRounds } from "./conclude.ts";
import { COMMIT, JUDGE, REVEAL, VOTE, tierOf } from "./config.ts";
import {
  commitmentOf,
  encodeCommit,
  encodeJudgements,
  encodeReveal,
  encodeVotes,
  type Judgement,
  type Proposal,
  type Seen,
  type Vote,
} from "./payloads.ts";
import { adjudicatePrompt, revisePrompt, verifyPrompt } from "./prompts.ts";
import { classesOf, counterProofsOf, type ClassResult } from "./rules.ts";

export interface MbftState {
  readonly round: number;
  /** The phase this seat waits in. */
  readonly phase: number;
  /** Whether this seat's message of the phase is out. */
  readonly said: boolean;
  readonly graceRunning: boolean;
  /** This seat's proposal of the round; null while asked or when the model failed. */
  readonly proposal: Proposal | null;
  /** Model calls of the phase still out. */
  readonly pending: readonly PendingAsk[];
  readonly votes: readonly Vote[];
  readonly judgements: readonly Judgement[];
  /** What this seat held of the phase before when that closed. */
  readonly seen: Seen;
  readonly closed: { readonly round: number; readonly phase: number } | null;
}

interface PendingAsk {
  readonly ask: string;
  /** The reveal under verification, or the one a counter-proof accuses; null for the own answer. */
  readonly target: Digest | null;
  /** Of the counter-proof being judged. */
  readonly author: SeatIndex | null;
}

export function step(state: MbftState, context: SeatContext, tally: Tally, input: Input): Step<MbftState> {
  switch (input.kind) {
    case "observed":
      return observe(state, context, tally, input.ask, input.observation);
    case "elapsed":
      return input.timer === timerName("phase", state) || input.timer === timerName("grace", state)
        ? closePhase(state, context, tally)
        : { state, effects: [] };
    case "message":
      return advance(state, context, tally);
    case "loaded":
      return { state, effects: [] };
  }
}

function timerName(name: string, state: MbftState): string {
  return `${name}.${state.round}.${state.phase}`;
}

/** MB19: a phase closes when all seats have spoken, a grace after more than 2/3 have, or at its deadline. */
function advance(state: MbftState, context: SeatContext, tally: Tally): Step<MbftState> {
  const seats = context.attempt.committee.length;
  if (state.closed?.round === state.round && state.closed.phase === JUDGE) return nextRound(state, context, tally);
  const heard = filled(tally, state.phase, state.round, seats);
  if (state.said && heard === seats) return closePhase(state, context, tally);
  if (state.said && !state.graceRunning && isSupermajority(heard, seats)) {
    const effects: Effect[] = [{ kind: "wait", timer: timerName("grace", state), delayMs: context.timing.graceMs }];
    return { state: { ...state, graceRunning: true }, effects };
  }
  return { state, effects: [] };
}

/** Enters the phase after the one that closes; what this seat has not said by then is said as an abstention. */
function closePhase(state: MbftState, context: SeatContext, tally: Tally): Step<MbftState> {
  const late = state.said ? [] : [sayPhase(state, context)];
  const closed = { round: state.round, phase: state.phase };
  const next: MbftState = {
    ...state,
    phase: state.phase + 1,
    said: false,
    graceRunning: false,
    pending: [],
    votes: [],
    judgements: [],
    seen: [],
    closed,
  };
  const entered = enterPhase(state.phase, next, context, tally);
  return { state: entered.state, effects: [...late, ...entered.effects] };
}

/** MB4: what this seat holds when it closes a phase is what its next message lists. */
function enterPhase(closing: number, next: MbftState, context: SeatContext, tally: Tally): Step<MbftState> {
  const book = readRound(context.attempt, tally, next.round);
  switch (closing) {
    case COMMIT: {
      const state = { ...next, seen: seenOf(book.commits) };
      return open(state, context, [sayPhase(state, context)], true);
    }
    case REVEAL:
      return enterVote({ ...next, seen: seenOf(book.reveals) }, context, tally, book);
    case VOTE:
      return enterJudge({ ...next, seen: seenOf(book.votes) }, context, tally, book);
    default:
      return nextRound({ ...next, phase: JUDGE, said: true }, context, tally);
  }
}

function open(state: MbftState, context: SeatContext, effects: readonly Effect[], said: boolean): Step<MbftState> {
  const wait: Effect = { kind: "wait", timer: timerName("phase", state), delayMs: context.timing.phaseMs };
  return { state: { ...state, said }, effects: [wait, ...effects] };
}

/** MB6, MB8: one verification per distinct answer other than the own one, all at once. */
function enterVote(state: MbftState, context: SeatContext, tally: Tally, book: RoundBook): Step<MbftState> {
  const classes = classesOf(context.attempt, reputationsInView(state, context, tally), candidatesOf(book, "open"));
  const foreign = classes.filter((one) => !one.members.some((member) => member.seat === context.self));
  const calls = foreign.map(({ leader }) => ({
    pending: { ask: `${state.round}.verify.${leader.target}`, target: leader.target, author: null },
    prompt: verifyPrompt(context.attempt, leader),
  }));
  return askAll(state, context, calls);
}

/** MB10, MB11: every counter-proof of another seat is judged once. */
function enterJudge(state: MbftState, context: SeatContext, tally: Tally, book: RoundBook): Step<MbftState> {
  const reputations = reputationsInView(state, context, tally);
  const classes = classesOf(context.attempt, reputations, candidatesOf(book, "closed"));
  const calls = counterProofsOf(book, reputations, classes, "open").flatMap((proof) => {
    const { author, target } = proof;
    const accused = book.revealed.find((one) => one.target === target);
    if (accused === undefined || author === context.self) return [];
    const pending = { ask: `${state.round}.adjudicate.${author}.${target}`, target, author };
    return [{ pending, prompt: adjudicatePrompt(context.attempt, accused, proof) }];
  });
  return askAll(state, context, calls);
}

/** Asks everything at once; with nothing to ask the phase's message goes out at once. */
function askAll(
  state: MbftState,
  context: SeatContext,
  calls: readonly { readonly pending: PendingAsk; readonly prompt: Prompt }[],
): Step<MbftState> {
  if (calls.length === 0) return open(state, context, [sayPhase(state, context)], true);
  const asks = calls.map(({ pending, prompt }): Effect => ({ kind: "ask", ask: pending.ask, prompt }));
  return open({ ...state, pending: calls.map((call) => call.pending) }, context, asks, false);
}

/** MB15: nothing may commit -> a revision round; waits while the round is incomplete in this view. */
function nextRound(state: MbftState, context: SeatContext, tally: Tally): Step<MbftState> {
  const result = evaluateRounds(context.attempt, tally).find((one) => one.round === state.round)?.result ?? null;
  if (result === null || result.winner !== null || state.round + 1 >= limits.deliberationRounds)
    return { state, effects: [] };
  const against = objections(result.classes, context.self);
  return openRound(context, state.round + 1, revisePrompt(context.attempt, state.proposal, against), state.closed);
}

/** What speaks against a seat's answer: upheld counter-proofs first, then others, then the proofs of differing answers. */
function objections(classes: readonly ClassResult[], self: SeatIndex): readonly string[] {
  const own = classes.find((result) => result.class.members.some((member) => member.seat === self));
  const against = own?.counterProofs ?? [];
  const upheld = against.filter((proof) => proof.standing === "upheld").map((proof) => proof.text);
  const standing = against.filter((proof) => proof.standing === "dismissed").map((proof) => proof.text);
  const differing = classes
    .filter((result) => result !== own)
    .map((result) => `${result.class.answer.text}: ${result.class.leader.proof}`);
  let bytes = 0;
  return [...upheld, ...standing, ...differing].filter(
    (text) => (bytes += utf8(text).length) <= limits.objectionsBytes,
  );
}

export function openRound(
  context: SeatContext,
  round: number,
  prompt: Prompt,
  closed: MbftState["closed"] = null,
): Step<MbftState> {
  const pending = { ask: `${round}.propose`, target: null, author: null };
  const state: MbftState = {
    round,
    phase: COMMIT,
    said: false,
    graceRunning: false,
    proposal: null,
    pending: [],
    votes: [],
    judgements: [],
    seen: [],
    closed,
  };
  return askAll(state, context, [{ pending, prompt }]);
}

function observe(
  state: MbftState,
  context: SeatContext,
  tally: Tally,
  ask: string,
  observation: Observation,
): Step<MbftState> {
  const call = state.pending.find((one) => one.ask === ask);
  if (call === undefined) return { state, effects: [] };
  const noted = note({ ...state, pending: state.pending.filter((one) => one !== call) }, context, call, observation);
  if (noted.pending.length > 0) return { state: noted, effects: [] };
  const effect = sayPhase(noted, context);
  const advanced = advance({ ...noted, said: true }, context, tally);
  return { state: advanced.state, effects: [effect, ...advanced.effects] };
}

/** Turns one model answer into what this seat will say; anything unusable is an abstention. */
function note(state: MbftState, context: SeatContext, call: PendingAsk, observation: Observation): MbftState {
  if (observation.kind === "failed") return state;
  const { fields, confidence } = observation;
  const tier = tierOf(confidence);
  const verdict = fields["verdict"];
  if (call.target === null) {
    const answer = canonicalAnswer(context.attempt.request.terms, fields["answer"] ?? "");
    return answer === null
      ? state
      : {
          ...state,
          proposal: { answer: answer.text, proof: clipText(fields["proof"] ?? "", limits.proofBytes), tier },
        };
  }
  if (call.author === null) {
    const text = clipText(fields["check"] ?? "", limits.counterProofBytes).trim();
    if ((verdict !== "accept" && verdict !== "reject") || (verdict === "reject" && text === "")) return state;
    return {
      ...state,
      votes: [...state.votes, { target: call.target, verdict, tier, counterProof: verdict === "reject" ? text : "" }],
    };
  }
  if (verdict !== "uphold" && verdict !== "refute") return state;
  return { ...state, judgements: [...state.judgements, { author: call.author, target: call.target, verdict }] };
}

/** This seat's message of the current phase, with whatever it has. */
function sayPhase(state: MbftState, context: SeatContext): Effect {
  switch (state.phase) {
    case COMMIT: {
      const { proposal, round } = state;
      const commitment =
        proposal === null ? null : commitmentOf(context.attempt, round, context.self, proposal, saltOf(context, round));
      return say(COMMIT, round, encodeCommit({ commitment }));
    }
    case REVEAL: {
      const { proposal, round, seen } = state;
      return say(
        REVEAL,
        round,
        encodeReveal({ proposal: proposal && { ...proposal, salt: saltOf(context, round) }, seen }),
      );
    }
    case VOTE:
      return say(VOTE, state.round, encodeVotes(state));
    case JUDGE:
      return say(JUDGE, state.round, encodeJudgements(state));
    default:
      throw new Error(`nothing to say in phase ${state.phase}`);
  }
}

function say(phase: number, round: number, payload: PayloadMap): Effect {
  return { kind: "send", phase, round, payload };
}

function reputationsInView(state: MbftState, context: SeatContext, tally: Tally): readonly Ppm[] {
  const rounds = evaluateRounds(context.attempt, tally);
  const current = rounds.find((one) => one.round === state.round) ?? rounds.at(-1);
  return current?.reputations ?? context.attempt.committee.map((info) => info.reputation);
}

function saltOf(context: SeatContext, round: number): Uint8Array {
  return hexToBytes(sha256(concat(context.secret, Uint8Array.of(round))));
}
