import { seatsOf } from "../../seat/order.ts";
import { outcomeFrom } from "../../phases/outcome.ts";
import { outcomesOf, type Blind, type Overdue } from "../../phases/pay.ts";
import { commitmentOf } from "../../phases/proposals.ts";
import { explainReadings } from "../../phases/reading-steps.ts";
import { shownAnswer, whyUnborne } from "../../phases/reasons.ts";
import type { Conclusion, Position } from "../../protocol.ts";
import { isSupermajority } from "../../quorum.ts";
import type { Tally } from "../../seat/tally.ts";
import { canonicalAnswer } from "../../request/answer.ts";
import type { CanonicalAnswer } from "../../request/kinds.ts";
import { grounded } from "../../sources/named.ts";
import type { Attempt, Digest, Outcome, SeatIndex } from "../../types.ts";
import { EVENT, lastPlace } from "./config.ts";
import { consensusOf, lastSequence, type Consensus } from "./consensus.ts";
import type { OpenCommit } from "./ledger.ts";
import { assessBatches, type AnswerRound, type Deliberated } from "./rules.ts";
import { hasEnded, graphViewOf, type Told, type GraphView } from "./view.ts";

interface AssessedOrder {
  readonly assessment: Deliberated;
  /** HG16: the place the assessment rests on; null while the order decides nothing. */
  readonly through: Position | null;
}

const assessed = new WeakMap<Consensus, AssessedOrder>();

/** What the consensus order of the events decides; computed once per order. */
export function assessOrder(graph: GraphView): AssessedOrder {
  const consensus = consensusOf(graph);
  const found = assessed.get(consensus);
  if (found !== undefined) return found;
  const batches = consensus.batches.map(({ nodes }) => nodes.map((node) => consensus.toldBy.get(node) as Told));
  const assessment = assessBatches(graph.attempt, batches);
  const through =
    assessment.ending === null ? null : { round: lastSequence(consensus, assessment.batches), phase: EVENT };
  assessed.set(consensus, { assessment, through });
  return { assessment, through };
}

export function conclude(attempt: Attempt, tally: Tally): Conclusion {
  const graph = graphViewOf(attempt, tally);
  const { assessment, through } = assessOrder(graph);
  if (through !== null) return { kind: "final", outcome: outcomeOf(graph, assessment, through), through };
  if (!isGivenUp(graph)) return { kind: "open" };
  const last = lastPlace(attempt);
  return { kind: "final", outcome: outcomeOf(graph, assessment, last), through: last };
}

/** PH14: what the last round that the order closed has and lacks (HG17, HG18), or who read what before the first. */
export function explain(attempt: Attempt, tally: Tally): readonly string[] {
  const seats = attempt.committee.length;
  const { readings, rounds } = assessOrder(graphViewOf(attempt, tally)).assessment;
  const last = rounds.at(-1);
  if (last === undefined)
    return readings === null
      ? ["the consensus order closed no round of answers"]
      : explainReadings(attempt, readings.told);
  const silent = seatsOf(attempt).filter((seat) => !last.outputs.some((output) => output.seat === seat));
  const whyNone = (seat: SeatIndex): string => {
    const unborne = last.unborne.find((output) => output.seat === seat);
    return unborne === undefined ? `it gave no answer that counts in round ${last.round}` : whyUnborne(unborne.answer);
  };
  return [
    ...silent.map((seat) => `seat ${seat}: ${whyNone(seat)}`),
    ...last.classes.map(({ representative, seats: { length } }) => {
      const given = `${shownAnswer(representative.text)}: answered by ${length} of ${seats} seats in round ${last.round}`;
      return `${given}; more than 2/3 needed in two rounds in a row, or the ballot`;
    }),
  ];
}

/** HG20: true if more than 2/3 of the seats have no events left or are stuck. */
export function isGivenUp(graph: GraphView): boolean {
  const seats = seatsOf(graph.attempt);
  return isSupermajority(seats.filter((seat) => hasEnded(graph, seat)).length, seats.length);
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

/** PY7: the answers of round 0. PY10: an answer that came too late for the order is among the events that the assessment rests on. */
function blindIn(graph: GraphView, { rounds, openCommits }: Deliberated, through: Position): Blind {
  const answers = (rounds[0]?.outputs ?? []).map(({ seat, answer, proposal: { tier } }) => ({ seat, answer, tier }));
  const overdue = openCommits.map((commit) => ({ seat: commit.seat, late: openedBy(graph, commit, through) }));
  return { answers, overdue };
}

function openedBy({ attempt, lines }: GraphView, { seat, commitment }: OpenCommit, through: Position): Overdue["late"] {
  const records = (lines[seat] ?? []).slice(0, through.round + 1).flatMap(([told]) => told?.body.record ?? []);
  const shown = records.find((record) => record.kind === "output");
  if (shown === undefined || shown.proposal === null || shown.salt === null) return null;
  if (commitmentOf(attempt, 0, seat, shown.proposal, shown.salt) !== commitment) return null;
  const answer = canonicalAnswer(grounded(attempt).request, shown.proposal.answer);
  return answer && { answer, tier: shown.proposal.tier };
}

const outcomes = new WeakMap<GraphView, Outcome>();

/**
 * HG21: the outcome: proven forkers are slashed; first answers earn if their seat answered in the last round that counted, too. SG8: where
 * nothing could be cited, those did what was asked who said what they read.
 */
function outcomeOf(graph: GraphView, assessment: Deliberated, through: Position): Outcome {
  const known = outcomes.get(graph);
  if (known !== undefined) return known;
  const { attempt, forks } = graph;
  const { ending, readings, rounds } = assessment;
  const last = rounds.findLast(({ outputs }) => outputs.length > 0);
  const completed =
    ending?.path === "unread"
      ? (readings?.speakers ?? [])
      : seatsOf(attempt).filter((seat) => last?.outputs.some((output) => output.seat === seat) === true);
  const winner =
    ending === null || ending.answer === null
      ? null
      : { answer: ending.answer, confidence: ending.confidence, alike: alikeIn(rounds, ending.answer) };
  const slashes = forks.map((sequence) => (sequence !== null && sequence <= through.round ? 1 : 0));
  const outcome = outcomeFrom(attempt, { winner, blind: blindIn(graph, assessment, through), slashes, completed });
  outcomes.set(graph, outcome);
  return outcome;
}
