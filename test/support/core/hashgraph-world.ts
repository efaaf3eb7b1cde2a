import { digestOf } from "../../../agents/core/encoding/codec.ts";
import { commitmentOf, type Proposal } from "../../../agents/core/phases/proposals.ts";
import { EVENT } from "../../../agents/core/protocols/hashgraph/config.ts";
import { encodeEvent, type EventBody, type StageRecord } from "../../../agents/core/protocols/hashgraph/payloads.ts";
import { addMessage, emptyTally, type Tally } from "../../../agents/core/seat/tally.ts";
import type { Attempt, Message, Ppm, SeatIndex } from "../../../agents/core/types.ts";
import { generator } from "./committee.ts";

/** Event without a record and without parents. */
export const bareEvent: EventBody = {
  selfParent: null,
  otherParent: null,
  time: 0,
  closed: 0,
  mode: "gossip",
  wants: [],
  record: null,
};

/** Message of an event as it stands in a tally, unsigned, because the protocol does not read signatures. */
export function eventMessage(attempt: Attempt, seat: number, sequence: number, body: EventBody): Message {
  const payload = encodeEvent(body);
  const header = {
    requestId: attempt.request.id,
    attempt: attempt.attempt,
    protocol: attempt.request.terms.protocol,
    phase: EVENT,
    round: sequence,
    seat: seat as SeatIndex,
    payloadDigest: digestOf(payload),
  };
  return { header, payload, signature: `0x${"00".repeat(65)}` };
}

export function tallyOf(messages: Iterable<Message>): Tally {
  let tally = emptyTally;
  for (const message of messages) tally = addMessage(tally, message).tally;
  return tally;
}

/** Gossip made by hand: each call says who makes an event on whose newest one. */
export class GossipWorld {
  readonly attempt: Attempt;
  readonly messages: Message[] = [];
  private readonly newest: (Message | null)[];
  private readonly known: Set<string>[];
  private readonly closed: number[];

  constructor(attempt: Attempt) {
    this.attempt = attempt;
    this.newest = attempt.committee.map(() => null);
    this.known = attempt.committee.map(() => new Set());
    this.closed = attempt.committee.map(() => 0);
  }

  event(
    seat: number,
    from: number | null,
    record: StageRecord | null = null,
    change: Partial<EventBody> = {},
  ): Message {
    const own = this.newest[seat] ?? null;
    const other = from === null ? null : (this.newest[from] as Message);
    const sequence = own === null ? 0 : own.header.round + 1;
    const message = eventMessage(this.attempt, seat, sequence, {
      selfParent: own?.header.payloadDigest ?? null,
      otherParent: other && {
        seat: other.header.seat,
        sequence: other.header.round,
        digest: other.header.payloadDigest,
      },
      time: sequence,
      closed: this.closed[seat] as number,
      mode: "gossip",
      wants: [],
      record,
      ...change,
    });
    this.messages.push(message);
    this.newest[seat] = message;
    const mine = this.known[seat] as Set<string>;
    mine.add(message.header.payloadDigest + seat);
    if (from !== null) for (const one of this.known[from] as Set<string>) mine.add(one);
    return message;
  }

  /** Makes all seats say their record, then gossip in random pairs until every seat has every event (HG8). */
  stage(records: readonly (StageRecord | null)[], random: () => number): void {
    const said = records.flatMap((record, seat) => (record === null ? [] : [this.event(seat, null, record)]));
    const wanted = said.map(({ header }) => header.payloadDigest + header.seat);
    const talking = records.flatMap((record, seat) => (record === null ? [] : [seat]));
    while (talking.some((seat) => wanted.some((one) => this.known[seat]?.has(one) !== true)))
      this.pair(talking, random);
    for (const seat of talking) this.closed[seat] = (this.closed[seat] as number) + 1;
  }

  pair(talking: readonly number[], random: () => number): void {
    const to = talking[random() % talking.length] as number;
    const from = talking[random() % talking.length] as number;
    if (to !== from) this.event(to, from);
  }
}

export const proposalOf = (answer: string): Proposal => ({ answer, proof: `it is ${answer}`, tier: 900_000 as Ppm });
const salt = new Uint8Array(32).fill(7);

export function commitRecord(attempt: Attempt, seat: number, answer: string): StageRecord {
  return {
    kind: "commit",
    stage: 0,
    commitment: commitmentOf(attempt, 0, seat as SeatIndex, proposalOf(answer), salt),
  };
}

export function outputRecord(stage: number, answer: string | null): StageRecord {
  const proposal = answer === null ? null : proposalOf(answer);
  return { kind: "output", stage, proposal, salt: stage === 1 && proposal !== null ? salt : null };
}

/** A whole deliberation by random pairwise gossip; `answers[seat]` by round, null for a seat that says nothing at all. */
export function randomDeliberation(
  attempt: Attempt,
  answers: readonly (readonly string[] | null)[],
  seed: number,
  afterwards = 40,
): GossipWorld {
  const world = new GossipWorld(attempt);
  const random = generator(seed);
  const rounds = Math.max(...answers.map((own) => own?.length ?? 0));
  world.stage(
    answers.map((own, seat) => own && commitRecord(attempt, seat, own[0] as string)),
    random,
  );
  for (let round = 0; round < rounds; round++)
    world.stage(
      answers.map((own) => own && outputRecord(round + 1, own[Math.min(round, own.length - 1)] as string)),
      random,
    );
  const talking = answers.flatMap((own, seat) => (own === null ? [] : [seat]));
  for (let event = 0; event < afterwards * talking.length; event++) world.pair(talking, random);
  return world;
}
