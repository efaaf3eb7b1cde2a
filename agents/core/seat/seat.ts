import { CERTIFICATE, PROPOSE, isCertifyPayload } from "./certify/messages.ts";
import { newConflicts } from "./certify/evidence.ts";
import { certifyElapsed, certifyLoaded, certifyMessage, startCertify } from "./certify/certify.ts";
import { initialCertify, type CertifyContext, type CertifyState } from "./certify/state.ts";
import { limits } from "../limits.ts";
import { comparePositions, type Effect, type Input, type Protocol } from "../protocol.ts";
import type { Position, Rejection, SeatContext, Step } from "../protocol.ts";
import { addMessage, emptyTally, missingFrom, roundSlots, type Tally } from "./tally.ts";
import type { Attempt, Digest, Message } from "../types.ts";

/** One seat in one attempt: deliberation by its protocol, then certification. The host runs the effects. */
export interface SeatState {
  /** The state of the protocol's deliberation. */
  readonly deliberation: unknown;
  readonly tally: Tally;
  readonly certify: CertifyState;
  /** The place that the latest conclusion rests on; null before the first. */
  readonly concluded: Position | null;
}

export function startSeat(protocol: Protocol, context: SeatContext): Step<SeatState> {
  const isRefused = protocol.refuseRequest(context.attempt) !== null;
  const started = isRefused ? { state: null, effects: [] } : protocol.start(context);
  const state: SeatState = {
    deliberation: started.state,
    tally: emptyTally,
    certify: initialCertify,
    concluded: null,
  };
  if (!isRefused) return { state, effects: started.effects };
  // CE19: a refused request is certified at once.
  return liftCertify(state, startCertify(state.certify, view(protocol, context, state), emptyTally));
}

/** True if the seat has a certificate or gave up. */
export function isSeatDone(state: SeatState): boolean {
  return state.certify.done;
}

/** Why a message may not stand in its slot, or null. A rejected message is not even journalled. */
export function rejectMessage(protocol: Protocol, attempt: Attempt, { header, payload }: Message): Rejection | null {
  const { phase, round } = header;
  if (phase < PROPOSE) return protocol.rejectPayload(attempt, header, payload);
  if (phase > CERTIFICATE) return "unknown-phase";
  if (round >= limits.certifyBallots) return "no-such-round";
  return isCertifyPayload(phase, round, payload) ? null : "malformed-payload";
}

/** Takes one input. The caller has verified the signature of a message (`forgeryIn`). */
export function stepSeat(protocol: Protocol, context: SeatContext, state: SeatState, input: Input): Step<SeatState> {
  return follow(protocol, context, take(protocol, context, state, input));
}

function take(protocol: Protocol, context: SeatContext, state: SeatState, input: Input): Step<SeatState> {
  switch (input.kind) {
    case "message": {
      const refusal = rejectMessage(protocol, context.attempt, input.message);
      if (refusal !== null) return dropped(state, refusal, input.message);
      return input.message.header.phase >= PROPOSE
        ? certifyInput(protocol, context, state, input.message)
        : deliberationMessage(protocol, context, state, input.message);
    }
    case "elapsed":
      return input.timer.startsWith("certify.")
        ? liftCertify(state, certifyElapsed(state.certify, view(protocol, context, state), input.timer))
        : deliberate(protocol, context, state, input);
    case "observed":
    case "read":
      return deliberate(protocol, context, state, input);
    case "loaded":
      return absorb(
        protocol,
        context,
        liftCertify(state, certifyLoaded(state.certify, view(protocol, context, state), input.root, input.blocks)),
        input.root,
      );
  }
}

function certifyInput(protocol: Protocol, context: SeatContext, state: SeatState, message: Message): Step<SeatState> {
  const stepped = liftCertify(state, certifyMessage(state.certify, view(protocol, context, state), message));
  return {
    state: stepped.state,
    effects: [...stepped.effects, ...shareEvidence(stepped.effects)],
  };
}

function deliberationMessage(
  protocol: Protocol,
  context: SeatContext,
  state: SeatState,
  message: Message,
): Step<SeatState> {
  const added = addMessage(state.tally, message);
  if (added.kind === "duplicate") return { state, effects: [] };
  if (added.kind === "full") return dropped(state, "slot-full", message);
  const evidence: Effect[] = added.kind === "equivocation" ? [{ kind: "evidence", evidence: added.evidence }] : [];
  const next = deliberate(protocol, context, { ...state, tally: added.tally }, { kind: "message", message });
  return {
    state: next.state,
    effects: [...evidence, ...shareEvidence(evidence), ...next.effects],
  };
}

/** CE8: sends both halves of an equivocation to everybody, so that all seats void the same slots. */
function shareEvidence(effects: readonly Effect[]): readonly Effect[] {
  return effects.flatMap((effect): Effect[] => {
    if (effect.kind !== "evidence") return [];
    return [{ kind: "forward", messages: [effect.evidence.first, effect.evidence.second] }];
  });
}

/** Lets the protocol act. Once its closed phases are conclusive, certification starts with the messages held now (CE2). */
function deliberate(protocol: Protocol, context: SeatContext, state: SeatState, input: Input): Step<SeatState> {
  const stepped = protocol.step(state.deliberation, context, state.tally, input);
  const next: SeatState = { ...state, deliberation: stepped.state };
  const closed = next.certify.done ? null : protocol.closed(stepped.state);
  const conclusion = closed === null ? null : protocol.conclude(context.attempt, next.tally);
  if (closed === null || conclusion?.kind !== "final" || comparePositions(conclusion.through, closed) > 0)
    return { state: next, effects: stepped.effects };
  const concluded = conclusion.through;
  if (next.certify.inTime === null) {
    const certified = liftCertify(
      { ...next, concluded },
      startCertify(next.certify, view(protocol, context, next), next.tally),
    );
    return { state: certified.state, effects: [...stepped.effects, ...certified.effects] };
  }
  if (next.concluded !== null && comparePositions(concluded, next.concluded) <= 0)
    return { state: next, effects: stepped.effects };
  // CE15: other seats may be unable to conclude yet, or any more.
  const messages = [...roundSlots(next.tally, concluded.round).values()].flat();
  return { state: { ...next, concluded }, effects: [...stepped.effects, { kind: "forward", messages }] };
}

/** CE3: the verified messages of a replayed proposal count as received. */
function absorb(protocol: Protocol, context: SeatContext, step: Step<SeatState>, root: Digest): Step<SeatState> {
  const proposed = step.state.certify.roots.get(root);
  if (proposed?.kind !== "good") return step;
  let { state } = step;
  const effects = [...step.effects];
  for (const message of missingFrom(step.state.tally, proposed.tally)) {
    const next = deliberationMessage(protocol, context, state, message);
    state = next.state;
    effects.push(...next.effects);
  }
  return { state, effects };
}

/**
 * CE16: a seat takes in all messages it can of a root that it has replayed. If it still cannot conclude, it holds another pair in a
 * void slot than the seats that could. It will never hold their pair, so it certifies with them.
 */
function follow(protocol: Protocol, context: SeatContext, step: Step<SeatState>): Step<SeatState> {
  const { certify, tally } = step.state;
  if (protocol.readsVoidSlots !== true || certify.done || certify.inTime !== null) return step;
  const isReplayed = [...certify.roots.values()].some(({ kind }) => kind === "good");
  if (!isReplayed || protocol.conclude(context.attempt, tally).kind === "final") return step;
  const started = startCertify(certify, view(protocol, context, step.state), tally);
  const followed = liftCertify(step.state, started);
  return { state: followed.state, effects: [...step.effects, ...followed.effects] };
}

function view(protocol: Protocol, context: SeatContext, state: SeatState): CertifyContext {
  return { ...context, protocol, tally: state.tally };
}

function liftCertify(state: SeatState, { state: certify, effects }: Step<CertifyState>): Step<SeatState> {
  return { state: { ...state, certify }, effects: [...effects, ...newConflicts(state.certify, certify)] };
}

function dropped(state: SeatState, reason: string, message: Message): Step<SeatState> {
  return { state, effects: [{ kind: "drop", reason, seat: message.header.seat }] };
}
