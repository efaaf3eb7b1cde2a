import { hasAncestor } from "./graph/graph.ts";
import { seatsOf } from "../../seat/order.ts";
import type { Effect, Input, SeatContext, Step } from "../../protocol.ts";
import { isSupermajority } from "../../quorum.ts";
import type { Tally } from "../../seat/tally.ts";
import type { Message, SeatIndex } from "../../types.ts";
import { isGivenUp, judgeOrder } from "./conclude.ts";
import {
  EVENT,
  EVENTS_PER_SEAT,
  MAX_TIME,
  MOST_DEMANDS,
  MOST_HELPS,
  ORDER_GRACES,
  ROUNDS,
  STUCK_PHASES,
  stagesOf,
} from "./config.ts";
import {
  anyOtherParent,
  missesParents,
  missingIn,
  otherParentFor,
  stagesDue,
  suppliedTo,
  unfinishedPeer,
} from "./gossip.ts";
import { encodeEvent, eventIn, type Mode } from "./payloads.ts";
import { callsFor, previewOf, recordOf, stageAt } from "./say.ts";
import { agreementIn } from "./rules.ts";
import type { HashgraphState } from "./state.ts";
import { emptyGraphView, extendGraphView, hasEnded, isForker, newestOf, type Told, type GraphView } from "./view.ts";

type HashgraphStep = Step<HashgraphState>;

export function start(context: SeatContext): HashgraphStep {
  const state: HashgraphState = {
    graph: emptyGraphView(context.attempt),
    stage: 0,
    step: "collect",
    closed: 0,
    record: null,
    said: false,
    calls: [],
    heard: [],
    proposal: null,
    graceRunning: false,
    lagging: [],
    sequence: 0,
    flying: false,
    waitedMs: 0,
    demands: 0,
    demandRunning: false,
    demanding: false,
    watched: null,
    watches: 0,
    stuck: "no",
    lastSaid: false,
    helps: 0,
    settling: false,
    settled: false,
  };
  return openStage(state, context, 0);
}

export function step(state: HashgraphState, context: SeatContext, tally: Tally, input: Input): HashgraphStep {
  const taken = take(state, context, tally, input);
  let moved: HashgraphStep = taken;
  for (let next = moveOn(moved.state, context); next !== null; next = moveOn(moved.state, context))
    moved = { state: next.state, effects: [...moved.effects, ...next.effects] };
  const watching = after(
    after(moved, (last) => watchParents(last, context)),
    (last) => watchProgress(last, context),
  );
  return after(watching, (last) => gossip(last, context, tally));
}

/** HG20: while somebody has no events left, there may be too few for anything more to happen. */
function watchProgress(state: HashgraphState, { self, timing }: SeatContext): HashgraphStep {
  const { graph, watches, watched, stuck } = state;
  if (stuck === "said" && !state.flying) {
    const standing = standingOf(graph, self);
    // What the event that says so rests on itself is no progress.
    if (watched === null) return { state: { ...state, watched: standing }, effects: [] };
    return { state: watched === standing ? state : { ...state, watched: null, stuck: "back" }, effects: [] };
  }
  const isWatching = watched !== null || stuck !== "no" || state.step === "finish";
  if (isWatching || !seatsOf(graph.attempt).some((seat) => hasEnded(graph, seat))) return { state, effects: [] };
  const delayMs = STUCK_PHASES * (timing.phaseMs + timing.graceMs);
  const effects: Effect[] = [{ kind: "wait", timer: `stuck.${watches}`, delayMs }];
  return { state: { ...state, watched: standingOf(graph, self), watches: watches + 1 }, effects };
}

/** What changes while anybody gets on with the stages, or the own clock moves. A seat has one record per stage that counts. */
function standingOf(graph: GraphView, self: SeatIndex): string {
  const records = graph.told.flatMap(({ seat, body }) =>
    body.record === null ? [] : [`${seat}.${body.record.stage}`],
  );
  return `${new Set(records).size}.${newestOf(graph, self)?.clock ?? -1}`;
}

/**
 * HG14: somebody was shown events that this seat was not; or the order is due and is not there: where HG6 cuts an edge, seats can
 * each think that it is the other who is behind.
 */
function mayLack({ graph, step: where }: HashgraphState): boolean {
  return missesParents(graph) || (where === "order" && stagesDue(graph, true).length > 0);
}

function watchParents(state: HashgraphState, { timing }: SeatContext): HashgraphStep {
  const { demands } = state;
  if (state.demandRunning || demands >= MOST_DEMANDS || !mayLack(state)) return { state, effects: [] };
  const effects: Effect[] = [{ kind: "wait", timer: `demand.${demands}`, delayMs: (demands + 1) * timing.graceMs }];
  return { state: { ...state, demands: demands + 1, demandRunning: true }, effects };
}

function after(before: HashgraphStep, then: (state: HashgraphState) => HashgraphStep): HashgraphStep {
  const next = then(before.state);
  return { state: next.state, effects: [...before.effects, ...next.effects] };
}

function take(state: HashgraphState, context: SeatContext, tally: Tally, input: Input): HashgraphStep {
  switch (input.kind) {
    case "message": {
      const { seat, round } = input.message.header;
      const isOwn = seat === context.self && round === state.sequence - 1;
      const graph = extendGraphView(state.graph, tally, input.message);
      return {
        state: { ...state, graph, flying: state.flying && !isOwn },
        effects: supply(graph, context, tally, input.message),
      };
    }
    case "observed":
      return { state: observe(state, context, input), effects: [] };
    case "elapsed":
      return elapsed(state, context, input.timer);
    case "loaded":
    case "fetched":
      return { state, effects: [] };
  }
}

/** HG14: who has what another seat asks for hands it on; the host does so a few times per message at most. */
function supply(graph: GraphView, { attempt, self }: SeatContext, tally: Tally, message: Message): readonly Effect[] {
  const wants = eventIn(attempt, message)?.wants ?? [];
  if (message.header.seat === self || wants.length === 0) return [];
  const messages = suppliedTo(graph, tally, message.header.seat, wants);
  return messages.length === 0 ? [] : [{ kind: "forward", messages }];
}

function observe(
  state: HashgraphState,
  context: SeatContext,
  { ask, observation }: Extract<Input, { kind: "observed" }>,
): HashgraphState {
  const call = state.calls.find((one) => one.ask === ask);
  if (call === undefined) return state;
  const calls = state.calls.filter((one) => one !== call);
  const heard =
    observation.kind === "failed" ? state.heard : [...state.heard, { about: call.about, answered: observation }];
  const next = { ...state, calls, heard };
  return calls.length === 0 ? ready(next, context) : next;
}

function ready(state: HashgraphState, context: SeatContext): HashgraphState {
  return { ...state, calls: [], ...recordOf(state, context) };
}

/** HG14: what a seat does when its patience ends. */
function elapsed(state: HashgraphState, context: SeatContext, timer: string): HashgraphStep {
  const { stage } = state;
  const { phaseMs, graceMs } = context.timing;
  const waited = (ms: number): HashgraphState => ({ ...state, waitedMs: state.waitedMs + ms });
  if (timer === `phase.${stage}` && state.step === "collect" && !state.said && state.record === null)
    return { state: ready(waited(phaseMs), context), effects: [] };
  if (timer === `grace.${stage}` && state.step === "collect") {
    const absent = seatsOf(context.attempt).filter((seat) => !recordsIn(state).some((told) => told.seat === seat));
    return spread({ ...waited(graceMs), lagging: absent }, context);
  }
  if (timer === `spread.${stage}` && state.step === "spread") {
    const behind = seatsOf(context.attempt).filter((seat) => !covers(state, seat, recordsIn(state)));
    return closeStage({ ...waited(graceMs), lagging: behind }, context);
  }
  if (timer === `order.${stage}` && state.step === "order") return orderElapsed(waited(graceMs), context);
  if (timer === `demand.${state.demands - 1}`)
    return { state: { ...state, demandRunning: false, demanding: mayLack(state) }, effects: [] };
  if (timer === `stuck.${state.watches - 1}`) {
    const isStuck = standingOf(state.graph, context.self) === state.watched;
    return { state: { ...state, watched: null, stuck: isStuck ? "due" : "no" }, effects: [] };
  }
  if (timer === "settle")
    return {
      state: { ...state, settling: false, settled: state.step === "finish" || isGivenUp(state.graph) },
      effects: [],
    };
  return { state, effects: [] };
}

/** HG13: a round that only seemed decided does not hold a seat up for ever; after the last round it has to know. */
function orderElapsed(state: HashgraphState, context: SeatContext): HashgraphStep {
  return stagesOf(context.attempt)[state.stage]?.kind !== "ballot" && state.stage < stagesOf(context.attempt).length
    ? openStage(state, context, state.stage)
    : { state, effects: [] };
}

/** The next thing that follows from what the seat holds; null when nothing does. */
function moveOn(state: HashgraphState, context: SeatContext): HashgraphStep | null {
  const { attempt, self } = context;
  const seats = seatsOf(attempt);
  const awaited = seats.filter((seat) => !state.lagging.includes(seat) && !isForker(state.graph, seat));
  if (state.step === "finish") {
    const areDone = awaited.every((seat) => newestOf(state.graph, seat)?.body.mode === "last");
    return !state.settled && state.lastSaid && areDone ? { state: { ...state, settled: true }, effects: [] } : null;
  }
  if (judgeOrder(state.graph).through !== null)
    return beginSettling({ ...state, step: "finish", record: null, calls: [] }, context);
  // HG20: that is certified, too, while the deliberation goes on: who is stuck may take it back.
  if (!state.settling && !state.settled && isGivenUp(state.graph)) return beginSettling(state, context);
  if (state.step === "order") {
    const isVote = stagesOf(attempt)[state.stage]?.kind === "ballot";
    return isVote && judgeOrder(state.graph).judgement.candidates !== null
      ? openStage(state, context, state.stage)
      : null;
  }
  if (state.step === "collect" && !state.said && state.record === null && isOver(state))
    return { state: ready(state, context), effects: [] };
  const records = recordsIn(state);
  if (state.step === "spread") {
    const isShared = awaited.every((seat) => covers(state, seat, records));
    return isShared && covers(state, self, records) ? closeStage(state, context) : null;
  }
  if (!state.said || !records.some((told) => told.seat === self)) return null;
  const present = (seat: SeatIndex) => records.some((told) => told.seat === seat);
  if (!isSupermajority(seats.filter(present).length, seats.length)) return null;
  if (awaited.every(present)) return spread(state, context);
  if (state.graceRunning) return null;
  const effects: Effect[] = [{ kind: "wait", timer: `grace.${state.stage}`, delayMs: context.timing.graceMs }];
  return { state: { ...state, graceRunning: true }, effects };
}

function beginSettling(state: HashgraphState, { timing }: SeatContext): HashgraphStep {
  const effects: Effect[] = [{ kind: "wait", timer: "settle", delayMs: timing.graceMs }];
  return { state: { ...state, settling: true }, effects };
}

/** HG14: more than 2/3 of the seats state the stage as closed: what the own model would still say comes too late to count. */
function isOver({ graph, stage }: HashgraphState): boolean {
  const seats = seatsOf(graph.attempt);
  const gone = seats.filter((seat) => (newestOf(graph, seat)?.body.closed ?? 0) > stage);
  return isSupermajority(gone.length, seats.length);
}

/** HG8: each seat's first record of the stage, those of known forkers left out: who repeats its own is no news. */
function recordsIn({ graph, stage }: HashgraphState): readonly Told[] {
  const said = graph.told.filter(({ seat, body }) => body.record?.stage === stage && !isForker(graph, seat));
  return said.filter((told) => said.find(({ seat }) => seat === told.seat) === told);
}

function covers({ graph }: HashgraphState, seat: SeatIndex, events: readonly Told[]): boolean {
  const newest = newestOf(graph, seat);
  return isForker(graph, seat) || (newest !== null && events.every(({ node }) => hasAncestor(newest.node, node)));
}

/** All are there, or are no longer waited for; who is back is waited for again. */
function spread(state: HashgraphState, context: SeatContext): HashgraphStep {
  const records = recordsIn(state);
  const lagging = state.lagging.filter((seat) => !records.some((told) => told.seat === seat));
  const effects: Effect[] = [{ kind: "wait", timer: `spread.${state.stage}`, delayMs: context.timing.graceMs }];
  return { state: { ...state, step: "spread", lagging }, effects };
}

/** HG13: a round that looks decided, and the last one, wait for the consensus order; others are followed by the next stage. */
function closeStage(state: HashgraphState, context: SeatContext): HashgraphStep {
  const { attempt } = context;
  const { kind, round } = stageAt(attempt, state.stage);
  const next = { ...state, stage: state.stage + 1, closed: state.stage + 1 };
  const following = stagesOf(attempt)[next.stage];
  const isEnd = kind === "ballot" || following?.kind === "ballot" || following?.round !== round;
  const isLast = round === ROUNDS - 1;
  if (isEnd && (isLast || agreementIn(attempt, previewOf(state.graph)) !== null)) return waitForOrder(next, context);
  return openStage(next, context, next.stage);
}

function waitForOrder(state: HashgraphState, context: SeatContext): HashgraphStep {
  const delayMs = ORDER_GRACES * context.timing.graceMs;
  return { state: { ...state, step: "order" }, effects: [{ kind: "wait", timer: `order.${state.stage}`, delayMs }] };
}

function openStage(before: HashgraphState, context: SeatContext, stage: number): HashgraphStep {
  const state: HashgraphState = {
    ...before,
    stage,
    step: "collect",
    record: null,
    said: false,
    calls: [],
    heard: [],
    graceRunning: false,
  };
  const asks = callsFor(state, context).map(({ about, prompt }) => ({ ask: about.join("."), about, prompt }));
  const wait: Effect = { kind: "wait", timer: `phase.${stage}`, delayMs: context.timing.phaseMs };
  if (asks.length === 0) return { state: ready(state, context), effects: [wait] };
  return {
    state: { ...state, calls: asks.map(({ ask, about }) => ({ ask, about })) },
    effects: [wait, ...asks.map(({ ask, prompt }): Effect => ({ kind: "ask", ask, prompt }))],
  };
}

/** HG8: at most one event at a time, and only when there is something to say or to acknowledge. */
function gossip(state: HashgraphState, context: SeatContext, tally: Tally): HashgraphStep {
  const { graph } = state;
  const { self } = context;
  if (state.flying || state.sequence >= EVENTS_PER_SEAT) return { state, effects: [] };
  if (state.lastSaid) {
    const peer = state.settled && state.helps < MOST_HELPS ? unfinishedPeer(graph, self) : null;
    return peer === null
      ? { state, effects: [] }
      : makeEvent({ ...state, helps: state.helps + 1 }, context, tally, peer);
  }
  const isTurning = state.stuck === "due" || state.stuck === "back";
  if (state.step === "finish" || state.record !== null || state.demanding || isTurning)
    return makeEvent(state, context, tally, anyOtherParent(graph, self));
  // Others have to know that this seat waits.
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
  // The own event before is another's fork of this seat: there is nothing honest to add.
  if (sequence > 0 && previous === null) return { state, effects: [] };
  const time = Math.min((previous?.body.time ?? 0) + 1 + state.waitedMs, MAX_TIME);
  const payload = encodeEvent({
    selfParent: previous?.digest ?? null,
    otherParent,
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
