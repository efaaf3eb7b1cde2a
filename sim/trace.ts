import { dataNumber } from "../agents/core/sources/data.ts";
import { grounded } from "../agents/core/sources/named.ts";
import type { Protocol, Timing } from "../agents/core/protocol.ts";
import type {
  Attempt,
  Certificate,
  DecisionConflict,
  Digest,
  Evidence,
  Hex,
  Message,
  SeatIndex,
} from "../agents/core/types.ts";
import type { ByzantineKind, Fault } from "./options.ts";
import type { SourcesPlan } from "./sources.ts";

/** What the observer saw of one seat. */
export interface SeatTrace {
  readonly seat: SeatIndex;
  /** Null = honest. */
  readonly byzantine: ByzantineKind | null;
  /** Every certificate that the seat announced, those of later lives included. */
  readonly certificates: readonly Certified[];
  readonly evidence: readonly Evidence[];
  /** Pairs of signed decisions (CE18). */
  readonly conflicts: readonly DecisionConflict[];
  /** Messages in the seat's journal at the end, by slot. Only slots that have two payloads somewhere. */
  readonly took: ReadonlyMap<string, readonly Message[]>;
  /** Messages that it held when its closed phases first were conclusive; null while they are not. */
  readonly inTime: readonly Message[] | null;
  /** Answers that its model gave. */
  readonly answers: readonly string[];
  /** Others' answers that its model accepted. */
  readonly approved: readonly string[];
  /** What it read at the sources of the question, in all its lives. */
  readonly read: readonly ReadAt[];
  /** What its model was shown as what it read. */
  readonly shown: readonly ReadAt[];
  readonly journalBytes: number;
  /** Of the blocks in its store. */
  readonly storeBytes: number;
  readonly backlog: number;
  /** Reason why it fell silent, which no honest seat may. */
  readonly silent: string | null;
  readonly modelCalls: number;
}

/** A text of a source, by the source's place in the question. */
export interface ReadAt {
  readonly source: number;
  readonly text: string;
}

export interface Certified {
  readonly at: number;
  readonly certificate: Certificate;
}

/** Number of times that each fault and each misbehaviour struck. */
export type Counts = Readonly<Record<string, number>>;

/** One run of one world, as the checkers see it. */
export interface Trace {
  readonly seed: number;
  readonly protocol: Protocol;
  readonly attempt: Attempt;
  readonly timing: Timing;
  readonly truth: string;
  /** True if K <= f, so that the protocol's promises hold. */
  readonly tolerable: boolean;
  /** True if honest models never err, and no page tells seats different answers. */
  readonly truthful: boolean;
  /** Null: the question names no source. */
  readonly sources: SourcesPlan | null;
  readonly faults: readonly Fault[];
  readonly healAt: number;
  readonly endedAt: number;
  /** Time by which every honest seat must have a certificate. */
  readonly dueAt: number;
  readonly seats: readonly SeatTrace[];
  /** Every message that reached any seat, by slot `phase.round.seat`, distinct payloads. */
  readonly messages: ReadonlyMap<string, readonly Message[]>;
  /** All blocks that some honest seat holds. */
  readonly block: (digest: Digest) => Uint8Array | null;
  /** Longest chain of model calls behind a message, by its signature. */
  readonly depths: ReadonlyMap<Hex, number>;
  readonly instants: number;
  readonly sent: { readonly frames: number; readonly bytes: number };
  /** Most timers and frames that waited at once. */
  readonly pending: number;
  readonly counts: Counts;
  /** Hash of everything sent, delivered and decided: equal seeds give equal hashes. */
  readonly hash: string;
}

export function slotOf(message: Message): string {
  const { phase, round, seat } = message.header;
  return `${phase}.${round}.${seat}`;
}

/** What an honest seat stands for: what its model gave and accepted, or of a data question the numbers that it read (SG11). */
export function backedBy({ attempt }: Trace, { answers, approved, read }: SeatTrace): readonly string[] {
  const { request } = grounded(attempt);
  const numbers =
    request.isDataQuestion === true ? read.flatMap(({ text }) => dataNumber(request, text)?.text ?? []) : [];
  return [...answers, ...approved, ...numbers];
}

export function honestSeats(trace: Trace): readonly SeatTrace[] {
  return trace.seats.filter(({ byzantine }) => byzantine === null);
}
