import { z } from "zod";
import { electFame } from "../../agents/core/protocols/hashgraph/graph/fame.ts";
import { createGraph, insert, type Graph, type Node } from "../../agents/core/protocols/hashgraph/graph/graph.ts";
import { receivedBatches } from "../../agents/core/protocols/hashgraph/graph/batches.ts";
import { compareValues, type FieldDifference } from "./compare.ts";

const MAX_EVENTS = 20_000;
const id = z.string();
const round = z.int();
const member = z.int().min(0);

const gossipEvent = z.strictObject({ id, by: member, sp: id.nullable(), op: id.nullable() });

const hashgraphCase = z
  .strictObject({
    name: z.string(),
    n: z.int().min(1).max(1_000),
    /** Weights of the members; one each if absent. */
    weights: z.array(z.int().min(1)).optional(),
    coinFreq: z.int().min(3),
    firstRound: round,
    note: z.string().optional(),
    events: z.array(gossipEvent).max(MAX_EVENTS),
    round: z.record(id, round),
    witness: z.record(id, z.boolean()),
    famous: z.record(id, z.boolean().nullable()),
    decidedBy: z.record(id, id),
    roundReceived: z.record(id, round),
    coinVotes: z.array(z.tuple([id, id])),
  })
  .superRefine(({ n, weights, events }, context) => {
    const issue = (message: string, ...path: (string | number)[]) =>
      context.addIssue({ code: "custom", message, path, input: path });
    if (weights !== undefined && weights.length !== n)
      issue(`has ${weights.length} weights, but there are ${n} members`, "weights");
    const creators = new Map<string, number>();
    for (const [index, { id: own, by, sp, op }] of events.entries()) {
      if (by >= n) issue(`names member ${by}, but members are 0 to ${n - 1}`, "events", index, "by");
      if (creators.has(own)) issue(`is the id of an earlier event, too: ${own}`, "events", index, "id");
      if (sp !== null && creators.get(sp) !== by)
        issue(`${sp} is not an earlier event of member ${by}`, "events", index, "sp");
      if (op !== null && !creators.has(op)) issue(`${op} is not an earlier event`, "events", index, "op");
      creators.set(own, by);
    }
  });

export const hashgraphFile = z.strictObject({ meta: z.unknown(), cases: z.array(hashgraphCase).min(1) });

type HashgraphCase = z.infer<typeof hashgraphCase>;

export function compareHashgraph(entry: HashgraphCase): readonly FieldDifference[] {
  const { round: rounds, witness, famous, decidedBy, roundReceived } = entry;
  // A file may leave out the events that are no witnesses, and it lists coin votes as a set.
  const expected = {
    round: rounds,
    witness: Object.fromEntries(Object.entries(witness).filter(([, is]) => is)),
    famous,
    decidedBy,
    roundReceived,
    coinVotes: asSet(entry.coinVotes),
  };
  return compareValues("", expected, runHashgraph(entry));
}

/**
 * Returns everything that the graph and virtual voting say about the events. The files have no signatures: every coin
 * is TRUE.
 */
function runHashgraph({ n, weights, coinFreq, firstRound, events }: HashgraphCase): object {
  const graph: Graph = createGraph({
    weights: weights ?? Array.from({ length: n }, () => 1),
    firstRound,
    coinPeriod: coinFreq,
    coin: () => true,
  });
  for (const { id: own, by, sp, op } of events)
    insert(graph, {
      id: own,
      creator: by,
      selfParent: sp,
      otherParent: op,
      timestamp: 0,
      signature: new Uint8Array(0),
    });
  const fame = electFame(graph, graph.nodes);
  const name = (node: Node) => node.event.id;
  return {
    round: Object.fromEntries(graph.nodes.map((node) => [name(node), node.round])),
    witness: Object.fromEntries(graph.nodes.filter((node) => node.isWitness).map((node) => [name(node), true])),
    famous: Object.fromEntries([...fame.famous].map(([node, value]) => [name(node), value])),
    decidedBy: Object.fromEntries([...fame.decidedBy].map(([node, voter]) => [name(node), name(voter)])),
    roundReceived: Object.fromEntries(
      receivedBatches(graph, graph.nodes, fame).flatMap((batch) =>
        batch.nodes.map((node) => [name(node), batch.round]),
      ),
    ),
    coinVotes: asSet(fame.coinVotes.map(([voter, subject]) => [name(voter), name(subject)])),
  };
}

function asSet(pairs: readonly (readonly [voter: string, subject: string])[]): Record<string, true> {
  return Object.fromEntries(pairs.map(([voter, subject]) => [JSON.stringify([voter, subject]), true]));
}
