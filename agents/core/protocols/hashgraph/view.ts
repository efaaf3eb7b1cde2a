import { concat, hexToBytes, sha256 } from "../../encoding/bytes.ts";
import { createGraph, insert, type Graph, type Node } from "./graph/graph.ts";
import { middleBit } from "./graph/fame.ts";
import { limits } from "../../limits.ts";
import { isSupermajority } from "../../quorum.ts";
import { messagesOf, variants, type Tally } from "../../seat/tally.ts";
import type { Attempt, Digest, Message, SeatIndex } from "../../types.ts";
import { COIN_PERIOD, EVENT, eventsPerSeat } from "./config.ts";
import { eventIn, type EventBody, type EventRef } from "./payloads.ts";

/** An event in its place in the graph. */
export interface Told {
  readonly seat: SeatIndex;
  readonly sequence: number;
  readonly digest: Digest;
  readonly body: EventBody;
  /** One more than the greatest depth of its parents. */
  readonly depth: number;
  /** HG8: the greatest clock of its parents; one more if its ancestors show more than 2/3 of the seats at that clock. So no seat can run ahead. */
  readonly clock: number;
  /** HG13: per seat, the most stages that it states as closed among the event's ancestors. */
  readonly closed: readonly number[];
  readonly node: Node;
  readonly message: Message;
}

/** The events of a message set whose ancestors are all in the set. Immutable; a pure function of the set (HG4, HG5, HG6). */
export interface GraphView {
  readonly attempt: Attempt;
  readonly universe: Universe;
  /** Parents before children. */
  readonly told: readonly Told[];
  /** The events by seat, then sequence number; two for a fork. */
  readonly lines: readonly (readonly (readonly Told[])[])[];
  /** The witnesses in canonical order. A new object when a witness joins, else the same object. */
  readonly witnesses: readonly Told[];
  /** Per seat, the first slot in which it signed two events, placed or not. The same object while nothing is added. */
  readonly forks: readonly (number | null)[];
  /** HG4: messages that miss a parent, by the slot of the first missing one. */
  readonly waiting: Slots<Message>;
  readonly waitingCount: number;
  /** Events that can never join, by their slot: their self-parent is a third event of its slot. */
  readonly dead: Slots<Digest>;
}

/** Entries by slot (`slotOf`). */
type Slots<Entry> = readonly (readonly Entry[])[];

/**
 * Results that follow from an event's ancestors. They are the same in every message set, so they are computed once for many sets and never
 * undone.
 */
interface Universe {
  readonly graph: Graph;
  readonly told: Map<string, Told>;
}

/** HG5: a universe with so many nodes takes no new set. One set has at most half as many. */
const MOST_NODES = 2 * limits.messagesPerTranscript;

const universes = new WeakMap<Attempt, Universe>();
const views = new WeakMap<Tally, GraphView>();

/** The universe for a new set. Liars can offer ever other sets, so one universe for all would fill the memory. */
function universeFor(attempt: Attempt): Universe {
  const known = universes.get(attempt);
  if (known !== undefined && known.graph.nodes.length < MOST_NODES) return known;
  const rules = {
    weights: attempt.committee.map(() => 1),
    firstRound: 1,
    coinPeriod: COIN_PERIOD,
    coin: ({ signature }: { readonly signature: Uint8Array }) => middleBit(signature),
  };
  const universe = { graph: createGraph(rules), told: new Map<string, Told>() };
  universes.set(attempt, universe);
  return universe;
}

export function emptyGraphView(attempt: Attempt): GraphView {
  const lines = attempt.committee.map(() => []);
  const slots = Array.from({ length: attempt.committee.length * eventsPerSeat(attempt) }, () => []);
  return {
    attempt,
    universe: universeFor(attempt),
    told: [],
    lines,
    witnesses: [],
    forks: attempt.committee.map(() => null),
    waiting: slots,
    waitingCount: 0,
    dead: slots,
  };
}

export function graphViewOf(attempt: Attempt, tally: Tally): GraphView {
  const known = views.get(tally);
  if (known?.attempt === attempt) return known;
  const graph = placeAll(emptyGraphView(attempt), tally, [...messagesOf(tally)]);
  views.set(tally, graph);
  return graph;
}

/** The view of `tally`, which holds one message more than the tally of `graph`. */
export function extendGraphView(graph: GraphView, tally: Tally, message: Message): GraphView {
  const next = placeAll(graph, tally, [message]);
  views.set(tally, next);
  return next;
}

interface Growing {
  lines: (readonly (readonly Told[])[])[];
  readonly fresh: Told[];
  waiting: Slots<Message>;
  waitingCount: number;
  dead: Slots<Digest>;
}

/**
 * HG4: places the events whose parents are there. Whether a parent is missing depends on its slot alone, so a waiting message is read again
 * only when an event of that slot arrives: a few times in all, however many wait.
 */
function placeAll(graph: GraphView, tally: Tally, messages: readonly Message[]): GraphView {
  const { attempt, universe, waiting, waitingCount, dead } = graph;
  const growing: Growing = { lines: [...graph.lines], fresh: [], waiting, waitingCount, dead };
  const woken = messages.flatMap(({ header: { seat, round } }) =>
    variants(tally, EVENT, round, seat).length > 1 ? wake(growing, slotOf(attempt, seat, round)) : [],
  );
  // Taken from the end: new messages first, the least deep before the others.
  const ready = [...woken, ...messages.toSorted((a, b) => a.header.round - b.header.round).toReversed()];
  for (let message = ready.pop(); message !== undefined; message = ready.pop()) {
    const { seat, round } = message.header;
    const missing = place(universe, attempt, growing, tally, message);
    if (missing === null) ready.push(...wake(growing, slotOf(attempt, seat, round)));
    else wait(growing, slotOf(attempt, missing.seat, missing.sequence), message);
  }
  const { lines, fresh } = growing;
  const told = fresh.length === 0 ? graph.told : [...graph.told, ...fresh];
  const appearing = fresh.filter(({ node }) => node.isWitness);
  const witnesses = appearing.length === 0 ? graph.witnesses : [...graph.witnesses, ...appearing].toSorted(compareTold);
  return {
    attempt,
    universe,
    told,
    lines,
    witnesses,
    forks: forksWith(graph.forks, tally, messages),
    waiting: growing.waiting,
    waitingCount: growing.waitingCount,
    dead: growing.dead,
  };
}

function slotOf({ committee }: Attempt, seat: SeatIndex, sequence: number): number {
  return sequence * committee.length + seat;
}

function wait(growing: Growing, slot: number, message: Message): void {
  growing.waiting = withEntry(growing.waiting, slot, message);
  growing.waitingCount++;
}

/** Removes and returns the messages that waited for an event of a slot. */
function wake(growing: Growing, slot: number): readonly Message[] {
  const woken = growing.waiting[slot] as readonly Message[];
  if (woken.length === 0) return woken;
  growing.waiting = growing.waiting.with(slot, []);
  growing.waitingCount -= woken.length;
  return woken;
}

function withEntry<Entry>(slots: Slots<Entry>, slot: number, entry: Entry): Slots<Entry> {
  return slots.with(slot, [...(slots[slot] as readonly Entry[]), entry]);
}

function forksWith(forks: GraphView["forks"], tally: Tally, messages: readonly Message[]): GraphView["forks"] {
  let next = forks;
  for (const { header } of messages) {
    const { seat, round: sequence } = header;
    const first = next[seat] ?? null;
    if (variants(tally, EVENT, sequence, seat).length > 1 && (first === null || sequence < first))
      next = next.with(seat, sequence);
  }
  return next;
}

/** HG10: true if the seat is proven to have forked. */
export function isForker(graph: GraphView, seat: SeatIndex): boolean {
  return (graph.forks[seat] ?? null) !== null;
}

function compareTold(a: Told, b: Told): number {
  return a.sequence - b.sequence || a.seat - b.seat || (a.digest < b.digest ? -1 : 1);
}

/** Places an event. Returns the first parent that it misses; null if it is placed, or never can be. */
function place(
  universe: Universe,
  attempt: Attempt,
  growing: Growing,
  tally: Tally,
  message: Message,
): EventRef | null {
  const { seat, round: sequence, payloadDigest: digest } = message.header;
  const body = eventIn(attempt, message);
  if (body === null) return null;
  const selfRef = body.selfParent === null ? null : { seat, sequence: sequence - 1, digest: body.selfParent };
  const selfParent = selfRef && find(attempt, growing, tally, selfRef);
  if (selfParent === "waiting") return selfRef;
  const otherParent = body.otherParent && find(attempt, growing, tally, body.otherParent);
  if (otherParent === "waiting") return body.otherParent;
  if (selfParent === "never") {
    growing.dead = withEntry(growing.dead, slotOf(attempt, seat, sequence), digest);
    return null;
  }
  // HG6: an event that only a proven equivocator could have shown is no parent.
  const told = tell(universe, message, body, selfParent, otherParent === "never" ? null : otherParent);
  growing.fresh.push(told);
  const line = [...(growing.lines[seat] as readonly (readonly Told[])[])];
  line[sequence] = [...(line[sequence] ?? []), told];
  growing.lines[seat] = line;
  return null;
}

/** HG6: finds an event; "never" if other events fill its slot, or if it can never join. */
function find(attempt: Attempt, growing: Growing, tally: Tally, ref: EventRef): Told | "waiting" | "never" {
  const { seat, sequence, digest } = ref;
  const told = growing.lines[seat]?.[sequence]?.find((one) => one.digest === digest);
  if (told !== undefined) return told;
  if (growing.dead[slotOf(attempt, seat, sequence)]?.includes(digest) === true) return "never";
  const held = variants(tally, EVENT, sequence, seat);
  if (held.some(({ header }) => header.payloadDigest === digest)) return "waiting";
  return held.length > 1 ? "never" : "waiting";
}

function tell(
  universe: Universe,
  message: Message,
  body: EventBody,
  selfParent: Told | null,
  otherParent: Told | null,
): Told {
  const { seat, round: sequence, payloadDigest: digest } = message.header;
  // The same event with another parent is another node: if HG6 cuts an edge, its descendants differ, too.
  const parents = `${selfParent?.node.index ?? "-"}.${otherParent?.node.index ?? "-"}`;
  const id = `${seat}.${sequence}.${digest}.${parents}`;
  const known = universe.told.get(id);
  if (known !== undefined) return known;
  insert(universe.graph, {
    id,
    creator: seat,
    selfParent: selfParent?.node.event.id ?? null,
    otherParent: otherParent?.node.event.id ?? null,
    timestamp: body.time,
    // HG12: an ECDSA signature is not unique, but the digest is.
    signature: hexToBytes(sha256(concat(Uint8Array.of(seat), hexToBytes(digest)))),
  });
  const node = universe.graph.byId.get(id) as Node;
  const depth = 1 + Math.max(selfParent?.depth ?? 0, otherParent?.depth ?? 0);
  const reached = Math.max(selfParent?.clock ?? 0, otherParent?.clock ?? 0);
  const there = node.latest.filter((one) => one === node || clockAt(universe, one) >= reached);
  const clock = isSupermajority(there.length, node.latest.length) ? reached + 1 : reached;
  const closed = node.latest.map((_, member) =>
    Math.max(selfParent?.closed[member] ?? 0, otherParent?.closed[member] ?? 0, member === seat ? body.closed : 0),
  );
  const told: Told = { seat, sequence, digest, body, depth, clock, closed, node, message };
  universe.told.set(id, told);
  return told;
}

/** The clock of a seat's newest event; -1 if the seat is unknown or has forked. */
function clockAt({ told }: Universe, newest: Node["latest"][number]): number {
  return newest === null || newest === "forked" ? -1 : (told.get(newest.event.id) as Told).clock;
}

/** HG8: per seat, its clock among the ancestors of an event. */
export function clocksIn({ attempt, universe }: GraphView, told: Told | null): readonly number[] {
  return told === null ? attempt.committee.map(() => -1) : told.node.latest.map((newest) => clockAt(universe, newest));
}

/** A seat's newest event; null if it has none, or is known to have forked. */
export function newestOf(graph: GraphView, seat: SeatIndex): Told | null {
  return isForker(graph, seat) ? null : (graph.lines[seat]?.at(-1)?.[0] ?? null);
}

/** HG20: true if the newest placed event of a seat shows that it has no events left, or says that it is stuck. */
export function hasEnded({ attempt, lines }: GraphView, seat: SeatIndex): boolean {
  const newest = lines[seat]?.at(-1) ?? [];
  return newest.some(({ sequence, body }) => sequence === eventsPerSeat(attempt) - 1 || body.mode === "stuck");
}
