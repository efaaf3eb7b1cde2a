import { consensusOf } from "../../agents/core/protocols/hashgraph/consensus.ts";
import { hashgraph } from "../../agents/core/protocols/hashgraph/index.ts";
import { graphViewOf } from "../../agents/core/protocols/hashgraph/view.ts";
import { addMessage, emptyTally } from "../../agents/core/seat/tally.ts";
import type { Message, SeatIndex, Value } from "../../agents/core/types.ts";
import { slotOf, type Trace } from "../trace.ts";
import { digestIn, fieldsOf, recordIn } from "./raw.ts";

/** SG5: the phases of the round in which sources are read. */
const [GATHER, CLOSE] = [10, 200];
/** HG26: the stage in which a hashgraph says what was read. */
const READING = 0;

/** What a seat said in time that it read, one raw entry a source. */
export interface RawReading {
  readonly seat: SeatIndex;
  readonly sources: readonly Value[];
}

/** SG5, HG26: what the seats of a transcript said in time that they read. */
export function readInTime(trace: Trace, messages: readonly Message[]): readonly RawReading[] {
  return trace.protocol.id === hashgraph.id ? orderedIn(trace, messages) : heldIn(trace, messages);
}

/** SG5: the messages that more than 1/3 of the seats list when they close the round. */
function heldIn({ attempt }: Trace, messages: readonly Message[]): readonly RawReading[] {
  const said = (phase: number): readonly Message[] => {
    const all = messages.filter(({ header }) => header.round === 0 && header.phase === phase);
    return all.filter(({ header }) => all.filter((one) => one.header.seat === header.seat).length === 1);
  };
  const held = said(CLOSE).map(({ payload }) => (fieldsOf(payload)["seen"] as readonly (readonly Value[])[])[0] ?? []);
  const isHeld = ({ header: { seat, payloadDigest } }: Message): boolean =>
    3 * held.filter((list) => digestIn(list[seat]) === payloadDigest).length > attempt.committee.length;
  return said(GATHER)
    .filter(isHeld)
    .map(({ header: { seat }, payload }) => ({ seat, sources: fieldsOf(payload)["sources"] as readonly Value[] }));
}

/**
 * HG26: the records among the events up to the first batch of the order after which more than 2/3 of the seats state the stage as closed, without
 * those of seats with two events in a slot there. It trusts the order, and nothing else.
 */
function orderedIn({ attempt }: Trace, messages: readonly Message[]): readonly RawReading[] {
  const tally = messages.reduce((all, message) => addMessage(all, message).tally, emptyTally);
  const { batches, toldBy } = consensusOf(graphViewOf(attempt, tally));
  const events: Message[] = [];
  const closers = new Set<SeatIndex>();
  for (const { nodes } of batches) {
    const batch = nodes.flatMap((node) => toldBy.get(node)?.message ?? []);
    events.push(...batch);
    for (const { header, payload } of batch)
      if ((fieldsOf(payload)["closed"] as number) > READING) closers.add(header.seat);
    if (3 * closers.size > 2 * attempt.committee.length) return unforked(events);
  }
  return [];
}

function unforked(events: readonly Message[]): readonly RawReading[] {
  const bySlot = Map.groupBy(events, (message) => slotOf(message));
  const forkers = new Set(
    [...bySlot.values()].flatMap(([one, other]) => (other === undefined ? [] : one!.header.seat)),
  );
  const readings = new Map<SeatIndex, RawReading>();
  for (const message of events.toSorted((a, b) => a.header.round - b.header.round)) {
    const { seat } = message.header;
    const { stage, body } = recordIn(message);
    if (stage !== READING || readings.has(seat) || forkers.has(seat)) continue;
    readings.set(seat, { seat, sources: fieldsOf(body)["sources"] as readonly Value[] });
  }
  return [...readings.values()];
}
