import { hasAncestor } from "./graph/graph.ts";
import { seatsOf } from "../../seat/order.ts";
import type { Effect, Input, SeatContext } from "../../protocol.ts";
import { isSupermajority } from "../../quorum.ts";
import { sourcesOf } from "../../sources/named.ts";
import { readIn } from "../../sources/reading.ts";
import type { Tally } from "../../seat/tally.ts";
import type { Message, SeatIndex } from "../../types.ts";
import { isGivenUp, assessOrder } from "./conclude.ts";
import { MOST_DEMANDS, ORDER_GRACES, ROUNDS, STUCK_PHASES, stagesOf } from "./config.ts";
import { gossip } from "./events.ts";
import { missesParents, stagesDue, suppliedTo } from "./gossip.ts";
import { eventIn } from "./payloads.ts";
import { canCite, openingOf, previewOf, recordOf, stageAt } from "./say.ts";
import { agreementIn } from "./rules.ts";
import { isReading, recordsIn, type HashgraphState, type HashgraphStep } from "./state.ts";
import { emptyGraphView, extendGraphView, hasEnded, isForker, newestOf, type Told, type GraphView } from "./view.ts";

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
    read: null,
    proposal: null,
    sealed: [],
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
    concluding: false,
    concluded: false,
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

/** HG20: watches for progress while some seat has no events left: too few seats may be left to go on. */
function watchProgress(state: HashgraphState, { self, timing }: SeatContext): HashgraphStep {
  const { graph, watches, watched, stuck } = state;
  if (stuck === "said" && !state.flying) {
    const snapshot = snapshotOf(graph, self);
    // The seat's own "stuck" event and its ancestors are no progress.
    if (watched === null) return { state: { ...state, watched: snapshot }, effects: [] };
    return { state: watched === snapshot ? state : { ...state, watched: null, stuck: "back" }, effects: [] };
  }
  const isWatching = watched !== null || stuck !== "no" || state.step === "finish";
  if (isWatching || !seatsOf(graph.attempt).some((seat) => hasEnded(graph, seat))) return { state, effects: [] };
  const afterMs = STUCK_PHASES * (timing.phaseMs + timing.graceMs);
  const effects: Effect[] = [{ kind: "wait", timer: `stuck.${watches}`, afterMs }];
  return { state: { ...state, watched: snapshotOf(graph, self), watches: watches + 1 }, effects };
}

/** A text that changes when any seat records another stage, or the own clock moves. A seat has one record per stage that counts. */
function snapshotOf(graph: GraphView, self: SeatIndex): string {
  const records = graph.told.flatMap(({ seat, body }) =>
    body.record === null ? [] : [`${seat}.${body.record.stage}`],
  );
  return `${new Set(records).size}.${newestOf(graph, self)?.clock ?? -1}`;
}

/**
 * HG14: true if this seat may lack events: another seat was shown events that this seat was not, or the order is due but missing. If HG6
 * cuts an edge, two seats can each think that the other is behind.
 */
function mayLack({ graph, step: where }: HashgraphState): boolean {
  return missesParents(graph) || (where === "order" && stagesDue(graph, true).length > 0);
}

function watchParents(state: HashgraphState, { timing }: SeatContext): HashgraphStep {
  const { demands } = state;
  if (state.demandRunning || demands >= MOST_DEMANDS || !mayLack(state)) return { state, effects: [] };
  const effects: Effect[] = [{ kind: "wait", timer: `demand.${demands}`, afterMs: (demands + 1) * timing.graceMs }];
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
    case "read":
      return { state: receive(state, context, input), effects: [] };
    case "loaded":
      return { state, effects: [] };
  }
}

/** HG14: hands on the events that another seat asks for; the host forwards each message a few times at most. */
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

/** HG26: a seat says what it read as soon as it has read it. What it reads too late it still shows its model. */
function receive(
  state: HashgraphState,
  context: SeatContext,
  { blocks }: Extract<Input, { kind: "read" }>,
): HashgraphState {
  if (state.read !== null) return state;
  const next = { ...state, read: blocks.map((block) => block && readIn(block, blocks.length)) };
  return isReading(next) ? ready(next, context) : next;
}

function ready(state: HashgraphState, context: SeatContext): HashgraphState {
  return { ...state, calls: [], ...recordOf(state, context) };
}

/** HG14: what the seat does when a timer ends. */
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
    const isStuck = snapshotOf(state.graph, context.self) === state.watched;
    return { state: { ...state, watched: null, stuck: isStuck ? "due" : "no" }, effects: [] };
  }
  if (timer === "conclude")
    return {
      state: { ...state, concluding: false, concluded: state.step === "finish" || isGivenUp(state.graph) },
      effects: [],
    };
  return { state, effects: [] };
}

/** HG13: goes on deliberating if a round only seemed decided. After the last round the seat waits for the order. */
function orderElapsed(state: HashgraphState, context: SeatContext): HashgraphStep {
  return stagesOf(context.attempt)[state.stage]?.kind !== "ballot" && state.stage < stagesOf(context.attempt).length
    ? openStage(state, context, state.stage)
    : { state, effects: [] };
}

/** The next step that follows from the events the seat holds; null if none does. */
function moveOn(state: HashgraphState, context: SeatContext): HashgraphStep | null {
  const { attempt, self } = context;
  const seats = seatsOf(attempt);
  const awaited = seats.filter((seat) => !state.lagging.includes(seat) && !isForker(state.graph, seat));
  if (state.step === "finish") {
    const areDone = awaited.every((seat) => newestOf(state.graph, seat)?.body.mode === "last");
    return !state.concluded && state.lastSaid && areDone ? { state: { ...state, concluded: true }, effects: [] } : null;
  }
  if (assessOrder(state.graph).through !== null)
    return beginConcluding({ ...state, step: "finish", record: null, calls: [] }, context);
  // HG20: giving up is certified, too, while the deliberation goes on: a stuck seat may take it back.
  if (!state.concluding && !state.concluded && isGivenUp(state.graph)) return beginConcluding(state, context);
  if (state.step === "order") {
    const kind = stagesOf(attempt)[state.stage]?.kind;
    const isVote = kind === "ballot" && assessOrder(state.graph).assessment.leading !== null;
    // HG26: it waits here where nothing could be cited when it closed GATHER.
    const isCitableNow = kind === "commit" && canCite(state.graph);
    return isVote || isCitableNow ? openStage(state, context, state.stage) : null;
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
  const effects: Effect[] = [{ kind: "wait", timer: `grace.${state.stage}`, afterMs: context.timing.graceMs }];
  return { state: { ...state, graceRunning: true }, effects };
}

function beginConcluding(state: HashgraphState, { timing }: SeatContext): HashgraphStep {
  const effects: Effect[] = [{ kind: "wait", timer: "conclude", afterMs: timing.graceMs }];
  return { state: { ...state, concluding: true }, effects };
}

/** HG14: true if more than 2/3 of the seats state the stage as closed: the own model's answer would come too late to count. */
function isOver({ graph, stage }: HashgraphState): boolean {
  const seats = seatsOf(graph.attempt);
  const gone = seats.filter((seat) => (newestOf(graph, seat)?.body.closed ?? 0) > stage);
  return isSupermajority(gone.length, seats.length);
}

function covers({ graph }: HashgraphState, seat: SeatIndex, events: readonly Told[]): boolean {
  const newest = newestOf(graph, seat);
  return isForker(graph, seat) || (newest !== null && events.every(({ node }) => hasAncestor(newest.node, node)));
}

/** Starts to spread the records: all have arrived, or are no longer awaited. A seat whose record arrived late is awaited again. */
function spread(state: HashgraphState, context: SeatContext): HashgraphStep {
  const records = recordsIn(state);
  const lagging = state.lagging.filter((seat) => !records.some((told) => told.seat === seat));
  const effects: Effect[] = [{ kind: "wait", timer: `spread.${state.stage}`, afterMs: context.timing.graceMs }];
  return { state: { ...state, step: "spread", lagging }, effects };
}

/**
 * HG13: after a round that looks decided, and after the last one, waits for the consensus order; else opens the next stage. HG26: so it
 * does where nothing that was read can be cited.
 */
function closeStage(state: HashgraphState, context: SeatContext): HashgraphStep {
  const { attempt } = context;
  const { kind, round } = stageAt(attempt, state.stage);
  // HG26: who reads slowly may have a fast model.
  const lagging = kind === "gather" ? [] : state.lagging;
  const next = { ...state, stage: state.stage + 1, closed: state.stage + 1, lagging };
  const following = stagesOf(attempt)[next.stage];
  const isEnd = kind === "ballot" || following?.kind === "ballot" || following?.round !== round;
  const isLast = round === ROUNDS - 1;
  const isUnread = kind === "gather" && !canCite(state.graph);
  if (isUnread || (isEnd && (isLast || agreementIn(attempt, previewOf(state.graph).rounds) !== null)))
    return waitForOrder(next, context);
  return openStage(next, context, next.stage);
}

function waitForOrder(state: HashgraphState, context: SeatContext): HashgraphStep {
  const afterMs = ORDER_GRACES * context.timing.graceMs;
  return { state: { ...state, step: "order" }, effects: [{ kind: "wait", timer: `order.${state.stage}`, afterMs }] };
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
  const wait: Effect = { kind: "wait", timer: `phase.${stage}`, afterMs: context.timing.phaseMs };
  if (isReading(state)) {
    const sources = sourcesOf(context.attempt.request.question);
    return { state, effects: [wait, { kind: "read", sources }] };
  }
  const { calls, heard } = openingOf(state, context);
  const asks = calls.map(({ about, prompt }) => ({ ask: about.join("."), about, prompt }));
  if (asks.length === 0) return { state: ready({ ...state, heard }, context), effects: [wait] };
  return {
    state: { ...state, calls: asks.map(({ ask, about }) => ({ ask, about })) },
    effects: [wait, ...asks.map(({ ask, prompt }): Effect => ({ kind: "ask", ask, prompt }))],
  };
}
