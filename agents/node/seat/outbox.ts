import { PRECOMMIT, PROPOSE } from "../../core/seat/certify/messages.ts";
import { limits } from "../../core/limits.ts";
import { encodeMessage } from "../../core/encoding/transcript.ts";
import type { Address, Header, Message } from "../../core/types.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Network } from "../../ports/network.ts";

/** What a session sends, and what it sends again to a peer that was disconnected. */
export interface Outbox {
  /** Sends an own message, which is journalled already, to every other seat. */
  publish(message: Message): void;
  /** Sends others' messages to every other seat: each message a few times at once, then ever more rarely. */
  forward(messages: readonly Message[]): void;
  /**
   * Returns own messages, the newest place first, then the precommits handed on last (CE17), then the last forwarded
   * ones.
   */
  backlog(): readonly Message[];
  /** Sends the backlog again after a restart. */
  restore(own: Iterable<Message>, forwarded: readonly (readonly Message[])[], signal: AbortSignal): void;
}

/** Times that a message is forwarded at once; CE7 asks for the same quorum in every ballot. */
const FORWARDS_AT_ONCE = 3;
/** How long after them a further time comes, at first; each time takes twice as long as the one before. */
const FORWARD_AFTER_MS = 1_000;
/** Frames sent at once; fewer than the network's queue holds (limits.bufferedFramesPerPeer). */
const BURST = 64;
const BETWEEN_BURSTS_MS = 100;

export function createOutbox(peers: readonly Address[], network: Network, clock: Clock): Outbox {
  const own: Message[] = [];
  const times = new Map<string, { readonly count: number; readonly notBeforeMs: number }>();
  let forwarded: readonly Message[] = [];
  let handedOn: readonly Message[] = [];

  const transmit = (message: Message): void => {
    const frame = encodeMessage(message);
    for (const peer of peers) network.send(peer, frame);
  };
  const mayForward = (message: Message): boolean => {
    const key = nameOf(message);
    const { count, notBeforeMs } = times.get(key) ?? { count: 0, notBeforeMs: 0 };
    const nowMs = clock.now();
    if (nowMs < notBeforeMs) return false;
    const afterMs = count + 1 < FORWARDS_AT_ONCE ? 0 : FORWARD_AFTER_MS * 2 ** (count + 1 - FORWARDS_AT_ONCE);
    times.set(key, { count: count + 1, notBeforeMs: nowMs + afterMs });
    return true;
  };
  const backlog = (): readonly Message[] => {
    const kept = new Set(handedOn.map(nameOf));
    return [...own.toSorted(newestFirst), ...handedOn, ...forwarded.filter((message) => !kept.has(nameOf(message)))];
  };

  return {
    publish(message) {
      own.push(message);
      transmit(message);
    },
    forward(messages) {
      if (isHandOn(messages)) handedOn = messages;
      const allowed = messages.filter(mayForward);
      if (allowed.length === 0) return;
      forwarded = allowed;
      for (const message of allowed) transmit(message);
    },
    backlog,
    restore(published, earlier, signal) {
      own.push(...published);
      handedOn = earlier.findLast(isHandOn) ?? [];
      forwarded = distinct(earlier.flat()).filter(mayForward);
      sendPaced(clock, backlog(), transmit, signal);
    },
  };
}

/** Sends a burst at once and the rest in later bursts, so that no bounded queue loses frames. */
export function sendPaced<T>(clock: Clock, items: readonly T[], send: (item: T) => void, signal: AbortSignal): void {
  for (const item of items.slice(0, BURST)) send(item);
  const rest = items.slice(BURST);
  if (rest.length === 0 || signal.aborted) return;
  const cancel = clock.schedule(BETWEEN_BURSTS_MS, () => {
    signal.removeEventListener("abort", cancel);
    sendPaced(clock, rest, send, signal);
  });
  signal.addEventListener("abort", cancel, { once: true });
}

/** CE17: true if the messages are precommits of several seats; two of one seat are evidence (CE8). */
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

/** Orders certify messages first, then the latest round or ballot and phase first. */
function newestFirst({ header: a }: Message, { header: b }: Message): number {
  const certify = (header: Header): number => (header.phase >= PROPOSE ? 1 : 0);
  return certify(b) - certify(a) || b.round - a.round || b.phase - a.phase;
}

/** Returns the latest messages, each once, at most as many as a peer buffers. */
function distinct(messages: readonly Message[]): readonly Message[] {
  const latest = new Map<string, Message>();
  for (const message of messages.toReversed()) latest.set(nameOf(message), message);
  return [...latest.values()].slice(0, limits.bufferedFramesPerPeer);
}
