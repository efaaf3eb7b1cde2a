/**
 * The rule table of certify (docs/spec/certify.md). Each arm is one rule and cites its lines in Algorithm 1 of the Tendermint paper
 * (arXiv 1807.04938) or its rule of the specification. What fires is a threshold of the vote keeper, a proposal or a timeout.
 */
import { CERTIFICATE, PRECOMMIT, PREVOTE, PROPOSE, encodeCertificate, encodePropose } from "./messages.ts";
import { rootOfBallot, hidesDecision, omittedFrom, proposeOwnRoot, proposerOf } from "./proposals.ts";
import { decisionOf } from "./signatures.ts";
import type { CertifyContext, CertifyState, GoodRoot, Lock } from "./state.ts";
import {
  earlierPolkas,
  isPolka,
  precommitValues,
  precommitsOf,
  prevotesFor,
  skips,
  thresholdsOfBallot,
  type PolkaValue,
  type PrecommitValue,
  type Threshold,
} from "./votes.ts";
import { hexToBytes } from "../../encoding/bytes.ts";
import { encodeInOrder } from "../../encoding/transcript.ts";
import { limits } from "../../limits.ts";
import type { Effect, SeatContext, Step } from "../../protocol.ts";
import { emptyTally, messagesOf, variants } from "../tally.ts";
import type { Attempt, Decision, Digest, Message } from "../../types.ts";

/** The timers of a ballot. `share` is not in the paper (CE13). */
export const TIMERS = ["propose", "prevote", "precommit", "share"] as const;
type Timer = (typeof TIMERS)[number];

interface FreshProposal {
  readonly kind: "fresh-proposal";
  readonly root: Digest;
  readonly proposed: GoodRoot;
}

/** A root proposed again, with the polka behind it. */
interface ProvenProposal {
  readonly kind: "proven-proposal";
  readonly root: Digest;
  readonly validBallot: number;
}

/** What a rule fires on. */
type Trigger =
  | Threshold
  | { readonly kind: "earlier-polka"; readonly polka: PolkaValue }
  | { readonly kind: "bad-proposal" }
  | FreshProposal
  | ProvenProposal
  | { readonly kind: "timeout"; readonly timer: Timer };

/** Applies the rules until none fires; each firing moves the state forward, so this ends. */
export function applyRules(state: CertifyState, context: CertifyContext): Step<CertifyState> {
  let step: Step<CertifyState> = { state, effects: [] };
  for (;;) {
    const fired = step.state.done ? null : fireFirst(step.state, context);
    if (fired === null) return step;
    step = { state: fired.state, effects: [...step.effects, ...fired.effects] };
  }
}

function fireFirst(state: CertifyState, context: CertifyContext): Step<CertifyState> | null {
  for (const trigger of triggersOf(state, context)) {
    const fired = fire(state, context, trigger);
    if (fired !== null) return fired;
  }
  return null;
}

/** What may fire now, in order of precedence. A seat whose deliberation goes on only follows certificates (CE2). */
function* triggersOf(state: CertifyState, context: CertifyContext): Generator<Trigger> {
  yield* precommitValues(state, context.attempt);
  if (state.inTime === null) return;
  yield* skips(state, context.attempt);
  yield* proposals(state, context);
  for (const polka of earlierPolkas(state, context.attempt)) yield { kind: "earlier-polka", polka };
  yield* thresholdsOfBallot(state, context.attempt);
}

function* proposals(state: CertifyState, context: CertifyContext): Generator<Trigger> {
  const proposal = rootOfBallot(state, context);
  if (proposal === null) return;
  const { root, validBallot, proposed } = proposal;
  if (proposed.kind !== "good") yield { kind: "bad-proposal" };
  else if (validBallot === null) yield { kind: "fresh-proposal", root, proposed };
  else if (isPolka(state.votes, context.attempt, validBallot, root))
    yield { kind: "proven-proposal", root, validBallot };
}

/** The rule table: what the seat does on a trigger, or null if the rule does not apply in its step. */
function fire(state: CertifyState, context: CertifyContext, trigger: Trigger): Step<CertifyState> | null {
  const { ballot, step } = state;
  switch (trigger.kind) {
    case "bad-proposal": // CE4, Tendermint L22 with a value that is not valid
      return step === "propose" ? prevote(state, null) : null;
    case "fresh-proposal": // Tendermint L22, CE5, CE16
      return step === "propose" ? prevoteFresh(state, context, trigger) : null;
    case "proven-proposal": // Tendermint L28, CE6: a root with a polka behind it is not refused for omissions again.
      return step === "propose" ? prevote(state, isFreeFor(state, trigger) ? trigger.root : null) : null;
    case "prevote-any": // Tendermint L34
      return step === "prevote" ? startOnce(state, context, "prevote") : null;
    case "polka-value": // Tendermint L36
      return step === "propose" ? null : lock(state, context, trigger);
    case "earlier-polka": // CE14: a polka that completes after its ballot still makes its root the valid one.
      return { state: { ...state, valid: lockOn(trigger.polka) }, effects: [] };
    case "polka-nil": // Tendermint L44
      return step === "prevote" ? precommit(state, null) : null;
    case "precommit-any": // Tendermint L47
      return startOnce(state, context, "precommit");
    case "precommit-value": // Tendermint L49
      return decide(state, trigger);
    case "skip": // Tendermint L55
      return beginBallot(state, context, trigger.ballot);
    case "timeout":
      switch (trigger.timer) {
        case "propose": // Tendermint L57, CE13
          return step === "propose" ? chain(prevote(state, null), (next) => shareRoot(next, context)) : null;
        case "prevote": // Tendermint L61
          return step === "prevote" ? precommit(state, null) : null;
        case "precommit": // Tendermint L65, CE17
          return chain(handOnPrecommits(state, context), (next) => beginBallot(next, context, ballot + 1));
        case "share": // CE13
          return shareRoot(state, context);
      }
  }
}

export function timeOut(state: CertifyState, context: CertifyContext, timer: Timer): Step<CertifyState> | null {
  return fire(state, context, { kind: "timeout", timer });
}

/**
 * Tendermint L11: the proposer speaks and everybody waits for it. Seats bring along the polka behind the value they hold valid
 * (CE7).
 */
export function beginBallot(state: CertifyState, context: CertifyContext, ballot: number): Step<CertifyState> {
  if (ballot >= limits.certifyBallots) return { state: { ...state, done: true }, effects: [{ kind: "stalled" }] };
  const effects: Effect[] = [wait("propose", ballot, context), wait("share", ballot, context)];
  const next: CertifyState = { ...state, ballot, step: "propose", running: [] };
  if (ballot > 0 && state.valid !== null)
    effects.push({ kind: "forward", messages: polkaBehind(state, context.attempt, state.valid) });
  if (proposerOf(context.attempt, ballot) !== context.self) return { state: next, effects };
  const proposal = proposeOwnRoot(next, context);
  if (proposal === null) return { state: next, effects };
  const payload = encodePropose(proposal.rootBlock, state.valid?.ballot ?? null);
  effects.push({ kind: "send", phase: PROPOSE, round: ballot, payload });
  return { state: proposal.state, effects };
}

export function timerOf(timer: Timer, ballot: number): string {
  return `certify.${timer}.${ballot}`;
}

/** An undisturbed ballot ends within three time-outs, before `share` fires. */
function wait(timer: Timer, ballot: number, context: SeatContext): Effect {
  const { certifyMs, certifyDeltaMs } = context.timing;
  const onceMs = certifyMs + ballot * certifyDeltaMs;
  return { kind: "wait", timer: timerOf(timer, ballot), afterMs: timer === "share" ? 3 * onceMs : onceMs };
}

function startOnce(
  state: CertifyState,
  context: CertifyContext,
  timer: "prevote" | "precommit",
): Step<CertifyState> | null {
  if (state.running.includes(timer)) return null;
  return { state: { ...state, running: [...state.running, timer] }, effects: [wait(timer, state.ballot, context)] };
}

function polkaBehind(state: CertifyState, attempt: Attempt, { root, ballot }: Lock): readonly Message[] {
  return [
    ...variants(state.votes, PROPOSE, ballot, proposerOf(attempt, ballot)),
    ...prevotesFor(state.votes, attempt, ballot, root),
  ];
}

function prevoteFresh(
  state: CertifyState,
  context: CertifyContext,
  { root, proposed }: FreshProposal,
): Step<CertifyState> {
  if (state.locked !== null && state.locked.root !== root) return prevote(state, null);
  const inTime = state.inTime ?? emptyTally;
  if (hidesDecision(proposed, inTime, context)) return prevote(state, null);
  const omitted = omittedFrom(proposed, inTime, context);
  if (omitted.length === 0) return prevote(state, root);
  // CE5: refuse, and hand over what was left out, so that the next proposer has it.
  const refused = prevote(state, null);
  return { state: refused.state, effects: [...refused.effects, { kind: "forward", messages: omitted }] };
}

/** CE7: true if the seat's lock allows a vote for the root. */
function isFreeFor({ locked }: CertifyState, { root, validBallot }: ProvenProposal): boolean {
  return locked === null || locked.ballot <= validBallot || locked.root === root;
}

/** Locks a root with a polka and precommits it; a seat that has precommitted only holds it valid (Tendermint L36 to L43). */
function lock(state: CertifyState, context: CertifyContext, polka: PolkaValue): Step<CertifyState> | null {
  const { root, ballot, proposed } = polka;
  if (state.step === "prevote") {
    const decision = decisionOf(state, context.attempt, root, ballot);
    const locked = lockOn(polka);
    return precommit({ ...state, locked, valid: locked }, decision, blocksOf(proposed));
  }
  if (state.valid !== null && state.valid.ballot >= ballot) return null;
  return { state: { ...state, valid: lockOn(polka) }, effects: [] };
}

function lockOn({ root, ballot }: PolkaValue): Lock {
  return { root, ballot };
}

function decide(state: CertifyState, { certificate, proposed }: PrecommitValue): Step<CertifyState> {
  const { decision, signatures } = certificate;
  const payload = encodeCertificate(proposed.rootBlock, signatures);
  return {
    state: { ...state, done: true },
    effects: [
      // CE12: a certified seat falls silent, so it hands on what certified it: some of that may have reached it alone.
      { kind: "send", phase: CERTIFICATE, round: decision.round, payload },
      { kind: "certified", certificate, blocks: blocksOf(proposed) },
    ],
  };
}

/**
 * CE17: sends everybody the precommits that ended a ballot. Some may have reached this seat alone; without them, and without this
 * seat, the others would never have enough to leave the ballot.
 */
function handOnPrecommits(state: CertifyState, { attempt }: CertifyContext): Step<CertifyState> {
  const messages = precommitsOf(state.votes, attempt, state.ballot);
  return { state, effects: [{ kind: "forward", messages }] };
}

/**
 * CE13: a seat that waited for a proposal in vain, or that is still in the same ballot long after, shares its own root
 * in its slot. This copy is not voted on. Seats that lack some of its messages fetch them, and a seat whose own
 * messages did not conclude can begin to certify: perhaps the proposal, or votes of the deliberation, reached this seat
 * alone.
 */
function shareRoot(state: CertifyState, context: CertifyContext): Step<CertifyState> {
  if (proposerOf(context.attempt, state.ballot) === context.self) return { state, effects: [] };
  if (variants(state.votes, PROPOSE, state.ballot, context.self).length > 0) return { state, effects: [] };
  const own = proposeOwnRoot({ ...state, valid: null }, context);
  if (own === null) return { state, effects: [] };
  const payload = encodePropose(own.rootBlock, null);
  const effects: Effect[] = [{ kind: "send", phase: PROPOSE, round: state.ballot, payload }];
  return { state: { ...own.state, valid: state.valid }, effects };
}

function prevote(state: CertifyState, root: Digest | null): Step<CertifyState> {
  const payload = { root: root === null ? null : hexToBytes(root) };
  const effect: Effect = { kind: "send", phase: PREVOTE, round: state.ballot, payload };
  return { state: { ...state, step: "prevote" }, effects: [effect] };
}

/** AV6: the host signs once it holds the blocks; if it cannot hold them, it precommits nil. */
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
  const effect: Effect = { kind: "send", phase: PRECOMMIT, round: state.ballot, ...signed };
  return { state: { ...state, step: "precommit" }, effects: [effect] };
}

function blocksOf({ rootBlock, tally }: GoodRoot): readonly Uint8Array[] {
  return [rootBlock, ...encodeInOrder([...messagesOf(tally)])];
}

/** Runs one step after another and keeps the effects of both. */
export function chain(
  before: Step<CertifyState>,
  continuation: (state: CertifyState) => Step<CertifyState>,
): Step<CertifyState> {
  const after = continuation(before.state);
  return { state: after.state, effects: [...before.effects, ...after.effects] };
}
