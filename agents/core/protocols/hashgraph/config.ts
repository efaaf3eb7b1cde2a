import { limits } from "../../limits.ts";
import type { Attempt } from "../../types.ts";

/** HG1: the only phase. A slot's round is the sequence number of its creator's event. */
export const EVENT = 1;

/** HG20: answer rounds, the first included. The paper expects one to three; one more, because agreement has to last (HG18). */
export const ROUNDS = 4;

/** HG20: events of one seat. A transcript of all of them, forks of f seats included, stays within `limits.messagesPerTranscript`. */
export const EVENTS_PER_SEAT = 124;

/** HG20. */
export const MAX_SEATS = 31;

/** HG12: every c-th round of voting about a witness is a coin round (TR). */
export const COIN_PERIOD = 10;

/** HG2: claimed logical milliseconds. */
export const MAX_TIME = 2 ** 40;

/** HG8: so far by the clock a seat may fall behind before its events come first. */
export const MOST_BEHIND = 2;

/** HG14: so often a seat asks for parents it misses, each time a grace later. */
export const MOST_DEMANDS = 24;

/** HG14: parents asked for at once. */
export const WANTS_PER_EVENT = 16;

/** HG14: messages handed on for one event that asks. */
export const SUPPLIED_AT_ONCE = 64;

/** HG13: events that a seat makes for others after its last. */
export const MOST_HELPS = 40;

/** HG13: a seat whose round seems decided waits so many graces for the consensus order before it goes on deliberating. */
export const ORDER_GRACES = 2;

/** HG20: so many phases and graces without any progress, while somebody has no events left, until a seat gives up. */
export const STUCK_PHASES = 2;

/** HG3: what a seat says in the course of the deliberation, one record per stage. */
export interface Stage {
  readonly kind: "commit" | "output" | "match" | "ballot";
  /** Answer round. */
  readonly round: number;
}

const OUTPUT = { kind: "output" } as const;
const MATCH = { kind: "match" } as const;

function stagesWith(matches: boolean): readonly Stage[] {
  const rounds = Array.from({ length: ROUNDS }, (_, round): readonly Stage[] =>
    matches
      ? [
          { ...OUTPUT, round },
          { ...MATCH, round },
        ]
      : [{ ...OUTPUT, round }],
  );
  return [{ kind: "commit", round: 0 }, ...rounds.flat(), { kind: "ballot", round: ROUNDS - 1 }];
}

const plain = stagesWith(false);
const judged = stagesWith(true);

/** HG3: texts are judged after each round (EQ1). */
export function stagesOf(attempt: Attempt): readonly Stage[] {
  return attempt.request.terms.kind === "text" ? judged : plain;
}

/** Index of the stage that ends an answer round. */
export function endOf(attempt: Attempt, round: number): number {
  return stagesOf(attempt).findLastIndex((stage) => stage.round === round && stage.kind !== "ballot");
}

const ends = new WeakMap<readonly Stage[], readonly number[]>();

/** The stages that end a round, and the vote. */
export function endsOf(attempt: Attempt): readonly number[] {
  const stages = stagesOf(attempt);
  const known = ends.get(stages) ?? [
    ...Array.from({ length: ROUNDS }, (_, round) => endOf(attempt, round)),
    stages.length - 1,
  ];
  ends.set(stages, known);
  return known;
}

export function checkSize(attempt: Attempt): string | null {
  const seats = attempt.committee.length;
  return seats < limits.minCommittee || seats > MAX_SEATS
    ? `committee size ${seats} is outside ${limits.minCommittee}..${MAX_SEATS}`
    : null;
}
