import type { NetworkEvent, NetworkListener } from "../../adapters/libp2p/events.ts";
import type { RefusedKind } from "../../adapters/metrics/network-metrics.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";

/** What the network refused or gave up, in the log and in numbers. */
export interface NetworkLog {
  readonly report: NetworkListener;
  /** Counts since the start. */
  refused(): Readonly<Record<RefusedKind, number>>;
}

/** Least time between two lines of one kind: hostile peers cause as many as they like. */
const LINE_EVERY_MS = 60_000;

const KINDS: Readonly<Partial<Record<NetworkEvent["kind"], RefusedKind>>> = {
  connectionRefused: "connection",
  streamRefused: "stream",
  frameRefused: "frame",
  framesDropped: "queue",
};

const LINES: Readonly<Record<NetworkEvent["kind"], string>> = {
  connectionRefused: "refused a stranger's connection: too many of its host, or of all; auditors may have to wait",
  connectionReplaced: "closed the oldest connection of a peer that opened too many",
  streamRefused: "refused a stream of somebody who is no agent",
  frameRefused: "refused a malformed frame of a peer",
  framesDropped: "dropped frames for a peer that reads too slowly or is away; they are sent again when it is back",
  peerInvalid: "left out a peer whose entry in the registry cannot be used",
  linkUp: "connected with a peer",
  linkDown: "lost a peer; trying again",
  listenerFailed: "a listener of the network failed; this is a bug of Conclave",
};

export function createNetworkLog(log: Log, clock: Pick<Clock, "now">): NetworkLog {
  const counts: Record<RefusedKind, number> = { connection: 0, stream: 0, frame: 0, queue: 0 };
  const lines = new Map<NetworkEvent["kind"], { readonly atMs: number; readonly times: number }>();

  /** Logs the first of a kind, and then one a minute with how many there were. */
  function warnRarely(event: NetworkEvent): void {
    const last = lines.get(event.kind);
    const times = (last?.times ?? 0) + 1;
    const isDue = last === undefined || clock.now() - last.atMs >= LINE_EVERY_MS;
    if (isDue) log.warn({ ...event, times }, LINES[event.kind]);
    lines.set(event.kind, isDue ? { atMs: clock.now(), times: 0 } : { atMs: last.atMs, times });
  }

  return {
    report(event) {
      const kind = KINDS[event.kind];
      if (kind !== undefined) counts[kind]++;
      if (event.kind === "linkUp" || event.kind === "linkDown") log.info(event, LINES[event.kind]);
      else warnRarely(event);
    },
    refused: () => ({ ...counts }),
  };
}
