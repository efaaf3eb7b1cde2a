import { digestOf } from "../../../agents/core/encoding/codec.ts";
import { canonicalAnswer } from "../../../agents/core/request/answer.ts";
import { compareHex } from "../../../agents/core/encoding/bytes.ts";
import { matchForm } from "../../../agents/core/phases/equivalence.ts";
import { unanimous } from "../../../agents/core/protocols/unanimous/index.ts";
import { commitForm, commitmentOf, revealForm } from "../../../agents/core/phases/proposals.ts";
import type { PayloadMap, Protocol } from "../../../agents/core/protocol.ts";
import { closeForm, withSeen, type AnyForm } from "../../../agents/core/phases/round-book.ts";
import { emptyTally, type Tally } from "../../../agents/core/seat/tally.ts";
import type { Attempt, Digest, Outcome, Ppm, SeatIndex, Terms } from "../../../agents/core/types.ts";
import { keyOf } from "./committee.ts";
import { put } from "./mbft-set.ts";

export const COMMIT = commitForm.phase;
export const REVEAL = revealForm.phase;
export const CLOSE = closeForm.phase;

/** What one seat does in one turn. */
export interface TurnActs {
  /** Absent = the seat abstains. */
  readonly answer?: string;
  /** By default another text in each turn. */
  readonly proof?: string;
  readonly tier?: number;
  /** Pairs of texts that the seat calls the same. */
  readonly same?: readonly (readonly [string, string])[];
  /** The seat says nothing at all. */
  readonly silent?: boolean;
  /** Phase in which the seat says two things. */
  readonly equivocates?: number;
  /** True if it held the message of that seat when it closed a phase; by default it held every message. */
  readonly sees?: (phase: number, seat: number) => boolean;
}

/** Builds the message set of one turn, unsigned, because `conclude` does not read signatures. */
export function addTurn(tally: Tally, attempt: Attempt, round: number, acts: readonly TurnActs[]): Tally {
  let next = tally;
  let before: readonly PayloadMap[] = [];
  let beforePhase = 0;
  for (const form of formsOf(attempt)) {
    const held = before;
    const phase = beforePhase;
    const said = acts.map((act, seat) => {
      const body = form.encode(bodyOf(form, attempt, round, seat, act));
      if (form.phase === COMMIT) return body;
      const sees = (of: number): boolean => !acts[of]?.silent && (act.sees?.(phase, of) ?? true);
      return withSeen(
        body,
        held.map((payload, of) => (sees(of) ? digestOf(payload) : null)),
      );
    });
    said.forEach((payload, seat) => {
      const act = acts[seat] as TurnActs;
      if (act.silent) return;
      next = put(next, attempt, round, seat, form.phase, payload);
      if (act.equivocates === form.phase) next = put(next, attempt, round, seat, form.phase, otherThan(form, payload));
    });
    before = said;
    beforePhase = form.phase;
  }
  return next;
}

function formsOf(attempt: Attempt): readonly AnyForm[] {
  return attempt.request.terms.kind === "text"
    ? [commitForm, revealForm, matchForm, closeForm]
    : [commitForm, revealForm, closeForm];
}

function bodyOf(form: AnyForm, attempt: Attempt, round: number, seat: number, act: TurnActs): unknown {
  const proposal =
    act.answer === undefined
      ? null
      : { answer: act.answer, proof: act.proof ?? `argument ${round}`, tier: (act.tier ?? 900_000) as Ppm };
  switch (form.phase) {
    case COMMIT: {
      const bound = proposal && commitmentOf(attempt, round, seat as SeatIndex, proposal, keyOf(seat));
      return { commitment: bound };
    }
    case REVEAL:
      return { proposal: proposal && { ...proposal, salt: keyOf(seat) } };
    case CLOSE:
      return {};
    default: {
      const outcome = (text: string): Digest => canonicalAnswer(attempt.request, text)!.outcome;
      const matches = (act.same ?? []).map(([one, other]) => {
        const [first, second] = [outcome(one), outcome(other)].toSorted(compareHex) as [Digest, Digest];
        return { first, second, same: true };
      });
      return { matches };
    }
  }
}

function otherThan(form: AnyForm, payload: PayloadMap): PayloadMap {
  if (form.phase === COMMIT) return { commitment: new Uint8Array(32) };
  const seen = (payload["seen"] as readonly (readonly unknown[])[]).map((list) => list.map(() => null));
  return { ...payload, seen };
}

/** Message set of several turns, the first of which is round 0. */
export function turnsOf(attempt: Attempt, turns: readonly (readonly TurnActs[])[]): Tally {
  return turns.reduce((tally, acts, round) => addTurn(tally, attempt, round, acts), emptyTally);
}

/** The outcome and its round; null while the set is open. */
export function concluded(
  protocol: Protocol,
  attempt: Attempt,
  turns: readonly (readonly TurnActs[])[],
): (Outcome & { readonly through: number }) | null {
  const conclusion = protocol.conclude(attempt, turnsOf(attempt, turns));
  return conclusion.kind === "final" ? { ...conclusion.outcome, through: conclusion.through.round } : null;
}

export const seats = (n: number, act: (seat: number) => TurnActs): TurnActs[] =>
  Array.from({ length: n }, (_, seat) => act(seat));

export const policies = (options: number, assurance: Terms["assurance"] = "normal") =>
  ({ kind: "policies", options, assurance }) as const;

/** Outcome of `count` turns from 0 on; `act` gives every seat's part in each turn. */
export function decide(
  attempt: Attempt,
  count: number,
  act: (round: number, seat: number) => TurnActs,
  protocol: Protocol = unanimous,
): ReturnType<typeof concluded> {
  const turns = Array.from({ length: count }, (_, round) =>
    seats(attempt.committee.length, (seat) => act(round, seat)),
  );
  return concluded(protocol, attempt, turns);
}
