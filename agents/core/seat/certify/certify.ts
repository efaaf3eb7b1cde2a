import { admitOffers, noteOffer, replayLoaded, RELOAD, reload } from "./proposals.ts";
import { TIMERS, applyRules, beginBallot, chain, timeOut, timerOf } from "./rules.ts";
import { verifySignatures } from "./signatures.ts";
import type { CertifyContext, CertifyState } from "./state.ts";
import type { Effect, MessageBlock, Step } from "../../protocol.ts";
import { addMessage, type Tally } from "../tally.ts";
import type { Digest, Message } from "../../types.ts";

/** CE2: this seat's deliberation is over; from now on it proposes and votes. */
export function startCertify(state: CertifyState, context: CertifyContext, inTime: Tally): Step<CertifyState> {
  if (state.inTime !== null || state.done) return { state, effects: [] };
  return proceed(beginBallot({ ...state, inTime }, context, 0), context);
}

export function certifyMessage(state: CertifyState, context: CertifyContext, message: Message): Step<CertifyState> {
  const added = addMessage(state.votes, message);
  if (added.kind === "duplicate") return { state, effects: [] };
  if (added.kind === "full")
    return { state, effects: [{ kind: "drop", reason: "slot-full", seat: message.header.seat }] };
  const effects: Effect[] = added.kind === "equivocation" ? [{ kind: "evidence", evidence: added.evidence }] : [];
  // A seat that is done still looks for equivocation in messages that came with the certificate (CE8, CE18).
  if (state.done) return { state: verifySignatures({ ...state, votes: added.tally }, context, message), effects };
  const noted = verifySignatures(noteOffer({ ...state, votes: added.tally }, context, message), context, message);
  return proceed({ state: noted, effects }, context);
}

export function certifyLoaded(
  state: CertifyState,
  context: CertifyContext,
  root: Digest,
  blocks: readonly (MessageBlock | null)[],
): Step<CertifyState> {
  const proposed = state.roots.get(root);
  if (proposed?.kind !== "loading" || state.done) return { state, effects: [] };
  return proceed(replayLoaded(state, context, root, proposed, blocks), context);
}

export function certifyElapsed(state: CertifyState, context: CertifyContext, elapsed: string): Step<CertifyState> {
  if (state.done) return { state, effects: [] };
  if (elapsed.startsWith(RELOAD)) {
    const root = elapsed.slice(RELOAD.length).split(".")[0] as Digest;
    return proceed(reload(state, context, root), context);
  }
  if (state.inTime === null) return { state, effects: [] };
  const timer = TIMERS.find((name) => elapsed === timerOf(name, state.ballot));
  const fired = timer === undefined ? null : timeOut(state, context, timer);
  return fired === null ? { state, effects: [] } : proceed(fired, context);
}

/** Reads new offers, then applies the rules. */
function proceed(step: Step<CertifyState>, context: CertifyContext): Step<CertifyState> {
  const admitted = chain(step, (next) => (next.done ? { state: next, effects: [] } : admitOffers(next, context)));
  return chain(admitted, (next) => applyRules(next, context));
}
