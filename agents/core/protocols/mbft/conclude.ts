import { limits } from "../../limits.ts";
import { seatsOf } from "../../order.ts";
import type { Conclusion } from "../../protocol.ts";
import { isSupermajority } from "../../quorum.ts";
import { filled, type Tally } from "../../tally.ts";
import { ONE_PPM, type Attempt, type Digest, type Outcome, type Ppm, type SeatIndex } from "../../types.ts";
import { readRound } from "./book.ts";
import { JUDGE, MAX_SLASHES, mbftConfig } from "./config.ts";
import { applySlashes, confidenceOf, evaluateRound, type RoundResult } from "./rules.ts";

export function conclude(attempt: Attempt, tally: Tally): Conclusion {
  const last = evaluateRounds(attempt, tally).at(-1);
  if (last === undefined || last.result === null) return { kind: "open" };
  const { round, result, reputations, slashes } = last;
  if (result.winner === null && round + 1 < limits.deliberationRounds) return { kind: "open" };
  return { kind: "final", outcome: outcomeOf(attempt, result, reputations, slashes), through: { round, phase: JUDGE } };
}

interface EvaluatedRound {
  readonly round: number;
  /** null while 2/3 of the seats or fewer have closed the round. */
  readonly result: RoundResult | null;
  /** At the start of the round. */
  readonly reputations: readonly Ppm[];
  /** Per seat, this round included. */
  readonly slashes: readonly number[];
}

/** The rounds up to the first that decides or is incomplete. */
export function evaluateRounds(attempt: Attempt, tally: Tally): readonly EvaluatedRound[] {
  const config = mbftConfig(attempt, limits.deliberationRounds);
  const rounds: EvaluatedRound[] = [];
  let reputations: readonly Ppm[] = attempt.committee.map((info) => info.reputation);
  let slashes: readonly number[] = attempt.committee.map(() => 0);
  for (let round = 0; round < config.rounds; round++) {
    if (!isSupermajority(filled(tally, JUDGE, round, attempt.committee.length), attempt.committee.length)) {
      rounds.push({ round, result: null, reputations, slashes });
      break;
    }
    const result = evaluateRound(readRound(attempt, tally, round), config, reputations);
    slashes = slashes.map((count, seat) => count + (result.slashes[seat] as number));
    rounds.push({ round, result, reputations, slashes });
    if (result.winner !== null) break;
    reputations = applySlashes(reputations, result.slashes);
  }
  return rounds;
}

/** MB15, MB17, MB18. */
function outcomeOf(
  attempt: Attempt,
  result: RoundResult,
  reputations: readonly Ppm[],
  slashes: readonly number[],
): Outcome {
  const winner = result.winner;
  const unslashed = (seat: SeatIndex) => slashes[seat] === 0;
  const completed = result.participants.filter(unslashed);
  const reputationChanges = seatsOf(attempt).flatMap((seat) => {
    if (!unslashed(seat)) return [{ seat, steps: -Math.min(slashes[seat] as number, MAX_SLASHES) }];
    const recovers = completed.includes(seat) && attempt.committee[seat]?.reputation !== ONE_PPM;
    return recovers ? [{ seat, steps: 1 }] : [];
  });
  const shares = seatsOf(attempt).map((seat) =>
    completed.includes(seat) ? (winner?.supporters.includes(seat) ? 2 : 1) : 0,
  );
  const common = { reputationChanges, shares };
  if (winner === null)
    return { ...common, status: "hung", outcome: `0x${"00".repeat(32)}` as Digest, answer: "", confidence: 0 as Ppm };
  const { text, outcome } = winner.class.answer;
  return { ...common, status: "decided", outcome, answer: text, confidence: confidenceOf(winner.sum, reputations) };
}
