import { isSameAnswer, type AnswerGroup } from "../../request/answer.ts";
import { type CanonicalAnswer } from "../../request/kinds.ts";
import { compareHex } from "../../encoding/bytes.ts";
import { bySupport, classesBy } from "../../phases/equivalence.ts";
import type { Readings } from "../../phases/readings.ts";
import { winnerWithout } from "../../phases/reading-steps.ts";
import { holdsHonest, isMajority, isSupermajority } from "../../quorum.ts";
import { ONE_PPM, type Attempt, type Digest, type Ppm, type SeatIndex } from "../../types.ts";
import { READING, ROUNDS, endOf, stagesOf } from "./config.ts";
import {
  addToLedger,
  emptyLedger,
  isClosed,
  openCommitsOf,
  outputsOf,
  readingsIn,
  recordsOf,
  type Ledger,
  type OpenCommit,
  type Output,
} from "./ledger.ts";
import type { Told } from "./view.ts";

/** An answer round by the consensus order. */
export interface AnswerRound {
  readonly round: number;
  readonly outputs: readonly Output[];
  /** SG9: what seats answered besides, and no source bears. */
  readonly unborne: readonly Output[];
  /** The classes of answers, the most supported first (HG17). */
  readonly classes: readonly AnswerGroup[];
  /** The class of more than 2/3 of all seats; null without one. */
  readonly agreed: AnswerGroup | null;
  /** True if the same answer was agreed on in the round before (HG18). */
  readonly isStable: boolean;
}

export type Path = "agreement" | "vote" | "plurality" | "none" | "unread";

/** How a deliberation ended. */
export interface Ending {
  readonly path: Path;
  readonly answer: CanonicalAnswer | null;
  readonly confidence: Ppm;
}

/** State of the deliberation after some batches of the consensus order. */
export interface Deliberated {
  /** HG26: what the seats read; null before the order closes that stage, and where the question names no source. */
  readonly readings: Readings | null;
  readonly rounds: readonly AnswerRound[];
  /** PY10: once round 0 is closed. */
  readonly openCommits: readonly OpenCommit[];
  /** The two leading answers while a vote between them is due (HG19). */
  readonly leading: readonly [AnswerGroup, AnswerGroup] | null;
  /** Null while the deliberation goes on. */
  readonly ending: Ending | null;
  /** Per seat, the number of stages that it has closed, by the order. */
  readonly closed: readonly number[];
  /** Number of batches read: up to the one that decided, else all. */
  readonly batches: number;
}

/** HG15: reads batch after batch, and stops after the one that decides the deliberation. */
export function assessBatches(attempt: Attempt, batches: readonly (readonly Told[])[]): Deliberated {
  let ledger = emptyLedger(attempt);
  let rounds: readonly AnswerRound[] = [];
  let readings: Readings | null = null;
  for (const [index, batch] of batches.entries()) {
    ledger = addToLedger(ledger, batch);
    // HG26: what is ordered later no longer counts.
    if (readings === null && isClosed(ledger, READING)) readings = readingsIn(ledger);
    rounds = closeRounds(ledger, readings, rounds);
    const deliberated = assess(ledger, readings, rounds);
    if (deliberated.ending !== null || index === batches.length - 1) return { ...deliberated, batches: index + 1 };
  }
  return { ...assess(ledger, null, []), batches: 0 };
}

export type Previewed = Pick<Deliberated, "readings" | "rounds">;

/** HG13: Returns readings and answer rounds as if all these events were ordered and every stage closed. `ordered`: the readings, if the order has closed them. */
export function preview(attempt: Attempt, told: readonly Told[], ordered: Readings | null): Previewed {
  const ledger = addToLedger(emptyLedger(attempt), told);
  const readings = ordered ?? readingsIn(ledger);
  const rounds: AnswerRound[] = [];
  for (let round = 0; round < ROUNDS; round++) rounds.push(resultOf(ledger, readings, rounds));
  return { readings, rounds };
}

/** HG9: a round is assessed when the order closes it. Events that are ordered later do not count for it. */
function closeRounds(
  ledger: Ledger,
  readings: Readings | null,
  closed: readonly AnswerRound[],
): readonly AnswerRound[] {
  const rounds = [...closed];
  while (rounds.length < ROUNDS && isClosed(ledger, endOf(ledger.attempt, rounds.length)))
    rounds.push(resultOf(ledger, readings, rounds));
  return rounds;
}

function assess(
  ledger: Ledger,
  readings: Readings | null,
  rounds: readonly AnswerRound[],
): Omit<Deliberated, "batches"> {
  const { attempt, closed } = ledger;
  if (readings?.holdsAny() === false)
    return { readings, rounds: [], openCommits: [], closed, leading: null, ending: unreadEnding(attempt, readings) };
  const ending = agreementIn(attempt, rounds);
  const [first] = rounds;
  const deliberated = {
    readings,
    rounds: ending === null ? rounds : rounds.slice(0, ending.round + 1),
    openCommits: first === undefined ? [] : openCommitsOf(ledger, [...first.outputs, ...first.unborne]),
    closed,
  };
  if (ending !== null) return { ...deliberated, leading: null, ending };
  const last = rounds[ROUNDS - 1];
  return last === undefined
    ? { ...deliberated, leading: null, ending: null }
    : { ...deliberated, ...fallBack(ledger, last) };
}

/** SG8: nothing can be cited, so nothing is answered. */
function unreadEnding(attempt: Attempt, readings: Readings): Ending {
  const { answer = null, confidence = 0 as Ppm } = winnerWithout(attempt, readings) ?? {};
  return { path: "unread", answer, confidence };
}

/** The answer round that follows these. */
function resultOf(ledger: Ledger, readings: Readings | null, before: readonly AnswerRound[]): AnswerRound {
  const { attempt } = ledger;
  const round = before.length;
  const isBorne = ({ seat, answer, proposal: { citations = [] } }: Output): boolean =>
    readings === null || readings.bears(seat, answer, citations);
  const said = outputsOf(ledger, round);
  const outputs = said.filter(isBorne);
  const unborne = said.filter((one) => !outputs.includes(one));
  const isSame = (a: CanonicalAnswer, b: CanonicalAnswer) => isJudgedSame(ledger, a, b);
  const classes = bySupport(
    attempt,
    classesBy(attempt, outputs, { areSame: isSame, deniers: (a, b) => [...seatsSaying(ledger, a, b, false)] }),
  );
  const agreed = classes.find(({ seats }) => isSupermajority(seats.length, attempt.committee.length)) ?? null;
  const [was, is] = [before.at(-1)?.agreed?.representative, agreed?.representative];
  const isStable =
    was !== undefined && is !== undefined && (isSameAnswer(attempt.request.terms, was, is) || isSame(was, is));
  return { round, outputs, unborne, classes, agreed, isStable };
}

/** EQ3: true if more than half of all seats said, in any round, that the two texts mean the same. */
function isJudgedSame(ledger: Ledger, a: CanonicalAnswer, b: CanonicalAnswer): boolean {
  return isMajority(seatsSaying(ledger, a, b, true).size, ledger.attempt.committee.length);
}

function seatsSaying(ledger: Ledger, a: CanonicalAnswer, b: CanonicalAnswer, isSame: boolean): ReadonlySet<SeatIndex> {
  const [first, second] = compareHex(a.outcome, b.outcome) < 0 ? [a.outcome, b.outcome] : [b.outcome, a.outcome];
  const seats = new Set<SeatIndex>();
  for (const [stage, { kind }] of stagesOf(ledger.attempt).entries()) {
    if (kind !== "match") continue;
    for (const { told, record } of recordsOf(ledger, stage, "match")) {
      const word = record.matches.find((one) => one.first === first && one.second === second);
      if (word?.same === isSame) seats.add(told.seat);
    }
  }
  return seats;
}

/** HG18: the answer on which more than 2/3 of all seats agree in two consecutive rounds; null without one. */
export function agreementIn(
  attempt: Attempt,
  rounds: readonly AnswerRound[],
): (Ending & { readonly round: number }) | null {
  for (const { round, agreed, isStable } of rounds) {
    if (agreed === null || !isStable) continue;
    const confidence = confidenceOf(attempt, agreed.seats.length, 1);
    return { round, path: "agreement", answer: agreed.representative, confidence };
  }
  return null;
}

/** HG19: after the last round a vote between the two leading answers decides, then the plurality, else nothing. */
function fallBack(ledger: Ledger, last: AnswerRound): Pick<Deliberated, "leading" | "ending"> {
  const { attempt } = ledger;
  const isHigh = attempt.request.terms.assurance === "high";
  const seats = attempt.committee.length;
  const [a, b] = last.classes;
  const none: Ending = { path: "none", answer: null, confidence: 0 as Ppm };
  if (a === undefined) return { leading: null, ending: none };
  const ballot = stagesOf(attempt).length - 1;
  if (b !== undefined && !isClosed(ledger, ballot)) return { leading: [a, b], ending: null };
  const wins = isHigh ? isSupermajority : isMajority;
  for (const { representative } of b === undefined ? [] : [a, b]) {
    const voters = votersFor(ledger, ballot, representative.outcome);
    if (!wins(voters.length, seats)) continue;
    const confidence = confidenceOf(attempt, voters.length, 2);
    return { leading: null, ending: { path: "vote", answer: representative, confidence } };
  }
  if (isHigh || !holdsHonest(a.seats.length, seats)) return { leading: null, ending: none };
  const confidence = confidenceOf(attempt, a.seats.length, 2);
  return {
    leading: null,
    ending: { path: "plurality", answer: a.representative, confidence },
  };
}

function votersFor(ledger: Ledger, stage: number, outcome: Digest): readonly SeatIndex[] {
  return recordsOf(ledger, stage, "ballot").flatMap(({ told, record }) =>
    record.choice === outcome ? [told.seat] : [],
  );
}

/** HG17: the part of all seats that support the answer. A fallback halves it, so it is lower than that of any agreement. */
function confidenceOf(attempt: Attempt, supporters: number, divisor: number): Ppm {
  return Math.floor((supporters * ONE_PPM) / (attempt.committee.length * divisor)) as Ppm;
}
