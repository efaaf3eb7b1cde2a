import { seatsOf } from "../../order.ts";
import { settle } from "../../outcome.ts";
import type { Conclusion } from "../../protocol.ts";
import { isSupermajority } from "../../quorum.ts";
import { filledIn, roundSlots, type Tally } from "../../tally.ts";
import type { Attempt, Outcome } from "../../types.ts";
import { EVENT, EVENTS_PER_SEAT } from "./config.ts";
import { consensusOf, lastSequence, type Consensus } from "./consensus.ts";
import { judge, type Judgement } from "./rules.ts";
import { viewOf, type Told, type View } from "./view.ts";

interface Judged {
  readonly judgement: Judgement;
  readonly conclusion: Conclusion;
}

const judged = new WeakMap<Consensus, Judged>();

/** What the consensus order of a view comes to; computed once per order. */
export function judgeView(view: View): Judged {
  const consensus = consensusOf(view);
  const found = judged.get(consensus);
  if (found !== undefined) return found;
  const batches = consensus.batches.map(({ nodes }) => nodes.map((node) => consensus.toldBy.get(node) as Told));
  const judgement = judge(view.attempt, batches);
  const result = { judgement, conclusion: concluded(view.attempt, consensus, judgement) };
  judged.set(consensus, result);
  return result;
}

function concluded(attempt: Attempt, consensus: Consensus, judgement: Judgement): Conclusion {
  if (judgement.verdict === null) return { kind: "open" };
  const through = { round: lastSequence(consensus, judgement.batches), phase: EVENT };
  return { kind: "final", outcome: outcomeOf(attempt, judgement), through };
}

export function conclude(attempt: Attempt, tally: Tally): Conclusion {
  const { judgement, conclusion } = judgeView(viewOf(attempt, tally));
  if (conclusion.kind === "final" || !isExhausted(attempt, tally)) return conclusion;
  // HG20: out of events is out of time.
  return {
    kind: "final",
    outcome: outcomeOf(attempt, judgement),
    through: { round: EVENTS_PER_SEAT - 1, phase: EVENT },
  };
}

function isExhausted(attempt: Attempt, tally: Tally): boolean {
  const seats = attempt.committee.length;
  return isSupermajority(filledIn(roundSlots(tally, EVENTS_PER_SEAT - 1), EVENT, seats), seats);
}

/** HG21: forkers are slashed; who answered in the last round that counted, and in the first, earns. */
function outcomeOf(attempt: Attempt, { verdict, rounds, forked }: Judgement): Outcome {
  const last = rounds.findLast(({ outputs }) => outputs.length > 0);
  const completed = seatsOf(attempt).filter((seat) => last?.outputs.some((output) => output.seat === seat) === true);
  const winner =
    verdict === null || verdict.answer === null
      ? null
      : { answer: verdict.answer, confidence: verdict.confidence, supporters: verdict.supporters };
  return settle(attempt, {
    winner,
    slashes: seatsOf(attempt).map((seat) => (forked.includes(seat) ? 1 : 0)),
    completed,
  });
}
