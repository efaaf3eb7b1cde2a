import type { Batch } from "../../agents/core/protocols/hashgraph/graph/batches.ts";
import { hasAncestor, type Graph, type Node } from "../../agents/core/protocols/hashgraph/graph/graph.ts";

/** An event with its place in the consensus order. */
export interface Received {
  readonly node: Node;
  readonly roundReceived: number;
  readonly timestamp: number;
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
