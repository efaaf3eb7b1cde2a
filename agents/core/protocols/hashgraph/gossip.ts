import { hasAncestor } from "./graph/graph.ts";
import { limits } from "../../limits.ts";
import { canonicalOrder, canonicalRanks, seatsOf } from "../../seat/order.ts";
import { holdsHonest, isSupermajority } from "../../quorum.ts";
import { variants, type Tally } from "../../seat/tally.ts";
import type { Message, SeatIndex } from "../../types.ts";
import { judgeOrder } from "./conclude.ts";
import { EVENT, EVENTS_PER_SEAT, MOST_BEHIND, SUPPLIED_AT_ONCE, WANTS_PER_EVENT, endsOf } from "./config.ts";
import { eventIn, type EventRef } from "./payloads.ts";
import { clocksIn, isForker, newestOf, type Told, type GraphView } from "./view.ts";

/** What a seat wants of its next event. */
export type Aim =
  /** That it has these events among its ancestors. */
  | { readonly kind: "cover"; readonly events: readonly Told[] }
  /** To advance the rounds of virtual voting, which is to tell that these stages are closed. */
  | { readonly kind: "order"; readonly stages: readonly number[] };

/** HG8: the other-parent with the most news; null when the seat has to wait, so that an event is made per step, not per receipt. */
export function otherParentFor(graph: GraphView, self: SeatIndex, aim: Aim): Told | null {
  const own = newestOf(graph, self);
  const candidates = peersOf(graph, self).filter((peer) => own === null || !hasAncestor(own.node, peer.node));
  const found =
    aim.kind === "cover"
      ? [coverFor(own, candidates, aim.events)]
      : [closingFor(own, candidates, aim.stages), advanceFor(graph, own, candidates)];
  return found.find((one) => one !== null && (one.isWhole || mayStep(graph, own)))?.peer ?? null;
}

interface Found {
  readonly peer: Told;
  /** Whether it leaves nothing to wait for. */
  readonly isWhole: boolean;
}

function coverFor(own: Told | null, candidates: readonly Told[], events: readonly Told[]): Found | null {
  const missing = events.filter((one) => own === null || !hasAncestor(own.node, one.node));
  const news = (peer: Told): number => missing.filter((one) => hasAncestor(peer.node, one.node)).length;
  const peer = mostOf(candidates, news);
  return peer === null || news(peer) === 0 ? null : { peer, isWhole: news(peer) === missing.length };
}

/**
 * HG13: that seats have closed these stages is news as long as the own newest event does not rest on more than 2/3 that say so: what
 * makes the order due gets into it, whoever says it and then nothing more.
 */
function closingFor(own: Told | null, candidates: readonly Told[], stages: readonly number[]): Found | null {
  const here = (seat: number): number => own?.closed[seat] ?? 0;
  const owed = stages.filter((stage) => !isClosedIn(own?.closed ?? [], stage));
  const news = ({ closed }: Told): number =>
    closed.filter((count, seat) => owed.some((stage) => count > stage && here(seat) <= stage)).length;
  const peer = mostOf(candidates, news);
  if (peer === null || news(peer) === 0) return null;
  const both = peer.closed.map((count, seat) => Math.max(count, here(seat)));
  return { peer, isWhole: owed.every((stage) => isClosedIn(both, stage)) };
}

/** More than 2/3 of the seats state the stage as closed. */
function isClosedIn(closed: readonly number[], stage: number): boolean {
  return isSupermajority(closed.filter((count) => count > stage).length, closed.length);
}

/**
 * News is how far others have come by the clock, which moves only with more than 2/3 of the seats: so a seat's events are counted by
 * it, and whoever else makes events, however many and deep, makes it spend none.
 */
function advanceFor(graph: GraphView, own: Told | null, candidates: readonly Told[]): Found | null {
  const here = clocksIn(graph, own);
  const newsOf = new Map(
    candidates.map((peer) => [
      peer,
      clocksIn(graph, peer).filter((clock, seat) => clock > (here[seat] as number)).length,
    ]),
  );
  const news = (peer: Told): number => newsOf.get(peer) as number;
  const fresh = candidates.filter((peer) => news(peer) > 0);
  // Of equals whom this seat has not heard for longest.
  const rank = (peer: Told): number => news(peer) * EVENTS_PER_SEAT + stepsAhead(own, peer);
  const peer = overdueIn(own, here, fresh) ?? mostOf(fresh, rank);
  return peer && { peer, isWhole: advances(graph, own, here, peer) };
}

/** Whether the clock of an own event on the peer's is a later one than that of the own newest event. */
function advances(graph: GraphView, own: Told | null, here: readonly number[], peer: Told): boolean {
  const clock = own?.clock ?? 0;
  const there = clocksIn(graph, peer);
  const level = here.filter((mine, seat) => Math.max(mine, there[seat] as number) >= clock);
  return peer.clock > clock || isSupermajority(level.length, here.length);
}

/** The most recent news of anybody, for an event that has to be made anyway. */
export function anyOtherParent(graph: GraphView, self: SeatIndex): Told | null {
  const own = newestOf(graph, self);
  const fresh = peersOf(graph, self).filter((peer) => own === null || !hasAncestor(own.node, peer.node));
  return mostOf(fresh, (peer) => newsIn(graph, own, peer));
}

/**
 * The others' newest events in canonical order, beginning 1, 2, 4 ... seats after the own one as its line grows: no two seats ask
 * the same first, and what one knows doubles with each step.
 */
function peersOf(graph: GraphView, self: SeatIndex): readonly Told[] {
  const order = canonicalOrder(graph.attempt);
  const at = canonicalRanks(graph.attempt)[self] as number;
  const others = [...order.slice(at + 1), ...order.slice(0, at)];
  const hops = 32 - Math.clz32(order.length - 1);
  const first = (2 ** ((newestOf(graph, self)?.sequence ?? 0) % hops) - 1) % others.length;
  return [...others.slice(first), ...others.slice(0, first)].flatMap((seat) => newestOf(graph, seat) ?? []);
}

/** Seats of which the peer knows more than the own newest event does. */
function newsIn(graph: GraphView, own: Told | null, peer: Told): number {
  return graph.lines.filter((_, seat) => {
    const [there, here] = [peer.node.latest[seat] ?? null, own?.node.latest[seat] ?? null];
    if (there === null || there === here || here === "forked") return false;
    return there === "forked" || here === null || hasAncestor(there, here);
  }).length;
}

/** The seat that the own newest event is furthest behind of: who is slow, or asked by nobody, never has the most news, and would be left out for ever. */
function overdueIn(own: Told | null, here: readonly number[], fresh: readonly Told[]): Told | null {
  if (own === null) return null;
  const behind = ({ seat, clock }: Told): number =>
    clock > (here[seat] as number) ? own.clock - (here[seat] as number) : 0;
  const worst = mostOf(fresh, behind);
  return worst === null || behind(worst) <= MOST_BEHIND ? null : worst;
}

/** So many events of the peer the own newest one does not rest on. */
function stepsAhead(own: Told | null, peer: Told): number {
  const here = own?.node.latest[peer.seat] ?? null;
  return here === "forked" ? 0 : peer.sequence - (here?.sequence ?? -1);
}

function mostOf(candidates: readonly Told[], news: (peer: Told) => number): Told | null {
  let best: Told | null = null;
  for (const candidate of candidates) if (best === null || news(candidate) > news(best)) best = candidate;
  return best;
}

/**
 * More than 2/3 of the seats, itself included, are as deep as the own newest event. Of the others the least deep one has never to
 * wait, and their newest events are news to it, so there is always somebody who steps.
 */
function mayStep(graph: GraphView, own: Told | null): boolean {
  const level = seatsOf(graph.attempt).filter((seat) => (newestOf(graph, seat)?.depth ?? -1) >= (own?.depth ?? 0));
  return isSupermajority(level.length, graph.attempt.committee.length);
}

/**
 * HG13: the rounds' ends, and the vote, that more than 2/3 state as closed and the order does not yet show as closed: what it has to
 * tell. Only while more than 1/3 of the seats, one honest among them, wait for it or have it. So nobody can make the others spend
 * their events.
 */
export function stagesDue(graph: GraphView, isWaiting: boolean): readonly number[] {
  const seats = seatsOf(graph.attempt);
  const newest = seats.map((seat) => newestOf(graph, seat));
  const wanting = newest.filter((told) => told?.body.mode === "order" || told?.body.mode === "last");
  if (!isWaiting && !holdsHonest(wanting.length, seats.length)) return [];
  const stated = newest.map((told) => told?.closed[told.seat] ?? 0);
  const { closed } = judgeOrder(graph).judgement;
  return endsOf(graph.attempt).filter((stage) => isClosedIn(stated, stage) && !isClosedIn(closed, stage));
}

/** HG14: somebody was shown events that this seat was not. What a proven forker's event waits for need not exist, and nobody has to have it. */
export function missesParents(graph: GraphView): boolean {
  return graph.waitingCount > 0 && graph.waiting.flat().some(({ header }) => !isForker(graph, header.seat));
}

/**
 * HG14: what the waiting events miss, one of each creator's in turn: what an honest seat's event rests on is there to be had, and a
 * liar, who can name any number of parents that are not, has no more turns than others.
 */
export function missingIn(graph: GraphView, tally: Tally): readonly EventRef[] {
  const waiting = graph.waiting.flat().toSorted((a, b) => a.header.round - b.header.round);
  const turns = seatsOf(graph.attempt)
    .filter((seat) => !isForker(graph, seat))
    .map((seat) =>
      missedBy(
        graph,
        tally,
        waiting.filter(({ header }) => header.seat === seat),
      ),
    );
  const wanted = new Map<string, EventRef>();
  const most = Math.max(...turns.map(({ length }) => length));
  for (let turn = 0; turn < most; turn++)
    for (const refs of turns) {
      const ref = refs[turn];
      if (ref !== undefined && wanted.size < WANTS_PER_EVENT) wanted.set(nameOf(ref), ref);
    }
  return [...wanted.values()];
}

/** What these events miss, and the waiting events they rest on; those of the first first. */
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
      // HG6: a third event of a slot cannot be taken in.
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
 * HG14: what an event asks for, and what that rests on, as far as its creator is not known to have it: the least deep first, as in
 * a sync of the TR.
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

/** A finished seat goes on acknowledging those who are not: they may need its events to come to the order. */
export function unfinishedPeer(graph: GraphView, self: SeatIndex): Told | null {
  const own = newestOf(graph, self);
  const unfinished = peersOf(graph, self).filter(
    ({ node, body }) => body.mode !== "last" && (own === null || !hasAncestor(own.node, node)),
  );
  return mostOf(unfinished, (peer) => stepsAhead(own, peer));
}
