import { hasAncestor } from "./graph/graph.ts";
import { limits } from "../../limits.ts";
import { canonicalOrder, canonicalRanks, seatsOf } from "../../seat/order.ts";
import { holdsHonest, isSupermajority } from "../../quorum.ts";
import { variants, type Tally } from "../../seat/tally.ts";
import type { Message, SeatIndex } from "../../types.ts";
import { assessOrder } from "./conclude.ts";
import { EVENT, MOST_BEHIND, SUPPLIED_AT_ONCE, WANTS_PER_EVENT, endsOf, eventsPerSeat } from "./config.ts";
import { eventIn, type EventRef } from "./payloads.ts";
import { clocksIn, isForker, newestOf, type Told, type GraphView } from "./view.ts";

/** What a seat wants its next event to achieve. */
export type Aim =
  /** To have these events among its ancestors. */
  | { readonly kind: "cover"; readonly events: readonly Told[] }
  /** To advance the rounds of virtual voting, which are to show that these stages are closed. */
  | { readonly kind: "order"; readonly stages: readonly number[] };

/** HG8: the other-parent with the most news; null if the seat has to wait, so that it makes an event per step, not per receipt. */
export function otherParentFor(graph: GraphView, self: SeatIndex, aim: Aim): Told | null {
  const own = newestOf(graph, self);
  const peers = peersOf(graph, self).filter((peer) => own === null || !hasAncestor(own.node, peer.node));
  const found =
    aim.kind === "cover"
      ? [coverFor(own, peers, aim.events)]
      : [closingFor(own, peers, aim.stages), advanceFor(graph, own, peers)];
  return found.find((one) => one !== null && (one.isWhole || mayStep(graph, own)))?.peer ?? null;
}

interface Found {
  readonly peer: Told;
  /** True if nothing is left to wait for. */
  readonly isWhole: boolean;
}

function coverFor(own: Told | null, peers: readonly Told[], events: readonly Told[]): Found | null {
  const missing = events.filter((one) => own === null || !hasAncestor(own.node, one.node));
  const news = (peer: Told): number => missing.filter((one) => hasAncestor(peer.node, one.node)).length;
  const peer = mostOf(peers, news);
  return peer === null || news(peer) === 0 ? null : { peer, isWhole: news(peer) === missing.length };
}

/**
 * HG13: closed stages are news until the own newest event rests on more than 2/3 of the seats that state them. So the statements that
 * make the order due get into it, even if their seats say nothing afterwards.
 */
function closingFor(own: Told | null, peers: readonly Told[], stages: readonly number[]): Found | null {
  const here = (seat: number): number => own?.closed[seat] ?? 0;
  const owed = stages.filter((stage) => !isClosedIn(own?.closed ?? [], stage));
  const news = ({ closed }: Told): number =>
    closed.filter((count, seat) => owed.some((stage) => count > stage && here(seat) <= stage)).length;
  const peer = mostOf(peers, news);
  if (peer === null || news(peer) === 0) return null;
  const both = peer.closed.map((count, seat) => Math.max(count, here(seat)));
  return { peer, isWhole: owed.every((stage) => isClosedIn(both, stage)) };
}

/** True if more than 2/3 of the seats state the stage as closed. */
function isClosedIn(closed: readonly number[], stage: number): boolean {
  return isSupermajority(closed.filter((count) => count > stage).length, closed.length);
}

/**
 * News is the progress of others by the clock, which moves only with more than 2/3 of the seats. So the clock bounds a seat's events: no
 * other seat, however many and deep its events, makes it spend more.
 */
function advanceFor(graph: GraphView, own: Told | null, peers: readonly Told[]): Found | null {
  const here = clocksIn(graph, own);
  const newsOf = new Map(
    peers.map((peer) => [peer, clocksIn(graph, peer).filter((clock, seat) => clock > (here[seat] as number)).length]),
  );
  const news = (peer: Told): number => newsOf.get(peer) as number;
  const fresh = peers.filter((peer) => news(peer) > 0);
  // Ties go to the peer that this seat has not heard for longest.
  const rank = (peer: Told): number => news(peer) * eventsPerSeat(graph.attempt) + stepsAhead(own, peer);
  const peer = overdueIn(own, here, fresh) ?? mostOf(fresh, rank);
  return peer && { peer, isWhole: advances(graph, own, here, peer) };
}

/** True if an own event on the peer's would have a later clock than the own newest event. */
function advances(graph: GraphView, own: Told | null, here: readonly number[], peer: Told): boolean {
  const clock = own?.clock ?? 0;
  const there = clocksIn(graph, peer);
  const level = here.filter((mine, seat) => Math.max(mine, there[seat] as number) >= clock);
  return peer.clock > clock || isSupermajority(level.length, here.length);
}

/** The other-parent with the most news, for an event that has to be made anyway. */
export function anyOtherParent(graph: GraphView, self: SeatIndex): Told | null {
  const own = newestOf(graph, self);
  const fresh = peersOf(graph, self).filter((peer) => own === null || !hasAncestor(own.node, peer.node));
  return mostOf(fresh, (peer) => newsIn(graph, own, peer));
}

/**
 * The other seats' newest events in canonical order, starting 1, 2, 4 ... seats after the own one as its line grows. No two seats start
 * with the same seat, and the knowledge of a seat doubles with each step.
 */
function peersOf(graph: GraphView, self: SeatIndex): readonly Told[] {
  const order = canonicalOrder(graph.attempt);
  const at = canonicalRanks(graph.attempt)[self] as number;
  const others = [...order.slice(at + 1), ...order.slice(0, at)];
  const hops = 32 - Math.clz32(order.length - 1);
  const first = (2 ** ((newestOf(graph, self)?.sequence ?? 0) % hops) - 1) % others.length;
  return [...others.slice(first), ...others.slice(0, first)].flatMap((seat) => newestOf(graph, seat) ?? []);
}

/** Number of seats of which the peer knows more than the own newest event does. */
function newsIn(graph: GraphView, own: Told | null, peer: Told): number {
  return graph.lines.filter((_, seat) => {
    const [there, here] = [peer.node.latest[seat] ?? null, own?.node.latest[seat] ?? null];
    if (there === null || there === here || here === "forked") return false;
    return there === "forked" || here === null || hasAncestor(there, here);
  }).length;
}

/** The peer whose seat the own newest event lags furthest behind. A slow or unasked seat never has the most news and would be left out for ever. */
function overdueIn(own: Told | null, here: readonly number[], fresh: readonly Told[]): Told | null {
  if (own === null) return null;
  const behind = ({ seat, clock }: Told): number =>
    clock > (here[seat] as number) ? own.clock - (here[seat] as number) : 0;
  const worst = mostOf(fresh, behind);
  return worst === null || behind(worst) <= MOST_BEHIND ? null : worst;
}

/** Number of the peer's events that the own newest event does not rest on. */
function stepsAhead(own: Told | null, peer: Told): number {
  const here = own?.node.latest[peer.seat] ?? null;
  return here === "forked" ? 0 : peer.sequence - (here?.sequence ?? -1);
}

function mostOf(peers: readonly Told[], news: (peer: Told) => number): Told | null {
  let best: Told | null = null;
  for (const peer of peers) if (best === null || news(peer) > news(best)) best = peer;
  return best;
}

/**
 * True if more than 2/3 of the seats, this one included, are as deep as the own newest event. The least deep seat never has to wait, and
 * the newest events of the others are news to it, so some seat can always step.
 */
function mayStep(graph: GraphView, own: Told | null): boolean {
  const level = seatsOf(graph.attempt).filter((seat) => (newestOf(graph, seat)?.depth ?? -1) >= (own?.depth ?? 0));
  return isSupermajority(level.length, graph.attempt.committee.length);
}

/**
 * HG13: the ends of rounds, and the ballot, that more than 2/3 of the seats state as closed but that the order does not show as closed
 * yet. None unless more than 1/3 of the seats, hence an honest one, wait for the order or have it. So no seat can make the others spend
 * their events.
 */
export function stagesDue(graph: GraphView, isWaiting: boolean): readonly number[] {
  const seats = seatsOf(graph.attempt);
  const newest = seats.map((seat) => newestOf(graph, seat));
  const wanting = newest.filter((told) => told?.body.mode === "order" || told?.body.mode === "last");
  if (!isWaiting && !holdsHonest(wanting.length, seats.length)) return [];
  const stated = newest.map((told) => told?.closed[told.seat] ?? 0);
  const { closed } = assessOrder(graph).assessment;
  return endsOf(graph.attempt).filter((stage) => isClosedIn(stated, stage) && !isClosedIn(closed, stage));
}

/** HG14: true if another seat was shown events that this seat was not. Parents that a proven forker's event names need not exist. */
export function missesParents(graph: GraphView): boolean {
  return graph.waitingCount > 0 && graph.waiting.flat().some(({ header }) => !isForker(graph, header.seat));
}

/**
 * HG14: the parents that waiting events miss, one of each creator's in turn. The parents of an honest seat's event exist; a liar can name
 * any number of parents that do not, but no more of them are asked for than of others.
 */
export function missingIn(graph: GraphView, tally: Tally): readonly EventRef[] {
  const waiting = graph.waiting.flat().toSorted((a, b) => a.header.round - b.header.round);
  const missing = seatsOf(graph.attempt)
    .filter((seat) => !isForker(graph, seat))
    .map((seat) =>
      missedBy(
        graph,
        tally,
        waiting.filter(({ header }) => header.seat === seat),
      ),
    );
  const wanted = new Map<string, EventRef>();
  const most = Math.max(...missing.map(({ length }) => length));
  for (let place = 0; place < most; place++)
    for (const refs of missing) {
      const ref = refs[place];
      if (ref !== undefined && wanted.size < WANTS_PER_EVENT) wanted.set(nameOf(ref), ref);
    }
  return [...wanted.values()];
}

/** The parents that these events, and the waiting events they rest on, miss; in the order of the events. */
function missedBy(graph: GraphView, tally: Tally, events: readonly Message[]): readonly EventRef[] {
  const missed = new Map<string, EventRef>();
  const looked = new Set<Message>();
  const ready = events.toReversed();
  for (let message = ready.pop(); message !== undefined; message = ready.pop()) {
    if (looked.has(message)) continue;
    looked.add(message);
    for (const ref of parentsOf(graph, message)) {
      const held = heldIn(tally, ref);
      if (isPlaced(graph, ref)) continue;
      if (held !== null) ready.push(held);
      // HG6: a slot takes no third event.
      else if (variants(tally, EVENT, ref.sequence, ref.seat).length < limits.payloadsPerSlot)
        missed.set(nameOf(ref), ref);
    }
  }
  return [...missed.values()];
}

function parentsOf({ attempt }: GraphView, message: Message): readonly EventRef[] {
  const { seat, round } = message.header;
  const body = eventIn(attempt, message);
  const selfParent = body?.selfParent ? [{ seat, sequence: round - 1, digest: body.selfParent }] : [];
  return [...selfParent, ...(body?.otherParent ? [body.otherParent] : [])];
}

function nameOf({ seat, sequence, digest }: EventRef): string {
  return `${seat}.${sequence}.${digest}`;
}

function isPlaced(graph: GraphView, { seat, sequence, digest }: EventRef): boolean {
  return graph.lines[seat]?.[sequence]?.some((told) => told.digest === digest) === true;
}

function heldIn(tally: Tally, { seat, sequence, digest }: EventRef): Message | null {
  return variants(tally, EVENT, sequence, seat).find(({ header }) => header.payloadDigest === digest) ?? null;
}

/**
 * HG14: the events that an event asks for, and their ancestors, unless its creator is known to have them. The least deep come first, as
 * in a sync of the TR.
 */
export function suppliedTo(
  graph: GraphView,
  tally: Tally,
  asking: SeatIndex,
  wants: readonly EventRef[],
): readonly Message[] {
  const known = graph.lines[asking]?.at(-1)?.[0] ?? null;
  const wanted = wants.flatMap(
    (ref) => graph.lines[ref.seat]?.[ref.sequence]?.filter((told) => told.digest === ref.digest) ?? [],
  );
  const resting = graph.told.filter(
    ({ seat, node }) =>
      seat !== asking &&
      wanted.some((one) => hasAncestor(one.node, node)) &&
      (known === null || !hasAncestor(known.node, node)),
  );
  const bare = wants.flatMap((ref) => heldIn(tally, ref) ?? []);
  return [...new Set([...bare, ...resting.map(({ message }) => message)])].slice(0, SUPPLIED_AT_ONCE);
}

/** The newest event of a seat that is not finished: a finished seat goes on acknowledging it, since it may need events to reach the order. */
export function unfinishedPeer(graph: GraphView, self: SeatIndex): Told | null {
  const own = newestOf(graph, self);
  const unfinished = peersOf(graph, self).filter(
    ({ node, body }) => body.mode !== "last" && (own === null || !hasAncestor(own.node, node)),
  );
  return mostOf(unfinished, (peer) => stepsAhead(own, peer));
}
