import { sees, stronglySeen, weightOf, type Graph, type Node } from "./graph.ts";

/** The result of virtual voting on the witnesses of a set of nodes that holds the ancestors of each. */
export interface Fame {
  /** Per witness, whether it is famous; null if these nodes do not decide it. */
  readonly famous: ReadonlyMap<Node, boolean | null>;
  /** For each decided witness, the first voter whose count decided. */
  readonly decidedBy: ReadonlyMap<Node, Node>;
  /** Pairs of voter and witness whose vote is a coin's. */
  readonly coinVotes: readonly (readonly [voter: Node, subject: Node])[];
}

interface FameVote {
  readonly value: boolean;
  readonly decides: boolean;
  readonly isCoin: boolean;
}

/** Votes by voter, then witness voted on. HG5: a vote follows from the voter's ancestors, so it is the same in every set of nodes. */
type FameVotes = Map<Node, Map<Node, FameVote>>;

const votesOfGraph = new WeakMap<Graph, FameVotes>();

/** EG7, EG8: elects the famous witnesses among `nodes`. The order of `nodes` breaks ties between voters of one round. */
export function electFame(graph: Graph, nodes: readonly Node[]): Fame {
  const votes = votesOfGraph.get(graph) ?? new Map<Node, Map<Node, FameVote>>();
  votesOfGraph.set(graph, votes);
  const witnesses = nodes.filter(({ isWitness }) => isWitness).toSorted((a, b) => a.round - b.round);
  const famous = new Map<Node, boolean | null>();
  const decidedBy = new Map<Node, Node>();
  const coinVotes: (readonly [Node, Node])[] = [];
  for (const subject of witnesses) {
    famous.set(subject, null);
    for (const voter of witnesses) {
      // The first votes, those of the next round, never decide.
      if (voter.round <= subject.round + 1) continue;
      const vote = voteOf(graph, votes, voter, subject);
      if (vote.isCoin) coinVotes.push([voter, subject]);
      if (!vote.decides) continue;
      famous.set(subject, vote.value);
      decidedBy.set(subject, voter);
      break;
    }
  }
  return { famous, decidedBy, coinVotes };
}

/** The vote of a voter. It calls itself for voters of the round before; those votes are known if voters are asked in order of rounds. */
function voteOf(graph: Graph, votes: FameVotes, voter: Node, subject: Node): FameVote {
  const own = votes.get(voter) ?? new Map<Node, FameVote>();
  votes.set(voter, own);
  const known = own.get(subject);
  if (known !== undefined) return known;
  const vote = countVote(graph, votes, voter, subject);
  own.set(subject, vote);
  return vote;
}

function countVote(graph: Graph, votes: FameVotes, voter: Node, subject: Node): FameVote {
  const distance = voter.round - subject.round;
  if (distance === 1) return { value: sees(voter, subject), decides: false, isCoin: false };
  const yes: Node[] = [];
  const no: Node[] = [];
  for (const witness of stronglySeenBefore(graph, voter))
    (voteOf(graph, votes, witness, subject).value ? yes : no).push(witness);
  const [inFavour, against] = [weightOf(graph, yes), weightOf(graph, no)];
  // EG7: a tie is TRUE.
  const value = inFavour >= against;
  const isMany = Math.max(inFavour, against) >= graph.quorum;
  if (distance % graph.rules.coinPeriod !== 0) return { value, decides: isMany, isCoin: false };
  // EG8: a coin round decides nothing; without a supermajority the coin gives the vote.
  return { value: isMany ? value : graph.rules.coin(voter.event), decides: false, isCoin: !isMany };
}

const seenBefore = new WeakMap<Node, readonly Node[]>();

/** The electors of a voter: the witnesses of the round before its own that it strongly sees. */
function stronglySeenBefore(graph: Graph, voter: Node): readonly Node[] {
  const known = seenBefore.get(voter) ?? stronglySeen(graph, voter, voter.round - 1);
  seenBefore.set(voter, known);
  return known;
}

/** EG8: the middle bit of a signature, bit floor(8 x bytes / 2) from the front. */
export function middleBit(signature: Uint8Array): boolean {
  const bit = signature.length * 4;
  return (((signature[bit >>> 3] ?? 0) >>> (7 - (bit & 7))) & 1) === 1;
}
