import { EVENT, MAX_TIME, MOST_HELPS, eventsPerSeat } from "./config.ts";
import { anyOtherParent, missingIn, otherParentFor, stagesDue, unfinishedPeer } from "./gossip.ts";
import { encodeEvent, type Mode } from "./payloads.ts";
import { isReading, recordsIn, type HashgraphState, type HashgraphStep } from "./state.ts";
import { newestOf, type Told } from "./view.ts";
import type { SeatContext } from "../../protocol.ts";
import type { Tally } from "../../seat/tally.ts";

/** HG8: makes at most one event at a time, and only if there is something to say or to acknowledge. */
export function gossip(state: HashgraphState, context: SeatContext, tally: Tally): HashgraphStep {
  const { graph } = state;
  const { self } = context;
  const isOut = state.sequence >= eventsPerSeat(context.attempt);
  if (state.flying || isOut || isReading(state)) return { state, effects: [] };
  if (state.lastSaid) {
    const peer = state.concluded && state.helps < MOST_HELPS ? unfinishedPeer(graph, self) : null;
    return peer === null
      ? { state, effects: [] }
      : makeEvent({ ...state, helps: state.helps + 1 }, context, tally, peer);
  }
  const isTurning = state.stuck === "due" || state.stuck === "back";
  if (state.step === "finish" || state.record !== null || state.demanding || isTurning)
    return makeEvent(state, context, tally, anyOtherParent(graph, self));
  // Other seats have to know that this seat waits.
  if (state.step === "order" && newestOf(graph, self)?.body.mode !== modeOf(state))
    return makeEvent(state, context, tally, anyOtherParent(graph, self));
  const stages = stagesDue(graph, state.step === "order");
  if (stages.length === 0 && state.step !== "spread") return { state, effects: [] };
  const otherParent = otherParentFor(
    graph,
    self,
    stages.length > 0 ? { kind: "order", stages } : { kind: "cover", events: recordsIn(state) },
  );
  return otherParent === null ? { state, effects: [] } : makeEvent(state, context, tally, otherParent);
}

function modeOf({ step: where, stuck }: HashgraphState): Mode {
  if (where === "finish") return "last";
  if (stuck === "due" || stuck === "said") return "stuck";
  return where === "order" ? "order" : "gossip";
}

function makeEvent(
  state: HashgraphState,
  { self }: SeatContext,
  tally: Tally,
  otherParent: Told | null,
): HashgraphStep {
  const { graph, sequence, closed, record, step: where } = state;
  const previous = sequence === 0 ? null : (graph.lines[self]?.[sequence - 1]?.[0] ?? null);
  // The own previous event is missing: another's fork of this seat took its place. There is no honest event to add.
  if (sequence > 0 && previous === null) return { state, effects: [] };
  const time = Math.min((previous?.body.time ?? 0) + 1 + state.waitedMs, MAX_TIME);
  const payload = encodeEvent({
    selfParent: previous?.digest ?? null,
    otherParent: record?.kind === "gather" ? null : otherParent,
    time,
    closed,
    mode: modeOf(state),
    wants: state.demanding ? missingIn(graph, tally) : [],
    record,
  });
  const next: HashgraphState = {
    ...state,
    sequence: sequence + 1,
    flying: true,
    demanding: false,
    waitedMs: 0,
    record: null,
    said: state.said || record !== null,
    watched: state.stuck === "due" ? null : state.watched,
    stuck: state.stuck === "due" ? "said" : state.stuck === "back" ? "no" : state.stuck,
    lastSaid: where === "finish",
  };
  return { state: next, effects: [{ kind: "send", phase: EVENT, round: sequence, payload }] };
}
