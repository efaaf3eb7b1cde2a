import type { RequestState } from "./events.ts";

// All questions "is it done?" about the state that the chain reports. Who follows the events asks `isFinal` of progress.ts.

/** True if the chain says that the attempt waits for its decision. */
export function isAwaited(state: RequestState, attempt: number): boolean {
  return state.attempt === attempt && state.status === "requested";
}

/** True if the chain says that the attempt has a decision, is given up, or was followed by another one. */
export function isAttemptOver(state: RequestState, attempt: number): boolean {
  return isFinalState(state) || isCommitted(state, attempt);
}

/** True if the chain says that the attempt has a decision. */
export function isCommitted(state: RequestState, attempt: number): boolean {
  return state.attempt > attempt || (state.attempt === attempt && isDecided(state));
}

/** True if the decision of the attempt is not provisional any more: it is final, or a later attempt was called. */
export function isNoMoreProvisional(state: RequestState, attempt: number): boolean {
  return isFinalState(state) || state.attempt > attempt;
}

/** True if the chain says that neither the decision nor the refund can change any more. */
export function isFinalState(state: RequestState): boolean {
  return isRefunded(state) || (isDecided(state) && !state.provisional);
}

/** True if the latest attempt has a decision, which may be that it hung or that there is no answer. */
export function isDecided({ status }: RequestState): boolean {
  return status !== "none" && status !== "requested" && status !== "refunded";
}

/** True if there is a decision whose callback is not pending any more. */
export function isDelivered(state: RequestState): boolean {
  return isDecided(state) && !state.callbackPending;
}

/** True if the asker has the fee back because nobody decided in time. */
export function isRefunded({ status }: RequestState): boolean {
  return status === "refunded";
}

/** True if nobody is owed anything for the request any more. */
export function isPaidOut(state: RequestState): boolean {
  return isRefunded(state) || state.settled;
}
