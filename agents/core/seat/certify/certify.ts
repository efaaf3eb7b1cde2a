import {
  admitOffers,
  checkSignatures,
  decisionOf,
  judgeCandidate,
  noteOffer,
  isUndecided,
  omittedFrom,
  proposeOwnRoot,
  proposerOf,
  RETRY,
  retryLoad,
} from "./candidates.ts";
import { CERTIFICATE, PRECOMMIT, PREVOTE, PROPOSE, decodePropose, decodeVote, encodeCertificate } from "./payloads.ts";
import type { ProposedRoot, CertifyContext, CertifyState, Lock } from "./state.ts";
import { hexToBytes } from "../../encoding/bytes.ts";
import { limits } from "../../limits.ts";
import { seatsOf } from "../order.ts";
import type { Effect, SeatContext, Step } from "../../protocol.ts";
import { holdsHonest, isSupermajority } from "../../quorum.ts";
import { addMessage, emptyTally, messagesOf, variants, type Tally } from "../tally.ts";
import { encodeInOrder } from "../../encoding/transcript.ts";
import type { Attempt, Decision, Digest, Message, SeatIndex } from "../../types.ts";

/** CE2: this seat's deliberation is over; from now on it proposes and votes. */
export function startCertify(state: CertifyState, context: CertifyContext, inTime: Tally): Step<CertifyState> {
  if (state.inTime !== null || state.done) return { state, effects: [] };
  return proceed(beginRound({ ...state, inTime }, context, 0), context);
}

export function certifyMessage(state: CertifyState, context: CertifyContext, message: Message): Step<CertifyState> {
  const added = addMessage(state.votes, message);
  if (added.kind === "duplicate") return { state, effects: [] };
  if (added.kind === "full")
    return { state, effects: [{ kind: "drop", reason: "slot-full", seat: message.header.seat }] };
  const effects: Effect[] = added.kind === "equivocation" ? [{ kind: "evidence", evidence: added.evidence }] : [];
  // What came together with the certificate is still seen (CE8, CE18).
  if (state.done) return { state: checkSignatures({ ...state, votes: added.tally }, context, message), effects };
  const noted = checkSignatures(noteOffer({ ...state, votes: added.tally }, context, message), context, message);
  return proceed({ state: noted, effects }, context);
}

export function certifyLoaded(
  state: CertifyState,
  context: CertifyContext,
  root: Digest,
  blocks: readonly (Uint8Array | null)[],
): Step<CertifyState> {
  const candidate = state.candidates.get(root);
  if (candidate?.kind !== "loading" || state.done) return { state, effects: [] };
  return proceed(judgeCandidate(state, context, root, candidate, blocks), context);
}

export function certifyElapsed(state: CertifyState, context: CertifyContext, timer: string): Step<CertifyState> {
  const { round } = state;
  if (state.done) return { state, effects: [] };
  if (timer.startsWith(RETRY)) {
    const root = timer.slice(RETRY.length).split(".")[0] as Digest;
    return proceed(retryLoad(state, context, root), context);
  }
  if (state.inTime === null) return { state, effects: [] };
  if (timer === `certify.propose.${round}` && state.stage === "propose")
    return proceed(
      chain(prevote(state, null), (next) => shareRoot(next, context)),
      context,
    ); // L57
  if (timer === `certify.prevote.${round}` && state.stage === "prevote")
    return proceed(precommit(state, null), context); // L61
  if (timer === `certify.share.${round}`) return proceed(shareRoot(state, context), context);
  if (timer === `certify.precommit.${round}`)
    return proceed(
      chain(handOnPrecommits(state, context), (next) => beginRound(next, context, round + 1)),
      context,
    ); // L65
  return { state, effects: [] };
}

/**
 * CE17: what ended a round goes to everybody. Some of it may have come to this seat alone, and without it, and without this seat, the others
 * would never have enough to leave the round.
 */
function handOnPrecommits(state: CertifyState, { attempt }: CertifyContext): Step<CertifyState> {
  const messages = seatsOf(attempt).flatMap((seat) => variants(state.votes, PRECOMMIT, state.round, seat));
  return { state, effects: [{ kind: "forward", messages }] };
}

function chain(
  before: Step<CertifyState>,
  continuation: (state: CertifyState) => Step<CertifyState>,
): Step<CertifyState> {
  const after = continuation(before.state);
  return { state: after.state, effects: [...before.effects, ...after.effects] };
}

/** What follows from a change: offers to read, then rules to apply. */
function proceed(step: Step<CertifyState>, context: CertifyContext): Step<CertifyState> {
  const admitted = chain(step, (next) => (next.done ? { state: next, effects: [] } : admitOffers(next, context)));
  return chain(admitted, (next) => applyRules(next, context));
}

/**
 * CE13: a seat that waited for a proposal in vain, or that is still in the same round long after, shares its own root in its
 * slot. It is not voted on; those who lack some of its messages fetch them, and a seat whose own view was open can begin to
 * certify: perhaps the proposal, or votes of the deliberation, came to this seat alone.
 */
function shareRoot(state: CertifyState, context: CertifyContext): Step<CertifyState> {
  if (proposerOf(context.attempt, state.round) === context.self) return { state, effects: [] };
  if (variants(state.votes, PROPOSE, state.round, context.self).length > 0) return { state, effects: [] };
  const own = proposeOwnRoot({ ...state, valid: null }, context);
  if (own === null) return { state, effects: [] };
  const payload = { root: own.rootBlock, validRound: null };
  const effects: Effect[] = [{ kind: "send", phase: PROPOSE, round: state.round, payload }];
  return { state: { ...own.state, valid: state.valid }, effects };
}

/** L11: the proposer speaks; everybody waits for it. Seats bring along the quorum behind the value they hold valid (CE7). */
function beginRound(state: CertifyState, context: CertifyContext, round: number): Step<CertifyState> {
  if (round >= limits.certifyRounds) return { state: { ...state, done: true }, effects: [{ kind: "stalled" }] };
  const effects: Effect[] = [wait("propose", round, context), wait("share", round, context)];
  const next: CertifyState = { ...state, round, stage: "propose", running: [] };
  if (round > 0 && state.valid !== null)
    effects.push({ kind: "forward", messages: quorumBehind(state, context.attempt, state.valid) });
  if (proposerOf(context.attempt, round) !== context.self) return { state: next, effects };
  const proposal = proposeOwnRoot(next, context);
  if (proposal === null) return { state: next, effects };
  effects.push({
    kind: "send",
    phase: PROPOSE,
    round,
    payload: { root: proposal.rootBlock, validRound: state.valid?.round ?? null },
  });
  return { state: proposal.state, effects };
}

/** A round in order needs at most its three time-outs, so that it is over before its share is due. */
function wait(stage: "propose" | "prevote" | "precommit" | "share", round: number, context: SeatContext): Effect {
  const { certifyMs, certifyDeltaMs } = context.timing;
  const onceMs = certifyMs + round * certifyDeltaMs;
  return { kind: "wait", timer: `certify.${stage}.${round}`, delayMs: stage === "share" ? 3 * onceMs : onceMs };
}

function quorumBehind(state: CertifyState, attempt: Attempt, lock: Lock): readonly Message[] {
  const prevotes = seatsOf(attempt).flatMap((seat) => {
    const held = variants(state.votes, PREVOTE, lock.round, seat);
    return countsFor(held, lock.root) ? held : [];
  });
  return [...variants(state.votes, PROPOSE, lock.round, proposerOf(attempt, lock.round)), ...prevotes];
}

/** Applies the rules until none fires; each firing moves the state forward, so this ends. */
function applyRules(state: CertifyState, context: CertifyContext): Step<CertifyState> {
  let step: Step<CertifyState> = { state, effects: [] };
  for (;;) {
    const fired = step.state.done ? null : fireRule(step.state, context);
    if (fired === null) return step;
    step = { state: fired.state, effects: [...step.effects, ...fired.effects] };
  }
}

function fireRule(state: CertifyState, context: CertifyContext): Step<CertifyState> | null {
  const certified = certify(state, context);
  if (certified !== null || state.inTime === null) return certified;
  return (
    skipAhead(state, context) ??
    voteOnProposal(state, context) ??
    lockOrNil(state, context) ??
    startTimers(state, context)
  );
}

/** L49: more than 2/3 signed the decision of one replayed root and round. The lowest seats suffice. */
function certify(state: CertifyState, context: CertifyContext): Step<CertifyState> | null {
  const seats = context.attempt.committee.length;
  for (const { root, round } of state.signatures.values()) {
    const signatures = [...state.signatures.values()]
      .filter((signed) => signed.root === root && signed.round === round)
      .toSorted((a, b) => a.seat - b.seat)
      .map(({ seat, signature }) => ({ seat, signature }));
    const candidate = state.candidates.get(root);
    const decision = decisionOf(state, context.attempt, root, round);
    if (candidate?.kind !== "good" || decision === null || !isSupermajority(signatures.length, seats)) continue;
    const quorum = signatures.filter((_, index) => !isSupermajority(index, seats));
    const { rootBlock } = candidate;
    return {
      state: { ...state, done: true },
      effects: [
        // CE12: a certified seat falls silent, so it hands on what certified it: some of it may have come to it alone.
        { kind: "send", phase: CERTIFICATE, round, payload: encodeCertificate(rootBlock, quorum) },
        { kind: "certified", certificate: { decision, signatures: quorum }, blocks: blocksOf(candidate) },
      ],
    };
  }
  return null;
}

/** L55: more than 1/3 of the seats are in a later round. */
function skipAhead(state: CertifyState, context: CertifyContext): Step<CertifyState> | null {
  const later = new Map<number, Set<SeatIndex>>();
  for (const [round, slots] of state.votes.rounds) {
    if (round > state.round) later.set(round, new Set([...slots.values()].flat().map(({ header }) => header.seat)));
  }
  const rounds = [...later]
    .filter(([, seats]) => holdsHonest(seats.size, context.attempt.committee.length))
    .map(([round]) => round);
  return rounds.length === 0 ? null : beginRound(state, context, Math.max(...rounds));
}

/** L22, L28: the first proposal of the round's proposer. */
function voteOnProposal(state: CertifyState, context: CertifyContext): Step<CertifyState> | null {
  const message = variants(state.votes, PROPOSE, state.round, proposerOf(context.attempt, state.round))[0];
  const payload = message === undefined ? null : decodePropose(message.payload, state.round);
  const candidate = payload === null ? undefined : state.candidates.get(payload.root);
  if (state.stage !== "propose" || payload === null || candidate === undefined || candidate.kind === "loading")
    return null;
  if (candidate.kind !== "good") return prevote(state, null);
  const { root, validRound } = payload;
  if (validRound === null) {
    if (state.locked !== null && state.locked.root !== root) return prevote(state, null);
    const inTime = state.inTime ?? emptyTally;
    if (isUndecided(candidate, inTime, context)) return prevote(state, null);
    const omitted = omittedFrom(candidate, inTime, context);
    if (omitted.length === 0) return prevote(state, root);
    // CE5: refuse, and hand over what was left out, so that the next proposer has it.
    const refused = prevote(state, null);
    return { state: refused.state, effects: [...refused.effects, { kind: "forward", messages: omitted }] };
  }
  // CE6: a root with more than 2/3 prevotes behind it is not refused for omissions again.
  if (!isSupermajority(votesFor(state, context, PREVOTE, validRound, root), context.attempt.committee.length))
    return null;
  const free = state.locked === null || state.locked.round <= validRound || state.locked.root === root;
  return prevote(state, free ? root : null);
}

/** L36, L44: more than 2/3 prevotes for a replayed root lock it; more than 2/3 nil end the round. */
function lockOrNil(state: CertifyState, context: CertifyContext): Step<CertifyState> | null {
  const seats = context.attempt.committee.length;
  const earlier = quorumOfEarlierRound(state, context);
  if (earlier !== null) return { state: { ...state, valid: earlier }, effects: [] };
  if (state.stage === "propose") return null;
  for (const [root, candidate] of state.candidates) {
    if (candidate.kind !== "good" || !isSupermajority(votesFor(state, context, PREVOTE, state.round, root), seats))
      continue;
    const lock = { root, round: state.round };
    if (state.stage === "prevote") {
      const decision = decisionOf(state, context.attempt, root, state.round);
      return precommit({ ...state, locked: lock, valid: lock }, decision, blocksOf(candidate));
    }
    if (state.valid === null || state.valid.round < state.round)
      return { state: { ...state, valid: lock }, effects: [] };
  }
  if (state.stage === "prevote" && isSupermajority(votesFor(state, context, PREVOTE, state.round, null), seats))
    return precommit(state, null);
  return null;
}

/** L34, L47: more than 2/3 have voted anything: wait a little longer, once. */
function startTimers(state: CertifyState, context: CertifyContext): Step<CertifyState> | null {
  for (const [stage, phase] of [
    ["prevote", PREVOTE],
    ["precommit", PRECOMMIT],
  ] as const) {
    const heard = seatsOf(context.attempt).filter(
      (seat) => variants(state.votes, phase, state.round, seat).length > 0,
    ).length;
    const wanted = stage === "precommit" || state.stage === "prevote";
    if (!wanted || state.running.includes(stage) || !isSupermajority(heard, context.attempt.committee.length)) continue;
    return { state: { ...state, running: [...state.running, stage] }, effects: [wait(stage, state.round, context)] };
  }
  return null;
}

/** CE14: A quorum that completed after its round had ended still makes its root the valid one. */
function quorumOfEarlierRound(state: CertifyState, context: CertifyContext): Lock | null {
  const seats = context.attempt.committee.length;
  for (let round = state.round - 1; round > (state.valid?.round ?? -1); round--) {
    for (const [root, candidate] of state.candidates) {
      if (candidate.kind !== "good") continue;
      if (isSupermajority(votesFor(state, context, PREVOTE, round, root), seats)) return { root, round };
    }
  }
  return null;
}

/** Seats with a vote for the root (null = nil). */
function votesFor(
  state: CertifyState,
  context: CertifyContext,
  phase: number,
  round: number,
  root: Digest | null,
): number {
  return seatsOf(context.attempt).filter((seat) => countsFor(variants(state.votes, phase, round, seat), root)).length;
}

/**
 * CE8: who voted twice is proven Byzantine and counts for everything, so that all seats come to see the same quorums
 * whichever of its votes they hold. Two quorums still share an honest seat.
 */
function countsFor(votes: readonly Message[], root: Digest | null): boolean {
  return votes.length > 1 || votes.some(({ header, payload }) => decodeVote(header.phase, payload)?.root === root);
}

function prevote(state: CertifyState, root: Digest | null): Step<CertifyState> {
  const effect: Effect = {
    kind: "send",
    phase: PREVOTE,
    round: state.round,
    payload: { root: root === null ? null : hexToBytes(root) },
  };
  return { state: { ...state, stage: "prevote" }, effects: [effect] };
}

/** AV6: the host signs once it holds the blocks; it says nil where it cannot. */
function precommit(
  state: CertifyState,
  decision: Decision | null,
  blocks: readonly Uint8Array[] = [],
): Step<CertifyState> {
  const nil = { root: null, signature: null };
  const signed =
    decision === null
      ? { payload: nil }
      : { payload: { ...nil, root: hexToBytes(decision.transcript) }, decision, holds: { blocks, otherwise: nil } };
  const effect: Effect = { kind: "send", phase: PRECOMMIT, round: state.round, ...signed };
  return { state: { ...state, stage: "precommit" }, effects: [effect] };
}

function blocksOf({ rootBlock, tally }: Extract<ProposedRoot, { kind: "good" }>): readonly Uint8Array[] {
  return [rootBlock, ...encodeInOrder([...messagesOf(tally)])];
}
