import { seatsOf } from "../../seat/order.ts";
import { settle } from "../../phases/outcome.ts";
import { outcomesOf, type BlindAnswer } from "../../phases/pay.ts";
import type { Conclusion, Position } from "../../protocol.ts";
import { isSupermajority } from "../../quorum.ts";
import type { Tally } from "../../seat/tally.ts";
import type { CanonicalAnswer } from "../../request/kinds.ts";
import type { Attempt, Digest, Outcome } from "../../types.ts";
import { EVENT, EVENTS_PER_SEAT } from "./config.ts";
import { consensusOf, lastSequence, type Consensus } from "./consensus.ts";
import { judgeBatches, type AnswerRound, type Deliberated } from "./rules.ts";
import { hasEnded, graphViewOf, type Told, type GraphView } from "./view.ts";

interface JudgedOrder {
  readonly judgement: Deliberated;
  /** HG16: the place the judgement rests on; null while the order decides nothing. */
  readonly through: Position | null;
}

const judged = new WeakMap<Consensus, JudgedOrder>();

/** What the consensus order of the events decides; computed once per order. */
export function judgeOrder(graph: GraphView): JudgedOrder {
  const consensus = consensusOf(graph);
  const found = judged.get(consensus);
  if (found !== undefined) return found;
  const batches = consensus.batches.map(({ nodes }) => nodes.map((node) => consensus.toldBy.get(node) as Told));
  const judgement = judgeBatches(graph.attempt, batches);
  const through =
    judgement.ending === null ? null : { round: lastSequence(consensus, judgement.batches), phase: EVENT };
  judged.set(consensus, { judgement, through });
  return { judgement, through };
}

export function conclude(attempt: Attempt, tally: Tally): Conclusion {
  const graph = graphViewOf(attempt, tally);
  const { judgement, through } = judgeOrder(graph);
  if (through !== null) return { kind: "final", outcome: outcomeOf(graph, judgement, through), through };
  if (!isGivenUp(graph)) return { kind: "open" };
  const last = { round: EVENTS_PER_SEAT - 1, phase: EVENT };
  return { kind: "final", outcome: outcomeOf(graph, judgement, last), through: last };
}

/** HG20: true if more than 2/3 of the seats have no events left or are stuck. */
export function isGivenUp(graph: GraphView): boolean {
  const seats = seatsOf(graph.attempt);
  return isSupermajority(seats.filter((seat) => hasEnded(graph, seat)).length, seats.length);
}

/** PY7: the answers of round 0. */
function blindIn([first]: readonly AnswerRound[]): readonly BlindAnswer[] {
  return (first?.outputs ?? []).map(({ seat, answer, proposal: { tier } }) => ({ seat, answer, tier }));
}

/** The outcomes of the decided class, and of the classes that it was agreed on in the rounds before without a gap (HG18). */
function alikeIn(rounds: readonly AnswerRound[], { outcome }: CanonicalAnswer): readonly Digest[] {
  // No round comes before round 0, so it is not stable.
  const lasting = rounds.slice(rounds.findLastIndex(({ isStable }) => !isStable));
  return lasting.flatMap(({ outputs, classes, agreed }, index) => {
    const isLast = index === lasting.length - 1;
    const named = isLast ? classes.find(({ representative }) => representative.outcome === outcome) : agreed;
    return outcomesOf(outputs, named?.seats ?? []);
  });
}

const outcomes = new WeakMap<GraphView["forks"], Map<Deliberated, Outcome>>();

/** HG21: the outcome: proven forkers are slashed; first answers earn if their seat answered in the last round that counted, too. */
function outcomeOf({ attempt, forks }: GraphView, judgement: Deliberated, through: Position): Outcome {
  const known = outcomes.get(forks)?.get(judgement);
  if (known !== undefined) return known;
  const { ending, rounds } = judgement;
  const last = rounds.findLast(({ outputs }) => outputs.length > 0);
  const completed = seatsOf(attempt).filter((seat) => last?.outputs.some((output) => output.seat === seat) === true);
  const winner =
    ending === null || ending.answer === null
      ? null
      : { answer: ending.answer, confidence: ending.confidence, alike: alikeIn(rounds, ending.answer) };
  const slashes = forks.map((sequence) => (sequence !== null && sequence <= through.round ? 1 : 0));
  const outcome = settle(attempt, { winner, blind: blindIn(rounds), slashes, completed });
  outcomes.set(forks, (outcomes.get(forks) ?? new Map<Deliberated, Outcome>()).set(judgement, outcome));
  return outcome;
}
