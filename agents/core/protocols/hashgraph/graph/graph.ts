import { quorumOf } from "../../../quorum.ts";

/**
 * The hashgraph of Baird, The Swirlds Hashgraph Consensus Algorithm (SWIRLDS-TR-2016-01, "TR"): events, who sees whom, and
 * rounds. Everything about an event follows from its ancestors alone, so it is computed once, when the event is inserted.
 */

/** EG1: an event. Its id is a collision-free name of all it holds, payloads included: on a network, its digest. */
export interface GossipEvent {
  readonly id: string;
  /** Index of the member. */
  readonly creator: number;
  /** Id of the creator's previous event; null for its first. */
  readonly selfParent: string | null;
  /** Id of the event whose receipt this one records. */
  readonly otherParent: string | null;
  /** The time that the creator claims, a safe integer. */
  readonly timestamp: number;
  /** Serves coin rounds and whitening. */
  readonly signature: Uint8Array;
}

export interface GraphRules {
  /** Weights of the members, positive integers (EG3). */
  readonly weights: readonly number[];
  /** Number of the first round. */
  readonly firstRound: number;
  /** c of the TR: every c-th round of voting about a witness is a coin round (10 there). */
  readonly coinPeriod: number;
  readonly coin: (event: GossipEvent) => boolean;
}

/** An event in its place in the graph. */
export interface Node {
  readonly event: GossipEvent;
  /** Place in the graph: parents come before children. */
  readonly index: number;
  readonly selfParent: Node | null;
  readonly otherParent: Node | null;
  /** Number of its self-ancestors, without itself. */
  readonly sequence: number;
  /** Bit i is set if the node with index i is an ancestor; a node is its own ancestor. */
  readonly ancestors: Uint32Array;
  /** Per member, its newest event among the ancestors; null without one, "forked" if it forked there. */
  readonly latest: readonly (Node | "forked" | null)[];
  readonly round: number;
  readonly isWitness: boolean;
}

/** The graph. It grows by `insert` only, and a node never changes. */
export interface Graph {
  readonly rules: GraphRules;
  /** The least weight above 2/3 of the total. */
  readonly quorum: number;
  readonly nodes: readonly Node[];
  readonly byId: ReadonlyMap<string, Node>;
  readonly witnesses: ReadonlyMap<number, readonly Node[]>;
  /** Events that wait for a parent, by the id of that parent. */
  readonly waiting: ReadonlyMap<string, readonly GossipEvent[]>;
}

interface GrowingGraph extends Graph {
  readonly nodes: Node[];
  readonly byId: Map<string, Node>;
  readonly witnesses: Map<number, Node[]>;
  readonly waiting: Map<string, readonly GossipEvent[]>;
}

/** Creates an empty graph. Throws if no vote can be counted by the rules, which is a bug of ours. */
export function createGraph(rules: GraphRules): Graph {
  const total = rules.weights.reduce((sum, weight) => sum + weight, 0);
  if (!rules.weights.every((weight) => Number.isSafeInteger(weight) && weight > 0) || !Number.isSafeInteger(3 * total))
    throw new RangeError("createGraph: weights are not positive integers of a safe sum");
  if (rules.coinPeriod < 3)
    throw new RangeError(`createGraph: a coin period of ${rules.coinPeriod} leaves no round to decide in`);
  const quorum = quorumOf(total);
  return { rules, quorum, nodes: [], byId: new Map(), witnesses: new Map(), waiting: new Map() } satisfies GrowingGraph;
}

/**
 * EG2: inserts an event and the events that waited for it. `waiting`: a parent is unknown; `refused`: the self-parent belongs to another
 * member, or there is no such member.
 */
export function insert(graph: Graph, event: GossipEvent): "inserted" | "waiting" | "known" | "refused" {
  const growing = graph as GrowingGraph;
  const result = insertOne(growing, event);
  const ready = result === "inserted" ? [event.id] : [];
  for (let id = ready.pop(); id !== undefined; id = ready.pop()) {
    const children = growing.waiting.get(id) ?? [];
    growing.waiting.delete(id);
    for (const child of children) if (insertOne(growing, child) === "inserted") ready.push(child.id);
  }
  return result;
}

function insertOne(graph: GrowingGraph, event: GossipEvent): "inserted" | "waiting" | "known" | "refused" {
  if (graph.byId.has(event.id)) return "known";
  for (const parent of [event.selfParent, event.otherParent]) {
    if (parent === null || graph.byId.has(parent)) continue;
    const others = graph.waiting.get(parent) ?? [];
    if (others.some(({ id }) => id === event.id)) return "known";
    graph.waiting.set(parent, [...others, event]);
    return "waiting";
  }
  const selfParent = event.selfParent === null ? null : (graph.byId.get(event.selfParent) as Node);
  const otherParent = event.otherParent === null ? null : (graph.byId.get(event.otherParent) as Node);
  const isOwn = selfParent === null || selfParent.event.creator === event.creator;
  if (!isOwn || graph.rules.weights[event.creator] === undefined) return "refused";
  place(graph, event, selfParent, otherParent);
  return "inserted";
}

function place(graph: GrowingGraph, event: GossipEvent, selfParent: Node | null, otherParent: Node | null): void {
  const index = graph.nodes.length;
  const latest = latestOf(graph, event.creator, selfParent, otherParent);
  const sequence = selfParent === null ? 0 : selfParent.sequence + 1;
  const bare = {
    event,
    index,
    selfParent,
    otherParent,
    sequence,
    ancestors: ancestorsOf(index, selfParent, otherParent),
    latest,
  };
  const node: Node = { ...bare, round: 0, isWitness: false };
  if (latest[event.creator] !== "forked") latest[event.creator] = node;
  const round = roundOf(graph, node);
  const isWitness = selfParent === null || round > selfParent.round;
  // Nobody shares the node yet, and `latest` refers to this very object.
  Object.assign(node, { round, isWitness });
  graph.nodes.push(node);
  graph.byId.set(event.id, node);
  if (isWitness) graph.witnesses.set(round, [...(graph.witnesses.get(round) ?? []), node]);
}

function ancestorsOf(index: number, selfParent: Node | null, otherParent: Node | null): Uint32Array {
  const bits = new Uint32Array((index >>> 5) + 1);
  for (const parent of [selfParent, otherParent])
    parent?.ancestors.forEach((word, at) => (bits[at] = (bits[at] as number) | word));
  bits[index >>> 5] = (bits[index >>> 5] as number) | (1 << (index & 31));
  return bits;
}

/** Per member, the newest event that the parents know. The creator is "forked" if the new event forks from the one they know. */
function latestOf(
  graph: GrowingGraph,
  creator: number,
  selfParent: Node | null,
  otherParent: Node | null,
): (Node | "forked" | null)[] {
  const latest = graph.rules.weights.map((_, member) =>
    newer(selfParent?.latest[member] ?? null, otherParent?.latest[member] ?? null),
  );
  if (latest[creator] !== selfParent) latest[creator] = "forked";
  return latest;
}

/** The newer of two events of one member; "forked" if neither is an ancestor of the other. */
function newer(a: Node | "forked" | null, b: Node | "forked" | null): Node | "forked" | null {
  if (a === b || b === null) return a;
  if (a === null) return b;
  if (a === "forked" || b === "forked") return "forked";
  if (hasAncestor(a, b)) return a;
  return hasAncestor(b, a) ? b : "forked";
}

/** True if y is an ancestor of x; every event is its own ancestor. */
export function hasAncestor(x: Node, y: Node): boolean {
  return (((x.ancestors[y.index >>> 5] ?? 0) >>> (y.index & 31)) & 1) === 1;
}

/** EG4: true if y is an ancestor of x, and no fork by y's creator is among the ancestors of x. */
export function sees(x: Node, y: Node): boolean {
  return x.latest[y.event.creator] !== "forked" && hasAncestor(x, y);
}

/**
 * EG5: true if x sees y, and sees events by more than 2/3 of the members' weight that each see y. As x knows of no fork by y's creator, no
 * ancestor of x does; so if any event of a member sees y, its newest does.
 */
export function stronglySees(graph: Graph, x: Node, y: Node): boolean {
  if (!sees(x, y)) return false;
  let weight = 0;
  for (const [member, newest] of x.latest.entries()) {
    if (newest !== null && newest !== "forked" && hasAncestor(newest, y))
      weight += graph.rules.weights[member] as number;
  }
  return weight >= graph.quorum;
}

/** The witnesses of a round that x strongly sees; by the Strongly Seeing Lemma, at most one per member (EG5). */
export function stronglySeen(graph: Graph, x: Node, round: number): readonly Node[] {
  return (graph.witnesses.get(round) ?? []).filter((witness) => stronglySees(graph, x, witness));
}

/** EG6: the round of an event. */
function roundOf(graph: Graph, node: Node): number {
  const parents = [node.selfParent, node.otherParent].flatMap((parent) => (parent === null ? [] : [parent.round]));
  const round = Math.max(graph.rules.firstRound, ...parents);
  return weightOf(graph, stronglySeen(graph, node, round)) >= graph.quorum ? round + 1 : round;
}

/** The weight of the nodes' members; each member counts once. */
export function weightOf(graph: Graph, nodes: readonly Node[]): number {
  const members = new Set(nodes.map(({ event }) => event.creator));
  let weight = 0;
  for (const member of members) weight += graph.rules.weights[member] as number;
  return weight;
}
