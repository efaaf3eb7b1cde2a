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
  /** The latest ballot, by the word of the agent that streams: which seats took which step for which root. */
  readonly ballot: LiveBallot | null;
  /** The decision that the seats have signed, by the word of the agent that streams; null before. */
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
/** A stream shows a sign of life every ten seconds. */
const SILENT_MS = 30_000;
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
  for (let failures = 0; ;) {
    for (const [stream, read] of progress) {
      let isRead = false;
      for await (const events of eventsOf(stream, `${request.id}/${attempt}`, read, signal)) {
        if (!isRead) failures = 0;
        isRead = true;
        for (const event of events) heard.take(event);
        yield heard.state(stream);
      }
      signal.throwIfAborted();
      if (isRead) yield heard.state(null);
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

/** What came, checked. */
class Heard {
  private readonly attempt: Attempt;
  private readonly protocol: Protocol;
  private readonly messages: Rendered[] = [];
  private tally: Tally = emptyTally;
  private readonly ballots = new Map<number, Map<BallotStep, Set<number>>>();
  private certified: LiveState["certified"] = null;

  constructor(attempt: Attempt, protocol: Protocol) {
    this.attempt = attempt;
    this.protocol = protocol;
  }

  take(event: LiveEvent): void {
    switch (event.kind) {
      case "message":
        this.hear(event.message);
        return;
      case "ballot": {
        const { seat, ballot, step, root } = event;
        if (root === null) return;
        const steps = this.ballots.get(ballot) ?? new Map<BallotStep, Set<number>>();
        this.ballots.set(ballot, steps.set(step, (steps.get(step) ?? new Set()).add(seat)));
        return;
      }
      case "certified": {
        const { status, answer, confidence } = event;
        this.certified = { status, answer, confidence };
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
  }

  state(stream: string | null): LiveState {
    const spoken = spokenIn(this.messages);
    return {
      stream,
      messages: spoken.messages.map(saidOf),
      argument: argumentOf(spoken),
      ballot: this.latestBallot(),
      certified: this.certified,
    };
  }

  private latestBallot(): LiveBallot | null {
    if (this.ballots.size === 0) return null;
    const number = Math.max(...this.ballots.keys());
    const steps = this.ballots.get(number);
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
}

/**
 * Yields the events of one stream as they come, after the last one that it told; ends when the stream does, fails, is silent or tells
 * too much. One that has told too much is not asked again: it would tell for ever.
 */
async function* eventsOf(
  stream: string,
  place: string,
  read: StreamProgress,
  signal: AbortSignal,
): AsyncGenerator<readonly LiveEvent[], void, void> {
  if (read.characters > MAX_STREAM_CHARACTERS) return;
  const leaving = new AbortController();
  let timer = setTimeout(() => leaving.abort(), SILENT_MS);
  try {
    const query = read.last === null ? "" : `?after=${encodeURIComponent(read.last)}`;
    const response = await fetch(`${stream.replace(/\/$/, "")}/live/${place}${query}`, {
      signal: AbortSignal.any([signal, leaving.signal]),
      credentials: "omit",
      referrerPolicy: "no-referrer",
    });
    if (response.status !== 200 || response.body === null) return;
    let events: LiveEvent[] = [];
    const parser = createParser({
      maxBufferSize: 2 * MAX_EVENT_CHARACTERS,
      onEvent: ({ data, id }) => {
        if (id !== undefined) read.last = id;
        const event = decodeLiveEvent(data);
        if (event !== null) events.push(event);
      },
    });
    let isFirst = true;
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      clearTimeout(timer);
      timer = setTimeout(() => leaving.abort(), SILENT_MS);
      read.characters += value.length;
      if (read.characters > MAX_STREAM_CHARACTERS) return;
      parser.feed(value);
      if (events.length > 0 || isFirst) yield events;
      isFirst = false;
      events = [];
    }
  } catch {
    // Whoever waits tries again, and the chain tells the end.
  } finally {
    clearTimeout(timer);
    leaving.abort();
  }
}
