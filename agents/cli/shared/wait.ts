import { setTimeout as sleep } from "node:timers/promises";
import { createStallWatch, STALLED } from "../../adapters/chain/stall.ts";
import { ConclaveError } from "../../core/errors.ts";
import { committeeSizeAfter, unpackRound } from "../../core/request/rounds.ts";
import type { RequestId, Round, Terms } from "../../core/types.ts";
import type { ChainEvent, RequestState } from "../../core/request/events.ts";
import type { ChainReader } from "../../ports/chain.ts";
import { isFinalState } from "../../core/request/state.ts";
import { isWaiting, progressOf } from "../../core/request/progress.ts";
import { answerOf, statusWords } from "./decision-words.ts";
import { utc } from "./output.ts";
import { seatedIfPossible } from "./seated.ts";

const POLL_MS = 1_000;
/** Agents take turns to do what is due after the end of a period. */
const GRACE_SECONDS = 60;

/** Waits until the request is final. Throws CHAIN_TIMEOUT if nobody does what is due after the end of a period. */
export async function waitForDecision(
  chain: ChainReader,
  requestId: RequestId,
  signal: AbortSignal,
  tell: (line: string) => void,
): Promise<RequestState> {
  try {
    return await followRequest(chain, requestId, signal, tell);
  } catch (error) {
    if (signal.aborted)
      tell(`request ${requestId}: it goes on; see what becomes of it with conclave decision ${requestId}`);
    throw error;
  }
}

async function followRequest(
  ...[chain, requestId, signal, tell]: Parameters<typeof waitForDecision>
): Promise<RequestState> {
  const told = new Set<string>();
  const tellOnce = (place: string, step: string): void => {
    if (told.has(place)) return;
    told.add(place);
    tell(`request ${requestId}: ${step}`);
  };
  const watchHead = createStallWatch(() => tell(`warning: ${STALLED}`));
  for (;;) {
    const state = await chain.requestState(requestId, signal);
    const events = await chain.requestEvents(requestId, signal);
    const progress = progressOf(events);
    // Steps come from the events, so that none is missed, however short.
    for (const [index, event] of events.entries()) {
      if (event.kind === "decisionCommitted") tellOnce(drawnPlace(event.decision.attempt), "drawn");
      for (const step of stepOf(event, events[index - 1], progress?.request.terms)) tellOnce(`event ${index}`, step);
    }
    if (isFinalState(state)) return state;
    const head = await chain.head(signal);
    watchHead(head.number);
    if (progress !== null && !told.has(drawnPlace(progress.attempt))) {
      const { stage, attempt } = await seatedIfPossible(chain, progress, head, signal);
      if (stage.kind === "drawn") tellOnce(drawnPlace(attempt), "drawn");
    }
    if (progress !== null && head.timestamp > unpackRound(progress.round).deadline + GRACE_SECONDS) {
      throw new ConclaveError(
        "CHAIN_TIMEOUT",
        `Wait for request ${requestId}: its period is over, and no agent has ended it yet; look again later`,
        { requestId: String(requestId), status: state.status },
      );
    }
    await sleep(POLL_MS, undefined, { signal });
  }
}

/** Names the step that no event brings: the seed block has named the committee. */
function drawnPlace(attempt: number): string {
  return `committee of attempt ${attempt}`;
}

/** Says why another committee was called, where nobody appealed. */
function causeAfter(before: ChainEvent | undefined): string {
  if (before?.kind === "requested" || before?.kind === "requestReopened")
    return isWaiting(before) ? "the wait is over" : "the committee did not answer in time";
  if (before?.kind !== "decisionCommitted") return "the committee did not answer in time";
  const { decision } = before;
  return decision.status === "hung" ? answerOf(decision) : "the committee was not sure enough";
}

function waits(round: Round): string {
  return `waits until ${utc(unpackRound(round).deadline)}`;
}

function provisionalText(
  { requestId, round }: Extract<ChainEvent, { kind: "decisionProvisional" }>,
  before: ChainEvent | undefined,
): string {
  const answer = before?.kind === "decisionCommitted" ? `: ${answerOf(before.decision)}` : "";
  return `provisional until ${utc(unpackRound(round).deadline)}${answer}; to appeal: conclave appeal ${requestId}`;
}

/** @param before the previous event */
function stepOf(event: ChainEvent, before: ChainEvent | undefined, terms: Terms | undefined): readonly string[] {
  switch (event.kind) {
    case "requested":
      return [isWaiting(event) ? `requested; ${waits(event.round)}` : "requested"];
    case "requestReopened": {
      if (isWaiting(event)) return [`asks again; ${waits(event.round)}`];
      const { appeals } = unpackRound(event.round);
      const size = committeeSizeAfter(terms?.committeeSize ?? 0, appeals);
      const why = event.appellant === null ? causeAfter(before) : `${event.appellant} appealed`;
      return [`reopened, ${why}: attempt ${event.attempt}, committee of ${size}`];
    }
    case "decisionCommitted":
      return [statusWords(event.decision.status)];
    case "decisionProvisional":
      return [provisionalText(event, before)];
    case "decisionFinalized":
      return ["final"];
    case "attemptUnanswered":
      return ["hung, nobody answered the last attempt"];
    case "requestRefunded":
      return ["refunded"];
    case "agentsChanged":
      return [];
  }
}
