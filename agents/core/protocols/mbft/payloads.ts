import { isMapOf } from "../../encoding/codec.ts";
import { hexToBytes } from "../../encoding/bytes.ts";
import { limits } from "../../limits.ts";
import { asDigest, isTextOf, listOf } from "../../encoding/payload.ts";
import type { Form } from "../../phases/round-book.ts";
import { isTier } from "../../phases/tiers.ts";
import type { Attempt, Digest, Ppm, SeatIndex, Value } from "../../types.ts";

/** The phases of a round after COMMIT, REVEAL and, for texts, MATCH. */
export const VOTE = 10;
export const JUDGE = 11;

export type Verdict = "accept" | "reject" | "abstain";

export interface Vote {
  /** Payload digest of the reveal voted on. It binds answer and proof; the header binds the round (MB9). */
  readonly target: Digest;
  /** Outcome of the answer in that reveal; it counts even if the reveal is not in the set (MB9). */
  readonly outcome: Digest;
  readonly verdict: Verdict;
  readonly tier: Ppm;
  /** The counter-proof of a rejection, else empty. */
  readonly counterProof: string;
}

export interface Votes {
  readonly votes: readonly Vote[];
}

export interface Judgement {
  readonly author: SeatIndex;
  readonly target: Digest;
  readonly verdict: "uphold" | "refute" | "abstain";
}

export interface Judgements {
  readonly judgements: readonly Judgement[];
}

export const voteForm: Form<Votes> = {
  name: "vote",
  phase: VOTE,
  encode: ({ votes }) => ({
    votes: votes.map(({ target, outcome, verdict, tier, counterProof }) => ({
      target: hexToBytes(target),
      outcome: hexToBytes(outcome),
      verdict,
      tier,
      counterProof,
    })),
  }),
  decode: (_, value) => {
    const votes = isMapOf(value, ["votes"]) ? listOf(value["votes"], limits.classesPerRound, decodeVote) : null;
    return votes === null || hasTwice(votes, (vote) => vote.target) ? null : { votes };
  },
};

function decodeVote(entry: Value): Vote | null {
  if (!isMapOf(entry, ["counterProof", "outcome", "target", "tier", "verdict"])) return null;
  const { counterProof, tier, verdict } = entry;
  const target = asDigest(entry["target"]);
  const outcome = asDigest(entry["outcome"]);
  if (target === null || outcome === null) return null;
  if (!isTier(tier) || !isTextOf(counterProof, limits.counterProofBytes)) return null;
  if (verdict !== "accept" && verdict !== "reject" && verdict !== "abstain") return null;
  // MB5: a rejection without a counter-proof is an abstention, and must be stated as one.
  return (verdict === "reject") === (counterProof !== "") ? { target, outcome, verdict, tier, counterProof } : null;
}

export const judgeForm: Form<Judgements> = {
  name: "judge",
  phase: JUDGE,
  encode: ({ judgements }) => ({
    judgements: judgements.map(({ author, target, verdict }) => ({ author, target: hexToBytes(target), verdict })),
  }),
  decode: (attempt, value) => {
    if (!isMapOf(value, ["judgements"])) return null;
    const decode = (entry: Value): Judgement | null => decodeJudgement(attempt, entry);
    const judgements = listOf(value["judgements"], limits.counterProofsPerRound, decode);
    return judgements === null || hasTwice(judgements, ({ author, target }) => `${author}.${target}`)
      ? null
      : { judgements };
  },
};

function decodeJudgement(attempt: Attempt, entry: Value): Judgement | null {
  if (!isMapOf(entry, ["author", "target", "verdict"])) return null;
  const { author, verdict } = entry;
  const target = asDigest(entry["target"]);
  if (target === null || typeof author !== "number" || author < 0 || author >= attempt.committee.length) return null;
  if (verdict !== "uphold" && verdict !== "refute" && verdict !== "abstain") return null;
  return { author: author as SeatIndex, target, verdict };
}

function hasTwice<Entry>(entries: readonly Entry[], key: (entry: Entry) => string): boolean {
  return new Set(entries.map(key)).size !== entries.length;
}
