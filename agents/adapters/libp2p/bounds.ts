import { limits } from "../../core/limits.ts";

/** Bounds of a network adapter, per peer where not said otherwise. Bytes and milliseconds; rates are per second. */
export interface NetworkBounds {
  /** One frame: a message block and the envelope of its sender. */
  readonly frameBytes: number;
  /** Frames that wait for a peer; the oldest are dropped first. */
  readonly queuedFrames: number;
  readonly queuedBytes: number;
  /** Frames and bytes read from one peer; back-pressure slows a faster one down. */
  readonly framesPerSecond: number;
  readonly bytesPerSecond: number;
  readonly announcementBytes: number;
  /** Announcements per forwarding peer; further ones are ignored. */
  readonly announcementsPerSecond: number;
  readonly peers: number;
  readonly multiaddrsPerPeer: number;
  /** Connections of all kinds, those of auditors and observers included; agents are pruned last. */
  readonly connections: number;
  readonly connectionsPerSecondPerHost: number;
  /** Inbound connections of strangers: of all, and of one host (an IPv4 address, or 2^64 IPv6 addresses). */
  readonly strangers: number;
  readonly strangersPerHost: number;
  /** Inbound connections of one peer; one more closes its oldest, which a restart or a broken line may have left behind. */
  readonly connectionsPerPeer: number;
  /** Inbound streams of one connection; each may hold a window of 256 KiB. An agent's bitswap alone opens up to 50. */
  readonly streamsPerConnection: number;
  /** Time to dial a peer, open the stream and be accepted. */
  readonly openTimeoutMs: number;
  readonly minBackoffMs: number;
  readonly maxBackoffMs: number;
}

export const networkBounds: NetworkBounds = {
  frameBytes: limits.certifyMessageBytes + 1024,
  queuedFrames: limits.bufferedFramesPerPeer,
  queuedBytes: 4_194_304,
  framesPerSecond: 2_000,
  bytesPerSecond: 8_388_608,
  announcementBytes: 16_384,
  announcementsPerSecond: 50,
  peers: 1_024,
  multiaddrsPerPeer: 8,
  connections: 1_024,
  connectionsPerSecondPerHost: 128,
  strangers: 128,
  strangersPerHost: 16,
  connectionsPerPeer: 8,
  streamsPerConnection: 64,
  openTimeoutMs: 10_000,
  minBackoffMs: 200,
  maxBackoffMs: 5_000,
};
