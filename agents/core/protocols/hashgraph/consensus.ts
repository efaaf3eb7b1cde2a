import { electFame, type Fame } from "./graph/fame.ts";
import { hasAncestor, type Node } from "./graph/graph.ts";
import { receivedBatches, type Batch } from "./graph/batches.ts";
import type { Told, GraphView } from "./view.ts";

/** The events that virtual voting has put into the consensus order, by round received (HG12). */
export interface Consensus {
  readonly batches: readonly Batch[];
  readonly fame: Fame;
  readonly toldBy: ReadonlyMap<Node, Told>;
}

const known = new WeakMap<GraphView["witnesses"], Consensus>();

/** The consensus of a view. Only a new witness can change it: a round receives only ancestors of its witnesses. */
export function consensusOf(graph: GraphView): Consensus {
  const found = known.get(graph.witnesses);
  if (found !== undefined) return found;
  const { graph: events } = graph.universe;
  const fame = electFame(
    events,
    graph.witnesses.map(({ node }) => node),
  );
  const batches = receivedBatches(
    events,
    graph.told.map(({ node }) => node),
    fame,
  );
  const consensus = { batches, fame, toldBy: new Map(graph.told.map((told) => [told.node, told])) };
  // By the letter of the rule, a round without famous witnesses (more than f faulty seats) receives every event of the view.
  if (batches.every(({ famous }) => famous.length > 0)) known.set(graph.witnesses, consensus);
  return consensus;
}

/**
 * HG16: the greatest sequence number among the events that the first `count` batches rest on: the ancestors of the witnesses
 * that decided the fame of their rounds.
 */
export function lastSequence({ batches, fame, toldBy }: Consensus, count: number): number {
  const last = batches[count - 1]?.round ?? 0;
  const rests = [...fame.decidedBy].flatMap(([witness, voter]) => (witness.round <= last ? [witness, voter] : []));
  let sequence = 0;
  for (const [node, told] of toldBy) {
    if (told.sequence > sequence && rests.some((one) => hasAncestor(one, node))) sequence = told.sequence;
  }
  return sequence;
}
