import { canonicalAnswer } from "../../request/answer.ts";
import { type CanonicalAnswer } from "../../request/kinds.ts";
import { hasAncestor } from "./graph/graph.ts";
import { seatsOf } from "../../seat/order.ts";
import { commitmentOf, type Proposal } from "../../phases/proposals.ts";
import { Readings } from "../../phases/readings.ts";
import { isMajority, isSupermajority } from "../../quorum.ts";
import { grounded, namesSources } from "../../sources/named.ts";
import type { Attempt, Digest, SeatIndex } from "../../types.ts";
import { READING, stageFor } from "./config.ts";
import type { StageRecord } from "./payloads.ts";
import type { Told } from "./view.ts";

/** What a set of events states, whatever their order. Each batch makes a new ledger from the one before. */
export interface Ledger {
  readonly attempt: Attempt;
  /** Per seat, the most stages it states as closed. */
  readonly closed: readonly number[];
  /** The records that count, by stage, then seat: each seat's first. */
  readonly records: ReadonlyMap<number, ReadonlyMap<SeatIndex, Told>>;
  /** Keys of the slots seen so far, to find forks. */
  readonly slots: ReadonlySet<string>;
  /** HG10: seats with two events in one slot. */
  readonly forked: ReadonlySet<SeatIndex>;
}

/** An answer that a seat gave in a round. */
export interface Output {
  readonly seat: SeatIndex;
  /** Digest of the event that states it. */
  readonly digest: Digest;
  readonly answer: CanonicalAnswer;
  readonly proposal: Proposal;
}

export function emptyLedger(attempt: Attempt): Ledger {
  return {
    attempt,
    closed: attempt.committee.map(() => 0),
    records: new Map(),
    slots: new Set(),
    forked: new Set(),
  };
}

export function addToLedger(ledger: Ledger, batch: readonly Told[]): Ledger {
  const closed = [...ledger.closed];
  const records = new Map([...ledger.records].map(([stage, bySeat]) => [stage, new Map(bySeat)]));
  const slots = new Set(ledger.slots);
  const forked = new Set(ledger.forked);
  for (const told of batch.toSorted((a, b) => a.sequence - b.sequence)) {
    const { seat, sequence, body } = told;
    const slot = `${seat}.${sequence}`;
    if (slots.has(slot)) forked.add(seat);
    slots.add(slot);
    closed[seat] = Math.max(closed[seat] as number, body.closed);
    if (body.record === null) continue;
    const { stage } = body.record;
    const bySeat = records.get(stage) ?? new Map<SeatIndex, Told>();
    if (!bySeat.has(seat)) bySeat.set(seat, told);
    records.set(stage, bySeat);
  }
  return { attempt: ledger.attempt, closed, records, slots, forked };
}

/** HG9: true if more than 2/3 of the seats state that they have closed the stage. */
export function isClosed({ attempt, closed }: Ledger, stage: number): boolean {
  return isSupermajority(closed.filter((count) => count > stage).length, attempt.committee.length);
}

/** A stage's records, in seat order, without those of forkers (HG10). */
export function recordsOf<Kind extends StageRecord["kind"]>(
  { attempt, records, forked }: Ledger,
  stage: number,
  kind: Kind,
): readonly { readonly told: Told; readonly record: Extract<StageRecord, { kind: Kind }> }[] {
  const bySeat = records.get(stage);
  return seatsOf(attempt).flatMap((seat) => {
    const told = bySeat?.get(seat);
    const record = told?.body.record;
    if (told === undefined || record?.kind !== kind || forked.has(seat)) return [];
    return [{ told, record: record as Extract<StageRecord, { kind: Kind }> }];
  });
}

/** HG26: what the seats read, as these events state it; null where the question names no source. */
export function readingsIn(ledger: Ledger): Readings | null {
  const { attempt } = ledger;
  if (!namesSources(attempt)) return null;
  const records = recordsOf(ledger, READING, "gather");
  const known = counted.get(attempt) ?? new Map<string, Readings>();
  counted.set(attempt, known);
  const key = records.map(({ told }) => `${told.seat}.${told.digest}`).join();
  const found = known.get(key);
  if (found !== undefined) return found;
  // Liars can offer ever other sets.
  if (known.size === MOST_COUNTED) known.clear();
  const readings = new Readings(
    attempt,
    records.map(({ told: { seat }, record }) => ({ seat, body: record })),
  );
  known.set(key, readings);
  return readings;
}

/** Readings by the events that state them: they are long, and asked for with every event. */
const counted = new WeakMap<Attempt, Map<string, Readings>>();
const MOST_COUNTED = 16;

/** The outputs of a round in seat order (HG7, HG11), whatever they rest on. */
export function outputsOf(ledger: Ledger, round: number): readonly Output[] {
  const { attempt } = ledger;
  const asked = grounded(attempt).request;
  return recordsOf(ledger, stageFor(attempt, "output", round), "output").flatMap(
    ({ told, record: { proposal, salt } }) => {
      const answer = proposal && canonicalAnswer(asked, proposal.answer);
      if (proposal === null || answer === null) return [];
      if (round === 0 && !opensCommitment(ledger, told.seat, proposal, salt)) return [];
      return [{ seat: told.seat, digest: told.digest, answer, proposal }];
    },
  );
}

/**
 * HG7: a first answer counts only if it opens its seat's commitment, and more than half of the seats had that commitment among the
 * ancestors of the event with which they revealed.
 */
function opensCommitment(ledger: Ledger, seat: SeatIndex, proposal: Proposal, salt: Uint8Array | null): boolean {
  const { attempt } = ledger;
  const commit = recordsOf(ledger, stageFor(attempt, "commit", 0), "commit").find(({ told }) => told.seat === seat);
  if (commit === undefined || salt === null) return false;
  const witnesses = recordsOf(ledger, stageFor(attempt, "output", 0), "output").filter(({ told }) =>
    hasAncestor(told.node, commit.told.node),
  );
  if (!isMajority(witnesses.length, attempt.committee.length)) return false;
  return commit.record.commitment === commitmentOf(attempt, 0, seat, proposal, salt);
}

/** PY10: an answer commit that no first answer opens. */
export interface OpenCommit {
  readonly seat: SeatIndex;
  readonly commitment: Digest;
}

/** PY10: the answer commits beside those of `outputs`, the first answers. */
export function openCommitsOf(ledger: Ledger, outputs: readonly Output[]): readonly OpenCommit[] {
  return recordsOf(ledger, stageFor(ledger.attempt, "commit", 0), "commit").flatMap(
    ({ told: { seat }, record: { commitment } }) =>
      commitment === null || outputs.some((output) => output.seat === seat) ? [] : [{ seat, commitment }],
  );
}
