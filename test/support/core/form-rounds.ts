import { digestOf } from "../../../agents/core/encoding/codec.ts";
import type { PayloadMap } from "../../../agents/core/protocol.ts";
import { commitForm, commitmentOf, revealForm } from "../../../agents/core/phases/proposals.ts";
import { withSeen, type AnyForm } from "../../../agents/core/phases/round-book.ts";
import type { Tally } from "../../../agents/core/seat/tally.ts";
import type { Attempt, Digest, Ppm, SeatIndex } from "../../../agents/core/types.ts";
import { keyOf } from "./committee.ts";
import { put } from "./mbft-set.ts";

/** Payload digest of what a seat said in an earlier phase of the round. */
export type SaidSoFar = (phase: number, seat: number) => Digest | null;

export interface RoundScript {
  /** Payload of a seat in a phase; undefined = nothing. */
  readonly body: (phase: number, seat: number, said: SaidSoFar) => unknown;
  /** Phases in which only some seats speak: their messages list nothing (PH3). */
  readonly partial?: readonly number[];
  /** True if a seat held another's message when it closed a phase; by default it held every message. */
  readonly sees?: (phase: number, seat: number, of: number) => boolean;
}

/**
 * Builds the message set of one round of any phased protocol, unsigned, because `conclude` does not read signatures.
 */
export function addFormRound(
  tally: Tally,
  attempt: Attempt,
  round: number,
  forms: readonly AnyForm[],
  { body, partial = [], sees = () => true }: RoundScript,
): Tally {
  const seats = attempt.committee.map((_, seat) => seat);
  const payloads = new Map<number, readonly (PayloadMap | null)[]>();
  const said: SaidSoFar = (phase, seat) => {
    const payload = payloads.get(phase)?.[seat] ?? null;
    return payload === null ? null : digestOf(payload);
  };
  let next = tally;
  forms.forEach((form, index) => {
    const full = forms.slice(0, index).findLastIndex(({ phase }) => !partial.includes(phase));
    const listed = partial.includes(form.phase) ? [] : forms.slice(Math.max(full, 0), index);
    const row = seats.map((seat): PayloadMap | null => {
      const says = body(form.phase, seat, said);
      if (says === undefined) return null;
      const held = (of: number): readonly (Digest | null)[] =>
        seats.map((other) => (sees(of, seat, other) ? said(of, other) : null));
      return withSeen(form.encode(says), ...listed.map(({ phase }) => held(phase)));
    });
    payloads.set(form.phase, row);
    row.forEach((payload, seat) => {
      if (payload !== null) next = put(next, attempt, round, seat, form.phase, payload);
    });
  });
  return next;
}

/** Payloads of a seat in COMMIT and REVEAL; null = the seat has no answer. */
export function proposalBody(
  attempt: Attempt,
  round: number,
  phase: number,
  seat: number,
  answer: string | null,
): unknown {
  const proposal = { answer: answer ?? "", proof: `proof of ${seat}`, tier: 900_000 as Ppm };
  if (phase === revealForm.phase) return { proposal: answer === null ? null : { ...proposal, salt: keyOf(seat) } };
  if (phase !== commitForm.phase) throw new Error(`phase ${phase} is neither COMMIT nor REVEAL`);
  const salt = keyOf(seat);
  return { commitment: answer === null ? null : commitmentOf(attempt, round, seat as SeatIndex, proposal, salt) };
}
