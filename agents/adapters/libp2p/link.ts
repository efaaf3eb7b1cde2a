import type { Connection, Libp2p, PeerId, Stream } from "@libp2p/interface";
import type { LengthPrefixedStream } from "@libp2p/utils";
import type { Multiaddr } from "@multiformats/multiaddr";
import type { Address } from "../../core/types.ts";
import { createBackoff } from "./backoff.ts";
import type { NetworkBounds } from "./bounds.ts";
import { shortReason, type NetworkListener } from "./events.ts";
import { createFrameWriter, FRAMES_PROTOCOL } from "./frames.ts";
import { createFrameQueue } from "./queue.ts";

const BATCH_BYTES = 65_536;
/** Time that one of two peers waits for the other to dial, so that they share one connection. */
const COURTESY_MS = 500;

/** Our sending stream to one configured peer: kept open, reopened with back-off until closed. */
export interface PeerLink {
  readonly peerId: PeerId;
  readonly isOpen: () => boolean;
  readonly send: (frame: Uint8Array) => void;
  /** Sets the addresses to dial, each with the /p2p part. */
  readonly setMultiaddrs: (multiaddrs: readonly Multiaddr[]) => void;
  /** Dials now, because the peer has connected to us. */
  readonly wake: () => void;
  readonly close: () => Promise<void>;
}

export interface LinkOptions {
  readonly libp2p: Libp2p;
  readonly own: Address;
  readonly address: Address;
  readonly peerId: PeerId;
  readonly multiaddrs: readonly Multiaddr[];
  readonly bounds: NetworkBounds;
  readonly onOpen: () => void;
  readonly report: NetworkListener;
}

export function openLink(options: LinkOptions): PeerLink {
  const { libp2p, address, peerId, bounds, report } = options;
  const closing = new AbortController();
  const queue = createFrameQueue(bounds);
  const backoff = createBackoff(bounds);
  let multiaddrs = options.multiaddrs;
  let open = false;
  let down = false;

  async function run(): Promise<void> {
    if (options.own > address) await backoff.sleep(closing.signal, COURTESY_MS);
    while (!closing.signal.aborted) {
      const startedAt = performance.now();
      try {
        await connectOnce();
      } catch (error) {
        // Reported once per outage, not once per try.
        if (!down && !closing.signal.aborted) report({ kind: "linkDown", peer: address, reason: shortReason(error) });
        down = true;
      }
      // A peer that accepts and hangs up at once is as good as unreachable.
      if (performance.now() - startedAt > bounds.maxBackoffMs) backoff.reset();
      await backoff.sleep(closing.signal);
    }
  }

  async function connectOnce(): Promise<void> {
    const connection = await connect(libp2p, peerId, multiaddrs, timeout(closing.signal, bounds.openTimeoutMs));
    const { stream, writer } = await openStream(connection, closing.signal, bounds.openTimeoutMs);
    const closed = new AbortController();
    stream.addEventListener("close", (event) => closed.abort(event.error ?? new Error("stream closed")), {
      once: true,
    });
    const ended = AbortSignal.any([closing.signal, closed.signal]);
    try {
      open = true;
      down = false;
      report({ kind: "linkUp", peer: address });
      options.onOpen();
      for (;;) {
        await queue.ready(ended);
        await writer.writeV(queue.take(BATCH_BYTES), { signal: ended });
      }
    } finally {
      open = false;
      stream.abort(new Error("link ended"));
    }
  }

  const done = run();
  return {
    peerId,
    isOpen: () => open,
    send(frame) {
      const dropped = queue.push(frame);
      if (dropped > 0) report({ kind: "framesDropped", peer: address, frames: dropped });
    },
    setMultiaddrs(next) {
      const same = next.length === multiaddrs.length && next.every((one, i) => multiaddrs[i]?.equals(one));
      multiaddrs = next;
      if (!same) backoff.wake();
    },
    wake: () => backoff.wake(),
    async close() {
      closing.abort(new Error("peer removed"));
      await done;
    },
  };
}

async function connect(
  libp2p: Libp2p,
  peerId: PeerId,
  multiaddrs: readonly Multiaddr[],
  signal: AbortSignal,
): Promise<Connection> {
  const existing = libp2p.getConnections(peerId).find((connection) => connection.status === "open");
  if (existing !== undefined) return existing;
  if (multiaddrs.length === 0) throw new Error("no address to dial");
  const connection = await libp2p.dial([...multiaddrs], { signal });
  // The handshake proves it already, since every address ends in the peer id.
  if (!connection.remotePeer.equals(peerId)) throw new Error("another peer answered");
  return connection;
}

/** Opens the stream and waits until the peer accepts it, so that no frame goes to a peer that does not know us yet. */
async function openStream(
  connection: Connection,
  closing: AbortSignal,
  timeoutMs: number,
): Promise<{ stream: Stream; writer: LengthPrefixedStream<Stream> }> {
  const signal = timeout(closing, timeoutMs);
  let stream: Stream | undefined;
  try {
    stream = await connection.newStream(FRAMES_PROTOCOL, { signal });
    const writer = createFrameWriter(stream);
    await writer.read({ signal });
    return { stream, writer };
  } catch (error) {
    stream?.abort(new Error("not accepted", { cause: error }));
    // Silence, unlike a refusal, means that the connection is dead: the next try must dial anew.
    if (signal.aborted && !closing.aborted) connection.abort(new Error("peer is silent", { cause: error }));
    throw error;
  }
}

function timeout(signal: AbortSignal, timeoutMs: number): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
}
