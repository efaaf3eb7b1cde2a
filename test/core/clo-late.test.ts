import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { matchForm } from "../../agents/core/phases/equivalence.ts";
import {
  commitForm,
  commitmentOf,
  revealForm,
  samplesForm,
  type Proposal,
} from "../../agents/core/phases/proposals.ts";
import { closeForm, withSeen } from "../../agents/core/phases/round-book.ts";
import { TIER_MAX } from "../../agents/core/phases/tiers.ts";
import { voteForm } from "../../agents/core/phases/votes.ts";
import { clo } from "../../agents/core/protocols/clo/index.ts";
import { tellsSamples } from "../../agents/core/protocols/clo/rules.ts";
import { canonicalOrder } from "../../agents/core/seat/order.ts";
import { emptyTally, type Tally } from "../../agents/core/seat/tally.ts";
import type { Attempt, Outcome, SeatIndex } from "../../agents/core/types.ts";
import { addRound, attemptWith, type Act } from "../support/core/clo-set.ts";
import { put, say, type Saying } from "../support/message-set.ts";

const SALT = new Uint8Array(32);
const EQUAL = [2, 2, 2, 2] as const;

const ask = (answer: string | null): Act => ({ answer });

/** What a seat says in a round, and which of it too few hold in time. */
interface Spoken {
  /** Null: it says that it has no answer. */
  readonly answer: string | null;
  /** True for a seat that commits to nothing, and reveals its answer all the same. */
  readonly isUnbound?: boolean;
  /** True for a seat that commits to its answer, and reveals none. */
  readonly isSilent?: boolean;
  /** Another answer that it reveals in the same slot. */
  readonly twin?: string;
  readonly late?: readonly ("commit" | "reveal" | "vote")[];
}

const A: Spoken = { answer: "A" };
const B: Spoken = { answer: "B" };
const NONE: Spoken = { answer: null };

/** Adds a round in which all seats close, and the late messages were held by nobody in time. */
function spoken(tally: Tally, attempt: Attempt, round: number, seats: readonly Spoken[]): Tally {
  const isIn =
    (phase: "commit" | "reveal" | "vote") =>
    (_: number, of: number): boolean =>
      seats[of]?.late?.includes(phase) !== true;
  const proposals = seats.map(({ answer }): Proposal | null =>
    answer === null ? null : { answer, proof: "", tier: TIER_MAX },
  );
  const commitments = proposals.map((proposal, seat) => ({
    commitment:
      proposal && seats[seat]?.isUnbound !== true
        ? commitmentOf(attempt, round, seat as SeatIndex, proposal, SALT)
        : null,
  }));
  const tells = tellsSamples(attempt);
  const form = tells ? samplesForm : revealForm;
  const committed = say({ tally, attempt, round, digests: null }, commitForm, commitments);
  const bodies = proposals.map((proposal, seat) => ({
    proposal: proposal && seats[seat]?.isSilent !== true ? { ...proposal, salt: SALT } : null,
  }));
  const revealed = say(committed, form, bodies, isIn("commit"));
  const twice = seats.reduce((all: Saying, { twin }, seat) => {
    if (twin === undefined) return all;
    const body = { proposal: { answer: twin, proof: "", tier: TIER_MAX, salt: SALT } };
    const payload = withSeen(form.encode(body), committed.digests ?? []);
    return { ...all, tally: put(all.tally, attempt, { phase: form.phase, round, seat }, payload) };
  }, revealed);
  if (tells)
    return say(
      twice,
      closeForm,
      seats.map(() => ({})),
      isIn("reveal"),
    ).tally;
  const matched = say(
    twice,
    matchForm,
    seats.map(() => ({ matches: [] })),
    isIn("reveal"),
  );
  const voted = say(
    matched,
    voteForm,
    seats.map(() => ({ votes: [] })),
  );
  return say(
    voted,
    closeForm,
    seats.map(() => ({})),
    isIn("vote"),
  ).tally;
}

function outcomeOf(attempt: Attempt, ...rounds: readonly (readonly Spoken[])[]): Outcome | null {
  const tally = rounds.reduce((all, seats, round) => spoken(all, attempt, round, seats), emptyTally);
  const conclusion = clo.conclude(attempt, tally);
  return conclusion.kind === "final" ? conclusion.outcome : null;
}

describe("clo: what came late, or is bound by nothing", () => {
  it("CL4, PH4: an answer that too few held in time is none of the more than 2/3", () => {
    const attempt = attemptWith(EQUAL);
    const acts = [ask("A"), ask("A"), ask("A"), ask("B")];
    const kind = (late: readonly number[]): string =>
      clo.conclude(attempt, addRound(emptyTally, attempt, 0, acts, late)).kind;
    assert.deepEqual([kind([]), kind([2])], ["final", "open"]);
  });

  it("CL5, PH4: nor is it a sample of a later round", () => {
    const attempt = attemptWith(EQUAL);
    const tie = addRound(emptyTally, attempt, 0, [ask("A"), ask("A"), ask("B"), ask("B")]);
    const more = [ask("A"), ask(null), ask(null), ask(null)];
    const kind = (late: readonly number[]): string => clo.conclude(attempt, addRound(tie, attempt, 1, more, late)).kind;
    assert.deepEqual([kind([]), kind([0])], ["final", "open"]);
  });

  it("CL10: in the deciding round a seat has answered if its reveal opens what it committed to, in time or not", () => {
    const attempt = attemptWith(EQUAL);
    const split = [A, A, A, B];
    const first = [A, A, { answer: "C" }, B];
    const shares = (last: Spoken) => outcomeOf(attempt, first, [last, A, A, { answer: "D" }])?.shares;
    assert.deepEqual(outcomeOf(attempt, split)?.shares, [240, 240, 240, 0]);
    const paid = [240, 240, 0, 0];
    const unpaid = shares(NONE);
    assert.notDeepEqual(unpaid, paid);
    assert.deepEqual(shares(A), paid);
    assert.deepEqual(shares({ ...A, late: ["reveal"] }), paid);
    assert.deepEqual(shares({ ...A, late: ["commit"] }), paid);
    assert.deepEqual(shares({ ...A, late: ["commit", "reveal"] }), paid);
    assert.deepEqual(shares({ ...A, isUnbound: true }), unpaid);
    assert.deepEqual(shares({ ...A, isSilent: true }), unpaid);
    assert.deepEqual(shares({ ...A, isUnbound: true, late: ["commit", "reveal"] }), unpaid);
  });

  it("CL10: a void slot answers nothing, whatever stands in it", () => {
    const attempt = attemptWith(EQUAL);
    const first = [A, A, A, B];
    const rounds = (last: Spoken) =>
      [
        [A, A, B, B],
        [last, A, A, A],
      ] as const;
    assert.deepEqual(outcomeOf(attempt, first)?.shares, [240, 240, 240, 0]);
    assert.deepEqual(outcomeOf(attempt, ...rounds(A))?.shares, [240, 240, 0, 0]);
    assert.equal(outcomeOf(attempt, ...rounds({ ...A, twin: "C" }))?.shares[0], 0);
  });

  it("CL10: of texts a seat must have answered in time, and voted in time", () => {
    const plain = attemptWith([2, 2, 2, 2, 2, 2, 2]);
    const terms = { ...plain.request.terms, kind: "text", options: 0 } as const;
    const attempt = { ...plain, request: { ...plain.request, terms } };
    const tie = [A, A, A, B, B, B, NONE];
    const shares = (last: Spoken) => outcomeOf(attempt, tie, [last, A, A, A, A, A, A])?.shares;
    assert.deepEqual(shares(A), [240, 240, 240, 0, 0, 0, 0]);
    for (const late of [["reveal"], ["vote"], ["commit"]] as const)
      assert.equal(shares({ ...A, late })?.[0], 0, late[0]);
  });
});

describe("clo: ties and classes", () => {
  it("CL8: of classes as good in the last round that of the seat that comes first in canonical order decides", () => {
    const attempt = attemptWith(EQUAL);
    const order = canonicalOrder(attempt);
    for (const [outer, inner] of [
      ["A", "B"],
      ["B", "A"],
    ] as const) {
      // The first and the last seat of the order gave one answer, those between the other one.
      const acts = order.map((_, seat) => (order.indexOf(seat as SeatIndex) % 3 === 0 ? ask(outer) : ask(inner)));
      const tally = [0, 1, 2].reduce((all, round) => addRound(all, attempt, round, acts), emptyTally);
      const conclusion = clo.conclude(attempt, tally);
      assert.equal(conclusion.kind === "final" && conclusion.outcome.answer, outer);
    }
  });

  it("CL3: another sample in the class of the own answer counts nothing more", () => {
    const plain = attemptWith(EQUAL);
    const terms = { ...plain.request.terms, kind: "number", options: 0, decimals: 0, tolerance: 2n } as const;
    const attempt = { ...plain, request: { ...plain.request, terms } };
    const acts = [{ answer: "10", others: ["11"] }, ask("11"), ask("50"), ask("90")];
    const lines = clo.explain?.(attempt, addRound(emptyTally, attempt, 0, acts)) ?? [];
    assert.match(String(lines), /answered by 2 of 4 seats, 3 needed; samples count 15,/);
  });
});
