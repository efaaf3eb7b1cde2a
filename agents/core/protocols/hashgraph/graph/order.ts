import type { Fame } from "./fame.ts";
import { hasAncestor, type Graph, type Node } from "./graph.ts";

/** An event with its place in the consensus order. */
export interface Received {
  readonly node: Node;
  readonly roundReceived: number;
  readonly timestamp: number;
}

/** The unique famous witnesses of a round; the fame of all its witnesses, and of all earlier ones, is decided. */
interface FamousRound {
  readonly round: number;
  readonly famous: readonly Node[];
}

/** The events that one round received. A batch never changes. */
export interface Batch extends FamousRound {
  readonly nodes: readonly Node[];
}

/**
 * EG9: an event is received in the first round whose unique famous witnesses all have it as an ancestor. With less than 1/3 of the
 * weight at fault, more nodes only append batches. The order of `nodes` is kept.
 */
export function receivedBatches(graph: Graph, nodes: readonly Node[], fame: Fame): readonly Batch[] {
  const batches: Batch[] = [];
  let rest = nodes;
  for (const decided of decidedRounds(graph, fame)) {
    const isHere = (node: Node) => decided.famous.every((witness) => hasAncestor(witness, node));
    batches.push({ ...decided, nodes: rest.filter(isHere) });
    rest = rest.filter((node) => !isHere(node));
  }
  return batches;
}

/** EG9 to EG11: the total order of the received events, by round received, consensus timestamp, whitened signature. */
export function consensusOrder(graph: Graph, batches: readonly Batch[]): readonly Received[] {
  return batches.flatMap(({ round, famous, nodes }) => {
    const whitener = whitenerOf(famous);
    const entries = nodes.map((node) => ({
      received: { node, roundReceived: round, timestamp: consensusTimestamp(graph, famous, node) },
      key: whitened(node.event.signature, whitener),
    }));
    entries.sort(
      (a, b) =>
        a.received.timestamp - b.received.timestamp ||
        compareText(a.key, b.key) ||
        compareText(a.received.node.event.id, b.received.node.event.id),
    );
    return entries.map(({ received }) => received);
  });
}

/** The rounds from the first up to, but without, the first with a witness whose fame is open. */
function decidedRounds(graph: Graph, fame: Fame): readonly FamousRound[] {
  const byRound = new Map<number, Node[]>();
  for (const witness of fame.famous.keys())
    byRound.set(witness.round, [...(byRound.get(witness.round) ?? []), witness]);
  const decided: FamousRound[] = [];
  for (let { firstRound: round } = graph.rules; ; round++) {
    const witnesses = byRound.get(round);
    if (witnesses === undefined || witnesses.some((witness) => fame.famous.get(witness) === null)) return decided;
    const famous = witnesses.filter((witness) => fame.famous.get(witness) === true);
    decided.push({ round, famous: famous.filter((witness) => isOnly(witness, famous)) });
  }
}

/** True if the witness is its member's only famous one in the round: a member with two has no unique one. */
function isOnly(witness: Node, famous: readonly Node[]): boolean {
  return famous.every((other) => other === witness || other.event.creator !== witness.event.creator);
}

/**
 * EG10: the weighted median of the times at which the famous witnesses' own lines first had the event; the lower of two middle ones.
 * Members with more than half of the weight would have to lie together to move it out of the honest range.
 */
function consensusTimestamp(graph: Graph, famous: readonly Node[], node: Node): number {
  const times = famous
    .map((witness) => ({
      at: firstWith(witness, node).event.timestamp,
      weight: graph.rules.weights[witness.event.creator] as number,
    }))
    .toSorted((a, b) => a.at - b.at);
  const total = times.reduce((sum, { weight }) => sum + weight, 0);
  let below = 0;
  return times.find(({ weight }) => 2 * (below += weight) >= total)?.at ?? node.event.timestamp;
}

/** The earliest self-ancestor of a witness that has the node as an ancestor. */
function firstWith(witness: Node, node: Node): Node {
  let first = witness;
  while (first.selfParent !== null && hasAncestor(first.selfParent, node)) first = first.selfParent;
  return first;
}

/** EG11: the XOR of the unique famous witnesses' signatures, so that no member can choose a place by choosing a signature. */
function whitenerOf(famous: readonly Node[]): Uint8Array {
  const bytes = new Uint8Array(Math.max(0, ...famous.map(({ event }) => event.signature.length)));
  for (const { event } of famous) event.signature.forEach((byte, at) => (bytes[at] = (bytes[at] as number) ^ byte));
  return bytes;
}

/** The whitened signature in lower-case hex, which sorts as its bytes do. */
function whitened(signature: Uint8Array, whitener: Uint8Array): string {
  return [...signature].map((byte, at) => (byte ^ (whitener[at] ?? 0)).toString(16).padStart(2, "0")).join("");
}

function compareText(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}
