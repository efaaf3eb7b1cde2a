import { limits } from "../../limits.ts";
import { namesSources, refuseSources } from "../../sources/named.ts";
import type { Position } from "../../protocol.ts";
import type { Attempt } from "../../types.ts";

/** HG1: the only phase. The round of a slot is the sequence number of its creator's event. */
export const EVENT = 1;

/** HG20: number of answer rounds. The paper expects one to three; one more, because agreement has to last (HG18). */
export const ROUNDS = 4;

/** HG20: the most events of one seat where the question names no source. A transcript of all events and the forks of f seats stays within `limits.messagesPerTranscript`. */
export const EVENTS_PER_SEAT = 124;

/** HG20: the events that a seat may make besides where the question names sources: those of the stage in which it says what it read. */
const READING_EVENTS = 16;

/** HG20: the largest committee, and the largest one where the question names sources: a larger one has no room for the events of that stage. */
export const MAX_SEATS = 31;
export const MAX_READING_SEATS = 27;

/** HG12: every c-th round of voting about a witness is a coin round (TR). */
export const COIN_PERIOD = 10;

/** HG2: the greatest logical time that an event may claim, in milliseconds. */
export const MAX_TIME = 2 ** 40;

/** HG8: how far a seat may fall behind by the clock before its events come first. */
export const MOST_BEHIND = 2;

/** HG14: the most times that a seat asks for parents it misses; each wait is a grace longer. */
export const MOST_DEMANDS = 24;

/** HG14: the most parents asked for at once. */
export const WANTS_PER_EVENT = 16;

/** HG14: the most messages handed on for one event that asks. */
export const SUPPLIED_AT_ONCE = 64;

/** HG13: the most events that a seat makes for others after its own last one. */
export const MOST_HELPS = 40;

/** HG13: graces that a seat whose round seems decided waits for the consensus order before it goes on deliberating. */
export const ORDER_GRACES = 2;

/** HG20: phases and graces without progress, while some seat has no events left, after which a seat gives up. */
export const STUCK_PHASES = 2;

/** HG3: a stage of the deliberation; a seat says one record per stage. */
export interface Stage {
  readonly kind: "gather" | "commit" | "output" | "match" | "ballot";
  /** The answer round that the stage belongs to. */
  readonly round: number;
}

/** HG26: the stage in which seats say what they read, where the question names sources. */
export const READING = 0;

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

const reading = (stages: readonly Stage[]): readonly Stage[] => [{ kind: "gather", round: 0 }, ...stages];

const plain = stagesWith(false);
const assessed = stagesWith(true);
const [plainReading, assessedReading] = [reading(plain), reading(assessed)];

/** HG3: the stages of an attempt. Texts are compared after each round (EQ1). Sources are read before the first answers (HG26). */
export function stagesOf(attempt: Attempt): readonly Stage[] {
  const isText = attempt.request.terms.kind === "text";
  if (namesSources(attempt)) return isText ? assessedReading : plainReading;
  return isText ? assessed : plain;
}

/** HG20: the most events of one seat. */
export function eventsPerSeat(attempt: Attempt): number {
  return namesSources(attempt) ? EVENTS_PER_SEAT + READING_EVENTS : EVENTS_PER_SEAT;
}

/** HG20: the last place of a deliberation. */
export function lastPlace(attempt: Attempt): Position {
  return { round: eventsPerSeat(attempt) - 1, phase: EVENT };
}

/** Index of a round's stage of a kind. */
export function stageFor(attempt: Attempt, kind: Stage["kind"], round: number): number {
  return stagesOf(attempt).findIndex((stage) => stage.kind === kind && stage.round === round);
}

/** Index of the stage that ends an answer round. */
export function endOf(attempt: Attempt, round: number): number {
  return stagesOf(attempt).findLastIndex((stage) => stage.round === round && stage.kind !== "ballot");
}

const ends = new WeakMap<readonly Stage[], readonly number[]>();

/** Indices of the stages after which the order is read: those that end a round, the ballot, and the one that says what was read (HG26). */
export function endsOf(attempt: Attempt): readonly number[] {
  const stages = stagesOf(attempt);
  const known = ends.get(stages) ?? [
    ...(stages[0]?.kind === "gather" ? [READING] : []),
    ...Array.from({ length: ROUNDS }, (_, round) => endOf(attempt, round)),
    stages.length - 1,
  ];
  ends.set(stages, known);
  return known;
}

export function refuseHashgraph(attempt: Attempt): string | null {
  const seats = attempt.committee.length;
  const [most, where] = namesSources(attempt)
    ? [MAX_READING_SEATS, ", where the question names sources"]
    : [MAX_SEATS, ""];
  return seats < limits.minCommittee || seats > most
    ? `committee size ${seats} is outside ${limits.minCommittee}..${most}${where}`
    : refuseSources(attempt.request.question);
}
