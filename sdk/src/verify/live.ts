import { createParser } from "eventsource-parser";
import { backoffMs, sleep } from "../../../agents/adapters/chain/backoff.ts";
import { lower } from "../../../agents/adapters/chain/decode.ts";
import {
  decodeLiveEvent,
  MAX_EVENT_CHARACTERS,
  type BallotStep,
  type LiveEvent,
} from "../../../agents/core/encoding/live-events.ts";
import { blockOf, forgeryIn } from "../../../agents/core/encoding/transcript.ts";
import type { Protocol } from "../../../agents/core/protocol.ts";
import { protocolByCode } from "../../../agents/core/protocols/index.ts";
import { addMessage, emptyTally, type Tally } from "../../../agents/core/seat/tally.ts";
import type { Attempt, Message, Request, SeatInfo } from "../../../agents/core/types.ts";
import { argumentOf, type Argument } from "../../../agents/node/audit/argument.ts";
import { renderedOf, spokenIn, type Rendered } from "../../../agents/node/audit/deliberation.ts";
import {
  ABORT_SIGNAL,
  ADDRESS,
  LINK,
  TEXT,
  listOf,
  record,
  requireArguments,
  wholeNumber,
  type Kind,
} from "../arguments.ts";
import type { ConclaveDeployment } from "../connection.ts";
import { AGENT_ID, CHAIN_ID, REQUEST_ID } from "../signatures.ts";
import { saidOf, type TranscriptMessage } from "./transcript.ts";

export interface LiveRequest {
  readonly deployment: Pick<ConclaveDeployment, "chainId" | "oracle">;
  /** As `follow` gives them, once the committee is drawn. */
  readonly request: Request;
  readonly attempt: number;
  readonly committee: readonly SeatInfo[];
  /** URLs of agents' live streams, tried one after the other until one has a seat in the attempt. */
  readonly streams: readonly string[];
  readonly signal: AbortSignal;
}

/** What was heard of a running attempt. Texts are strangers'. */
export interface LiveState {
  /** The stream that is read; null while none is: what was heard before stays. */
  readonly stream: string | null;
  /** In the order in which they came. Each carries its seat's signature, which was checked. */
  readonly messages: readonly TranscriptMessage[];
  readonly argument: Argument;
  /** The stream whose word `ballot` and `certified` are, which nobody has checked: the one that was read last. */
  readonly teller: string;
  /** The latest ballot, by the word of the teller: which seats took which step for which root. */
  readonly ballot: LiveBallot | null;
  /** The decision that the seats have signed, by the word of the teller; null before. */
  readonly certified: Pick<Extract<LiveEvent, { kind: "certified" }>, "status" | "answer" | "confidence"> | null;
}

export interface LiveBallot {
  readonly number: number;
  /** Seats that voted for a transcript, by step. */
  readonly seats: Readonly<Record<BallotStep, readonly number[]>>;
}

const LIVE: Kind = record(
  {
    deployment: record({ chainId: CHAIN_ID, oracle: ADDRESS }),
    request: record({ id: REQUEST_ID, terms: record({}), question: TEXT }, "the request of an update of `follow`"),
    attempt: wholeNumber(0, 255),
    committee: listOf(record({ agentId: AGENT_ID, signer: ADDRESS }, "a seat of an update of `follow`")),
    streams: listOf(LINK),
    signal: ABORT_SIGNAL,
  },
  "an object with deployment, request, attempt, committee, streams and signal",
);

/** LV7: what a reader takes of one stream. */
const MAX_STREAM_CHARACTERS = 33_554_432;
/** A stream that has not begun to answer after so long yields to the next one, which may sit on the committee. */
const ANSWER_MS = 5_000;
/** A stream shows a sign of life every ten seconds. */
const SILENT_MS = 30_000;
/** A stream that tells no message of a seat for so long yields to the next one: it may hide them. */
const QUIET_MS = 20_000;
/** Failures that lengthen the sleep between two tries: it is eight seconds at most. */
const COUNTED_FAILURES = 5;

/**
 * Yields what a committee says while it argues, whenever more of it was heard, until the signal aborts: then it rejects with the signal's
 * reason. It comes back by itself when a stream ends. Yields nothing if this version does not know the protocol. Rejects with USAGE.
 */
export async function* watchLive(asked: LiveRequest): AsyncGenerator<LiveState, void, void> {
  requireArguments({ request: LIVE }, [asked]);
  const { request, attempt, committee, streams, signal, deployment } = asked;
  const protocol = protocolByCode(request.terms.protocol);
  if (protocol === null || streams.length === 0) return;
  const domain = { chainId: deployment.chainId, oracle: lower(deployment.oracle) };
  const progress = new Map<string, StreamProgress>(streams.map((stream) => [stream, { last: null, characters: 0 }]));
  const heard = new Heard({ domain, request, attempt, committee }, protocol);
  const answerMs = progress.size > 1 ? ANSWER_MS : SILENT_MS;
  for (let failures = 0; ;) {
    for (const [stream, read] of progress) {
      let isRead = false;
      let heardAt = Date.now();
      for await (const events of eventsOf(stream, `${request.id}/${attempt}`, read, answerMs, signal)) {
        const known = heard.count;
        for (const event of events) heard.take(stream, event);
        if (events.length > 0 || !isRead) yield heard.state(stream, true);
        if (!isRead) failures = 0;
        isRead = true;
        if (heard.count > known) heardAt = Date.now();
        else if (progress.size > 1 && Date.now() - heardAt > QUIET_MS) break;
      }
      signal.throwIfAborted();
      if (isRead) yield heard.state(stream, false);
    }
    await sleep(backoffMs(Math.min(failures, COUNTED_FAILURES)), signal);
    failures += 1;
  }
}

/** What was read of one stream, over all returns to it. */
interface StreamProgress {
  /** The id of the last event. */
  last: string | null;
  characters: number;
}

/** What one stream says that no signature shows. */
interface Word {
  readonly ballots: Map<number, Map<BallotStep, Set<number>>>;
  certified: LiveState["certified"];
}

/** What came: the messages of the seats, checked, and the word of each stream beside. */
class Heard {
  private readonly attempt: Attempt;
  private readonly protocol: Protocol;
  private readonly messages: Rendered[] = [];
  /** Made anew only when a message comes: a stream may tell other events without end. */
  private told: Pick<LiveState, "messages" | "argument"> | null = null;
  private tally: Tally = emptyTally;
  private readonly words = new Map<string, Word>();

  constructor(attempt: Attempt, protocol: Protocol) {
    this.attempt = attempt;
    this.protocol = protocol;
  }

  /** How many messages of seats came. */
  get count(): number {
    return this.messages.length;
  }

  take(stream: string, event: LiveEvent): void {
    switch (event.kind) {
      case "message":
        this.hear(event.message);
        return;
      case "ballot": {
        const { seat, ballot, step, root } = event;
        if (root === null || seat >= this.attempt.committee.length) return;
        const { ballots } = this.wordOf(stream);
        const steps = ballots.get(ballot) ?? new Map<BallotStep, Set<number>>();
        ballots.set(ballot, steps.set(step, (steps.get(step) ?? new Set()).add(seat)));
        return;
      }
      case "certified": {
        const { status, answer, confidence } = event;
        this.wordOf(stream).certified = { status, answer, confidence };
        return;
      }
      case "equivocation":
      // Both messages of a deliberation come themselves; those of a ballot change nothing that is shown.
    }
  }

  /** LV7: drops what no seat of this attempt has signed, what its protocol refuses, and what came before. */
  private hear(message: Message): void {
    const { header, payload } = message;
    const added = addMessage(this.tally, message);
    if (added.kind !== "added" && added.kind !== "equivocation") return;
    if (header.requestId !== this.attempt.request.id || header.attempt !== this.attempt.attempt) return;
    if (this.protocol.rejectPayload(this.attempt, header, payload) !== null) return;
    if (forgeryIn(this.attempt, message) !== null) return;
    this.tally = added.tally;
    this.messages.push(renderedOf(this.attempt, this.protocol, blockOf(message).digest, message));
    this.told = null;
  }

  private wordOf(stream: string): Word {
    const word = this.words.get(stream) ?? { ballots: new Map(), certified: null };
    this.words.set(stream, word);
    return word;
  }

  state(teller: string, isRead: boolean): LiveState {
    this.told ??= toldIn(this.protocol, this.messages);
    const word = this.words.get(teller);
    return {
      stream: isRead ? teller : null,
      ...this.told,
      teller,
      ballot: word === undefined ? null : latestBallot(word),
      certified: word?.certified ?? null,
    };
  }
}

function toldIn(protocol: Protocol, messages: readonly Rendered[]): Pick<LiveState, "messages" | "argument"> {
  const spoken = spokenIn(messages);
  return { messages: spoken.messages.map(saidOf), argument: argumentOf({ protocol, ...spoken }) };
}

function latestBallot({ ballots }: Word): LiveBallot | null {
  if (ballots.size === 0) return null;
  const number = Math.max(...ballots.keys());
  const steps = ballots.get(number);
  const seatsIn = (step: BallotStep): readonly number[] => [...(steps?.get(step) ?? [])].toSorted((a, b) => a - b);
  return {
    number,
    seats: {
      propose: seatsIn("propose"),
      prevote: seatsIn("prevote"),
      precommit: seatsIn("precommit"),
      certificate: seatsIn("certificate"),
    },
  };
}

/**
 * Yields the events of one stream as they come, from the one after the last that it told. A sign of life yields no event. Ends when the stream
 * ends, fails, does not answer, is silent, or tells too much; one that has told too much is not asked again.
 */
async function* eventsOf(
  stream: string,
  place: string,
  read: StreamProgress,
  answerMs: number,
  signal: AbortSignal,
): AsyncGenerator<readonly LiveEvent[], void, void> {
  if (read.characters > MAX_STREAM_CHARACTERS) return;
  const leaving = new AbortController();
  let timer = setTimeout(() => leaving.abort(), answerMs);
  const isAlive = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => leaving.abort(), SILENT_MS);
  };
  try {
    const query = read.last === null ? "" : `?after=${encodeURIComponent(read.last)}`;
    const response = await fetch(`${stream.replace(/\/$/, "")}/live/${place}${query}`, {
      signal: AbortSignal.any([signal, leaving.signal]),
      credentials: "omit",
      referrerPolicy: "no-referrer",
    });
    if (response.status !== 200 || response.body === null) return;
    isAlive();
    let events: LiveEvent[] = [];
    const parser = createParser({
      maxBufferSize: 2 * MAX_EVENT_CHARACTERS,
      onEvent: ({ data, id }) => {
        if (id !== undefined) read.last = id;
        const event = decodeLiveEvent(data);
        if (event !== null) events.push(event);
      },
    });
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      isAlive();
      read.characters += value.length;
      if (read.characters > MAX_STREAM_CHARACTERS) return;
      parser.feed(value);
      yield events;
      events = [];
    }
  } catch {
    // Whoever waits tries again, and the chain tells the end.
  } finally {
    clearTimeout(timer);
    leaving.abort();
  }
}
