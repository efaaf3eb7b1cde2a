import { canonicalAnswer } from "../../agents/core/request/answer.ts";
import { digestOf } from "../../agents/core/encoding/codec.ts";
import { sha256, utf8 } from "../../agents/core/encoding/bytes.ts";
import { commitForm, commitmentOf, revealForm, type Proposal } from "../../agents/core/phases/proposals.ts";
import { judgeForm } from "../../agents/core/protocols/mbft/payloads.ts";
import { voteForm, type Verdict } from "../../agents/core/phases/votes.ts";
import { withSeen, type Form } from "../../agents/core/phases/round-book.ts";
import { addMessage, type Tally } from "../../agents/core/seat/tally.ts";
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
} from "../../agents/core/types.ts";
import { defaultTerms } from "../../agents/core/request/terms.ts";

export interface Answering {
  /** Null = the seat proposes nothing. */
  readonly answer: string | null;
  /** Confidence on the ladder, in ppm. */
  readonly tier: number;
  /** What its model's other samples gave; none if absent. */
  readonly others?: readonly string[];
}

/** What one seat says in one round of mbft. Votes and judgements name seats; the builder turns them into digests. */
export interface SeatActs extends Answering {
  readonly votes: readonly { readonly accused: number; readonly verdict: Verdict; readonly tier: number }[];
  readonly judgements: readonly {
    readonly author: number;
    readonly accused: number;
    readonly verdict: "uphold" | "refute" | "abstain";
  }[];
}

const SALT = new Uint8Array(32);

/**
 * A boolean question for the protocol with this code. Nothing is signed, because `conclude` does not read signatures.
 */
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
      terms: defaultTerms({ committeeSize: seats, assurance, protocol }),
      question: "Is it so?",
    },
    attempt: 0,
    committee: Array.from({ length: seats }, (_, seat) => ({
      agentId: (seat + 1) as AgentId,
      signer: sha256(utf8(`agent ${seat}`)).slice(0, 42) as Address,
      reputation: reputations[seat] ?? (1_000_000 as Ppm),
      skill: 1,
    })),
  };
}

/** A message set of one round in the making, phase by phase. */
export interface Saying {
  readonly tally: Tally;
  readonly attempt: Attempt;
  readonly round: number;
  /** Payload digests of the phase before; null before the first. */
  readonly digests: readonly Digest[] | null;
}

/**
 * Adds what every seat says in a phase; null = nothing. `holds` says whether a seat held another one's message when it closed the
 * phase before; if not given, everybody held everything in time.
 */
export function say<Body>(
  saying: Saying,
  form: Form<Body>,
  bodies: readonly (Body | null)[],
  holds: (seat: number, of: number) => boolean = () => true,
): Saying {
  const { attempt, round, digests } = saying;
  let { tally } = saying;
  const said = bodies.map((body, seat) => {
    const payload = body === null ? null : form.encode(body);
    const seen = digests?.map((digest, of) => (digest !== NOTHING && holds(seat, of) ? digest : null));
    return payload === null || seen === undefined ? payload : withSeen(payload, seen);
  });
  said.forEach((payload, seat) => {
    if (payload !== null) tally = put(tally, attempt, { phase: form.phase, round, seat }, payload);
  });
  return { tally, attempt, round, digests: said.map((payload) => (payload === null ? NOTHING : digestOf(payload))) };
}

const NOTHING = `0x${"00".repeat(32)}` as Digest;

/** Adds COMMIT and REVEAL of every seat's answer. */
export function propose(tally: Tally, attempt: Attempt, round: number, answers: readonly Answering[]): Saying {
  const proposals = answers.map(({ answer, tier, others = [] }): Proposal | null => {
    if (answer === null) return null;
    const outcomes = others.map((other) => outcomeOf(attempt, other));
    return { answer, proof: "proof", tier: tier as Ppm, ...(outcomes.length > 0 && { others: outcomes }) };
  });
  const committed = say(
    { tally, attempt, round, digests: null },
    commitForm,
    proposals.map((proposal, seat) => ({
      commitment: proposal && commitmentOf(attempt, round, seat as SeatIndex, proposal, SALT),
    })),
  );
  return say(
    committed,
    revealForm,
    proposals.map((proposal) => ({ proposal: proposal && { ...proposal, salt: SALT } })),
  );
}

function outcomeOf(attempt: Attempt, answer: string | null): Digest {
  return (answer === null ? null : canonicalAnswer(attempt.request, answer))?.outcome ?? NOTHING;
}

/** Adds the complete messages of one round of mbft, in which everybody held everything in time. */
export function addRound(tally: Tally, attempt: Attempt, round: number, acts: readonly SeatActs[]): Tally {
  const revealed = propose(tally, attempt, round, acts);
  const targets = revealed.digests as readonly Digest[];
  const voted = say(
    revealed,
    voteForm,
    acts.map(({ votes }) => ({
      votes: votes.map(({ accused, verdict, tier }) => ({
        target: targets[accused] as Digest,
        outcome: outcomeOf(attempt, acts[accused]?.answer ?? null),
        verdict,
        tier: tier as Ppm,
        counterProof: verdict === "reject" ? "counter-proof" : "",
      })),
    })),
  );
  const judged = say(
    voted,
    judgeForm,
    acts.map(({ judgements }) => ({
      judgements: judgements.map(({ author, accused, verdict }) => ({
        author: author as SeatIndex,
        target: targets[accused] as Digest,
        verdict,
      })),
    })),
  );
  return judged.tally;
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
