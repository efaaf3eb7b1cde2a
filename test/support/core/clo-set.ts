// Message sets of clo: what every seat says in a round.
import { matchForm } from "../../../agents/core/phases/equivalence.ts";
import { TIERS } from "../../../agents/core/phases/tiers.ts";
import { closeForm } from "../../../agents/core/phases/round-book.ts";
import { voteForm, type Verdict } from "../../../agents/core/phases/votes.ts";
import { clo } from "../../../agents/core/protocols/clo/index.ts";
import { tellsSamples } from "../../../agents/core/protocols/clo/rules.ts";
import { canonicalAnswer } from "../../../agents/core/request/answer.ts";
import { defaultTerms } from "../../../agents/core/request/terms.ts";
import type { Tally } from "../../../agents/core/seat/tally.ts";
import type { Assurance, Attempt, Digest, Ppm, Skill } from "../../../agents/core/types.ts";
import { attemptFor, propose, say } from "../message-set.ts";

export interface Act {
  /** Null: the seat gives no answer. */
  readonly answer: string | null;
  /** What its other samples gave; none if absent. */
  readonly others?: readonly string[];
  /** As sure as the other samples allow if absent. */
  readonly tier?: number;
  /** Its verdict on the answer of a seat, where seats give any. */
  readonly votes?: Readonly<Record<number, Verdict>>;
}

/** An attempt with four options, so that answers are A to D. */
export function attemptWith(skills: readonly Skill[], assurance: Assurance = "normal"): Attempt {
  const attempt = attemptFor(clo.code, skills.length, assurance);
  const terms = defaultTerms({
    committeeSize: skills.length,
    assurance,
    protocol: clo.code,
    kind: "choice",
    options: 4,
  });
  return {
    ...attempt,
    request: { ...attempt.request, terms },
    committee: attempt.committee.map((seat, index) => ({ ...seat, skill: skills[index] as Skill })),
  };
}

/** Adds a round in which everybody held everything in time; `late`: seats whose votes nobody held. */
export function addRound(
  tally: Tally,
  attempt: Attempt,
  round: number,
  acts: readonly Act[],
  late: readonly number[] = [],
) {
  const revealed = propose(
    tally,
    attempt,
    round,
    acts.map(({ answer, others = [], tier = TIERS[2 - others.length] as number }) => ({ answer, tier, others })),
  );
  const targets = revealed.digests as readonly Digest[];
  // Of texts nobody finds two alike that are written otherwise.
  const silent = acts.map(() => ({ matches: [] }));
  const matched = attempt.request.terms.kind === "text" ? say(revealed, matchForm, silent) : revealed;
  const voted = tellsSamples(attempt)
    ? matched
    : say(
        matched,
        voteForm,
        acts.map(({ votes = {} }) => ({
          votes: Object.entries(votes).map(([accused, verdict]) => ({
            target: targets[Number(accused)] as Digest,
            outcome: canonicalAnswer(attempt.request, acts[Number(accused)]?.answer ?? "")?.outcome as Digest,
            verdict,
            tier: 900_000 as Ppm,
            counterProof: verdict === "reject" ? "no" : "",
          })),
        })),
      );
  const closed = say(
    voted,
    closeForm,
    acts.map(() => ({})),
    (_, of) => !late.includes(of),
  );
  return closed.tally;
}
