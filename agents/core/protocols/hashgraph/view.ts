import { concat, hexToBytes, sha256 } from "../../digest.ts";
import { createGraph, hasAncestor, insert, type Graph, type Node } from "../../hashgraph/graph.ts";
import { middleBit } from "../../hashgraph/fame.ts";
import { messagesOf, variants, type Tally } from "../../tally.ts";
import type { Attempt, Digest, Message, SeatIndex } from "../../types.ts";
import { COIN_PERIOD, EVENT } from "./config.ts";
import { eventIn, type EventBody } from "./payloads.ts";

/** An event in its place in the graph. */
export interface Told {
  readonly seat: SeatIndex;
  readonly sequence: number;
  readonly digest: Digest;
  readonly body: EventBody;
  /** One more than the greatest of its parents'. */
  readonly depth: number;
  readonly node: Node;
  readonly message: Message;
}

/** The events of a message set whose ancestors are all there. Immutable; a pure function of the set (HG4 - HG6). */
export interface View {
  readonly attempt: Attempt;
  /** Parents before children. */
  readonly told: readonly Told[];
  /** By seat, then sequence number: the events there, two for a fork. */
  readonly lines: readonly (readonly (readonly Told[])[])[];
  /** Replaced when a witness joins it, else the same object; in canonical order. */
  readonly witnesses: readonly Told[];
  /** Per seat the first slot in which it signed two events, whether they could be placed or not; the same object while nothing is added. */
  readonly forks: readonly (number | null)[];
  /** Messages that miss a parent. */
  readonly waiting: readonly Message[];
  /** Keys of events that can never join: their self-parent is a third event of its slot. */
  readonly dead: ReadonlySet<string>;
}

/**
 * What follows from an event's ancestors is the same in every message set, so it is computed once per attempt, whoever asks.
 * Nothing here is ever undone.
 */
interface Universe {
  readonly graph: Graph;
  readonly told: Map<string, Told>;
}

const universes = new WeakMap<Attempt, Universe>();
const views = new WeakMap<Tally, View>();

function universeOf(attempt: Attempt): Universe {
  const known = universes.get(attempt);
  if (known !== undefined) return known;
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

export function graphOf(attempt: Attempt): Graph {
  return universeOf(attempt).graph;
}

export function emptyView(attempt: Attempt): View {
  const lines = attempt.committee.map(() => []);
  return {
    attempt,
    told: [],
    lines,
    witnesses: [],
    forks: attempt.committee.map(() => null),
    waiting: [],
    dead: new Set(),
  };
}

export function viewOf(attempt: Attempt, tally: Tally): View {
  const known = views.get(tally);
  if (known?.attempt === attempt) return known;
  const view = settle(emptyView(attempt), tally, [...messagesOf(tally)]);
  views.set(tally, view);
  return view;
}

/** The view of `tally`, which is that of `view` and one message more. */
export function extendView(view: View, tally: Tally, message: Message): View {
  const next = settle(view, tally, [message]);
  views.set(tally, next);
  return next;
}

interface Growing {
  told: Told[];
  lines: (readonly (readonly Told[])[])[];
  fresh: Told[];
  dead: Set<string>;
}

/** HG4: places what can be placed, again and again until nothing more can. */
function settle(view: View, tally: Tally, messages: readonly Message[]): View {
  const universe = universeOf(view.attempt);
  const growing: Growing = {
    told: [...view.told],
    lines: [...view.lines],
    fresh: [],
    dead: new Set(view.dead),
  };
  let waiting: readonly Message[] = [...view.waiting, ...messages].toSorted((a, b) => a.header.round - b.header.round);
  for (let before = -1; before !== waiting.length;) {
    before = waiting.length;
    waiting = waiting.filter((message) => !place(universe, view.attempt, growing, tally, message));
  }
  const { told, lines } = growing;
  const fresh = growing.fresh.filter(({ node }) => node.isWitness);
  const witnesses = fresh.length === 0 ? view.witnesses : [...view.witnesses, ...fresh].toSorted(compareTold);
  const forks = forksWith(view.forks, tally, messages);
  return { attempt: view.attempt, told, lines, witnesses, forks, waiting, dead: growing.dead };
}

function forksWith(forks: View["forks"], tally: Tally, messages: readonly Message[]): View["forks"] {
  let next = forks;
  for (const { header } of messages) {
    const { seat, round: sequence } = header;
    const first = next[seat] ?? null;
    if (variants(tally, EVENT, sequence, seat).length > 1 && (first === null || sequence < first))
      next = next.with(seat, sequence);
  }
  return next;
}

/** HG10: whether a seat is proven to have forked. */
export function isForker(view: View, seat: SeatIndex): boolean {
  return (view.forks[seat] ?? null) !== null;
}

function compareTold(a: Told, b: Told): number {
  return a.sequence - b.sequence || a.seat - b.seat || (a.digest < b.digest ? -1 : 1);
}

/** Whether the message needs no further attempt: it is placed, or can never be. */
function place(universe: Universe, attempt: Attempt, growing: Growing, tally: Tally, message: Message): boolean {
  const { seat, round: sequence, payloadDigest: digest } = message.header;
  const body = eventIn(attempt, message);
  if (body === null) return true;
  const selfRef = body.selfParent === null ? null : { seat, sequence: sequence - 1, digest: body.selfParent };
  const selfParent = selfRef && find(growing, tally, selfRef);
  const otherParent = body.otherParent && find(growing, tally, body.otherParent);
  if (selfParent === "waiting" || otherParent === "waiting") return false;
  if (selfParent === "never") {
    growing.dead.add(keyOf({ seat, sequence, digest }));
    return true;
  }
  // HG6: what only a proven equivocator could have shown is no parent.
  const told = tell(universe, message, body, selfParent, otherParent === "never" ? null : otherParent);
  growing.told.push(told);
  growing.fresh.push(told);
  const line = [...(growing.lines[seat] as readonly (readonly Told[])[])];
  line[sequence] = [...(line[sequence] ?? []), told];
  growing.lines[seat] = line;
  return true;
}

interface Ref {
  readonly seat: SeatIndex;
  readonly sequence: number;
  readonly digest: Digest;
}

/** HG6: "never" when the slot is full of other events, or the event itself can never join. */
function find(growing: Growing, tally: Tally, ref: Ref): Told | "waiting" | "never" {
  const { seat, sequence, digest } = ref;
  const told = growing.lines[seat]?.[sequence]?.find((one) => one.digest === digest);
  if (told !== undefined) return told;
  if (growing.dead.has(keyOf(ref))) return "never";
  const held = variants(tally, EVENT, sequence, seat);
  if (held.some(({ header }) => header.payloadDigest === digest)) return "waiting";
  return held.length > 1 ? "never" : "waiting";
}

function keyOf({ seat, sequence, digest }: Ref): string {
  return `${seat}.${sequence}.${digest}`;
}

function tell(
  universe: Universe,
  message: Message,
  body: EventBody,
  selfParent: Told | null,
  otherParent: Told | null,
): Told {
  const { seat, round: sequence, payloadDigest: digest } = message.header;
  // An event is another one with another parent: where HG6 cuts an edge, its descendants differ, too.
  const parents = `${selfParent?.node.index ?? "-"}.${otherParent?.node.index ?? "-"}`;
  const id = `${keyOf({ seat, sequence, digest })}.${parents}`;
  const known = universe.told.get(id);
  if (known !== undefined) return known;
  insert(universe.graph, {
    id,
    creator: seat,
    selfParent: selfParent?.node.event.id ?? null,
    otherParent: otherParent?.node.event.id ?? null,
    timestamp: body.time,
    // HG12: an ECDSA signature is not unique, the digest is.
    signature: hexToBytes(sha256(concat(Uint8Array.of(seat), hexToBytes(digest)))),
  });
  const depth = 1 + Math.max(selfParent?.depth ?? 0, otherParent?.depth ?? 0);
  const told: Told = { seat, sequence, digest, body, depth, node: universe.graph.byId.get(id) as Node, message };
  universe.told.set(id, told);
  return told;
}

/** A seat's newest event; null when it has none, or is known to have forked. */
export function newestOf(view: View, seat: SeatIndex): Told | null {
  return isForker(view, seat) ? null : (view.lines[seat]?.at(-1)?.[0] ?? null);
}

/** H04, HG8: the seats that are known to hold an event, read off their newest events. */
export function holdersOf(view: View, told: Told): readonly SeatIndex[] {
  return view.lines.flatMap((line, seat) =>
    line.at(-1)?.some(({ node }) => hasAncestor(node, told.node)) === true ? [seat as SeatIndex] : [],
  );
}
