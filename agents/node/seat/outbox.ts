import { PRECOMMIT, PROPOSE } from "../../core/seat/certify/messages.ts";
import { limits } from "../../core/limits.ts";
import { encodeMessage } from "../../core/encoding/transcript.ts";
import type { Address, Header, Message } from "../../core/types.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Network } from "../../ports/network.ts";

/** What a session sends, and what a peer that was away should get again. */
export interface Outbox {
  /** An own message, journalled before: to every other seat. */
  publish(message: Message): void;
  /** Others' messages, to every other seat; each one a few times and then ever more rarely, however often it is asked for. */
  forward(messages: readonly Message[]): void;
  /** Own messages, the newest place first, then the precommits handed on last (CE17), then what was relayed last. */
  backlog(): readonly Message[];
  /** After a restart: sends the backlog again. */
  restore(own: Iterable<Message>, relayed: readonly (readonly Message[])[], signal: AbortSignal): void;
}

/** CE7 relays the same quorum in every round: so many at once are enough. */
const RELAYS_AT_ONCE = 3;
/** Whoever was cut off asks again: one more after this pause, and each further one after twice the last pause. */
const RELAY_PAUSE_MS = 1_000;
/** Stays below the queue of the network (limits.bufferedFramesPerPeer). */
const BURST = 64;
const PAUSE_MS = 100;

export function createOutbox(peers: readonly Address[], network: Network, clock: Clock): Outbox {
  const own: Message[] = [];
  const relays = new Map<string, { readonly count: number; readonly notBeforeMs: number }>();
  let relayed: readonly Message[] = [];
  let handedOn: readonly Message[] = [];

  const transmit = (message: Message): void => {
    const frame = encodeMessage(message);
    for (const peer of peers) network.send(peer, frame);
  };
  const mayRelay = (message: Message): boolean => {
    const key = nameOf(message);
    const { count, notBeforeMs } = relays.get(key) ?? { count: 0, notBeforeMs: 0 };
    const nowMs = clock.now();
    if (nowMs < notBeforeMs) return false;
    const pauseMs = count + 1 < RELAYS_AT_ONCE ? 0 : RELAY_PAUSE_MS * 2 ** (count + 1 - RELAYS_AT_ONCE);
    relays.set(key, { count: count + 1, notBeforeMs: nowMs + pauseMs });
    return true;
  };
  const backlog = (): readonly Message[] => {
    const kept = new Set(handedOn.map(nameOf));
    return [...own.toSorted(newestFirst), ...handedOn, ...relayed.filter((message) => !kept.has(nameOf(message)))];
  };

  return {
    publish(message) {
      own.push(message);
      transmit(message);
    },
    forward(messages) {
      if (isHandOn(messages)) handedOn = messages;
      const allowed = messages.filter(mayRelay);
      if (allowed.length === 0) return;
      relayed = allowed;
      for (const message of allowed) transmit(message);
    },
    backlog,
    restore(published, forwarded, signal) {
      own.push(...published);
      handedOn = forwarded.findLast(isHandOn) ?? [];
      relayed = distinct(forwarded.flat()).filter(mayRelay);
      sendPaced(clock, backlog(), transmit, signal);
    },
  };
}

/** Sends a burst at once and the rest in further ones, so that no bounded queue loses frames. */
export function sendPaced<T>(clock: Clock, items: readonly T[], send: (item: T) => void, signal: AbortSignal): void {
  for (const item of items.slice(0, BURST)) send(item);
  const rest = items.slice(BURST);
  if (rest.length === 0 || signal.aborted) return;
  const cancel = clock.schedule(PAUSE_MS, () => {
    signal.removeEventListener("abort", cancel);
    sendPaced(clock, rest, send, signal);
  });
  signal.addEventListener("abort", cancel, { once: true });
}

/** CE17: the precommits of a round, of several seats; two of one seat are evidence (CE8). */
function isHandOn(messages: readonly Message[]): boolean {
  const isPrecommit = messages.every(({ header }) => header.phase === PRECOMMIT);
  return isPrecommit && new Set(messages.map(({ header }) => header.seat)).size > 1;
}

function nameOf({ header }: Message): string {
  return `${slotOfSeat(header)}.${header.payloadDigest}`;
}

export function slotOfSeat(header: Header): string {
  return `${header.phase}.${header.round}.${header.seat}`;
}

/** Certification after all deliberation; within each the latest round and phase first. */
function newestFirst({ header: a }: Message, { header: b }: Message): number {
  const certify = (header: Header): number => (header.phase >= PROPOSE ? 1 : 0);
  return certify(b) - certify(a) || b.round - a.round || b.phase - a.phase;
}

/** The latest ones, each once, as many as a peer would buffer. */
function distinct(messages: readonly Message[]): readonly Message[] {
  const latest = new Map<string, Message>();
  for (const message of messages.toReversed()) latest.set(nameOf(message), message);
  return [...latest.values()].slice(0, limits.bufferedFramesPerPeer);
}
