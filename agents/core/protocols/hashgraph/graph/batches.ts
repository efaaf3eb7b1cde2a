import type { Fame } from "./fame.ts";
import { hasAncestor, type Graph, type Node } from "./graph.ts";

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
