import type { Connection, Libp2p, Stream, StreamMessageEvent } from "@libp2p/interface";
import type { Address } from "../../core/types.ts";
import type { NetworkBounds } from "./bounds.ts";
import { shortReason, type NetworkListener } from "./events.ts";
import { acceptance, createFrameDecoder, FRAMES_PROTOCOL } from "./frames.ts";
import { addressOfPeerId } from "./identity.ts";
import { createTokenBucket, type TokenBucket } from "./rate.ts";

/** Streams per connection; more than one only while a reopened stream replaces its predecessor. */
const STREAMS_PER_CONNECTION = 4;

/** The streams on which configured peers send us frames, at most one per peer. */
export interface Inbound {
  readonly drop: (peer: Address) => void;
  readonly close: () => Promise<void>;
}

export interface InboundOptions {
  readonly libp2p: Libp2p;
  readonly bounds: NetworkBounds;
  readonly isConfigured: (peer: Address) => boolean;
  readonly onAccept: (peer: Address) => void;
  readonly onFrame: (peer: Address, frame: Uint8Array) => void;
  readonly report: NetworkListener;
}

export async function acceptFrames(options: InboundOptions): Promise<Inbound> {
  const { libp2p, bounds, report } = options;
  const streams = new Map<Address, Stream>();

  function accept(stream: Stream, connection: Connection): void {
    // The handshake has proven the remote peer id, and the peer id contains the signer's public key.
    const peer = addressOfPeerId(connection.remotePeer);
    if (peer === null || !options.isConfigured(peer)) {
      stream.abort(new Error("not a configured peer"));
      report({ kind: "streamRefused", peerId: connection.remotePeer.toString() });
      return;
    }
    // The newest stream wins: after a restart the peer's old one may linger for minutes.
    streams.get(peer)?.abort(new Error("replaced by a newer stream"));
    streams.set(peer, stream);
    receive(peer, stream);
    stream.send(acceptance);
    options.onAccept(peer);
  }

  function receive(peer: Address, stream: Stream): void {
    const decoder = createFrameDecoder(bounds.frameBytes);
    const throttle = createThrottle(stream, bounds);
    stream.addEventListener("message", (event: StreamMessageEvent) => {
      let frames = 0;
      try {
        for (const frame of decoder.decode(event.data)) {
          // A listener may have removed the peer meanwhile.
          if (streams.get(peer) !== stream) return;
          frames++;
          options.onFrame(peer, frame.slice());
        }
      } catch (error) {
        report({ kind: "frameRefused", peer, reason: shortReason(error) });
        stream.abort(new Error("malformed frame"));
        return;
      }
      throttle(frames, event.data.byteLength);
    });
    stream.addEventListener("close", () => {
      if (streams.get(peer) === stream) streams.delete(peer);
    });
  }

  await libp2p.handle(FRAMES_PROTOCOL, accept, { maxInboundStreams: STREAMS_PER_CONNECTION });
  return {
    drop(peer) {
      const stream = streams.get(peer);
      streams.delete(peer);
      stream?.abort(new Error("peer removed"));
    },
    async close() {
      await libp2p.unhandle(FRAMES_PROTOCOL);
      for (const stream of streams.values()) stream.abort(new Error("closing"));
      streams.clear();
    },
  };
}

/** Stops reading from a peer that is too fast; the muxer's window then stops the peer. */
function createThrottle(stream: Stream, bounds: NetworkBounds): (frames: number, bytes: number) => void {
  const frameTokens: TokenBucket = createTokenBucket(bounds.framesPerSecond);
  const byteTokens: TokenBucket = createTokenBucket(bounds.bytesPerSecond);
  let timer: NodeJS.Timeout | undefined;
  stream.addEventListener("close", () => clearTimeout(timer));
  return (frames, bytes) => {
    const resumesAfterMs = Math.max(frameTokens.take(frames), byteTokens.take(bytes));
    if (resumesAfterMs === 0) return;
    // Resumes later: resume() hands us the bytes it kept, and would then open the window even if we paused meanwhile.
    queueMicrotask(() => {
      if (stream.status !== "open" || stream.readStatus !== "readable") return;
      stream.pause();
      clearTimeout(timer);
      timer = setTimeout(() => {
        if (stream.readStatus === "paused") stream.resume();
      }, resumesAfterMs);
    });
  };
}
