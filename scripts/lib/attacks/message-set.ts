import { digestOf } from "../../../agents/core/codec.ts";
import { sha256, utf8 } from "../../../agents/core/digest.ts";
import { commitForm, commitmentOf, revealForm, type Proposal } from "../../../agents/core/proposals.ts";
import { judgeForm, voteForm, type Verdict } from "../../../agents/core/protocols/mbft/payloads.ts";
import { withSeen } from "../../../agents/core/round-book.ts";
import { addMessage, type Tally } from "../../../agents/core/tally.ts";
import type {
  Address,
  AgentId,
  Assurance,
  Attempt,
  Digest,
  Ppm,
  RequestId,
  SeatIndex,
  Value,
} from "../../../agents/core/types.ts";

/** What one seat says in one round of mbft. Votes and judgements name seats; the builder turns them into digests. */
export interface SeatActs {
  /** Null = it proposes nothing. */
  readonly answer: string | null;
  readonly tier: number;
  readonly votes: readonly { readonly accused: number; readonly verdict: Verdict; readonly tier: number }[];
  readonly judgements: readonly {
    readonly author: number;
    readonly accused: number;
    readonly verdict: "uphold" | "refute" | "abstain";
  }[];
}

const SALT = new Uint8Array(32);

/** A boolean question for the protocol with this code; nothing of it is signed, because `conclude` looks at no signature. */
export function attemptFor(
  protocol: number,
  seats: number,
  assurance: Assurance,
  reputations: readonly Ppm[] = [],
): Attempt {
  return {
    domain: { chainId: 31_337, oracle: `0x${"0a".repeat(20)}` as Address },
    request: {
      id: 1n as RequestId,
      consumer: `0x${"0c".repeat(20)}` as Address,
      terms: {
        fee: 0n,
        deadline: 2_000_000_000,
        tolerance: 0n,
        callbackGasLimit: 0,
        committeeSize: seats,
        assurance,
        decimals: 0,
        options: 0,
        kind: "boolean",
        protocol,
      },
      question: "Is it so?",
    },
    attempt: 0,
    committee: Array.from({ length: seats }, (_, seat) => ({
      agentId: (seat + 1) as AgentId,
      signer: sha256(utf8(`agent ${seat}`)).slice(0, 42) as Address,
      reputation: reputations[seat] ?? (1_000_000 as Ppm),
    })),
  };
}

/** Adds the complete messages of one round, in which everybody held everything in time. */
export function addRound(tally: Tally, attempt: Attempt, round: number, acts: readonly SeatActs[]): Tally {
  const proposals = acts.map(proposalOf);
  const commits = proposals.map((proposal, seat) =>
    commitForm.encode({
      commitment: proposal && commitmentOf(attempt, round, seat as SeatIndex, proposal, SALT),
    }),
  );
  const seenCommits = commits.map(digestOf);
  const reveals = proposals.map((proposal) =>
    withSeen(revealForm.encode({ proposal: proposal && { ...proposal, salt: SALT } }), seenCommits),
  );
  const targets = reveals.map(digestOf);
  const votes = acts.map((act) => {
    const list = act.votes.map(({ accused, verdict, tier }) => ({
      target: targets[accused] as Digest,
      verdict,
      tier: tier as Ppm,
      counterProof: verdict === "reject" ? "counter-proof" : "",
    }));
    return withSeen(voteForm.encode({ votes: list }), targets);
  });
  const seenVotes = votes.map(digestOf);
  const judgements = acts.map((act) => {
    const list = act.judgements.map(({ author, accused, verdict }) => ({
      author: author as SeatIndex,
      target: targets[accused] as Digest,
      verdict,
    }));
    return withSeen(judgeForm.encode({ judgements: list }), seenVotes);
  });
  const phases = [
    [commitForm.phase, commits],
    [revealForm.phase, reveals],
    [voteForm.phase, votes],
    [judgeForm.phase, judgements],
  ] as const;
  let next = tally;
  for (const [phase, payloads] of phases)
    payloads.forEach((payload, seat) => (next = put(next, attempt, { phase, round, seat }, payload)));
  return next;
}

/** Adds one unsigned message. */
export function put(
  tally: Tally,
  attempt: Attempt,
  slot: { readonly phase: number; readonly round: number; readonly seat: number },
  payload: Value,
): Tally {
  const header = {
    requestId: attempt.request.id,
    attempt: attempt.attempt,
    protocol: attempt.request.terms.protocol,
    phase: slot.phase,
    round: slot.round,
    seat: slot.seat as SeatIndex,
    payloadDigest: digestOf(payload),
  };
  return addMessage(tally, { header, payload, signature: "0x" }).tally;
}

function proposalOf({ answer, tier }: SeatActs): Proposal | null {
  return answer === null ? null : { answer, proof: "proof", tier: tier as Ppm };
}
