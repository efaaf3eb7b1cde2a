import { canonicalAnswer } from "../../../agents/core/request/answer.ts";
import { emptyTally, addMessage, type Tally } from "../../../agents/core/seat/tally.ts";
import type { PayloadMap } from "../../../agents/core/protocol.ts";
import { commitForm, commitmentOf, revealForm } from "../../../agents/core/phases/proposals.ts";
import { mbft } from "../../../agents/core/protocols/mbft/index.ts";
import { JUDGE, judgeForm } from "../../../agents/core/protocols/mbft/payloads.ts";
import { VOTE, voteForm, type Verdict } from "../../../agents/core/phases/votes.ts";
import { withSeen } from "../../../agents/core/phases/round-book.ts";
import type { Attempt, Digest, Outcome, Ppm, SeatIndex, Value } from "../../../agents/core/types.ts";
import { digestOf } from "../../../agents/core/encoding/codec.ts";
import { keyOf } from "./committee.ts";

export const COMMIT = commitForm.phase;
export const REVEAL = revealForm.phase;
export { JUDGE, VOTE };

interface SeatVote {
  readonly verdict: Verdict;
  readonly tier?: number;
  /** Answer that the vote says it is about; by default that of the seat it names. */
  readonly about?: string;
}

/** What one seat does in one round. Votes and judgements name seats, the builder turns them into digests. */
export interface SeatActs {
  readonly answer?: string;
  readonly tier?: number;
  /** The seat commits to its answer, and never shows it. */
  readonly hides?: boolean;
  readonly votes?: Readonly<Record<number, SeatVote>>;
  /** `author>accused` -> verdict. */
  readonly judgements?: Readonly<Record<string, "uphold" | "refute" | "abstain">>;
  /** The seat says nothing at all. */
  readonly silent?: boolean;
  /** True if it held the message of that seat when it closed a phase; by default it held every message. */
  readonly sees?: (phase: number, seat: number) => boolean;
}

const NOTHING = `0x${"00".repeat(32)}` as Digest;

/** Builds the message set of one round, unsigned, because `conclude` does not read signatures. */
export function addRound(tally: Tally, attempt: Attempt, round: number, acts: readonly SeatActs[]): Tally {
  const commits = acts.map((act, seat) => {
    if (act.answer === undefined) return { commitment: null };
    return { commitment: commitmentOf(attempt, round, seat as SeatIndex, proposalOf(act), keyOf(seat)) };
  });
  const committed = commits.map((commit) => commitForm.encode(commit));
  const reveals = acts.map((act, seat) =>
    encodeReveal(
      act.answer === undefined || act.hides ? null : { ...proposalOf(act), salt: keyOf(seat) },
      heldBy(act, COMMIT, acts, committed),
    ),
  );
  const target = (seat: number): Digest => digestOf(reveals[seat] as Value);
  let next = tally;
  const votes = acts.map((act) => {
    const list = Object.entries(act.votes ?? {}).map(([accused, vote]) => ({
      target: target(Number(accused)),
      outcome: canonicalAnswer(attempt.request, vote.about ?? acts[Number(accused)]?.answer ?? "")?.outcome ?? NOTHING,
      verdict: vote.verdict,
      tier: (vote.tier ?? 900_000) as Ppm,
      counterProof: vote.verdict === "reject" ? "counter-proof" : "",
    }));
    return withSeen(voteForm.encode({ votes: list }), heldBy(act, REVEAL, acts, reveals));
  });
  acts.forEach((act, seat) => {
    if (act.silent) return;
    const judgements = Object.entries(act.judgements ?? {}).map(([key, verdict]) => {
      const [author, accused] = key.split(">").map(Number) as [number, number];
      return { author: author as SeatIndex, target: target(accused), verdict };
    });
    const judge = withSeen(judgeForm.encode({ judgements }), heldBy(act, VOTE, acts, votes));
    next = put(next, attempt, round, seat, COMMIT, committed[seat] as Value);
    next = put(next, attempt, round, seat, REVEAL, reveals[seat] as Value);
    next = put(next, attempt, round, seat, VOTE, votes[seat] as Value);
    next = put(next, attempt, round, seat, JUDGE, judge);
  });
  return next;
}

export function encodeReveal(
  proposal: Parameters<typeof revealForm.encode>[0]["proposal"],
  seen: readonly (Digest | null)[],
): PayloadMap {
  return withSeen(revealForm.encode({ proposal }), seen);
}

function heldBy(
  act: SeatActs,
  phase: number,
  acts: readonly SeatActs[],
  payloads: readonly Value[],
): readonly (Digest | null)[] {
  const holds = (seat: number): boolean => !acts[seat]?.silent && (act.sees?.(phase, seat) ?? true);
  return payloads.map((payload, seat) => (holds(seat) ? digestOf(payload) : null));
}

export function roundOf(attempt: Attempt, acts: readonly SeatActs[]): Tally {
  return addRound(emptyTally, attempt, 0, acts);
}

/** Adds an unsigned message, also for void slots. */
export function put(tally: Tally, attempt: Attempt, round: number, seat: number, phase: number, payload: Value): Tally {
  const header = {
    requestId: attempt.request.id,
    attempt: attempt.attempt,
    protocol: attempt.request.terms.protocol,
    phase,
    round,
    seat: seat as SeatIndex,
    payloadDigest: digestOf(payload),
  };
  return addMessage(tally, { header, payload, signature: "0x" }).tally;
}

function proposalOf(act: SeatActs): { readonly answer: string; readonly proof: string; readonly tier: Ppm } {
  return { answer: act.answer ?? "", proof: "proof", tier: (act.tier ?? 900_000) as Ppm };
}

/** What each seat of a committee does. */
export const seatsDoing = (n: number, act: (seat: number) => SeatActs): SeatActs[] =>
  Array.from({ length: n }, (_, seat) => act(seat));

export const accept = { verdict: "accept" } as const;
export const reject = { verdict: "reject" } as const;

/** What mbft makes of one round; null if that is not final. */
export function finalOf(attempt: Attempt, acts: readonly SeatActs[]): Outcome | null {
  const conclusion = mbft.conclude(attempt, roundOf(attempt, acts));
  return conclusion.kind === "final" ? conclusion.outcome : null;
}
